"""What happens to some settings, wherever they are sent? They are computed, and what fails does not stop the others."""

import traceback
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import jax

from astonish.sweep.made import Made, device, versions
from astonish.sweep.study import Result, Setting, checked


class Task(NamedTuple):
    """Settings that are sent together, and how they are computed: see `Study`, and `Batch` for the size of a call.

    at_once: how many episodes the call was made for; 0 if settings are computed one by one.
    """

    settings: Mapping[str, Setting]
    compute: Callable[[Setting], Any]
    together: Callable[[Any], Any] | None = None
    size: int = 0
    at_once: int = 0


class Answer(NamedTuple):
    """What came of them: results, or why there are none; and by which code, and on what, they were computed."""

    results: dict[str, Result]
    failed: dict[str, str]
    versions: Made
    device: str
    at_once: int


def work(task: Task) -> Answer:
    """Compute all settings: in one call on an accelerator, if they were sent for that, else one by one."""
    if task.together is None or task.size == 0 or jax.default_backend() == "cpu":
        return _one_by_one(task, task.compute, 0)
    try:
        found = _filled_up(task, list(task.settings.values()))
        named = {name: checked(task.settings[name], result) for name, result in zip(task.settings, found, strict=True)}
        return Answer(named, {}, versions(), device(), task.at_once)
    except Exception:  # because of one of them; the others go on in calls of the same size
        return _one_by_one(task, lambda setting: _filled_up(task, [setting])[0], task.at_once)


def _filled_up(task: Task, settings: list[Setting]) -> Any:
    """The results of a call that has its full size by copies of the last setting, without theirs."""
    assert task.together is not None  # or there would be no such call
    return task.together(settings + settings[-1:] * (task.size - len(settings)))[: len(settings)]


def _one_by_one(task: Task, compute: Callable[[Setting], Any], at_once: int) -> Answer:
    answer = Answer({}, {}, versions(), device(), at_once)
    for name, setting in task.settings.items():
        try:
            answer.results[name] = checked(setting, compute(setting))
        except Exception:
            answer.failed[name] = traceback.format_exc()
    return answer

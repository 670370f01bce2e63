"""What happens to some settings, wherever they are sent? They are computed, and what fails does not stop the others."""

import traceback
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import jax

from astonish.sweep.made import Made, device, versions
from astonish.sweep.study import Result, Setting, checked


class Task(NamedTuple):
    """Settings that are sent together, and how they are computed: see `Study`."""

    settings: Mapping[str, Setting]
    compute: Callable[[Setting], Any]
    many: Callable[[Any], Any] | None


class Answer(NamedTuple):
    """What came of them: results, or why there are none; and by which code, and on what, they were computed."""

    results: dict[str, Result]
    failed: dict[str, str]
    versions: Made
    device: str


def work(task: Task) -> Answer:
    """Compute all settings: in one call on an accelerator, one by one on a processor, and where one of them fails."""
    answer = Answer({}, {}, versions(), device())
    if task.many is not None and len(task.settings) > 1 and jax.default_backend() != "cpu":
        try:
            found = task.many(list(task.settings.values()))
            answer.results.update(_named(task, found))
            return answer
        except Exception:
            answer.results.clear()
    for name, setting in task.settings.items():
        try:
            answer.results[name] = checked(setting, task.compute(setting))
        except Exception:
            answer.failed[name] = traceback.format_exc()
    return answer


def _named(task: Task, found: Any) -> dict[str, Result]:
    pairs = zip(task.settings.items(), found, strict=True)
    return {name: checked(setting, result) for (name, setting), result in pairs}

"""Which settings do lists of values span? All their combinations, each with a readable name.

In a world of which there are many episodes, these are computed side by side in one compiled program; on an
accelerator, those of several settings are.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache, partial
from itertools import product
from typing import Any, NamedTuple

import jax
import numpy as np
from pandas import DataFrame

from astonish.core.numbers import Domain, as_double, double
from astonish.core.programs import compiled
from astonish.core.refusal import unknown
from astonish.learners.base import Learner
from astonish.models.registry import title
from astonish.online.series import OPTIONS
from astonish.sweep.study import Batching, Result, Setting, Study

Options = Mapping[str, Any]
SEED = Domain(0, 2**32 - 1, whole=True)
UNNAMED = ("episodes", "steps", "participants", "starts", "learner")  # sizes, and what comes first in a name


def settings_of(
    kind: str,
    world: Options,
    learners: Sequence[Options],
    allowed: Mapping[str, tuple[Any, Domain]],
    check: Callable[[Setting], Any],
) -> dict[str, dict[str, Any]]:
    """All worlds with all learners, each at all its parameters, by name; sizes are not part of the name.

    learners: of each its name, as "learner", and its parameters.
    allowed: the default and the domain of each option of the world. check: refuses a setting, now rather than when it
    is computed.

    >>> worlds = {"seed": (1, SEED), "steps": (100, SEED)}
    >>> list(settings_of("maze", {"seed": [7, 8]}, [{"learner": "smile", "m": 0.1}], worlds, print))
    {'learner': 'smile', 'm': 0.1, 'seed': 7, 'steps': 100}
    {'learner': 'smile', 'm': 0.1, 'seed': 8, 'steps': 100}
    ['maze/smile/m=0.1/seed=7', 'maze/smile/m=0.1/seed=8']
    """
    worlds = combinations(checked_options(world, allowed))
    settings = {}
    for own, around in product([own for learner in learners for own in combinations(learner)], worlds):
        setting = {**own, **around}
        check(setting)
        parts = [f"{word}={value}" for word, value in setting.items() if word not in UNNAMED]
        settings["/".join([kind, title(own["learner"]), *parts])] = setting
    return settings


def combinations(options: Options) -> list[dict[str, Any]]:
    """One of each list with one of each other; what is no list is the same in all.

    >>> combinations({"m": [0.1, 0.2], "seed": 1})
    [{'m': 0.1, 'seed': 1}, {'m': 0.2, 'seed': 1}]
    """
    for option, values in options.items():
        if values == []:
            raise ValueError(f"{option} = [] has no values; give at least one")
    lists = [values if isinstance(values, list) else [values] for values in options.values()]
    return [dict(zip(options, chosen, strict=True)) for chosen in product(*lists)]


def own_parameters(setting: Options, world: Collection[str]) -> dict[str, float]:
    """What a setting says about its learner, rather than about the world."""
    own = {option: value for option, value in setting.items() if option != "learner" and option not in world}
    for option, value in own.items():
        _check_number(f"{setting['learner']}: {option}", value)
    return own


def checked_options(options: Options, allowed: Mapping[str, tuple[Any, Domain]]) -> dict[str, Any]:
    """What is given, with defaults for the rest; refused where it is not allowed."""
    for option in options:
        if option not in allowed:
            raise unknown("option", option, allowed, of="[study]")
    found = {option: options.get(option, default) for option, (default, _) in allowed.items()}
    for option, values in found.items():
        for value in values if isinstance(values, list) else [values]:
            _check_number(f"[study]: {option}", value)
            allowed[option][1].check(f"[study]: {option}", value)
    return found


def _check_number(name: str, value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{name} = {value!r} is not a number; give one, or a list of them")


def summary(known: Mapping[str, Result]) -> DataFrame:
    """A row for each setting: numbers as they are; of arrays the mean, and its standard error if there are several."""
    rows = []
    for name, about in known.items():
        row: dict[str, Any] = {"setting": name}
        for option, value in about.items():
            many = isinstance(value, np.ndarray)
            row[option] = value.mean() if many else value
            if many and len(value) > 1:
                row[f"{option}_se"] = value.std(ddof=1) / len(value) ** 0.5
        rows.append(row)
    return DataFrame(rows)


class World(NamedTuple):
    """A world with many episodes.

    allowed: the default and the domain of each option of it, of which "episodes" and "steps" are two. learner: of a
    setting. series: of a setting, arrays with a row for each episode. errors: from a learner and a row of each array to
    numbers by name, to be compiled.
    """

    name: str
    allowed: Mapping[str, tuple[Any, Domain]]
    learner: Callable[[Setting], Learner]
    series: Callable[[Setting], tuple[Any, ...]]
    errors: Callable[..., dict[str, Any]]


def study_in(world: World, options: Options, learners: Sequence[Options]) -> Study:
    """All worlds of this kind with all learners, each at all its parameters."""
    settings = settings_of(world.name, options, learners, world.allowed, world.learner)
    batching = Batching(
        partial(_compute, world),
        group=lambda setting: (jax.tree.structure(world.learner(setting)), setting["steps"]),
        episodes=lambda setting: setting["episodes"],
        memory=lambda setting: 64.0 * setting["steps"],  # samples, truth, and what a learner gives after each sample
    )
    return Study(settings, partial(_compute_one, world), summary, batching=batching)


def _compute_one(world: World, setting: Setting) -> Result:
    return _compute(world, [setting])[0]


def _compute(world: World, settings: Sequence[Setting]) -> list[Result]:
    """The errors of each setting, a number for each episode; all are of one group."""
    sizes = [setting["episodes"] for setting in settings]
    learners = [as_double(world.learner(setting)) for setting in settings]
    stacked = jax.tree.map(lambda *leaves: np.repeat(np.stack(leaves), sizes, axis=0), *learners)
    series = jax.tree.map(lambda *arrays: np.concatenate(arrays), *(world.series(setting) for setting in settings))
    with double():
        found = jax.device_get(_compiled(world.errors)(stacked, *series))
    split = {name: np.split(column, np.cumsum(sizes)[:-1]) for name, column in found.items()}
    return [{name: column[k] for name, column in split.items()} for k in range(len(settings))]


@cache
def _compiled(errors: Callable[..., dict[str, Any]]) -> Any:
    return compiled(jax.vmap(errors), compiler_options=OPTIONS)

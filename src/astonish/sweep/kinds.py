"""Studies for `astonish sweep`, in files: those that are known by their kind, in TOML; or any, in Python.

A kind has settings that lists of values span: all their combinations, each with a readable name. In a world of which
there are many episodes, these are computed side by side in one compiled program; on an accelerator, those of several
settings are.
"""

import runpy
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache, partial
from importlib import import_module
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from pandas import DataFrame

from astonish.core.names import OutcomeKind
from astonish.core.numbers import COUNT, OPEN_PROBABILITY, POSITIVE, Domain, as_double, double
from astonish.core.programs import compiled
from astonish.core.refusal import unknown
from astonish.io.files import read_toml
from astonish.learners.base import Learner, scan
from astonish.models.parameters import Outcomes, assemble, find_parameter, known_facts, parameters
from astonish.models.registry import LEARNERS, title
from astonish.online.series import OPTIONS
from astonish.sweep.study import Batching, Result, Setting, Study
from astonish.worlds.gaussian_jumps import Episode, facts, many_gaussian_jumps

if TYPE_CHECKING:
    from astonish.people.fit import Model
    from astonish.people.tables import Trials

KINDS = {  # the module and function of each, imported when it is wanted
    "gaussian": ("astonish.sweep.kinds", "gaussian_study"),
    "maze": ("astonish.paper.figure8", "study_of_maze"),
    "recovery": ("astonish.sweep.kinds", "recovery_study"),
    "models": ("astonish.sweep.kinds", "models_study"),
    "figure8": ("astonish.paper.figure8", "study_of_figure8"),
}
_EXAMPLE = '[[learner]] with name = "smile" and perhaps m = [0.03, 0.1]'
Options = Mapping[str, Any]
SEED = Domain(0, 2**32 - 1, whole=True)
UNNAMED = ("episodes", "steps", "participants", "starts", "learner")  # sizes, and what comes first in a name
LOW, HIGH = -20.0, 20.0  # of the mean that jumps
GAUSSIAN = {
    "hazard": (0.066, OPEN_PROBABILITY),
    "noise": (4.0, POSITIVE),
    "seed": (1, SEED),
    "episodes": (50, COUNT),
    "steps": (1000, COUNT),
}
DESIGN = {
    "trials": (200, COUNT),
    "hazard": GAUSSIAN["hazard"],
    "noise": GAUSSIAN["noise"],
    "response_noise": (2.0, POSITIVE),
    "participants": (100, Domain(3, whole=True)),
    "starts": (5, COUNT),
    "seed": GAUSSIAN["seed"],
}


def read_study(path: Path) -> Study:
    """The study of a file: `.toml`, or `.py` with a `study` in it."""
    if path.suffix == ".py":
        if not path.is_file():
            raise ValueError(f"there is no file {path}; give one that describes a study")
        try:
            study = runpy.run_path(str(path)).get("study")
        except Exception as problem:
            raise ValueError(f"{path} could not be run ({type(problem).__name__}: {problem}); mend it") from None
        if not isinstance(study, Study):
            raise ValueError(f"{path} has no study; let it say study = astonish.sweep.Study(...)")
        return study
    content = read_toml(path)
    try:
        return _from_tables(content)
    except ValueError as problem:
        raise ValueError(f"{path}: {problem}") from None


def _from_tables(content: Mapping[str, Any]) -> Study:
    for word in content:
        if word not in ("study", "learner"):
            raise ValueError(f"{word!r} is not known here; give [study] and [[learner]]")
    world, learners = content.get("study"), content.get("learner", [])
    world = dict(world) if isinstance(world, dict) else {}
    kind = world.pop("kind", None)
    if kind not in KINDS:
        raise unknown("kind", str(kind), KINDS, of="[study]")
    learners = learners if isinstance(learners, list) else [learners]
    for table in learners:
        if not isinstance(table, dict) or not isinstance(table.get("name"), str):
            raise ValueError(f"{table!r} names no learner; give {_EXAMPLE}")
    if not learners and kind != "figure8":
        raise ValueError(f"it names no learner; give {_EXAMPLE}")
    named = [{"learner": own["name"], **{word: own[word] for word in own if word != "name"}} for own in learners]
    module, function = KINDS[kind]
    return getattr(import_module(module), function)(world, named)


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
    checked = {option: options.get(option, default) for option, (default, _) in allowed.items()}
    for option, values in checked.items():
        for value in values if isinstance(values, list) else [values]:
            _check_number(f"[study]: {option}", value)
            allowed[option][1].check(f"[study]: {option}", value)
    return checked


def _check_number(name: str, value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{name} = {value!r} is not a number; give one, or a list of them")


def summary(settings: Mapping[str, Result]) -> DataFrame:
    """A row for each setting: numbers as they are; of arrays the mean, and its standard error if there are several."""
    rows = []
    for name, about in settings.items():
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
        errors = jax.device_get(_compiled(world.errors)(stacked, *series))
    split = {name: np.split(column, np.cumsum(sizes)[:-1]) for name, column in errors.items()}
    return [{name: column[k] for name, column in split.items()} for k in range(len(settings))]


@cache
def _compiled(errors: Callable[..., dict[str, Any]]) -> Any:
    return compiled(jax.vmap(errors), compiler_options=OPTIONS)


def learner_of(setting: Setting, world: Collection[str] = GAUSSIAN.keys()) -> Learner:
    """The learner of a setting; the facts about the world decide parameters that are not set.

    world: the options of a setting that are about the world rather than about the learner.
    """
    known = known_facts(facts(setting["hazard"], setting["noise"], LOW, HIGH))
    return assemble(setting["learner"], Outcomes(OutcomeKind.CONTINUOUS, known), own_parameters(setting, world)).learner


def episodes(setting: Setting) -> Episode:
    """The episodes of a setting; each is the same whatever the others are."""
    seeds = [[setting["seed"], episode] for episode in range(setting["episodes"])]
    return many_gaussian_jumps(setting["steps"], seeds, setting["hazard"], setting["noise"], LOW, HIGH)


def _gaussian_errors(learner: Learner, samples: Array, truth: Array, _: Array) -> dict[str, Array]:
    """Squared and absolute errors, means over an episode."""
    off = scan(learner, samples).estimate - truth
    return {"squared_error": jnp.square(off).mean(), "absolute_error": jnp.abs(off).mean()}


gaussian_study = partial(study_in, World("gaussian", GAUSSIAN, learner_of, episodes, _gaussian_errors))
_learner_in_design = partial(learner_of, world={*DESIGN, "rivals"})


def recovery_study(world: Options, learners: Sequence[Options]) -> Study:
    """All designs with all learners; the parameters given are those about which participants' own are drawn."""
    return Study(settings_of("recovery", world, learners, DESIGN, _learner_in_design), _recover_parameters, summary)


def models_study(world: Options, learners: Sequence[Options]) -> Study:
    """All designs with all learners, of whom each is true once; all of them are fitted.

    The parameters given are those about which participants' own are drawn. Of a learner that is not the true one, only
    what is not fitted matters, and where a list is given for it, its first.
    """
    names = [learner["learner"] for learner in learners]
    twice = [name for name in names if names.count(name) > 1]
    if len(names) < 2 or twice:
        problem = f"{twice[0]} is named twice" if twice else "there is one learner"
        raise ValueError(f"{problem}, and one is to be chosen among several; give at least two, each once")
    rivals = [combinations(learner)[0] for learner in learners]
    settings = settings_of("models", world, learners, DESIGN, _learner_in_design)
    with_rivals = {name: {**setting, "rivals": rivals} for name, setting in settings.items()}
    return Study(with_rivals, _recover_models, lambda known: summary(known).drop(columns="rivals"))


def _recover_parameters(setting: Setting) -> Result:
    """For each free parameter the columns of `Recovery.summary`."""
    from astonish.people.fit import recover_parameters

    model, free = candidate(setting)
    table = recover_parameters(model, designed(setting), free, **_simulation(setting)).summary()
    return {f"{name}.{column}": float(table.loc[name, column]) for name in table.index for column in table.columns}


def _recover_models(setting: Setting) -> Result:
    """For how many of the participants that the setting's learner simulated each model would be chosen, as a share."""
    from astonish.people.fit import recover_models

    design = {word: setting[word] for word in DESIGN}
    models = {rival["learner"]: candidate({**design, **rival}) for rival in setting["rivals"]}
    models[setting["learner"]] = candidate(setting)
    recovery = recover_models(models, designed(setting), simulated=[setting["learner"]], **_simulation(setting))
    return {f"chosen.{name}": share for name, share in recovery.matrix().loc[setting["learner"]].items()}


def designed(setting: Setting) -> "Trials":
    """The trials that participants would go through."""
    from astonish.people.fit import plan_trials

    world = episodes({**setting, "episodes": setting["participants"], "steps": setting["trials"]})
    return plan_trials(world, responds_before=False)


def candidate(setting: Setting) -> "tuple[Model, list[str]]":
    """The model of a setting, and its free parameters."""
    from astonish.people.fit import Estimate, Model

    model = Model(_learner_in_design(setting), Estimate(setting["response_noise"]))
    free = LEARNERS.find(setting["learner"]).free
    own = parameters(model.learner, "learner.")
    return model, [*(find_parameter(own, name).path for name in free), "response.noise"]


def _simulation(setting: Setting) -> dict[str, Any]:
    """How many participants are simulated, and how they are fitted."""
    return {word: setting[word] for word in ("participants", "starts", "seed")}

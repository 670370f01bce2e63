"""What did a learner make of each trial of a table: regressors for pupils, EEG and fMRI?"""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from astonish import surprise
from astonish.blocks import path_of, scan_blocks
from astonish.domain import Domain, Numbers, check_parameters
from astonish.learner import Info, Learner, PerContext, State
from astonish.precision import as_double, double
from astonish.surprises import COLUMNS, all_measures, check_holds_a_belief, holds_a_belief, moment
from astonish.table import Trials
from astonish.uncertainty import uncertainty

if TYPE_CHECKING:
    from pandas import DataFrame

OWN = "surprise"
ALL = "all"
_WITH_CHANGE = "_with_change"
_MEANINGS = {
    OWN: "the learner's own measure of surprise",
    "learning_rate": "weight of the outcome in what the learner then thought, from 0 to 1",
    "prediction": "estimate just before the outcome",
    "estimate": "estimate just after the outcome",
    "prediction_error": "outcome minus prediction",
    "uncertainty": "standard deviation of the belief just before the outcome",
    "change_probability": "probability, once the outcome is known, that the world changed just before it",
}


def regressors(
    learner: Learner,
    trials: Trials,
    measures: Sequence[str] | None = None,
    hazard: float | None = None,
    prefix: str = "",
) -> "DataFrame":
    """Run a learner over every block of every participant: the table row for row, and columns of what it made of them.

    measures: which surprises: "surprise", the learner's own, as when left out; names from `surprises.COLUMNS`; or
    "all" that apply. hazard: the chance of a change before each trial, for measures that end in "_with_change".
    prefix: goes before the names of the new columns. Where an outcome is missing, so are they.

    >>> from pandas import DataFrame
    >>> from astonish import Gaussian, Smile
    >>> from astonish.table import Columns, read_trials
    >>> trials = read_trials(DataFrame({"x": [1.0, None, 2.0, 9.0]}), Columns("x"))
    >>> table = regressors(Smile(Gaussian(noise=1.0)), trials)
    >>> table[["x", "surprise", "prediction"]].round(2).values.tolist()
    [[1.0, 0.5, 0.0], [nan, nan, nan], [2.0, 1.59, 0.22], [9.0, 32.99, 0.88]]
    """
    check_parameters(learner)
    samples = _samples(learner, trials)
    wanted = _wanted(learner, samples, measures, hazard)
    given = {}
    for name, values in trials.given.items():
        path, domain = path_of(learner, name)
        given[path] = domain.check(f"{trials.columns.given[name]}, which gives {name},", values)
    with double():
        made = _through(as_double(learner), samples, trials.observed, trials.starts, given, hazard, wanted)
        noted = jax.device_get(made)
    return _beside(trials, _columns(trials, noted, wanted), prefix)


def describe(column: str) -> str:
    """What a column of `regressors` means, in a sentence.

    >>> describe("prediction_error")
    'outcome minus prediction'
    """
    if column in COLUMNS:
        base = column.removesuffix(_WITH_CHANGE).removesuffix("_reference")
        sentence = (getattr(surprise, base).__doc__ or "").partition("\n")[0]
        if column.endswith("_reference"):
            return f"{sentence} With the learner's reference, or its prior, in place of flatness."
        return f"{sentence} Reckoning with a change." if column.endswith(_WITH_CHANGE) else sentence
    if column in _MEANINGS:
        return _MEANINGS[column]
    name, _, label = column.partition("_")
    return f"{_MEANINGS[name]}, of {label}"


def _wanted(learner: Learner, samples: Any, measures: Sequence[str] | None, hazard: float | None) -> tuple[str, ...]:
    """The measures that are asked for, by name, or a refusal."""
    names = (OWN,) if measures is None else (measures,) if isinstance(measures, str) else tuple(measures)
    for name in names:
        if name not in (OWN, ALL, *COLUMNS):
            raise ValueError(f"there is no measure {name!r}; known are {', '.join((ALL, OWN, *COLUMNS))}")
        if name.endswith(_WITH_CHANGE) and hazard is None:
            raise ValueError(f"{name} needs the chance of a change before each trial; give hazard")
    _check_hazard(names, hazard)
    named = [name for name in names if name in COLUMNS]
    if named:
        check_holds_a_belief(learner)
    applicable = _applicable(learner, samples, hazard) if holds_a_belief(learner) and names != (OWN,) else ()
    for name in named:
        if name not in applicable:
            raise ValueError(f"{name} does not apply to these outcomes; what does is {', '.join(applicable)}")
    return (OWN, *applicable) if ALL in names else names


def _check_hazard(names: Sequence[str], hazard: float | None) -> None:
    if hazard is None:
        return
    Domain(0.0, 1.0).check("hazard", hazard)
    if not any(name == ALL or name.endswith(_WITH_CHANGE) for name in names):
        raise ValueError(f"hazard = {hazard:g} is for measures that end in {_WITH_CHANGE}; ask for some, or for all")


def _applicable(learner: Learner, samples: Any, hazard: float | None) -> tuple[str, ...]:
    def measured(x: Any) -> Any:
        state = learner.init()
        return all_measures(moment(learner, state, state, x), hazard)

    found = jax.eval_shape(measured, jax.tree.map(lambda part: part[0, 0], samples))
    return tuple(name for name in COLUMNS if name in found)


def _samples(learner: Learner, trials: Trials) -> Any:
    """The outcomes as the learner takes them, or a refusal."""
    domains, parts = jax.tree.leaves(learner.samples), jax.tree.leaves(trials.outcomes)
    if len(domains) != len(parts) or any(domain.shape for domain in domains):
        raise ValueError(f"{type(learner).__name__} does not learn from outcomes that are {trials.kind}")
    for domain, part in zip(domains, parts, strict=True):
        domain.check("an outcome", part[trials.observed])
    read = [part if domain.is_index else part.astype(np.float64) for domain, part in zip(domains, parts, strict=True)]
    return read[0] if len(read) == 1 else tuple(read)


@partial(jax.jit, static_argnames="wanted")
def _through(
    learner: Learner, samples: Any, observed: Any, starts: Any, given: Any, hazard: Any, wanted: tuple[str, ...]
) -> dict[str, Any]:
    def note(now: Any, before: State, after: State, x: Any, info: Info) -> dict[str, Any]:
        inner, held, left = now, before, after
        if isinstance(now, PerContext):
            inner, (held, left) = now.learner, (_row(state.table, x[0]) for state in (before, after))
        found = all_measures(moment(now, before, after, x), hazard) if wanted != (OWN,) else {}
        return {
            OWN: info.surprise,
            "measures": {name: found[name] for name in found if name in wanted},
            "learning_rate": info.rate,
            "prediction": inner.estimate(held),
            "estimate": inner.estimate(left),
            "uncertainty": uncertainty(inner, held),
            "change_probability": info.change,
        }

    def one(xs: Any, seen: Any, begins: Any, values: Any) -> Any:
        return scan_blocks(learner, xs, seen, begins, values, note)

    return jax.vmap(one)(samples, observed, starts, given)


def _row(table: State, context: Any) -> State:
    return jax.tree.map(lambda leaf: leaf[context], table)


def _columns(trials: Trials, noted: dict[str, Any], wanted: Sequence[str]) -> dict[str, Numbers]:
    """What was noted, as columns of numbers; an estimate of several has one for each label."""
    measured = {OWN: noted[OWN], **noted["measures"]}
    columns = {name: measured[name] for name in (OWN, *COLUMNS) if name in wanted}
    for name in ("learning_rate", "prediction", "estimate"):
        columns |= _flat(trials, name, noted[name])
    if trials.kind in ("continuous", "binary"):
        columns["prediction_error"] = trials.outcomes - noted["prediction"]
    for name in ("uncertainty", "change_probability"):
        if noted[name] is not None:
            columns |= _flat(trials, name, noted[name])
    return columns


def _flat(trials: Trials, name: str, values: Numbers) -> dict[str, Numbers]:
    if values.ndim == 2:
        return {name: values}
    return {f"{name}_{label}": values[..., k] for k, label in enumerate(trials.labels or range(values.shape[-1]))}


def _beside(trials: Trials, columns: dict[str, Numbers], prefix: str) -> "DataFrame":
    taken = [prefix + name for name in columns if prefix + name in trials.frame]
    if taken:
        raise ValueError(f"the table already has a column {taken[0]!r}; give a prefix for the new ones (--prefix)")
    places = trials.rows[trials.observed]
    new = {prefix + name: np.full(len(trials.frame), np.nan) for name in columns}
    for name, values in columns.items():
        new[prefix + name][places] = np.broadcast_to(values, trials.observed.shape)[trials.observed]
    return trials.frame.assign(**new)

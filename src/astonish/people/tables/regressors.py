"""Regressors for pupils, EEG and fMRI: surprise, learning rate and more of a learner, trial by trial."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any
from warnings import warn

import jax
import jax.numpy as jnp
import numpy as np
from pandas import DataFrame

from astonish.core.names import MEASURED, NUMBERS
from astonish.core.numbers import PROBABILITY, FloatArray, Number, as_double, double
from astonish.core.programs import compiled, loop
from astonish.core.refusal import unknown
from astonish.core.special import difference
from astonish.learners.base import Learner, State, advance, check, failed, newly_failed
from astonish.models.parameters import find_parameter, parameters, with_parameters
from astonish.online.measures import (
    COLUMNS,
    applicable,
    check_holds_a_belief,
    in_order,
    meaning,
    measures_and_quantities,
)
from astonish.online.series import to_common_length
from astonish.people.tables.trials import Trials
from astonish.theory.novelty import novelty

OWN = "surprise"
ALL = "all"
NOVELTY = "novelty"
_WITH_CHANGE = "_with_change"
_FAILED = "failed"  # at a trial, in what is recorded
_OTHERS = {
    "learning_rate": "weight of the outcome in what the learner then thought, from 0 to 1",
    "prediction": "estimate just before the outcome",
    "estimate": "estimate just after the outcome",
    "prediction_error": "outcome minus prediction",
    "uncertainty": "standard deviation of the belief just before the outcome",
    "change_probability": "probability, once the outcome is known, that the world changed just before it",
    "value": "estimate of an option just before the choice",
    NOVELTY: "minus the logarithm of how often the outcome had been met before",
}


def regressors(
    learner: Learner,
    trials: Trials,
    measures: Sequence[str] | None = None,
    hazard: float | None = None,
    prefix: str = "",
) -> DataFrame:
    """Run a learner over every block of every participant: the table row for row, and columns of what it made of them.

    measures: which surprises: "surprise", the learner's own, as when left out; names from `measures.COLUMNS`, or of the
    learner's own quantities (see `Learner.quantities`); or "all" that apply. "novelty" comes
    beside them. hazard: the probability of a change before each trial, for measures that end in "_with_change". prefix:
    goes before the names of the new columns.
    Where an outcome is missing, so are they. It warns if the learner failed (see `Learner.failures`).

    >>> from pandas import DataFrame
    >>> from astonish import Gaussian, Smile
    >>> from astonish.people.tables import Columns, read_trials
    >>> trials = read_trials(DataFrame({"x": [1.0, None, 2.0, 9.0]}), Columns("x"))
    >>> table = regressors(Smile(Gaussian(noise=1.0)), trials)
    >>> table[["x", "surprise", "prediction"]].round(2).values.tolist()
    [[1.0, 0.5, 0.0], [nan, nan, nan], [2.0, 1.59, 0.22], [9.0, 32.99, 0.88]]
    """
    check(learner)
    samples = _samples(learner, trials)
    names = (measures,) if isinstance(measures, str) else tuple(measures or ())
    counted = {NOVELTY: _novelty(trials)} if NOVELTY in names else {}
    surprises = [name for name in names if name != NOVELTY] or None if counted else measures
    wanted = _wanted(learner, surprises, hazard)
    given = {}
    for name, values in trials.given.items():
        found = find_parameter(parameters(learner), name)
        given[found.path] = found.known.domain.check(f"{trials.columns.given[name]}, which gives {name},", values)
    with double():
        people, length = trials.observed.shape
        arrays = to_common_length(to_common_length((samples, trials.observed, trials.starts, given), axis=1), least=1)
        recorded = jax.device_get(_record(as_double(learner), *arrays, length, hazard, wanted))
    recorded = {name: values[:people, :length] for name, values in recorded.items() if values is not None} | counted
    failures = float(np.sum(recorded.pop(_FAILED, 0.0)))
    if failures:
        warn(failed(learner, failures), stacklevel=2)
    columns = _columns(trials, recorded, learner.period)
    new = {prefix + name: trials.to_rows(values, trials.observed) for name, values in columns}
    taken = next((name for name in new if name in trials.frame), None)
    if taken is not None:
        raise ValueError(f"the table already has a column {taken!r}; give a prefix for the new ones (--prefix)")
    return trials.frame.assign(**new)


def describe(column: str, learner: Learner | None = None) -> str:
    """What a column of `regressors` means, in a sentence. learner: whose quantities may be among the columns.

    >>> describe("prediction_error")
    'outcome minus prediction'
    """
    meanings = {} if learner is None else learner.meanings
    if column in meanings:
        return meanings[column]
    if column in COLUMNS:
        return meaning(column)
    if column == OWN:
        return "the learner's own measure of surprise"
    if column in _OTHERS:
        return _OTHERS[column]
    name, _, label = column.partition("_")
    return f"{_OTHERS[name]}, of {label}"


def _wanted(learner: Learner, measures: Sequence[str] | None, hazard: float | None) -> tuple[str, ...]:
    """The measures and quantities that are asked for, by name, or a refusal."""
    names = (OWN,) if measures is None else (measures,) if isinstance(measures, str) else tuple(measures)
    found = () if names == (OWN,) else applicable(learner, hazard)
    _check_names(names, found, hazard)
    for name in names:
        if name in COLUMNS and name not in found:
            check_holds_a_belief(learner)
            raise ValueError(f"{name} does not apply to these outcomes; what does is {', '.join(found)}")
    return (OWN, *found) if ALL in names else names


def _check_names(names: Sequence[str], found: Sequence[str], hazard: float | None) -> None:
    known = (ALL, OWN, *in_order((*COLUMNS, *found)))
    for name in names:
        if name not in known:
            raise unknown("measure", name, (*known, NOVELTY))
        if name.endswith(_WITH_CHANGE) and hazard is None:
            raise ValueError(f"{name} needs the probability of a change before each trial; give hazard")
    if hazard is not None:
        PROBABILITY.check("hazard", hazard)
        if not any(name == ALL or name.endswith(_WITH_CHANGE) for name in names):
            raise ValueError(f"hazard = {hazard:g} is for measures that end in {_WITH_CHANGE}; ask for some, or all")


def _samples(learner: Learner, trials: Trials) -> Any:
    """The outcomes as the learner takes them, or a refusal."""
    trials.check_angles(learner)
    domains, (parts, structure) = jax.tree.leaves(learner.samples), jax.tree.flatten(trials.outcomes)
    if [domain.shape for domain in domains] != [part.shape[2:] for part in parts]:
        raise ValueError(f"{type(learner).__name__} does not learn from outcomes that are {trials.kind}")
    for domain, part in zip(domains, parts, strict=True):
        domain.check("an outcome", part[trials.observed])
    read = [part if domain.is_index else part.astype(np.float64) for domain, part in zip(domains, parts, strict=True)]
    return jax.tree.unflatten(structure, read)


def _novelty(trials: Trials) -> FloatArray:
    """The novelty of each outcome in its block; of a transition, that of the state that it leads to."""
    if trials.kind in MEASURED:
        raise ValueError("novelty is of outcomes that can be met again, such as labels; these are numbers")
    states = trials.scalar_outcomes
    size = max(2, len(trials.labels or ()))
    found = np.full(trials.observed.shape, np.nan)
    for row, (seen, starts) in enumerate(zip(trials.observed, trials.starts, strict=True)):
        blocks = np.cumsum(starts)
        for block in np.unique(blocks):
            at = np.flatnonzero((blocks == block) & seen)
            found[row, at] = novelty(states[row, at].astype(int), size)
    return found


@partial(compiled, static_argnames="wanted")
def _record(
    learner: Learner,
    samples: Any,
    observed: Any,
    starts: Any,
    given: Any,
    length: Number,
    hazard: Any,
    wanted: tuple[str, ...],
) -> dict[str, Any]:
    """What the learner makes of each trial, from its own start in each block, a row for each participant."""

    def step(state: State, at: tuple[Any, Any, Any, Any]) -> tuple[State, dict[str, Any]]:
        x, seen, start, values = at
        now = with_parameters(learner, values)
        before = jax.tree.map(lambda fresh, old: jnp.where(start, fresh, old), now.init(), state)
        after, info = advance(now, before, x, seen)
        (inner, held, _), (_, left, _) = now.in_context(before, x), now.in_context(after, x)
        prediction, read = inner.estimate(held), now.estimate_at(before, x)  # the latter is of all options
        found = measures_and_quantities(now, before, after, x, hazard) if wanted != (OWN,) else {}
        return after, {
            **{name: value for name, value in {OWN: info.surprise, **found}.items() if name in wanted},
            "learning_rate": info.learning_rate,
            "prediction": prediction,
            "estimate": inner.estimate(left),
            "uncertainty": inner.uncertainty(held),
            "change_probability": info.change_probability,
            "value": None if jnp.shape(read) == jnp.shape(prediction) else read,
            _FAILED: newly_failed(inner, held, left),
        }

    def one(*series: Any) -> dict[str, Any]:
        first = with_parameters(learner, {path: values[0] for path, values in series[-1].items()}).init()
        return loop(step, first, series, length)[1]

    return jax.vmap(one)(samples, observed, starts, given)


def _columns(trials: Trials, recorded: dict[str, Any], period: Number | None) -> Iterator[tuple[str, FloatArray]]:
    """What was recorded, as columns of numbers; an estimate of several has one for each label."""
    if trials.kind in (*NUMBERS, *MEASURED):
        recorded["prediction_error"] = difference(trials.scalar_outcomes, recorded["prediction"], period)
    for name in (OWN, *in_order(set(recorded) - {OWN, *_OTHERS}), *_OTHERS):
        values = recorded.get(name)
        if values is not None and values.ndim == 2:
            yield name, values
        elif values is not None:
            labels = (trials.options if name == "value" else trials.labels) or range(values.shape[-1])
            yield from ((f"{name}_{label}", values[..., k]) for k, label in enumerate(labels))

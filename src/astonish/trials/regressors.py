"""Regressors for pupils, EEG and fMRI: surprise, learning rate and more of a learner, trial by trial."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from pandas import DataFrame

from astonish import surprise
from astonish.domain import PROBABILITY, Numbers, resolve, with_parameters
from astonish.kinds import MEASURED, NUMBERS
from astonish.learner import Learner, State, advance, check
from astonish.loops import compiled, loop
from astonish.measures import COLUMNS, all_measures, check_holds_a_belief, holds_a_belief, moment
from astonish.precision import Number, as_double, double
from astonish.refusal import unknown
from astonish.series import to_common_length
from astonish.special import difference
from astonish.trials.trials import Trials

OWN = "surprise"
ALL = "all"
_WITH_CHANGE = "_with_change"
_OTHERS = {
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
) -> DataFrame:
    """Run a learner over every block of every participant: the table row for row, and columns of what it made of them.

    measures: which surprises: "surprise", the learner's own, as when left out; names from `measures.COLUMNS`; or
    "all" that apply. hazard: the chance of a change before each trial, for measures that end in "_with_change".
    prefix: goes before the names of the new columns. Where an outcome is missing, so are they.

    >>> from pandas import DataFrame
    >>> from astonish import Gaussian, Smile
    >>> from astonish.trials import Columns, read_trials
    >>> trials = read_trials(DataFrame({"x": [1.0, None, 2.0, 9.0]}), Columns("x"))
    >>> table = regressors(Smile(Gaussian(noise=1.0)), trials)
    >>> table[["x", "surprise", "prediction"]].round(2).values.tolist()
    [[1.0, 0.5, 0.0], [nan, nan, nan], [2.0, 1.59, 0.22], [9.0, 32.99, 0.88]]
    """
    check(learner)
    samples = _samples(learner, trials)
    wanted = _wanted(learner, samples, measures, hazard)
    given = {}
    for name, values in trials.given.items():
        found = resolve(learner, name)
        given[found.path] = found.known.domain.check(f"{trials.columns.given[name]}, which gives {name},", values)
    with double():
        people, length = trials.observed.shape
        arrays = to_common_length(to_common_length((samples, trials.observed, trials.starts, given), axis=1), least=1)
        recorded = jax.device_get(_record(as_double(learner), *arrays, length, hazard, wanted))
    recorded = {name: values[:people, :length] for name, values in recorded.items() if values is not None}
    columns = _columns(trials, recorded, learner.period)
    new = {prefix + name: trials.to_rows(values, trials.observed) for name, values in columns}
    taken = next((name for name in new if name in trials.frame), None)
    if taken is not None:
        raise ValueError(f"the table already has a column {taken!r}; give a prefix for the new ones (--prefix)")
    return trials.frame.assign(**new)


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
    if column == OWN:
        return "the learner's own measure of surprise"
    if column in _OTHERS:
        return _OTHERS[column]
    name, _, label = column.partition("_")
    return f"{_OTHERS[name]}, of {label}"


def _wanted(learner: Learner, samples: Any, measures: Sequence[str] | None, hazard: float | None) -> tuple[str, ...]:
    """The measures that are asked for, by name, or a refusal."""
    names = (OWN,) if measures is None else (measures,) if isinstance(measures, str) else tuple(measures)
    _check_names(names, hazard)
    named = [name for name in names if name in COLUMNS]
    if named:
        check_holds_a_belief(learner)
    applicable = _applicable(learner, samples, hazard) if holds_a_belief(learner) and names != (OWN,) else ()
    for name in named:
        if name not in applicable:
            raise ValueError(f"{name} does not apply to these outcomes; what does is {', '.join(applicable)}")
    return (OWN, *applicable) if ALL in names else names


def _check_names(names: Sequence[str], hazard: float | None) -> None:
    for name in names:
        if name not in (OWN, ALL, *COLUMNS):
            raise unknown("measure", name, (ALL, OWN, *COLUMNS))
        if name.endswith(_WITH_CHANGE) and hazard is None:
            raise ValueError(f"{name} needs the chance of a change before each trial; give hazard")
    if hazard is not None:
        PROBABILITY.check("hazard", hazard)
        if not any(name == ALL or name.endswith(_WITH_CHANGE) for name in names):
            raise ValueError(f"hazard = {hazard:g} is for measures that end in {_WITH_CHANGE}; ask for some, or all")


def _applicable(learner: Learner, samples: Any, hazard: float | None) -> tuple[str, ...]:
    """The measures that there are for such outcomes."""
    first = jax.tree.map(lambda part: part[0, 0], samples)
    with double():
        start = learner.init()
        found = jax.eval_shape(lambda x: all_measures(moment(learner, start, start, x), hazard), first)
    return tuple(name for name in COLUMNS if name in found)


def _samples(learner: Learner, trials: Trials) -> Any:
    """The outcomes as the learner takes them, or a refusal."""
    trials.check_angles(learner)
    domains, parts = jax.tree.leaves(learner.samples), jax.tree.leaves(trials.outcomes)
    if len(domains) != len(parts) or any(domain.shape for domain in domains):
        raise ValueError(f"{type(learner).__name__} does not learn from outcomes that are {trials.kind}")
    for domain, part in zip(domains, parts, strict=True):
        domain.check("an outcome", part[trials.observed])
    read = [part if domain.is_index else part.astype(np.float64) for domain, part in zip(domains, parts, strict=True)]
    return read[0] if len(read) == 1 else tuple(read)


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
        (inner, held, _), (_, left, _) = now.local(before, x), now.local(after, x)
        found = all_measures(moment(now, before, after, x), hazard) if wanted != (OWN,) else {}
        return after, {
            **{name: value for name, value in {OWN: info.surprise, **found}.items() if name in wanted},
            "learning_rate": info.learning_rate,
            "prediction": inner.estimate(held),
            "estimate": inner.estimate(left),
            "uncertainty": inner.uncertainty(held),
            "change_probability": info.change_probability,
        }

    def one(*series: Any) -> dict[str, Any]:
        first = with_parameters(learner, {path: values[0] for path, values in series[-1].items()}).init()
        return loop(step, first, series, length)[1]

    return jax.vmap(one)(samples, observed, starts, given)


def _columns(trials: Trials, recorded: dict[str, Any], period: Number | None) -> Iterator[tuple[str, Numbers]]:
    """What was recorded, as columns of numbers; an estimate of several has one for each label."""
    if trials.kind in (*NUMBERS, *MEASURED):
        recorded["prediction_error"] = difference(trials.outcomes, recorded["prediction"], period)
    for name in (OWN, *COLUMNS, *_OTHERS):
        values = recorded.get(name)
        if values is not None and values.ndim == 2:
            yield name, values
        elif values is not None:
            labels = trials.labels or range(values.shape[-1])
            yield from ((f"{name}_{label}", values[..., k]) for k, label in enumerate(labels))

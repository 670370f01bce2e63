"""What do people do after an outcome, and what does a fitted model? Learning rates, and choices that are repeated."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from pandas import DataFrame, Series, concat

from astonish.core.numbers import FloatArray
from astonish.core.special import difference
from astonish.people.fit.result import Fit

PEOPLE = "people"
LAGS = range(-2, 7)  # trials from a change of the world: 0 is the first outcome after it
_BINS = 8


def steps(fit: Fit) -> DataFrame:
    """A row for each response that follows another one of its block, and an outcome between the two.

    error: from the last response to that outcome. step: from the last response to this one. model_error, model_step:
    the same of the model; of one that does not go on from responses, from its own last expectation. lag: trials since
    the world last changed (0: the first outcome after a change), NaN if the table does not say so.
    """
    expected, responses = fit.outputs.expected, fit.outputs.responses
    last = last_of_block(responses, fit.trials.starts)
    before = last if fit.model.response.anchored else last_of_block(expected, fit.trials.starts)
    outcome, lag = _between(fit, fit.trials.scalar_outcomes), _between(fit, _lags(fit))
    there = np.asarray(fit.data.scored, bool) & np.isfinite(last) & np.isfinite(outcome)
    period = fit.model.learner.period
    numbers = {
        "error": difference(outcome, last, period),
        "step": difference(responses, last, period),
        "model_error": difference(outcome, before, period),
        "model_step": difference(expected, before, period),
        "lag": lag,
    }
    who = np.repeat(np.array(fit.trials.subjects, object), there.sum(axis=1))
    return DataFrame({"participant": who, **{name: np.asarray(values)[there] for name, values in numbers.items()}})


def repeats(fit: Fit) -> DataFrame:
    """A row for each choice that follows another one of its block.

    repeated: 1 if it is the same, else 0; model_repeated: how probable that was. outcome: between the two, less the
    participant's mean, so that above 0 it was better than usual; lag: as in `steps`.
    """
    responses = fit.outputs.responses
    last = last_of_block(responses, fit.trials.starts)
    outcome, lag = _between(fit, fit.trials.scalar_outcomes), _between(fit, _lags(fit))
    there = np.asarray(fit.data.scored, bool) & np.isfinite(last) & np.isfinite(outcome)
    if fit.trials.options is None:  # a prediction was right, or it was wrong
        outcome = (outcome == last) - 0.5
    else:
        outcome = outcome - np.nanmean(np.where(there, outcome, np.nan), axis=1, keepdims=True)
    same = np.where(there, last, 0).astype(int)[..., None]
    probability = np.take_along_axis(fit.outputs.probabilities, same, -1)[..., 0]
    who = np.repeat(np.array(fit.trials.subjects, object), there.sum(axis=1))
    values = {"repeated": responses == last, "model_repeated": probability, "outcome": outcome, "lag": lag}
    columns = {name: np.asarray(part, np.float64)[there] for name, part in values.items()}
    return DataFrame({"participant": who, **columns})


def rates_by_error(fits: Mapping[str, Fit]) -> DataFrame:
    """Learning rates of people and of each model, for errors of each size, in bins with equally many.

    A row for each bin and who it is of: `error`, its mean size; `rate`, the slope of steps on errors through zero, a
    mean over participants, with its standard error; `people`, how many of them there are.
    """
    tables = {name: steps(fit) for name, fit in fits.items()}
    first = next(iter(tables.values()))
    sizes = np.abs(first["error"].to_numpy())
    edges = np.unique(np.quantile(sizes[np.isfinite(sizes)], np.linspace(0, 1, _BINS + 1)))
    parts = [_binned(PEOPLE, first, "error", "step", edges)]
    parts += [_binned(name, table, "model_error", "model_step", edges) for name, table in tables.items()]
    return concat(parts, ignore_index=True)


def rates_around_changes(fits: Mapping[str, Fit]) -> DataFrame | None:
    """The same for trials before and after the world changed; None if the table does not say when.

    Of choices, `rate` is how often the last one is repeated.
    """
    choices = next(iter(fits.values())).outputs.probabilities is not None
    tables = {name: (repeats if choices else steps)(fit) for name, fit in fits.items()}
    first = next(iter(tables.values()))
    if first["lag"].isna().all():
        return None
    of_people = ("", "repeated") if choices else ("error", "step")
    of_models = ("", "model_repeated") if choices else ("model_error", "model_step")
    parts = [_by(PEOPLE, first, "lag", *of_people)]
    parts += [_by(name, table, "lag", *of_models) for name, table in tables.items()]
    return concat(parts, ignore_index=True)


def repeats_by_outcome(fits: Mapping[str, Fit]) -> DataFrame:
    """How often people, and each model, repeat a choice after an outcome that was worse, and better, than usual."""
    tables = {name: repeats(fit) for name, fit in fits.items()}
    for table in tables.values():
        table["after"] = np.where(table["outcome"] > 0, "better", "worse")
    parts = [_by(PEOPLE, next(iter(tables.values())), "after", "", "repeated")]
    parts += [_by(name, table, "after", "", "model_repeated") for name, table in tables.items()]
    return concat(parts, ignore_index=True)


def last_of_block(values: FloatArray, starts: Any) -> FloatArray:
    """The value before each that is there, in the same block."""
    block = np.cumsum(starts)
    filled = Series(np.asarray(values, np.float64).ravel()).groupby(block).ffill()
    return np.asarray(filled.groupby(block).shift(), np.float64).reshape(starts.shape)


def _between(fit: Fit, values: FloatArray) -> FloatArray:
    """What is known of the outcome between a response and the one before: of its own trial, or of the trial before."""
    seen = np.where(fit.trials.observed, values, np.nan)
    if not fit.trials.responds_before:
        return seen
    return np.where(fit.trials.starts, np.nan, np.concatenate([np.full((len(seen), 1), np.nan), seen[:, :-1]], axis=1))


def _lags(fit: Fit) -> FloatArray:
    """Trials since the world last changed in the block, or, just before a change, until then (negative)."""
    changed, starts = fit.trials.changed, fit.trials.starts
    if changed is None:
        return np.full(starts.shape, np.nan)
    found, block, at = np.full(starts.shape, np.nan), np.cumsum(starts, axis=1), np.arange(starts.shape[1])
    for row, change in np.argwhere(changed & ~starts):
        lag = at - change
        near = (lag >= LAGS[0]) & (lag <= LAGS[-1]) & (block[row] == block[row, change])
        free = near & ((lag >= 0) | np.isnan(found[row]))  # what follows one change is not what comes before the next
        found[row, free] = lag[free]
    return found


def _binned(name: str, table: DataFrame, error: str, step: str, edges: FloatArray) -> DataFrame:
    inner = edges[1:-1]
    table = table.assign(bin=np.searchsorted(inner, np.abs(table[error].to_numpy()), side="right"))
    sizes = table[error].abs().groupby(table["bin"]).mean().rename("error")
    return _by(name, table, "bin", error, step).join(sizes, on="bin")


def _by(name: str, table: DataFrame, key: str, error: str, step: str) -> DataFrame:
    """For each value of `key`, the mean over participants of a slope (or, without errors, of a mean)."""
    known = table.dropna(subset=[key, step])
    weight = known[error] if error else Series(1.0, known.index)
    parts = DataFrame({"top": known[step] * weight, "bottom": weight * weight})
    sums = parts.groupby([known[key], known["participant"]]).sum()
    each = (sums["top"] / sums["bottom"].where(sums["bottom"] > 0)).dropna().groupby(level=0)
    found = DataFrame({"rate": each.mean(), "se": each.sem(), "people": each.size()})
    return found.reset_index(names=key).assign(of=name)

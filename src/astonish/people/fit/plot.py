"""What does a fit look like?"""

from typing import Any

import numpy as np
from pandas import Series

from astonish.core.numbers import FloatArray
from astonish.core.refusal import naming_extra
from astonish.core.special import difference
from astonish.people.fit.goodness import probability_of_choices
from astonish.people.fit.result import Fit
from astonish.report.style import BLUE, GREEN, STYLE, VERMILLION

with naming_extra("a plot needs"):
    import matplotlib as mpl
    import matplotlib.pyplot as plt
    from matplotlib.figure import Figure

_BINS = 12


def plot_fit(fit: Fit) -> Figure:
    """Above, each free parameter of all participants, with intervals; below, what people did and the model expects."""
    below = _choices if fit.model.response.kind == "choice" else _numbers
    with mpl.rc_context(STYLE):
        figure = plt.figure(figsize=(7, 5), layout="constrained")
        halves: Any = figure.subfigures(2, 1)
        upper, lower = halves
        panels = upper.subplots(1, max(len(fit.names), 2))
        for k in range(len(fit.names)):
            _parameter(panels[k], fit, k)
        for axis in panels[len(fit.names) :]:
            axis.set_visible(False)
        below(lower, fit)
    return figure


def _parameter(axis: Any, fit: Fit, k: int) -> None:
    """Participants in the order of their values."""
    order = np.argsort(fit.values[:, k])
    value, low, high = fit.values[order, k], fit.low[order, k], fit.high[order, k]
    known = np.isfinite(low) & np.isfinite(high)
    places = np.arange(1, len(order) + 1)
    axis.vlines(places[known], low[known], high[known], color=BLUE, lw=0.8, alpha=0.5)
    axis.plot(places, value, "o", ms=2.5, mew=0, color=BLUE)
    domain = fit.space.domains[k]
    if domain.low == 0 and not domain.has_high and (value > 0).all():
        axis.set_yscale("log")
        inner = value[known] if known.any() else value
        lowest, highest = (low[known].min(), high[known].max()) if known.any() else (0.0, np.inf)
        axis.set_ylim(max(inner.min() / 10, lowest), min(inner.max() * 10, highest))
    axis.set(xlabel="participant, by value", ylabel=fit.names[k])


def _numbers(figure: Any, fit: Fit) -> None:
    """Left, steps against errors; right, responses against what was expected of them."""
    left, right = figure.subplots(1, 2)
    scored = np.asarray(fit.data.scored, bool)
    expected, responses = fit.outputs.expected, fit.outputs.responses
    last = _last(responses, fit.trials.starts)
    outcome = fit.trials.scalar_outcomes
    if fit.trials.responds_before:  # the response follows the outcome of the trial before
        outcome = np.concatenate([np.full((len(outcome), 1), np.nan), outcome[:, :-1]], axis=1)
    there = scored & np.isfinite(last) & np.isfinite(outcome)
    period = fit.model.learner.period
    wrong, steps, expected_steps = (difference(x, last, period)[there] for x in (outcome, responses, expected))
    _binned(left, wrong, steps, VERMILLION, "o", "people")
    _binned(left, wrong, expected_steps, BLUE, "s", "model")
    left.set(xlabel="prediction error", ylabel="step of the response")
    left.legend()
    near = expected + difference(responses, expected, period)
    _binned(right, expected[scored], near[scored], GREEN, "o", None)
    ends = np.nanquantile(expected[scored], [0.005, 0.995])
    right.plot(ends, ends, color="0.6", lw=0.8)
    right.set(xlabel="expected response", ylabel="response")


def _choices(figure: Any, fit: Fit) -> None:
    """How probable the model takes the choices that were made to be, participant by participant."""
    axis = figure.subplots()
    mean = np.nanmean(probability_of_choices(fit), axis=1)
    axis.plot(np.arange(1, len(mean) + 1), np.sort(mean), "o", ms=3, color=BLUE)
    axis.axhline(1 / max(len(fit.trials.choice_labels), 2), color="0.6", lw=0.8, label="by chance")
    axis.set(xlabel="participant, by value", ylabel="mean probability of\nthe choices made", ylim=(0, 1))
    axis.legend()


def _last(responses: FloatArray, starts: Any) -> FloatArray:
    """The response before each, in the same block."""
    block = np.cumsum(starts)
    filled = Series(responses.ravel()).groupby(block).ffill()
    return np.asarray(filled.groupby(block).shift(), np.float64).reshape(responses.shape)


def _binned(axis: Any, x: FloatArray, y: FloatArray, colour: str, marker: str, label: str | None) -> None:
    """Means in bins with equally many, and quarter to three quarters of what is in them."""
    edges = np.unique(np.quantile(x, np.linspace(0, 1, _BINS + 1))) if len(x) else np.zeros(0)
    if len(edges) < 2:
        return
    which = np.clip(np.searchsorted(edges, x, side="right") - 1, 0, len(edges) - 2)
    centre, inside = Series(x).groupby(which).mean(), Series(y).groupby(which)
    axis.fill_between(centre, inside.quantile(0.25), inside.quantile(0.75), color=colour, alpha=0.15, lw=0)
    axis.plot(centre, inside.mean(), marker=marker, ms=3.5, color=colour, label=label)

"""What does a fit look like?"""

import math
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np

from astonish.plot import BLUE, GREEN, STYLE, VERMILLION

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from astonish.domain import Numbers
    from astonish.fit.result import Fit

_BINS = 12


def portrait(fit: "Fit") -> "Figure":
    """Above, each free parameter of all participants, with intervals; below, what people did and the model expects."""
    below = _choices if fit.model.response.kind == "choice" else _numbers
    with mpl.rc_context(STYLE):
        across = max(len(fit.names), 2)
        figure = plt.figure(figsize=(7, 5), layout="constrained")
        upper, lower = np.ravel(figure.subfigures(2, 1))
        panels = upper.subplots(1, across, squeeze=False)[0]
        for k, axis in enumerate(panels):
            axis.set_visible(k < len(fit.names))
            if k < len(fit.names):
                _parameter(axis, fit, k)
        below(lower, fit)
    return figure


def _parameter(axis: Any, fit: "Fit", k: int) -> None:
    """Participants in the order of their values."""
    order = np.argsort(fit.values[:, k])
    value, low, high = fit.values[order, k], fit.low[order, k], fit.high[order, k]
    known = np.isfinite(low) & np.isfinite(high)
    places = np.arange(1, len(order) + 1)
    axis.vlines(places[known], low[known], high[known], color=BLUE, lw=0.8, alpha=0.5)
    axis.plot(places, value, "o", ms=2.5, mew=0, color=BLUE)
    domain = fit.space.domains[k]
    if math.isfinite(domain.low) and not math.isfinite(domain.high) and (value > domain.low).all():
        axis.set_yscale("log")
        inner = value[known] if known.any() else value
        axis.set_ylim(
            max(inner.min() / 10, low[known].min(initial=np.inf)), min(inner.max() * 10, high[known].max(initial=0))
        )
    axis.set(xlabel="participant, by value", ylabel=fit.names[k])


def _numbers(figure: Any, fit: "Fit") -> None:
    """Left, steps against errors; right, responses against what was expected of them."""
    left, right = figure.subplots(1, 2)
    scored = np.asarray(fit.task.scored, bool)
    expected, responses = fit.account.expected, fit.account.responses
    last = _last(responses, fit.trials.starts)
    outcome = fit.trials.outcomes if not isinstance(fit.trials.outcomes, tuple) else fit.trials.outcomes[1]
    if fit.trials.before:  # the response follows the outcome of the trial before
        outcome = np.concatenate([np.full((len(outcome), 1), np.nan), outcome[:, :-1]], axis=1)
    there = scored & np.isfinite(last) & np.isfinite(outcome)
    wrong = (outcome - last)[there]
    for values, colour, marker, label in (
        ((responses - last)[there], VERMILLION, "o", "people"),
        ((expected - last)[there], BLUE, "s", "model"),
    ):
        _binned(left, wrong, values, colour, marker, label)
    left.set(xlabel="prediction error", ylabel="step of the response")
    left.legend()
    _binned(right, expected[scored], responses[scored], GREEN, "o", None)
    ends = np.nanquantile(expected[scored], [0.005, 0.995])
    right.plot(ends, ends, color="0.6", lw=0.8)
    right.set(xlabel="expected response", ylabel="response")


def _choices(figure: Any, fit: "Fit") -> None:
    """How probable the model takes the choices that were made to be, participant by participant."""
    axis = figure.subplots()
    scored = np.asarray(fit.task.scored, bool)
    chance = np.exp(fit.account.log_likelihood)
    mean = np.array([own[there].mean() for own, there in zip(chance, scored, strict=True)])
    axis.plot(np.arange(1, len(mean) + 1), np.sort(mean), "o", ms=3, color=BLUE)
    axis.axhline(1 / max(len(fit.trials.labels or (0, 1)), 2), color="0.6", lw=0.8, label="by chance")
    axis.set(xlabel="participant, by value", ylabel="mean probability of\nthe choices made", ylim=(0, 1))
    axis.legend()


def _last(responses: "Numbers", starts: Any) -> "Numbers":
    """The response before each, in the same block."""
    last = np.full(responses.shape, np.nan)
    for t in range(1, responses.shape[1]):
        before = np.where(np.isnan(responses[:, t - 1]), last[:, t - 1], responses[:, t - 1])
        last[:, t] = np.where(starts[:, t], np.nan, before)
    return last


def _binned(axis: Any, x: "Numbers", y: "Numbers", colour: str, marker: str, label: str | None) -> None:
    """Means in bins with equally many, and quarter to three quarters of what is in them."""
    edges = np.unique(np.quantile(x, np.linspace(0, 1, _BINS + 1))) if len(x) else np.zeros(0)
    if len(edges) < 2:
        return
    which = np.clip(np.searchsorted(edges, x, side="right") - 1, 0, len(edges) - 2)
    rows = [(x[which == k].mean(), y[which == k]) for k in range(len(edges) - 1) if (which == k).any()]
    centre, mean = np.array([c for c, _ in rows]), np.array([values.mean() for _, values in rows])
    low, high = np.array([np.quantile(values, [0.25, 0.75]) for _, values in rows]).T
    axis.fill_between(centre, low, high, color=colour, alpha=0.15, lw=0)
    axis.plot(centre, mean, marker=marker, ms=3.5, color=colour, label=label)

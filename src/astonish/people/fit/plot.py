"""Figures of a fit: parameters, what people did and the model expects, behaviour, and differences between people."""

from collections.abc import Mapping
from functools import partial
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import numpy as np
from pandas import DataFrame, Series
from scipy.special import stdtrit

from astonish.core.numbers import FloatArray
from astonish.core.refusal import check_installed
from astonish.core.special import difference
from astonish.people.fit.description import (
    PEOPLE,
    members,
    probability_of_choices,
    rates_around_changes,
    rates_by_error,
    repeats_by_outcome,
    transitions,
)
from astonish.people.fit.result import Fit
from astonish.report.style import BLUE, GREEN, VERMILLION, styled_figure, styled_panels

if TYPE_CHECKING:
    from matplotlib.figure import Figure

check_installed("a plot needs", "matplotlib")  # before a fit that takes long, not after it

_BINS = 12
_MARKERS = "osD^vP*X"
_MOST_TRIALS = 200  # of one participant
_GOLDEN = 0.6180339887498949  # steps of this size spread dots evenly, however many there are


def plot_fit(fit: Fit) -> "Figure":
    """Draw each free parameter of all participants, with intervals; below, what people did and the model expects."""
    with styled_figure(figsize=(7, 5)) as (figure, whole):
        whole.remove()
        halves: Any = figure.subfigures(2, 1)
        panels = halves[0].subplots(1, max(len(fit.names), 2))
        for k in range(len(fit.names)):
            _parameter(panels[k], fit, k)
        for axis in panels[len(fit.names) :]:
            axis.set_visible(False)
        if fit.model.response.kind == "choice":  # how probable the choices made were to the model
            axis = halves[1].subplots()
            mean = np.nanmean(probability_of_choices(fit), axis=1)
            axis.plot(np.arange(1, len(mean) + 1), np.sort(mean), "o", ms=3, color=BLUE)
            axis.axhline(1 / max(len(fit.trials.choice_labels), 2), color="0.6", lw=0.8, label="by chance")
            axis.set(xlabel="participant, by value", ylabel="mean probability of\nthe choices made", ylim=(0, 1))
            axis.legend()
            return figure
        # Steps against errors, and responses against what was expected of them
        left, right = halves[1].subplots(1, 2)
        expected, responses, period = fit.outputs.expected, fit.outputs.responses, fit.model.learner.period
        scored, (last, outcome, there) = np.asarray(fit.data.scored, bool), transitions(fit)
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
    return figure


def _parameter(axis: Any, fit: Fit, k: int) -> None:
    """Draw participants in the order of their values."""
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


def _binned(axis: Any, x: FloatArray, y: FloatArray, colour: str, marker: str, label: str | None) -> None:
    """Draw means in bins with equally many, and quarter to three quarters of what is in them."""
    edges = np.unique(np.quantile(x, np.linspace(0, 1, _BINS + 1))) if len(x) else np.zeros(0)
    if len(edges) < 2:
        return
    bins = np.clip(np.searchsorted(edges, x, side="right") - 1, 0, len(edges) - 2)
    centre, inside = Series(x).groupby(bins).mean(), Series(y).groupby(bins)
    axis.fill_between(centre, inside.quantile(0.25), inside.quantile(0.75), color=colour, alpha=0.15, lw=0)
    axis.plot(centre, inside.mean(), marker=marker, ms=3.5, color=colour, label=label)


# One participant


def plot_participant(fit: Fit, who: str | None = None) -> "Figure":
    """Draw outcomes, one participant's responses, and what the model expects of them, trial by trial.

    who: left out, the one whom the model explains better than half of all, and worse than the other half.
    """
    subjects = fit.trials.subjects
    by_likelihood = np.argsort(fit.log_likelihood / np.maximum(fit.responses, 1))
    subject = subjects[int(by_likelihood[len(subjects) // 2])] if who is None else who
    if subject not in subjects:
        raise ValueError(f"there is no participant {subject!r}; give one of {', '.join(subjects[:5])}, ...")
    row = subjects.index(subject)
    at = np.flatnonzero(fit.trials.rows[row] >= 0)[:_MOST_TRIALS]
    responses, outcomes = fit.outputs.responses[row][at], fit.trials.scalar_outcomes[row][at]
    with styled_figure(figsize=(7, 2.6)) as (figure, axis):
        if fit.outputs.probabilities is None:
            seen = np.where(fit.trials.observed[row][at], outcomes, np.nan)
            axis.plot(at + 1, seen, "o", ms=2.5, mew=0, color="0.6", label="outcomes")
            axis.plot(at + 1, responses, color=VERMILLION, marker=".", ms=3, lw=0.8, label="responses")
            expected = np.where(fit.data.scored[row], fit.outputs.expected[row], np.nan)[at]
            axis.plot(at + 1, expected, color=BLUE, lw=1.2, label="expected by the model")
            axis.set_ylabel(str(fit.trials.columns.response))
        else:  # the probability of each choice but the first (of two, one line); above and below, what was chosen
            labels, options = fit.trials.choice_labels, fit.trials.options
            for k in range(1 if len(labels) == 2 else 0, len(labels)):
                axis.plot(at + 1, fit.outputs.probabilities[row][at, k], lw=1.2, label=f"P({labels[k]}), the model")
            height = np.where(responses == 1, 1.06, -0.06)
            if len(labels) > 2:
                height = 1.05 + 0.06 * np.nan_to_num(responses)
            good = outcomes > outcomes.mean() if options else responses == outcomes
            known = np.isfinite(responses)
            name = "chosen, and paid more than usual" if options else "chosen, and right"
            axis.plot((at + 1)[known & good], height[known & good], "|", ms=6, color=GREEN, label=name)
            axis.plot((at + 1)[known & ~good], height[known & ~good], "|", ms=6, color="0.5", label="chosen, else")
            axis.set_ylabel("probability")
        for start in np.flatnonzero(fit.trials.starts[row])[1:]:
            if start <= at[-1]:
                axis.axvline(start + 0.5, color="0.8", lw=0.8, zorder=0)
        cut = f", first {_MOST_TRIALS} trials" if len(at) == _MOST_TRIALS else ""
        axis.set_title(f"participant {subject}{cut}", loc="left")
        axis.set_xlabel("trial")
        axis.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return figure


# People's behaviour, and models'


def plot_behaviour(fits: Mapping[str, Fit]) -> "Figure":
    """Draw learning rates by the size of errors, or how often choices are repeated after worse and better outcomes.

    On the right, if the table says when the world changed: the same around changes. Means over people with standard
    errors.
    """
    choices = next(iter(fits.values())).outputs.probabilities is not None
    around = rates_around_changes(fits)
    label = "share of choices repeated" if choices else "learning rate"
    columns, width = (1, 4.5) if around is None else (2, 7)
    with styled_figure(1, columns, figsize=(width, 2.8), sharey=True, squeeze=False) as (figure, axes):
        left = axes[0, 0]
        if choices:
            _lines(left, repeats_by_outcome(fits), "after")
            left.set(xlabel="last outcome, compared with the usual one", ylabel=label, ylim=(0, 1.02))
            left.set_xlim(-0.3, 1.3)
        else:
            _lines(left, rates_by_error(fits), "error")
            left.set(xlabel="size of the prediction error", ylabel=label)
        if around is not None:
            _lines(axes[0, 1], around, "lag")
            axes[0, 1].axvline(-0.5, color="0.8", lw=0.8, zorder=0)
            axes[0, 1].set(xlabel="outcomes since a change (0: the first)")
        left.legend()
    return figure


def _lines(axis: Any, table: DataFrame, across: str) -> None:
    """Draw people in black, and each model, by its name without folders."""
    for k, (name, own) in enumerate(table.groupby("of", sort=False)):
        look = {"color": "black", "zorder": 3} if name == PEOPLE else {"alpha": 0.9}
        own = own.sort_values(across, ascending=across != "after")  # worse before better
        axis.errorbar(
            own[across], own["rate"], yerr=own["se"].fillna(0.0), marker=_MARKERS[k % len(_MARKERS)], ms=4, capsize=2,
            label="\n".join(wrap(str(name).rpartition("/")[2], 24)), **look,
        )  # fmt: skip


# Groups, conditions and covariates


def plot_differences(fit: Fit) -> "Figure":
    """Draw a panel for each parameter and each way in which people, or conditions, differ.

    Dots are participants (lines join the conditions of one), diamonds means with 95 % intervals, both on the
    unconstrained scale; axes are labelled by values. Values at a bound are not shown.
    """
    x = np.where(fit.space.at_bound(fit.unconstrained) == 0, fit.unconstrained, np.nan)
    own, trials = [k for k, name in enumerate(fit.space.names) if name not in fit.shared], fit.trials
    panels: list[tuple[int, Any]] = []  # the parameter, and what draws the panel
    for k in own if trials.group is not None else ():
        groups = {label: x[those, k] for label, those in members(fit).items()}
        panels.append((k, partial(_columns, groups, trials.columns.group, fit.names[k])))
    for path, places in fit.space.by_condition.items():
        conditions = dict(zip(trials.conditions, x[:, places].T, strict=True))
        draw = partial(_columns, conditions, trials.columns.condition, path.rpartition(".")[2], joined=True)
        panels.append((places[0], draw))
    for name, numbers in trials.covariates.items():
        panels += [(k, partial(_scatter, numbers, x[:, k], name, fit.names[k])) for k in own]
    with styled_panels(len(panels), 2.6, 2.6, margin=0.4) as (figure, axes):
        for axis, (k, draw) in zip(axes, panels, strict=True):
            draw(axis)
            low, high = axis.get_ylim()  # places are unconstrained, and labels values of the parameter
            marks = np.linspace(low, high, 9)[1::2]
            axis.set_yticks(marks, [f"{value:.2g}" for value in fit.space.only(k).constrained(marks[:, None])[:, 0]])
            axis.set_ylim(low, high)
    return figure


def _columns(parts: Mapping[Any, FloatArray], xlabel: Any, ylabel: str, axis: Any, joined: bool = False) -> None:
    """Draw a column of dots for each label, and its mean. joined: whether lines join the dots of one participant."""
    if joined:
        axis.plot(np.arange(len(parts)), np.stack(list(parts.values())), color="0.8", lw=0.6, zorder=0)
    for place, values in enumerate(parts.values()):
        known = values[np.isfinite(values)]
        across = place + (0.0 if joined else 0.4) * (np.arange(len(known)) * _GOLDEN % 1 - 0.5)
        axis.plot(across, known, "o", ms=3, mew=0, color=BLUE, alpha=0.5)
        if len(known) > 1:
            wide = stdtrit(len(known) - 1, 0.975) * known.std(ddof=1) / np.sqrt(len(known))
            axis.errorbar(place, known.mean(), yerr=wide, fmt="D", ms=5, color="black", capsize=3, zorder=3)
    axis.set_xticks(range(len(parts)), [str(label) for label in parts])
    axis.set(xlabel=xlabel, ylabel=ylabel, xlim=(-0.6, len(parts) - 0.4))


def _scatter(numbers: FloatArray, values: FloatArray, xlabel: str, ylabel: str, axis: Any) -> None:
    """Draw values over numbers, with a line of regression."""
    there = np.isfinite(values)
    axis.plot(numbers[there], values[there], "o", ms=3, mew=0, color=BLUE, alpha=0.6)
    if there.sum() > 2 and np.ptp(numbers[there]) > 0:
        slope, start = np.polyfit(numbers[there], values[there], 1)
        ends = np.array([numbers[there].min(), numbers[there].max()])
        axis.plot(ends, start + slope * ends, color="black", lw=1)
    axis.set(xlabel=xlabel, ylabel=ylabel)

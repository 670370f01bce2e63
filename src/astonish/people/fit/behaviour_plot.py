"""What does people's behaviour look like beside a model's: one participant's, learning rates, and repeated choices?"""

from collections.abc import Mapping
from textwrap import wrap
from typing import Any

import numpy as np
from pandas import DataFrame

from astonish.core.refusal import naming_extra
from astonish.people.fit.behaviour import PEOPLE, rates_around_changes, rates_by_error, repeats_by_outcome
from astonish.people.fit.result import Fit
from astonish.report.style import BLUE, GREEN, STYLE, VERMILLION

with naming_extra("a plot needs"):
    import matplotlib as mpl
    import matplotlib.pyplot as plt
    from matplotlib.figure import Figure

_MARKERS = "osD^vP*X"
_SHOWN = 200  # trials of one participant


def plot_participant(fit: Fit, who: str | None = None) -> Figure:
    """Outcomes, one participant's responses, and what the model expects of them, trial by trial.

    who: left out, the one whom the model explains better than half of all, and worse than the other half.
    """
    subject = _typical(fit) if who is None else who
    if subject not in fit.trials.subjects:
        raise ValueError(f"there is no participant {subject!r}; give one of {', '.join(fit.trials.subjects[:5])}, ...")
    row = fit.trials.subjects.index(subject)
    there = np.flatnonzero(fit.trials.rows[row] >= 0)[:_SHOWN]
    with mpl.rc_context(STYLE):
        figure, axis = plt.subplots(figsize=(7, 2.6), layout="constrained")
        (_choices if fit.outputs.probabilities is not None else _numbers)(axis, fit, row, there)
        for start in np.flatnonzero(fit.trials.starts[row])[1:]:
            if start <= there[-1]:
                axis.axvline(start + 0.5, color="0.8", lw=0.8, zorder=0)
        cut = f", first {_SHOWN} trials" if len(there) == _SHOWN else ""
        axis.set_title(f"participant {subject}{cut}", loc="left")
        axis.set_xlabel("trial")
        axis.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return figure


def plot_behaviour(fits: Mapping[str, Fit]) -> Figure:
    """Left: learning rates by the size of errors, or how often choices are repeated after worse and better outcomes.

    Right, if the table says when the world changed: the same around changes. Means over people with standard errors.
    """
    choices = next(iter(fits.values())).outputs.probabilities is not None
    around = rates_around_changes(fits)
    label = "share of choices repeated" if choices else "learning rate"
    with mpl.rc_context(STYLE):
        figure, axes = plt.subplots(
            1, 2 if around is not None else 1, figsize=(7 if around is not None else 4.5, 2.8), layout="constrained",
            sharey=True, squeeze=False,
        )  # fmt: skip
        left, *right = axes[0]
        if choices:
            _lines(left, repeats_by_outcome(fits), "after")
            left.set(xlabel="last outcome, compared with the usual one", ylabel=label, ylim=(0, 1.02))
            left.set_xlim(-0.3, 1.3)
        else:
            _lines(left, rates_by_error(fits), "error")
            left.set(xlabel="size of the prediction error", ylabel=label)
        for axis in right:
            _lines(axis, around, "lag")
            axis.axvline(-0.5, color="0.8", lw=0.8, zorder=0)
            axis.set(xlabel="outcomes since a change (0: the first)")
        left.legend()
    return figure


def _lines(axis: Any, table: DataFrame | None, across: str) -> None:
    """People in black, and each model."""
    assert table is not None
    for k, (name, own) in enumerate(table.groupby("of", sort=False)):
        look = {"color": "black", "zorder": 3} if name == PEOPLE else {"alpha": 0.9}
        own = own.sort_values(across, ascending=across != "after")  # worse before better
        axis.errorbar(
            own[across], own["rate"], yerr=own["se"].fillna(0.0), marker=_MARKERS[k % len(_MARKERS)], ms=4, capsize=2,
            label=_short(str(name)), **look,
        )  # fmt: skip


def _short(name: str) -> str:
    """The name of a model for a legend: without folders, and in short lines."""
    return "\n".join(wrap(name.rpartition("/")[2], 24))


def _numbers(axis: Any, fit: Fit, row: int, at: Any) -> None:
    outcomes = np.where(fit.trials.observed[row], fit.trials.scalar_outcomes[row], np.nan)[at]
    axis.plot(at + 1, outcomes, "o", ms=2.5, mew=0, color="0.6", label="outcomes")
    axis.plot(at + 1, fit.outputs.responses[row][at], color=VERMILLION, marker=".", ms=3, lw=0.8, label="responses")
    expected = np.where(fit.data.scored[row], fit.outputs.expected[row], np.nan)[at]
    axis.plot(at + 1, expected, color=BLUE, lw=1.2, label="expected by the model")
    axis.set_ylabel(str(fit.trials.columns.response))


def _choices(axis: Any, fit: Fit, row: int, at: Any) -> None:
    """The probability of each choice but the first (of two, one line), and what was chosen above and below it."""
    labels, probabilities = fit.trials.choice_labels, fit.outputs.probabilities[row][at]
    for k in range(1 if len(labels) == 2 else 0, len(labels)):
        axis.plot(at + 1, probabilities[:, k], lw=1.2, label=f"P({labels[k]}), the model")
    made = fit.outputs.responses[row][at]
    height = 1.05 + 0.06 * np.nan_to_num(made) if len(labels) > 2 else np.where(made == 1, 1.06, -0.06)
    rewards = fit.trials.scalar_outcomes[row][at]
    good = rewards > rewards.mean() if fit.trials.options else made == rewards
    known = np.isfinite(made)
    name = "chosen, and paid more than usual" if fit.trials.options else "chosen, and right"
    axis.plot((at + 1)[known & good], height[known & good], "|", ms=6, color=GREEN, label=name)
    axis.plot((at + 1)[known & ~good], height[known & ~good], "|", ms=6, color="0.5", label="chosen, else")
    axis.set_ylabel("probability")


def _typical(fit: Fit) -> str:
    """The participant whose responses are explained as well as those of most, per response."""
    each = fit.log_likelihood / np.maximum(fit.responses, 1)
    return fit.trials.subjects[int(np.argsort(each)[len(each) // 2])]

"""Learners compared over the same series: how wrong, how slow after a change, how well calibrated, at what cost."""

import math
import timeit
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from itertools import cycle
from typing import TYPE_CHECKING, Any

import numpy as np

from astonish.changes.detector import (
    FEWEST,
    check_lengths,
    check_rate,
    labelled,
    quiet_samples,
    since_change,
    threshold_at,
    waits,
)
from astonish.core.cooldown import spaced
from astonish.core.numbers import COUNT, POSITIVE, BoolArray, FloatArray, as_numbers
from astonish.core.refusal import naming_extra
from astonish.learners.base import Learner
from astonish.online.series import run_many
from astonish.worlds.gaussian_jumps import Episode

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame

__all__ = ["Comparison", "compare"]
_ROUNDS = 3  # of timing, the best of which counts
_MARKERS = "osD^vP*X"  # so that learners differ in print without colours too
_BINS = 10  # of the probability of a change, in the table of reliability


@dataclass(frozen=True)
class Comparison:
    """What `compare` has found.

    table: a row for each learner; `compare` says what the columns are.
    after_change: the mean absolute error with the 1st, 2nd, ... sample after a change, its standard error over changes,
    and the error when all is quiet; a row for each learner and sample.
    reliability: of the learners that give a probability of a change, for samples of similar probabilities: their mean,
    how often there was a change, its standard error, and how many samples there were.
    """

    table: "DataFrame"
    after_change: "DataFrame"
    reliability: "DataFrame"

    def __repr__(self) -> str:
        return str(self.table.to_string(float_format="{:.4g}".format))

    def plot(self) -> "Figure":
        """Error after a change (A) and on the whole (B), calibration where learners give it (C), and cost (D)."""
        from astonish.report.style import COLOURS, styled_figure

        panels: list[Any] = [_draw_after_change, partial(_draw_dots, column="squared_error")]
        panels += [*([_draw_reliability] if len(self.reliability) else []), partial(_draw_dots, column="microseconds")]
        looks = dict(zip(self.table.index, cycle(zip(COLOURS, _MARKERS, strict=True)), strict=False))
        shape = (2, 2) if len(panels) == 4 else (1, 3)
        with styled_figure(*shape, figsize=(7, 2.6 * shape[0])) as (figure, axes):
            for axis, panel, letter in zip(axes.flat, panels, "ABCD", strict=False):
                panel(axis, self, looks)
                axis.set_title(letter, loc="left", fontweight="bold")
            if len(panels) == 3:
                axes.flat[2].set_yticklabels([])  # they stand beside the panel before
            axes.flat[0].plot([], [], ":", color="0.3", lw=0.8, label="when all is quiet")
            figure.legend(*axes.flat[0].get_legend_handles_labels(), loc="outside upper center", ncols=4)
        return figure


@naming_extra("a comparison needs")
def compare(
    learners: Mapping[str, Learner],
    samples: Any,
    truth: Any = None,
    changed: Any = None,
    *,
    window: int = 20,
    factor: float = 1.5,
    false_alarm_rate: float = 0.01,
    cooldown: int = 10,
) -> Comparison:
    """Run learners over the same series, and say how each of them did.

    samples: an `Episode` of `tasks.gaussian_jumps`, or of many; or a series as `run` takes it, with
    changed: True where the world changed just before a sample, and
    truth: what the estimate should have been after each sample, if that is known.
    For many series of one length, give a row of each to each of these.

    The columns of the table; what does not apply, or would rest on too few samples, is NaN:

    - `squared_error`, `absolute_error`: of the estimate after each sample, a mean over its numbers, over samples and
      over series, with standard errors over series (`_se`);
    - `recovery`: with which sample after a change the mean absolute error is back within `factor` times the quiet one,
      which is the error `window` samples or more after a change;
    - `detection_delay`, `detected`: with which sample after a change the median alarm comes, and for what share of
      changes there is one within `window` samples, if alarms are given at a threshold on the probability of a change
      (else on surprise) with this `false_alarm_rate` per quiet sample in these very series, with a `cooldown`;
    - `brier`, `brier_skill`: the mean squared error of the probability of a change, and what part of it would be gained
      over always saying how often there is a change: 1 is perfect, 0 useless;
    - `microseconds`: per sample, all series side by side, measured now.

    >>> from astonish import Delta, Gaussian, Smile
    >>> from astonish.worlds.gaussian_jumps import many_gaussian_jumps
    >>> learners = {"SMiLe": Smile(Gaussian(noise=4.0)), "delta rule": Delta(0.2)}
    >>> compare(learners, many_gaussian_jumps(steps=500, seeds=range(10))).table["absolute_error"].round(1).to_dict()
    {'SMiLe': 1.9, 'delta rule': 3.0}
    """
    from pandas import DataFrame, Series

    if not isinstance(learners, Mapping) or not learners:
        raise ValueError(f'got {learners!r}; give learners by name, such as {{"SMiLe": Smile(Gaussian())}}')
    COUNT.check("window", window)
    POSITIVE.check("factor", factor)
    check_rate(false_alarm_rate, cooldown)
    if isinstance(samples, Episode):
        if truth is not None or changed is not None:
            raise ValueError("an Episode has its own truth and changes; give it alone, or its samples with your own")
        samples, truth, changed = samples
    series, marks = labelled(samples, changed)
    if marks is None:
        raise ValueError("changed is missing; give True for samples just before which the world changed, else False")
    if truth is not None:
        truth = as_numbers("truth", truth)
        truth = truth[None] if np.ndim(changed) == 1 else truth
    start = np.arange(marks.shape[1]) == 0
    changes = marks & ~start  # before the first sample nothing was learned yet
    quiet = quiet_samples(marks | start, window, 0)

    rows: dict[str, dict[str, Any]] = {}
    curves, reliability = {}, {}
    for name, learner in learners.items():
        errors, change, signals, seconds = _run(name, learner, series, truth, changes)
        curve = curves[name] = _after_change(errors, changes, quiet, window)
        back = np.flatnonzero(curve["error"] <= factor * curve["quiet_error"])
        delay = detected = math.nan
        if (quiet & ~np.isnan(signals)).sum() * false_alarm_rate >= FEWEST:
            above = signals > threshold_at(signals, quiet, false_alarm_rate, cooldown)
            noticed = waits(spaced(above, cooldown), changes, window)
            delay, detected = noticed.median(), noticed.share(window)
        reliability[name] = _reliability(change, changes)
        row = rows[name] = {}
        for measure, size in (("squared_error", errors**2), ("absolute_error", np.abs(errors))):
            by_series = Series(size.reshape(len(size), -1).mean(axis=1))
            row |= {measure: by_series.mean(), f"{measure}_se": by_series.sem()}
        row |= {
            "recovery": curve["sample"][back[0]] if len(back) else math.nan,
            "detection_delay": delay,
            "detected": detected,
            **_brier(change, changes),
            "microseconds": 1e6 * seconds / signals.size,
        }
    return Comparison(DataFrame.from_dict(rows, orient="index"), _stacked(curves), _stacked(reliability))


def _run(
    name: str, learner: Learner, series: list[Any], truth: FloatArray | None, changed: BoolArray
) -> tuple[FloatArray, FloatArray, FloatArray, float]:
    """Run a learner over all series.

    Errors of its estimates (NaN without a truth), probabilities of a change (NaN if it gives none), the signal on which
    alarms are given, and how many seconds it took.
    """
    try:
        histories = run_many(learner, series)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None
    check_lengths(histories, changed)
    seconds = min(timeit.repeat(lambda: run_many(learner, series), number=1, repeat=_ROUNDS))
    signals = np.stack([history.surprise for history in histories])
    change = np.full_like(signals, np.nan)
    if histories[0].change_probability is not None:
        change[:, 1:] = np.stack([np.asarray(history.change_probability)[1:] for history in histories])
        signals = change
    estimate = np.stack([history.estimate for history in histories])
    if truth is not None and truth.shape != estimate.shape:
        shapes = f"truth has shape {truth.shape}, but what {name} estimates has shape {estimate.shape}"
        advice = "give a truth of that shape, or learners that estimate the same"
        raise ValueError(f"{shapes} (series, samples, numbers); {advice}")
    return estimate - (np.nan if truth is None else truth), change, signals, seconds


def _stacked(tables: dict[str, dict[str, FloatArray]]) -> "DataFrame":
    """One table of all, with the learner's name in its first column."""
    from pandas import DataFrame, concat

    together = concat({name: DataFrame(columns) for name, columns in tables.items()}, names=["learner"])
    return together.reset_index("learner").reset_index(drop=True)


def _after_change(errors: FloatArray, changed: BoolArray, quiet: BoolArray, window: int) -> "dict[str, FloatArray]":
    """The mean absolute error with the 1st, 2nd, ... sample after a change, and when all is quiet."""
    from pandas import Series

    sizes = np.abs(errors).reshape(*changed.shape, -1).mean(axis=2)
    ago = since_change(changed)
    at = [Series(sizes[ago == lag]) for lag in range(window)]
    return {
        "sample": np.arange(1.0, window + 1),
        "error": np.array([sizes.mean() for sizes in at]),
        "error_se": np.array([sizes.sem() for sizes in at]),
        "quiet_error": np.full(window, Series(sizes[quiet]).mean()),
    }


def _brier(change: FloatArray, changed: BoolArray) -> dict[str, float]:
    """The mean squared error of the probability of a change, and what is gained over always saying how often one comes.

    Brier (1950). NaN in `change` is left out.
    """
    given = ~np.isnan(change)
    if not given.any():
        return {"brier": math.nan, "brier_skill": math.nan}
    outcome = changed[given].astype(np.float64)
    score, reference = float(((change[given] - outcome) ** 2).mean()), outcome.var()
    return {"brier": score, "brier_skill": 1 - score / reference if reference > 0 else math.nan}


def _reliability(change: FloatArray, changed: BoolArray) -> dict[str, FloatArray]:
    """Samples of similar probabilities of a change: their mean, and how often there was one.

    >>> table = _reliability(np.array([[0.1, 0.1, 0.9]]), np.array([[False, True, True]]))
    >>> table["predicted"].tolist(), table["observed"].tolist()
    ([0.1, 0.9], [0.5, 1.0])
    """
    given = ~np.isnan(change)
    bins = np.minimum((change[given] * _BINS).astype(int), _BINS - 1)
    samples = np.bincount(bins, minlength=_BINS)
    some = samples > 0
    count = samples[some].astype(np.float64)
    predicted = np.bincount(bins, change[given], _BINS)[some] / count
    observed = np.bincount(bins, changed[given], _BINS)[some] / count
    spread = np.sqrt(observed * (1 - observed) / count)
    return {"predicted": predicted, "observed": observed, "observed_se": spread, "samples": count}


def _draw_after_change(axis: Any, scores: Comparison, looks: Any) -> None:
    for name, (colour, marker) in looks.items():
        curve = scores.after_change[scores.after_change["learner"] == name]
        axis.plot(curve["sample"], curve["error"], color=colour, marker=marker, ms=3, label=name)
        low, high = curve["error"] - curve["error_se"], curve["error"] + curve["error_se"]
        axis.fill_between(curve["sample"], low, high, color=colour, alpha=0.2, lw=0)
        axis.axhline(curve["quiet_error"].iloc[0], color=colour, ls=":", lw=0.8)
    axis.set(xlabel="samples after a change", ylabel="mean absolute error", ylim=(0, None))


def _draw_dots(axis: Any, scores: Comparison, looks: Any, column: str) -> None:
    """A dot per learner, the first at the top, with a bar of one standard error to each side where there is one."""
    values, errors = scores.table[column], scores.table.get(f"{column}_se")
    for place, (name, (colour, marker)) in enumerate(looks.items()):
        width = None if errors is None else np.nan_to_num(errors[name])
        axis.errorbar(values[name], place, xerr=width, color=colour, marker=marker, ms=5, capsize=2)
    axis.set_yticks(range(len(looks)), list(looks))
    axis.set_ylim(len(looks) - 0.5, -0.5)
    axis.grid(axis="x", lw=0.3)
    if column == "squared_error":
        axis.set(xlabel="mean squared error", xlim=(0, None))
    else:  # whole decades
        decades = np.floor(np.log10(values.min() / 1.2)), np.ceil(np.log10(values.max() * 1.2))
        axis.set(xlabel="microseconds per sample", xscale="log", xlim=(10 ** decades[0], 10 ** decades[1]))


def _draw_reliability(axis: Any, scores: Comparison, looks: Any) -> None:
    axis.plot([0, 1], [0, 1], color="0.6", lw=0.8, ls="--")
    for name in scores.reliability["learner"].unique():
        rows, (colour, marker) = scores.reliability[scores.reliability["learner"] == name], looks[name]
        bars = {"yerr": rows["observed_se"], "elinewidth": 0.8}
        axis.errorbar(rows["predicted"], rows["observed"], **bars, color=colour, marker=marker, ms=3)
    axis.set(xlabel="probability of a change, as given", ylabel="share of changes", xlim=(0, 1), ylim=(0, 1))

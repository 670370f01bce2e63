"""Which learner is best here: how wrong, how slow after a change, how well calibrated, and at what cost?"""

import math
import timeit
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

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
from astonish.core.domain import COUNT, POSITIVE, BoolArray, FloatArray
from astonish.core.numbers import as_numbers
from astonish.core.refusal import naming_extra
from astonish.learners.base import Learner
from astonish.online.series import History, run_many
from astonish.worlds.gaussian_jumps import Episode

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame

_ROUNDS = 3  # of timing, the best of which counts
_BINS = 10  # of the probability of a change, in the table of reliability
_Row = dict[str, float]
_Columns = dict[str, FloatArray]


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
        """Error after a change and on the whole, calibration, and cost."""
        from astonish.worlds.scoring.plot import plot_comparison

        return plot_comparison(self)


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
    from pandas import DataFrame

    if not isinstance(learners, Mapping) or not learners:
        raise ValueError(f'got {learners!r}; give learners by name, such as {{"SMiLe": Smile(Gaussian())}}')
    COUNT.check("window", window)
    POSITIVE.check("factor", factor)
    check_rate(false_alarm_rate, cooldown)
    world = _world(samples, truth, changed, window)
    results = {name: _result(name, learner, world) for name, learner in learners.items()}
    curves = {name: _after_change(a.errors, world.changed, world.quiet, window) for name, a in results.items()}
    rows = {
        name: {
            **_mean_errors(a.errors),
            **_recovery(curves[name], factor),
            **_detection(a.signals, world.changed, world.quiet, window, false_alarm_rate, cooldown),
            **_brier(a.change_probability, world.changed),
            "microseconds": 1e6 * a.seconds / a.signals.size,
        }
        for name, a in results.items()
    }
    reliability = {name: _reliability(a.change_probability, world.changed) for name, a in results.items()}
    table = DataFrame.from_dict(rows, orient="index")
    return Comparison(table, _stacked(curves), _stacked(reliability))


class LabelledSeries(NamedTuple):
    """The series, and what is known about them, a row for each.

    truth: None if unknown. changed: except before the first sample, when nothing was learned yet. quiet: where neither
    the start nor a change is near.
    """

    series: list[Any]
    truth: FloatArray | None
    changed: BoolArray
    quiet: BoolArray


class LearnerResult(NamedTuple):
    """Errors of a learner's estimates in all series, and probabilities of a change (NaN if it gives none)."""

    errors: FloatArray
    change_probability: FloatArray
    signals: FloatArray
    seconds: float


def _world(samples: Any, truth: Any, changed: Any, window: int) -> LabelledSeries:
    if isinstance(samples, Episode):
        if truth is not None or changed is not None:
            raise ValueError("an Episode has its own truth and changes; give it alone, or its samples with your own")
        samples, truth, changed = samples
    series, marks = labelled(samples, changed)
    if marks is None:
        raise ValueError("changed is missing; give True for samples just before which the world changed, else False")
    numbers = None if truth is None else as_numbers("truth", truth)
    if numbers is not None and np.ndim(changed) == 1:
        numbers = numbers[None]
    start = np.arange(marks.shape[1]) == 0
    return LabelledSeries(series, numbers, marks & ~start, quiet_samples(marks | start, window, 0))


def _result(name: str, learner: Learner, world: LabelledSeries) -> LearnerResult:
    try:
        histories = run_many(learner, world.series)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None
    check_lengths(histories, world.changed)
    seconds = min(timeit.repeat(lambda: run_many(learner, world.series), number=1, repeat=_ROUNDS))
    signals = np.stack([history.surprise for history in histories])
    change = np.full_like(signals, np.nan)
    if histories[0].change_probability is not None:
        change[:, 1:] = np.stack([np.asarray(history.change_probability)[1:] for history in histories])
        signals = change
    return LearnerResult(_errors(name, histories, world), change, signals, seconds)


def _errors(name: str, histories: list[History], world: LabelledSeries) -> FloatArray:
    estimate = np.stack([history.estimate for history in histories])
    if world.truth is None:
        return np.full_like(estimate, np.nan)
    if world.truth.shape != estimate.shape:
        shapes = f"truth has shape {world.truth.shape}, but what {name} estimates has shape {estimate.shape}"
        advice = "give a truth of that shape, or learners that estimate the same"
        raise ValueError(f"{shapes} (series, samples, numbers); {advice}")
    return estimate - world.truth


def _stacked(tables: dict[str, _Columns]) -> "DataFrame":
    """One table of all, with the learner's name in its first column."""
    from pandas import DataFrame, concat

    together = concat({name: DataFrame(columns) for name, columns in tables.items()}, names=["learner"])
    return together.reset_index("learner").reset_index(drop=True)


def _mean_errors(errors: FloatArray) -> _Row:
    """Squared and absolute error, with standard errors over series. errors: series by samples by numbers estimated."""
    row: _Row = {}
    for name, size in (("squared_error", errors**2), ("absolute_error", np.abs(errors))):
        by_series = size.reshape(len(size), -1).mean(axis=1)
        row |= {name: by_series.mean(), f"{name}_se": _standard_error(by_series)}
    return row


def _after_change(errors: FloatArray, changed: BoolArray, quiet: BoolArray, window: int) -> _Columns:
    """The mean absolute error with the 1st, 2nd, ... sample after a change, and when all is quiet."""
    sizes = np.abs(errors).reshape(*changed.shape, -1).mean(axis=2)
    ago = since_change(changed)
    at = [sizes[ago == lag] for lag in range(window)]
    return {
        "sample": np.arange(1.0, window + 1),
        "error": np.array([_mean(some) for some in at]),
        "error_se": np.array([_standard_error(some) for some in at]),
        "quiet_error": np.full(window, _mean(sizes[quiet])),
    }


def _recovery(curve: _Columns, factor: float) -> _Row:
    """With which sample after a change the error is back within `factor` times the quiet one."""
    back = np.flatnonzero(curve["error"] <= factor * curve["quiet_error"])
    return {"recovery": curve["sample"][back[0]] if len(back) else math.nan}


def _detection(
    signals: FloatArray, changed: BoolArray, quiet: BoolArray, window: int, rate: float, cooldown: int
) -> _Row:
    """How soon, and how often, a detector with this rate of false alarms notices a change."""
    if (quiet & ~np.isnan(signals)).sum() * rate < FEWEST:
        return {"detection_delay": math.nan, "detected": math.nan}
    above = signals > threshold_at(signals, quiet, rate, cooldown)
    noticed = waits(spaced(above, cooldown), changed, window)
    return {"detection_delay": noticed.median(), "detected": noticed.share(window)}


def _brier(change: FloatArray, changed: BoolArray) -> _Row:
    """The mean squared error of the probability of a change, and what is gained over always saying how often one comes.

    Brier (1950). NaN in `change` is left out.
    """
    known = ~np.isnan(change)
    outcome = changed[known].astype(np.float64)
    score, reference = _mean((change[known] - outcome) ** 2), outcome.var() if known.any() else 0.0
    return {"brier": score, "brier_skill": 1 - score / reference if reference > 0 else math.nan}


def _reliability(change: FloatArray, changed: BoolArray) -> _Columns:
    """Samples of similar probabilities of a change: their mean, and how often there was one.

    >>> table = _reliability(np.array([[0.1, 0.1, 0.9]]), np.array([[False, True, True]]))
    >>> table["predicted"].tolist(), table["observed"].tolist()
    ([0.1, 0.9], [0.5, 1.0])
    """
    known = ~np.isnan(change)
    bins = np.minimum((change[known] * _BINS).astype(int), _BINS - 1)
    samples = np.bincount(bins, minlength=_BINS)
    some = samples > 0
    count = samples[some].astype(np.float64)
    predicted = np.bincount(bins, change[known], _BINS)[some] / count
    observed = np.bincount(bins, changed[known], _BINS)[some] / count
    spread = np.sqrt(observed * (1 - observed) / count)
    return {"predicted": predicted, "observed": observed, "observed_se": spread, "samples": count}


def _mean(values: FloatArray) -> float:
    return float(values.mean()) if values.size else math.nan


def _standard_error(values: FloatArray) -> float:
    return float(values.std(ddof=1) / math.sqrt(len(values))) if len(values) > 1 else math.nan

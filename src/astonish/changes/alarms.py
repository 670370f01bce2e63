"""When does a signal give an alarm, how often is that one false, and how long does one wait for a true one?

Signals, alarms and changes are tables with a series in every row. An alarm is false unless the world changed at most
`window` samples before. Waiting ends with the next change, seen or not, so shares and medians are those of Kaplan &
Meier (1958): what they would be if no other change came between.
"""

from bisect import bisect_left
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from astonish.core.cooldown import spaced
from astonish.core.numbers import BoolArray, Domain, FloatArray

FEWEST = 10  # alarms from which to tell their rate; it is then known to a third, one standard error


def labelled(samples: Any, changed: Any) -> tuple[list[Any], BoolArray | None]:
    """All series, and where the world changed in each, from what people write.

    changed: True, or 1, where the world changed just before a sample: one row, or a table with a row for each series.
    Samples that have several parts come as a tuple of them.
    """
    if changed is None:
        return [samples], None
    marks = Domain(0, 1, whole=True).check("changed", changed) > 0
    if marks.ndim not in (1, 2):
        raise ValueError(f"changed has {marks.ndim} dimensions; give a row, or a table with a row for each series")
    if not marks.size:
        raise ValueError("changed is empty; give True or False for each sample, and at least one sample")
    if marks.ndim == 1:
        return [samples], marks[None]
    counts = {len(part) for part in (samples if isinstance(samples, tuple) else (samples,))}
    if counts != {len(marks)}:
        raise ValueError(f"there are {sorted(counts)} series but {len(marks)} rows of changes; give one row for each")
    return list(zip(*samples, strict=True) if isinstance(samples, tuple) else samples), marks


def check_lengths(series: Sequence[Any], marks: BoolArray) -> None:
    """Refuse series that are not as long as the marks of their changes."""
    odd = next((len(one) for one in series if len(one) != marks.shape[1]), None)
    if odd is not None:
        advice = "give a mark for each sample, and series of one length"
        raise ValueError(f"a series has {odd} samples but changed has {marks.shape[1]}; {advice}")


def since_change(changed: BoolArray) -> FloatArray:
    """How many samples ago the last change came: 0 just after it, infinity before the first.

    >>> since_change(np.array([[False, True, False, True]])).tolist()
    [[inf, 0.0, 1.0, 0.0]]
    """
    at = np.arange(changed.shape[1])
    last: FloatArray = np.maximum.accumulate(np.where(changed, at, -np.inf), axis=1)
    return at - last


def quiet_samples(changed: BoolArray, window: int, burn_in: int) -> BoolArray:
    """Where an alarm would be false: neither at the start, nor within the window after a change."""
    quiet = since_change(changed) >= window
    quiet[:, :burn_in] = False
    return quiet


def rate_of_false_alarms(alarms: BoolArray, quiet: BoolArray) -> float:
    """False alarms per quiet sample."""
    return float((alarms & quiet).sum() / max(quiet.sum(), 1))


def threshold_at(signals: FloatArray, quiet: BoolArray, rate: float, cooldown: int) -> float:
    """The lowest threshold with at most this rate of alarms per quiet sample, cool-down included.

    signals: NaN where there is none; nothing below the threshold, and nothing that is NaN, gives an alarm.
    """
    quiet = quiet & ~np.isnan(signals)
    check_rate(rate, cooldown)
    if quiet.sum() * rate < FEWEST:
        few = f"{quiet.sum()} quiet samples (burn-in not counted) are too few to tell a rate of {rate:g}"
        raise ValueError(f"{few}; give at least {int(np.ceil(FEWEST / rate))}, or a higher rate")
    values = np.unique(signals[quiet])

    def keeps_to_rate(threshold: float) -> bool:
        return rate_of_false_alarms(spaced(signals > threshold, cooldown), quiet) <= rate

    low = bisect_left(values, True, hi=len(values) - 1, key=keeps_to_rate)
    above = values[min(low + 1, len(values) - 1)]  # half-way to it, lest rounding decide
    return float(values[low] + 0.5 * (above - values[low]))


def check_rate(rate: float, cooldown: int) -> None:
    """Refuse a rate that is none, or more than the cool-down allows."""
    Domain(0, 1, open=True).check("false_alarm_rate", rate)
    Domain(0, whole=True).check("cooldown", cooldown)
    most = 1 / (cooldown + 1)
    if rate >= most:
        limit = f"a cool-down of {cooldown} samples, which allows {most:.3g} at most"
        raise ValueError(f"false_alarm_rate = {rate:g} cannot be reached with {limit}; give less of either")


class Waits(NamedTuple):
    """For every change how many samples one waited, and whether what one waited for had come by then."""

    samples: FloatArray
    ended: BoolArray

    def share(self, within: int) -> float:
        """The share of changes that are noticed within so many samples; NaN if there was no change."""
        unnoticed = self._unnoticed()
        return float(1 - unnoticed[min(within, len(unnoticed)) - 1])

    def median(self) -> float:
        """After how many samples half of the changes are noticed; NaN if so many never are."""
        noticed = np.flatnonzero(self._unnoticed() <= 0.5)
        return float(noticed[0] + 1) if len(noticed) else float("nan")

    def _unnoticed(self) -> FloatArray:
        """The share that is not noticed after 1, 2, ... samples, were there no other change."""
        lags = np.arange(1, self.samples.max(initial=1) + 1)[:, None]
        waiting = (self.samples >= lags).sum(axis=1)
        noticed = ((self.samples == lags) & self.ended).sum(axis=1)
        with np.errstate(invalid="ignore"):
            return np.cumprod(1 - noticed / waiting)


def waits(alarms: BoolArray, changed: BoolArray, window: int) -> Waits:
    """How long one waits for an alarm after each change: 1 if it comes with the first sample, `window` at most.

    >>> waits(np.array([[0, 0, 0, 1, 0]]) > 0, np.array([[0, 1, 0, 0, 1]]) > 0, window=3)
    Waits(samples=array([3., 1.]), ended=array([ True, False]))
    """
    samples, ended = [], []
    for alarm, change in zip(alarms, changed, strict=True):
        starts = np.flatnonzero(change)
        for start, end in zip(starts, np.append(starts, len(change))[1:], strict=True):
            seen = np.flatnonzero(alarm[start : min(end, start + window)])
            ended.append(len(seen) > 0)
            samples.append(seen[0] + 1 if len(seen) else min(end - start, window))
    return Waits(np.array(samples, np.float64), np.array(ended, bool))

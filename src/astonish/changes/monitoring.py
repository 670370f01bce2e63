"""Monitoring a stream of numbers, of which nothing need be known: what it is now, and whether it changed.

Its period, if it has one, is found by its autocorrelation and a periodogram close to the peak.
"""

import math
import os
from datetime import datetime
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from astonish.core.cooldown import alarm_and_wait
from astonish.core.numbers import COUNT, OPEN_PROBABILITY, POSITIVE, WHOLE, FloatArray, as_numbers, double
from astonish.io.files import atomic_write, read, write
from astonish.io.state import check_saved_by, described, matching, named_leaves
from astonish.learners.base import first_state
from astonish.learners.monitor import Monitor, MonitorState
from astonish.online.series import Stream

_CONSTANT = 1000  # samples for which the rate of false alarms is constant
_SHORTEST, _CYCLES = 4, 3  # samples of a period, and how often it must be seen
_LEAST = 0.2  # autocorrelation at a period, and by how much it exceeds that between
_ALMOST = 0.9  # of the highest peak: a shorter period is preferred to its multiples
_WAVES = 3  # sine waves by which a period is refined
_UNSURE = 0.1  # of a cycle over the whole series: if a whole number of samples is that close, it is the period


class MonitorStep(NamedTuple):
    """What `StreamMonitor.update` answers.

    estimate: what the stream is now. low, high: where 95 % of such samples were expected before this one came.
    surprise: minus the natural logarithm of `tail_probability`, which says how often, judging by the stream so far, a
    sample is as unusual as this one, by itself or together with those before it. change_probability: that the level
    changed within the last 16 samples. kind: "change" if that is probable, else "outlier" if the sample by itself is
    unusual enough for an alarm, "stretch" if only the last ones together are, else "". alarm: whether to tell somebody.
    """

    estimate: float
    low: float
    high: float
    surprise: float
    tail_probability: float
    change_probability: float
    kind: str
    alarm: bool


class StreamMonitor:
    """A `Monitor` and its state, with alarms; see `monitor`."""

    def __init__(self, learner: Monitor, false_alarm_rate: float, rest: int, engine: str | None = None) -> None:
        self.false_alarm_rate = float(OPEN_PROBABILITY.check("false_alarm_rate", false_alarm_rate))
        self.rest = int(WHOLE.check("rest", rest))
        self.learner, self.stream = learner, Stream(learner, engine=engine)
        self._time, self._wait = 0.0, 0

    def __repr__(self) -> str:
        return f"StreamMonitor({self.learner}, false_alarm_rate={self.false_alarm_rate:g}, rest={self.rest})"

    def update(self, x: float | None, time: float | datetime | None = None) -> MonitorStep:
        """Learn from one number. One that is missing (None, NaN) changes nothing, but time passes.

        time: a number, or a datetime, which counts in seconds. Left out: one after the last one.
        """
        at = self._time + 1 if time is None else time.timestamp() if isinstance(time, datetime) else float(time)
        step = self.stream.update((at, x))
        self._time = at
        with double():
            low, high, count, row = np.asarray(_answers(self.learner, self.stream.state)).tolist()
        if math.isnan(step.surprise):
            _, self._wait = alarm_and_wait(False, self._wait, self.rest)
            return MonitorStep(step.estimate, low, high, math.nan, math.nan, math.nan, "", False)
        level, tail = float(alarm_level(self.false_alarm_rate, count)), math.exp(-step.surprise)
        kind = "outlier" if row < level else "stretch" if tail < level else ""
        if step.change_probability > 0.5:
            kind = "change"
        alarm, self._wait = alarm_and_wait(tail < level, self._wait, self.rest)
        return MonitorStep(step.estimate, low, high, step.surprise, tail, step.change_probability, kind, alarm)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to a file; `StreamMonitor.load` goes on exactly where this left off."""
        settings = {"false_alarm_rate": self.false_alarm_rate, "rest": self.rest}
        about = {"time": self._time, "wait": self._wait, "learner": described(self.learner), **settings}
        with atomic_write(path) as file:
            write(file, "monitor", named_leaves(self.stream.state), about)

    @classmethod
    def load(cls, path: str | os.PathLike[str], learner: Monitor, other_learner: bool = False) -> "StreamMonitor":
        """A monitor that goes on from a saved one. other_learner: even if that had another learner."""
        saved, about = read(path, "monitor")
        check_saved_by(path, about, learner, other_learner)
        monitor = cls(learner, about["false_alarm_rate"], about["rest"])
        monitor.stream = Stream(learner, matching(path, saved, first_state(learner)))
        monitor._time, monitor._wait = about["time"], about["wait"]
        return monitor


def monitor(
    period: float | None = None,
    *,
    first: Any = None,
    harmonics: int = 3,
    lags: int = 0,
    forgetting: float = 0.001,
    hazard: float = 0.001,
    false_alarm_rate: float = 0.005,
    rest: int = 33,
    engine: str | None = None,
) -> StreamMonitor:
    """What follows a stream of numbers, in any units, and says at each what is usual, what is not, and what changed.

    period: after how many samples, or how much time, the stream repeats itself. first: or else earlier samples, in
    which a period is looked for, and from which is learned. harmonics: sine waves that describe a period. lags,
    forgetting, hazard: see `Monitor`. false_alarm_rate: share of the first 1000 ordinary samples that may give an
    alarm; afterwards it falls with the square root of time. rest: so many samples after an alarm there is no other.

    For `Stream`, `Bank`, Spark and river take its `learner`, whose samples are (time, value); or `Monitor` itself.

    >>> import numpy as np
    >>> noise = np.random.default_rng(1).normal(size=300)
    >>> m = monitor(first=noise)
    >>> m.update(0.3).kind, m.update(12.0).kind, m.update(-0.4).kind
    ('', 'outlier', '')
    >>> [m.update(6.0 + x).kind for x in noise[:6]][-1]
    'change'
    """
    if period is None and first is not None:
        period = find_period(first)
    COUNT.check("harmonics", harmonics)
    if period is None:
        period, harmonics = 1.0, 0
    POSITIVE.check("period", period)
    learner = Monitor(float(period), forgetting, hazard, harmonics, lags, timed=1)
    follower = StreamMonitor(learner, false_alarm_rate, rest, engine)
    if first is not None:
        follower.stream.update_many((np.arange(1.0, len(first) + 1), first))
        follower._time = float(len(first))
    return follower


def alarm_level(rate: float, count: Any) -> Any:
    """The tail probability below which there is an alarm after so many samples.

    With a constant one false alarms would come as often for ever; so there are as many as the square root of time.
    """
    return rate * np.sqrt(_CONSTANT / np.maximum(count, _CONSTANT))


@jax.jit
def _answers(learner: Monitor, state: MonitorState) -> Array:
    """Low and high end of the interval, the number of samples, and the tail probability of the newest by itself."""
    return jnp.stack([*learner.interval(state), state.seen, jnp.exp(state.tails[0])])


def find_period(xs: Any) -> float | None:
    """The period of a series, in samples, which need not be whole; None if it does not repeat.

    It must be at least 4 samples, and seen three times. Missing values (NaN) are interpolated, and extreme ones cut.

    >>> import numpy as np
    >>> noise = np.random.default_rng(1).normal(size=500)
    >>> round(find_period(3 * np.sin(2 * np.pi * np.arange(500) / 24) + noise), 1)
    24.0
    >>> find_period(noise) is None
    True
    """
    values = as_numbers("xs", xs)
    if values.ndim != 1:
        raise ValueError(f"xs has {values.ndim} dimensions; give one series")
    seen = np.isfinite(values)
    if len(values) < _CYCLES * _SHORTEST or seen.sum() < _CYCLES * _SHORTEST:
        return None
    values = np.interp(np.arange(len(values)), np.flatnonzero(seen), values[seen])
    values = _detrended(_cut(_detrended(_cut(values))))  # twice, since extreme values are so far from the trend
    if not values.any():
        return None
    # The shortest lag whose autocorrelation is almost the highest, and stands out from what is before it
    count = len(values)
    power = np.abs(np.fft.rfft(values, 2 * count)) ** 2
    sums = np.fft.irfft(power)[: count // _CYCLES + 1]
    correlation = sums / (count - np.arange(len(sums)))  # each from as many products as there are
    correlation /= correlation[0]
    least = np.minimum.accumulate(correlation)
    inner = correlation[1:-1]
    peak = (inner >= correlation[:-2]) & (inner > correlation[2:]) & (inner > _LEAST) & (inner > least[1:-1] + _LEAST)
    lags = np.flatnonzero(peak) + 1
    lags = lags[lags >= _SHORTEST]
    if not lags.size:
        return None
    first = lags[correlation[lags] >= _ALMOST * correlation[lags].max()][0]
    around = lags[np.abs(lags - first) <= first // 4]
    lag = int(around[np.argmax(correlation[around])])
    # The period near this lag of whole samples whose sine waves explain the series best
    time, reach = np.arange(len(values)), max(0.75, 0.03 * lag)
    candidates, explained = np.linspace(lag - reach, lag + reach, 121), []
    for candidate in candidates:
        angles = 2j * np.pi / candidate * time
        explained.append(sum(abs(np.exp(k * angles) @ values) ** 2 for k in range(1, _WAVES + 1)))
    period = float(candidates[np.argmax(explained)])
    whole = float(round(period))
    return whole if abs(period - whole) < _UNSURE * period * period / len(values) else period


def _cut(values: FloatArray) -> FloatArray:
    low, middle, high = np.percentile(values, [25, 50, 75])
    reach = 3 * (high - low)
    return np.clip(values, middle - reach, middle + reach) if reach > 0 else values


def _detrended(values: FloatArray) -> FloatArray:
    time = np.linspace(-1.0, 1.0, len(values))
    values = values - values.mean()
    left: FloatArray = values - time * (time @ values) / (time @ time)
    return left if left.std() > 1e-9 * np.abs(values).max() else np.zeros_like(left)

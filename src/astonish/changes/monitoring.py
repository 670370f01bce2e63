"""What is a stream of numbers now, did it change, and how sure is that? `monitor` answers at every number."""

import math
import os
from datetime import datetime
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from astonish.changes.periods import find_period
from astonish.core.cooldown import alarm_and_wait, spaced
from astonish.core.numbers import COUNT, OPEN_PROBABILITY, POSITIVE, WHOLE, BoolArray, FloatArray, double
from astonish.io.files import atomic_write, read, write
from astonish.io.state import check_saved_by, described, matching, named_leaves
from astonish.learners.base import first_state
from astonish.learners.monitor import Monitor, MonitorState
from astonish.online.series import Stream

_CONSTANT = 1000  # samples for which the rate of false alarms is constant


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
            numbers = np.asarray(_answers(self.learner, self.stream.state)).tolist()
        low, high, count, row = numbers
        if math.isnan(step.surprise):
            _, self._wait = alarm_and_wait(False, self._wait, self.rest)
            return MonitorStep(step.estimate, low, high, math.nan, math.nan, math.nan, "", False)
        level = float(alarm_level(self.false_alarm_rate, count))
        tail = math.exp(-step.surprise)
        kind = _kind(step.change_probability, row < level, tail < level)
        alarm, self._wait = alarm_and_wait(tail < level, self._wait, self.rest)
        return MonitorStep(step.estimate, low, high, step.surprise, tail, step.change_probability, kind, alarm)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to a file; `StreamMonitor.load` goes on exactly where this left off."""
        about = {"time": self._time, "wait": self._wait, "learner": described(self.learner)}
        with atomic_write(path) as file:
            settings = {"false_alarm_rate": self.false_alarm_rate, "rest": self.rest}
            write(file, "monitor", named_leaves(self.stream.state), about | settings)

    @classmethod
    def load(cls, path: str | os.PathLike[str], learner: Monitor, other_learner: bool = False) -> "StreamMonitor":
        """A monitor that goes on from a saved one. other_learner: even if that had another learner."""
        saved, about = read(path, "monitor")
        check_saved_by(path, about, learner, other_learner)
        found = cls(learner, about["false_alarm_rate"], about["rest"])
        found.stream = Stream(learner, matching(path, saved, first_state(learner)))
        found._time, found._wait = about["time"], about["wait"]
        return found


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
    if period is not None:
        POSITIVE.check("period", period)
    waves = 0 if period is None else harmonics
    learner = Monitor(1.0 if period is None else float(period), forgetting, hazard, waves, lags, timed=1)
    found = StreamMonitor(learner, false_alarm_rate, rest, engine)
    if first is not None:
        times = np.arange(1.0, len(first) + 1)
        found.stream.update_many((times, first))
        found._time = float(len(first))
    return found


def alarm_level(rate: float, count: Any, falls: bool = True) -> Any:
    """The tail probability below which there is an alarm after so many samples.

    With a constant one false alarms would come as often for ever; so there are as many as the square root of time.
    falls: if not, it is constant nevertheless.
    """
    return rate * np.sqrt(_CONSTANT / np.maximum(count if falls else 0, _CONSTANT))


def monitor_alarms(surprise: FloatArray, rate: float, rest: int, falls: bool = True) -> BoolArray:
    """Which samples of a series give an alarm, by the surprise of a `Monitor` at each (NaN: missing)."""
    unusual = np.exp(-surprise) < alarm_level(rate, np.cumsum(~np.isnan(surprise)), falls)
    return spaced(unusual[None], rest)[0]


def _kind(change_probability: float, row: bool, either: bool) -> str:
    if change_probability > 0.5:
        return "change"
    return "outlier" if row else "stretch" if either else ""


@jax.jit
def _answers(learner: Monitor, state: MonitorState) -> Array:
    """Low and high end of the interval, the number of samples, and the tail probability of the newest by itself."""
    return jnp.stack([*learner.interval(state), state.seen, jnp.exp(state.tails[0])])

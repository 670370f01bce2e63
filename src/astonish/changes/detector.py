"""Has the world just changed? Any learner's signal as alarms, with a stated rate of false ones."""

import math
import os
from typing import Any, NamedTuple

import numpy as np

from astonish.changes.alarms import (
    Mask,
    check_lengths,
    check_rate,
    false_alarm_rate,
    labelled,
    quiet_samples,
    spaced,
    threshold_at,
)
from astonish.changes.draws import quiet_series
from astonish.changes.signals import SIGNALS, signal_of, watched
from astonish.domain import Domain, Numbers
from astonish.learner import Learner, State
from astonish.memory import load_state, save_state
from astonish.run import History, run, run_many
from astonish.stream import Stream

_STEPS = 500  # samples in each series where a learner's world is simulated
_EXPECTED, _MOST = 1_000, 2_000_000  # false alarms in all such series, unless that takes more samples than this


class Kept(NamedTuple):
    """What a file keeps of a detector: the learner's state, and numbers in the order of `Detector.save`."""

    state: State
    levels: Any
    counts: Any


class _Keeper(NamedTuple):
    """Says what to expect in the file of a detector of this learner."""

    learner: Learner

    def init(self) -> Kept:
        return Kept(self.learner.init(), np.zeros(2), np.zeros(6, np.int64))


class Detector:
    """A learner that gives an alarm when its signal exceeds a threshold; fed and asked as river's drift detectors are.

    Where the threshold comes from: `Detector.calibrated` takes it from samples in which nothing changes,
    `Detector.simulated` from the learner's own model; or give a number.
    signal: "change", "surprise" or "rate". Left out: the probability of a change, or surprise where there is none.
    within: a change within so many samples up to now is what the probability is about. Above 1, small changes, which
    take several samples to show, are noticed too; for learners that know since when: MessagePassing, ParticleFilter.
    cooldown: so many samples after an alarm there is no other. burn_in: nor is there at the start, for so many samples.
    Both are at least `within`, if that is above 1.

    >>> from astonish import Gaussian, MessagePassing
    >>> detector = Detector.simulated(MessagePassing(Gaussian(noise=1.0), hazard=0.02), rate=0.001, burn_in=3)
    >>> [detector.update(x) for x in (0.1, -0.4, 0.2, 0.3, 6.1, 5.8, None)]
    [False, False, False, False, True, False, False]
    """

    def __init__(
        self,
        learner: Learner,
        threshold: float,
        *,
        cooldown: int = 10,
        burn_in: int = 50,
        within: int = 1,
        signal: str | None = None,
    ) -> None:
        for name, value in (("cooldown", cooldown), ("burn_in", burn_in)):
            Domain(0, whole=True).check(name, value)
        self.learner, self.threshold, self.within = learner, float(threshold), within
        in_sight = within if within > 1 else 0  # so long, the start, or a change that gave an alarm, stays in sight
        self.cooldown, self.burn_in = max(cooldown, in_sight), max(burn_in, in_sight)
        self.quiet_rate = math.nan  # false alarms per sample, as counted where the threshold was found
        self._watched = watched(learner, within)
        self._stream = Stream(self._watched)
        self.signal = signal_of(self._watched, signal)
        self._wait = self.burn_in
        self._alarm = False

    @classmethod
    def calibrated(
        cls,
        learner: Learner,
        quiet: Any,
        rate: float = 0.01,
        *,
        cooldown: int = 10,
        burn_in: int = 50,
        within: int = 1,
        signal: str | None = None,
        changed: Any = None,
        window: int = 20,
    ) -> "Detector":
        """A detector that gives `rate` false alarms per sample on samples like these, its cool-down counted in.

        quiet: a series in which nothing changes. changed: or else, True where something does; in a table, rows are
        series. Alarms at less than `window` samples after a change are then not false. With n quiet samples, the rate
        is met to within about one part in the square root of n times rate, one standard error.
        """
        detector = cls(learner, math.inf, cooldown=cooldown, burn_in=burn_in, within=within, signal=signal)
        many, marks = labelled(quiet, changed)
        told = [detector._told(history) for history in run_many(detector._watched, many)]
        marks = np.zeros((1, len(told[0])), bool) if marks is None else marks
        check_lengths(told, marks)
        signals = np.stack(told)
        detector._calibrate(signals, quiet_samples(marks, window, detector.burn_in), rate)
        return detector

    @classmethod
    def simulated(
        cls,
        learner: Learner,
        rate: float = 0.01,
        *,
        cooldown: int = 10,
        burn_in: int = 50,
        within: int = 1,
        signal: str | None = None,
        seed: int = 0,
    ) -> "Detector":
        """A detector that gives `rate` false alarms per sample if the learner's model of its samples is right.

        It is met on average over the parameters that the learner's prior allows for, to within a few per cent.
        """
        detector = cls(learner, math.inf, cooldown=cooldown, burn_in=burn_in, within=within, signal=signal)
        check_rate(rate, detector.cooldown)
        rng = np.random.default_rng(seed)
        steps, count = detector.burn_in + _STEPS, math.ceil(min(_EXPECTED / rate, _MOST) / _STEPS)
        histories = run_many(detector._watched, [quiet_series(learner, steps, rng) for _ in range(count)])
        signals = np.stack([detector._told(history) for history in histories])
        detector._calibrate(signals, quiet_samples(np.zeros(signals.shape, bool), 1, detector.burn_in), rate)
        return detector

    def __repr__(self) -> str:
        return f"Detector({self.learner}, threshold={self.threshold:.4g}, cooldown={self.cooldown})"

    @property
    def drift_detected(self) -> bool:
        """Whether the last sample gave an alarm."""
        return self._alarm

    def update(self, x: Any) -> bool:
        """Learn from one sample, and say whether it gives an alarm. One that is missing (None, NaN) gives none."""
        value = getattr(self._stream.update(x), self.signal)
        self._alarm = self._wait == 0 and value > self.threshold
        self._wait = self.cooldown if self._alarm else max(self._wait - 1, 0)
        return self._alarm

    def alarms(self, xs: Any) -> Mask:
        """Which samples of a whole series give an alarm, from the learner's start; what was fed before is left alone.

        >>> from astonish import Delta
        >>> Detector(Delta(0.5), threshold=3.0, burn_in=1).alarms([0.0, 0.5, 5.0, 9.0]).tolist()
        [False, False, True, False]
        """
        return self._spaced(self._told(run(self._watched, xs))[None])[0]

    def clone(self) -> "Detector":
        """A detector with the same settings and threshold that has not seen anything."""
        fresh = Detector(
            self.learner,
            self.threshold,
            cooldown=self.cooldown,
            burn_in=self.burn_in,
            within=self.within,
            signal=self.signal,
        )
        fresh.quiet_rate = self.quiet_rate
        return fresh

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write threshold, settings and state to a file; `Detector.load` goes on exactly where this left off."""
        signal = SIGNALS.index(self.signal)
        counts = [self.cooldown, self.burn_in, self.within, signal, self._wait, int(self._alarm)]
        save_state(path, Kept(self._stream.state, np.array([self.threshold, self.quiet_rate]), np.array(counts)))

    @classmethod
    def load(cls, path: str | os.PathLike[str], learner: Learner) -> "Detector":
        """A detector that goes on from a saved one of the same learner."""
        kept = load_state(path, _Keeper(learner))  # type: ignore[arg-type] # only its start is asked for
        cooldown, burn_in, within, signal, wait, alarm = map(int, kept.counts)
        threshold, quiet_rate = map(float, kept.levels)
        detector = cls(learner, threshold, cooldown=cooldown, burn_in=burn_in, within=within, signal=SIGNALS[signal])
        detector.quiet_rate, detector._wait, detector._alarm = quiet_rate, wait, bool(alarm)
        detector._stream = Stream(detector._watched, kept.state)
        return detector

    def _told(self, history: History) -> Numbers:
        return np.asarray(getattr(history, self.signal))

    def _spaced(self, signals: Numbers) -> Mask:
        above = signals > self.threshold
        above[:, : self.burn_in] = False
        return spaced(above, self.cooldown)

    def _calibrate(self, signals: Numbers, quiet: Mask, rate: float) -> None:
        signals[:, : self.burn_in] = math.nan
        self.threshold = threshold_at(signals, quiet, rate, self.cooldown)
        self.quiet_rate = false_alarm_rate(self._spaced(signals), quiet)

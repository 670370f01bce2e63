"""Has the world just changed? Alarms from the signal of any learner, with a stated rate of false ones."""

import math
import os
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array

from astonish.changes import alarms
from astonish.core.cooldown import spaced
from astonish.core.numbers import COUNT, BoolArray, Domain, FloatArray, double
from astonish.core.parameters import REQUIRED, parameter
from astonish.io.files import DamagedError, atomic_write, name_of, read, write
from astonish.io.state import check_saved_by, described, matching, named_leaves
from astonish.learners.base import Learner, State, Step, StepInfo, first_state, given_by
from astonish.online.series import History, Stream, run, run_many

_SIGNALS = ("change_probability", "surprise", "learning_rate")
_STEPS = 500  # samples in each series where a learner's world is simulated
_EXPECTED, _MOST = 1_000, 2_000_000  # false alarms in all such series, unless that takes more samples than this


class Detector:
    """A learner that gives an alarm when its signal exceeds a threshold; fed and asked as river's drift detectors are.

    Where the threshold comes from: `Detector.calibrated` takes it from samples in which nothing changes,
    `Detector.simulated` from the learner's own model; or give a number.
    signal: "change_probability", "surprise" or "learning_rate". Left out: the first of these that the learner gives.
    within: a change within so many samples up to now is what the probability is about. Above 1, small changes, which
    take several samples to show, are noticed too; for learners that know since when: MessagePassing, ParticleFilter.
    cooldown: so many samples after an alarm there is no other. burn_in: nor is there at the start, for so many samples.
    Both are at least `within`, if that is above 1. engine: "native" or "xla"; see `Stream`.
    repeat: whether the cool-down may be shorter than `within`. The alarm for a change can then come again while the
    change still is within so many samples, and a change soon after a false alarm is not missed.
    It can be fed from several threads, and an update that is interrupted is made completely or not at all.

    >>> from astonish import Gaussian, MessagePassing
    >>> learner = MessagePassing(Gaussian(noise=1.0), hazard=0.02)
    >>> detector = Detector.simulated(learner, false_alarm_rate=0.001, burn_in=3)
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
        repeat: bool = False,
        engine: str | None = None,
    ) -> None:
        Domain(0, whole=True).check("cooldown", cooldown)
        Domain(0, whole=True).check("burn_in", burn_in)
        self.learner, self.within, self.repeat = learner, within, bool(repeat)
        in_sight = within if within > 1 else 0  # so long, the start, or a change that gave an alarm, stays in sight
        self.cooldown, self.burn_in = max(cooldown, 0 if repeat else in_sight), max(burn_in, in_sight)
        self.false_alarm_rate = math.nan  # per sample, as counted where the threshold was found
        self._watched = _watched(learner, within)
        self.signal = signal_of(self._watched, signal)
        self._begin(Stream(self._watched, engine=engine), float(threshold), self.burn_in, False)

    def _begin(self, stream: Stream, threshold: float, wait: int, alarm: bool) -> None:
        """Go on from a stream. wait: for how many samples there is no alarm. alarm: whether the last one gave one."""
        self._stream = stream
        self._watch = stream.watch(self.signal, threshold, self.cooldown, wait, alarm)
        self._update = self._watch.updater()
        if type(self).update is Detector.update:  # then the function itself is there, without a call in between
            self.update = self._update  # type: ignore[method-assign]

    @classmethod
    def calibrated(
        cls,
        learner: Learner,
        quiet: Any,
        false_alarm_rate: float = 0.01,
        *,
        cooldown: int = 10,
        burn_in: int = 50,
        within: int = 1,
        signal: str | None = None,
        repeat: bool = False,
        changed: Any = None,
        window: int = 20,
    ) -> "Detector":
        """A detector with this rate of false alarms per sample on samples like these, its cool-down counted in.

        quiet: a series in which nothing changes. changed: or else, True where something does; in a table, rows are
        series. Alarms at less than `window` samples after a change are then not false. With n quiet samples, the rate
        is met to within about one part in the square root of n times the rate, one standard error.
        """
        how: Any = {"cooldown": cooldown, "burn_in": burn_in, "within": within, "signal": signal, "repeat": repeat}
        detector = cls(learner, math.inf, **how)
        many, marks = alarms.labelled(quiet, changed)
        histories = run_many(detector._watched, many)
        marks = np.zeros((1, len(histories[0])), bool) if marks is None else marks
        alarms.check_lengths(histories, marks)
        quiet = alarms.quiet_samples(marks, window, detector.burn_in)
        detector._calibrate(detector._signals(histories), quiet, false_alarm_rate)
        return detector

    @classmethod
    def simulated(
        cls,
        learner: Learner,
        false_alarm_rate: float = 0.01,
        *,
        cooldown: int = 10,
        burn_in: int = 50,
        within: int = 1,
        signal: str | None = None,
        repeat: bool = False,
        seed: int = 0,
    ) -> "Detector":
        """A detector with this rate of false alarms per sample, if the learner's model of its samples is right.

        It is met on average over the parameters that the learner's prior allows for, to within a few per cent.
        """
        how: Any = {"cooldown": cooldown, "burn_in": burn_in, "within": within, "signal": signal, "repeat": repeat}
        detector = cls(learner, math.inf, **how)
        alarms.check_rate(false_alarm_rate, detector.cooldown)
        rng = np.random.default_rng(seed)
        steps, count = detector.burn_in + _STEPS, math.ceil(min(_EXPECTED / false_alarm_rate, _MOST) / _STEPS)
        signals = detector._signals(run_many(detector._watched, [learner.simulate(rng, steps) for _ in range(count)]))
        quiet = alarms.quiet_samples(np.zeros(signals.shape, bool), 1, detector.burn_in)
        detector._calibrate(signals, quiet, false_alarm_rate)
        return detector

    def __repr__(self) -> str:
        return f"Detector({self.learner}, threshold={self.threshold:.4g}, cooldown={self.cooldown})"

    @property
    def threshold(self) -> float:
        """Where the signal gives an alarm."""
        return float(self._watch.threshold)

    @threshold.setter
    def threshold(self, value: float) -> None:
        self._watch.threshold = float(value)

    @property
    def engine(self) -> str:
        """What computes the steps: "native" or "xla" (see `Stream`)."""
        return self._stream.engine

    @property
    def state(self) -> State:
        """The learner's state, in NumPy's arrays."""
        return self._stream.state

    @property
    def last_step(self) -> Step:
        """What the last sample that was not missing gave, as `Stream.update` returns it."""
        return self._stream.last_step

    @property
    def drift_detected(self) -> bool:
        """Whether the last sample gave an alarm."""
        return self._watch.alarm

    def update(self, x: Any) -> bool:
        """Learn from one sample, and say whether it gives an alarm. One that is missing (None, NaN) gives none."""
        return self._update(x)

    def alarms(self, xs: Any) -> BoolArray:
        """Which samples of a whole series give an alarm, from the learner's start; what was fed before is left alone.

        >>> from astonish import Delta
        >>> Detector(Delta(0.5), threshold=3.0, burn_in=1).alarms([0.0, 0.5, 5.0, 9.0]).tolist()
        [False, False, True, False]
        """
        return self._spaced(self._signals([run(self._watched, xs)]))[0]

    def clone(self) -> "Detector":
        """A detector with the same settings and threshold that has not seen anything."""
        fresh = Detector(self.learner, self.threshold, **self.settings)
        fresh.false_alarm_rate = self.false_alarm_rate
        return fresh

    @property
    def settings(self) -> dict[str, Any]:
        """What else than a learner and a threshold makes the same detector."""
        return {name: getattr(self, name) for name in ("cooldown", "burn_in", "within", "signal", "repeat")}

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write threshold, settings and state to a file; `Detector.load` goes on exactly where this left off."""
        kept = {"threshold": self.threshold, "false_alarm_rate": self.false_alarm_rate, **self.settings}
        state, alarm, wait = self._watch.now()
        leaves = named_leaves(state)
        about = kept | {"wait": wait, "alarm": alarm, "learner": described(self.learner)}
        with atomic_write(path) as file:
            write(file, "detector", leaves, about)

    @classmethod
    def load(cls, path: str | os.PathLike[str], learner: Learner, other_learner: bool = False) -> "Detector":
        """A detector that goes on from a saved one. other_learner: even if that was one of another learner."""
        saved, about = read(path, "detector")
        check_saved_by(path, about, learner, other_learner)
        state = matching(path, saved, first_state(learner))
        try:
            about.pop("learner", None)
            wait, alarm, rate = about.pop("wait"), about.pop("alarm"), about.pop("false_alarm_rate")
            detector = cls(learner, **about)
        except (AttributeError, KeyError, TypeError) as problem:
            wrong = f"{name_of(path)} is not a saved detector ({problem})"
            raise DamagedError(f"{wrong}; give a file written by save") from None
        detector.false_alarm_rate = rate
        detector._begin(Stream(detector._watched, state), detector.threshold, wait, alarm)
        return detector

    def __getstate__(self) -> dict[str, Any]:
        left_out = ("update", "_update", "_watch", "_stream")  # which hold compiled code
        kept = {name: value for name, value in self.__dict__.items() if name not in left_out}
        now = self._watch.now(), self.threshold, self._stream.wanted_engine
        return kept | {"_now": now}

    def __setstate__(self, kept: dict[str, Any]) -> None:
        (state, alarm, wait), threshold, engine = kept.pop("_now")
        self.__dict__.update(kept)
        self._begin(Stream(self._watched, state, engine), threshold, wait, alarm)

    def _signals(self, histories: list[History]) -> FloatArray:
        return np.stack([getattr(history, self.signal) for history in histories])

    def _spaced(self, signals: FloatArray) -> BoolArray:
        above = signals > self.threshold
        above[:, : self.burn_in] = False
        return spaced(above, self.cooldown)

    def _calibrate(self, signals: FloatArray, quiet: BoolArray, false_alarm_rate: float) -> None:
        signals[:, : self.burn_in] = math.nan
        self.threshold = alarms.threshold_at(signals, quiet, false_alarm_rate, self.cooldown)
        self.false_alarm_rate = alarms.rate_of_false_alarms(self._spaced(signals), quiet)


class RecentChange(Learner):
    """A learner whose `change_probability` is that of a change within so many samples up to now."""

    learner: Learner
    within: int = parameter(REQUIRED, COUNT, (2, 20), "samples within which a change counts", static=True)

    @property
    def samples(self) -> Any:
        return self.learner.samples

    def init(self) -> State:
        return self.learner.init()

    def step(self, state: State, x: Any) -> tuple[State, StepInfo]:
        new, info = self.learner.step(state, x)
        last = self.learner.last_change(new)
        assert last is not None  # as `_watched` has made sure
        recent = jnp.minimum(last.weights @ (last.ages <= self.within), 1.0)
        return new, info._replace(change_probability=recent)

    def estimate(self, state: State) -> Array:
        return self.learner.estimate(state)


def _watched(learner: Learner, within: int) -> Learner:
    """The learner to watch for a change within so many samples."""
    COUNT.check("within", within)
    if within == 1:
        return learner
    with double():
        last = learner.last_change(learner.init())
    if last is None:
        asked = f"within = {within} asks {type(learner).__name__} when the world changed last, which it does not know"
        raise ValueError(f"{asked}; give within = 1, or MessagePassing or ParticleFilter")
    return RecentChange(learner.with_change_times(), within)


def signal_of(learner: Learner, wanted: str | None) -> str:
    """Which of its numbers to watch: the one wanted, or the best that it gives."""
    step = given_by(learner)
    given = [signal for signal in _SIGNALS if getattr(step, signal) is not None]
    chosen = given[0] if wanted is None else wanted
    if chosen not in given:
        raise ValueError(f"{type(learner).__name__} gives no signal {chosen!r}; give one of {', '.join(given)}")
    return chosen

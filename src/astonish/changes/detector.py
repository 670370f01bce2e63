"""Alarms when the world changes, from the signal of any learner, with a stated rate of false ones.

Signals, alarms and changes are tables with a series in every row. An alarm is false unless the world changed at most
`window` samples before. Waiting ends with the next change, seen or not, so shares and medians are those of Kaplan &
Meier (1958): what they would be if no other change came between.
"""

import math
import os
from bisect import bisect_left
from collections.abc import Sequence
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array

from astonish.beliefs import Beta, Grid, NormalGamma, Poisson
from astonish.core.cooldown import spaced
from astonish.core.numbers import COUNT, POSITIVE, WHOLE, BoolArray, Domain, FloatArray, as_numbers, double
from astonish.core.parameters import REQUIRED, parameter
from astonish.core.refusal import unknown
from astonish.io.files import DamagedError, atomic_write, name_of, read, write
from astonish.io.state import check_saved_by, described, matching, named_leaves
from astonish.learners import MessagePassing
from astonish.learners.base import Learner, State, Step, StepInfo, first_state, given_by
from astonish.online.series import Stream, run, run_many

FEWEST = 10  # alarms from which to tell their rate; it is then known to a third, one standard error
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
        WHOLE.check("cooldown", cooldown)
        WHOLE.check("burn_in", burn_in)
        COUNT.check("within", within)
        self.learner, self.within, self.repeat = learner, within, bool(repeat)
        in_sight = within if within > 1 else 0  # so long, the start, or a change that gave an alarm, stays in sight
        self.cooldown, self.burn_in = max(cooldown, 0 if repeat else in_sight), max(burn_in, in_sight)
        self.false_alarm_rate = math.nan  # per sample, as counted where the threshold was found
        self._watched = learner
        if within > 1:
            with double():
                last_change = learner.last_change(learner.init())
            if last_change is None:
                name = type(learner).__name__
                asked = f"within = {within} asks {name} when the world changed last, which it does not know"
                raise ValueError(f"{asked}; give within = 1, or MessagePassing or ParticleFilter")
            self._watched = RecentChange(learner.with_change_times(), within)
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
        detector = cls(
            learner, math.inf, cooldown=cooldown, burn_in=burn_in, within=within, signal=signal, repeat=repeat
        )
        detector._calibrate(*labelled(quiet, changed), window, false_alarm_rate)
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
        detector = cls(
            learner, math.inf, cooldown=cooldown, burn_in=burn_in, within=within, signal=signal, repeat=repeat
        )
        check_rate(false_alarm_rate, detector.cooldown)
        rng = np.random.default_rng(seed)
        steps, count = detector.burn_in + _STEPS, math.ceil(min(_EXPECTED / false_alarm_rate, _MOST) / _STEPS)
        detector._calibrate([learner.simulate(rng, steps) for _ in range(count)], None, 1, false_alarm_rate)
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
        return self._alarms(getattr(run(self._watched, xs), self.signal)[None])[0]

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
        state, alarm, wait = self._watch.now()
        kept = {"threshold": self.threshold, "false_alarm_rate": self.false_alarm_rate, **self.settings}
        about = kept | {"wait": wait, "alarm": alarm, "learner": described(self.learner)}
        with atomic_write(path) as file:
            write(file, "detector", named_leaves(state), about)

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

    def _alarms(self, signals: FloatArray) -> BoolArray:
        above = signals > self.threshold
        above[:, : self.burn_in] = False
        return spaced(above, self.cooldown)

    def _calibrate(self, series: list[Any], changed: BoolArray | None, window: int, false_alarm_rate: float) -> None:
        """Set the threshold to the rate of false alarms in these series. changed: nowhere, if left out."""
        histories = run_many(self._watched, series)
        changed = np.zeros((len(histories), len(histories[0])), bool) if changed is None else changed
        check_lengths(histories, changed)
        signals = np.stack([getattr(history, self.signal) for history in histories])
        quiet = quiet_samples(changed, window, self.burn_in)
        signals[:, : self.burn_in] = math.nan
        self.threshold = threshold_at(signals, quiet, false_alarm_rate, self.cooldown)
        self.false_alarm_rate = rate_of_false_alarms(self._alarms(signals), quiet)


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
        assert last is not None  # as `Detector` has made sure
        recent = jnp.minimum(last.weights @ (last.ages <= self.within), 1.0)
        return new, info._replace(change_probability=recent)

    def estimate(self, state: State) -> Array:
        return self.learner.estimate(state)


def signal_of(learner: Learner, wanted: str | None) -> str:
    """Which of its numbers to watch: the one wanted, or the best that it gives."""
    step = given_by(learner)
    given = [signal for signal in _SIGNALS if getattr(step, signal) is not None]
    chosen = given[0] if wanted is None else wanted
    if chosen not in given:
        raise ValueError(f"{type(learner).__name__} gives no signal {chosen!r}; give one of {', '.join(given)}")
    return chosen


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
    WHOLE.check("cooldown", cooldown)
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


KINDS = ("mean", "variance", "proportion", "rate")
HYPOTHESES, WITHIN, COOLDOWN, BURN_IN = 50, 80, 20, 80
OUTCOME_HYPOTHESES = 100  # outcomes 0 and 1 tell so little each that no sample within sight may be left out
DEGREES = 3.0  # of freedom of Student's t-distribution, where tails are heavy
_QUARTILE = 0.7649  # half of the samples of such a distribution are nearer to its middle than this
_NOISE = "the standard deviation of the quiet samples"
_MEANS, _SPREADS = np.linspace(-6.0, 6.0, 61), 2.0 ** np.linspace(-2.0, 2.0, 9)  # in units of the noise


def usual_detector(
    kind: str, quiet: Any = None, false_alarm_rate: float = 0.001, *, hazard: float = 0.001, heavy_tails: bool = False
) -> Detector:
    """A detector with message passing for changes of a "mean", a "variance", a "proportion" or a "rate".

    quiet: samples in which nothing changes, in a table one series per row: from them come the threshold, and for
    numbers the size of the noise. Left out: numbers are expected about 0 with a standard deviation of 1, a rate about
    1, and the threshold comes from the learner's own model. hazard: how probable a change is before each sample.
    heavy_tails: whether there are outliers, for a mean or a variance; needs `quiet`, and takes longer.
    A change is noticed within 80 samples or not at all, and within these the alarm for it may come again every 21
    samples. A detector for a mean gives alarms for large changes of the variance, too, and the other way round.

    >>> detector = usual_detector("proportion")
    >>> [t for t in range(300) if detector.update(t % 5 == 0 if t < 200 else t % 5 != 0)]
    [208, 229, 250, 271]
    """
    if kind not in KINDS:
        raise unknown("usual detector", kind, KINDS)
    if heavy_tails and (kind not in ("mean", "variance") or quiet is None):
        raise ValueError("heavy_tails is for a mean or a variance with quiet samples; give these, or leave it out")
    series = None
    if quiet is not None:
        numbers = as_numbers("quiet", quiet)
        if numbers.ndim not in (1, 2) or not np.isfinite(numbers).any():
            raise ValueError(f"quiet has shape {numbers.shape}; give a series with samples in it, or a table of series")
        series = np.atleast_2d(numbers)
    learner = _usual_learner(kind, series, hazard, heavy_tails)
    how: Any = {"within": WITHIN, "cooldown": COOLDOWN, "burn_in": BURN_IN, "repeat": True}
    if series is None:
        return Detector.simulated(learner, false_alarm_rate, **how)
    return Detector.calibrated(learner, series, false_alarm_rate, changed=np.zeros(series.shape, bool), **how)


def _usual_learner(kind: str, series: FloatArray | None, hazard: float, heavy_tails: bool) -> MessagePassing:
    """Set up message passing for one kind of change. series: quiet ones, in rows, that say how large the noise is."""
    if kind == "proportion":  # which is seldom next to 0 or 1
        return MessagePassing(Beta(), hazard, Beta().prior(ones=2.0, zeros=2.0), OUTCOME_HYPOTHESES)
    if kind == "rate":
        mean = 1.0 if series is None else float(np.nanmean(series))
        POSITIVE.check(_NOISE, mean)
        return MessagePassing(Poisson(), hazard, Poisson().prior(mean, 1 / mean), HYPOTHESES)
    if heavy_tails and series is not None:
        levels = np.nanmedian(series, axis=1, keepdims=True)
        scale = float(np.nanmedian(np.abs(series - levels))) / _QUARTILE
        POSITIVE.check(_NOISE, scale)
        level, spread = float(levels.mean()), float(np.hypot(scale, levels.std() / 2))
        widths, means = (np.ones(1), _MEANS) if kind == "mean" else (_SPREADS, _MEANS[::3])
        pairs: Any = np.array([(level + spread * mean, scale * width) for width in widths for mean in means])
        grid = Grid(pairs, _student, width=1.0)
        return MessagePassing(grid, hazard, grid.prior(), HYPOTHESES)
    level, spread, noise = 0.0, 3.0, 1.0  # the mean level, how much levels may differ, and what is about each
    if series is not None:
        levels, noise = np.nanmean(series, axis=1), float(np.sqrt(np.nanvar(series, axis=1).mean()))
        level, spread = float(levels.mean()), float(np.hypot(3 * noise, levels.std()))
        POSITIVE.check(_NOISE, noise)
    shape = 10.0 if kind == "mean" else 1.0  # half the samples of the noise it is worth: the more, the less it changes
    prior = NormalGamma().prior(level, noise, weight=(noise / spread) ** 2, shape=shape)
    return MessagePassing(NormalGamma(), hazard, prior, HYPOTHESES)


def _student(x: Array, points: Array) -> Array:
    """The log-likelihood, but for a constant, of pairs of a mean and a scale, for samples with heavy tails."""
    mean, scale = points[:, 0], points[:, 1]
    return -0.5 * (DEGREES + 1) * jnp.log1p(jnp.square((x - mean) / scale) / DEGREES) - jnp.log(scale)

"""Followers of a stream of numbers: a learner with a detector of changes, or a monitor that needs no settings."""

import math
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, NamedTuple

import jax

from astonish.changes import Detector
from astonish.changes.monitoring import monitor
from astonish.changes.periods import find_period
from astonish.core.domain import FINITE
from astonish.core.kinds import NUMBERS, OutcomeKind
from astonish.core.precision import double
from astonish.core.refusal import NoSimulationError
from astonish.learners.base import Learner
from astonish.models.assemble import Assembly, Fact, Outcomes, arguments, assemble, imports
from astonish.people.tables import Columns, Trials, read_trials
from astonish.people.tables.facts import fact_of
from astonish.watch.session import Reading

WIDTH = 2.0  # standard deviations on either side of an estimate, between which it is believed to lie


class DetectorSettings(NamedTuple):
    """What can be said about alarms; see `Detector`.

    threshold: if None, it is found: from the first `calibrate` samples, or else from the learner's own model.
    """

    threshold: float | None = None
    false_alarm_rate: float = 0.001
    calibrate: int | None = None
    signal: str | None = None
    cooldown: int = 10
    burn_in: int = 50
    within: int = 1


class DetectorFollower:
    """A learner and its detector, as a `Follower`. condition: on which its rate of false alarms is as stated."""

    def __init__(self, detector: Detector, assembly: Assembly, condition: str = "") -> None:
        self.detector, self._assembly, self._condition = detector, assembly, condition
        self._belief: tuple[float, float, float] | None = None

    @property
    def description(self) -> str:
        detector, settings = self.detector, self._assembly.settings.items()
        values = ", ".join(f"{word} {value:.4g}" for word, value in settings if value is not None)
        rate = f": {detector.false_alarm_rate:.2g} false alarms per sample, if {self._condition}"
        alarm = f"alarm above {detector.signal} {detector.threshold:.4g}{rate if self._condition else ''}"
        return f"{type(detector.learner).__name__} ({values}); {alarm}"

    @property
    def code(self) -> str:
        settings = arguments({"threshold": self.detector.threshold, **self.detector.settings})
        made = f"follower = Detector({self._assembly.code}, {settings})"
        return "\n".join([*imports(self._assembly.classes, "Detector"), made])

    def update(self, x: float) -> Reading:
        learner = self.detector.learner
        try:
            alarm = self.detector.update(x)
        except ValueError:
            learner.samples.check("x", x)  # which says it of one number, not of a series
            raise
        if math.isnan(x) and self._belief is not None:  # nothing has been learned
            return Reading(*self._belief, math.nan, alarm)
        step = self.detector.last_step
        with double():
            half = WIDTH * float(_uncertainty(learner, self.detector.state))
        self._belief = (step.estimate, step.estimate - half, step.estimate + half)
        return Reading(*self._belief, math.nan if math.isnan(x) else step.surprise, alarm)


@jax.jit
def _uncertainty(learner: Learner, state: Any) -> Any:
    """Compute the standard deviation of what is believed; NaN for learners without a belief."""
    std = learner.uncertainty(state)
    return math.nan if std is None else std


class UnknownFactError(Exception):
    """Raised where only samples can decide what was not set."""


def samples_needed(name: str, settings: Mapping[str, float], kind: str, family: str | None, warm_up: int) -> int:
    """Count the samples that decide what was not set for the learner of this name: none, if everything is set."""

    def fact(*_: Any) -> Fact | None:
        raise UnknownFactError

    try:
        _assembled(name, fact, settings, kind, family)
    except UnknownFactError:
        return warm_up
    return 0


def follower_for(
    name: str,
    first: list[float],
    settings: Mapping[str, float],
    alarms: DetectorSettings,
    kind: str = OutcomeKind.CONTINUOUS,
    family: str | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> DetectorFollower:
    """Make the follower with the learner of this name.

    Args:
        name: Of the learner.
        first: Samples that decide what was not set.
        settings: Parameters of the learner.
        alarms: What gives an alarm.
        kind: Of the samples.
        family: Of beliefs, on which the learner runs; else the usual one.
        say: Told what was assumed.
    """

    @cache
    def trials() -> Trials:
        if all(math.isnan(x) for x in first):
            raise ValueError("no number came before the end, from which to tell what was not set; give it by --set")
        from pandas import DataFrame

        return read_trials(DataFrame({"sample": first}), Columns("sample"), kind=kind, missing=[])

    assembly = _assembled(name, lambda word, given: fact_of(trials(), word, given), settings, kind, family)
    for sentence in assembly.assumed:
        say(f"astonish: assumed from the first {len(first)} samples: {sentence}")
    learner, rate = assembly.learner, alarms.false_alarm_rate
    kept = {name: getattr(alarms, name) for name in ("signal", "cooldown", "burn_in", "within")}
    if alarms.threshold is not None:
        return DetectorFollower(Detector(learner, float(FINITE.check("threshold", alarms.threshold)), **kept), assembly)
    if alarms.calibrate is not None:
        detector = Detector.calibrated(learner, first[: alarms.calibrate], rate, **kept)
        return DetectorFollower(detector, assembly, f"later samples are like the first {alarms.calibrate}")
    try:
        detector = Detector.simulated(learner, rate, **kept)
    except NoSimulationError:
        why = f"{type(learner).__name__} does not say how samples come about, so none can be drawn"
        raise ValueError(f"{why}; give --threshold, or --calibrate and a number of samples") from None
    return DetectorFollower(detector, assembly, "samples are as the learner's model has them")


def _assembled(name: str, fact: Any, settings: Mapping[str, float], kind: str, family: str | None) -> Assembly:
    if kind not in NUMBERS:
        raise ValueError(f"a stream of numbers is not {kind}; give {' or '.join(NUMBERS)}")
    return assemble(name, Outcomes(kind, fact), settings, family)


class MonitorFollower:
    """A monitor, which knows nothing of a stream beforehand, as a `Follower`. settings: what it was made with."""

    def __init__(self, **settings: Any) -> None:
        self._monitor, self._settings = monitor(**settings), settings

    @property
    def description(self) -> str:
        period, rate = self._settings["period"], self._monitor.false_alarm_rate
        repeats = "no period" if period is None else f"period {period:.4g}"
        first = f"{rate:g} false alarms per sample at first, and fewer later"
        return f"Monitor ({repeats}); {first}, if the stream stays as it was"

    @property
    def code(self) -> str:
        return f"from astonish import monitor\n\nfollower = monitor({arguments(self._settings)})"

    def update(self, x: float) -> Reading:
        step = self._monitor.update(x)
        return Reading(step.estimate, step.low, step.high, step.surprise, step.alarm)


def monitor_for(
    first: list[float], period: float | None, false_alarm_rate: float | None, say: Callable[[str], None]
) -> MonitorFollower:
    """Make the monitor of a stream. first: samples in which a period is looked for, if none is given."""
    if period is None:
        period = find_period(first) if first else None
        samples = "none" if period is None else f"{period:.4g} samples"
        say(f"astonish: period in the first {len(first)} samples: {samples}; --period gives another one")
    rate = {} if false_alarm_rate is None else {"false_alarm_rate": false_alarm_rate}
    return MonitorFollower(period=period, **rate)

"""Followers of a stream of numbers: a learner with a detector of changes, or a monitor that needs no settings."""

import math
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import jax

from astonish.changes import Detector
from astonish.changes.monitoring import find_period, monitor
from astonish.core.names import NUMBERS, OutcomeKind
from astonish.core.numbers import FINITE, double
from astonish.core.refusal import NoSimulationError
from astonish.learners.base import Learner
from astonish.models.parameters import Assembly, Fact, Outcomes, arguments, assemble, imports
from astonish.people.tables import Columns, Trials, read_trials
from astonish.people.tables.facts import fact_of
from astonish.watch.stream import Follower, Reading

WIDTH = 2.0  # standard deviations on either side of an estimate, between which it is believed to lie
DETECTOR = ("signal", "cooldown", "burn_in", "within")  # settings of a detector, whose defaults it knows itself


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
    alarms: Mapping[str, Any],
    kind: str = OutcomeKind.CONTINUOUS,
    family: str | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> Follower:
    """Make the follower with the learner of this name.

    Args:
        name: Of the learner.
        first: Samples that decide what was not set.
        settings: Parameters of the learner.
        alarms: What was said of `DETECTOR`, and where the threshold comes from: threshold, or else calibrate, so many
            first samples, or else the learner's own model; false_alarm_rate.
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
    learner, rate, condition = assembly.learner, alarms.get("false_alarm_rate", 0.001), ""
    kept = {name: alarms[name] for name in DETECTOR if name in alarms}
    if "threshold" in alarms:
        detector = Detector(learner, float(FINITE.check("threshold", alarms["threshold"])), **kept)
    elif "calibrate" in alarms:
        detector = Detector.calibrated(learner, first[: alarms["calibrate"]], rate, **kept)
        condition = f"later samples are like the first {alarms['calibrate']}"
    else:
        try:
            detector = Detector.simulated(learner, rate, **kept)
        except NoSimulationError:
            why = f"{type(learner).__name__} does not say how samples come about, so none can be drawn"
            raise ValueError(f"{why}; give --threshold, or --calibrate and a number of samples") from None
        condition = "samples are as the learner's model has them"
    alarm = f"alarm above {detector.signal} {detector.threshold:.4g}"
    if condition:
        alarm += f": {detector.false_alarm_rate:.2g} false alarms per sample, if {condition}"
    made = arguments({"threshold": detector.threshold, **detector.settings})
    code = [*imports(assembly.classes, "Detector"), f"follower = Detector({assembly.code}, {made})"]
    about = f"{type(learner).__name__} ({settings_of(assembly)}); {alarm}"
    return Follower(about, "\n".join(code), _update(detector))


def settings_of(assembly: Assembly) -> str:
    """Write the parameters of a learner, as far as they have values."""
    return ", ".join(f"{word} {value:.4g}" for word, value in assembly.settings.items() if value is not None)


def _update(detector: Detector) -> Callable[[float], Reading]:
    """Make the function that learns from the next sample."""
    learner = detector.learner
    belief: tuple[float, float, float] | None = None

    def update(x: float) -> Reading:
        nonlocal belief
        try:
            alarm = detector.update(x)
        except ValueError:
            learner.samples.check("x", x)  # which says it of one number, not of a series
            raise
        is_missing = math.isnan(x)
        if belief is None or not is_missing:  # else nothing has been learned
            estimate = detector.last_step.estimate
            with double():
                half = WIDTH * float(_uncertainty(learner, detector.state))
            belief = (estimate, estimate - half, estimate + half)
        return Reading(*belief, math.nan if is_missing else detector.last_step.surprise, alarm)

    return update


@jax.jit
def _uncertainty(learner: Learner, state: Any) -> Any:
    """Compute the standard deviation of what is believed; NaN for learners without a belief."""
    std = learner.uncertainty(state)
    return math.nan if std is None else std


def _assembled(name: str, fact: Any, settings: Mapping[str, float], kind: str, family: str | None) -> Assembly:
    if kind not in NUMBERS:
        raise ValueError(f"a stream of numbers is not {kind}; give {' or '.join(NUMBERS)}")
    return assemble(name, Outcomes(kind, fact), settings, family)


def monitor_for(
    first: list[float], period: float | None, false_alarm_rate: float | None, say: Callable[[str], None]
) -> Follower:
    """Make the follower with a monitor. first: samples in which a period is looked for, if none is given."""
    if period is None:
        period = find_period(first) if first else None
        samples = "none" if period is None else f"{period:.4g} samples"
        say(f"astonish: period in the first {len(first)} samples: {samples}; --period gives another one")
    settings: Any = {"period": period} | ({} if false_alarm_rate is None else {"false_alarm_rate": false_alarm_rate})
    made = monitor(**settings)

    def update(x: float) -> Reading:
        step = made.update(x)
        return Reading(step.estimate, step.low, step.high, step.surprise, step.alarm)

    repeats = "no period" if period is None else f"period {period:.4g}"
    rate = f"{made.false_alarm_rate:g} false alarms per sample at first, and fewer later"
    code = f"from astonish import monitor\n\nfollower = monitor({arguments(settings)})"
    return Follower(f"Monitor ({repeats}); {rate}, if the stream stays as it was", code, update)

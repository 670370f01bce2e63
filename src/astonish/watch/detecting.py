"""How does a learner, with alarms at a stated rate of false ones, follow a stream of numbers?"""

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import jax

from astonish.changes import Detector
from astonish.core.domain import COUNT, Domain
from astonish.core.kinds import NUMBERS, OutcomeKind
from astonish.core.precision import double
from astonish.core.refusal import NoSimulationError
from astonish.learners.base import Learner
from astonish.models.parameters import Assembly, Fact, Outcomes, arguments, assemble, imports
from astonish.people.tables import Columns, Trials, read_trials
from astonish.people.tables.facts import fact_of
from astonish.watch.feed import Reading

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
        set_to = {word: value for word, value in self._assembly.settings.items() if value is not None}
        values = ", ".join(f"{word} {value:.4g}" for word, value in set_to.items())
        found, name = self.detector, type(self.detector.learner).__name__
        rate = (
            f": {found.false_alarm_rate:.2g} false alarms per sample, if {self._condition}" if self._condition else ""
        )
        return f"{name} ({values}); alarm above {found.signal} {found.threshold:.4g}{rate}"

    @property
    def code(self) -> str:
        known = {"threshold": self.detector.threshold, **self.detector.settings}
        return "\n".join([
            *imports(self._assembly.classes, "Detector"),
            f"follower = Detector({self._assembly.code}, {arguments(known)})",
        ])  # fmt: skip

    def update(self, x: float) -> Reading:
        try:
            alarm = self.detector.update(x)
        except ValueError:
            self.detector.learner.samples.check("x", x)  # which says it of one number, not of a series
            raise
        if math.isnan(x) and self._belief is not None:  # nothing has been learned
            return Reading(*self._belief, math.nan, alarm)
        step = self.detector.last_step
        half = WIDTH * uncertainty(self.detector.learner, self.detector.state)
        self._belief = (step.estimate, step.estimate - half, step.estimate + half)
        return Reading(*self._belief, math.nan if math.isnan(x) else step.surprise, alarm)


def uncertainty(learner: Learner, state: Any) -> float:
    """The standard deviation of what is believed; NaN for learners without a belief."""
    with double():
        return float(_uncertainty(learner, state))


@jax.jit
def _uncertainty(learner: Learner, state: Any) -> Any:
    std = learner.uncertainty(state)
    return math.nan if std is None else std


def samples_needed(name: str, settings: Mapping[str, float], kind: str, family: str | None, warm_up: int) -> int:
    """How many samples have to be seen before the learner of this name can be made: none, if everything is set."""
    _check_numbers(kind)

    class UnknownFactError(Exception):
        pass

    def asked(*_: Any) -> Fact | None:
        raise UnknownFactError

    try:
        assemble(name, Outcomes(kind, asked), settings, family)
    except UnknownFactError:
        return int(COUNT.check("warm_up", warm_up))
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
    """The follower with the learner of this name. first: samples that decide what was not set; `say` is told what."""
    _check_numbers(kind)
    trials: list[Trials] = []

    def fact(word: str, given: Mapping[str, float]) -> Fact | None:
        if not trials:
            trials.append(_read(first, kind))
        return fact_of(trials[0], word, given)

    assembly = assemble(name, Outcomes(kind, fact), settings, family)
    for sentence in assembly.assumed:
        say(f"astonish: assumed from the first {len(first)} samples: {sentence}")
    return DetectorFollower(_detector(assembly.learner, first, alarms), assembly, _condition(alarms))


def _check_numbers(kind: str) -> None:
    if kind not in NUMBERS:
        raise ValueError(f"a stream of numbers is not {kind}; give {' or '.join(NUMBERS)}")


def _read(first: list[float], kind: str) -> Trials:
    if all(math.isnan(x) for x in first):
        raise ValueError("no number came before the end, from which to tell what was not set; give it by --set")
    from pandas import DataFrame

    return read_trials(DataFrame({"sample": first}), Columns("sample"), kind=kind, missing=[])


def _condition(alarms: DetectorSettings) -> str:
    if alarms.threshold is not None:
        return ""
    if alarms.calibrate is not None:
        return f"later samples are like the first {alarms.calibrate}"
    return "samples are as the learner's model has them"


def _detector(learner: Learner, first: list[float], alarms: DetectorSettings) -> Detector:
    kept = {name: getattr(alarms, name) for name in ("signal", "cooldown", "burn_in", "within")}
    if alarms.threshold is not None:
        return Detector(learner, float(Domain().check("threshold", alarms.threshold)), **kept)
    if alarms.calibrate is not None:
        return Detector.calibrated(learner, first[: alarms.calibrate], alarms.false_alarm_rate, **kept)
    try:
        return Detector.simulated(learner, alarms.false_alarm_rate, **kept)
    except NoSimulationError as problem:
        why = str(problem).partition(";")[0]
        raise ValueError(f"{why}; give --threshold, or --calibrate and a number of samples") from None

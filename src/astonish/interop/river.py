"""Drift detectors, metrics for them, and a regression for river's pipelines and ensembles.

`pip install 'astonish[river]'`. A metric is told, sample by sample, whether the world changed just before it and
whether the detector gave an alarm. An alarm belongs to the last change if it comes less than `tolerance` samples after
its first sample; further alarms for the same change count neither for it nor against it. A change is missed if there is
no alarm until the tolerance, or the next change, is reached; waiting for it then counts for so many samples.
"""

from abc import abstractmethod
from collections.abc import Hashable, Iterable, Iterator
from typing import Any

import jax
import numpy as np

from astonish.changes import Detector, usual_detector
from astonish.core.numbers import COUNT, FloatArray, as_numbers
from astonish.core.refusal import naming_extra
from astonish.interop import weights
from astonish.learners import Delta
from astonish.learners.base import Learner
from astonish.online.series import Stream

with naming_extra("this module needs"):
    from river import base, metrics

__all__ = [
    "DriftDelay", "DriftF1", "DriftFalseAlarms", "DriftMetric", "DriftMissed", "OnlineSurpriseRegressor",
    "SurpriseDrift", "drift_detector", "drift_score",
]  # fmt: skip
Features = dict[Hashable, Any]


class SurpriseDrift(base.DriftDetector):
    """A drift detector of river that listens to a learner, as `astonish.Detector` does, with the same settings.

    `SurpriseDrift.of(Detector.simulated(learner, false_alarm_rate=0.001))` has a threshold with a stated rate of false
    alarms. A missing value (None, NaN) gives no alarm. After an alarm nothing is forgotten: learners follow a change by
    themselves.

    >>> from astonish import Gaussian, MessagePassing
    >>> drift = SurpriseDrift(MessagePassing(Gaussian(noise=1.0), hazard=0.02), threshold=0.5, burn_in=3)
    >>> for x in (0.1, -0.4, 0.2, 0.3, 6.1):
    ...     drift.update(x)
    >>> drift.drift_detected
    True
    """

    def __init__(
        self,
        learner: Learner,
        threshold: float,
        cooldown: int = 10,
        burn_in: int = 50,
        within: int = 1,
        signal: str | None = None,
        repeat: bool = False,
    ) -> None:
        super().__init__()
        self.learner, self.threshold, self.within, self.signal = learner, threshold, within, signal
        self.cooldown, self.burn_in, self.repeat = cooldown, burn_in, repeat
        self._detector = Detector(
            learner, threshold, cooldown=cooldown, burn_in=burn_in, within=within, signal=signal, repeat=repeat
        )

    @classmethod
    def of(cls, detector: Detector) -> "SurpriseDrift":
        """With the settings and the threshold of this detector, and nothing seen yet."""
        return cls(detector.learner, detector.threshold, **detector.settings)

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"learner": Delta(0.1), "threshold": 3.0}

    def update(self, x: float) -> None:
        """Learn from one value; `drift_detected` then says whether it gave an alarm."""
        self._drift_detected = self._detector.update(x)


def drift_detector(
    kind: str, quiet: Any = None, false_alarm_rate: float = 0.001, *, hazard: float = 0.001, heavy_tails: bool = False
) -> SurpriseDrift:
    """A drift detector of river's for changes of a "mean", a "variance", a "proportion" or a "rate".

    What is behind it, and what the arguments mean: `astonish.usual_detector`.

    >>> drift = drift_detector("mean")
    >>> for x in [0.2, -0.5, 0.9, -0.7] * 20 + [2.2, 1.5, 2.9]:
    ...     drift.update(x)
    >>> drift.drift_detected
    True
    """
    return SurpriseDrift.of(usual_detector(kind, quiet, false_alarm_rate, hazard=hazard, heavy_tails=heavy_tails))


class DriftMetric(metrics.base.Metric):
    """What all of them count: changes found and missed, samples waited for them, false alarms, and quiet samples.

    The present change counts from when it is found, or its tolerance is over.
    """

    _fmt = ",.2f"
    bigger_is_better = works_with_weights = False
    requires_labels = True

    def __init__(self, tolerance: int = 100) -> None:
        COUNT.check("tolerance", tolerance)
        self.tolerance = tolerance
        self.found = self.missed = self.waited = self.false = self.quiet = 0
        self._since: int | None = None  # how many samples ago the last change was, until the tolerance is over
        self._was_found = False

    def update(self, y_true: bool, y_pred: bool, w: float = 1.0) -> None:
        """y_true: whether the world changed just before this sample. y_pred: whether it gave an alarm. w: only 1."""
        if w != 1:
            raise ValueError(f"w = {w} is not allowed: samples of a stream have no weights; leave it out")
        self._since = None if self._since is None else self._since + 1
        if self._since is not None and (y_true or self._since >= self.tolerance):
            self.missed += not self._was_found
            self.waited += 0 if self._was_found else self._since
            self._since = None
        if y_true:
            self._since, self._was_found = 0, False
        if self._since is None:
            self.quiet += 1
            self.false += bool(y_pred)
        elif y_pred and not self._was_found:
            self._was_found = True
            self.found += 1
            self.waited += self._since + 1

    def revert(self, y_true: bool, y_pred: bool, w: float = 1.0) -> None:
        """Refused: what an alarm means depends on the samples before it."""
        raise NotImplementedError(f"{type(self).__name__} cannot go back; start a new one, such as clone() gives")

    @abstractmethod
    def get(self) -> float:
        """The present value; NaN where there was nothing to count yet."""

    def works_with(self, model: Any) -> bool:
        return isinstance(model, base.DriftDetector)

    def __add__(self, other: Any) -> Any:
        if not isinstance(other, DriftMetric):
            raise ValueError(f"{type(other).__name__} is no metric of drift; add one that is")
        return metrics.base.Metrics([self, other])


class DriftDelay(DriftMetric):
    """After how many samples a change is found, on average: 1 if its first one gives the alarm.

    >>> metric = DriftDelay(tolerance=3)
    >>> for changed, alarm in [(0, 0), (1, 0), (0, 1), (0, 0), (0, 1)]:
    ...     metric.update(changed, alarm)
    >>> metric, metric.false
    (DriftDelay: 2., 1)
    """

    def get(self) -> float:
        return _ratio(self.waited, self.found + self.missed)


class DriftFalseAlarms(DriftMetric):
    """False alarms per 1000 samples that belong to no change."""

    def get(self) -> float:
        return _ratio(1000 * self.false, self.quiet)


class DriftMissed(DriftMetric):
    """The share of changes that are missed."""

    def get(self) -> float:
        return _ratio(self.missed, self.found + self.missed)


class DriftF1(DriftMetric):
    """The harmonic mean of the share of changes that are found and the share of alarms that are true.

    Further alarms for the same change are left out.
    """

    bigger_is_better = True

    def get(self) -> float:
        return _ratio(2 * self.found, 2 * self.found + self.missed + self.false)


def drift_score(stream: Iterable[tuple[Any, bool]], detector: Any, metric: Any) -> Any:
    """Feed a detector of river's, or a `Detector`, with samples and whether each is the first after a change.

    >>> from river.drift import PageHinkley
    >>> stream = [(x, t == 100) for t, x in enumerate([0.0] * 100 + [1.0] * 100)]
    >>> drift_score(stream, PageHinkley(threshold=5), DriftDelay() + DriftFalseAlarms())
    DriftDelay: 6.
    DriftFalseAlarms: 0.
    """
    for x, changed in stream:
        detector.update(x)
        metric.update(changed, detector.drift_detected)
    return metric


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else float("nan")


class OnlineSurpriseRegressor(base.Regressor):
    """A linear regression that relearns quickly when the response becomes surprising.

    rule: "varsmile" or "smile". m: readiness to change one's mind; with "varsmile", p / (1 - p) for a probability p
    that all weights change before a sample, and 0 is Bayes' rule. noise: the standard deviation of the response about
    its prediction. std: that of each weight, and of the intercept, about 0 before anything is known. The defaults suit
    features and responses of about the size of 1: put `preprocessing.StandardScaler` in front, or say otherwise.
    Features may come and go; one that is absent counts as 0. A sample with a missing value (None, NaN) is skipped.

    >>> model = OnlineSurpriseRegressor(m=0.01, noise=0.1)
    >>> for i in range(40):
    ...     model.learn_one({"a": i % 3, "b": i % 5}, 1.0 + 2.0 * (i % 3))
    >>> round(model.predict_one({"a": 10}), 1)
    21.0
    """

    def __init__(self, rule: str = "varsmile", m: float = 0.01, noise: float = 1.0, std: float = 1.0) -> None:
        self.rule, self.m, self.noise, self.std = rule, m, noise, std
        self.surprise = self.learning_rate = float("nan")  # of the sample learned from last
        self._places: dict[Hashable, int] = {}
        self._size = 8
        self._stream = Stream(self._learner())

    def _learner(self) -> Learner:
        return weights(self._size, self.rule, self.m, self.noise, self.std)

    def learn_one(self, x: Features, y: float) -> None:
        """Learn from a row; `surprise` and `learning_rate` are then those of this row."""
        if new := x.keys() - self._places.keys():
            for name in sorted(new, key=repr):  # whatever order they came in
                self._places[name] = len(self._places) + 1
            size = 1 << len(self._places).bit_length()  # the next power of 2, since each size is compiled
            if size > self._size:
                self._size, old = size, self._stream.state
                learner, known = self._learner(), slice(len(old.mean))
                state = jax.tree.map(np.array, learner.init())  # weights to come are at the prior
                state.mean[known], state.precision[known, known] = old
                self._stream = Stream(learner, state)
        step = self._stream.update((self._row(x), y))
        self.surprise, self.learning_rate = step.surprise, step.learning_rate

    def predict_one(self, x: Features) -> float:
        """The response to expect, where features that were never learned from count for nothing."""
        return float(self._row({name: x[name] for name in x.keys() & self._places.keys()}) @ self._stream.estimate)

    def _row(self, x: Features) -> FloatArray:
        """Features at their places, behind the 1 that the intercept is the weight of."""
        row, values = np.zeros(self._size), list(x.values())
        row[0] = 1.0
        plain = set(map(type, values)) == {float}  # which needs no closer look
        row[[self._places[name] for name in x]] = values if plain else as_numbers("x", values)
        return row

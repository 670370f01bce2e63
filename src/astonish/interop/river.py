"""How does astonish serve in river's pipelines and ensembles?

`pip install 'astonish[river]'`
"""

from collections.abc import Hashable, Iterator
from typing import Any

import jax
import numpy as np

from astonish.changes import Detector, usual_detector
from astonish.core.numbers import FloatArray, as_numbers
from astonish.core.refusal import naming_extra
from astonish.interop import weights
from astonish.interop.drift_metrics import DriftDelay, DriftF1, DriftFalseAlarms, DriftMissed, drift_score
from astonish.learners import Delta
from astonish.learners.base import Learner
from astonish.online.series import Stream

with naming_extra("this module needs"):
    from river import base

__all__ = [
    "DriftDelay", "DriftF1", "DriftFalseAlarms", "DriftMissed", "OnlineSurpriseRegressor", "SurpriseDrift",
    "drift_detector", "drift_score",
]  # fmt: skip
Features = dict[Hashable, Any]
_PLAIN = {float}  # values that need no closer look


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
        how: Any = {"cooldown": cooldown, "burn_in": burn_in, "within": within, "signal": signal, "repeat": repeat}
        self._detector = Detector(learner, threshold, **how)

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
        self._stream = Stream(self._learner(self._size))

    def _learner(self, size: int) -> Learner:
        return weights(size, self.rule, self.m, self.noise, self.std)

    def learn_one(self, x: Features, y: float) -> None:
        """Learn from a row; `surprise` and `learning_rate` are then those of this row."""
        if new := x.keys() - self._places.keys():
            for name in sorted(new, key=repr):  # whatever order they came in
                self._places[name] = len(self._places) + 1
            self._grow()
        step = self._stream.update((self._row(x), y))
        self.surprise, self.learning_rate = step.surprise, step.learning_rate

    def predict_one(self, x: Features) -> float:
        """The response to expect, where features that were never learned from count for nothing."""
        return float(self._row({name: x[name] for name in x.keys() & self._places.keys()}) @ self._stream.estimate)

    def _row(self, x: Features) -> FloatArray:
        """Features at their places, behind the 1 that the intercept is the weight of."""
        row, values = np.zeros(self._size), list(x.values())
        row[0] = 1.0
        plain = set(map(type, values)) == _PLAIN
        row[[self._places[name] for name in x]] = values if plain else as_numbers("x", values)
        return row

    def _grow(self) -> None:
        """Make room for more weights, in doublings, since each size is compiled; those to come are at the prior."""
        size = 1 << len(self._places).bit_length()  # the next power of 2
        if size > self._size:
            old = self._stream.state
            learner, known = self._learner(size), slice(len(old.mean))
            new = jax.tree.map(np.array, learner.init())
            new.mean[known], new.precision[known, known] = old
            self._stream, self._size = Stream(learner, new), size

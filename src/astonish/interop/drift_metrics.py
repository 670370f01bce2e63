"""How good are drift detectors, by metrics with river's interface?

`pip install 'astonish[river]'`. A metric is told, sample by sample, whether the world changed just before it and
whether the detector gave an alarm. An alarm belongs to the last change if it comes less than `tolerance` samples after
its first sample; further alarms for the same change count neither for it nor against it. A change is missed if there is
no alarm until the tolerance, or the next change, is reached; waiting for it then counts for so many samples.
"""

from abc import abstractmethod
from collections.abc import Iterable
from typing import Any

from astonish.core.numbers import COUNT
from astonish.core.refusal import naming_extra

with naming_extra("this module needs"):
    from river import base, metrics


class DriftMetric(metrics.base.Metric):
    """What all of them count: changes found and missed, samples waited for them, false alarms, and quiet samples.

    The present change counts from when it is found, or its tolerance is over.
    """

    _fmt = ",.2f"

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

    @property
    def bigger_is_better(self) -> bool:
        return False

    @property
    def works_with_weights(self) -> bool:
        return False

    @property
    def requires_labels(self) -> bool:
        return True

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

    @property
    def bigger_is_better(self) -> bool:
        return True

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

"""River's drift detectors, each tuned to a rate of false alarms by the one parameter that stands for caution."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from astonish.core.numbers import FloatArray


class Rival(NamedTuple):
    """A detector of river's. make: from a value of its parameter; the larger, the more alarms it gives.

    low, high: between which values to search, in so many halvings of the logarithm. most: how many streams of
    each setting it sees at most, the first of them; left out, all.
    """

    name: str
    make: Callable[[float], Any]
    low: float
    high: float
    steps: int
    most: int | None = None


def rivals(noise: str, std: float) -> list[Rival]:
    """Those that take such samples, whose standard deviation is `std`.

    ADWIN looks at every sample, not at every 32nd. Page-Hinkley tolerates wandering by its default, or by half a
    standard deviation, which is best for changes of one. HDDM takes 0 and 1, and looks for changes to either side.
    """
    from river.drift import ADWIN, KSWIN, PageHinkley
    from river.drift.binary import HDDMA, HDDMW

    found = [
        Rival("ADWIN", lambda value: ADWIN(delta=value, clock=1), 1e-4, 0.9999, 12),
        Rival("KSWIN", lambda value: KSWIN(alpha=value, seed=1), 5e-4, 0.02, 4, 12),  # takes 0.2 ms per sample
        Rival("Page-Hinkley", lambda value: PageHinkley(threshold=1 / value), 1e-3, 1.0, 12),
        Rival("Page-Hinkley, half", lambda value: PageHinkley(threshold=1 / value, delta=std / 2), 1e-3, 2.0, 12),
    ]
    if noise == "bernoulli":
        found.append(Rival("HDDM_A", lambda value: HDDMA(drift_confidence=value, two_sided_test=True), 1e-6, 0.5, 12))
        found.append(Rival("HDDM_W", lambda value: HDDMW(drift_confidence=value, two_sided_test=True), 1e-6, 0.5, 12))
    return found


def tuned(rival: Rival, still: Sequence[FloatArray], rate: float, burn_in: int) -> float:
    """The most eager value of the parameter with at most this rate of alarms where nothing changes."""
    low, high = rival.low, rival.high
    allowed = rate * sum(len(xs) - burn_in for xs in still)
    for _ in range(rival.steps):
        middle = (low * high) ** 0.5
        keeps = sum((alarms(rival.make(middle), xs) >= burn_in).sum() for xs in still) <= allowed
        low, high = (middle, high) if keeps else (low, middle)
    return low


def alarms(detector: Any, xs: FloatArray) -> Any:
    """The places of all alarms."""
    places = []
    for at, x in enumerate(xs.tolist()):
        detector.update(x)
        if detector.drift_detected:
            places.append(at)
    return np.array(places, np.intp)

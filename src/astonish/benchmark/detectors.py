"""Which detectors can be scored on anomaly benchmarks, by name?

A detector is a function of a series (`LabelledSeries`, whose windows it does not look at) that gives an anomaly score
for each row, from that row and the rows before it.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from astonish.benchmark.nab import LabelledSeries
from astonish.numbers import Numbers
from astonish.refusal import unknown

Detect = Callable[[LabelledSeries], Numbers]
_WINDOW, _STEP = 6400, 100  # rows of the Windowed Gaussian, and by how many it moves at a time
_DIGITS = 12  # of the published scores; many are so close to 1 that more digits would make other ties


def null(series: LabelledSeries) -> Numbers:
    """The same score everywhere, below every threshold: no detection at all."""
    return np.full(len(series.values), -np.inf)


def always(series: LabelledSeries) -> Numbers:
    """A detection at every row."""
    return np.ones(len(series.values))


def windowed_gaussian(series: LabelledSeries) -> Numbers:
    """The benchmark's own baseline: how far a value is from the mean of a window of past values, in its deviations.

    The window grows to its size with every value, and then moves on by many values at a time.
    """
    values, scores = series.values, np.zeros(len(series.values))
    low = high = 0
    mean, std = 0.0, 1.0
    for i, x in enumerate(values.tolist()):
        if high:
            scores[i] = 1 - 0.5 * math.erfc(abs(x - mean) / std / math.sqrt(2))
        moves = high - low == _WINDOW and i + 1 - high == _STEP
        if high - low < _WINDOW or moves:
            low, high = low + _STEP * moves, i + 1
            mean, std = values[low:high].mean(), values[low:high].std() or 1e-6
    return scores.round(_DIGITS)


OWN: dict[str, Detect] = {"null": null, "always": always, "windowed-gaussian": windowed_gaussian}


def find(name: str) -> Detect:
    """The detector of this name."""
    if name not in OWN:
        raise unknown("detector", name, OWN)
    return OWN[name]


def scores_of(name: str, corpus: Any) -> dict[str, Numbers]:
    """The anomaly scores of a detector for every series of a corpus."""
    detect = find(name)
    return {key: detect(series) for key, series in corpus.items()}

"""Which detectors can be scored on anomaly benchmarks, by name?

A detector is a function of a series (`NabSeries`) that gives an anomaly score for each row: from that row, the
rows before it and the rows that are not scored. It does not look at the labelled windows.
"""

import math
from bisect import bisect_left, insort
from collections.abc import Callable
from functools import partial
from inspect import signature
from typing import Any

import numpy as np

from astonish.changes.detector import signal_of
from astonish.changes.monitoring import alarm_level
from astonish.core.cooldown import spaced
from astonish.core.names import OutcomeKind
from astonish.core.numbers import BoolArray, FloatArray
from astonish.core.refusal import naming_extra, unknown
from astonish.learners import Monitor
from astonish.learners.base import Learner
from astonish.models.registry import LEARNERS, load_object
from astonish.online.series import run

from .nab import NabSeries

Detect = Callable[[NabSeries], FloatArray]
_DAY = 86_400.0  # seconds
_RATE, _REST = 0.005, 33  # of alarms, as `astonish.monitor` has them
_WINDOW, _STEP = 6400, 100  # rows of the Windowed Gaussian, and by how many it moves at a time
_DIGITS = 12  # of the published scores; many are so close to 1 that more digits would make other ties


def monitor(series: NabSeries) -> FloatArray:
    """`astonish.Monitor` with the time of day as its phase; at alarms, how far the tail probability is below the level.

    In powers of ten; elsewhere there is no detection at any threshold.
    """
    return at_alarms(daily_surprise(series))


def daily_surprise(series: NabSeries, **settings: Any) -> FloatArray:
    """The surprise of `astonish.Monitor`, with the time of day as its phase, at each row. settings: others of it."""
    seconds = (series.times - np.datetime64(0, "s")).astype(float)
    return run(Monitor(_DAY, harmonics=3, timed=1, **settings), (seconds, series.values)).surprise


def at_alarms(surprise: FloatArray, rate: float = _RATE, rest: int = _REST, falls: bool = True) -> FloatArray:
    """Scores from minus the logarithms of tail probabilities: at alarms, how far these are below the level."""
    alarms, level = monitor_alarms(surprise, rate, rest, falls)
    return np.where(alarms, (surprise + np.log(level)) / math.log(10), -np.inf)


def monitor_alarms(surprise: FloatArray, rate: float, rest: int, falls: bool = True) -> tuple[BoolArray, FloatArray]:
    """Which samples give an alarm, by the surprise of a `Monitor` at each (NaN: missing), and the level of each.

    falls: as that of `astonish.monitor` does; if not, the level is constant.
    """
    level = alarm_level(rate, np.cumsum(~np.isnan(surprise)) if falls else np.zeros(len(surprise)))
    return spaced((np.exp(-surprise) < level)[None], rest)[0], level


def null(series: NabSeries) -> FloatArray:
    """No detection at any threshold."""
    return np.full(len(series.values), -np.inf)


def always(series: NabSeries) -> FloatArray:
    """A detection at every row."""
    return np.ones(len(series.values))


def windowed_gaussian(series: NabSeries) -> FloatArray:
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


OWN: dict[str, Detect] = {"monitor": monitor, "windowed-gaussian": windowed_gaussian, "null": null, "always": always}


def find(name: str) -> Detect:
    """The detector of this name: one of `OWN`, a learner, `river:Class`, or `file.py:function` or `module:function`."""
    if name in OWN:
        return OWN[name]
    place, _, wanted = name.rpartition(":")
    if place == "river":
        return partial(_by_river, wanted)
    if not place:
        able = LEARNERS.names_for(OutcomeKind.CONTINUOUS)
        if name not in able:
            raise unknown("detector", name, [*OWN, *able, "river:Class", "file.py:function"])
        return partial(_by_learner, name)
    found = load_object(name)
    if isinstance(found, type) and Learner in found.__mro__:
        return partial(_by_learner, name)
    if not callable(found):
        raise ValueError(f"{name} is no detector; give a function of a series that returns a score for each row")
    return found


def scores_of(name: str, corpus: Any) -> dict[str, FloatArray]:
    """The anomaly scores of a detector for every series of a corpus."""
    detect = find(name)
    return {key: detect(series) for key, series in corpus.items()}


def _by_learner(name: str, series: NabSeries) -> FloatArray:
    """The change probability of a learner with its default parameters, or its surprise if it gives none.

    What is unusual of it is decided as `monitor` does: by its own past.
    """
    from astonish.models.parameters import Outcomes, assemble  # which needs pandas

    learner = assemble(name, Outcomes(OutcomeKind.CONTINUOUS, lambda *_: None)).learner
    history = run(learner, _standardised(series))
    return at_alarms(_among_past(getattr(history, signal_of(learner, None))))


def _standardised(series: NabSeries) -> FloatArray:
    """Values in units of the middle half of those that are not scored, from their median."""
    first = series.values[: max(series.probation, 1)]
    low, middle, high = np.nanpercentile(first, [25, 50, 75])
    return (series.values - middle) / ((high - low) / 1.349 or np.nanstd(first) or 1.0)


def _among_past(signal: FloatArray) -> FloatArray:
    """Minus the logarithm of the share of past numbers that are at least as large as each, that one counted."""
    past: list[float] = []
    shares = np.full(len(signal), np.nan)
    for at, number in enumerate(signal.tolist()):
        if not math.isnan(number):
            shares[at] = (len(past) - bisect_left(past, number) + 1) / (len(past) + 1)
            insort(past, number)
    return -np.log(shares)


def _by_river(name: str, series: NabSeries) -> FloatArray:
    """A detector of anomalies, or of drifts, of river, with its default settings.

    What is unusual of an anomaly score is decided as `monitor` does: by its own past. Drifts rest as its alarms do.
    """
    with naming_extra("detectors of river need"):
        from river import anomaly, drift, preprocessing
    values = series.values.tolist()
    classes = {word for word in (*anomaly.__all__, *drift.__all__) if word[0].isupper()}
    if name not in classes:
        raise unknown("detector", name, sorted(classes), of="river")
    if name in drift.__all__:
        detector = getattr(drift, name)()
        drifts = [(detector.update(x), detector.drift_detected)[1] for x in values]
        return monitor_alarms(np.where(drifts, np.inf, 0.0), _RATE, _REST)[0].astype(np.float64)
    kind = getattr(anomaly, name)
    chosen = kind(seed=1) if "seed" in signature(kind).parameters else kind()
    if len(signature(chosen.score_one).parameters) > 1:  # of a response, given features
        scores = [(chosen.score_one({}, x), chosen.learn_one({}, x))[0] for x in values]
        return at_alarms(_among_past(np.array(scores)))
    model: Any = preprocessing.MinMaxScaler() | chosen  # some of them take numbers from 0 to 1 alone
    rows = [{"value": x} for x in values]
    scores = [(model.score_one(row), model.learn_one(row))[0] for row in rows]
    return at_alarms(_among_past(np.array(scores)))

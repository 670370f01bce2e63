"""The Numenta Anomaly Benchmark (Lavin & Ahmad 2015): its series, and its rule for scoring detectors.

A detector gives each row of each series an anomaly score; a row is a detection where the score reaches a threshold, one
for the whole corpus. What counts is how many of the labelled windows have a detection, how early it is, and how many
detections there are outside of windows.
"""

import csv
import gzip
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from astonish.core.numbers import BoolArray, FloatArray

Times = NDArray[np.datetime64]
_PROBATION, _LONGEST_PROBATION = 0.15, 750  # share of a series, and rows, that are not scored
_FAR = 3.0  # lengths of the last window after which a detection costs as much as one without a window before it


class Profile(NamedTuple):
    """The weight of a detection at the first row of a window, of one outside of windows, and of a missed window."""

    hit: float
    false_alarm: float
    miss: float


PROFILES = {
    "standard": Profile(1.0, 0.11, 1.0),
    "reward_low_FP_rate": Profile(1.0, 0.22, 1.0),
    "reward_low_FN_rate": Profile(1.0, 0.11, 2.0),
}


class NabSeries(NamedTuple):
    """A series of the corpus. windows: the first and the last row of each labelled window, in order of time."""

    times: Times
    values: FloatArray
    windows: tuple[tuple[int, int], ...]

    @property
    def probation(self) -> int:
        """How many rows at the start are not scored."""
        return min(int(_PROBATION * len(self.values)), _LONGEST_PROBATION)


class Score(NamedTuple):
    """The score under a profile, and the threshold that gives it; infinite if no detection at all is best."""

    score: float
    threshold: float


def read_corpus(folder: Path) -> dict[str, NabSeries]:
    """All series of a folder with `series.csv.gz` (file, timestamp, value) and `windows.json`, by their names."""
    for name in ("series.csv.gz", "windows.json"):
        if not (folder / name).is_file():
            raise ValueError(f"{folder} has no {name}; give a folder with series.csv.gz and windows.json")
    with gzip.open(folder / "series.csv.gz", "rt", newline="", encoding="utf-8") as file:
        rows = csv.reader(file)
        if (header := next(rows, [])) != ["file", "timestamp", "value"]:
            raise ValueError(f"the columns of series.csv.gz are {header}; give file, timestamp, value")
        columns: dict[str, tuple[list[str], list[str]]] = {}
        for name, time, value in rows:
            times, values = columns.setdefault(name, ([], []))
            times.append(time)
            values.append(value or "nan")
    windows = json.loads((folder / "windows.json").read_text(encoding="utf-8"))
    if missing := sorted(set(windows) - set(columns)):
        raise ValueError(
            f"windows.json names {missing[0]!r}, which series.csv.gz does not have; give both of one corpus"
        )
    return {name: _labelled(name, *parts, windows.get(name, [])) for name, parts in columns.items()}


def _labelled(name: str, times: list[str], values: list[str], windows: list[list[str]]) -> NabSeries:
    at = np.array(times, "datetime64[s]")
    found = []
    for ends in windows:
        first, last = (np.datetime64(each[:19].replace(" ", "T"), "s") for each in ends)
        rows = np.flatnonzero((at >= first) & (at <= last))
        if not rows.size:
            raise ValueError(f"no row of {name} is from {first} to {last}, as a window of it is; give another window")
        found.append((int(rows[0]), int(rows[-1])))
    return NabSeries(at, np.array(values, float), tuple(sorted(found)))


def sigmoid(y: FloatArray) -> FloatArray:
    """From 1 far before the end of a window (y below 0) over 0 at its end to -1 far behind it."""
    return 2 / (1 + np.exp(5 * y)) - 1


def row_values(series: NabSeries) -> tuple[FloatArray, NDArray[np.int64]]:
    """What a detection at each row is worth, before the weights of a profile; and the row's window, -1 outside of all.

    Inside a window, the share of what its first row is worth; outside, at most 0 and at least -1.
    """
    worth, window = np.full(len(series.values), -1.0), np.full(len(series.values), -1)
    starts = [first for first, _ in series.windows] + [len(worth)]
    for k, (first, last) in enumerate(series.windows):
        length = last - first + 1
        inside, after = np.arange(first, last + 1), np.arange(last + 1, starts[k + 1])
        worth[inside] = sigmoid(-(last - inside + 1) / length) / sigmoid(np.array(-1.0))
        window[inside] = k
        behind = (after - last) / max(length - 1, 1)
        worth[after] = np.where(behind > _FAR, -1.0, sigmoid(np.minimum(behind, _FAR)))
    return worth, window


class _Sweep(NamedTuple):
    """What the detections are worth at each threshold from the highest down: hits, false alarms, windows missed."""

    thresholds: FloatArray
    hits: FloatArray
    false_alarms: FloatArray
    missed: FloatArray


def best_scores(corpus: Mapping[str, NabSeries], scores: Mapping[str, Any]) -> dict[str, Score]:
    """The score of a detector under each profile, at the threshold that is best there (the rule of the benchmark).

    scores: by series, a number for each row; higher is more anomalous, and NaN never a detection.
    """
    sweep, windows = _sweep(corpus, scores), sum(len(series.windows) for series in corpus.values())
    found = {}
    for name, profile in PROFILES.items():
        each = _scaled(sweep, profile, windows)
        best = int(np.argmax(each)) if each.size else 0
        none = not each.size or each[best] < 0  # no detection at all gives 0
        found[name] = Score(0.0, np.inf) if none else Score(float(each[best]), float(sweep.thresholds[best]))
    return found


def scores_at(corpus: Mapping[str, NabSeries], scores: Mapping[str, Any], threshold: float) -> dict[str, Score]:
    """The same at a given threshold: a detection is where the score is at least that."""
    alarms = {name: np.where(np.asarray(each) >= threshold, threshold, -np.inf) for name, each in scores.items()}
    sweep, windows = _sweep(corpus, alarms), sum(len(series.windows) for series in corpus.values())
    some = sweep.thresholds == threshold
    return {
        name: Score(float(_scaled(sweep, profile, windows)[some][0]) if some.any() else 0.0, threshold)
        for name, profile in PROFILES.items()
    }


def _sweep(corpus: Mapping[str, NabSeries], scores: Mapping[str, Any]) -> _Sweep:
    score, worth, window = _scored_rows(corpus, scores)
    order = np.argsort(-score, kind="stable")
    score, worth, window = score[order], worth[order], window[order]
    hits, found = np.zeros(len(score)), np.zeros(len(score))
    for rows in _rows_of_windows(window):
        best = np.maximum.accumulate(worth[rows])  # the earliest detection counts, which is the one worth most
        hits[rows] = np.diff(best, prepend=0.0)
        found[rows[0]] = 1.0
    false_alarms = np.cumsum(np.where(window < 0, worth, 0.0))
    last: BoolArray = np.append(score[1:] != score[:-1], True)[: len(score)]  # equal scores are detections together
    windows = sum(len(series.windows) for series in corpus.values())
    missed = windows - np.cumsum(found)
    return _Sweep(score[last], np.cumsum(hits)[last], false_alarms[last], missed[last])


def _scored_rows(corpus: Mapping[str, NabSeries], scores: Mapping[str, Any]) -> tuple[Any, Any, Any]:
    """Score, worth and window of all rows behind probations, those windows counted through the corpus."""
    parts: list[tuple[Any, Any, Any]] = []
    before = 0
    for name, series in corpus.items():
        score = np.asarray(scores[name], float)
        if score.shape != series.values.shape:
            raise ValueError(
                f"{name} has {len(series.values)} rows, but scores of shape {score.shape}; give one per row"
            )
        worth, window = row_values(series)
        keep = (np.arange(len(score)) >= series.probation) & (score > -np.inf)  # false for NaN
        parts.append((score[keep], worth[keep], np.where(window < 0, -1, window + before)[keep]))
        before += len(series.windows)
    score, worth, window = (np.concatenate(each) for each in zip(*parts, strict=True))
    return score, worth, window


def _rows_of_windows(window: NDArray[np.int64]) -> Sequence[NDArray[np.int64]]:
    """The places of each window's rows, in the order in which they stand."""
    rows = np.flatnonzero(window >= 0)
    rows = rows[np.argsort(window[rows], kind="stable")]
    return [] if not rows.size else np.split(rows, np.flatnonzero(np.diff(window[rows])) + 1)


def _scaled(sweep: _Sweep, profile: Profile, windows: int) -> FloatArray:
    """Scores from 0, for no detection at all, to 100, for the first row of every window and nothing else."""
    if not windows:
        raise ValueError("no series has a labelled window, so nothing can be found; give windows")
    raw = profile.hit * sweep.hits + profile.false_alarm * sweep.false_alarms - profile.miss * sweep.missed
    null, perfect = -profile.miss * windows, profile.hit * windows
    return 100 * (raw - null) / (perfect - null)

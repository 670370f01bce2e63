"""Changes that are found, compared with those that annotators saw, as the Turing Change Point Dataset does.

The measures are those of van den Burg & Williams (2020). A change is the index of the first sample after it. Sample 0
always counts as one in F1, so that nobody divides by zero.

`annotations.json` has, for each series by its name, the indices of changes that each annotator saw:
{"nile": {"6": [28], "7": []}}. `nile.json`, in the folder or below it, has the numbers, null where one is missing:
{"name": "nile", "n_obs": 100, "n_dim": 1, "series": [{"label": "V1", "raw": [1120, 1160, null]}]}.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from astonish.beliefs import NormalGamma
from astonish.changes import Detector, change_points, run_lengths
from astonish.core.numbers import FloatArray
from astonish.learners import MessagePassing

from .report import laid_out

MARGIN = 5
HAZARD, RATE, WITHIN, HYPOTHESES = 0.01, 0.001, 20, 500
Annotations = Mapping[str, Sequence[int]]


class AnnotatedSeries(NamedTuple):
    """Numbers, NaN where one is missing, and for each annotator where the series changed."""

    name: str
    values: FloatArray
    annotations: dict[str, list[int]]


class Folder(NamedTuple):
    """The series that can be used, and for each other one, by its name, why not."""

    series: list[AnnotatedSeries]
    left_out: dict[str, str]


def read_folder(folder: Path) -> Folder:
    """All annotated series of a folder; a file that is there and is not in this form is refused."""
    every = _annotations(_loaded(folder / "annotations.json", "give the folder that has it"))
    files = {path.stem: path for path in sorted(folder.rglob("*.json")) if path.name != "annotations.json"}
    series, left_out = [], {}
    for name, annotations in sorted(every.items()):
        if name not in files:
            left_out[name] = "it has annotations but no file"
            continue
        columns = _columns(files[name])
        if len(columns) > 1:
            left_out[name] = f"its samples have {len(columns)} numbers each, and one is needed"
            continue
        series.append(AnnotatedSeries(name, columns[0], _within(name, annotations, len(columns[0]))))
    if not series:
        raise ValueError(
            f"{folder} has no series of single numbers with annotations; give NAME.json for annotated NAMEs"
        )
    return Folder(series, left_out)


def _loaded(path: Path, advice: str) -> Any:
    if not path.is_file():
        raise ValueError(f"{path} is not there; {advice}")
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError) as problem:
        raise ValueError(f"{path} is no JSON ({problem}); give one in UTF-8") from None


def _annotations(found: Any) -> dict[str, dict[str, list[int]]]:
    """The annotations, checked: a dictionary of dictionaries of lists of indices."""
    form = 'give {"series": {"annotator": [indices]}}'
    if not isinstance(found, dict) or not found:
        raise ValueError(f"annotations.json is {str(found)[:60]!r}; {form}")
    for name, each in found.items():
        if not isinstance(each, dict) or not each:
            raise ValueError(f"the annotations of {name!r} are {str(each)[:60]!r}; {form}")
        for who, places in each.items():
            if not isinstance(places, list) or not all(type(place) is int for place in places):
                raise ValueError(f"annotator {who!r} of {name!r} gave {str(places)[:60]!r}; {form}")
    return found


def _within(name: str, annotations: dict[str, list[int]], count: int) -> dict[str, list[int]]:
    for who, places in annotations.items():
        beyond = [place for place in places if not 0 <= place < count]
        if beyond:
            wrong = f"annotator {who!r} saw a change at {beyond[0]} in {name!r}, which has {count} samples"
            raise ValueError(f"{wrong}; give indices from 0 to {count - 1}")
    return annotations


def _columns(path: Path) -> list[FloatArray]:
    """The numbers of each dimension."""
    form = 'give {"series": [{"raw": [numbers]}]}'
    found = _loaded(path, form)
    parts = found.get("series") if isinstance(found, dict) else None
    if not isinstance(parts, list) or not parts:
        raise ValueError(f"{path} has no list of series; {form}")
    columns = []
    for part in parts:
        raw = part.get("raw") if isinstance(part, dict) else None
        if not isinstance(raw, list) or not raw or not all(_is_number(x) for x in raw):
            raise ValueError(f"a series of {path} has no list of numbers called raw; {form}, null where one is missing")
        columns.append(np.array([np.nan if x is None else x for x in raw], float))
    if len({len(column) for column in columns}) > 1:
        raise ValueError(f"the series of {path} have {[len(each) for each in columns]} samples; give one length")
    return columns


def _is_number(x: Any) -> bool:
    return x is None or (isinstance(x, int | float) and not isinstance(x, bool))


def matched(true: Iterable[int], found: Iterable[int], margin: int = MARGIN) -> int:
    """How many true changes have a found one within the margin, each of which serves for one only, the nearest first.

    >>> matched([10, 13], [12]), matched([10, 13], [12, 20]), matched([10, 30], [12, 26])
    (1, 1, 2)
    """
    left, count = set(found), 0
    for place in sorted(true):
        near = [(abs(place - each), each) for each in left if abs(place - each) <= margin]
        if near:
            left.remove(min(near)[1])
            count += 1
    return count


def f1(annotations: Annotations, found: Iterable[int], margin: int = MARGIN) -> float:
    """Precision over the changes that any annotator saw, recall as the mean over annotators; their harmonic mean.

    >>> f1({"a": [50], "b": [80]}, [52, 80])
    1.0
    """
    predicted = {0, *found}
    by_annotator = [{0, *places} for places in annotations.values()]
    precision = matched(set().union(*by_annotator), predicted, margin) / len(predicted)
    recalls = [matched(places, predicted, margin) / len(places) for places in by_annotator]
    recall = sum(recalls) / len(recalls)
    return 2 * precision * recall / (precision + recall)


def segments(places: Iterable[int], count: int) -> list[tuple[int, int]]:
    """From where to where (excluded) nothing changes, in a series of so many samples.

    >>> segments([3, 5], 8)
    [(0, 3), (3, 5), (5, 8)]
    """
    starts = sorted({0, *places})
    return list(zip(starts, [*starts[1:], count], strict=True))


def covering(annotations: Annotations, found: Iterable[int], count: int) -> float:
    """How well segments cover an annotator's: the best overlap of each, weighted by length; mean over annotators.

    >>> covering({"a": [4]}, [], 8)
    0.5
    """
    predicted = segments(found, count)
    each = []
    for places in annotations.values():
        own = segments(places, count)
        each.append(
            sum((end - start) * max(_overlap((start, end), other) for other in predicted) for start, end in own)
        )
    return sum(each) / len(each) / count


def _overlap(one: tuple[int, int], other: tuple[int, int]) -> float:
    """Samples that are in both, by those that are in one of them."""
    both = max(min(one[1], other[1]) - max(one[0], other[0]), 0)
    return both / (one[1] - one[0] + other[1] - other[0] - both)


def learner(hypotheses: int = HYPOTHESES) -> MessagePassing:
    """For series with mean 0 and standard deviation 1, whose level and noise jump every 100 samples."""
    return MessagePassing(NormalGamma(), HAZARD, NormalGamma().prior(weight=0.1, shape=1.0), hypotheses)


def nothing(_: FloatArray) -> list[int]:
    """No change at all."""
    return []


def offline(xs: FloatArray) -> list[int]:
    """The most probable history, given the whole series."""
    return change_points(learner(), xs).tolist()


def online(detector: Detector, xs: FloatArray) -> list[int]:
    """For each alarm, when the last change most probably was, given the samples up to the alarm."""
    alarms = np.flatnonzero(detector.alarms(xs))
    if not len(alarms):
        return []
    lengths = run_lengths(detector.learner, xs, WITHIN)[alarms]
    observed = np.flatnonzero(~np.isnan(xs))
    seen = np.searchsorted(observed, alarms)  # run lengths count samples that are not missing
    return sorted({int(observed[at - back]) for at, back in zip(seen, lengths.argmax(axis=1), strict=True)})


def changepoints_table(folder: Path, progress: Callable[[float], None], say: Callable[[str], None]) -> str:
    """Covering and F1 of every series, and their means."""
    read = read_folder(folder)
    for name, why in read.left_out.items():
        say(f"{name} is left out: {why}")
    detector = Detector.simulated(learner(50), RATE, within=WITHIN, burn_in=WITHIN)
    methods = {"no change": nothing, "change_points": offline, "online": lambda xs: online(detector, xs)}
    header = ["series", "samples", *(f"{name}, {what}" for what in ("covering", "F1") for name in methods)]
    scores = []
    for k, each in enumerate(read.series):
        found = [find(standardised(each.values)) for find in methods.values()]
        covers = [covering(each.annotations, places, len(each.values)) for places in found]
        scores.append([*covers, *(f1(each.annotations, places) for places in found)])
        progress((k + 1) / len(read.series))
    names = [[each.name, str(len(each.values))] for each in read.series]
    rows = [[*name, *(f"{score:.3f}" for score in row)] for name, row in zip(names, scores, strict=True)]
    return laid_out(header, [*rows, ["mean", "", *(f"{score:.3f}" for score in np.mean(scores, axis=0))]])


def standardised(values: FloatArray) -> FloatArray:
    """With mean 0 and standard deviation 1 over the whole series, as that benchmark gives it to all methods."""
    std = float(np.nanstd(values))
    return (values - np.nanmean(values)) / (std if std > 0 else 1.0)

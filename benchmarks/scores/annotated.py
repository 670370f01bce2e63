"""Folders of annotated series, in the JSON form of the Turing Change Point Dataset (van den Burg & Williams 2020).

`annotations.json` has, for each series by its name, the indices of changes that each annotator saw:
{"nile": {"6": [28], "7": []}}. `nile.json`, in the folder or below it, has the numbers, null where one is missing:
{"name": "nile", "n_obs": 100, "n_dim": 1, "series": [{"label": "V1", "raw": [1120, 1160, null]}]}.
"""

import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from astonish.core.numbers import FloatArray


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

"""What do the cells of a column mean: a number, a name, a label, a flag, or something that does not belong there?"""

import math
import re
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from astonish.domain import Mask

_NUMBER = re.compile(r"-?(0|[1-9][0-9]{0,14})(\.[0-9]+)?")
_NO = ("", "0", "0.0", "false", "no")


class Cells(NamedTuple):
    """What was read, and by position what is wrong with cells that could not be.

    values: numbers, NaN where a cell is missing or wrong; or objects, None there.
    """

    values: Any
    problems: dict[int, str]


def is_text(column: "pd.Series[Any]") -> bool:
    """Whether most of what is there is not a number."""
    values, problems = numbers(column)
    return len(problems) > 0 and sum("not a number" in p for p in problems.values()) > np.isfinite(values).sum()


def numbers(column: "pd.Series[Any]") -> Cells:
    """Finite numbers."""
    cells = column if column.dtype.kind not in "cmM" else column.astype(str)
    values = pd.to_numeric(cells, errors="coerce").to_numpy(np.float64, na_value=math.nan)
    problems = {}
    for at in np.flatnonzero(~np.isfinite(values) & present(column)):
        odd = column.iloc[at]
        written = repr(odd) if isinstance(odd, str) else str(odd)
        problems[int(at)] = f"{column.name} = {written} is {'infinite' if np.isinf(values[at]) else 'not a number'}"
    return Cells(np.where(np.isfinite(values), values, math.nan), problems)


def names(column: "pd.Series[Any]") -> Cells:
    """What things are called, as text: the number 1.0 is called 1, the text 01 is called 01."""
    return _objects(column, lambda value: value.strip() if isinstance(value, str) else str(label(value)))


def labels(column: "pd.Series[Any]") -> Cells:
    """What outcomes are called: whole numbers, other numbers, or text."""
    return _objects(column, label)


def flags(column: "pd.Series[Any]") -> Mask:
    """Where a cell says yes: neither empty, nor 0, nor False."""
    return np.array([str(value).strip().lower() not in _NO for value in column], bool) & present(column)


def present(column: "pd.Series[Any]") -> Mask:
    """Where a cell is not empty."""
    there = column.notna().to_numpy(bool)
    if pd.api.types.is_numeric_dtype(column):
        return there
    return there & (column.astype(str).str.strip() != "").to_numpy(bool)


def label(value: Any) -> Any:
    """A label as plain Python has it: a number, even beside text (if whole an integer, even beside gaps), or text."""
    if isinstance(value, str):
        text = value.strip()
        return label(float(text)) if _NUMBER.fullmatch(text) else text
    if isinstance(value, bool | np.bool_):
        return int(value)
    if isinstance(value, int | float | np.integer | np.floating):
        return int(value) if math.isfinite(value) and value == int(value) else float(value)
    return str(value)


def in_order(found: set[Any]) -> tuple[Any, ...]:
    """Labels in the order in which people count: numbers before text."""
    return tuple(sorted(found, key=lambda value: (isinstance(value, str), value)))


def few(labels: Iterable[Any]) -> str:
    """Labels in a sentence, not more than ten."""
    words = [repr(label) for label in labels]
    return ", ".join(words[:10]) + (f", ... ({len(words)} in all)" if len(words) > 10 else "")


def missing(cells: Cells, name: str) -> dict[int, str]:
    """What to say of the empty cells of a column that needs all of its cells."""
    return {int(at): f"{name} is empty" for at in np.flatnonzero(pd.isna(cells.values)) if at not in cells.problems}


def _objects(column: "pd.Series[Any]", read: Callable[[Any], Any]) -> Cells:
    values, problems = np.full(len(column), None, object), {}
    written = column.tolist()
    for at in np.flatnonzero(present(column)):
        value = written[at]
        if isinstance(value, float) and math.isinf(value):
            problems[int(at)] = f"{column.name} = {value} is infinite"
        else:
            values[at] = read(value)
    return Cells(values, problems)

"""What do the cells of a column mean: a number, a name, a label, a flag, or something that does not belong there?

Each different cell is looked at once, however often it occurs.
"""

import math
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from astonish.core.numbers import BoolArray, FloatArray

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
    values = _coerced(column)
    return int((np.isnan(values) & present(column)).sum()) > int(np.isfinite(values).sum())


def numbers(column: "pd.Series[Any]") -> Cells:
    """Finite numbers."""
    values = _coerced(column)
    finite = np.isfinite(values)
    problems = {}
    for at in np.flatnonzero(~finite & present(column)) if not finite.all() else ():
        odd = column.iloc[at]
        written = repr(odd) if isinstance(odd, str) else str(odd)
        problems[int(at)] = f"{column.name} = {written} is {'infinite' if np.isinf(values[at]) else 'not a number'}"
    return Cells(np.where(finite, values, math.nan), problems)


def seen(column: "pd.Series[Any]") -> FloatArray:
    """The different finite numbers of a column, in order."""
    values = _coerced(column)
    return np.unique(values[np.isfinite(values)])


def names(column: "pd.Series[Any]") -> Cells:
    """What things are called, as text: the number 1.0 is called 1, the text 01 is called 01."""
    return _objects(column, lambda value: value.strip() if isinstance(value, str) else str(label(value)))


def labels(column: "pd.Series[Any]") -> Cells:
    """What outcomes are called: whole numbers, other numbers, or text."""
    return _objects(column, label)


def found(column: "pd.Series[Any]") -> set[Any]:
    """All labels of a column."""
    return {label for label in pd.unique(labels(column).values) if label is not None}


def flags(column: "pd.Series[Any]") -> BoolArray:
    """Where a cell says yes: neither empty, nor 0, nor False."""
    codes, different = _factorized(column)
    yes = [str(value).strip().lower() not in _NO for value in different]
    return np.array([*yes, False], bool)[codes]


def present(column: "pd.Series[Any]") -> BoolArray:
    """Where a cell is not empty."""
    there = column.notna().to_numpy(bool)
    if pd.api.types.is_numeric_dtype(column):
        return there
    codes, different = _factorized(column)
    return there & np.array([*(str(value).strip() != "" for value in different), False], bool)[codes]


def without(column: "pd.Series[Any]", empty: Sequence[Any]) -> "pd.Series[Any]":
    """The column without the cells that mean that something is missing."""
    if not empty:
        return column
    codes, different = _factorized(column)
    meant = [label(value) for value in empty]
    gone = np.array([*(label(value) in meant for value in different), False], bool)[codes]
    return column.mask(pd.Series(gone, column.index)) if gone.any() else column


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


def folded(label: Any) -> Any:
    """A label without capital letters."""
    return label.casefold() if isinstance(label, str) else label


def in_order(found: Iterable[Any]) -> tuple[Any, ...]:
    """Labels in the order in which people count: numbers before text."""
    return tuple(sorted(found, key=lambda value: (isinstance(value, str), value)))


def few(labels: Iterable[Any]) -> str:
    """Labels in a sentence, not more than ten."""
    words = [repr(label) for label in labels]
    return ", ".join(words[:10]) + (f", ... ({len(words)} in all)" if len(words) > 10 else "")


def missing(cells: Cells, name: str) -> dict[int, str]:
    """What to say of the empty cells of a column that needs all of its cells."""
    return {int(at): f"{name} is empty" for at in np.flatnonzero(pd.isna(cells.values)) if at not in cells.problems}


def _coerced(column: "pd.Series[Any]") -> FloatArray:
    """FloatArray, infinite ones among them; NaN for anything else."""
    cells = column if column.dtype.kind not in "cmM" else column.astype(str)
    return pd.to_numeric(cells, errors="coerce").to_numpy(np.float64, na_value=math.nan)


def _factorized(column: "pd.Series[Any]") -> tuple[Any, list[Any]]:
    """For each cell the position of its value among the different ones, -1 where it is empty; and these values."""
    try:
        codes, different = pd.factorize(column)
    except TypeError:  # lists and the like
        codes, different = pd.factorize(column.map(str, na_action="ignore"))
    return codes, list(different)


def _objects(column: "pd.Series[Any]", read: Callable[[Any], Any]) -> Cells:
    codes, different = _factorized(column)
    values = np.full(len(different) + 1, None, object)
    infinite = []
    for at, value in enumerate(different):
        if isinstance(value, float) and math.isinf(value):
            infinite.append(at)
        elif not isinstance(value, str) or value.strip():
            values[at] = read(value)
    odd = np.flatnonzero(np.isin(codes, infinite)) if infinite else ()
    return Cells(values[codes], {int(at): f"{column.name} = {different[codes[at]]} is infinite" for at in odd})

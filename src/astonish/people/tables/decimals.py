"""Decimal commas, decimal points, and marks between thousands: `3,14`, `1.234,5`, `1,234.5`.

The rule:

1. Blanks of any kind around a number do not count.
2. A cell is tried with either decimal mark. Thousands may be separated by the other mark, a blank or an apostrophe, but
   a number that begins with 0 has none: `0.418` has a decimal point. What fits one mark only is evidence for it:
   `0,5`, `3,` and `1.234.567` are for commas, `0.5` and `1,234.5` for points.
3. All cells of a column must agree. A column without evidence follows the other columns: `1,234` is 1.234 if they have
   only decimal commas.
4. Plain points, `1.234`, are decimal points unless a cell somewhere can only have a decimal comma.
5. `1,234` and `1.234` are thousands only where that is shown, and by more than one cell.

Everything else is a question: the reader never guesses.
"""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import islice
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from astonish.core.numbers import FloatArray

DECIMALS = (",", ".")
_OTHER = {",": ".", ".": ","}
_BLANKS = "".join(chr(code) for code in range(0x3001) if chr(code).isspace()) + "\u200b\u2060\ufeff"
_THIN = " \u00a0\u2007\u2009\u202f'\u2019"  # blanks and apostrophes between thousands, whatever the decimal mark
_NUMBER = {  # by the decimal mark
    mark: re.compile(
        rf"[+-]?(?=[.,]?\d)(\d*|[1-9]\d{{0,2}}([{other}{_THIN}])\d{{3}}(\2\d{{3}})*)([{mark}]\d*)?(e[+-]?\d+)?", re.I
    )
    for mark, other in _OTHER.items()
}
_MARKED = re.compile(rf"[,{_THIN}]|[.].*[.]")
_MOST = 1000  # cells that decide whether a column holds numbers
_ROUND = 1e-6  # of thousandths
_COMMA, _POINT = "decimal=',' (--decimal ,)", "decimal='.' (--decimal .)"


class _Notation(NamedTuple):
    """How the numbers of a column are written.

    only: by decimal mark, the cells that can have no other. either: by the mark that they hold, the cells in which it
    may be a decimal mark or stand between thousands. thousands: by mark, how many cells show that it stands there.
    short: whole numbers of three digits, as they stand beside numbers with marks between thousands. marked: whether a
    cell is more than a plain number.
    """

    only: dict[str, list[str]]
    either: dict[str, list[str]]
    thousands: dict[str, int]
    short: list[str]
    marked: bool


def with_plain_numbers(
    frame: pd.DataFrame,
    needed: Collection[str],
    decimal: str | None,
    written: Callable[[Sequence[str]], pd.DataFrame] | None = None,
) -> tuple[pd.DataFrame, list[str]]:
    """Rewrite all numbers of a table with decimal points and nothing between thousands, and say what was noticed.

    Args:
        frame: The table.
        needed: Columns that have a meaning; nothing is asked about others.
        decimal: The decimal mark, if it is known.
        written: Returns columns as they are written, where pandas may have read them as numbers already.

    """
    if decimal not in (None, *DECIMALS):
        raise ValueError(f"decimal = {decimal!r} is not allowed; give ',' or '.'")
    floats = [name for name in frame.columns if pd.api.types.is_float_dtype(frame[name])] if written else []
    if decimal == "," and written is not None and (again := [name for name in floats if name in needed]):
        frame = _replaced(frame, dict(written(again)))
    texts: dict[Any, _Notation | None] = {name: _notation(frame[name]) for name in frame if _is_text(frame[name])}
    notations = {name: notation for name, notation in texts.items() if notation is not None}
    marks = {}
    if decimal is not None:
        for name, own in notations.items():
            if decimal == "." or own.only[","] or not own.only["."]:  # other programs may have written plain points
                marks[name] = decimal
    else:
        marked = any(notation.marked for notation in notations.values())
        asked = [name for name in floats if marked or (name in needed and _may_be_thousands(frame[name].to_numpy()))]
        if written is not None and asked:
            read = {name: _notation(column) for name, column in written(asked).items()}
            notations |= {name: notation for name, notation in read.items() if notation is not None}
        for name in notations:
            mark, question = _mark(name, notations)
            if question and name in needed:
                raise ValueError(question)
            if not question and name in texts:
                marks[name] = mark
    return _converted(frame, {name: mark for name, mark in marks.items() if name in needed or notations[name].marked})


def _notation(column: "pd.Series[Any]") -> _Notation | None:
    """How the numbers of a column are written; None if most of its cells are no numbers."""
    there = column.dropna()
    sample = list(islice((cell for cell in there if not isinstance(cell, str) or cell.strip(_BLANKS)), _MOST))
    numbers = [_fits(_tidy(cell)) if isinstance(cell, str) else isinstance(cell, Real) for cell in sample]
    if 2 * sum(map(bool, numbers)) <= len(sample):
        return None
    notation = _Notation({",": [], ".": []}, {",": [], ".": []}, {",": 0, ".": 0}, [], False)
    marked = False
    for cell in dict.fromkeys(_tidy(cell) for cell in dict.fromkeys(filter(_is_string, there))):
        fits = _fits(cell)
        marked |= bool(fits) and _MARKED.search(cell) is not None
        if len(fits) == 1:
            notation.only[fits[0]].append(cell)
            notation.thousands[_OTHER[fits[0]]] += re.search(rf"\d[{_OTHER[fits[0]]}]\d{{3}}", cell) is not None
        elif fits and ("," in cell or "." in cell):
            notation.either["," if "," in cell else "."].append(cell)
        elif re.fullmatch(r"[+-]?[1-9]\d\d", cell):
            notation.short.append(cell)
    return notation._replace(marked=marked)


def _mark(name: str, notations: Mapping[str, _Notation]) -> tuple[str, str]:
    """The decimal mark of a column, and the question to ask where it is not certain."""
    own = notations[name]
    commas, points = own.only[","], own.only["."]
    if commas and points:
        both = f"{name} = {commas[0]!r} fits decimal commas only, but {points[0]!r} fits decimal points only"
        return "", f"{both}: which are right? Give {_COMMA} or {_POINT}, or correct the others"
    if own.either[","] and not commas:
        everywhere = {mark: [cell for part in notations.values() for cell in part.only[mark]] for mark in DECIMALS}
        if everywhere[","] and not everywhere["."]:
            mark = ","
        elif not everywhere[","] and _are_thousands(",", own, notations):
            mark = "."
        else:
            cell = own.either[","][0]
            ask = f"is {name} = {cell!r} the number {cell.replace(',', '.')}, or {cell.replace(',', '')}?"
            return "", f"{ask} Give {_COMMA} for the first, {_POINT} for the second"
    else:
        mark = "," if commas else "."
    if own.either["."] and not points:
        cell = own.either["."][0]
        ask, comma = f"is {name} = {cell!r} the number {cell.replace('.', '')}", f"Then give {_COMMA}"
        if mark == "," and not _are_thousands(".", own, notations):
            return "", f"{ask}, since {(commas or own.either[','])[0]!r} is there, too? {comma}; else {_POINT}"
        if mark == "." and any(part.only[","] and not part.only["."] for part in notations.values()):
            return "", f"other columns have decimal commas: {ask}? {comma}; else write it with a comma, too"
        if mark == "." and own.short and not own.either[","]:
            return "", f"{ask}, since {own.short[0]!r} is there, too? {comma}; else {_POINT}"
    return mark, ""


def _are_thousands(mark: str, own: _Notation, notations: Mapping[str, _Notation]) -> bool:
    """Whether two cells or more show that a mark stands between thousands, of which one can have no other meaning."""
    certain = sum(part.thousands[mark] for part in notations.values())
    return certain > 0 and certain + len(own.short) > 1


def _may_be_thousands(values: FloatArray) -> bool:
    """Whether whole numbers from 100 on stand beside others from 1 to 1000 with up to three decimals."""
    sizes = np.abs(values[np.isfinite(values)])
    whole = sizes == np.floor(sizes)
    broken = 1000 * sizes[~whole]
    return len(broken) > 0 and bool(
        (np.abs(broken - np.round(broken)) < _ROUND).all()
        and broken.min() >= 1e3
        and broken.max() < 1e6
        and (sizes[whole] >= 100).any()
    )


def _converted(frame: pd.DataFrame, marks: dict[str, str]) -> tuple[pd.DataFrame, list[str]]:
    new, commas, thousands = {}, [], []
    for name, mark in marks.items():
        column, other = frame[name], _OTHER[mark]
        plain = {cell: _plain(mark, cell) for cell in dict.fromkeys(filter(_is_string, column))}
        if all(cell == text for cell, text in plain.items()):
            continue
        cells = [cell for cell in map(_tidy, plain) if mark in _fits(cell)]
        if mark == "," and any("," in cell for cell in cells):
            commas.append(str(name))
        if any(re.search(rf"\d[{other}{_THIN}]\d{{3}}", cell) for cell in cells):
            thousands.append(str(name))
        rewritten = column.map(lambda cell, plain=plain: plain[cell] if isinstance(cell, str) else cell)
        numbers = pd.to_numeric(rewritten, errors="coerce")
        new[name] = numbers if (numbers.isna() == column.isna()).all() else rewritten
    said = [f"decimal commas in {', '.join(commas)}"] if commas else []
    said += [f"marks between thousands in {', '.join(thousands)}"] if thousands else []
    return _replaced(frame, new), said


def _replaced(frame: pd.DataFrame, columns: Mapping[Any, "pd.Series[Any]"]) -> pd.DataFrame:
    """The table with other columns in place of those of the same names, which need not be text."""
    again = frame.copy(deep=False)
    for name, column in columns.items():
        again[name] = column
    return again


def _tidy(cell: str) -> str:
    """A cell without blanks around it, and with a plain hyphen for a minus sign."""
    cell = cell.strip(_BLANKS)
    return re.sub(r"^\u2212\s*(?=[\d.,])", "-", cell) if cell.startswith("\u2212") else cell


def _fits(cell: str) -> list[str]:
    """The decimal marks with which a cell is a number. Nobody separates thousands by points and adds an exponent."""
    fits = [mark for mark in DECIMALS if _NUMBER[mark].fullmatch(cell)]
    return ["."] if len(fits) > 1 and "." in cell and "e" in cell.lower() else fits


def _plain(mark: str, cell: str) -> str:
    tidy = _tidy(cell)
    return re.sub(f"[{_OTHER[mark]}{_THIN}]", "", tidy).replace(mark, ".") if mark in _fits(tidy) else cell


def _is_string(cell: Any) -> bool:
    return isinstance(cell, str)


def _is_text(column: "pd.Series[Any]") -> bool:
    return bool(pd.api.types.is_string_dtype(column) or pd.api.types.is_object_dtype(column))

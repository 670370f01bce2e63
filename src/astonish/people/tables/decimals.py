"""Which numbers are written with decimal commas, or with marks between thousands? `3,14`, `1.234,5`, `1,234.5`.

What can only mean one thing is read so, and said. What can mean two, such as `1,234` alone, is asked about.
"""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from astonish.core.domain import FloatArray

DECIMALS = (",", ".")
_EITHER = "either"
_THIN = " \u00a0\u202f'\u2019"  # blanks and apostrophes, which may stand between thousands, whatever the decimal mark
_SIGN, _POWER = r"\s*[+-]?", r"([eE][+-]?\d+)?\s*"
_NUMBER = {  # by the decimal mark
    mark: re.compile(rf"{_SIGN}(\d+|\d{{1,3}}([{other}{_THIN}]\d{{3}})+)?([{mark}]\d*)?{_POWER}")
    for mark, other in ((",", "."), (".", ","))
}
_TWO_MEANINGS = re.compile(rf"{_SIGN}[1-9]\d{{0,2}},\d{{3}}{_POWER}")
_GROUPED = re.compile(rf"{_SIGN}[1-9]\d{{0,2}}(\.\d{{3}})+\s*")
_MINUS = r"\s*\u2212\s*[\d.,]"  # as typesetters write it
_ROUND = 1e-6  # of thousandths
_MOST = 1000  # cells that are looked at
_COMMA, _POINT = "decimal=',' (--decimal ,)", "decimal='.' (--decimal .)"


def with_plain_numbers(
    frame: pd.DataFrame,
    needed: Collection[str],
    decimal: str | None,
    written: Callable[[Sequence[str]], pd.DataFrame] | None = None,
) -> tuple[pd.DataFrame, list[str]]:
    """A table in which all numbers have decimal points and nothing between thousands, and what was noticed.

    needed: columns that have a meaning; about others nothing is asked. decimal: the mark, if it is known. written:
    columns as they are written, where pandas may have taken them for numbers already.
    """
    if decimal not in (None, *DECIMALS):
        raise ValueError(f"decimal = {decimal!r} is not allowed; give ',' or '.'")
    frame = _replaced(frame, {name: _with_hyphens(frame[name]) for name in needed if _is_text(frame[name])})
    read = [name for name in needed if name in frame and pd.api.types.is_float_dtype(frame[name])]
    if decimal == "," and written is not None and read:
        frame, read = _replaced(frame, dict(written(read))), []
    texts = [name for name in frame.columns if _is_text(frame[name])]
    styles = {name: _style(frame[name], decimal) for name in texts}
    known = {style for style in styles.values() if style in DECIMALS}
    for name in [name for name in needed if styles.get(name) == _EITHER]:
        if len(known) != 1:
            raise ValueError(_question(frame[name]))
        (styles[name],) = known
    if known == {","} and written is not None and read:
        _check_grouped(written(read))
    elif decimal is None and written is not None:
        _check_ungrouped(written([name for name in read if _may_be_thousands(frame[name].to_numpy())]))
    return _converted(frame, {name: style for name, style in styles.items() if style in DECIMALS})


def _style(column: "pd.Series[Any]", decimal: str | None) -> str | None:
    """The decimal mark of a column, if most of it is numbers; "either" if it may be both; None for other text."""
    cells = column.dropna().astype(str)
    sample = cells[cells.str.strip() != ""].iloc[:_MOST]
    fits = {mark: sum(map(partial(_is_number, mark), sample)) for mark in DECIMALS}
    if decimal is not None:
        return decimal if 2 * fits[decimal] > len(sample) else None
    marked = cells[cells.str.contains(f"[,{_THIN}]|[.].*[.]", regex=True)].iloc[:_MOST]
    if not len(marked) or 2 * max(fits.values()) <= len(sample):
        return None
    clear = [cell for cell in marked if not _TWO_MEANINGS.fullmatch(cell)]
    by = {mark: sum(_is_number(mark, cell) for cell in clear) for mark in DECIMALS}
    if not any(by.values()):
        return _EITHER if len(clear) < len(marked) else None
    return max(DECIMALS, key=lambda mark: (by[mark], fits[mark]))


def _is_number(mark: str, cell: str) -> bool:
    return _NUMBER[mark].fullmatch(cell) is not None and any(letter.isdigit() for letter in cell)


def _question(column: "pd.Series[Any]") -> str:
    cell = next(cell for cell in column.dropna().astype(str) if _TWO_MEANINGS.fullmatch(cell)).strip()
    ask = f"is {column.name} = {cell!r} the number {cell.replace(',', '.')}, or {cell.replace(',', '')}?"
    return f"{ask} Give {_COMMA} for the first, {_POINT} for the second"


def _check_grouped(written: pd.DataFrame) -> None:
    """Ask if numbers such as 1.234 stand beside others with decimal commas."""
    for name, column in written.items():
        pointed = [cell for cell in column.dropna() if "." in cell][:_MOST]
        if pointed and all(map(_GROUPED.fullmatch, pointed)):
            plain = pointed[0].replace(".", "")
            ask = f"other columns have decimal commas: is {name} = {pointed[0]!r} the number {plain}?"
            raise ValueError(f"{ask} Then give {_COMMA}; else write it with a comma, too")


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


def _check_ungrouped(written: pd.DataFrame) -> None:
    """Ask if numbers such as 1.234 stand beside others such as 987."""
    for name, column in written.items():
        found = column.dropna().str.strip()
        pointed = found[found.str.contains(".", regex=False)]
        short = found[found.str.fullmatch(r"[+-]?\d{3}")]
        if len(pointed) and len(short) and pointed.str.fullmatch(_GROUPED).all():
            first = pointed.iloc[0]
            ask = f"is {name} = {first!r} the number {first.replace('.', '')}, since {short.iloc[0]!r} is there, too?"
            raise ValueError(f"{ask} Then give {_COMMA}; else {_POINT}")


def _converted(frame: pd.DataFrame, styles: dict[str, str]) -> tuple[pd.DataFrame, list[str]]:
    new, commas, thousands = {}, [], []
    for name, mark in styles.items():
        column, other = frame[name], "." if mark == "," else ","
        plain = column.map(partial(_plain, mark, other), na_action="ignore")
        cells = column.dropna().astype(str)
        if mark == "," and cells.str.contains(",", regex=False).any():
            commas.append(str(name))
        if cells.str.contains(rf"\d[{other}{_THIN}]\d{{3}}", regex=True).any():
            thousands.append(str(name))
        numbers = pd.to_numeric(plain, errors="coerce")
        new[name] = numbers if (numbers.isna() == column.isna()).all() else plain
    said = [f"decimal commas in {', '.join(commas)}"] if commas else []
    said += [f"marks between thousands in {', '.join(thousands)}"] if thousands else []
    return _replaced(frame, new), said


def _replaced(frame: pd.DataFrame, columns: Mapping[Any, "pd.Series[Any]"]) -> pd.DataFrame:
    """The table with other columns in place of those of the same names, which need not be text."""
    again = frame.copy(deep=False)
    for name, column in columns.items():
        again[name] = column
    return again


def _with_hyphens(column: "pd.Series[Any]") -> "pd.Series[Any]":
    """The column with a plain hyphen where numbers begin with a minus sign."""
    signed = column.astype(str).str.match(_MINUS)
    return column.mask(signed, column.astype(str).str.replace("\u2212", "-")) if signed.any() else column


def _plain(mark: str, other: str, cell: Any) -> Any:
    if not isinstance(cell, str) or not _is_number(mark, cell):
        return cell
    return re.sub(f"[{other}{_THIN}]", "", cell.strip()).replace(mark, ".")


def _is_text(column: "pd.Series[Any]") -> bool:
    return bool(pd.api.types.is_string_dtype(column) or pd.api.types.is_object_dtype(column))

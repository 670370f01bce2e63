"""How do lines of text become numbers, one by one?"""

import csv
import math
import re
from collections.abc import Callable, Iterator
from typing import BinaryIO, NamedTuple

MISSING = ("", "na", "nan", "n/a", "null", "none")  # in small letters
LONGEST = 64 * 1024  # bytes of a line
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


class Numbered(NamedTuple):
    """A number, NaN where it is missing, and the line that it is from, counted from 1."""

    line: int
    x: float


def read_numbers(
    lines: BinaryIO, complain: Callable[[int, str], None], column: str | None = None
) -> Iterator[Numbered]:
    """The number in each line, as soon as the line is there.

    complain: is called with the line, and what is wrong with it, where there is no number; such a line is left out.
    column: the name of a column of CSV (its first line then has the names), or its number, counted from 1; left out,
    a line holds a number and nothing else.
    """
    cell: Callable[[str], str] | None = str.strip if column is None else None
    for at, text in _lines(lines, complain):
        if cell is None:
            cell, is_header = _cell_of(str(column), text)
            if is_header:
                continue
        try:
            x = to_number(cell(text))
        except ValueError as problem:
            complain(at, str(problem))
        else:
            yield Numbered(at, x)


def to_number(text: str) -> float:
    """The number that a text is; NaN if it says that there is none.

    >>> to_number(" 2.5e1"), to_number("NA")
    (25.0, nan)
    """
    word = text.strip()
    if word.lower() in MISSING:
        return math.nan
    x = float(word) if _NUMBER.fullmatch(word) else math.inf
    if math.isinf(x):
        raise ValueError(f"{_short(word)} is not a finite number")
    return x


def _lines(lines: BinaryIO, complain: Callable[[int, str], None]) -> Iterator[tuple[int, str]]:
    """Lines without their ends, and their numbers; one without an end is never held in memory as a whole."""
    at, too_long = 1, False
    while part := lines.readline(LONGEST):
        ends = part.endswith(b"\n")
        if not too_long and (ends or len(part) < LONGEST):
            text = part.decode("utf-8", "replace").rstrip("\r\n")
            yield at, text.removeprefix("\ufeff") if at == 1 else text
        elif not too_long:
            complain(at, f"it has more than {LONGEST} bytes")
        at, too_long = at + ends, not ends


def _cell_of(column: str, first: str) -> tuple[Callable[[str], str], bool]:
    """What takes the cell of a column out of a line, from the first line; and whether that line has the names."""
    separator = next((mark for mark in ("\t", ";") if mark in first), ",")
    names = [name.strip() for name in _cells(first, separator)]
    if column in names:
        return _taker(names.index(column), separator), True
    if not column.isdecimal() or not 1 <= int(column) <= len(names):
        known = ", ".join(map(_short, names[:20]))
        advice = f"give one of {known}, or a number from 1 to {len(names)}"
        raise ValueError(f"there is no column {column!r} in the first line; {advice}")
    return _taker(int(column) - 1, separator), False


def _taker(at: int, separator: str) -> Callable[[str], str]:
    def cell(text: str) -> str:
        cells = _cells(text, separator)
        if not text.strip():
            return ""
        if at >= len(cells):
            raise ValueError(f"it has {len(cells)} columns, not {at + 1}")
        return cells[at]

    return cell


def _cells(text: str, separator: str) -> list[str]:
    return next(csv.reader([text.replace("\0", "")], delimiter=separator), [])


def _short(text: str) -> str:
    return repr(text if len(text) <= 40 else f"{text[:37]}...")

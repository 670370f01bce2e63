"""Where are the rows of a text, and which of them have too many cells, too few, or none?

In quotes, a cell may go over several lines.
"""

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO, TextIOWrapper
from typing import Any

import numpy as np
from numpy.typing import NDArray

from astonish.core.numbers import BoolArray


@dataclass(frozen=True)
class Records:
    """Rows of a text in UTF-8.

    starts, ends: the first byte of each, and that after its last. lines: of each, counted from 1. cells: how many.
    """

    text: bytes
    mark: str
    starts: NDArray[np.intp]
    ends: NDArray[np.intp]
    lines: NDArray[np.intp]
    cells: NDArray[np.intp]

    def __len__(self) -> int:
        return len(self.lines)

    def split(self, at: int) -> list[str]:
        """The cells of a row."""
        return next(split_rows(self.text[self.starts[at] : self.ends[at]], self.mark), [])

    def after(self, count: int) -> "Records":
        """All but the first few."""
        parts = (part[count:] for part in (self.starts, self.ends, self.lines, self.cells))
        return Records(self.text, self.mark, *parts)

    def blank(self) -> BoolArray:
        """Where a row has nothing but blanks."""
        blank = np.zeros(len(self), bool)
        for at in np.flatnonzero(self.cells <= 1):
            blank[at] = not self.text[self.starts[at] : self.ends[at]].strip()
        return blank

    def like(self, others: "Records", at: int) -> BoolArray:
        """Where a row is the same as one of others."""
        text = others.text[others.starts[at] : others.ends[at]].strip()
        alike = np.abs(self.ends - self.starts - len(text)) <= 1  # with a line end, or without
        alike &= np.frombuffer(self.text, np.uint8)[self.starts] == text[0]
        for row in np.flatnonzero(alike):
            alike[row] = self.text[self.starts[row] : self.ends[row]].strip() == text
        return alike

    def comments(self) -> BoolArray:
        """Where a row begins with #; nowhere if all do, since names of participants begin so then."""
        marked = np.frombuffer(self.text, np.uint8)[self.starts] == ord("#") if len(self) else np.zeros(0, bool)
        return marked & ~marked.all()

    def ragged(self, names: int, most: int, counted: BoolArray) -> BoolArray:
        """Where there are too many cells or too few. Empty ones beyond the last name do not count, up to `most` in all.

        counted: the rows that are neither blank nor comments.
        """
        ragged = counted & ((self.cells < names) | (self.cells > most))
        for at in np.flatnonzero(counted & ~ragged & (self.cells > names)).tolist():
            ragged[at] = any(cell.strip() for cell in self.split(at)[names:])
        if 2 * ragged.sum() > counted.sum():
            counts, often = np.unique(self.cells[ragged], return_counts=True)
            many = f"most rows have {counts[np.argmax(often)]} cells, but the first line has {names}"
            raise ValueError(f"{many} name{'s' * (names != 1)}; give each column a name, and each row as many cells")
        return ragged

    def joined(self, good: BoolArray) -> bytes:
        """The text of some of the rows alone."""
        if good.all():
            return self.text[self.starts[0] :] if len(self) else b""
        edges = np.flatnonzero(np.diff(np.concatenate([[False], good, [False]]))).reshape(-1, 2)
        parts = (self.text[self.starts[first] : self.ends[beyond - 1]] for first, beyond in edges)
        return b"".join(part if part.endswith(b"\n") else part + b"\n" for part in parts)


def split_rows(text: bytes, mark: str) -> Iterator[list[str]]:
    """The cells of each row."""
    return csv.reader(TextIOWrapper(BytesIO(text), "utf-8", newline=""), delimiter=mark, skipinitialspace=True)


def find_records(text: bytes, first: int, mark: str) -> Records:
    """The rows from a byte on."""
    line, body = text.count(b"\n", 0, first) + 1, np.frombuffer(text, np.uint8)[first:]
    ends = np.flatnonzero(body == ord("\n")) + 1
    if not len(ends) or ends[-1] < len(body):
        ends = np.append(ends, len(body))
    starts = np.concatenate([[0], ends[:-1]])
    lines = np.arange(line, line + len(starts))
    if b'"' not in text:
        cells = np.diff(np.searchsorted(np.flatnonzero(body == ord(mark)), ends), prepend=0) + 1
        return Records(text, mark, first + starts, first + ends, lines, cells)
    begins, cells = _quoted(text[first:], mark, line)
    _check_end(text[first + starts[begins[-1]] :], mark, line + begins[-1])
    last = np.append(begins[1:], len(starts)) - 1
    return Records(text, mark, first + starts[begins], first + ends[last], lines[begins], cells)


def _quoted(text: bytes, mark: str, line: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The line at which each row begins, counted from 0, and how many cells it has."""
    begins, cells, at = [], [], 0
    reader: Any = split_rows(text, mark)
    try:
        for row in reader:
            begins.append(at)
            cells.append(len(row))
            at = reader.line_num
    except csv.Error as problem:
        raise ValueError(f"a cell in line {line + at}, or one that begins there, is too long: {problem}") from None
    return np.array(begins, np.intp), np.array(cells, np.intp)


def _check_end(row: bytes, mark: str, line: int) -> None:
    """Refuse a last row with a quote that is not closed: it may have swallowed all that comes after it."""
    try:
        list(csv.reader([row.decode()], delimiter=mark, skipinitialspace=True, strict=True))
    except csv.Error as problem:
        if "end of data" in str(problem):
            raise ValueError(f"the cell in quotes that begins in line {line} has no end") from None

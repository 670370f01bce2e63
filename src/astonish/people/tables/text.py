"""How does text become a table? Encodings, separators, comments, and rows with too many or too few cells.

Rows that cannot be split into as many cells as there are names are left out, each with its line: none is shifted.
"""

import codecs
from collections.abc import Iterable, Sequence
from io import BytesIO
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from astonish.people.tables.records import find_records, split_rows

MARKS = (",", ";", "\t", "|")  # that may separate cells
_BYTE_ORDERS = {
    codecs.BOM_UTF8: "UTF-8",
    codecs.BOM_UTF32_LE: "UTF-32",  # before UTF-16, whose mark it begins with
    codecs.BOM_UTF32_BE: "UTF-32",
    codecs.BOM_UTF16_LE: "UTF-16",
    codecs.BOM_UTF16_BE: "UTF-16",
}
_OLD = tuple(map(int, pd.__version__.split(".")[:2])) < (3, 1)  # later pandas keep all digits without being asked
_ALL_DIGITS: Any = {"float_precision": "round_trip"} if _OLD else {}


class SplitText(NamedTuple):
    """The rows of a text that can be read, and what was noticed.

    text: of these rows alone, in UTF-8. extra: how many empty cells a row may have beyond the last column. lines: of
    the rows. doubled: names that were there more than once. rejected: by line, why a row is left out. said: the rest.
    """

    text: bytes
    mark: str
    names: list[str]
    extra: int
    lines: NDArray[np.intp]
    doubled: tuple[str, ...]
    rejected: dict[int, str]
    said: tuple[str, ...]

    def frame(self, as_text: Iterable[str] = (), only: Sequence[str] | None = None) -> pd.DataFrame:
        """The table. as_text: columns that are not read as numbers. only: the columns that are read."""
        wanted = list(self.names if only is None else only)
        if not len(self.lines):
            return pd.DataFrame(columns=wanted)
        frame = pd.read_csv(
            BytesIO(self.text),
            sep=self.mark,
            header=None,
            names=[*self.names, *(f"\0{k}" for k in range(self.extra))],
            usecols=wanted,
            skipinitialspace=True,
            skip_blank_lines=len(self.names) > 1,  # in one column, a blank line is an empty cell
            low_memory=False,
            dtype=dict.fromkeys(set(as_text) & set(wanted), str),
            **_ALL_DIGITS,
        )
        return frame[wanted]


def split(data: bytes, mark: str | None = None) -> SplitText:
    """Text as rows of equally many cells. mark: between cells; found in the line of names when left out."""
    text, said = as_utf8(data)
    first, noticed = _first_line(text, mark)
    records = find_records(text, first, mark or _mark(text[first:].partition(b"\n")[0]))
    first_row = records.split(0)
    names, doubled = distinct_names(first_row)
    rows = records.after(1)
    blank = rows.blank() & (len(names) > 1)
    comment = rows.comments()
    again = rows.like(records, 0) & (len(names) > 1)
    ragged = rows.ragged(len(names), len(first_row) + 1, ~blank & ~comment)
    end = max(np.flatnonzero(~blank), default=-1) + 1
    rejected = {int(line): "the line is empty" for line in rows.lines[:end][blank[:end]]}
    rejected |= {int(line): "the line is a comment, since it begins with #" for line in rows.lines[comment]}
    rejected |= {int(line): "the line has the names of the columns again" for line in rows.lines[again]}
    for line, cells in zip(rows.lines[ragged].tolist(), rows.cells[ragged].tolist(), strict=True):
        rejected[line] = f"the line has {cells} cell{'s' * (cells != 1)}, but there are {len(names)} columns"
    good = ~(blank | comment | again | ragged)
    extra = int(rows.cells[good].max(initial=len(names))) - len(names)
    notices = (*said, *noticed, *in_words(doubled))
    return SplitText(rows.joined(good), rows.mark, names, extra, rows.lines[good], doubled, rejected, notices)


def width(data: bytes, mark: str | None = None) -> int:
    """How many cells the line of names has; without reading any further."""
    text, _ = as_utf8(data)
    first, _ = _first_line(text, mark)
    rows = split_rows(text[first:], mark or _mark(text[first:].partition(b"\n")[0]))
    return len(next(rows))


def as_utf8(data: bytes) -> tuple[bytes, list[str]]:
    """Text in UTF-8 with plain line ends, and what else it was in before."""
    said = []
    encoding = next((name for mark, name in _BYTE_ORDERS.items() if data.startswith(mark)), None)
    encoding = encoding or _unmarked(data[:1000])
    if encoding == "UTF-8":
        data, encoding = data.removeprefix(codecs.BOM_UTF8), None
    if encoding is not None:
        try:
            data, said = data.decode(encoding).encode(), [f"text in {encoding}"]
        except UnicodeError:
            raise ValueError(f"its first bytes say that it is text in {encoding}, which it is not") from None
    elif not data.isascii() and not _is_utf8(data):
        data, said = _from_windows(data), ["text in Windows-1252 (Latin-1), since it is not in UTF-8"]
    if b"\0" in data:
        raise ValueError("it holds NUL characters, as text in UTF-16 does if it is not marked; save it as UTF-8")
    return data.replace(b"\r\n", b"\n").replace(b"\r", b"\n") if b"\r" in data else data, said


def _unmarked(data: bytes) -> str | None:
    """The encoding of text in UTF-16 without a mark, of which every second byte is 0 in names and numbers."""
    zeros = {"UTF-16-LE": data[1::2], "UTF-16-BE": data[::2]}
    return next((name for name, half in zeros.items() if half.count(0) > 0.8 * len(half)), None) if data else None


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _from_windows(data: bytes) -> bytes:
    try:
        return data.decode("cp1252").encode()
    except UnicodeDecodeError:  # a few bytes are no letters there
        return data.decode("latin-1").encode()


def _first_line(text: bytes, mark: str | None) -> tuple[int, list[str]]:
    """Where the line of names begins: after blank lines and comments, unless the last comment has the names."""
    at, number, comments = 0, 0, []
    while at < len(text):
        line, number = text[at : _end(text, at)], number + 1
        if line.strip() and not line.lstrip().startswith(b"#"):
            break
        comments += [(at, number, line)] if line.strip() else []
        at = _end(text, at) + 1
    else:
        line = b""
    if not comments:
        if not line:
            raise ValueError("it is empty")
        return at, []
    begin, number, last = comments[-1]
    names = last.lstrip().lstrip(b"#")
    between = mark or _mark(names)
    cells = next(split_rows(line, between), [])
    if not line or (len(next(split_rows(names, between), [])) == len(cells) and all(map(_is_number, cells))):
        return begin + len(last) - len(names), [f"the names of the columns are in a comment, line {number}"]
    return at, [f"comments before the table, not read: {len(comments)} (up to line {number})"]


def _end(text: bytes, at: int) -> int:
    """The end of the line that begins at a byte."""
    end = text.find(b"\n", at)
    return end if end >= 0 else len(text)


def _is_number(cell: str) -> bool:
    try:
        return cell.strip() == "" or float(cell.replace(",", ".")) is not None
    except ValueError:
        return False


def _mark(line: bytes) -> str:
    """The mark of which the line of names has most, outside of quotes."""
    bare = b"".join(line.split(b'"')[::2])
    return max(MARKS, key=lambda mark: bare.count(mark.encode()))


def distinct_names(cells: list[str]) -> tuple[list[str], tuple[str, ...]]:
    """The names of the columns without blank ones at the end, those that are doubled made different; and which are."""
    names = [cell.strip() for cell in cells]
    while len(names) > 1 and not names[-1]:
        names.pop()
    names = [name or f"Unnamed: {at}" for at, name in enumerate(names)]
    doubled = tuple(name for name in dict.fromkeys(names) if names.count(name) > 1)
    different: list[str] = []
    for name in names:
        ending = next(end for end in ("", *(f".{k}" for k in range(1, len(names) + 1))) if name + end not in different)
        different.append(name + ending)
    return different, doubled


def in_words(doubled: Iterable[str]) -> list[str]:
    """What to say of names that were there more than once."""
    return [f"there are several columns {name!r}; the second is now {name}.1" for name in doubled]

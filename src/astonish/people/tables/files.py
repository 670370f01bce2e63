"""Files and tables in memory, opened as rows whose lines are known and whose numbers have decimal points.

Text may be in any encoding and have any separator, comments, and cells in quotes over several lines. Rows that cannot
be split into as many cells as there are names are left out, each with its line: none is shifted. pandas reads cells.
(DuckDB's reader leaves such rows out, too, but counts lines of cells in quotes wrongly, does not know the lines of good
rows, and swallows what follows an open quote; those of polars and pandas refuse or shift rows. None finds encodings, or
asks about decimal marks.)

Numbers may be written `3,14`, `1.234,5` or `1,234.5`. The rule:

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

import codecs
import csv
import gzip
import os
import re
import zlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from io import BytesIO, TextIOWrapper
from itertools import islice
from numbers import Real
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api import types

from astonish.core.numbers import BoolArray, FloatArray
from astonish.core.refusal import not_installed

_FILES = "give a file that ends in .csv, .tsv, .txt or .parquet (text also with .gz), or .xlsx, or a pandas DataFrame"
_PACKAGES = {".parquet": ("pyarrow", "Parquet"), ".xlsx": ("openpyxl", "a spreadsheet")}
MARKS = (",", ";", "\t", "|")  # that may separate cells
_BYTE_ORDERS = {
    codecs.BOM_UTF32_LE: "UTF-32",  # before UTF-16, whose mark it begins with
    codecs.BOM_UTF32_BE: "UTF-32",
    codecs.BOM_UTF16_LE: "UTF-16",
    codecs.BOM_UTF16_BE: "UTF-16",
}
_OLD = tuple(map(int, pd.__version__.split(".")[:2])) < (3, 1)  # later pandas keep all digits without being asked
ALL_DIGITS: Any = {"float_precision": "round_trip"} if _OLD else {}

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

_AsWritten = Callable[[list[str]], pd.DataFrame]  # columns of a text, where pandas may have read numbers already


class TableRows(NamedTuple):
    """A table, and where its rows are: lines of a text file, rows of a spreadsheet, or else rows counted from 0.

    rejected: rows that could not be read, by their line, and why. doubled: names of more than one column. said: what
    was noticed about the file.
    """

    frame: pd.DataFrame
    lines: NDArray[np.intp]
    unit: str = "row"
    rejected: Mapping[int, str] = MappingProxyType({})
    doubled: tuple[str, ...] = ()
    said: tuple[str, ...] = ()

    def where(self, rows: Sequence[int]) -> str:
        """Name the places of one or two rows, such as "line 3" or "lines 3 and 5"."""
        return f"{self.unit}{'s' * (len(rows) > 1)} {' and '.join(str(self.lines[row]) for row in rows)}"


def open_rows(
    source: Any, keep_zeros: str | None = None, needed: Sequence[str] = (), decimal: str | None = None
) -> TableRows:
    """Open a file or DataFrame as rows.

    Args:
        source: The file or table.
        keep_zeros: A column of names, in which 007 is not 7.
        needed: Columns that may hold numbers.
        decimal: The mark of decimals, "," or "."; recognised when left out.
    """
    written: _AsWritten | None = None
    if isinstance(source, pd.DataFrame):
        doubled = source.columns[source.columns.duplicated()]
        if len(doubled):
            raise ValueError(f"there are several columns {doubled[0]!r}; give each a name of its own")
        rows = TableRows(source.reset_index(drop=True), np.arange(len(source)))
    elif isinstance(source, str | os.PathLike):
        rows, written = _from_file(Path(source), keep_zeros)
    else:
        raise ValueError(f"got {type(source).__name__}; {_FILES}")
    several = (f"there are several columns {name!r}; the second is now {name}.1" for name in rows.doubled)
    frame, said = with_plain_numbers(rows.frame, [name for name in needed if name in rows.frame], decimal, written)
    return rows._replace(frame=frame, said=(*rows.said, *several, *said))


def _from_file(path: Path, keep_zeros: str | None) -> tuple[TableRows, _AsWritten | None]:
    """Open a file by its ending; every problem becomes a sentence."""
    kind = next((suffix.lower() for suffix in reversed(path.suffixes) if suffix.lower() != ".gz"), None)
    package, form = _PACKAGES.get(str(kind), ("", ""))
    if not path.is_file():
        raise ValueError(f"there is no file {str(path)!r}; {_FILES}")
    if kind == ".xls":
        raise ValueError(f"{str(path)!r} is a spreadsheet of before 2007; save it as .xlsx or .csv")
    if not package and kind not in (".csv", ".tsv", ".txt"):
        raise ValueError(f"{str(path)!r} is of an unknown kind; {_FILES}")
    try:
        if kind == ".parquet":
            frame = pd.read_parquet(path, engine="pyarrow").reset_index(drop=True)
            return TableRows(frame, np.arange(len(frame))), None
        if kind == ".xlsx":  # of the first sheet, whose first row has the names
            with pd.ExcelFile(path, engine="openpyxl") as book:
                frame, sheets = pd.read_excel(book, header=None), book.sheet_names
            if frame.empty:
                raise ValueError(f"sheet {sheets[0]!r} is empty")
            names, doubled = _distinct_names(["" if pd.isna(name) else str(name) for name in frame.iloc[0]])
            named = frame.iloc[1:, : len(names)].set_axis(names, axis=1).infer_objects().reset_index(drop=True)
            which = f"sheet {sheets[0]!r}" + (f", the first of {len(sheets)}" if len(sheets) > 1 else "")
            return TableRows(named, np.arange(2, len(named) + 2), doubled=doubled, said=(which,)), None
        with gzip.open(path) if path.suffix.lower() == ".gz" else path.open("rb") as file:
            return _from_text(file.read(), "\t" if kind == ".tsv" else None, keep_zeros)
    except ImportError:
        raise ValueError(f"{not_installed(f'{str(path)!r} needs', package)}, or give a .csv") from None
    except Exception as problem:  # packages have kinds of their own
        if package:
            why = f" as {form} ({problem}); {_FILES}"
        elif isinstance(problem, ValueError):  # ours, or one of those of pandas
            why = f": {str(problem).strip()}"
        elif isinstance(problem, OSError | EOFError | zlib.error):
            why = f" ({getattr(problem, 'strerror', None) or problem}); {_FILES}"
        else:
            raise
        raise ValueError(f"{str(path)!r} could not be read{why}") from None


# Text


class _Records(NamedTuple):
    """Rows of a text in UTF-8: the first byte of each, that after its last, its line (from 1), and how many cells."""

    text: bytes
    mark: str
    starts: NDArray[np.intp]
    ends: NDArray[np.intp]
    lines: NDArray[np.intp]
    counts: NDArray[np.intp]

    def cells(self, row: int) -> list[str]:
        return next(_split(self.text[self.starts[row] : self.ends[row]], self.mark), [])

    def where(self, candidates: BoolArray, content: bytes) -> BoolArray:
        """Find which of some rows hold just this, apart from blanks around it."""
        alike = candidates.copy()
        for row in np.flatnonzero(candidates):
            alike[row] = self.text[self.starts[row] : self.ends[row]].strip() == content
        return alike


def _from_text(data: bytes, mark: str | None, keep_zeros: str | None) -> tuple[TableRows, _AsWritten]:
    """Read the rows that have a cell for each name; and return how to read columns again as they are written."""
    text, said = _as_utf8(data)
    first, mark, noticed = _first_line(text, mark)
    records = _find_records(text, first, mark)
    names, doubled = _distinct_names(records.cells(0))
    good, rejected = _check_records(records, len(names))
    extra = int(records.counts[good].max(initial=len(names))) - len(names)  # empty cells beyond the last column
    stretches = np.flatnonzero(np.diff(np.concatenate([[False], good, [False]]))).reshape(-1, 2)
    parts = (text[records.starts[begin] : records.ends[end - 1]] for begin, end in stretches)
    body = b"".join(part if part.endswith(b"\n") else part + b"\n" for part in parts)

    def read(wanted: list[str], as_text: Collection[str]) -> pd.DataFrame:
        if not body:
            return pd.DataFrame(columns=wanted)
        return pd.read_csv(
            BytesIO(body),
            sep=records.mark,
            header=None,
            names=[*names, *(f"\0{k}" for k in range(extra))],
            usecols=wanted,
            skipinitialspace=True,
            skip_blank_lines=len(names) > 1,  # in one column, a blank line is an empty cell
            low_memory=False,
            dtype=dict.fromkeys(as_text, str),
            **ALL_DIGITS,
        )[wanted]

    names_as_text = [name for name in names if name == keep_zeros]
    frame = read(names, names_as_text)
    for name in names_as_text:  # which are numbers again if all are plain whole ones
        if frame[name].str.fullmatch("0|[1-9][0-9]{0,8}").all():
            frame[name] = frame[name].astype(np.int64)
    if frame.shape[1] > 1:  # without rows of empty cells at the end
        filled = np.flatnonzero(frame.notna().any(axis=1))
        frame = frame.iloc[: filled[-1] + 1] if len(filled) else frame
    rows = TableRows(frame, records.lines[good][: len(frame)], "line", rejected, doubled, (*said, *noticed))
    return rows, lambda wanted: read(wanted, wanted).iloc[: len(frame)]


def width(data: bytes, mark: str | None = None) -> int:
    """Count the cells of the line of names, without reading any further."""
    text, _ = _as_utf8(data)
    first, mark, _ = _first_line(text, mark)
    return len(next(_split(text[first:], mark)))


def _as_utf8(data: bytes) -> tuple[bytes, list[str]]:
    """Write text in UTF-8 with plain line ends, and say what else it was in before."""
    said = []
    data = data.removeprefix(codecs.BOM_UTF8)
    encoding = next((name for mark, name in _BYTE_ORDERS.items() if data.startswith(mark)), None)
    if encoding is None:  # in UTF-16 without a mark, every second byte of names and numbers is 0
        halves = {"UTF-16-LE": data[1:1000:2], "UTF-16-BE": data[:1000:2]}
        encoding = next((name for name, half in halves.items() if half.count(0) > 0.8 * len(half)), None)
    for likely in (encoding,) if encoding else ("UTF-8", "cp1252", "latin-1"):
        try:
            decoded = data.decode(likely)
        except UnicodeError:
            continue
        if likely != "UTF-8":
            said = [f"text in {encoding}" if encoding else "text in Windows-1252 (Latin-1), since it is not in UTF-8"]
            data = decoded.encode()
        break
    else:
        raise ValueError(f"its first bytes say that it is text in {encoding}, which it is not")
    if b"\0" in data:
        raise ValueError("it holds NUL characters, as text in UTF-16 does if it is not marked; save it as UTF-8")
    return data.replace(b"\r\n", b"\n").replace(b"\r", b"\n") if b"\r" in data else data, said


def _first_line(text: bytes, mark: str | None) -> tuple[int, str, list[str]]:
    """Find the line of names: after blank lines and comments, unless the last comment has the names.

    Return where it begins; what separates cells, if that is not known the mark of which it has most; and a notice.
    """
    at, comments, first = 0, [], b""
    for number, line in enumerate(BytesIO(text), 1):
        if line.strip() and not line.lstrip().startswith(b"#"):
            first = line
            break
        comments += [(at, number, line)] if line.strip() else []
        at += len(line)

    def separator(line: bytes) -> str:
        bare = b"".join(line.split(b'"')[::2])  # outside of quotes
        return mark or max(MARKS, key=lambda mark: bare.count(mark.encode()))

    if not comments and first:
        return at, separator(first), []
    begin, number, last = comments[-1] if comments else (0, 0, b"")
    names = last.lstrip().lstrip(b"#")
    if not first and not names.strip():
        raise ValueError("it is empty")
    between = separator(names)
    cells = next(_split(first, between), [])
    if not first or (len(next(_split(names, between), [])) == len(cells) and all(map(_is_number, cells))):
        at, notice = begin + len(last) - len(names), f"the names of the columns are in a comment, line {number}"
        return at, between, [notice]
    notice = f"comments before the table, not read: {len(comments)} (up to line {number})"
    return at, separator(first), [notice]


def _is_number(cell: str) -> bool:
    try:
        return cell.strip() == "" or float(cell.replace(",", ".")) is not None
    except ValueError:
        return False


def _split(text: bytes, mark: str) -> Iterator[list[str]]:
    """Split rows into cells."""
    return csv.reader(TextIOWrapper(BytesIO(text), "utf-8", newline=""), delimiter=mark, skipinitialspace=True)


def _find_records(text: bytes, first: int, mark: str) -> _Records:
    """Find the rows from a byte on."""
    line, body = text.count(b"\n", 0, first) + 1, np.frombuffer(text, np.uint8)[first:]
    ends = np.flatnonzero(body == ord("\n")) + 1
    if not len(ends) or ends[-1] < len(body):
        ends = np.append(ends, len(body))
    starts = np.concatenate([[0], ends[:-1]])
    lines = np.arange(line, line + len(starts))
    if b'"' not in text:
        counts = np.diff(np.searchsorted(np.flatnonzero(body == ord(mark)), ends), prepend=0) + 1
        return _Records(text, mark, first + starts, first + ends, lines, counts)
    begins: list[int] = []
    cells, at, reader = [], 0, _split(text[first:], mark)
    try:
        for row in reader:
            begins.append(at)
            cells.append(len(row))
            at = reader.line_num  # type: ignore[attr-defined]
    except csv.Error as problem:
        raise ValueError(f"a cell in line {line + at}, or one that begins there, is too long: {problem}") from None
    try:  # a quote that is not closed may have swallowed all that comes after it
        last = text[first + starts[begins[-1]] :].decode()
        list(csv.reader([last], delimiter=mark, skipinitialspace=True, strict=True))
    except csv.Error as problem:
        if "end of data" in str(problem):
            raise ValueError(f"the cell in quotes that begins in line {line + begins[-1]} has no end") from None
    ends = ends[np.array([*begins[1:], len(starts)]) - 1]
    return _Records(text, mark, first + starts[begins], first + ends, lines[begins], np.array(cells))


def _check_records(records: _Records, names: int) -> tuple[BoolArray, dict[int, str]]:
    """Find the rows that can be read; and say by line why others cannot, apart from blank lines at the end."""
    lines, counts, places = records.lines, records.counts, np.arange(len(records.lines))
    header = records.text[records.starts[0] : records.ends[0]].strip()
    begins = np.frombuffer(records.text, np.uint8)[records.starts]
    blank = records.where((counts <= 1) & (names > 1), b"")
    comment = (places > 0) & (begins == ord("#"))
    if comment[1:].all():  # then names of participants begin so
        comment[:] = False
    sizes = np.abs(records.ends - records.starts - len(header))  # with a line end, or without
    again = records.where((places > 0) & (sizes <= 1) & (begins == header[0]) & (names > 1), header)
    counted = (places > 0) & ~blank & ~comment
    ragged = counted & ((counts < names) | (counts > len(records.cells(0)) + 1))
    for row in np.flatnonzero(counted & ~ragged & (counts > names)).tolist():  # empty cells at the end do not count
        ragged[row] = any(cell.strip() for cell in records.cells(row)[names:])
    if 2 * ragged.sum() > counted.sum():
        sizes, often = np.unique(counts[ragged], return_counts=True)
        many = f"most rows have {sizes[np.argmax(often)]} cells, but the first line has {names}"
        raise ValueError(f"{many} name{'s' * (names != 1)}; give each column a name, and each row as many cells")
    reasons = {
        "the line is empty": blank & (places < np.flatnonzero(~blank)[-1]),
        "the line is a comment, since it begins with #": comment,
        "the line has the names of the columns again": again,
    }
    rejected = {int(line): reason for reason, where in reasons.items() for line in lines[where]}
    for line, cells in zip(lines[ragged].tolist(), counts[ragged].tolist(), strict=True):
        rejected[line] = f"the line has {cells} cell{'s' * (cells != 1)}, but there are {names} columns"
    return (places > 0) & ~(blank | comment | again | ragged), rejected


def _distinct_names(cells: list[str]) -> tuple[list[str], tuple[str, ...]]:
    """Name the columns, without blank names at the end, and doubled ones made different; and say which were doubled."""
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


# Decimal marks


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
    frame: pd.DataFrame, needed: Collection[str], decimal: str | None, written: _AsWritten | None = None
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
    frame = frame.copy(deep=False)
    floats = [name for name in frame.columns if types.is_float_dtype(frame[name])] if written else []
    if decimal == "," and written is not None and (again := [name for name in floats if name in needed]):
        frame[again] = written(again)
    texts: list[Any] = [
        name for name in frame if types.is_string_dtype(frame[name]) or types.is_object_dtype(frame[name])
    ]
    marks, notations = {}, _notations(frame[texts])
    if decimal is not None:  # though other programs may have written plain points
        fitting = (name for name, part in notations.items() if decimal == "." or part.only[","] or not part.only["."])
        marks = dict.fromkeys(fitting, decimal)
    else:
        marked = any(notation.marked for notation in notations.values())
        asked = [name for name in floats if marked or (name in needed and _may_be_thousands(frame[name].to_numpy()))]
        if written is not None and asked:
            notations |= _notations(written(asked))
        for name in notations:
            mark, question = _decimal_mark(name, notations)
            if question and name in needed:
                raise ValueError(question)
            if not question and name in texts:
                marks[name] = mark
    marks = {name: mark for name, mark in marks.items() if name in needed or notations[name].marked}
    return frame, _convert(frame, marks)


def _notations(columns: pd.DataFrame) -> dict[Any, _Notation]:
    """Find how numbers are written in each column of which most cells are numbers."""
    notations = {}
    for name, column in columns.items():
        there = column.dropna()
        sample = list(islice((cell for cell in there if not isinstance(cell, str) or cell.strip(_BLANKS)), _MOST))
        numbers = [_fits(_tidy(cell)) if isinstance(cell, str) else isinstance(cell, Real) for cell in sample]
        if 2 * sum(map(bool, numbers)) <= len(sample):
            continue
        texts = dict.fromkeys(cell for cell in there if isinstance(cell, str))
        fits = {cell: _fits(cell) for cell in map(_tidy, texts)}
        only = {mark: [cell for cell, marks in fits.items() if marks == [mark]] for mark in DECIMALS}
        either = {mark: [cell for cell, marks in fits.items() if len(marks) == 2 and mark in cell] for mark in DECIMALS}
        shown = {mark: re.compile(rf"\d[{mark}]\d{{3}}").search for mark in DECIMALS}
        thousands = {mark: sum(map(bool, map(shown[mark], only[_OTHER[mark]]))) for mark in DECIMALS}
        short = [cell for cell in fits if re.fullmatch(r"[+-]?[1-9]\d\d", cell)]
        marked = any(marks and _MARKED.search(cell) for cell, marks in fits.items())
        notations[name] = _Notation(only, either, thousands, short, marked)
    return notations


def _decimal_mark(name: str, notations: Mapping[str, _Notation]) -> tuple[str, str]:
    """Find the decimal mark of a column, or else the question to ask."""
    notation = notations[name]
    commas, points = notation.only[","], notation.only["."]
    if commas and points:
        both = f"{name} = {commas[0]!r} fits decimal commas only, but {points[0]!r} fits decimal points only"
        return "", f"{both}: which are right? Give {_COMMA} or {_POINT}, or correct the others"
    mark = "," if commas else "."
    if notation.either[","] and not commas:
        everywhere = {mark: [cell for part in notations.values() for cell in part.only[mark]] for mark in DECIMALS}
        if everywhere[","] and not everywhere["."]:
            mark = ","
        elif everywhere[","] or not _are_thousands(",", notation, notations):
            cell = notation.either[","][0]
            ask = f"is {name} = {cell!r} the number {cell.replace(',', '.')}, or {cell.replace(',', '')}?"
            return "", f"{ask} Give {_COMMA} for the first, {_POINT} for the second"
    if notation.either["."] and not points:
        cell = notation.either["."][0]
        ask, comma = f"is {name} = {cell!r} the number {cell.replace('.', '')}", f"Then give {_COMMA}"
        if mark == "," and not _are_thousands(".", notation, notations):
            return "", f"{ask}, since {(commas or notation.either[','])[0]!r} is there, too? {comma}; else {_POINT}"
        if mark == "." and any(part.only[","] and not part.only["."] for part in notations.values()):
            return "", f"other columns have decimal commas: {ask}? {comma}; else write it with a comma, too"
        if mark == "." and notation.short and not notation.either[","]:
            return "", f"{ask}, since {notation.short[0]!r} is there, too? {comma}; else {_POINT}"
    return mark, ""


def _are_thousands(mark: str, notation: _Notation, notations: Mapping[str, _Notation]) -> bool:
    """Whether two cells or more show that a mark stands between thousands, of which one can have no other meaning."""
    certain = sum(part.thousands[mark] for part in notations.values())
    return certain > 0 and certain + len(notation.short) > 1


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


def _convert(frame: pd.DataFrame, marks: Mapping[str, str]) -> list[str]:
    """Rewrite columns in place by their decimal marks, and say what was rewritten."""
    commas, thousands = [], []
    for name, mark in marks.items():
        column, between = frame[name], f"{_OTHER[mark]}{_THIN}"
        plain = {cell: cell for cell in column if isinstance(cell, str)}
        numbers = [(cell, tidy) for cell in plain if mark in _fits(tidy := _tidy(cell))]
        plain |= {cell: re.sub(f"[{between}]", "", tidy).replace(mark, ".") for cell, tidy in numbers}
        if all(cell == text for cell, text in plain.items()):
            continue
        if mark == "," and any("," in tidy for _, tidy in numbers):
            commas.append(str(name))
        if any(re.search(rf"\d[{between}]\d{{3}}", tidy) for _, tidy in numbers):
            thousands.append(str(name))
        rewritten = column.map(lambda cell, plain=plain: plain[cell] if isinstance(cell, str) else cell)
        read = pd.to_numeric(rewritten, errors="coerce")
        frame[name] = read if (read.isna() == column.isna()).all() else rewritten
    said = [f"decimal commas in {', '.join(commas)}"] if commas else []
    return said + ([f"marks between thousands in {', '.join(thousands)}"] if thousands else [])


def _tidy(cell: str) -> str:
    """Strip blanks around a cell, and write a plain hyphen for a minus sign."""
    cell = cell.strip(_BLANKS)
    return re.sub(r"^\u2212\s*(?=[\d.,])", "-", cell) if cell.startswith("\u2212") else cell


def _fits(cell: str) -> list[str]:
    """List the decimal marks with which a cell is a number; with an exponent, points are not between thousands."""
    fits = [mark for mark in DECIMALS if _NUMBER[mark].fullmatch(cell)]
    return ["."] if len(fits) > 1 and "." in cell and "e" in cell.lower() else fits

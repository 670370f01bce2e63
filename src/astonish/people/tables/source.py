"""How is a file, or a table in memory, opened as rows whose lines are known?"""

import gzip
import os
import zlib
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from astonish.core.refusal import not_installed
from astonish.people.tables.decimals import with_plain_numbers
from astonish.people.tables.text import SplitText, distinct_names, in_words, split

_FILES = "give a file that ends in .csv, .tsv, .txt or .parquet (text also with .gz), or .xlsx, or a pandas DataFrame"
_TEXT = (".csv", ".tsv", ".txt")


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


def open_rows(
    source: Any, keep_zeros: str | None = None, needed: Sequence[str] = (), decimal: str | None = None
) -> TableRows:
    """The rows of a file or DataFrame.

    keep_zeros: a column of names, in which 007 is not 7. needed: columns that may hold numbers. decimal: the mark of
    decimals, "," or "."; recognised when left out.
    """
    if isinstance(source, pd.DataFrame):
        doubled = source.columns[source.columns.duplicated()]
        if len(doubled):
            raise ValueError(f"there are several columns {doubled[0]!r}; give each a name of its own")
        rows, written = TableRows(source.reset_index(drop=True), np.arange(len(source))), None
    elif isinstance(source, str | os.PathLike):
        rows, written = _from_file(Path(source), keep_zeros)
    else:
        raise ValueError(f"got {type(source).__name__}; {_FILES}")
    frame, said = with_plain_numbers(rows.frame, [name for name in needed if name in rows.frame], decimal, written)
    return rows._replace(frame=frame, said=(*rows.said, *said))


def _from_file(path: Path, keep_zeros: str | None) -> tuple[TableRows, Any]:
    """The rows of a file and, if it is text, a function that reads columns of it as they are written."""
    kind = next((suffix.lower() for suffix in reversed(path.suffixes) if suffix.lower() != ".gz"), None)
    if not path.is_file():
        raise ValueError(f"there is no file {str(path)!r}; {_FILES}")
    try:
        if kind in _TEXT:
            return _text(path, "\t" if kind == ".tsv" else None, keep_zeros)
        if kind == ".parquet":
            frame = _read(path, partial(pd.read_parquet, engine="pyarrow"), "pyarrow", "Parquet")
            return TableRows(frame.reset_index(drop=True), np.arange(len(frame))), None
        if kind == ".xlsx":
            return _read(path, _spreadsheet, "openpyxl", "a spreadsheet"), None
    except OSError as problem:
        raise ValueError(f"{str(path)!r} could not be read ({problem.strerror or problem}); {_FILES}") from None
    if kind == ".xls":
        raise ValueError(f"{str(path)!r} is a spreadsheet of before 2007; save it as .xlsx or .csv")
    raise ValueError(f"{str(path)!r} is of an unknown kind; {_FILES}")


def _read(path: Path, read: Any, package: str, what: str) -> Any:
    """What a package reads from a file; a sentence if it cannot, or is not there."""
    try:
        return read(path)
    except ImportError:
        raise ValueError(f"{not_installed(f'{str(path)!r} needs', package)}, or give a .csv") from None
    except Exception as problem:  # of the package's own kinds
        raise ValueError(f"{str(path)!r} could not be read as {what} ({problem}); {_FILES}") from None


def _spreadsheet(path: Path) -> TableRows:
    """The first sheet, whose first row has the names."""
    with pd.ExcelFile(path, engine="openpyxl") as book:
        frame = pd.read_excel(book, header=None)
        sheets = book.sheet_names
    if frame.empty:
        raise ValueError(f"sheet {sheets[0]!r} is empty")
    names, doubled = distinct_names(["" if pd.isna(name) else str(name) for name in frame.iloc[0]])
    named = frame.iloc[1:, : len(names)].set_axis(names, axis=1).infer_objects()
    which = f"sheet {sheets[0]!r}" + (f", the first of {len(sheets)}" if len(sheets) > 1 else "")
    lines = np.arange(2, len(named) + 2)
    return TableRows(named.reset_index(drop=True), lines, doubled=doubled, said=(which, *in_words(doubled)))


def _text(path: Path, separator: str | None, keep_zeros: str | None) -> tuple[TableRows, Any]:
    try:
        with gzip.open(path) if path.suffix.lower() == ".gz" else path.open("rb") as file:
            found = split(file.read(), separator)
        frame = _with_plain_names(found.frame(as_text=[keep_zeros] if keep_zeros else ()), keep_zeros)
    except (EOFError, zlib.error) as problem:
        raise ValueError(f"{str(path)!r} could not be read ({problem}); {_FILES}") from None
    except ValueError as problem:  # ours, or one of those of pandas
        raise ValueError(f"{str(path)!r} could not be read: {str(problem).strip()}") from None
    lines, said = found.lines, found.said
    if frame.shape[1] > 1:  # without rows of empty cells at the end
        written = np.flatnonzero(frame.notna().any(axis=1).to_numpy())
        frame = frame.iloc[: written[-1] + 1 if len(written) else len(frame)]
    rows = TableRows(frame, lines[: len(frame)], "line", found.rejected, found.doubled, said)
    return rows, partial(_as_written, found, len(frame))


def _as_written(found: SplitText, length: int, names: Sequence[str]) -> pd.DataFrame:
    return found.frame(as_text=names, only=names).iloc[:length]


def _with_plain_names(frame: pd.DataFrame, column: str | None) -> pd.DataFrame:
    """Names that are plain whole numbers as numbers again."""
    if column is None or column not in frame or not frame[column].str.fullmatch("0|[1-9][0-9]{0,8}").all():
        return frame
    return frame.assign(**{column: frame[column].astype(np.int64)})

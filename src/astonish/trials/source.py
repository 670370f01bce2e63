"""How is a file, or a table in memory, opened as rows whose lines are known?"""

import gzip
import os
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from astonish.refusal import not_installed

_FILES = "give a file that ends in .csv, .tsv, .txt or .parquet (text also with .gz), or a pandas DataFrame"
_OLD = tuple(map(int, pd.__version__.split(".")[:2])) < (3, 1)  # later pandas keep all digits without being asked
_ALL_DIGITS: Any = {"float_precision": "round_trip"} if _OLD else {}


class TableRows(NamedTuple):
    """A table, and where its rows are: lines of a text file counted from 1, or else rows counted from 0."""

    frame: pd.DataFrame
    lines: NDArray[np.intp]
    unit: str = "row"


def open_rows(source: Any, keep_zeros: str | None = None) -> TableRows:
    """The rows of a file or DataFrame.

    keep_zeros: a column of names, in which 007 is not 7.
    """
    if isinstance(source, pd.DataFrame):
        return TableRows(source.reset_index(drop=True), np.arange(len(source)))
    if not isinstance(source, str | os.PathLike):
        raise ValueError(f"got {type(source).__name__}; {_FILES}")
    path = Path(source)
    if not path.is_file():
        raise ValueError(f"there is no file {str(path)!r}; {_FILES}")
    try:
        return _opened(path, keep_zeros)
    except OSError as problem:
        raise ValueError(f"{str(path)!r} could not be read ({problem.strerror or problem}); {_FILES}") from None


def _opened(path: Path, keep_zeros: str | None) -> TableRows:
    kind = _kind(path)
    if kind == ".parquet":
        return open_rows(_parquet(path))
    if kind in (".csv", ".tsv", ".txt"):
        return _numbered(_text(path, keep_zeros))
    raise ValueError(f"{str(path)!r} is of an unknown kind; {_FILES}")


def _kind(path: Path) -> str | None:
    """The ending of its name, but for .gz."""
    return next((suffix.lower() for suffix in reversed(path.suffixes) if suffix.lower() != ".gz"), None)


def _parquet(path: Path) -> pd.DataFrame:
    try:
        return pd.read_parquet(path, engine="pyarrow")
    except ImportError:
        raise ValueError(f"{not_installed(f'{str(path)!r} needs', 'pyarrow')}, or give a .csv") from None
    except Exception as problem:  # pyarrow's own kinds of error
        raise ValueError(f"{str(path)!r} could not be read as Parquet ({problem}); {_FILES}") from None


def _text(path: Path, keep_zeros: str | None) -> pd.DataFrame:
    try:
        frame = pd.read_csv(
            path,
            sep=separator(path),
            encoding="utf-8-sig",
            skipinitialspace=True,
            skip_blank_lines=False,  # so that rows can be counted
            low_memory=False,
            dtype={keep_zeros: str} if keep_zeros else None,
            **_ALL_DIGITS,
        )
    except UnicodeDecodeError:
        raise ValueError(f"{str(path)!r} is not text in UTF-8; save it as such, or give a .parquet") from None
    except (pd.errors.ParserError, pd.errors.EmptyDataError, EOFError) as problem:
        raise ValueError(f"{str(path)!r} could not be read ({str(problem).strip()}); {_FILES}") from None
    if not isinstance(frame.index, pd.RangeIndex):
        raise ValueError(f"the rows of {str(path)!r} have more cells than its first line has names; give each a name")
    return _with_plain_numbers(frame, keep_zeros)


def separator(path: Path) -> str:
    """Tab in a .tsv, else comma, semicolon or tab: whichever the first line has most of."""
    if _kind(path) == ".tsv":
        return "\t"
    with gzip.open(path) if path.suffix.lower() == ".gz" else path.open("rb") as file:
        first = file.readline()
    return max((",", ";", "\t"), key=lambda mark: first.count(mark.encode()))


def _with_plain_numbers(frame: pd.DataFrame, column: str | None) -> pd.DataFrame:
    """Names that are plain whole numbers as numbers again."""
    if column is None or column not in frame or not frame[column].str.fullmatch("0|[1-9][0-9]{0,8}").all():
        return frame
    return frame.assign(**{column: frame[column].astype(np.int64)})


def _numbered(frame: pd.DataFrame) -> TableRows:
    """Line numbers (a quoted cell may span lines), without blank lines at the end."""
    breaks = np.zeros(len(frame), np.intp)
    for name in frame.columns:
        if not pd.api.types.is_numeric_dtype(frame[name]):
            breaks += np.array([str(cell).count("\n") for cell in frame[name].tolist()], np.intp)
    lines = 2 + np.arange(len(frame)) + np.cumsum(breaks) - breaks
    written = np.flatnonzero(frame.notna().any(axis=1).to_numpy())
    length = written[-1] + 1 if len(written) and frame.shape[1] > 1 else len(frame)
    return TableRows(frame.iloc[:length], lines[:length], "line")

"""Which files does the page take, and how large may they be, once unpacked?

A file is looked at before it is read in full: a small one may unpack to more than a machine holds.
"""

import csv
import gzip
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory

from astonish.core.kinds import MEASURED, NUMBERS
from astonish.page.controls import too_much
from astonish.people.tables import Trials
from astonish.people.tables.files import width

LARGEST = 20 * 2**20  # bytes, as sent and as unpacked
MOST_ROWS, MOST_CELLS, LONGEST_LINE, MOST_LABELS = 100_000, 2_000_000, 100_000, 50
TEXT, PARQUET = (".csv", ".tsv", ".txt"), ".parquet"
ENDS = (*TEXT, *(f"{end}.gz" for end in TEXT), PARQUET)


def ending(name: str) -> str:
    """How a file's name ends, if it is one that the page takes."""
    end = next((end for end in ENDS if name.lower().endswith(end)), None)
    if end is None:
        raise ValueError(f"the file ends in {Path(name).suffix[:20]!r}; give one that ends in {', '.join(ENDS)}")
    return end


@contextmanager
def as_file(name: str, content: bytes) -> Iterator[Path]:
    """A table as a file, unpacked, if it is small enough. Of its name, only the ending is used."""
    end = ending(name)
    if not content.strip():
        raise ValueError("the file is empty; give a table with a row for each trial")
    if end.endswith(".gz"):
        end, content = end.removesuffix(".gz"), _unpacked(content)
    with TemporaryDirectory(prefix="astonish-") as folder:
        path = Path(folder) / f"trials{end}"
        path.write_bytes(content)
        try:
            (_check_parquet if end == PARQUET else _check_text)(path, content)
            yield path
        except ValueError as problem:  # of the file as people know it, and of what the page takes
            sentence, cut, _ = str(problem).replace(repr(str(path)), "the file").partition("; give a file that ends in")
            raise ValueError(sentence + "; give a table with one row for each trial" * bool(cut)) from None


def _unpacked(content: bytes) -> bytes:
    """What was packed, read up to the limit and no further."""
    try:
        with gzip.open(BytesIO(content)) as file:
            found = file.read(LARGEST + 1)
    except (OSError, EOFError, zlib.error):
        raise ValueError("the file is not packed by gzip, though its name says so; give one that is") from None
    if len(found) > LARGEST:
        raise ValueError(f"the file unpacks to more than {too_much(f'{LARGEST / 2**20:g} MB')}")
    return found


def _check_text(path: Path, content: bytes) -> None:
    """By how many lines there are, and how many cells in a row: a line of two bytes may fill a row of thousands."""
    if content.find(b"\n", 0, LONGEST_LINE) < 0 and len(content) > LONGEST_LINE:
        raise ValueError("the first line is very long; give a table whose first line names its columns")
    lines = content.count(b"\n") + content.count(b"\r") - content.count(b"\r\n")
    try:
        cells = width(content, "\t" if path.suffix == ".tsv" else None)
    except csv.Error as problem:
        raise ValueError(f"the first line could not be read ({problem}); give shorter cells") from None
    _check_cells(lines, cells)
    written = content.strip()
    if b"\n" not in written and b"\r" not in written:
        raise ValueError("the table has no rows; give a table with a row for each trial")


def _check_cells(rows: int, columns: int) -> None:
    if rows > MOST_ROWS or rows * columns > MOST_CELLS:
        raise ValueError(f"the table has more than {too_much(f'{MOST_ROWS} rows or {MOST_CELLS} cells')}")


def _check_parquet(_: Path, content: bytes) -> None:
    """By what the file says of itself, and by how much text it holds."""
    try:
        from pyarrow import ArrowException
        from pyarrow.parquet import ParquetFile
    except ImportError:
        raise ValueError("this needs pyarrow, which is not installed; pip install pyarrow, or give a .csv") from None
    try:
        about = ParquetFile(BytesIO(content)).metadata
        _check_cells(about.num_rows, about.num_columns)
        stored = sum(about.row_group(k).total_byte_size for k in range(about.num_row_groups))
        if stored > LARGEST or _text_size(content, about.num_rows) > LARGEST:
            raise ValueError(f"the file unpacks to more than {too_much(f'{LARGEST / 2**20:g} MB')}")
    except (ArrowException, OSError):
        raise ValueError("the file could not be read as Parquet; give a table with one row for each trial") from None


def _text_size(content: bytes, rows: int) -> int:
    """Bytes of all text, which is read as a list of different words: one that is stored once may stand in all rows."""
    from pyarrow import compute, types
    from pyarrow.parquet import ParquetFile

    fields = list(ParquetFile(BytesIO(content)).schema_arrow)
    nested = next((field.name for field in fields if types.is_nested(field.type)), None)
    if nested is not None:
        raise ValueError(f"column {nested[:60]!r} holds several values in a cell; give one value in each")
    fixed = sum(rows * field.type.byte_width for field in fields if types.is_fixed_size_binary(field.type))
    names = [field.name for field in fields if not types.is_primitive(field.type)]
    words = ParquetFile(BytesIO(content), read_dictionary=names).read(columns=names)
    parts = [part for column in words.columns if types.is_dictionary(column.type) for part in column.chunks]
    lengths = (compute.binary_length(part.dictionary).take(part.indices) for part in parts)
    return fixed + sum(compute.sum(each).as_py() or 0 for each in lengths)


def check_size(trials: Trials) -> None:
    """Refuse trials that make too many numbers, once they are read."""
    labels = 0 if trials.kind in (*NUMBERS, *MEASURED) else len(trials.labels or ())
    if labels > MOST_LABELS:
        raise ValueError(f"there are {labels} different outcomes; the page takes up to {MOST_LABELS}, the command more")
    options = len(trials.options or ())
    if options > MOST_LABELS:
        raise ValueError(f"there are {options} different choices; the page takes up to {MOST_LABELS}, the command more")
    cells = trials.observed.size * max(labels, options, 1)
    if cells > MOST_CELLS:
        limit = f"the page takes up to {MOST_CELLS}, the command astonish surprise more"
        raise ValueError(f"participants x trials x outcomes make {cells} numbers; {limit}")

"""Files: written whole or not at all, folders used by one program at a time, archives of arrays, and tables as text.

An archive is one of NumPy's: plain arrays, and a schema in JSON, so that later versions of the library can read it. No
code is pickled, and the same arrays give the same bytes.
"""

import csv
import io
import json
import os
import tomllib
import zipfile
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from pathlib import Path
from threading import get_ident
from typing import TYPE_CHECKING, Any, BinaryIO

if TYPE_CHECKING:
    from pandas import DataFrame, Series

_VERSION = 2  # of archives; 1 did not name the learner, and kept strings in arrays of the longest one's width
_ROWS = 100_000  # of a table, written at once
_LEAST, _MOST = 1e-4, 1e9  # sizes between which pyarrow writes numbers as Python does, unless they are whole
Source = str | os.PathLike[str] | BinaryIO
Arrays = dict[str, Any]


class DamagedError(ValueError):
    """What was read is not, or no longer, what it should be."""


@contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a file to write into; it gets its name only once everything is written, and is on the disk."""
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    unfinished = target.with_name(f".{target.name}.{os.getpid()}.{get_ident()}")
    try:
        with unfinished.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())  # else its name could survive a failure of power that its bytes do not
        unfinished.replace(target)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise
    with suppress(OSError):  # some systems do not sync folders
        folder = os.open(target.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def read_toml(path: Path) -> dict[str, Any]:
    """Read a TOML file, or refuse it in a sentence."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        raise ValueError(f"there is no file {path}; give a TOML file") from None
    except ValueError as problem:
        raise ValueError(f"{path} is not TOML ({problem}); mend it") from None


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write text as UTF-8, completely or not at all."""
    with atomic_write(path) as file:
        file.write(text.encode())


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Lock a folder until the program ends, however it ends; refused if another program holds the lock.

    Where there can be no such lock (Windows, some shared disks, a folder that may only be read), nothing is refused.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        try:
            import fcntl

            fcntl.flock(stack.enter_context((folder / ".lock").open("w")), fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            advice = "wait for its end, or give another folder"
            raise ValueError(f"{folder} is in use by another program; {advice}") from None
        except (ImportError, OSError):
            pass
        yield


# Archives


def write(file: BinaryIO, what: str, arrays: Mapping[str, Any], about: Any = None) -> None:
    """Write arrays into an archive that says what it holds. about: anything plain that goes with them."""
    import numpy as np

    schema = {"format": f"astonish {what}", "version": _VERSION, "names": list(arrays), "about": about}
    numbered: Arrays = {f"array{i}": np.asarray(array) for i, array in enumerate(arrays.values())}
    np.savez(file, schema=np.array(json.dumps(schema)), **numbered)


def read(source: Source, what: str) -> tuple[Arrays, Any]:
    """Read the arrays of an archive that `write` has made, and what goes with them.

    Anything else is damaged, and what a later version has written is refused.
    """
    with Path(source).open("rb") if isinstance(source, str | os.PathLike) else nullcontext(source) as file:
        try:
            with zipfile.ZipFile(file) as archive:
                # Nothing may unpack to more than the bytes that are there; `write` never compresses anything
                members, size = archive.infolist(), file.seek(0, os.SEEK_END)
                if any(member.compress_type != zipfile.ZIP_STORED for member in members):
                    raise ValueError("something in it is compressed")
                if sum(member.file_size for member in members) > size:
                    raise ValueError("it claims to hold more than it does")
                schema = json.loads(str(_array(archive, "schema")))
                if schema["format"] != f"astonish {what}":
                    raise ValueError(schema["format"])
                version, names = schema["version"], schema["names"] if schema["version"] <= _VERSION else []
                arrays = {name: _array(archive, f"array{i}") for i, name in enumerate(names)}
        except Exception as problem:  # whatever zipfile, NumPy and JSON think of other bytes
            raise DamagedError(f"{name_of(source)} is not a saved {what}; give a file written by save") from problem
    if version > _VERSION:
        newer = f"{name_of(source)} has format version {version}; this library reads up to {_VERSION}"
        raise ValueError(f"{newer}, so give it to a newer one")
    return arrays, schema["about"]


def name_of(source: Source) -> str:
    """Name a source in a sentence."""
    return str(source) if isinstance(source, str | os.PathLike) else "what was given"


def _array(archive: zipfile.ZipFile, name: str) -> Any:
    """Read one array, as NumPy writes it. It takes the bytes that are there, whatever size it claims."""
    import numpy as np

    content = archive.read(f"{name}.npy")
    header = io.BytesIO(content)
    if np.lib.format.read_magic(header) != (1, 0):
        raise ValueError(f"{name} is of another version")
    shape, by_columns, dtype = np.lib.format.read_array_header_1_0(header)
    flat = np.frombuffer(content, dtype, offset=header.tell())
    return flat.reshape(shape, order="F" if by_columns else "C").copy()


# Tables as text: by pyarrow, which takes little time, if it is there, with the same bytes as by pandas


def write_separated(frame: "DataFrame", file: BinaryIO, mark: str) -> None:
    """Write a table with a mark between cells, and a line of names."""
    if len(frame.columns) < 2 or not all(map(_is_plain, (frame.iloc[:, k] for k in range(frame.shape[1])))):
        frame.to_csv(file, sep=mark, index=False, lineterminator="\n")
        return
    import numpy as np
    import pyarrow as pa
    from pyarrow import compute

    file.write(f"{mark.join(_quoted(str(name), mark) for name in frame.columns)}\n".encode())
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for start in range(0, len(frame), _ROWS):
            rows = frame.iloc[start : start + _ROWS]
            parts = list(pool.map(lambda column: _texts(column, mark), (rows.iloc[:, k] for k in range(rows.shape[1]))))
            ends = compute.binary_join_element_wise(parts[-1], pa.scalar(""), pa.scalar("\n"))
            joined = compute.binary_join_element_wise(*parts[:-1], ends, pa.scalar(mark))
            offsets = np.frombuffer(joined.buffers()[1], np.int32)
            file.write(memoryview(joined.buffers()[2])[offsets[0] : offsets[len(rows)]])


def _is_plain(column: "Series[Any]") -> bool:
    """Tell whether a column holds numbers or text, which are written in the same way here; and pyarrow is there."""
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        return False
    from pandas.api.types import is_string_dtype

    return str(column.dtype) in ("float64", "int64", "bool") or (is_string_dtype(column) and column.dtype != object)


def _texts(column: "Series[Any]", mark: str) -> Any:
    """Write the cells of a column as text, in pyarrow."""
    import numpy as np
    import pyarrow as pa
    from pyarrow import compute

    values: Any = column.to_numpy()
    if values.dtype == np.bool_:
        return pa.array(np.array(["False", "True"], object)[values.astype(int)], pa.string())
    if values.dtype.kind not in "if":
        different, codes = np.unique(np.where(column.isna(), "", values).astype(object), return_inverse=True)
        return pa.array([_quoted(cell, mark) for cell in different], pa.string()).take(pa.array(codes))
    texts = compute.cast(pa.array(values), pa.string())
    if values.dtype.kind == "i":
        return texts
    size = np.abs(values)
    # Python writes whole numbers, large and small ones, and those that are missing in its own way
    with np.errstate(invalid="ignore"):
        odd = ~((size >= _LEAST) & (size < _MOST)) | (values == np.floor(values))
    if not odd.any():
        return texts
    different, codes = np.unique(values[odd].view(np.int64), return_inverse=True)  # as bits, so that -0.0 is not 0.0
    written = ["" if np.isnan(value) else repr(value) for value in different.view(np.float64).tolist()]
    return compute.replace_with_mask(texts, pa.array(odd), pa.array(written, pa.string()).take(pa.array(codes)))


def _quoted(cell: str, mark: str) -> str:
    """Write text as it stands in a cell, in quotes where it has to be."""
    line = io.StringIO()
    csv.writer(line, delimiter=mark, lineterminator="\n").writerow([cell, ""])
    return line.getvalue()[: -len(mark) - 1]

"""How is a large table written as text in little time? By pyarrow, if it is there, with the same bytes as by pandas."""

import csv
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from io import StringIO
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

if TYPE_CHECKING:
    from pandas import DataFrame, Series

_ROWS = 100_000  # that are written at once
_LEAST, _MOST = 1e-4, 1e9  # sizes between which pyarrow writes numbers as Python does, unless they are whole


def write_separated(frame: "DataFrame", file: BinaryIO, mark: str) -> None:
    """Write a table with a mark between cells, and a line of names."""
    if len(frame.columns) < 2 or not all(map(_is_plain, (frame.iloc[:, k] for k in range(frame.shape[1])))):
        frame.to_csv(file, sep=mark, index=False, lineterminator="\n")
        return
    file.write(f"{mark.join(_quoted(str(name), mark) for name in frame.columns)}\n".encode())
    for lines in _lines(frame, mark):
        file.write(lines)


def _is_plain(column: "Series[Any]") -> bool:
    """Whether a column holds numbers or text, which are written in the same way here; and pyarrow is there."""
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        return False
    from pandas.api.types import is_string_dtype

    numpy_type = isinstance(column.dtype, np.dtype) and column.dtype in (np.float64, np.int64, np.bool_)
    return numpy_type or (is_string_dtype(column) and column.dtype != object)


def _lines(frame: "DataFrame", mark: str) -> Iterator[memoryview]:
    """The rows as text, some of them at a time."""
    import pyarrow as pa
    from pyarrow import compute

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for start in range(0, len(frame), _ROWS):
            rows = frame.iloc[start : start + _ROWS]
            parts = list(pool.map(lambda name: _texts(name, mark), (rows.iloc[:, k] for k in range(rows.shape[1]))))
            ends = compute.binary_join_element_wise(parts[-1], pa.scalar(""), pa.scalar("\n"))
            joined = compute.binary_join_element_wise(*parts[:-1], ends, pa.scalar(mark))
            offsets = np.frombuffer(joined.buffers()[1], np.int32)
            yield memoryview(joined.buffers()[2])[offsets[0] : offsets[len(rows)]]


def _texts(column: "Series[Any]", mark: str) -> Any:
    """The cells of a column as text, in pyarrow."""
    import pyarrow as pa
    from pyarrow import compute

    values: Any = column.to_numpy()
    if values.dtype == np.bool_:
        return pa.array(np.array(["False", "True"], object)[values.astype(int)], pa.string())
    if values.dtype.kind in "if":
        texts = compute.cast(pa.array(values), pa.string())
        return texts if values.dtype.kind == "i" else _as_python_does(values, texts)
    different, codes = np.unique(np.where(column.isna(), "", values).astype(object), return_inverse=True)
    return pa.array([_quoted(cell, mark) for cell in different], pa.string()).take(pa.array(codes))


def _as_python_does(values: Any, texts: Any) -> Any:
    """The same texts but for whole numbers, large and small ones, and those that are missing."""
    import pyarrow as pa
    from pyarrow import compute

    size = np.abs(values)
    with np.errstate(invalid="ignore"):
        odd = ~((size >= _LEAST) & (size < _MOST)) | (values == np.floor(values))
    if not odd.any():
        return texts
    different, codes = np.unique(values[odd].view(np.int64), return_inverse=True)  # as bits, so that -0.0 is not 0.0
    written = ["" if np.isnan(value) else repr(value) for value in different.view(np.float64).tolist()]
    return compute.replace_with_mask(texts, pa.array(odd), pa.array(written, pa.string()).take(pa.array(codes)))


def _quoted(cell: str, mark: str) -> str:
    """Text as it stands in a cell, in quotes where it has to be."""
    line = StringIO()
    csv.writer(line, delimiter=mark, lineterminator="\n").writerow([cell, ""])
    return line.getvalue()[: -len(mark) - 1]

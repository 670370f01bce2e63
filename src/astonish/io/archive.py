"""How are arrays kept in a file that says what it holds, and that later versions of the library can read?

A NumPy archive: plain arrays, and a schema in JSON. No code is pickled, and the same arrays give the same bytes.
"""

import io
import json
import os
import zipfile
from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

_VERSION = 2  # 1 did not name the learner, and kept strings in arrays of the longest one's width
Source = str | os.PathLike[str] | BinaryIO
Arrays = dict[str, Any]


class DamagedError(ValueError):
    """What was read is not, or no longer, what it should be."""


def write(file: BinaryIO, what: str, arrays: Mapping[str, Any], about: Any = None) -> None:
    """Write arrays into an archive that says what it holds. about: anything plain that goes with them."""
    schema = {"format": f"astonish {what}", "version": _VERSION, "names": list(arrays), "about": about}
    numbered: Arrays = {f"array{i}": np.asarray(array) for i, array in enumerate(arrays.values())}
    np.savez(file, schema=np.array(json.dumps(schema)), **numbered)


def read(source: Source, what: str) -> tuple[Arrays, Any]:
    """The arrays of an archive that was written so, and what goes with them.

    Anything else is damaged, and what a later version has written is refused.
    """
    with Path(source).open("rb") if isinstance(source, str | os.PathLike) else nullcontext(source) as file:
        try:
            with zipfile.ZipFile(file) as archive:
                _check_sizes(archive, file.seek(0, os.SEEK_END))
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
    """What to call it in a sentence."""
    return str(source) if isinstance(source, str | os.PathLike) else "what was given"


def _check_sizes(archive: zipfile.ZipFile, size: int) -> None:
    """Refuse what would unpack to more than the bytes that are there; `write` never compresses anything."""
    members = archive.infolist()
    if any(member.compress_type != zipfile.ZIP_STORED for member in members):
        raise ValueError("something in it is compressed")
    if sum(member.file_size for member in members) > size:
        raise ValueError("it claims to hold more than it does")


def _array(archive: zipfile.ZipFile, name: str) -> Any:
    """One array, as NumPy writes it. It takes the bytes that are there, whatever size it claims."""
    content = archive.read(f"{name}.npy")
    header = io.BytesIO(content)
    if np.lib.format.read_magic(header) != (1, 0):
        raise ValueError(f"{name} is of another version")
    shape, by_columns, dtype = np.lib.format.read_array_header_1_0(header)
    flat = np.frombuffer(content, dtype, offset=header.tell())
    return flat.reshape(shape, order="F" if by_columns else "C").copy()

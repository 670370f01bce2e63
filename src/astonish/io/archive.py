"""How are arrays kept in a file that says what it holds, and that later versions of the library can read?

A NumPy archive: plain arrays, and a schema in JSON. No code is pickled, and the same arrays give the same bytes.
"""

import json
import os
import zipfile
from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

_VERSION = 1
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
            with zipfile.ZipFile(file):  # which says at once whether it is an archive
                archive = np.load(file, allow_pickle=False)
            schema = json.loads(str(archive["schema"]))
            if schema["format"] != f"astonish {what}":
                raise ValueError(schema["format"])
            version, names = schema["version"], schema["names"] if schema["version"] <= _VERSION else []
            arrays = {name: archive[f"array{i}"] for i, name in enumerate(names)}
        except Exception as problem:  # whatever zipfile, NumPy and JSON think of other bytes
            raise DamagedError(f"{name_of(source)} is not a saved {what}; give a file written by save") from problem
    if version > _VERSION:
        newer = f"{name_of(source)} has format version {version}; this library reads up to {_VERSION}"
        raise ValueError(f"{newer}, so give it to a newer one")
    return arrays, schema["about"]


def name_of(source: Source) -> str:
    """What to call it in a sentence."""
    return str(source) if isinstance(source, str | os.PathLike) else "what was given"

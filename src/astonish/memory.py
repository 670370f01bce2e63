"""How is a learner's state kept in a file that outlives a version of the library?

A NumPy archive: one plain array per leaf of the state, under its path in it, and a schema in JSON. No code is pickled;
the learner itself is code and stays with its owner, who hands it in again to restore.
"""

import json
import os
import zipfile
import zlib
from contextlib import nullcontext
from pathlib import Path
from typing import Any, BinaryIO

import jax
import numpy as np

from astonish.files import whole
from astonish.learner import Learner, State
from astonish.precision import as_double, double

_VERSION = 1
Source = str | os.PathLike[str] | BinaryIO


def save_state(path: str | os.PathLike[str], state: State) -> None:
    """Write a learner's state; the file appears whole or not at all."""
    with whole(path) as file:
        write(file, "state", named_leaves(state))


def load_state(path: str | os.PathLike[str], learner: Learner) -> State:
    """Read back a state that `learner` (or one of the same kind and size) had when it was saved."""
    with double():
        like = as_double(learner.init())
    return matching(path, read(path, "state"), like)


def named_leaves(state: State) -> dict[str, Any]:
    """The arrays of a state by their paths in it."""
    return {jax.tree_util.keystr(where): np.asarray(leaf) for where, leaf in jax.tree.leaves_with_path(state)}


def write(file: BinaryIO, what: str, arrays: dict[str, Any]) -> None:
    """Write named arrays into an archive that says what it holds."""
    schema = {"format": f"astonish {what}", "version": _VERSION, "leaves": list(arrays)}
    numbered: dict[str, Any] = {f"leaf{i}": array for i, array in enumerate(arrays.values())}
    np.savez(file, schema=np.array(json.dumps(schema)), **numbered)


def read(source: Source, what: str) -> dict[str, Any]:
    """The arrays of an archive that was written so; anything else, and any damage, is refused."""
    try:
        with _opened(source) as file, zipfile.ZipFile(file):  # which says at once whether it is an archive
            archive = np.load(file, allow_pickle=False)
            schema = json.loads(str(archive["schema"]))
            if schema["format"] != f"astonish {what}":
                raise ValueError
            if schema["version"] <= _VERSION:
                return {where: archive[f"leaf{i}"] for i, where in enumerate(schema["leaves"])}
    except (KeyError, TypeError, ValueError, zipfile.BadZipFile, zlib.error, EOFError):
        raise ValueError(f"{_name(source)} is not a saved {what}; give a file written by save") from None
    raise ValueError(
        f"{_name(source)} has format version {schema['version']}; this library reads up to {_VERSION}, so give it to "
        "a newer one"
    )


def matching(source: Source, saved: dict[str, Any], like: State, many: int | None = None) -> State:
    """Saved arrays as a state like this one, or as so many of them."""
    return jax.tree_util.tree_map_with_path(lambda where, leaf: _matching(source, saved, where, leaf, many), like)


def _opened(source: Source) -> Any:
    return Path(source).open("rb") if isinstance(source, str | os.PathLike) else nullcontext(source)


def _name(source: Source) -> str:
    return str(source) if isinstance(source, str | os.PathLike) else "what was given"


def _matching(source: Source, saved: dict[str, Any], where: Any, like: Any, many: int | None) -> Any:
    name = jax.tree_util.keystr(where) or "the state"
    leaf = saved.get(jax.tree_util.keystr(where))
    if leaf is None:
        raise ValueError(f"{_name(source)} holds {sorted(saved)}, not {name}; give the kind of learner that was saved")
    shape = like.shape if many is None else (many, *like.shape)
    if leaf.shape != shape:
        raise ValueError(
            f"{_name(source)} holds {name} of shape {leaf.shape}, the learner needs {shape}; give the same sizes"
        )
    return leaf.astype(like.dtype)

"""How is a learner's state kept in a file that outlives a version of the library?

A NumPy archive: one plain array per leaf of the state, under its path in it, and a schema in JSON. No code is pickled;
the learner itself is code and stays with its owner, who hands it in again to restore.
"""

import json
import os
import zipfile
from pathlib import Path
from typing import Any

import jax
import numpy as np

from astonish.files import whole
from astonish.learner import Learner, State
from astonish.precision import as_double, double

_SCHEMA = {"format": "astonish state", "version": 1}


def save_state(path: str | os.PathLike[str], state: State) -> None:
    """Write a learner's state; the file appears whole or not at all."""
    leaves = {jax.tree_util.keystr(where): np.asarray(leaf) for where, leaf in jax.tree.leaves_with_path(state)}
    with whole(path) as file:
        np.savez(file, schema=np.array(json.dumps({**_SCHEMA, "leaves": list(leaves)})), **_numbered(leaves))


def load_state(path: str | os.PathLike[str], learner: Learner) -> State:
    """Read back a state that `learner` (or one of the same kind and size) had when it was saved."""
    with double():
        like = as_double(learner.init())
    try:
        with Path(path).open("rb") as file, zipfile.ZipFile(file):  # which says at once whether it is an archive
            archive = np.load(file, allow_pickle=False)
            schema = json.loads(str(archive["schema"]))
            saved = {where: archive[f"leaf{i}"] for i, where in enumerate(schema["leaves"])}
    except (KeyError, TypeError, ValueError, zipfile.BadZipFile, EOFError):
        raise ValueError(f"{path} is not a saved state; give a file written by save") from None
    if schema["version"] > _SCHEMA["version"]:
        raise ValueError(
            f"{path} has format version {schema['version']}; this library reads up to {_SCHEMA['version']}"
        )
    return jax.tree_util.tree_map_with_path(lambda where, leaf: _matching(path, saved, where, leaf), like)


def _numbered(leaves: dict[str, Any]) -> dict[str, Any]:
    return {f"leaf{i}": leaf for i, leaf in enumerate(leaves.values())}


def _matching(path: Any, saved: dict[str, Any], where: Any, like: Any) -> Any:
    name = jax.tree_util.keystr(where) or "the state"
    leaf = saved.get(jax.tree_util.keystr(where))
    if leaf is None:
        raise ValueError(f"{path} holds {sorted(saved)}, not {name}; give the kind of learner that was saved")
    if leaf.shape != like.shape:
        raise ValueError(
            f"{path} holds {name} of shape {leaf.shape}, the learner needs {like.shape}; give the same sizes"
        )
    return leaf.astype(like.dtype)

"""How is a learner's state kept in a file?

One array per leaf of the state, under its path in it. The learner itself is code and stays with its owner, who hands it
in again to restore.
"""

import os
from typing import Any

import jax
import numpy as np

from astonish.io.archive import Source, name_of, read, write
from astonish.io.files import atomic_write
from astonish.learner import Learner, State
from astonish.precision import as_double, double

__all__ = ["load_state", "save_state"]


def save_state(path: str | os.PathLike[str], state: State) -> None:
    """Write a learner's state, completely or not at all."""
    with atomic_write(path) as file:
        write(file, "state", named_leaves(state))


def load_state(path: str | os.PathLike[str], learner: Learner) -> State:
    """Read back a state that `learner` (or one of the same kind and size) had when it was saved."""
    return matching(path, read(path, "state")[0], start_of(learner))


def start_of(learner: Learner) -> State:
    """A learner's state before its first sample, in NumPy's float64."""
    with double():
        return as_double(learner.init())


def named_leaves(state: State) -> dict[str, Any]:
    """The arrays of a state by their paths in it."""
    return {jax.tree_util.keystr(where): np.asarray(leaf) for where, leaf in jax.tree.leaves_with_path(state)}


def matching(source: Source, saved: dict[str, Any], like: State, many: int | None = None) -> State:
    """Saved arrays as a state like this one, or as so many of them."""

    def restored(where: Any, like: Any) -> Any:
        name, leaf = jax.tree_util.keystr(where) or "the state", saved.get(jax.tree_util.keystr(where))
        if leaf is None:
            found = f"{name_of(source)} holds {sorted(saved)}, not {name}"
            raise ValueError(f"{found}; give the kind of learner that was saved")
        shape = like.shape if many is None else (many, *like.shape)
        if leaf.shape != shape:
            found = f"{name_of(source)} holds {name} of shape {leaf.shape}, the learner needs {shape}"
            raise ValueError(f"{found}; give the same sizes")
        return leaf.astype(like.dtype)

    return jax.tree_util.tree_map_with_path(restored, like)

"""How is a learner's state kept in a file?

One array per leaf of the state, under its path in it. The learner itself is code and stays with its owner, who hands it
in again to restore.
"""

import os
from typing import Any

import jax
import numpy as np

from astonish.archive import Source, name_of, read, write
from astonish.files import whole
from astonish.learner import Learner, State
from astonish.precision import as_double, double


def save_state(path: str | os.PathLike[str], state: State) -> None:
    """Write a learner's state; the file appears whole or not at all."""
    with whole(path) as file:
        write(file, "state", named_leaves(state))


def load_state(path: str | os.PathLike[str], learner: Learner) -> State:
    """Read back a state that `learner` (or one of the same kind and size) had when it was saved."""
    with double():
        like = as_double(learner.init())
    return matching(path, read(path, "state")[0], like)


def named_leaves(state: State) -> dict[str, Any]:
    """The arrays of a state by their paths in it."""
    return {jax.tree_util.keystr(where): np.asarray(leaf) for where, leaf in jax.tree.leaves_with_path(state)}


def matching(source: Source, saved: dict[str, Any], like: State, many: int | None = None) -> State:
    """Saved arrays as a state like this one, or as so many of them."""
    return jax.tree_util.tree_map_with_path(lambda where, leaf: _matching(source, saved, where, leaf, many), like)


def _matching(source: Source, saved: dict[str, Any], where: Any, like: Any, many: int | None) -> Any:
    name = jax.tree_util.keystr(where) or "the state"
    leaf = saved.get(jax.tree_util.keystr(where))
    if leaf is None:
        raise ValueError(
            f"{name_of(source)} holds {sorted(saved)}, not {name}; give the kind of learner that was saved"
        )
    shape = like.shape if many is None else (many, *like.shape)
    if leaf.shape != shape:
        raise ValueError(
            f"{name_of(source)} holds {name} of shape {leaf.shape}, the learner needs {shape}; give the same sizes"
        )
    return leaf.astype(like.dtype)

"""A learner's state in a file: one array per leaf of the state, under its path in it.

The learner itself is code and stays with its owner, who hands it in again to restore; the file names its class, family
and parameters, so that another one is noticed.
"""

import os
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from hashlib import sha256
from textwrap import shorten
from typing import Any

import jax
import numpy as np

from astonish.core.parameters import check_values
from astonish.io.files import Source, atomic_write, name_of, read, write
from astonish.learners.base import Learner, State, first_state

__all__ = ["load_state", "save_state"]

_SHOWN = 100  # numbers of a parameter that are kept one by one; of more, a checksum


def save_state(path: str | os.PathLike[str], state: State, learner: Learner | None = None) -> None:
    """Write a learner's state, completely or not at all. learner: whose state it is, to be named in the file."""
    with atomic_write(path) as file:
        write(file, "state", named_leaves(state), None if learner is None else {"learner": described(learner)})


def load_state(path: str | os.PathLike[str], learner: Learner, other_learner: bool = False) -> State:
    """Read back a state that `learner` had when it was saved. other_learner: even if it is that of another one."""
    saved, about = read(path, "state")
    check_saved_by(path, about, learner, other_learner)
    return matching(path, saved, first_state(learner))


def described(value: Any) -> Any:
    """Describe a learner with its family and parameters, in what JSON can hold.

    >>> from astonish import Delta
    >>> described(Delta(0.5))
    {'is': 'Delta', 'learning_rate': 0.5, 'start': 0.0}
    """
    if is_dataclass(value) or hasattr(value, "_fields"):
        names = [field.name for field in fields(value)] if is_dataclass(value) else value._fields
        public = {name: described(getattr(value, name)) for name in names if not name.startswith("_")}
        return {"is": type(value).__name__, **public}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if callable(value):
        return getattr(value, "__qualname__", type(value).__name__)
    array = np.asarray(value)
    if array.dtype.kind not in "biuf":
        return str(value)
    if array.size <= _SHOWN:
        return array.tolist()
    return f"{array.shape} numbers with checksum {sha256(np.ascontiguousarray(array).tobytes()).hexdigest()}"


def check_saved_by(source: Source, about: Any, learner: Learner, other_learner: bool) -> None:
    """Refuse what another learner has left behind, or one with other parameters. about: what goes with the arrays."""
    before = about.get("learner") if isinstance(about, dict) else None
    if before is None or other_learner:  # before version 2, files named no learner
        return
    for name, old, new in _differences(before, described(learner)):
        theirs, ours = (f"{name} = {_text(value)}" if name else _text(value) for value in (old, new))
        by, has = ("a learner with ", "has") if name else ("", "is")
        problem = f"{name_of(source)} was saved by {by}{theirs}, and this one {has} {ours}"
        raise ValueError(f"{problem}; give the same learner, or other_learner=True")


def _differences(old: Any, new: Any, name: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Yield the parameters that differ, with both values. What was not known then may be anything."""
    if isinstance(old, dict) and isinstance(new, dict) and old.get("is") == new.get("is"):
        for word in [word for word in new if word in old]:
            yield from _differences(old[word], new[word], f"{name}.{word}".lstrip("."))
    elif old != new:
        yield name, old, new


def _text(value: Any) -> str:
    """Write a description as Python would print what it describes; long arrays are shortened."""
    if not isinstance(value, dict):
        return shorten(repr(value), 80)
    inside = (f"{word}={_text(value[word])}" for word in value if word != "is" and value[word] is not None)
    return f"{value.get('is')}({', '.join(inside)})"


def named_leaves(state: State) -> dict[str, Any]:
    """Name the arrays of a state by their paths in it."""
    return {jax.tree_util.keystr(where): np.asarray(leaf) for where, leaf in jax.tree.leaves_with_path(state)}


def matching(source: Source, saved: dict[str, Any], like: State, many: int | None = None) -> State:
    """Make a state like this one of saved arrays, or so many of them."""

    def restored(where: Any, like: Any) -> Any:
        name, leaf = jax.tree_util.keystr(where) or "the state", saved.get(jax.tree_util.keystr(where))
        if leaf is None:
            problem = f"{name_of(source)} holds {sorted(saved)}, not {name}"
            raise ValueError(f"{problem}; give the kind of learner that was saved")
        shape = like.shape if many is None else (many, *like.shape)
        if leaf.shape != shape:
            problem = f"{name_of(source)} holds {name} of shape {leaf.shape}, the learner needs {shape}"
            raise ValueError(f"{problem}; give the same sizes")
        return leaf.astype(like.dtype)

    state = jax.tree_util.tree_map_with_path(restored, like)
    check_values(name_of(source), state)
    return state

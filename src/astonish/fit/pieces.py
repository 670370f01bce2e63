"""How is nothing lost when a long fit is interrupted? Finished participants are kept in files, some in each."""

import hashlib
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np
from numpy.typing import NDArray

from astonish.archive import DamagedError, read, write
from astonish.domain import Numbers
from astonish.files import whole


class Found(NamedTuple):
    """What searches have found, a row for each participant; see `Fit`."""

    places: Numbers
    curvature: Numbers
    converged: NDArray[np.bool_]
    agreed: NDArray[np.intp]

    def rows(self, which: Any) -> "Found":
        """Of some participants."""
        return Found(*(part[which] for part in self))


class Pieces:
    """A folder of what was found, for one fit and no other; with no folder, nothing is kept."""

    def __init__(self, folder: Path | None, about: Any) -> None:
        self._folder, self._mark = folder, _mark(about) if folder is not None else ""

    def load(self, piece: int) -> Found | None:
        """What was found, if it was, and nothing has happened to the file."""
        path = self._path(piece)
        if path is None or not path.is_file():
            return None
        try:
            return Found(**read(path, "piece of a fit")[0])
        except DamagedError:
            return None

    def save(self, piece: int, found: Found) -> None:
        """Keep what was found."""
        path = self._path(piece)
        if path is not None:
            with whole(path) as file:
                write(file, "piece of a fit", found._asdict())

    def _path(self, piece: int) -> Path | None:
        return None if self._folder is None else self._folder / f"{self._mark}-{piece}.npz"


def _mark(about: Any) -> str:
    """A name that another fit would not have: of other data, another model or other settings."""
    leaves, structure = jax.tree.flatten(about)
    digest = hashlib.sha256(str(structure).encode())
    for leaf in leaves:
        array = np.asarray(leaf)
        digest.update(f"{array.dtype} {array.shape}".encode() + array.tobytes())
    return digest.hexdigest()[:16]

"""Where are parameters, a state, a sample and the answers in memory, for compiled code to read and write?"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from astonish.core.programs import Packing
from astonish.learners.base import ANSWERS, Learner

COUNT = len(ANSWERS)  # answers of a step: an estimate, and single numbers


@dataclass(frozen=True)
class Layout:
    """Where everything is, in bytes.

    parameters: the leaves of the learner, end to end, each at a multiple of 8. state: the leaves of a state. leaves: in
    which part of a packed state each of them is, and how far behind its beginning. parts: how long each part is.
    samples: the leaves of a sample. estimate: the shape of an estimate.
    """

    parameters: tuple[Any, ...]
    state: tuple[Any, ...]
    leaves: tuple[tuple[int, int], ...]
    parts: tuple[int, ...]
    samples: tuple[Any, ...]
    estimate: tuple[int, ...]

    @property
    def numbers(self) -> int:
        """How many numbers are in an estimate."""
        return int(np.prod(self.estimate))

    @property
    def answers(self) -> tuple[int, ...]:
        """How long each answer is."""
        return (8 * self.numbers, *[8] * (COUNT - 1))

    def offsets(self) -> list[int]:
        """Where each parameter begins."""
        sizes = [-(-nbytes(aval) // 8) * 8 for aval in self.parameters]
        return [sum(sizes[:k]) for k in range(len(sizes))]

    def packed_parameters(self, learner: Learner) -> Any:
        """The parameters of a learner, as bytes."""
        room = np.zeros(sum(-(-nbytes(aval) // 8) * 8 for aval in self.parameters) + 8, np.uint8)
        for at, aval, leaf in zip(self.offsets(), self.parameters, jax.tree.leaves(learner), strict=True):
            raw = np.frombuffer(np.asarray(leaf, aval.dtype).tobytes(), np.uint8)
            room[at : at + len(raw)] = raw
        return room


def nbytes(aval: Any) -> int:
    """How long an array is."""
    return int(np.prod(aval.shape)) * np.dtype(aval.dtype).itemsize


def places(packing: Packing, state: Sequence[Any]) -> tuple[tuple[tuple[int, int], ...], tuple[int, ...]]:
    """The part and the offset of each leaf, and how many bytes each part has."""
    found: list[tuple[int, int]] = []
    sizes = [0]
    for aval, together in zip(state, packing.together, strict=True):
        if together:
            found.append((0, sizes[0]))
            sizes[0] += nbytes(aval)
        else:
            found.append((len(sizes), 0))
            sizes.append(nbytes(aval))
    return tuple(found), tuple(sizes)

"""How is a state handed to compiled code in few arrays? Each array of a call costs about a microsecond."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

_SMALL = 256  # numbers; a larger leaf is better off updated in place


@dataclass(frozen=True)
class Packing:
    """Which leaves of a state are laid end to end in one vector, and which stand alone."""

    structure: Any
    shapes: tuple[tuple[int, ...], ...]
    together: tuple[bool, ...]

    @classmethod
    def of(cls, state: Any) -> "Packing":
        leaves, structure = jax.tree.flatten(state)
        shapes = tuple(np.shape(leaf) for leaf in leaves)
        return cls(structure, shapes, tuple(np.asarray(a).dtype == np.float64 and np.size(a) <= _SMALL for a in leaves))

    def pack(self, state: Any) -> tuple[Array, list[Array]]:
        """The small leaves in one vector, and the others."""
        leaves = list(zip(jax.tree.leaves(state), self.together, strict=True))
        small = [jnp.ravel(leaf) for leaf, together in leaves if together]
        return jnp.concatenate([jnp.zeros(0), *small]), [leaf for leaf, together in leaves if not together]

    def pack_numpy(self, state: Any) -> tuple[Any, list[Any]]:
        """The same in NumPy's arrays, the vector a copy."""
        leaves = list(zip(map(np.asarray, jax.tree.leaves(state)), self.together, strict=True))
        small = [leaf.ravel() for leaf, together in leaves if together]
        return np.concatenate([np.zeros(0), *small]), [leaf for leaf, together in leaves if not together]

    def unpack(self, vector: Any, others: list[Any]) -> Any:
        """The state; numbers in the vector beyond those of the state are left alone. Or many: a vector in each row."""
        rest, at, leaves = iter(others), 0, []
        for shape, together in zip(self.shapes, self.together, strict=True):
            size = math.prod(shape)
            own = vector[..., at : at + size] if together else next(rest)
            leaves.append(own.reshape((*vector.shape[:-1], *shape)) if together else own)
            at += size if together else 0
        return self.structure.unflatten(leaves)

    @cached_property
    def size(self) -> int:
        """How many numbers of the vector belong to the state."""
        return sum(math.prod(s) for s, together in zip(self.shapes, self.together, strict=True) if together)

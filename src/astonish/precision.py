"""How do we compute in double precision without changing JAX's settings for the rest of the program?

The maths takes whatever precision it is given. Numbers that people write are kept as NumPy's float64, and whatever runs
a learner (`run`, `Stream`, `Bank`) computes inside `double()`.
"""

from contextlib import AbstractContextManager
from typing import Any, cast

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from astonish.domain import Domain

Number = Array | float


def double() -> AbstractContextManager[Any]:
    """Inside, JAX computes in float64; outside, as before."""
    return cast(AbstractContextManager[Any], jax.enable_x64(True))


def number(value: Any, name: str = "", allowed: Domain | None = None) -> Array:
    """Floating-point numbers from what people write, in full precision, and checked where that is asked for.

    A JAX array stays what it is, and unchecked: its value may not be known yet.

    >>> number(-1.0, "std", Domain(0, open=True))
    Traceback (most recent call last):
    ValueError: std = -1 is not allowed; give a finite number above 0
    """
    if isinstance(value, jax.Array):
        return value.astype(jnp.result_type(float, value))
    return cast(Array, np.asarray(value, np.float64) if allowed is None else allowed.check(name, value))


def namespace(*values: Any) -> Any:
    """NumPy for plain numbers, so that nothing is lost; `jax.numpy` as soon as a JAX array is among them."""
    return jnp if any(isinstance(value, jax.Array) for value in values) else np


def as_double(tree: Any) -> Any:
    """The same tree with its floating-point leaves as NumPy's float64."""
    arrays = jax.tree.map(np.asarray, tree)
    return jax.tree.map(lambda leaf: leaf.astype(np.float64) if leaf.dtype.kind == "f" else leaf, arrays)


def limits(value: Any) -> Any:
    """Largest, smallest and spacing of floating-point numbers of the kind that computing with `value` gives."""
    return jnp.finfo(jnp.result_type(float, value))

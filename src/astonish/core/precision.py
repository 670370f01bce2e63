"""How do we compute in double precision without changing JAX's settings for the rest of the program?

The maths takes whatever precision it is given. Numbers that people write are kept as NumPy's float64, and whatever runs
a learner (`run`, `Stream`, `Bank`) computes inside `double()`, where settings of JAX that would get in the way are what
they are by default: NaN marks what is missing and infinity what is impossible, arrays of different types and ranks are
added up, and the same seed gives the same random numbers.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any, cast

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from astonish.core.domain import Domain

Number = Array | float
_SETTINGS: Any = (
    jax.debug_nans,
    jax.debug_infs,
    jax.numpy_dtype_promotion,
    jax.numpy_rank_promotion,
    jax.threefry_partitionable,
    jax.default_prng_impl,
    jax.default_matmul_precision,
)
RANDOM_BITS = "threefry2x32"  # where random numbers come from
_VALUES = (False, False, "standard", "allow", True, RANDOM_BITS, None)


def double() -> AbstractContextManager[Any]:
    """Inside, JAX computes in float64, with the settings that we need; outside, as before."""
    precision: Any = jax.enable_x64(True)
    a, b, c, d, e, f, g = _SETTINGS
    if (a.value, b.value, c.value, d.value, e.value, f.value, g.value) == _VALUES:  # which is faster than a loop
        return precision
    return _all_of(precision, *(setting(value) for setting, value in zip(_SETTINGS, _VALUES, strict=True)))


@contextmanager
def _all_of(*changes: AbstractContextManager[Any]) -> Iterator[None]:
    with ExitStack() as stack:
        for change in changes:
            stack.enter_context(change)
        yield


def number(value: Any, name: str = "", allowed: Domain | None = None) -> Array:
    """Floating-point numbers from what people write, in full precision, and checked where that is asked for.

    A JAX array stays what it is; under `jax.jit` and the like it is not checked, for its value is not known yet.

    >>> number(-1.0, "std", Domain(0, open=True))
    Traceback (most recent call last):
    ValueError: std = -1 is not allowed; give a finite number above 0
    """
    numbers = value if allowed is None else allowed.check(name, value)
    if isinstance(value, jax.Array):
        return value if jnp.issubdtype(value.dtype, jnp.floating) else value.astype(float)
    return cast(Array, np.asarray(numbers, np.float64))


def vector(value: Any, size: int, name: str, allowed: Domain | None = None) -> Array:
    """So many numbers, from one that stands for all or from one for each."""
    numbers = number(value, name, allowed)
    if np.shape(numbers)[-1:] not in ((), (size,)):
        raise ValueError(f"{name} has shape {np.shape(numbers)}; give one number, or {size} of them")
    return numbers + np.zeros(size)


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

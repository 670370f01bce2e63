"""How does a piece of maths become one piece of machine code?

The CPU compiler cuts a program into many small kernels, each launched on its own, and repeats shared arithmetic in all
that need it. For a learner's step, a few hundred operations on a few numbers, that costs more than the arithmetic. A
function marked `kernel` is kept together and its inputs are computed once. The mark does nothing on a GPU.
"""

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

import jax
from jax.experimental.xla_metadata import set_xla_metadata

_MARKS = {"inlineable": "false", "xla_cpu_small_call": "true"}
P = ParamSpec("P")
R = TypeVar("R")


def kernel(f: Callable[P, R]) -> Callable[P, R]:
    """`f`, compiled as a unit when it becomes part of a larger compiled function."""

    @jax.jit
    @wraps(f)
    def inner(*args: P.args, **kwargs: P.kwargs) -> R:
        with set_xla_metadata(**dict.fromkeys(_MARKS)):  # the marks are for the call, not for what is inside
            return f(*args, **kwargs)

    @wraps(f)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        if jax.default_backend() != "cpu":
            return f(*args, **kwargs)
        with set_xla_metadata(**_MARKS):
            result: R = inner(*args, **kwargs)
        return result

    return call

"""How is a loop over samples run fast on a CPU?

XLA compiles the steps of a loop for a CPU into dozens of kernels, and starting one takes longer than its few numbers
do. A call that carries two attributes becomes one kernel instead, which is 2 to 10 times as fast. `compiled` marks the
loops within a function in this way. There are loops that XLA refuses to compile so: those that sort, call LAPACK or
scatter, and some large ones. They are compiled without the attributes, as is what has classes of other people in it.
`ASTONISH_KERNELS=many` in the environment switches all of it off.

XLA also writes sums and products into every piece of a program that needs them, however long they took to compute; only
what is expensive by itself, such as a quotient, is computed once and kept. `once` is for what should be.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache, partial, update_wrapper, wraps
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array
from jax.core import Tracer, eval_jaxpr
from jax.errors import JaxRuntimeError
from jax.experimental.xla_metadata import set_xla_metadata
from jax.extend.core import Primitive, jaxprs_in_params
from jax.interpreters import ad, batching, mlir

Step = Callable[[Any, Any], tuple[Any, Any]]

ONE_KERNEL = {"inlineable": "false", "xla_cpu_small_call": "true"}
_REFUSED = ("UNIMPLEMENTED: ", "INTERNAL: Failed to materialize symbols")  # how errors begin that say so
_NEVER = {"cholesky", "triangular_solve", "lu", "eigh", "qr", "svd", "sort", "top_k", "fft", "ffi_call", "scatter-add"}
_marked: ContextVar[bool] = ContextVar("marked", default=False)  # whether the loops being traced are to be one kernel


def loop(step: Step, start: Any, rows: Any, length: Any = None) -> Any:
    """`jax.lax.scan` over the first `length` rows, or over all. What it gives for the others is zero.

    The length need not be known when this is compiled, so that series of many lengths can share a program. Where one is
    given there are no derivatives in reverse mode.
    """
    if not _marked.get():
        return _loop(step, start, rows, length)
    with _marking(False):
        traced, shapes = jax.make_jaxpr(partial(_loop, step), return_shape=True)(start, rows, length)
    given = traced.consts, jax.tree.leaves((start, rows, length))
    found = _plain(traced.jaxpr, *given) if _uses(traced.jaxpr, _NEVER) else _as_one_kernel(traced.jaxpr, *given)
    return jax.tree.unflatten(jax.tree.structure(shapes), found)


def _plain(jaxpr: Any, consts: list[Any], args: list[Any]) -> list[Any]:
    return eval_jaxpr(jaxpr, consts, *args)


def _as_one_kernel(jaxpr: Any, consts: list[Any], args: list[Any]) -> list[Any]:
    """What the loop gives. XLA ends the process if nothing in a kernel uses one of its arguments.

    So arguments are given back, and barriers keep the compiler from finding out that an argument is a constant, or
    the same as another, or that nobody wants it back.
    """

    def whole(consts: list[Any], args: list[Any]) -> Any:
        with set_xla_metadata(**dict.fromkeys(ONE_KERNEL)):  # the call carries the attributes, what is in it does not
            return _plain(jaxpr, consts, args), consts, args

    consts, args = jax.lax.optimization_barrier((consts, args))
    with set_xla_metadata(**ONE_KERNEL):
        found = jax.jit(whole)(consts, args)
    return jax.lax.optimization_barrier(found)[0]


def _loop(step: Step, start: Any, rows: Any, length: Any) -> Any:
    if length is None:
        return jax.lax.scan(step, start, rows)

    def row(at: Any) -> Any:
        return jax.tree.map(lambda leaf: jax.lax.dynamic_index_in_dim(leaf, at, keepdims=False), rows)

    def further(at: Any, so_far: tuple[Any, Any]) -> tuple[Any, Any]:
        state, recorded = so_far
        new, found = step(state, row(at))
        put = jax.lax.dynamic_update_index_in_dim
        return new, jax.tree.map(lambda column, value: put(column, value, at, 0), recorded, found)

    count = len(jax.tree.leaves(rows)[0])
    shapes = jax.eval_shape(step, start, row(0))[1]
    nothing = jax.tree.map(lambda leaf: jnp.zeros((count, *leaf.shape), leaf.dtype), shapes)
    return jax.lax.fori_loop(0, length, further, (jax.tree.map(jnp.asarray, start), nothing))


def compiled(function: Callable[..., Any], **options: Any) -> "Compiled":
    """`jax.jit`, with every `loop` within as one kernel where it runs on a CPU and XLA can do that.

    >>> total = compiled(lambda xs: loop(lambda sum, x: (sum + x, None), 0.0, xs)[0])
    >>> float(total(jnp.arange(4.0)))
    6.0
    """
    return Compiled(function, options)


class Compiled:
    """What `compiled` gives: it is called as the function is, and from several threads."""

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        self._one_kernel = jax.jit(_traced(function, True), **options)
        self._plain = jax.jit(_traced(function, False), **options)
        self._refused: set[Any] = set()  # for which shapes
        update_wrapper(self, function)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if jax.default_backend() != "cpu" or os.environ.get("ASTONISH_KERNELS") == "many":
            return self._plain(*args, **kwargs)
        ours = is_ours(jax.tree.structure((args, kwargs)))
        if not ours or (self._refused and _shapes(args, kwargs) in self._refused):
            return self._plain(*args, **kwargs)
        if any(isinstance(leaf, Tracer) for leaf in jax.tree.leaves((args, kwargs))):
            return self._plain(*args, **kwargs)  # in someone else's program, which a refusal would spoil
        try:
            return self._one_kernel(*args, **kwargs)
        except JaxRuntimeError as problem:
            if not str(problem).startswith(_REFUSED):
                raise
            self._refused.add(_shapes(args, kwargs))
        return self._plain(*args, **kwargs)

    def programs(self) -> int:
        """How many have been compiled."""
        sizes: Any = self._one_kernel, self._plain
        return sum(each._cache_size() for each in sizes)


@lru_cache(maxsize=4096)
def is_ours(structure: Any) -> bool:
    """Whether all classes and functions in a structure are the library's own.

    XLA may end the process where something about a single kernel is wrong. All of ours are tested; nobody else's are.
    """
    known = ("astonish", "builtins", "collections", "functools", "jax", "jaxlib", "numpy", "numpyro")
    node = structure.node_data()
    if node is not None:
        kind, others = node
        things = [kind, *(each for each in _flat(others) if callable(each))]
        if any(getattr(thing, "__module__", "builtins").partition(".")[0] not in known for thing in things):
            return False
    return all(map(is_ours, structure.children()))


def _flat(data: Any) -> list[Any]:
    return [each for part in data for each in _flat(part)] if isinstance(data, tuple | list) else [data]


def _traced(function: Callable[..., Any], marked: bool) -> Callable[..., Any]:
    @wraps(function)
    def traced(*args: Any, **kwargs: Any) -> Any:
        with _marking(marked):
            return function(*args, **kwargs)

    return traced


@contextmanager
def _marking(marked: bool) -> Iterator[None]:
    before = _marked.set(marked)
    try:
        yield
    finally:
        _marked.reset(before)


def _shapes(args: Any, kwargs: Any) -> Any:
    """What a program is compiled for."""
    leaves, structure = jax.tree.flatten((args, kwargs))
    return structure, tuple(map(_type, leaves))


def _type(leaf: Any) -> Any:
    try:
        return jax.typeof(leaf)
    except TypeError:  # no array: a static argument
        return leaf


def _uses(jaxpr: Any, names: set[str]) -> bool:
    """Whether one of these primitives is anywhere in it."""
    for equation in jaxpr.eqns:
        if equation.primitive.name in names or any(_uses(part, names) for part in jaxprs_in_params(equation.params)):
            return True
    return False


_once = Primitive("computed_once")


def once(x: Array) -> Array:
    """The same floating-point numbers, computed once on a CPU for all who need them."""
    found: Array = _once.bind(x)
    return found


def _quotient(x: Array) -> Array:
    """The numbers divided by 1, of which XLA cannot know that it is 1: it would be NaN for NaN."""
    return jax.lax.div(x, jax.lax.select(jax.lax.eq(x, x), jax.lax.full_like(x, 1), x))


_once.def_impl(lambda x: x)
_once.def_abstract_eval(lambda x: x)
ad.deflinear2(_once, lambda cotangent, _: [once(cotangent)])
batching.defvectorized(_once)
mlir.register_lowering(_once, mlir.lower_fun(lambda x: x, multiple_results=False))
mlir.register_lowering(_once, mlir.lower_fun(_quotient, multiple_results=False), platform="cpu")

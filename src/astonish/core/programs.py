"""Programs: loops that run as one kernel, functions carried out by NumPy without a compiler, and states in few arrays.

XLA compiles the steps of a loop for a CPU into dozens of kernels, and starting one takes longer than its few numbers
do. A call that carries two attributes becomes one kernel instead, which is 2 to 10 times as fast. `compiled` marks the
loops within a function in this way. There are loops that XLA refuses to compile so: those that sort, call LAPACK or
scatter, and some large ones. They are compiled without the attributes, as is what has classes of other people in it.
`ASTONISH_KERNELS=many` in the environment switches all of it off.

XLA also writes sums and products into every piece of a program that needs them, however long they took to compute; only
what is expensive by itself, such as a quotient, is computed once and kept. `once` is for what should be.

Compiling takes seconds for what is then computed in a millisecond, and keeps tens of megabytes. What is asked for by a
click, such as the explanation of a trial, is `interpreted` instead: JAX traces the function once for each type of its
inputs, and NumPy carries out the operations of that trace (a jaxpr) one after the other, in milliseconds. An operation
for which there is no rule here is computed by JAX, by itself.
"""

import math
import operator
import os
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial, update_wrapper, wraps
from typing import Any
from weakref import WeakKeyDictionary

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.core import Tracer, eval_jaxpr
from jax.errors import JaxRuntimeError, JAXTypeError
from jax.experimental.xla_metadata import set_xla_metadata
from jax.extend.core import ClosedJaxpr, Literal, Primitive, jaxprs_in_params
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
    step = _with_loops(step, False)
    traced, shapes = jax.make_jaxpr(partial(_loop, step), return_shape=True)(start, rows, length)
    jaxpr, consts, args = traced.jaxpr, traced.consts, jax.tree.leaves((start, rows, length))
    if _uses(jaxpr, _NEVER):
        return jax.tree.unflatten(jax.tree.structure(shapes), eval_jaxpr(jaxpr, consts, *args))

    def whole(consts: list[Any], args: list[Any]) -> Any:
        with set_xla_metadata(**dict.fromkeys(ONE_KERNEL)):  # the call carries the attributes, what is in it does not
            return eval_jaxpr(jaxpr, consts, *args), consts, args

    # XLA ends the process if nothing in a kernel uses one of its arguments. So arguments are given back, and barriers
    # keep the compiler from finding out that one is a constant, or the same as another, or that nobody wants it back.
    consts, args = jax.lax.optimization_barrier((consts, args))
    with set_xla_metadata(**ONE_KERNEL):
        kernel = jax.jit(whole)(consts, args)
    return jax.tree.unflatten(jax.tree.structure(shapes), jax.lax.optimization_barrier(kernel)[0])


def _loop(step: Step, start: Any, rows: Any, length: Any) -> Any:
    if length is None:
        return jax.lax.scan(step, start, rows)

    def row(at: Any) -> Any:
        return jax.tree.map(lambda leaf: jax.lax.dynamic_index_in_dim(leaf, at, keepdims=False), rows)

    def further(at: Any, so_far: tuple[Any, Any]) -> tuple[Any, Any]:
        state, recorded = so_far
        new, answers = step(state, row(at))
        put = jax.lax.dynamic_update_index_in_dim
        return new, jax.tree.map(lambda column, value: put(column, value, at, 0), recorded, answers)

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
        self._one_kernel = jax.jit(_with_loops(function, True), **options)
        self._plain = jax.jit(_with_loops(function, False), **options)
        self._refused: set[Any] = set()  # for which structures and types
        update_wrapper(self, function)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if jax.default_backend() != "cpu" or os.environ.get("ASTONISH_KERNELS") == "many":
            return self._plain(*args, **kwargs)
        leaves, structure = jax.tree.flatten((args, kwargs))
        traced = any(isinstance(leaf, Tracer) for leaf in leaves)  # a refusal would spoil someone else's program
        if traced or not is_ours(structure) or (self._refused and (structure, *map(_type, leaves)) in self._refused):
            return self._plain(*args, **kwargs)
        try:
            return self._one_kernel(*args, **kwargs)
        except JaxRuntimeError as problem:
            if not str(problem).startswith(_REFUSED):
                raise
            self._refused.add((structure, *map(_type, leaves)))
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
    tested = ("astonish", "builtins", "collections", "functools", "jax", "jaxlib", "numpy", "numpyro")
    if (node := structure.node_data()) is not None:
        kind, others = node
        for thing in (kind, *filter(callable, jax.tree.leaves(others, is_leaf=callable))):
            if getattr(thing, "__module__", "builtins").partition(".")[0] not in tested:
                return False
    return all(map(is_ours, structure.children()))


def _with_loops(function: Callable[..., Any], marked: bool) -> Callable[..., Any]:
    """The function, with the loops within it to be one kernel each, or not."""

    @wraps(function)
    def traced(*args: Any, **kwargs: Any) -> Any:
        before = _marked.set(marked)
        try:
            return function(*args, **kwargs)
        finally:
            _marked.reset(before)

    return traced


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
    kept: Array = _once.bind(x)
    return kept


def _quotient(x: Array) -> Array:
    """The numbers divided by 1, of which XLA cannot know that it is 1: it would be NaN for NaN."""
    return jax.lax.div(x, jax.lax.select(jax.lax.eq(x, x), jax.lax.full_like(x, 1), x))


_once.def_impl(lambda x: x)
_once.def_abstract_eval(lambda x: x)
ad.deflinear2(_once, lambda cotangent, _: [once(cotangent)])
batching.defvectorized(_once)
mlir.register_lowering(_once, mlir.lower_fun(lambda x: x, multiple_results=False))
mlir.register_lowering(_once, mlir.lower_fun(_quotient, multiple_results=False), platform="cpu")


CALLS = {"jit": "jaxpr", "pjit": "jaxpr", "closed_call": "call_jaxpr", "custom_jvp_call": "call_jaxpr",
         "custom_vjp_call": "call_jaxpr", "custom_vmap_call": "call", "checkpoint": "jaxpr"}  # fmt: skip
Operation = Callable[..., Any]


def interpreted(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same function of trees of arrays, carried out by NumPy; it gives NumPy's arrays and scalars.

    Within a program that JAX traces, and where the function looks at values and so cannot be traced, it is called as it
    is.

    >>> double = interpreted(lambda x: {"twice": jnp.square(x) / x + x})
    >>> {name: float(value) for name, value in double(2.0).items()}
    {'twice': 4.0}
    """
    jitted = jax.jit(function)  # never compiled: it remembers what was traced

    @wraps(function)
    def computed(*args: Any) -> Any:
        leaves = jax.tree.leaves(args)
        if any(isinstance(leaf, Tracer) for leaf in leaves):
            return function(*args)
        try:
            trace: Any = jitted.trace(*args)
        except JAXTypeError:
            return jax.tree.map(_plain, function(*args))
        with np.errstate(all="ignore"):  # NaN and infinity mean something
            given = [_plain(leaf, aval) for leaf, aval in zip(leaves, trace.jaxpr.in_avals, strict=True)]
            outputs = _program(trace.jaxpr)(*given)
        return jax.tree.unflatten(jax.tree.structure(trace.out_info), outputs)

    return computed


_programs: "WeakKeyDictionary[Any, Callable[..., list[Any]]]" = WeakKeyDictionary()  # while JAX remembers a trace


def _program(closed: Any) -> Callable[..., list[Any]]:
    """Make a jaxpr a function from its inputs to its outputs, kept for the next call and for who else calls it."""
    if closed in _programs:
        return _programs[closed]
    jaxpr, constants = (closed.jaxpr, closed.consts) if isinstance(closed, ClosedJaxpr) else (closed, ())
    template: list[Any] = []  # the values of all variables, None where they depend on the inputs
    places: dict[Any, int] = {}

    def place(variable: Any, value: Any = None) -> int:
        """Where the value of a variable stands; that of a number written in the jaxpr is put there."""
        if isinstance(variable, Literal):
            aval: Any = variable.aval
            template.append(_plain(variable.val, aval))
            return len(template) - 1
        if variable not in places:
            places[variable] = len(template)
            template.append(value)
        return places[variable]

    for variable, value in zip(jaxpr.constvars, constants, strict=True):
        place(variable, _plain(value))
    inputs = list(map(place, jaxpr.invars))
    steps = [(*_operation(e), list(map(place, e.invars)), list(map(place, e.outvars))) for e in jaxpr.eqns]
    outputs = list(map(place, jaxpr.outvars))

    def program(*given: Any) -> list[Any]:
        values = template.copy()
        for at, value in zip(inputs, given, strict=True):
            values[at] = value
        for operation, is_list, needed, made in steps:
            result = operation(*[values[at] for at in needed])
            if is_list:
                for at, value in zip(made, result, strict=True):
                    values[at] = value
            else:
                values[made[0]] = result
        return [values[at] for at in outputs]

    _programs[closed] = program
    return program


def _operation(equation: Any) -> tuple[Operation, bool]:
    """Give what an equation of a jaxpr does to its inputs, and whether that gives a list."""
    primitive, params = equation.primitive, equation.params
    name, variables = primitive.name, [*equation.invars, *equation.outvars]
    if name in CALLS:
        return _program(params[CALLS[name]]), True
    if name in _CONTROL and all(_is_number(variable.aval) for variable in variables):
        return _CONTROL[name](**params), True
    if all(_is_number(variable.aval) for variable in variables):
        of_floats = all(variable.aval.dtype.kind == "f" for variable in equation.invars)
        if rule := ELEMENTWISE.get(name) or (of_floats and _OF_FLOATS.get(name)):
            return rule, False
        if name in RULES:
            return partial(RULES[name], **params), False
    compiled = _by_jax(primitive, tuple(params.items()))
    if primitive.multiple_results:
        return lambda *values: list(map(_plain, compiled(*values))), True
    return lambda *values: _plain(compiled(*values)), False


@lru_cache(maxsize=512)
def _by_jax(primitive: Any, params: tuple[tuple[str, Any], ...]) -> Operation:
    """An operation as JAX computes it, compiled once and kept: some, such as `random_gamma`, take .3 s to compile."""
    return jax.jit(partial(primitive.bind, **dict(params)))


def _plain(value: Any, like: Any = None) -> Any:
    """An array of NumPy, or one of its scalars, which are faster; keys of random numbers stay as they are.

    like: what has its type, if it may have another.
    """
    if isinstance(value, jax.Array) and not _is_number(value):
        return value
    return np.asarray(value, None if like is None else like.dtype)[()]


def _is_number(array: Any) -> bool:
    return not jnp.issubdtype(array.dtype, jax.dtypes.extended)


def _while(cond_jaxpr: Any, body_jaxpr: Any, cond_nconsts: int, body_nconsts: int) -> Operation:
    test, body, begin = _program(cond_jaxpr), _program(body_jaxpr), cond_nconsts + body_nconsts

    def repeat(*values: Any) -> list[Any]:
        in_test, in_body, state = values[:cond_nconsts], values[cond_nconsts:begin], list(values[begin:])
        while np.any(goes_on := test(*in_test, *state)[0]):
            new = body(*in_body, *state)
            if np.ndim(goes_on):  # loops side by side, of which those that have ended stay as they are
                wide = [np.reshape(goes_on, goes_on.shape + (1,) * (np.ndim(leaf) - goes_on.ndim)) for leaf in new]
                new = list(map(np.where, wide, new, state))
            state = new
        return state

    return repeat


def _scan(jaxpr: Any, length: int, reverse: bool, num_consts: int, num_carry: int, **_: Any) -> Operation:
    program, begin = _program(jaxpr), num_consts + num_carry

    def through(*values: Any) -> list[Any]:
        state, rows = list(values[num_consts:begin]), []
        for at in reversed(range(length)) if reverse else range(length):
            made = program(*values[:num_consts], *state, *(part[at] for part in values[begin:]))
            state = made[:num_carry]
            rows.append(made[num_carry:])
        rows = rows[::-1] if reverse else rows
        avals = enumerate(jaxpr.out_avals[num_carry:])
        return [*state, *(np.array([row[k] for row in rows], of.dtype).reshape(length, *of.shape) for k, of in avals)]

    return through


def _cond(branches: Any, **_: Any) -> Operation:
    programs = list(map(_program, branches))
    return lambda which, *values: programs[min(max(int(which), 0), len(programs) - 1)](*values)


def _broadcast(value: Any, *_: Any, shape: Any, broadcast_dimensions: Any, **__: Any) -> Any:
    inner = [1] * len(shape)
    for axis, size in zip(broadcast_dimensions, np.shape(value), strict=True):
        inner[axis] = size
    return np.broadcast_to(np.reshape(value, inner), shape)


def _convert(x: Any, new_dtype: Any, **_: Any) -> Any:
    if x.dtype.kind == "f" and new_dtype.kind in "iu":  # NumPy has other whole numbers for NaN and large ones
        return _plain(jax.lax.convert_element_type(jnp.asarray(x), new_dtype))
    return x.astype(new_dtype)


def _dynamic_slice(x: Any, *start: Any, slice_sizes: Any) -> Any:
    begin = [min(max(int(at), 0), most - size) for at, most, size in zip(start, x.shape, slice_sizes, strict=True)]
    return x[tuple(slice(at, at + size) for at, size in zip(begin, slice_sizes, strict=True))]


def _dot(a: Any, b: Any, dimension_numbers: Any, **_: Any) -> Any:
    """A sum over pairs of axes; batches are pairs too, but kept, and come first."""
    (left, right), (left_batch, right_batch) = dimension_numbers
    of_a, of_b = list(range(a.ndim)), [a.ndim + axis for axis in range(b.ndim)]
    for one, other in zip((*left, *left_batch), (*right, *right_batch), strict=True):
        of_b[other] = of_a[one]
    kept = [of_a[axis] for axis in left_batch]
    kept += [axis for k, axis in enumerate(of_a) if k not in (*left, *left_batch)]
    kept += [axis for k, axis in enumerate(of_b) if k not in (*right, *right_batch)]
    return np.einsum(a, of_a, b, of_b, kept)[()]


_CONTROL: dict[str, Operation] = {"while": _while, "cond": _cond, "scan": _scan}
ELEMENTWISE: dict[str, Operation] = {
    "add": operator.add, "add_any": operator.add, "sub": operator.sub, "mul": operator.mul, "neg": operator.neg,
    "max": np.maximum, "min": np.minimum, "abs": np.abs, "sign": np.sign, "square": np.square,
    "select_n": lambda which, *cases: np.choose(which, cases) if np.ndim(which) else cases[int(which)],
    "lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge, "eq": operator.eq, "ne": operator.ne,
    "and": operator.and_, "or": operator.or_, "xor": operator.xor, "not": operator.invert,
    "shift_left": np.left_shift, "shift_right_arithmetic": np.right_shift,
    "stop_gradient": lambda x: x, "copy": lambda x: x, "computed_once": lambda x: x,
}  # fmt: skip
_OF_FLOATS: dict[str, Operation] = {  # which mean something else for whole numbers, or nothing
    "div": np.true_divide, "pow": np.power, "sqrt": np.sqrt, "exp": np.exp, "expm1": np.expm1, "log": np.log,
    "log1p": np.log1p, "sin": np.sin, "cos": np.cos, "tanh": np.tanh, "atan2": np.arctan2, "floor": np.floor,
    "is_finite": np.isfinite,
}  # fmt: skip
RULES: dict[str, Operation] = {
    "bitcast_convert_type": lambda x, new_dtype, **_: x.view(new_dtype),
    "broadcast_in_dim": _broadcast,
    "concatenate": lambda *parts, dimension: np.concatenate(parts, axis=dimension),
    "convert_element_type": _convert,
    "dot_general": _dot,
    "dynamic_slice": _dynamic_slice,
    "integer_pow": lambda x, y: x**y if y >= 0 else 1 / x**-y,
    "iota": lambda *_, dtype, shape, dimension, **__: np.indices(shape, dtype)[dimension],
    "platform_index": lambda *_, platforms, **__: np.int32(  # which of several ways is for processors
        next(k for k, names in enumerate(platforms) if names is None or "cpu" in names)
    ),
    "reduce_and": lambda x, axes, **_: np.all(x, axis=axes),
    "reduce_max": lambda x, axes, **_: np.max(x, axis=axes),
    "reduce_min": lambda x, axes, **_: np.min(x, axis=axes),
    "reduce_or": lambda x, axes, **_: np.any(x, axis=axes),
    "reduce_sum": lambda x, axes, **_: np.sum(x, axis=axes),
    "reshape": lambda x, *_, new_sizes, **__: np.reshape(x, new_sizes),
    "slice": lambda x, start_indices, limit_indices, strides: x[
        tuple(map(slice, start_indices, limit_indices, strides or (1,) * len(start_indices)))
    ],
    "squeeze": lambda x, dimensions: np.squeeze(x, dimensions)[()],
    "stack": lambda *parts, axis, **_: np.stack(parts, axis),
    "transpose": lambda x, permutation: np.transpose(x, permutation),
}


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

    def pack(self, state: Any, numbers: Any = jnp) -> tuple[Any, list[Any]]:
        """Give the small leaves in one vector, made by `jax.numpy` or NumPy, and the others as they are."""
        leaves = list(zip(jax.tree.leaves(state), self.together, strict=True))
        small = [numbers.ravel(leaf) for leaf, together in leaves if together]
        return numbers.concatenate([numbers.zeros(0), *small]), [leaf for leaf, together in leaves if not together]

    def unpack(self, vector: Any, others: list[Any]) -> Any:
        """The state; numbers in the vector beyond those of the state are left alone. Or many: a vector in each row."""
        rest, at, leaves = iter(others), 0, []
        for shape, together in zip(self.shapes, self.together, strict=True):
            size = math.prod(shape)
            part = vector[..., at : at + size] if together else next(rest)
            leaves.append(part.reshape((*vector.shape[:-1], *shape)) if together else part)
            at += size if together else 0
        return self.structure.unflatten(leaves)

    @cached_property
    def size(self) -> int:
        """How many numbers of the vector belong to the state."""
        return sum(math.prod(s) for s, together in zip(self.shapes, self.together, strict=True) if together)

"""How is a function of JAX computed a few times, without being compiled?

XLA takes seconds to compile what is then computed in a millisecond, and keeps tens of megabytes for it. What is asked
for by a click, such as the explanation of a trial, is interpreted instead. JAX traces the function once for each type
of its inputs; NumPy then carries out the operations of that trace (a jaxpr) one after the other, which takes
milliseconds. An operation for which there is no rule here is computed by JAX, by itself.
"""

import operator
from collections.abc import Callable
from functools import lru_cache, partial, wraps
from typing import Any
from weakref import WeakKeyDictionary

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jax.errors import JAXTypeError
from jax.extend.core import ClosedJaxpr, Literal

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
            found = _program(trace.jaxpr)(*given)
        return jax.tree.unflatten(jax.tree.structure(trace.out_info), found)

    return computed


class _Program:
    """A jaxpr as a list of operations; called with its inputs, it gives the list of its outputs."""

    def __init__(self, closed: Any) -> None:
        jaxpr, constants = (closed.jaxpr, closed.consts) if isinstance(closed, ClosedJaxpr) else (closed, ())
        self._values: list[Any] = []  # of all variables, as far as they are known before the inputs are
        self._places: dict[Any, int] = {}
        for variable, value in zip(jaxpr.constvars, constants, strict=True):
            self._values[self._place(variable)] = _plain(value)
        self._inputs = list(map(self._place, jaxpr.invars))
        self._steps = [
            (*_operation(each), list(map(self._place, each.invars)), list(map(self._place, each.outvars)))
            for each in jaxpr.eqns
        ]
        self._outputs = list(map(self._place, jaxpr.outvars))
        self._places.clear()

    def _place(self, variable: Any) -> int:
        """Where the value of a variable stands; that of a number written in the jaxpr is put there."""
        if isinstance(variable, Literal):
            aval: Any = variable.aval
            self._values.append(_plain(np.asarray(variable.val, aval.dtype)))
            return len(self._values) - 1
        if variable not in self._places:
            self._places[variable] = len(self._values)
            self._values.append(None)
        return self._places[variable]

    def __call__(self, *given: Any) -> list[Any]:
        values = self._values.copy()
        for at, value in zip(self._inputs, given, strict=True):
            values[at] = value
        for operation, is_list, needed, made in self._steps:
            found = operation(*[values[at] for at in needed])
            if is_list:
                for at, value in zip(made, found, strict=True):
                    values[at] = value
            else:
                values[made[0]] = found
        return [values[at] for at in self._outputs]


_programs: "WeakKeyDictionary[Any, _Program]" = WeakKeyDictionary()  # as long as JAX remembers what it traced


def _program(closed: Any) -> _Program:
    """The program of a jaxpr; those of what is called in many places are shared."""
    program = _programs.get(closed)
    if program is None:
        program = _programs[closed] = _Program(closed)
    return program


def _operation(equation: Any) -> tuple[Operation, bool]:
    """What an equation of a jaxpr does to its inputs, and whether that gives a list."""
    primitive, params = equation.primitive, equation.params
    name, variables = primitive.name, [*equation.invars, *equation.outvars]
    if name in CALLS:
        return _program(params[CALLS[name]]), True
    if name in _CONTROL:
        return _CONTROL[name](**params), True
    rule = None
    if all(_is_number(each.aval) for each in variables):
        of_floats = all(each.aval.dtype.kind == "f" for each in equation.invars)
        rule = ELEMENTWISE.get(name) or (of_floats and _OF_FLOATS.get(name)) or _RULES.get(name, _none)(**params)
    if rule:
        return rule, False
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


def _while(cond_jaxpr: Any, body_jaxpr: Any, cond_nconsts: int, body_nconsts: int, **_: Any) -> Operation:
    test, body = _program(cond_jaxpr), _program(body_jaxpr)

    def repeat(*values: Any) -> list[Any]:
        begin = cond_nconsts + body_nconsts
        in_test, in_body, state = values[:cond_nconsts], values[cond_nconsts:begin], list(values[begin:])
        while np.any(goes_on := test(*in_test, *state)[0]):
            new = body(*in_body, *state)
            if np.ndim(goes_on):  # loops side by side, of which those that have ended stay as they are
                new = [_rows(goes_on, *each) for each in zip(new, state, strict=True)]
            state = new
        return state

    return repeat


def _rows(which: Any, yes: Any, no: Any) -> Any:
    return np.where(np.reshape(which, which.shape + (1,) * (np.ndim(yes) - which.ndim)), yes, no)


def _cond(branches: Any, **_: Any) -> Operation:
    programs = list(map(_program, branches))
    return lambda which, *values: programs[min(max(int(which), 0), len(programs) - 1)](*values)


def _select(which: Any, *cases: Any) -> Any:
    return np.choose(which, cases) if np.ndim(which) else cases[int(which)]


def _broadcast(shape: Any, broadcast_dimensions: Any, **_: Any) -> Operation:
    def broadcast(value: Any, *_: Any) -> Any:
        inner = [1] * len(shape)
        for axis, size in zip(broadcast_dimensions, np.shape(value), strict=True):
            inner[axis] = size
        return np.broadcast_to(np.reshape(value, inner), shape)

    return broadcast


def _convert(new_dtype: Any, **_: Any) -> Operation:
    def convert(x: Any) -> Any:
        if x.dtype.kind == "f" and new_dtype.kind in "iu":  # NumPy has other whole numbers for NaN and large ones
            return _plain(jax.lax.convert_element_type(jnp.asarray(x), new_dtype))
        return x.astype(new_dtype)

    return convert


def _integer_pow(y: int, **_: Any) -> Operation:
    return (lambda x: x**y) if y >= 0 else lambda x: 1 / x**-y


def _slice(start_indices: Any, limit_indices: Any, strides: Any, **_: Any) -> Operation:
    steps = strides or (1,) * len(start_indices)
    where = tuple(map(slice, start_indices, limit_indices, steps))
    return lambda x: x[where]


def _dynamic_slice(slice_sizes: Any, **_: Any) -> Operation:
    def part(x: Any, *start: Any) -> Any:
        begin = [min(max(int(at), 0), most - size) for at, most, size in zip(start, x.shape, slice_sizes, strict=True)]
        return x[tuple(slice(at, at + size) for at, size in zip(begin, slice_sizes, strict=True))]

    return part


def _dot(dimension_numbers: Any, **_: Any) -> Operation:
    """A sum over pairs of axes; batches are pairs too, but kept, and come first."""
    (left, right), (left_batch, right_batch) = dimension_numbers

    def dot(a: Any, b: Any) -> Any:
        of_a, of_b = list(range(a.ndim)), [a.ndim + axis for axis in range(b.ndim)]
        for one, other in zip((*left, *left_batch), (*right, *right_batch), strict=True):
            of_b[other] = of_a[one]
        kept = [of_a[axis] for axis in left_batch]
        kept += [axis for k, axis in enumerate(of_a) if k not in (*left, *left_batch)]
        kept += [axis for k, axis in enumerate(of_b) if k not in (*right, *right_batch)]
        return np.einsum(a, of_a, b, of_b, kept)[()]

    return dot


def _iota(dtype: Any, shape: Any, dimension: int, **_: Any) -> Operation:
    along = [-1 if axis == dimension else 1 for axis in range(len(shape))]
    counted = np.broadcast_to(np.arange(shape[dimension], dtype=dtype).reshape(along), shape)
    return lambda *_: counted


def _platform_index(platforms: Any, **_: Any) -> Operation:
    """Which of several ways is for processors."""
    own = np.int32(next(k for k, names in enumerate(platforms) if names is None or "cpu" in names))
    return lambda *_: own


def _none(**_: Any) -> None:
    """No rule."""


def _along(function: Operation) -> Callable[..., Operation]:
    """A rule for what combines the numbers along axes."""
    return lambda axes, **_: lambda x: function(x, axis=axes)


_CONTROL: dict[str, Callable[..., Operation]] = {"while": _while, "cond": _cond}
ELEMENTWISE: dict[str, Operation] = {
    "add": operator.add, "add_any": operator.add, "sub": operator.sub, "mul": operator.mul, "neg": operator.neg,
    "max": np.maximum, "min": np.minimum, "abs": np.abs, "sign": np.sign, "square": np.square, "select_n": _select,
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
_RULES: dict[str, Callable[..., Operation | None]] = {
    "bitcast_convert_type": lambda new_dtype, **_: lambda x: x.view(new_dtype),
    "broadcast_in_dim": _broadcast,
    "concatenate": lambda dimension, **_: lambda *parts: np.concatenate(parts, axis=dimension),
    "convert_element_type": _convert,
    "dot_general": _dot,
    "dynamic_slice": _dynamic_slice,
    "integer_pow": _integer_pow,
    "iota": _iota,
    "platform_index": _platform_index,
    "reduce_and": _along(np.all),
    "reduce_max": _along(np.max),
    "reduce_min": _along(np.min),
    "reduce_or": _along(np.any),
    "reduce_sum": _along(np.sum),
    "reshape": lambda new_sizes, **_: lambda x: np.reshape(x, new_sizes),
    "slice": _slice,
    "squeeze": lambda dimensions, **_: lambda x: np.squeeze(x, dimensions)[()],
    "stack": lambda axis, **_: lambda *parts: np.stack(parts, axis),
    "transpose": lambda permutation, **_: lambda x: np.transpose(x, permutation),
}

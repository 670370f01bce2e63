"""How does a program of JAX (a jaxpr) become LLVM code?

Each operation has a rule: elementwise ones in `arithmetic`, reading and writing at computed places in `indexing`, the
others here. Calls are written out where they stand. What has no rule is refused (`UnsupportedError`), never guessed.
"""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import ClosedJaxpr, Literal
from jax.extend.random import threefry_prng_impl

from astonish.core.programs import CALLS
from astonish.engines.native import arithmetic, indexing
from astonish.engines.native.values import (
    Lowered,
    Shape,
    UnsupportedError,
    Value,
    allocated,
    constant,
    halved,
    joined,
    lowered,
    moved,
    positions,
)

LONGEST = 16  # steps of a loop within a step
LARGEST = 512  # numbers in an array; where there are more, XLA is as good
_LAPACK = ("cholesky", "triangular_solve", "lu", "lu_pivots_to_permutation")  # of matrices that are not small


class Lowering:
    """Writes jaxprs into a function of LLVM, one operation after the other."""

    def __init__(self, builder: Any) -> None:
        self.builder = builder

    def run(self, closed: Any, values: Sequence[Value]) -> list[Value]:
        """What a jaxpr gives for these values."""
        jaxpr, constants = (closed.jaxpr, closed.consts) if isinstance(closed, ClosedJaxpr) else (closed, ())
        known: dict[Any, Value] = dict(zip(jaxpr.constvars, map(np.asarray, constants), strict=True))
        known |= zip(jaxpr.invars, values, strict=True)

        def read(variable: Any) -> Value:
            is_literal = isinstance(variable, Literal)
            return np.asarray(variable.val, variable.aval.dtype) if is_literal else known[variable]

        for equation in jaxpr.eqns:
            found = self._operation(equation, list(map(read, equation.invars)))
            known |= zip(equation.outvars, found, strict=True)
        return list(map(read, jaxpr.outvars))

    def _operation(self, equation: Any, values: list[Value]) -> list[Value]:
        name, params = equation.primitive.name, equation.params
        if any(np.prod(variable.aval.shape) > LARGEST for variable in equation.outvars):
            raise UnsupportedError("large arrays", expected=True)
        if name in CALLS:
            return self.run(params[CALLS[name]], values)
        if name in arithmetic.RULES:
            return [self.do(name, *values, **params)]
        if name == "scan":
            return _scan(self, equation, values)
        if name not in _RULES:
            raise UnsupportedError(f"the operation {name!r}", expected=name in _LAPACK)
        found = _RULES[name](self, *values, **params, out=equation.outvars[0].aval)
        return found if isinstance(found, list) else [found]

    def do(self, name: str, *values: Value, **params: Any) -> Value:
        """An elementwise operation."""
        return arithmetic.elementwise(name, self.builder, values, **params)

    def moved(self, value: Value, where: Any) -> Value:
        """An array whose numbers are those at the given positions of another one."""
        return moved(self.builder, value, where)

    def combined(self, name: str, value: Value, axes: Any) -> Lowered:
        """All numbers along these axes, combined by an operation of two."""
        others = [k for k in range(len(value.shape)) if k not in axes]
        rows = positions(value.shape).transpose([*axes, *others]).reshape(-1, *[value.shape[k] for k in others])
        return halved(self.builder, lowered(self.moved(value, rows)), lambda a, b: lowered(self.do(name, a, b)))


class _Variables:
    """Arrays that change as a loop goes on, or differ between branches."""

    def __init__(self, low: Lowering, avals: Sequence[Any]) -> None:
        self._builder = low.builder
        self._like = [constant(np.zeros(_shape(a), np.uint32 if _is_key(a) else a.dtype)) for a in avals]
        self._places = [allocated(low.builder, one.value.type) for one in self._like]

    def set(self, values: Sequence[Value]) -> None:
        for value, place in zip(values, self._places, strict=True):
            self._builder.store(lowered(value).value, place)

    def get(self) -> list[Value]:
        pairs = zip(self._like, self._places, strict=True)
        return [one._replace(value=self._builder.load(place, typ=one.value.type)) for one, place in pairs]


def _is_key(aval: Any) -> bool:
    """Whether these are keys of random numbers, which are held as the two numbers that each of them is."""
    return jnp.issubdtype(aval.dtype, jax.dtypes.prng_key)


def _shape(aval: Any) -> Shape:
    return (*aval.shape, 2) if _is_key(aval) else aval.shape


def _while(
    low: Lowering, *values: Value, cond_jaxpr: Any, body_jaxpr: Any, cond_nconsts: int, body_nconsts: int, **_: Any
) -> list[Value]:
    begin = cond_nconsts + body_nconsts
    in_test, in_body, start = values[:cond_nconsts], values[cond_nconsts:begin], values[begin:]
    builder, variables = low.builder, _Variables(low, body_jaxpr.out_avals)
    variables.set(start)
    test, body, end = map(builder.append_basic_block, ("test", "body", "end"))
    builder.branch(test)
    builder.position_at_end(test)
    before = variables.get()
    goes_on = lowered(low.run(cond_jaxpr, [*in_test, *before])[0])
    builder.cbranch(low.combined("or", goes_on, range(len(goes_on.shape))).value, body, end)
    builder.position_at_end(body)
    after = low.run(body_jaxpr, [*in_body, *before])
    if goes_on.size > 1:  # loops side by side, of which those that have ended stay as they are
        after = [_rows(low, goes_on, new, old) for new, old in zip(after, before, strict=True)]
    variables.set(after)
    builder.branch(test)
    builder.position_at_end(end)
    return variables.get()


def _scan(low: Lowering, equation: Any, values: Sequence[Value]) -> list[Value]:
    """A loop whose length is known, written out.

    What is carried, and what runs along the loop, is told by the shapes outside and inside: their names have changed.
    """
    params = equation.params
    body, length = params["jaxpr"], params["length"]
    inner = body.jaxpr if isinstance(body, ClosedJaxpr) else body
    if length > LONGEST:
        raise UnsupportedError("a loop within a step", expected=True)
    pairs = zip(equation.outvars, inner.outvars, strict=True)
    carried = sum(outside.aval.shape == inside.aval.shape for outside, inside in pairs)
    pairs = zip(equation.invars, inner.invars, strict=True)
    begin = sum(outside.aval.shape == inside.aval.shape for outside, inside in pairs)
    consts, carry, columns = values[: begin - carried], list(values[begin - carried : begin]), values[begin:]
    rows: list[Any] = [None] * length
    for k in reversed(range(length)) if params["reverse"] else range(length):
        row = [low.moved(column, positions(column.shape)[k]) for column in columns]
        found = low.run(body, [*consts, *carry, *row])
        carry, rows[k] = found[:carried], found[carried:]
    return [*carry, *(_stack(low, *column, axis=0) for column in zip(*rows, strict=True))]


def _rows(low: Lowering, which: Lowered, yes: Value, no: Value) -> Value:
    """Whole rows of one array or of another."""
    return low.do("select_n", which.reshaped((*which.shape, *[1] * (len(yes.shape) - len(which.shape)))), no, yes)


def _cond(low: Lowering, which: Value, *values: Value, branches: Any, **_: Any) -> list[Value]:
    if not isinstance(which, Lowered):
        return low.run(branches[min(max(int(which), 0), len(branches) - 1)], values)
    builder, variables = low.builder, _Variables(low, branches[0].out_avals)
    *blocks, end = [builder.append_basic_block("branch") for _ in (*branches, None)]
    switch = builder.switch(which.value, blocks[-1])
    for k, (block, branch) in enumerate(zip(blocks, branches, strict=True)):
        if k < len(blocks) - 1:
            switch.add_case(which.value.type(k), block)
        builder.position_at_end(block)
        variables.set(low.run(branch, values))
        builder.branch(end)
    builder.position_at_end(end)
    return variables.get()


def _platform_index(_: Lowering, platforms: Any, **__: Any) -> Value:
    """Which of several ways is for processors."""
    return np.asarray(next(k for k, names in enumerate(platforms) if names is None or "cpu" in names), np.int32)


def _broadcast(low: Lowering, value: Value, shape: Shape, broadcast_dimensions: Any, **_: Any) -> Value:
    inner = [1] * len(shape)
    for k, axis in enumerate(broadcast_dimensions):
        inner[axis] = value.shape[k]
    return low.moved(value, np.broadcast_to(positions(value.shape).reshape(inner), shape))


def _moves(place: Callable[..., Any] = lambda where, **_: where) -> Callable[..., Value]:
    """A rule for what only moves numbers: where they come from is found by moving positions."""

    def rule(low: Lowering, value: Value, out: Any, **params: Any) -> Value:
        return low.moved(value, np.reshape(place(positions(value.shape), **params), _shape(out)))

    return rule


def _slice(where: Any, start_indices: Any, limit_indices: Any, strides: Any) -> Any:
    steps = strides or [1] * where.ndim
    return where[tuple(slice(*at) for at in zip(start_indices, limit_indices, steps, strict=True))]


def _concatenate(low: Lowering, *values: Value, dimension: int, **_: Any) -> Value:
    present = [value for value in values if np.prod(value.shape)]
    begins = np.cumsum([0, *(int(np.prod(value.shape)) for value in present)])
    where = [positions(value.shape) + begin for value, begin in zip(present, begins, strict=False)]
    return low.moved(joined(low.builder, list(map(lowered, present))), np.concatenate(where, axis=dimension))


def _stack(low: Lowering, *values: Value, axis: int, **_: Any) -> Value:
    longer = [low.moved(value, np.expand_dims(positions(value.shape), axis)) for value in values]
    return _concatenate(low, *longer, dimension=axis)


def _unstack(low: Lowering, value: Value, axis: int, **_: Any) -> list[Value]:
    where = positions(value.shape)
    return [low.moved(value, np.take(where, k, axis)) for k in range(value.shape[axis])]


def _pad(low: Lowering, value: Value, fill: Value, padding_config: Any, **_: Any) -> Value:
    if any(between or before < 0 or after < 0 for before, after, between in padding_config):
        raise UnsupportedError("padding between numbers")
    where = positions(value.shape)
    where = np.pad(where, [ends[:2] for ends in padding_config], constant_values=where.size)
    return low.moved(joined(low.builder, [lowered(value), lowered(fill)]), where)


def _iota(_: Lowering, dtype: Any, shape: Shape, dimension: int, **__: Any) -> Value:
    return np.indices(shape)[dimension].astype(dtype)


def _counter(_: Lowering, shape: Shape, **__: Any) -> list[Value]:
    """Positions as numbers of 64 bits, in two halves."""
    return [np.zeros(shape, np.uint32), positions(shape).astype(np.uint32)]


def _reduced(name: str) -> Callable[..., Value]:
    return lambda low, value, axes, **_: low.combined(name, value, axes)


def _arg(how: str) -> Callable[..., Value]:
    """Where the first of the largest or smallest numbers is; where the first NaN is, if there is one."""

    def rule(low: Lowering, value: Value, axes: Any, index_dtype: Any, **_: Any) -> Value:
        ones = [low.moved(value, np.take(positions(value.shape), k, axes[0])) for k in range(value.shape[axes[0]])]
        best, at = ones[0], np.zeros(ones[0].shape, index_dtype)
        for k, one in enumerate(ones[1:], 1):
            is_new_nan = low.do("and", low.do("ne", one, one), low.do("eq", best, best))
            better = low.do("or", low.do(how, one, best), is_new_nan)
            at = low.do("select_n", better, at, np.full(one.shape, k, index_dtype))
            best = low.do("select_n", better, best, one)
        return at

    return rule


def _cumulative(name: str) -> Callable[..., Value]:
    def rule(low: Lowering, value: Value, axis: int, reverse: bool, **_: Any) -> Value:
        found = [low.moved(value, np.take(positions(value.shape), [k], axis)) for k in range(value.shape[axis])]
        ordered = found[::-1] if reverse else found
        for k in range(1, len(ordered)):
            ordered[k] = low.do(name, ordered[k - 1], ordered[k])
        return _concatenate(low, *(ordered[::-1] if reverse else ordered), dimension=axis)

    return rule


def _dot(low: Lowering, a: Value, b: Value, dimension_numbers: Any, out: Any, **_: Any) -> Value:
    """Products of all pairs of rows, one term after the other; of a single pair, all terms at once."""
    (contract_a, contract_b), (batch_a, batch_b) = dimension_numbers

    def ordered(value: Value, batch: Any, contract: Any) -> Any:
        """Positions by batch, free and contracted axes, each of them flattened."""
        free = [k for k in range(len(value.shape)) if k not in (*batch, *contract)]
        sizes = [int(np.prod([value.shape[k] for k in axes])) for axes in (batch, free, contract)]
        return positions(value.shape).transpose([*batch, *free, *contract]).reshape(sizes)

    at_a, at_b = ordered(a, batch_a, contract_a)[:, :, None], ordered(b, batch_b, contract_b)[:, None]
    shape = np.broadcast_shapes(at_a.shape, at_b.shape)
    factors = [low.moved(low.do("convert_element_type", value, new_dtype=out.dtype), np.broadcast_to(at, shape))
               for value, at in ((a, at_a), (b, at_b))]  # fmt: skip
    if np.prod(shape[:3]) == 1:
        return low.combined("add", low.do("mul", *factors), (3,)).reshaped(out.shape)
    total = None
    for k in range(shape[3]):
        term = low.do("mul", *(low.moved(factor, positions(shape)[..., k]) for factor in factors))
        total = term if total is None else low.do("add", total, term)
    return lowered(total).reshaped(out.shape)


def _random(draw: Callable[..., Any]) -> Callable[..., Value]:
    """Random numbers, or keys, from a key: by the very program by which JAX draws them."""

    def rule(low: Lowering, key: Value, **params: Any) -> Value:
        del params["out"]
        if len(key.shape) != 1:
            raise UnsupportedError("several keys at once")
        program = jax.make_jaxpr(lambda raw: draw(raw, **params))(np.zeros(2, np.uint32))
        return low.run(program, [key])[0]

    return rule


def _threefry(low: Lowering, *values: Value, **_: Any) -> list[Value]:
    """The Threefry-2x32 block cipher of 20 rounds (Salmon et al. 2011)."""

    def number(value: int) -> Any:
        return np.asarray(value, np.uint32)

    def turned(value: Value, by: int) -> Value:
        left, right = low.do("shift_left", value, number(by)), low.do("shift_right_logical", value, number(32 - by))
        return low.do("or", left, right)

    keys = [*values[:2], low.do("xor", low.do("xor", *values[:2]), number(0x1BD11BDA))]
    x, y = (low.do("add", count, key) for count, key in zip(values[2:], keys, strict=False))
    for group in range(5):
        for by in ((13, 15, 26, 6), (17, 29, 16, 24))[group % 2]:
            x = low.do("add", x, y)
            y = low.do("xor", x, turned(y, by))
        x = low.do("add", x, keys[(group + 1) % 3])
        y = low.do("add", low.do("add", y, keys[(group + 2) % 3]), number(group + 1))
    return [x, y]


_RULES: dict[str, Callable[..., Any]] = {
    "while": _while,
    "cond": _cond,
    "platform_index": _platform_index,
    "broadcast_in_dim": _broadcast,
    **dict.fromkeys(("reshape", "squeeze", "expand_dims", "random_wrap", "random_unwrap"), _moves()),
    "transpose": _moves(lambda where, permutation: where.transpose(permutation)),
    "slice": _moves(_slice),
    "rev": _moves(lambda where, dimensions: np.flip(where, dimensions)),
    "concatenate": _concatenate,
    "stack": _stack,
    "unstack": _unstack,
    "pad": _pad,
    "iota": _iota,
    "iota_2x32_shape": _counter,
    **{f"reduce_{name}": _reduced(name) for name in ("max", "min", "or", "and")},
    "reduce_sum": _reduced("add"),
    "reduce_prod": _reduced("mul"),
    "argmax": _arg("gt"),
    "argmin": _arg("lt"),
    "cumsum": _cumulative("add"),
    "cumprod": _cumulative("mul"),
    "cummax": _cumulative("max"),
    "cummin": _cumulative("min"),
    "dot_general": _dot,
    "dynamic_slice": indexing.dynamic_slice,
    "dynamic_update_slice": indexing.dynamic_update_slice,
    "gather": indexing.gather,
    "scatter": indexing.scatter(None),
    "scatter-add": indexing.scatter("add"),
    "random_split": _random(lambda raw, shape: threefry_prng_impl.split(raw, shape=shape)),
    "random_bits": _random(
        lambda raw, bit_width, shape: threefry_prng_impl.random_bits(raw, bit_width=bit_width, shape=shape)
    ),
    "threefry2x32": _threefry,
}

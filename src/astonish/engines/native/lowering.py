"""A program of JAX (a jaxpr) as LLVM code.

Each operation has a rule: elementwise ones in `arithmetic`, the others here. Calls are written out where they stand.
What has no rule is refused (`UnsupportedError`), never guessed.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import ClosedJaxpr, Literal
from jax.extend.random import threefry_prng_impl

from astonish.core.programs import CALLS, RULES as OF_NUMPY
from astonish.engines.native.arithmetic import RULES, Arithmetic
from astonish.engines.native.llvm import (
    BYTE,
    Lowered,
    Shape,
    UnsupportedError,
    Value,
    array_type,
    ir,
    lowered,
    positions,
)

LONGEST = 16  # steps of a loop within a step
LARGEST = 512  # numbers in an array; where there are more, XLA is as good
_LAPACK = ("cholesky", "triangular_solve", "lu", "lu_pivots_to_permutation")  # of matrices that are not small


class Lowering(Arithmetic):
    """Writes jaxprs into a function of LLVM, one operation after the other."""

    def run(self, closed: Any, values: Sequence[Value]) -> list[Value]:
        """Write a jaxpr for these values; what it gives."""
        jaxpr, constants = (closed.jaxpr, closed.consts) if isinstance(closed, ClosedJaxpr) else (closed, ())
        held: dict[Any, Value] = dict(zip(jaxpr.constvars, map(np.asarray, constants), strict=True))
        held |= zip(jaxpr.invars, values, strict=True)

        def read(variable: Any) -> Value:
            is_literal = isinstance(variable, Literal)
            return np.asarray(variable.val, variable.aval.dtype) if is_literal else held[variable]

        for equation in jaxpr.eqns:
            name, params, needed = equation.primitive.name, equation.params, list(map(read, equation.invars))
            if any(math.prod(variable.aval.shape) > LARGEST for variable in equation.outvars):
                raise UnsupportedError("large arrays", expected=True)
            if name in CALLS:
                results: Any = self.run(params[CALLS[name]], needed)
            elif name in RULES:
                results = self.do(name, *needed, **params)
            elif name == "scan":
                results = _scan(self, equation, needed)
            elif name in _RULES:
                results = _RULES[name](self, *needed, **params, out=equation.outvars[0].aval)
            else:
                raise UnsupportedError(f"the operation {name!r}", expected=name in _LAPACK)
            held |= zip(equation.outvars, results if isinstance(results, list) else [results], strict=True)
        return list(map(read, jaxpr.outvars))

    def combined(self, name: str, value: Value, axes: Any) -> Lowered:
        """Combine all numbers along these axes by an operation of two: the first half with the second, and so on."""
        others = [k for k in range(len(value.shape)) if k not in axes]
        rest = [value.shape[k] for k in others]
        folded = lowered(self.moved(value, positions(value.shape).transpose([*axes, *others]).reshape(-1, *rest)))
        rows = folded.shape[0]
        while rows > 1:
            where, half = positions((rows, *rest)), rows // 2
            both = self.do(name, *(self.moved(folded, where[k * half : (k + 1) * half]) for k in range(2)))
            if rows % 2:
                parts = [self.do(name, self.moved(both, where[:1]), self.moved(folded, where[-1:]))]
                if half > 1:
                    parts.append(self.moved(both, where[1:half]))
                both = self.joined(parts)
            folded, rows = both.reshaped((half, *rest)), half
        return folded.reshaped(rest)

    def along(self, value: Value, axis: int) -> list[Value]:
        """The arrays along an axis, without it."""
        return [self.moved(value, np.take(positions(value.shape), k, axis)) for k in range(value.shape[axis])]


class _Variables:
    """Arrays that change as a loop goes on, or differ between branches."""

    def __init__(self, low: Lowering, avals: Sequence[Any]) -> None:
        self._low = low
        self._like = [lowered(np.zeros(held.shape, held.dtype)) for held in map(_held, avals)]
        self._places = [low.allocated(like.value.type) for like in self._like]

    def set(self, values: Sequence[Value]) -> None:
        for value, place in zip(values, self._places, strict=True):
            self._low.store(lowered(value).value, place)

    def get(self) -> list[Value]:
        pairs = zip(self._like, self._places, strict=True)
        return [like._replace(value=self._low.load(place, typ=like.value.type)) for like, place in pairs]


def _held(aval: Any) -> Any:
    """Describe an array as it is held: keys of random numbers as the two numbers that each of them is."""
    is_key = jnp.issubdtype(aval.dtype, jax.dtypes.prng_key)
    return jax.ShapeDtypeStruct((*aval.shape, 2), np.uint32) if is_key else aval


def _while(
    low: Lowering, *values: Value, cond_jaxpr: Any, body_jaxpr: Any, cond_nconsts: int, body_nconsts: int, **_: Any
) -> list[Value]:
    begin = cond_nconsts + body_nconsts
    in_test, in_body, start = values[:cond_nconsts], values[cond_nconsts:begin], values[begin:]
    variables = _Variables(low, body_jaxpr.out_avals)
    variables.set(start)
    test, body, end = map(low.append_basic_block, ("test", "body", "end"))
    low.branch(test)
    low.position_at_end(test)
    before = variables.get()
    goes_on = lowered(low.run(cond_jaxpr, [*in_test, *before])[0])
    low.cbranch(low.combined("or", goes_on, range(len(goes_on.shape))).value, body, end)
    low.position_at_end(body)
    after = low.run(body_jaxpr, [*in_body, *before])
    if goes_on.size > 1:  # loops side by side, of which those that have ended stay as they are
        pairs = zip(after, before, strict=True)
        wide = [goes_on.reshaped((*goes_on.shape, *[1] * (len(new.shape) - len(goes_on.shape)))) for new in after]
        after = [low.do("select_n", which, old, new) for which, (new, old) in zip(wide, pairs, strict=True)]
    variables.set(after)
    low.branch(test)
    low.position_at_end(end)
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
        results = low.run(body, [*consts, *carry, *row])
        carry, rows[k] = results[:carried], results[carried:]
    return [*carry, *(_stack(low, *column, axis=0) for column in zip(*rows, strict=True))]


def _cond(low: Lowering, which: Value, *values: Value, branches: Any, **_: Any) -> list[Value]:
    if not isinstance(which, Lowered):
        return low.run(branches[min(max(int(which), 0), len(branches) - 1)], values)
    variables = _Variables(low, branches[0].out_avals)
    *blocks, end = [low.append_basic_block("branch") for _ in (*branches, None)]
    switch = low.switch(which.value, blocks[-1])
    for k, (block, branch) in enumerate(zip(blocks, branches, strict=True)):
        if k < len(blocks) - 1:
            switch.add_case(which.value.type(k), block)
        low.position_at_end(block)
        variables.set(low.run(branch, values))
        low.branch(end)
    low.position_at_end(end)
    return variables.get()


def _moves(place: Callable[..., Any] = lambda where, **_: where) -> Callable[..., Value]:
    """A rule for what only moves numbers: where they come from, end to end, is found by moving positions."""

    def rule(low: Lowering, *values: Value, out: Any = None, **params: Any) -> Value:
        begins = np.cumsum([0, *(math.prod(value.shape) for value in values)])
        where = place(*(positions(v.shape) + begin for v, begin in zip(values, begins, strict=False)), **params)
        source = values[0] if len(values) == 1 else low.joined([lowered(v) for v in values if math.prod(v.shape)])
        return low.moved(source, where if out is None else np.reshape(where, _held(out).shape))

    return rule


_stack = _moves(OF_NUMPY["stack"])


def _pad(where: Any, fill: Any, padding_config: Any) -> Any:
    if any(between or before < 0 or after < 0 for before, after, between in padding_config):
        raise UnsupportedError("padding between numbers")
    return np.pad(where, [ends[:2] for ends in padding_config], constant_values=fill)


def _arg(comparison: str) -> Callable[..., Value]:
    """A rule for where the first of the largest or smallest numbers is; or the first NaN, if there is one."""

    def rule(low: Lowering, value: Value, axes: Any, index_dtype: Any, **_: Any) -> Value:
        best, *rest = low.along(value, axes[0])
        at = np.zeros(best.shape, index_dtype)
        for k, other in enumerate(rest, 1):
            is_new_nan = low.do("and", low.do("ne", other, other), low.do("eq", best, best))
            better = low.do("or", low.do(comparison, other, best), is_new_nan)
            at = low.do("select_n", better, at, np.full(other.shape, k, index_dtype))
            best = low.do("select_n", better, best, other)
        return at

    return rule


def _cumulative(name: str) -> Callable[..., Value]:
    def rule(low: Lowering, value: Value, axis: int, reverse: bool, **_: Any) -> Value:
        columns = low.along(value, axis)[:: -1 if reverse else 1]
        for k in range(1, len(columns)):
            columns[k] = low.do(name, columns[k - 1], columns[k])
        return _stack(low, *columns[:: -1 if reverse else 1], axis=axis)

    return rule


def _dot(low: Lowering, a: Value, b: Value, dimension_numbers: Any, out: Any, **_: Any) -> Value:
    """Products of all pairs of rows, one term after the other; of a single pair, all terms at once."""
    (contract_a, contract_b), (batch_a, batch_b) = dimension_numbers

    def ordered(value: Value, batch: Any, contract: Any) -> Any:
        """Positions by batch, free and contracted axes, each of them flattened."""
        free = [k for k in range(len(value.shape)) if k not in (*batch, *contract)]
        sizes = [math.prod([value.shape[k] for k in axes]) for axes in (batch, free, contract)]
        return positions(value.shape).transpose([*batch, *free, *contract]).reshape(sizes)

    at_a, at_b = ordered(a, batch_a, contract_a)[:, :, None], ordered(b, batch_b, contract_b)[:, None]
    shape = np.broadcast_shapes(at_a.shape, at_b.shape)
    factors = [low.moved(low.do("convert_element_type", value, new_dtype=out.dtype), np.broadcast_to(at, shape))
               for value, at in ((a, at_a), (b, at_b))]  # fmt: skip
    if math.prod(shape[:3]) == 1:
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

    def turned(value: Value, by: int) -> Value:
        left, right = (("shift_left", by), ("shift_right_logical", 32 - by))
        return low.do("or", *(low.do(shift, value, np.uint32(bits)) for shift, bits in (left, right)))

    keys = [*values[:2], low.do("xor", low.do("xor", *values[:2]), np.uint32(0x1BD11BDA))]
    x, y = (low.do("add", count, key) for count, key in zip(values[2:], keys, strict=False))
    for group in range(5):
        for by in ((13, 15, 26, 6), (17, 29, 16, 24))[group % 2]:
            x = low.do("add", x, y)
            y = low.do("xor", x, turned(y, by))
        x = low.do("add", x, keys[(group + 1) % 3])
        y = low.do("add", low.do("add", y, keys[(group + 2) % 3]), np.uint32(group + 1))
    return [x, y]


class _Memory:
    """An array in memory, with room for one number more, to read and write at places that are computed."""

    def __init__(self, low: Lowering, value: Value) -> None:
        self._low, self._value = low, lowered(value)
        self._is_bits, self._align = self._value.dtype.kind == "b", self._value.dtype.itemsize
        self._kind = BYTE if self._is_bits else array_type(self._value.dtype)
        self._whole = self._kind if self._value.size == 1 else ir.VectorType(self._kind, self._value.size)
        self._pointer = low.allocated(ir.ArrayType(self._kind, self._value.size + 1))
        content = low.zext(self._value.value, self._whole) if self._is_bits else self._value.value
        low.store(content, self._pointer, align=self._align)

    def read(self, places: Value, shape: Shape) -> Value:
        """The numbers at these places, as an array of this shape."""
        if not isinstance(places, Lowered):
            return self._low.moved(self._value, places.reshape(shape))

        def number(place: Any) -> Any:
            at = self._low.gep(self._pointer, [place], source_etype=self._kind)
            return self._low.load(at, typ=self._kind, align=self._align)

        return self._array(shape, self._low.one_by_one(number, self._kind, places.value))

    def write(self, places: Value, update: Value, add: str | None) -> Value:
        """The array with other numbers at these places, or with numbers added there."""
        low, dtype = self._low, self._value.dtype
        wheres, news = lowered(places), lowered(update)
        for k in range(wheres.size):
            place, new = (low.moved(array, np.asarray([k])) for array in (wheres, news))
            at = low.gep(self._pointer, [place.value], source_etype=self._kind)
            if add is not None:
                before = Lowered((), dtype, low.load(at, typ=self._kind))
                new = lowered(low.do(add, before, new.reshaped(())))
            low.store(low.zext(new.value, self._kind) if self._is_bits else new.value, at, align=self._align)
        return self._array(self._value.shape, low.load(self._pointer, typ=self._whole, align=self._align))

    def _array(self, shape: Shape, value: Any) -> Lowered:
        if self._is_bits:
            value = self._low.trunc(value, array_type(bool, math.prod(shape)))
        return Lowered(shape, self._value.dtype, value)


def _places(low: Lowering, fixed: Any, starts: Sequence[tuple[Value, int, int]]) -> tuple[Value, Value]:
    """Positions of which only a part is known, and whether each lies where it may; those that do not are put there.

    fixed: the part that is known. starts: for each axis where to begin (one number, or one for each position), how far
    apart neighbours are along it, and the last place where one may begin.
    """
    total: Value = fixed.astype(np.int64)
    inside: Value = np.ones(fixed.shape, bool)
    for start, stride, last in starts:
        wide = low.do("convert_element_type", start, new_dtype=np.int64)
        first, final = np.zeros((), np.int64), np.asarray(last, np.int64)
        for comparison, end in (("ge", first), ("le", final)):
            inside = low.do("and", inside, low.do(comparison, wide, end))
        near = low.do("min", low.do("max", wide, first), final)
        total = low.do("add", total, low.do("mul", near, np.asarray(stride, np.int64)))
    return total, inside


def _strides(shape: Shape) -> list[int]:
    return [math.prod(shape[k + 1 :]) for k in range(len(shape))]


def _block(low: Lowering, shape: Shape, sizes: Any, starts: Sequence[Value]) -> Value:
    """Positions of a block of an array."""
    fixed = positions(shape)[tuple(map(slice, sizes))].reshape(-1)
    lasts = [length - size for length, size in zip(shape, sizes, strict=True)]
    return _places(low, fixed, list(zip(starts, _strides(shape), lasts, strict=True)))[0]


def _windows(low: Lowering, shape: Shape, indices: Value, d: Any, sizes: Any) -> tuple[Shape, Value, Value]:
    """The shape of what a gather reads or a scatter writes, where each number of it is, and whether it is inside.

    d: the dimension numbers of the gather; see XLA's documentation of Gather and Scatter. sizes: of a window.
    """
    kept = [k for k in range(len(shape)) if k not in (*d.collapsed_slice_dims, *d.operand_batching_dims)]
    window, batch_shape, strides = d.offset_dims, indices.shape[:-1], _strides(shape)
    outer = [k for k in range(len(batch_shape) + len(window)) if k not in window]
    lengths = dict(zip(outer, batch_shape, strict=True)) | {
        k: sizes[axis] for k, axis in zip(window, kept, strict=True)
    }
    result = tuple(lengths[k] for k in range(len(lengths)))
    grid = np.indices(result).reshape(len(result), math.prod(result))
    fixed = np.zeros(grid.shape[1], np.int64)
    for k, axis in zip(window, kept, strict=True):
        fixed += grid[k] * strides[axis]
    for axis, of_indices in zip(d.operand_batching_dims, d.start_indices_batching_dims, strict=True):
        fixed += grid[outer[of_indices]] * strides[axis]
    rows = positions(indices.shape)[tuple(grid[k] for k in outer)] if outer else positions(indices.shape)[None]
    rows = np.broadcast_to(rows, (len(fixed), rows.shape[-1]))
    starts = []
    for k, axis in enumerate(d.start_index_map):
        starts.append((low.moved(indices, rows[:, k]), strides[axis], shape[axis] - sizes[axis]))
    return result, *_places(low, fixed, starts)


def _gather(low: Lowering, value: Value, indices: Value, mode: Any, fill_value: Any, **params: Any) -> Value:
    """Windows of an array, at many places."""
    shape, places, inside = _windows(low, value.shape, indices, params["dimension_numbers"], params["slice_sizes"])
    windows = _Memory(low, value).read(places, (places.size,))
    if "FILL_OR_DROP" in str(mode):
        if fill_value is None:
            limits = np.iinfo(value.dtype) if value.dtype.kind in "iu" else None
            fill_value = {"f": np.nan, "b": True} if limits is None else {"i": limits.min, "u": limits.max}
            fill_value = fill_value[value.dtype.kind]
        windows = low.do("select_n", inside, np.full(places.size, fill_value, value.dtype), windows)
    return lowered(windows).reshaped(shape)


def _scatter(add: str | None) -> Callable[..., Value]:
    """A rule for windows that are written into an array, or added to it, at many places."""

    def rule(
        low: Lowering, value: Value, indices: Value, update: Value, dimension_numbers: Any, mode: Any, **_: Any
    ) -> Value:
        d = dimension_numbers
        as_gather = jax.lax.GatherDimensionNumbers(
            offset_dims=d.update_window_dims,
            collapsed_slice_dims=d.inserted_window_dims,
            start_index_map=d.scatter_dims_to_operand_dims,
            operand_batching_dims=d.operand_batching_dims,
            start_indices_batching_dims=d.scatter_indices_batching_dims,
        )
        window = iter(d.update_window_dims)
        dropped = (*d.inserted_window_dims, *d.operand_batching_dims)
        sizes = [1 if k in dropped else update.shape[next(window)] for k in range(len(value.shape))]
        places, inside = _windows(low, value.shape, indices, as_gather, sizes)[1:]
        if "CLIP" not in str(mode):  # what lies outside is written behind the end, and lost
            behind = np.full(places.shape, math.prod(value.shape), np.int64)
            places = low.do("select_n", inside, behind, places)
        return _Memory(low, value).write(places, update, add)

    return rule


_RULES: dict[str, Callable[..., Any]] = {
    "while": _while,
    "cond": _cond,
    "platform_index": lambda _low, **params: np.asarray(OF_NUMPY["platform_index"](**params)),
    "iota": lambda _low, **params: OF_NUMPY["iota"](**params),
    **dict.fromkeys(("reshape", "squeeze", "expand_dims", "random_wrap", "random_unwrap"), _moves()),
    **{name: _moves(OF_NUMPY[name]) for name in ("broadcast_in_dim", "concatenate", "slice", "transpose")},
    "rev": _moves(lambda where, dimensions: np.flip(where, dimensions)),
    "stack": _stack,
    "unstack": lambda low, value, axis, **_: low.along(value, axis),
    "pad": _moves(_pad),
    # positions as numbers of 64 bits, in two halves
    "iota_2x32_shape": lambda _low, shape, **_: [np.zeros(shape, np.uint32), positions(shape).astype(np.uint32)],
    **{
        f"reduce_{name}": lambda low, value, axes, by=by, **_: low.combined(by, value, axes)
        for name, by in (("max", "max"), ("min", "min"), ("or", "or"), ("and", "and"), ("sum", "add"), ("prod", "mul"))
    },
    "argmax": _arg("gt"),
    "argmin": _arg("lt"),
    **{f"cum{name}": _cumulative(by) for name, by in (("sum", "add"), ("prod", "mul"), ("max", "max"), ("min", "min"))},
    "dot_general": _dot,
    "dynamic_slice": lambda low, value, *starts, slice_sizes, **_: _Memory(low, value).read(
        _block(low, value.shape, slice_sizes, starts), tuple(slice_sizes)
    ),
    "dynamic_update_slice": lambda low, value, update, *starts, **_: _Memory(low, value).write(
        _block(low, value.shape, update.shape, starts), update, None
    ),
    "gather": _gather,
    "scatter": _scatter(None),
    "scatter-add": _scatter("add"),
    "random_split": _random(lambda raw, shape: threefry_prng_impl.split(raw, shape=shape)),
    "random_bits": _random(
        lambda raw, bit_width, shape: threefry_prng_impl.random_bits(raw, bit_width=bit_width, shape=shape)
    ),
    "threefry2x32": _threefry,
}

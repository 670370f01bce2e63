"""How does a program of JAX (a jaxpr) become LLVM code?

Each operation has a rule: elementwise ones in `arithmetic`, those that move numbers, add them up or branch here. Calls
are written out where they stand. An operation without a rule is refused (`UnsupportedError`), never guessed.
"""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np
from jax.extend.core import ClosedJaxpr, Literal
from jax.extend.random import threefry_prng_impl
from llvmlite import ir

from astonish.native import arithmetic
from astonish.native.values import (
    Lowered,
    Memory,
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

_LAPACK = ("cholesky", "triangular_solve", "lu", "lu_pivots_to_permutation")  # of matrices that are not small
LARGEST = 512  # numbers in an array; where there are more, XLA is as good
_CALLS = {"jit": "jaxpr", "pjit": "jaxpr", "closed_call": "call_jaxpr", "custom_jvp_call": "call_jaxpr",
          "custom_vjp_call": "call_jaxpr", "checkpoint": "jaxpr", "remat2": "jaxpr"}  # fmt: skip


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
            return np.asarray(variable.val, variable.aval.dtype) if isinstance(variable, Literal) else known[variable]

        for equation in jaxpr.eqns:
            found = self._operation(equation, [read(variable) for variable in equation.invars])
            known |= zip(equation.outvars, found, strict=True)
        return [read(variable) for variable in jaxpr.outvars]

    def _operation(self, equation: Any, values: list[Value]) -> list[Value]:
        name, params = equation.primitive.name, equation.params
        if any(np.prod(variable.aval.shape) > LARGEST for variable in equation.outvars):
            raise UnsupportedError("large arrays", expected=True)
        if name in _CALLS:
            return self.run(params[_CALLS[name]], values)
        found = arithmetic.elementwise(name, self.builder, values, **params)
        if found is None:
            rule = _RULES.get(name)
            if rule is None:
                raise UnsupportedError(f"the operation {name!r}", expected=name in _LAPACK)
            found = rule(self, *values, **params, out=equation.outvars[0].aval)
        return found if isinstance(found, list) else [found]

    def combine(self, name: str, a: Any, b: Any, **params: Any) -> Lowered:
        """An elementwise operation on two arrays."""
        found = arithmetic.elementwise(name, self.builder, [a, b], **params)
        assert found is not None
        return lowered(found)

    def moved(self, value: Value, where: Any) -> Value:
        return moved(self.builder, value, where)


class Variables:
    """Arrays that change as a loop goes on, or differ between branches."""

    def __init__(self, lowering: Lowering, like: Sequence[Any]) -> None:
        self.builder, self.like = lowering.builder, like
        self.places = [allocated(self.builder, one.value.type) for one in like]

    def set(self, values: Sequence[Value]) -> None:
        for value, place in zip(values, self.places, strict=True):
            self.builder.store(lowered(value).value, place)

    def get(self) -> list[Value]:
        pairs = zip(self.like, self.places, strict=True)
        return [one._replace(value=self.builder.load(place, typ=one.value.type)) for one, place in pairs]


def _empty(avals: Sequence[Any]) -> list[Lowered]:
    return [constant(np.zeros(_raw_shape(aval), _raw_dtype(aval))) for aval in avals]


def _raw_shape(aval: Any) -> Shape:
    """Keys of random numbers are held as the two numbers that they are."""
    return (*aval.shape, 2) if jax.dtypes.issubdtype(aval.dtype, jax.dtypes.prng_key) else aval.shape


def _raw_dtype(aval: Any) -> Any:
    return np.dtype(np.uint32) if jax.dtypes.issubdtype(aval.dtype, jax.dtypes.prng_key) else aval.dtype


def _while(
    low: Lowering, *values: Value, cond_jaxpr: Any, body_jaxpr: Any, cond_nconsts: int, body_nconsts: int, **_: Any
) -> list[Value]:
    in_test, in_body = values[:cond_nconsts], values[cond_nconsts : cond_nconsts + body_nconsts]
    start = values[cond_nconsts + body_nconsts :]
    variables = Variables(low, _empty(body_jaxpr.out_avals))
    variables.set(start)
    builder = low.builder
    test, body, end = (builder.append_basic_block(name) for name in ("test", "body", "end"))
    builder.branch(test)
    builder.position_at_end(test)
    before = variables.get()
    goes_on = lowered(low.run(cond_jaxpr, [*in_test, *before])[0])
    any_on = _along(low, goes_on, range(len(goes_on.shape)), lambda a, b: low.combine("or", a, b))
    builder.cbranch(any_on.value, body, end)
    builder.position_at_end(body)
    after = low.run(body_jaxpr, [*in_body, *before])
    if goes_on.size > 1:  # loops side by side, of which those that have ended stay as they are
        after = [_where(low, goes_on, new, old) for new, old in zip(after, before, strict=True)]
    variables.set(after)
    builder.branch(test)
    builder.position_at_end(end)
    return variables.get()


def _where(low: Lowering, which: Lowered, yes: Value, no: Value) -> Value:
    """Whole rows of one array or of another."""
    inner = (1,) * (len(yes.shape) - len(which.shape))
    return arithmetic.elementwise("select_n", low.builder, [which.reshaped((*which.shape, *inner)), no, yes])


def _cond(low: Lowering, which: Value, *values: Value, branches: Any, **_: Any) -> list[Value]:
    if not isinstance(which, Lowered):
        return low.run(branches[min(max(int(which), 0), len(branches) - 1)], values)
    builder = low.builder
    variables = Variables(low, _empty(branches[0].out_avals))
    blocks = [builder.append_basic_block("branch") for _ in branches]
    end = builder.append_basic_block("joined")
    switch = builder.switch(which.value, blocks[-1])
    for k, (block, branch) in enumerate(zip(blocks, branches, strict=True)):
        if k < len(blocks) - 1:
            switch.add_case(which.value.type(k), block)
        builder.position_at_end(block)
        variables.set(low.run(branch, values))
        builder.branch(end)
    builder.position_at_end(end)
    return variables.get()


def _platform_index(low: Lowering, platforms: Any, out: Any, **_: Any) -> Value:
    """Which of several ways is for processors; the last one is for all others."""
    at = [k for k, names in enumerate(platforms) if names is None or "cpu" in names]
    return np.asarray(at[0], np.int32)


def _broadcast(low: Lowering, value: Value, shape: Shape, broadcast_dimensions: Any, out: Any, **_: Any) -> Value:
    own = np.shape(value) if not isinstance(value, Lowered) else value.shape
    inner = [1] * len(shape)
    for k, axis in enumerate(broadcast_dimensions):
        inner[axis] = own[k]
    return low.moved(value, np.broadcast_to(positions(own).reshape(inner), shape))


def _moves(place: Callable[..., Any]) -> Callable[..., Value]:
    """A rule for what only moves numbers: where they come from is found by moving positions."""

    def rule(low: Lowering, value: Value, out: Any, **params: Any) -> Value:
        shape = value.shape
        return low.moved(value, np.reshape(place(positions(shape), **params), _raw_shape(out)))

    return rule


def _slice(where: Any, start_indices: Any, limit_indices: Any, strides: Any) -> Any:
    steps = strides or [1] * where.ndim
    return where[tuple(slice(*at) for at in zip(start_indices, limit_indices, steps, strict=True))]


def _concatenate(low: Lowering, *values: Value, dimension: int, **_: Any) -> Value:
    begin, where = 0, []
    for value in values:
        where.append(positions(value.shape) + begin)
        begin += int(np.prod(value.shape))
    if not any(isinstance(value, Lowered) for value in values):
        return np.concatenate(values, axis=dimension)
    present = [lowered(value) for value in values if np.prod(value.shape)]
    return low.moved(joined(low.builder, present), np.concatenate(where, axis=dimension))


def _stack(low: Lowering, *values: Value, axis: int = 0, **_: Any) -> Value:
    def longer(value: Value) -> Value:
        where = np.expand_dims(positions(value.shape), axis)
        return low.moved(value, where)

    return _concatenate(low, *map(longer, values), dimension=axis)


def _pad(low: Lowering, value: Value, fill: Value, padding_config: Any, out: Any) -> Value:
    where = positions(value.shape)
    for axis, (before, after, between) in enumerate(padding_config):
        if between or before < 0 or after < 0:
            raise UnsupportedError("padding between numbers")
        where = np.pad(where, [(before, after) if k == axis else (0, 0) for k in range(where.ndim)],
                       constant_values=int(np.prod(value.shape)))  # fmt: skip
    return low.moved(joined(low.builder, [lowered(value), lowered(fill)]), where)


def _iota(low: Lowering, dtype: Any, shape: Shape, dimension: int, **_: Any) -> Value:
    along = [1] * len(shape)
    along[dimension] = shape[dimension]
    return np.broadcast_to(np.arange(shape[dimension], dtype=dtype).reshape(along), shape)


def _counter(low: Lowering, shape: Shape, **_: Any) -> list[Value]:
    """Positions as numbers of 64 bits, in two halves."""
    return [np.zeros(shape, np.uint32), positions(shape).astype(np.uint32)]


def _reduced(name: str) -> Callable[..., Value]:
    def rule(low: Lowering, value: Value, axes: Any, out: Any, **_: Any) -> Value:
        return _along(low, value, axes, lambda a, b: low.combine(name, a, b))

    return rule


def _along(low: Lowering, value: Value, axes: Any, combine: Callable[[Lowered, Lowered], Lowered]) -> Lowered:
    others = [k for k in range(len(value.shape)) if k not in axes]
    where = positions(value.shape).transpose([*axes, *others])
    rows = low.moved(value, where.reshape(-1, *[value.shape[k] for k in others]))
    return halved(low.builder, lowered(rows), combine)


def _arg(how: str) -> Callable[..., Value]:
    """Where the first of the largest or smallest numbers is; where the first NaN is, if there is one."""

    def rule(low: Lowering, value: Value, axes: Any, index_dtype: Any, out: Any) -> Value:
        (axis,) = axes
        shape = value.shape
        best, at = None, None
        for k in range(shape[axis]):
            one = lowered(low.moved(value, np.take(positions(shape), k, axis)))
            here = np.full(one.shape, k, index_dtype)
            if best is None or at is None:
                best, at = one, lowered(here)
                continue
            better = low.combine(how, one, best)
            if one.kind == "f":
                new_nan = low.combine("and", low.combine("ne", one, one), low.combine("eq", best, best))
                usable = low.combine("or", better, new_nan)
                better = usable
            best, at = (arithmetic.RULES["select_n"](low.builder, better, *pair)
                        for pair in ((best, one), (at, lowered(here))))  # fmt: skip
        assert at is not None
        return at

    return rule


def _cumulative(name: str) -> Callable[..., Value]:
    def rule(low: Lowering, value: Value, axis: int, reverse: bool, out: Any) -> Value:
        count = value.shape[axis]
        order = range(count - 1, -1, -1) if reverse else range(count)
        where, sums = positions(value.shape), {}
        last = None
        for k in order:
            one = lowered(low.moved(value, np.take(where, [k], axis)))
            last = one if last is None else low.combine(name, last, one)
            sums[k] = last
        return _concatenate(low, *(sums[k] for k in range(count)), dimension=axis)

    return rule


def _dot(low: Lowering, a: Value, b: Value, dimension_numbers: Any, out: Any, **_: Any) -> Value:
    (contract_a, contract_b), (batch_a, batch_b) = dimension_numbers

    def ordered(value: Value, batch: Any, contract: Any) -> tuple[Any, int]:
        """Positions by batch, free and contracted axes, each flattened."""
        shape = value.shape
        free = [k for k in range(len(shape)) if k not in (*batch, *contract)]
        sizes = [int(np.prod([shape[k] for k in axes])) for axes in (batch, free, contract)]
        return positions(shape).transpose([*batch, *free, *contract]).reshape(sizes), sizes[1]

    a, b = (arithmetic.RULES["convert_element_type"](low.builder, lowered(each), out.dtype) for each in (a, b))
    (at_a, free_a), (at_b, free_b) = ordered(a, batch_a, contract_a), ordered(b, batch_b, contract_b)
    terms = at_a.shape[2]
    grid = (at_a.shape[0], free_a, free_b)
    pairs = [np.broadcast_to(at_a[:, :, None, :], (*grid, terms)), np.broadcast_to(at_b[:, None, :, :], (*grid, terms))]
    if int(np.prod(grid)) == 1:
        product = low.combine("mul", *(low.moved(v, at.reshape(terms)) for v, at in zip((a, b), pairs, strict=True)))
        total = halved(low.builder, product, lambda x, y: low.combine("add", x, y))
        return total.reshaped(out.shape)
    total = None
    for k in range(terms):
        term = low.combine("mul", *(low.moved(v, at[..., k].reshape(-1)) for v, at in zip((a, b), pairs, strict=True)))
        total = term if total is None else low.combine("add", total, term)
    assert total is not None
    return total.reshaped(out.shape)


def _strides(shape: Shape) -> list[int]:
    return [int(np.prod(shape[k + 1 :])) for k in range(len(shape))]


def _places(low: Lowering, fixed: Any, starts: Sequence[tuple[Value, int, int]]) -> tuple[Lowered, Lowered]:
    """Positions that are known only in part, and whether each start lies where it may.

    fixed: the part that is known. starts: for each axis, where to begin (as many as positions, or one for all), how far
    apart neighbours are along it, and the last allowed start.
    """
    total = constant(fixed.astype(np.int64))
    inside = constant(np.ones(fixed.shape, bool))
    for start, stride, last in starts:
        own = lowered(start)
        wide = arithmetic.RULES["convert_element_type"](low.builder, own, np.int64)
        if wide.size != total.size:
            wide = lowered(low.moved(wide, np.zeros(total.shape, int)))
        wide = wide.reshaped(total.shape)
        ends = [np.full(total.shape, end, np.int64) for end in (0, last)]
        for how, end in zip(("ge", "le"), ends, strict=True):
            inside = low.combine("and", inside, low.combine(how, wide, end))
        clamped = low.combine("min", low.combine("max", wide, ends[0]), ends[1])
        total = low.combine("add", total, low.combine("mul", clamped, np.full(total.shape, stride, np.int64)))
    return total, inside


def _each(low: Lowering, value: Lowered) -> list[Any]:
    """The numbers of an array, one by one."""
    return [lowered(low.moved(value, np.asarray([k]))).value for k in range(value.size)]


def _dynamic_slice(low: Lowering, value: Value, *starts: Value, slice_sizes: Any, **_: Any) -> Value:
    shape, strides = value.shape, _strides(value.shape)
    block = positions(shape)[tuple(slice(size) for size in slice_sizes)]
    begins = [(s, stride, n - size) for s, stride, n, size in zip(starts, strides, shape, slice_sizes, strict=True)]
    places, _inside = _places(low, block.reshape(-1), begins)
    return Memory(low.builder, lowered(value)).read(_each(low, places), tuple(slice_sizes))


def _dynamic_update_slice(low: Lowering, value: Value, update: Value, *starts: Value, **_: Any) -> Value:
    shape, strides, sizes = value.shape, _strides(value.shape), update.shape
    block = positions(shape)[tuple(slice(size) for size in sizes)]
    begins = [(s, stride, n - size) for s, stride, n, size in zip(starts, strides, shape, sizes, strict=True)]
    places, _inside = _places(low, block.reshape(-1), begins)
    return _written(low, lowered(value), _each(low, places), lowered(update), None)


def _written(low: Lowering, value: Lowered, places: list[Any], update: Lowered, add: str | None) -> Lowered:
    """An array with other numbers at these places, or with numbers added there."""
    memory, builder = Memory(low.builder, value, spare=1), low.builder
    for place, one in zip(places, _each(low, update), strict=True):
        at = memory.at(place)
        if add is not None:
            before = Lowered((), value.dtype, builder.load(at, typ=memory.element))
            one = low.combine(add, before, Lowered((), value.dtype, one)).value
        if value.dtype.kind == "b":
            one = builder.zext(one, memory.element)
        builder.store(one, at)
    return memory.all()


class _Indexing:
    """Where the windows of a gather or scatter are, for each of their numbers (see the documentation of XLA)."""

    def __init__(self, low: Lowering, shape: Shape, indices: Value, window: Any, sizes: Any, numbers: Any) -> None:
        """window: axes of the result, or update, along windows. numbers: (collapsed, mapped, batching, own batching)."""
        collapsed, mapped, batching, own_batching = numbers
        self.shape, self.window, self.sizes = shape, window, sizes
        kept = [k for k in range(len(shape)) if k not in (*collapsed, *batching)]
        batch_shape = np.shape(positions(indices.shape))[:-1]
        strides = _strides(shape)
        rank = len(batch_shape) + len(window)
        outer = [k for k in range(rank) if k not in window]
        result = [0] * rank
        for k, size in zip(outer, batch_shape, strict=True):
            result[k] = size
        for k, axis in zip(window, kept, strict=True):
            result[k] = sizes[axis]
        self.result = tuple(result)
        grid = np.indices(self.result)
        fixed = np.zeros(self.result, np.int64)
        for k, axis in zip(window, kept, strict=True):
            fixed += grid[k] * strides[axis]
        batch = [grid[k] for k in outer]
        for axis, own in zip(batching, own_batching, strict=True):
            fixed += batch[own] * strides[axis]
        at = positions(indices.shape)
        row = at[(*batch, slice(None))] if batch else np.broadcast_to(at, (*self.result, at.shape[-1]))
        starts = [(low.moved(indices, row[..., k].reshape(-1)), strides[axis], shape[axis] - sizes[axis])
                  for k, axis in enumerate(mapped)]  # fmt: skip
        self.places, self.inside = _places(low, fixed.reshape(-1), starts)


def _gather(
    low: Lowering,
    value: Value,
    indices: Value,
    dimension_numbers: Any,
    slice_sizes: Any,
    mode: Any,
    fill_value: Any,
    out: Any,
    **_: Any,
) -> Value:
    d = dimension_numbers
    numbers = d.collapsed_slice_dims, d.start_index_map, d.operand_batching_dims, d.start_indices_batching_dims
    at = _Indexing(low, value.shape, indices, d.offset_dims, slice_sizes, numbers)
    found = Memory(low.builder, lowered(value)).read(_each(low, at.places), at.result)
    if "FILL_OR_DROP" not in str(mode):
        return found
    nothing = fill_value
    if nothing is None:
        kinds = {"f": lambda: np.nan, "b": lambda: True, "i": lambda: np.iinfo(found.dtype).min}
        nothing = kinds.get(found.dtype.kind, lambda: np.iinfo(found.dtype).max)()
    fill = constant(np.full(found.shape, nothing, found.dtype))
    return arithmetic.RULES["select_n"](low.builder, at.inside.reshaped(found.shape), fill, found)


def _scatter(add: str | None) -> Callable[..., Value]:
    def rule(
        low: Lowering,
        value: Value,
        indices: Value,
        update: Value,
        dimension_numbers: Any,
        mode: Any,
        out: Any,
        **_: Any,
    ) -> Value:
        d = dimension_numbers
        batching = getattr(d, "operand_batching_dims", ())
        numbers = (d.inserted_window_dims, d.scatter_dims_to_operand_dims, batching,
                   getattr(d, "scatter_indices_batching_dims", ()))  # fmt: skip
        kept = [k for k in range(len(value.shape)) if k not in (*d.inserted_window_dims, *batching)]
        sizes = [1] * len(value.shape)
        for k, axis in zip(d.update_window_dims, kept, strict=True):
            sizes[axis] = update.shape[k]
        at = _Indexing(low, value.shape, indices, d.update_window_dims, sizes, numbers)
        places = at.places
        if "CLIP" not in str(mode):  # what lies outside is written behind the end, and lost
            behind = constant(np.full(places.shape, int(np.prod(value.shape)), np.int64))
            places = arithmetic.RULES["select_n"](low.builder, at.inside, behind, places)
        return _written(low, lowered(value), _each(low, places), lowered(update), add)

    return rule


def _random(draw: Callable[..., Any]) -> Callable[..., Value]:
    """Random numbers, or keys, from a key: by the very program by which JAX draws them."""

    def rule(low: Lowering, key: Value, out: Any, **params: Any) -> Value:
        if len(key.shape) != 1:
            raise UnsupportedError("several keys at once")
        program = jax.make_jaxpr(lambda raw: draw(raw, **params))(np.zeros(2, np.uint32))
        return low.run(program, [key])[0]

    return rule


def _threefry(low: Lowering, *values: Value, out: Any, **_: Any) -> list[Value]:
    """The Threefry-2x32 block cipher of 20 rounds (Salmon et al. 2011)."""
    shape = max((value.shape for value in values), key=lambda s: int(np.prod(s)))
    keys, counts = ([lowered(low.moved(v, np.broadcast_to(positions(v.shape), shape))) for v in pair]
                    for pair in (values[:2], values[2:]))  # fmt: skip

    def fixed(number: int) -> Any:
        return np.full(shape, number, np.uint32)

    def turned(value: Lowered, by: int) -> Lowered:
        left, right = (
            low.combine("shift_left", value, fixed(by)),
            low.combine("shift_right_logical", value, fixed(32 - by)),
        )
        return low.combine("or", left, right)

    keys.append(low.combine("xor", low.combine("xor", *keys), fixed(0x1BD11BDA)))
    x, y = (low.combine("add", count, key) for count, key in zip(counts, keys, strict=False))
    for group in range(5):
        for by in ((13, 15, 26, 6), (17, 29, 16, 24))[group % 2]:
            x = low.combine("add", x, y)
            y = low.combine("xor", x, turned(y, by))
        x = low.combine("add", x, keys[(group + 1) % 3])
        y = low.combine("add", low.combine("add", y, keys[(group + 2) % 3]), fixed(group + 1))
    return [x, y]


_RULES: dict[str, Callable[..., Any]] = {
    "while": _while,
    "cond": _cond,
    "platform_index": _platform_index,
    "broadcast_in_dim": _broadcast,
    "reshape": _moves(lambda where, **_: where),
    "squeeze": _moves(lambda where, **_: where),
    "expand_dims": _moves(lambda where, **_: where),
    "random_wrap": _moves(lambda where, **_: where),
    "random_unwrap": _moves(lambda where, **_: where),
    "transpose": _moves(lambda where, permutation: where.transpose(permutation)),
    "slice": _moves(_slice),
    "rev": _moves(lambda where, dimensions: np.flip(where, dimensions)),
    "concatenate": _concatenate,
    "stack": _stack,
    "pad": _pad,
    "iota": _iota,
    "iota_2x32_shape": _counter,
    **{f"reduce_{name}": _reduced(name) for name in ("max", "min", "or", "and", "xor")},
    "reduce_sum": _reduced("add"),
    "reduce_prod": _reduced("mul"),
    "argmax": _arg("gt"),
    "argmin": _arg("lt"),
    "cumsum": _cumulative("add"),
    "cumprod": _cumulative("mul"),
    "cummax": _cumulative("max"),
    "cummin": _cumulative("min"),
    "dot_general": _dot,
    "dynamic_slice": _dynamic_slice,
    "dynamic_update_slice": _dynamic_update_slice,
    "gather": _gather,
    "scatter": _scatter(None),
    "scatter-add": _scatter("add"),
    "random_split": _random(lambda raw, shape: threefry_prng_impl.split(raw, shape=shape)),
    "random_bits": _random(
        lambda raw, bit_width, shape: threefry_prng_impl.random_bits(raw, bit_width=bit_width, shape=shape)
    ),
    "threefry2x32": _threefry,
}

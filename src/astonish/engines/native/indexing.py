"""How are numbers of an array read, and written, at places that are computed? In memory, one by one."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from astonish.engines.native.llvm import ir
from astonish.engines.native.values import (
    WRITTEN_OUT,
    Lowered,
    Shape,
    Value,
    allocated,
    counted,
    element_type,
    lowered,
    positions,
)


class _Memory:
    """An array in memory, with room for one number more."""

    def __init__(self, low: Any, value: Value) -> None:
        value = lowered(value)
        self._value = value
        self._low, self._shape, self._dtype = low, value.shape, value.dtype
        self._is_bits = value.dtype.kind == "b"
        self._kind = ir.IntType(8) if self._is_bits else element_type(value.dtype)
        self._whole = self._kind if value.size == 1 else ir.VectorType(self._kind, value.size)
        self._pointer = allocated(low.builder, ir.ArrayType(self._kind, value.size + 1))
        held = low.builder.zext(value.value, self._whole) if self._is_bits else value.value
        low.builder.store(held, self._pointer, align=value.dtype.itemsize)

    def _at(self, place: Any) -> Any:
        return self._low.builder.gep(self._pointer, [place], source_etype=self._kind)

    def read(self, places: Value, shape: Shape) -> Value:
        if not isinstance(places, Lowered):
            return self._low.moved(self._value, places.reshape(shape))
        builder = self._low.builder
        if places.size > WRITTEN_OUT:
            return self._back(shape, self._read_in_a_loop(places))
        found = [
            builder.load(self._at(p), typ=self._kind, align=self._dtype.itemsize) for p in _each(self._low, places)
        ]
        value = found[0]
        if len(found) > 1:
            value = ir.Constant(ir.VectorType(self._kind, len(found)), ir.Undefined)
            for k, one in enumerate(found):
                value = builder.insert_element(value, one, ir.IntType(32)(k))
        return self._back(shape, value)

    def _read_in_a_loop(self, places: Lowered) -> Any:
        """Many numbers, of which LLVM would take seconds to make sense one by one."""
        builder, word = self._low.builder, element_type(places.dtype)
        whole = ir.VectorType(self._kind, places.size)
        wanted, found = allocated(builder, places.value.type), allocated(builder, whole)
        builder.store(places.value, wanted)
        with counted(builder, ir.IntType(64)(places.size)) as k:
            place = builder.load(builder.gep(wanted, [k], source_etype=word), typ=word)
            one = builder.load(self._at(place), typ=self._kind, align=self._dtype.itemsize)
            builder.store(one, builder.gep(found, [k], source_etype=self._kind))
        return builder.load(found, typ=whole)

    def write(self, places: Value, update: Value, add: str | None) -> Value:
        """The array with other numbers at these places, or with numbers added there."""
        builder = self._low.builder
        for place, one in zip(_each(self._low, lowered(places)), _each(self._low, lowered(update)), strict=True):
            at, new = self._at(place), one
            if add is not None:
                before = Lowered((), self._dtype, builder.load(at, typ=self._kind))
                new = lowered(self._low.do(add, before, Lowered((), self._dtype, one))).value
            builder.store(builder.zext(new, self._kind) if self._is_bits else new, at, align=self._dtype.itemsize)
        whole = builder.load(self._pointer, typ=self._whole, align=self._dtype.itemsize)
        return self._back(self._shape, whole)

    def _back(self, shape: Shape, value: Any) -> Lowered:
        size = int(np.prod(shape))
        if self._is_bits:
            bit = ir.IntType(1)
            value = self._low.builder.trunc(value, ir.VectorType(bit, size) if size > 1 else bit)
        return Lowered(shape, self._dtype, value)


def _each(low: Any, value: Lowered) -> list[Any]:
    """The numbers of an array, one by one."""
    return [lowered(low.moved(value, np.asarray([k]))).value for k in range(value.size)]


def _places(low: Any, fixed: Any, starts: Sequence[tuple[Value, int, int]]) -> tuple[Value, Value]:
    """Positions of which only a part is known, and whether each lies where it may; those that do not are put there.

    fixed: the part that is known. starts: for each axis where to begin (one number, or one for each position), how far
    apart neighbours are along it, and the last place where one may begin.
    """
    total: Value = fixed.astype(np.int64)
    inside: Value = np.ones(fixed.shape, bool)
    for start, stride, last in starts:
        wide = low.do("convert_element_type", start, new_dtype=np.int64)
        first, final = np.zeros((), np.int64), np.asarray(last, np.int64)
        for how, end in (("ge", first), ("le", final)):
            inside = low.do("and", inside, low.do(how, wide, end))
        near = low.do("min", low.do("max", wide, first), final)
        total = low.do("add", total, low.do("mul", near, np.asarray(stride, np.int64)))
    return total, inside


def _strides(shape: Shape) -> list[int]:
    return [int(np.prod(shape[k + 1 :])) for k in range(len(shape))]


def _block(low: Any, shape: Shape, sizes: Any, starts: Sequence[Value]) -> Value:
    """Positions of a block of an array."""
    fixed = positions(shape)[tuple(map(slice, sizes))].reshape(-1)
    lasts = [length - size for length, size in zip(shape, sizes, strict=True)]
    return _places(low, fixed, list(zip(starts, _strides(shape), lasts, strict=True)))[0]


def dynamic_slice(low: Any, value: Value, *starts: Value, slice_sizes: Any, **_: Any) -> Value:
    """A block of an array."""
    return _Memory(low, value).read(_block(low, value.shape, slice_sizes, starts), tuple(slice_sizes))


def dynamic_update_slice(low: Any, value: Value, update: Value, *starts: Value, **_: Any) -> Value:
    """An array with another block in it."""
    return _Memory(low, value).write(_block(low, value.shape, update.shape, starts), update, None)


def _windows(
    low: Any, shape: Shape, indices: Value, window: Any, sizes: Any, kept: Any, mapped: Any, batching: Any
) -> tuple[Shape, Value, Value]:
    """The shape of what a gather reads or a scatter writes, where each number of it is, and whether it is inside.

    window: which axes of that shape run along windows, and `kept`: along which axes of the array. sizes: of a window.
    mapped: the axis of the array that each number of an index is for. batching: pairs of axes, of the array and of the
    indices, that go together. (See XLA's documentation of Gather and Scatter.)
    """
    batch_shape, strides = indices.shape[:-1], _strides(shape)
    outer = [k for k in range(len(batch_shape) + len(window)) if k not in window]
    lengths = dict(zip(outer, batch_shape, strict=True)) | {
        k: sizes[axis] for k, axis in zip(window, kept, strict=True)
    }
    result = tuple(lengths[k] for k in range(len(lengths)))
    grid = np.indices(result).reshape(len(result), int(np.prod(result)))
    fixed = np.zeros(grid.shape[1], np.int64)
    for k, axis in zip(window, kept, strict=True):
        fixed += grid[k] * strides[axis]
    for axis, own in batching:
        fixed += grid[outer[own]] * strides[axis]
    rows = positions(indices.shape)[tuple(grid[k] for k in outer)] if outer else positions(indices.shape)[None]
    rows = np.broadcast_to(rows, (len(fixed), rows.shape[-1]))
    starts = [
        (low.moved(indices, rows[:, k]), strides[axis], shape[axis] - sizes[axis]) for k, axis in enumerate(mapped)
    ]
    return result, *_places(low, fixed, starts)


def gather(
    low: Any,
    value: Value,
    indices: Value,
    dimension_numbers: Any,
    slice_sizes: Any,
    mode: Any,
    fill_value: Any,
    **_: Any,
) -> Value:
    """Windows of an array, at many places."""
    d = dimension_numbers
    dropped = (*d.collapsed_slice_dims, *d.operand_batching_dims)
    kept = [k for k in range(len(value.shape)) if k not in dropped]
    batching = list(zip(d.operand_batching_dims, d.start_indices_batching_dims, strict=True))
    shape, places, inside = _windows(
        low, value.shape, indices, d.offset_dims, slice_sizes, kept, d.start_index_map, batching
    )
    found = _Memory(low, value).read(places, (places.size,))
    if "FILL_OR_DROP" in str(mode):
        nothing = _nothing(value.dtype) if fill_value is None else fill_value
        found = low.do("select_n", inside, np.full(places.size, nothing, value.dtype), found)
    return lowered(found).reshaped(shape)


def _nothing(dtype: Any) -> Any:
    """What stands where nothing is, unless one says otherwise."""
    if dtype.kind == "f":
        return np.nan
    return True if dtype.kind == "b" else np.iinfo(dtype).min if dtype.kind == "i" else np.iinfo(dtype).max


def scatter(add: str | None) -> Callable[..., Value]:
    """A rule for windows that are written into an array, or added to it, at many places."""

    def rule(
        low: Any, value: Value, indices: Value, update: Value, dimension_numbers: Any, mode: Any, **_: Any
    ) -> Value:
        d = dimension_numbers
        kept = [k for k in range(len(value.shape)) if k not in (*d.inserted_window_dims, *d.operand_batching_dims)]
        sizes = [1] * len(value.shape)
        for k, axis in zip(d.update_window_dims, kept, strict=True):
            sizes[axis] = update.shape[k]
        batching = list(zip(d.operand_batching_dims, d.scatter_indices_batching_dims, strict=True))
        mapped = d.scatter_dims_to_operand_dims
        places, inside = _windows(low, value.shape, indices, d.update_window_dims, sizes, kept, mapped, batching)[1:]
        if "CLIP" not in str(mode):  # what lies outside is written behind the end, and lost
            behind = np.full(places.shape, int(np.prod(value.shape)), np.int64)
            places = low.do("select_n", inside, behind, places)
        return _Memory(low, value).write(places, update, add)

    return rule

"""How is an array of JAX held in LLVM: which type does it have, and how are its numbers put in another order?

An array of one number is a scalar and a larger one a vector of all its numbers, row after row, so that loops over
elements are unrolled and a vector unit works on as many of them at once as it can. What is known beforehand stays an
array of NumPy until it is needed.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from astonish.engines.native.llvm import ir

Shape = tuple[int, ...]
_WORD = ir.IntType(64)
WRITTEN_OUT = 16  # numbers that are computed or read one by one, if they must be; more than that are in a loop
CONTRACT = ("contract",)  # a product and a sum may be rounded once, as XLA allows


class UnsupportedError(Exception):
    """Something in a learner's step for which there is no rule here; XLA computes it instead.

    expected: whether that is as it should be, because XLA is as good at it.
    """

    def __init__(self, what: str, expected: bool = False) -> None:
        super().__init__(what)
        self.expected = expected


class Lowered(NamedTuple):
    """An array as it is in LLVM. dtype: NumPy's; booleans are single bits."""

    shape: Shape
    dtype: np.dtype[Any]
    value: Any

    @property
    def size(self) -> int:
        return int(np.prod(self.shape))

    @property
    def kind(self) -> str:
        return "u" if self.dtype.kind == "b" else self.dtype.kind

    def reshaped(self, shape: Sequence[int]) -> "Lowered":
        return self._replace(shape=tuple(shape))


Value = Any  # Lowered, or an array of NumPy where the numbers are known when this is compiled


def element_type(dtype: Any) -> Any:
    """The LLVM type of one number."""
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return ir.IntType(1)
    if dtype.kind == "f" and dtype.itemsize in (4, 8):
        return ir.FloatType() if dtype.itemsize == 4 else ir.DoubleType()
    if dtype.kind in "iu":
        return ir.IntType(8 * dtype.itemsize)
    raise UnsupportedError(f"numbers of type {dtype}")


def array_type(dtype: Any, size: int) -> Any:
    """The LLVM type of an array of so many numbers."""
    element = element_type(dtype)
    return element if size == 1 else ir.VectorType(element, size)


def constant(array: Any) -> Lowered:
    """Numbers that are known."""
    array = np.asarray(array)
    element = element_type(array.dtype)
    numbers = [int(x) if array.dtype.kind in "bui" else float(x) for x in array.ravel()]
    if not numbers:
        raise UnsupportedError("empty arrays")
    kind = array_type(array.dtype, len(numbers))
    held = numbers[0] if len(numbers) == 1 else [ir.Constant(element, x) for x in numbers]
    return Lowered(array.shape, array.dtype, ir.Constant(kind, held))


def lowered(value: Value) -> Lowered:
    """The same, in LLVM."""
    return value if isinstance(value, Lowered) else constant(value)


def positions(shape: Sequence[int]) -> Any:
    """Where each number of an array is, counted row after row."""
    return np.arange(int(np.prod(shape))).reshape(shape)


def moved(builder: Any, value: Value, where: Any) -> Value:
    """An array whose numbers are those at the given positions of another one."""
    where = np.asarray(where)
    if not isinstance(value, Lowered):
        return value.ravel()[where]
    if value.size == where.size and (where.ravel() == np.arange(where.size)).all():
        return value.reshaped(where.shape)
    return Lowered(where.shape, value.dtype, _picked(builder, value, where.ravel()))


def _picked(builder: Any, value: Lowered, where: Any) -> Any:
    at, vector = ir.IntType(32), value.value
    if len(where) == 1:
        return vector if value.size == 1 else builder.extract_element(vector, at(int(where[0])))
    if value.size == 1:
        kind = ir.VectorType(element_type(value.dtype), 1)
        vector = builder.insert_element(ir.Constant(kind, ir.Undefined), vector, at(0))
    mask = ir.Constant(ir.VectorType(at, len(where)), [at(int(k)) for k in where])
    return builder.shuffle_vector(vector, ir.Constant(vector.type, ir.Undefined), mask)


def joined(builder: Any, parts: Sequence[Lowered]) -> Lowered:
    """The numbers of several arrays, end to end."""
    while len(parts) > 1:
        pairs = [parts[k : k + 2] for k in range(0, len(parts), 2)]
        parts = [pair[0] if len(pair) == 1 else _appended(builder, *pair) for pair in pairs]
    return parts[0].reshaped((parts[0].size,))


def _appended(builder: Any, a: Lowered, b: Lowered) -> Lowered:
    at, size = ir.IntType(32), max(a.size, b.size)
    if b.size == 1 and a.size > 1:
        wide = _picked(builder, a, [*range(a.size), 0])
        return Lowered((a.size + 1,), a.dtype, builder.insert_element(wide, b.value, at(a.size)))
    equal = [_picked(builder, part, [min(k, part.size - 1) for k in range(max(size, 2))]) for part in (a, b)]
    mask = [*range(a.size), *range(max(size, 2), max(size, 2) + b.size)]
    order = ir.Constant(ir.VectorType(at, len(mask)), [at(k) for k in mask])
    return Lowered((a.size + b.size,), a.dtype, builder.shuffle_vector(*equal, order))


def halved(builder: Any, value: Lowered, combine: Callable[[Lowered, Lowered], Lowered]) -> Lowered:
    """All rows (along the first axis) combined into one, the first half with the second, and so on."""
    rows, *rest = value.shape
    while rows > 1:
        where = positions((rows, *rest))
        half = rows // 2
        parts = [lowered(moved(builder, value, where[k * half : (k + 1) * half])) for k in range(2)]
        both = combine(*parts)
        if rows % 2:
            last = lowered(moved(builder, value, where[-1:]))
            first = lowered(moved(builder, both, positions((half, *rest))[:1]))
            flat = [combine(first, last)]
            if half > 1:
                flat.append(lowered(moved(builder, both, positions((half, *rest))[1:])))
            both = joined(builder, flat)
        value, rows = both.reshaped((half, *rest)), half
    return value.reshaped(rest)


def declared(builder: Any, name: str, gives: Any, takes: Sequence[Any]) -> Any:
    """A function of another library, or of LLVM's own, by its name and types."""
    known = builder.module.globals.get(name)
    if known is None:
        known = ir.Function(builder.module, ir.FunctionType(gives, takes), name)
        known.attributes.add("nounwind")
    return known


def allocated(builder: Any, kind: Any) -> Any:
    """Room for something of this type, as long as the function runs."""
    with builder.goto_entry_block():
        room = builder.alloca(kind)
    room.type = ir.PointerType()  # whatever is put there
    return room


class counted:  # noqa: N801 (used as a statement)
    """A loop over 0, 1, ... up to a number."""

    def __init__(self, builder: Any, count: Any) -> None:
        self.builder, self.count = builder, count

    def __enter__(self) -> Any:
        builder = self.builder
        before = builder.block
        self.test, self.body, self.end = (builder.append_basic_block(name) for name in ("test", "body", "end"))
        builder.branch(self.test)
        builder.position_at_end(self.test)
        self.index = builder.phi(_WORD)
        self.index.add_incoming(_WORD(0), before)
        builder.cbranch(builder.icmp_signed("<", self.index, self.count), self.body, self.end)
        builder.position_at_end(self.body)
        return self.index

    def __exit__(self, *_: Any) -> None:
        builder = self.builder
        self.index.add_incoming(builder.add(self.index, _WORD(1)), builder.block)
        builder.branch(self.test)
        builder.position_at_end(self.end)

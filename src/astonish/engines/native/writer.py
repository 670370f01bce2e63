"""How is the step of a learner written as a function, for loops and for Python to call?"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from astonish.engines.native.layout import COUNT, Layout, nbytes
from astonish.engines.native.llvm import ir
from astonish.engines.native.lowering import Lowering
from astonish.engines.native.values import Lowered, UnsupportedError, allocated, array_type, declared, lowered
from astonish.learners.base import MISSED

BIT, BYTE, WORD = ir.IntType(1), ir.IntType(8), ir.IntType(64)
POINTER, NOTHING, DOUBLE = ir.PointerType(), ir.VoidType(), ir.DoubleType()
NULL = ir.Constant(POINTER, None)


class Writer:
    """A module of LLVM with the step of a learner in it, around which loops are written."""

    def __init__(self, step: Any, read: Any, layout: Layout) -> None:
        """step, read: JAX's programs of a step, and of the estimate."""
        self.layout, self.module = layout, ir.Module("astonish")
        parts, xs = len(layout.parts), len(layout.samples)
        self.step = self.function("step", 1 + parts + xs + COUNT, exported=False)
        self._write_step(step)
        self.read = self.function("read", 1 + parts + 1, exported=False)
        self._write_read(read)

    def function(self, name: str, pointers: int, exported: bool, more: int = 0) -> Any:
        function = ir.Function(self.module, ir.FunctionType(NOTHING, [POINTER] * pointers + [WORD] * more), name)
        if not exported:
            function.linkage = "internal"
            function.attributes.add("noinline")
        function.attributes.add("nounwind")
        return function

    def builder(self, function: Any) -> Any:
        """In a block behind the first one, which is for room in memory."""
        builder = ir.IRBuilder(function.append_basic_block("entry"))
        body = function.append_basic_block("body")
        builder.branch(body)
        builder.position_at_end(body)
        return builder

    def _loads(self, builder: Any, pointers: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """Parameters and state."""
        layout = self.layout
        parameters = [
            load(builder, pointers[0], at, a) for at, a in zip(layout.offsets(), layout.parameters, strict=True)
        ]
        states = [load(builder, pointers[1 + part], at, aval)
                  for (part, at), aval in zip(layout.leaves, layout.state, strict=True)]  # fmt: skip
        return parameters, states

    def _write_step(self, program: Any) -> None:
        builder, layout, parts = self.builder(self.step), self.layout, len(self.layout.parts)
        pointers = self.step.args
        parameters, states = self._loads(builder, pointers)
        samples = [load(builder, pointers[1 + parts + k], 0, aval) for k, aval in enumerate(layout.samples)]
        found = Lowering(builder).run(program, [*parameters, *states, *samples])
        for (part, at), value in zip(layout.leaves, found[: len(layout.leaves)], strict=True):
            store(builder, pointers[1 + part], at, value)
        for pointer, value in zip(pointers[-COUNT:], found[-COUNT:], strict=True):
            store(builder, pointer, 0, value)
        builder.ret_void()

    def _write_read(self, program: Any) -> None:
        builder = self.builder(self.read)
        parameters, states = self._loads(builder, self.read.args)
        (found,) = Lowering(builder).run(program, [*parameters, *states])
        store(builder, self.read.args[-1], 0, found)
        builder.ret_void()

    def step_or_skip(
        self, builder: Any, at: Any, answer_at: Any, parameters: Any, rows: Any, xs: Any, answers: Any, seen: Any
    ) -> Any:
        """A step from the sample at this place, unless it is missing, and the answers to it. Whether it is there."""
        xs = [ahead(builder, x, at, nbytes(aval)) for x, aval in zip(xs, self.layout.samples, strict=True)]
        answers = [ahead(builder, a, answer_at, size) for a, size in zip(answers, self.layout.answers, strict=True)]
        present = allocated(builder, BIT)
        builder.store(BIT(1), present)
        with builder.if_then(builder.icmp_unsigned("!=", seen, NULL)):
            here = builder.load(builder.gep(seen, [at], source_etype=BYTE), typ=BYTE)
            builder.store(builder.icmp_unsigned("!=", here, BYTE(0)), present)
        there = builder.load(present, typ=BIT)
        with builder.if_else(there) as (step, skip):
            with step:
                builder.call(self.step, [parameters, *rows, *xs, *answers])
            with skip:
                builder.call(self.read, [parameters, *rows, answers[0]])
                for answer, number in zip(answers[1:], MISSED, strict=True):
                    builder.store(ir.Constant(DOUBLE, number), answer)
        return there


def split(pointers: Sequence[Any], *counts: int) -> list[Any]:
    """Groups of so many pointers, and the rest."""
    ends = np.cumsum((0, *counts)).tolist()
    groups = [list(pointers[begin:end]) for begin, end in pairwise(ends)]
    return [*groups, list(pointers[ends[-1] :])]


def load(builder: Any, pointer: Any, at: int, aval: Any) -> Lowered:
    """An array that is so many bytes ahead."""
    dtype, size = np.dtype(aval.dtype), int(np.prod(aval.shape))
    if dtype.kind == "b":
        raise UnsupportedError("states of booleans")
    place = builder.gep(pointer, [WORD(at)], source_etype=BYTE)
    return Lowered(aval.shape, dtype, builder.load(place, typ=array_type(dtype, size), align=dtype.itemsize))


def store(builder: Any, pointer: Any, at: int, value: Any) -> None:
    """Put an array there."""
    value = lowered(value)
    builder.store(value.value, builder.gep(pointer, [WORD(at)], source_etype=BYTE), align=value.dtype.itemsize)


def ahead(builder: Any, pointer: Any, index: Any, size: int) -> Any:
    """Where the item of this number is, of items of this size in bytes."""
    return builder.gep(pointer, [builder.mul(index, WORD(size))], source_etype=BYTE)


def copy(builder: Any, source: Any, target: Any, size: int) -> None:
    """Copy so many bytes."""
    if size:
        copy = declared(builder, "llvm.memcpy.p0.p0.i64", NOTHING, [POINTER, POINTER, WORD, BIT])
        builder.call(copy, [target, source, WORD(size), BIT(0)])


def prefetch(builder: Any, place: Any) -> None:
    """Have what is there brought near."""
    short = ir.IntType(32)
    fetch = declared(builder, "llvm.prefetch.p0", NOTHING, [POINTER, short, short, short])
    builder.call(fetch, [place, *(short(number) for number in (0, 3, 1))])

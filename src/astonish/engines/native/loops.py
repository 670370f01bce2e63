"""A learner's step as a function of LLVM, and the loops around it: samples of one stream, or of a table of streams.

Where a step is one of single numbers, a table's are taken sixteen at a time, for as many different keys.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, NamedTuple

import jax
import numpy as np

from astonish.core.programs import Packing
from astonish.engines.native.llvm import (
    BIT,
    BYTE,
    DOUBLE,
    INT,
    NOTHING,
    NULL,
    POINTER,
    WORD,
    Builder,
    Lowered,
    filled,
    ir,
    lowered,
    nbytes,
    offsets,
    record,
)
from astonish.engines.native.lowering import Lowering
from astonish.learners.base import ANSWERS, MISSED, Learner

COUNT = len(ANSWERS)  # answers of a step: an estimate, and single numbers
LANES = 16


@dataclass(frozen=True)
class Layout:
    """Where parameters, a state, a sample and the answers are in memory, in bytes.

    parameters: the leaves of the learner, in a record. state: the leaves of a state. leaves: in
    which part of a packed state each of them is, and how far behind its beginning. parts: how long each part is.
    samples: the leaves of a sample. estimate: the shape of an estimate.
    """

    parameters: tuple[Any, ...]
    state: tuple[Any, ...]
    leaves: tuple[tuple[int, int], ...]
    parts: tuple[int, ...]
    samples: tuple[Any, ...]
    estimate: tuple[int, ...]

    @classmethod
    def of(cls, parameters: Any, packing: Packing, state: Any, samples: Any, estimate: Any) -> "Layout":
        leaves: list[tuple[int, int]] = []
        parts = [0]
        for aval, together in zip(state, packing.together, strict=True):
            leaves.append((0, parts[0]) if together else (len(parts), 0))
            if together:
                parts[0] += nbytes(aval)
            else:
                parts.append(nbytes(aval))
        return cls(parameters, state, tuple(leaves), tuple(parts), samples, estimate)

    @property
    def numbers(self) -> int:
        """How many numbers are in an estimate."""
        return int(np.prod(self.estimate))

    @property
    def answers(self) -> tuple[int, ...]:
        """How long each answer is."""
        return (8 * self.numbers, *[8] * (COUNT - 1))

    def packed_parameters(self, learner: Learner) -> Any:
        """The parameters of a learner, in a record."""
        return filled(record(self.parameters), jax.tree.leaves(learner))


class Arguments(NamedTuple):
    """Pointers that a function takes: to parameters, and to a list each of parts, of which `more` are its own."""

    parameters: Any
    states: Sequence[Any]
    samples: Sequence[Any]
    answers: Sequence[Any]
    more: Sequence[Any] = ()


class Writer:
    """A module of LLVM with the step of a learner in it, around which loops are written."""

    def __init__(self, step: Any, read: Any, layout: Layout) -> None:
        """step, read: JAX's programs of a step, and of the estimate."""
        self.layout, self.module = layout, ir.Module("astonish")
        self.step = self._write("step", step, layout.samples)
        self.read = self._write("read", read, ())

    @contextmanager
    def function(
        self, name: str, more: Sequence[Any] = (), gives: Any = NOTHING, exported: bool = False
    ) -> Iterator[tuple[Lowering, Arguments]]:
        """Write a function of parameters, states, samples, answers and more.

        While one that is exported runs, denormal numbers count as zero.
        """
        ends = list(accumulate((1, len(self.layout.parts), len(self.layout.samples), COUNT)))
        function = ir.Function(self.module, ir.FunctionType(gives, [*[POINTER] * ends[-1], *more]), name)
        function.attributes.add("nounwind")
        if not exported:
            function.linkage = "internal"
            function.attributes.add("noinline")
        builder = Lowering.of(function)
        restore = builder.flushing() if exported else None
        parts = (function.args[begin:end] for begin, end in zip(ends, [*ends[1:], None], strict=True))
        yield builder, Arguments(function.args[0], *parts)
        if restore:
            restore()
        if gives is NOTHING:
            builder.ret_void()

    def _write(self, name: str, program: Any, samples: Sequence[Any]) -> Any:
        """Write a step, which gives the new state and the answers, or what reads the estimate off a state."""
        layout = self.layout
        with self.function(name) as (builder, at):
            parameters = [(at.parameters, offset) for offset in offsets(record(layout.parameters))]
            states = [(at.states[part], offset) for part, offset in layout.leaves]
            answers = [(answer, 0) for answer in at.answers]
            places, avals = [*parameters, *states, *((x, 0) for x in at.samples)], (*layout.parameters, *layout.state)
            values = [builder.load_array(*place, aval) for place, aval in zip(places, (*avals, *samples), strict=False)]
            results = builder.run(program, values)
            for target, result in zip([*states, *answers] if samples else answers[:1], results, strict=True):
                builder.store_array(*target, result)
        return builder.function

    def step_or_skip(self, builder: Builder, here: Any, at: Arguments, seen: Any) -> Any:
        """Write a step from the sample at this place, unless it is missing, and its answers; whether it is there."""
        layout = self.layout
        samples = [builder.ahead(x, here, nbytes(aval)) for x, aval in zip(at.samples, layout.samples, strict=True)]
        answers = [builder.ahead(a, here, size) for a, size in zip(at.answers, layout.answers, strict=True)]
        arguments = [at.parameters, *at.states, *samples, *answers]
        present = builder.allocated(BIT)
        builder.store(BIT(1), present)
        with builder.if_then(builder.icmp_unsigned("!=", seen, NULL)):
            builder.store(builder.icmp_unsigned("!=", builder.item(seen, here, BYTE), BYTE(0)), present)
        there = builder.load(present, typ=BIT)
        with builder.if_else(there) as (step, skip):
            with step:
                builder.call(self.step, arguments)
            with skip:
                builder.call(self.read, arguments)
                for answer, number in zip(answers[1:], MISSED, strict=True):
                    builder.store(ir.Constant(DOUBLE, number), answer)
        return there


def write_series(writer: Writer) -> None:
    """Write a loop over many samples, one state.

    Arguments: parameters, parts of the state, parts of the samples, answers, a byte for each sample that is 0 where
    it is missing (or null), where to copy the answers to the last sample that was there (or null), and the count.
    """
    with writer.function("series", [POINTER] * (1 + COUNT) + [WORD], exported=True) as (builder, at):
        seen, *latest, count = at.more
        last = builder.allocated(WORD)
        builder.store(WORD(-1), last)
        with builder.counted(count) as k:
            there = writer.step_or_skip(builder, k, at, seen)
            builder.store(builder.select(there, k, builder.load(last, typ=WORD)), last)
        end = builder.load(last, typ=WORD)
        asked = builder.icmp_unsigned("!=", latest[0], NULL)
        with builder.if_then(builder.and_(asked, builder.icmp_signed(">=", end, WORD(0)))):
            copy = builder.declared("llvm.memcpy.p0.p0.i64", NOTHING, [POINTER, POINTER, WORD, BIT])
            for answer, room, size in zip(at.answers, latest, writer.layout.answers, strict=True):
                builder.call(copy, [room, builder.ahead(answer, end, size), WORD(size), BIT(0)])


def write_rows(writer: Writer, lanes: Any) -> None:
    """Write a loop over many samples, a table of states. lanes: JAX's program of `LANES` steps at once, or None.

    Arguments: parameters, parts of the table, parts of the samples, answers, which are missing (as above), the slot of
    each sample, room for the places of those samples that fall to this thread, a number that becomes 1 more than their
    count at the end; the number of samples, that of threads (a power of 2) less 1, and which one this is.
    """
    with writer.function("row", [POINTER] * 3 + [WORD]) as (builder, at):
        seen, slots, order, k = at.more
        sample = builder.item(order, k)
        states = _rows(writer, builder, at, builder.item(slots, sample))
        writer.step_or_skip(builder, sample, at._replace(states=states), seen)
    row, many = builder.function, None if lanes is None else _write_lanes(writer, lanes)
    with writer.function("rows", [POINTER] * 4 + [WORD] * 3, exported=True) as (builder, at):
        _, slots, order, done, samples, mask, thread = at.more
        common = builder.function.args[:-4]  # up to the order
        # List the samples of this thread, those whose slots end in its number, without a branch that depends on the
        # slots, which no processor could foresee
        taken = builder.allocated(WORD)
        builder.store(WORD(0), taken)
        with builder.counted(samples) as k:
            so_far = builder.load(taken, typ=WORD)
            builder.store(k, builder.gep(order, [so_far], source_etype=WORD))
            is_ours = builder.icmp_unsigned("==", builder.and_(builder.item(slots, k), mask), thread)
            builder.store(builder.add(so_far, builder.zext(is_ours, WORD)), taken)
        count = builder.load(taken, typ=WORD)
        # Take their steps, as many together as can be
        groups = WORD(0) if many is None else builder.sdiv(count, WORD(LANES))
        if many is not None:
            with builder.counted(groups) as group:
                first = builder.mul(group, WORD(LANES))
                # Have the states of the next group brought near
                following = builder.add(first, WORD(LANES))
                with builder.if_then(builder.icmp_signed("<=", builder.add(following, WORD(LANES)), count)):
                    for k in range(LANES):
                        slot = builder.item(slots, builder.item(order, builder.add(following, WORD(k))))
                        for state in _rows(writer, builder, at, slot):
                            builder.prefetch(state)
                together = builder.call(many, [*common, first])
                with builder.if_then(builder.not_(together), likely=False), builder.counted(WORD(LANES)) as k:
                    builder.call(row, [*common, builder.add(first, k)])
        begin = builder.mul(groups, WORD(LANES))
        with builder.counted(builder.sub(count, begin)) as k:
            builder.call(row, [*common, builder.add(begin, k)])
        builder.store(builder.add(count, WORD(1)), done)
    write_job(builder.function)


def _rows(writer: Writer, builder: Builder, at: Arguments, slot: Any) -> list[Any]:
    """Where the parts of the state in a slot are."""
    sizes = zip(at.states, writer.layout.parts, strict=True)
    return [builder.ahead(table, slot, size) for table, size in sizes]


def _write_lanes(writer: Writer, program: Any) -> Any:
    """Write steps of several keys at once; whether they were taken, which they are not if two keys are the same.

    Nor are they if any sample may be missing.
    """
    layout = writer.layout
    with writer.function("lanes", [POINTER] * 3 + [WORD], gives=BIT) as (builder, at):
        seen, slots, order, first = at.more
        places = builder.gep(order, [first], source_etype=WORD)
        samples = [builder.item(places, WORD(k)) for k in range(LANES)]
        keys = [builder.item(slots, sample) for sample in samples]
        # Compare each key with those up to half-way around
        vector, equal = builder.side_by_side(keys), None
        for turn in range(1, LANES // 2 + 1):
            same = builder.icmp_signed(
                "==", vector, builder.shuffled(vector, [(k + turn) % LANES for k in range(LANES)])
            )
            equal = same if equal is None else builder.or_(equal, same)
        lanes = ir.IntType(LANES)
        different = builder.icmp_unsigned("==", builder.bitcast(equal, lanes), lanes(0))
        different = builder.and_(different, builder.icmp_unsigned("==", seen, NULL))
        with builder.if_then(builder.not_(different), likely=False):
            builder.ret(BIT(0))
        # Load numbers of all lanes side by side, take the step, and store them one by one
        pairs = zip(offsets(record(layout.parameters)), layout.parameters, strict=True)
        values = [builder.load_array(at.parameters, offset, aval) for offset, aval in pairs]
        rows = [_rows(writer, builder, at, slot) for slot in keys]
        states = [[(row[part], offset) for row in rows] for part, offset in layout.leaves]

        def columns(pointers: Sequence[Any], sizes: Iterable[int]) -> list[list[tuple[Any, int]]]:
            pairs = zip(pointers, sizes, strict=True)
            return [[(builder.ahead(pointer, sample, size), 0) for sample in samples] for pointer, size in pairs]

        inputs, answers = columns(at.samples, map(nbytes, layout.samples)), columns(at.answers, layout.answers)
        for aval, lanes_at in zip((*layout.state, *layout.samples), (*states, *inputs), strict=True):
            lane = builder.side_by_side([builder.load_array(*place, aval).value for place in lanes_at])
            values.append(Lowered((LANES,), aval.dtype, lane))
        for value, lanes_at in zip(map(lowered, builder.run(program, values)), (*states, *answers), strict=True):
            for k, place in enumerate(lanes_at):
                number = value.value if value.size == 1 else builder.extract_element(value.value, INT(k))
                builder.store_array(*place, Lowered((), value.dtype, number))
        builder.ret(BIT(1))
    return builder.function


def write_job(function: Any) -> None:
    """Write `NAME_job`, which reads the arguments of a function behind the address of a job."""
    job = ir.Function(function.module, ir.FunctionType(POINTER, [POINTER]), f"{function.name}_job")
    builder = Builder.of(job)
    places = (builder.gep(job.args[0], [WORD(1 + k)], source_etype=WORD) for k in range(len(function.args)))
    read = [builder.load(place, typ=argument.type) for place, argument in zip(places, function.args, strict=True)]
    builder.call(function, read)
    builder.ret(NULL)

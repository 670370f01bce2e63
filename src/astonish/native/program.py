"""Which functions does the step of a learner become, and how are a state, samples and answers laid out for them?

`step` is one step; what is called from outside are loops around it: `series` (many samples, one state) and `rows` (many
samples, a table of states), and `update` and `watch` (one sample from Python, see `entry`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from llvmlite import ir

from astonish.learner import Learner, advance
from astonish.native import entry, machine
from astonish.native.lowering import LARGEST, Lowering
from astonish.native.values import Lowered, UnsupportedError, allocated, array_type, lowered
from astonish.packing import Packing
from astonish.precision import as_double, double

BYTE, WORD, POINTER, NOTHING = ir.IntType(8), ir.IntType(64), ir.PointerType(), ir.VoidType()
ANSWERS = 4  # estimate, surprise, learning rate, change probability


@dataclass(frozen=True)
class Layout:
    """Where everything is.

    parameters: of the learner, end to end, each at a multiple of 8 bytes. leaves: the part of a packed state that each
    leaf of it is in, and how far behind the part's beginning. samples: leaves of a sample. estimate: its shape.
    """

    parameters: tuple[Any, ...]
    state: tuple[Any, ...]
    leaves: tuple[tuple[int, int], ...]
    parts: tuple[int, ...]
    samples: tuple[Any, ...]
    estimate: tuple[int, ...]

    @property
    def numbers(self) -> int:
        """How many numbers are in an estimate."""
        return int(np.prod(self.estimate))

    def offsets(self) -> list[int]:
        """Where each parameter begins."""
        sizes = [-(-_bytes(aval) // 8) * 8 for aval in self.parameters]
        return [sum(sizes[:k]) for k in range(len(sizes))]

    def packed_parameters(self, learner: Learner) -> Any:
        """The parameters of a learner, as bytes."""
        room = np.zeros(sum(-(-_bytes(aval) // 8) * 8 for aval in self.parameters) + 8, np.uint8)
        for at, aval, leaf in zip(self.offsets(), self.parameters, jax.tree.leaves(learner), strict=True):
            raw = np.frombuffer(np.asarray(leaf, aval.dtype).tobytes(), np.uint8)
            room[at : at + len(raw)] = raw
        return room


@dataclass(frozen=True)
class Program:
    """Machine code of a learner's step, for all learners that differ in parameters only."""

    layout: Layout
    code: machine.Code
    gives_change: bool


def _bytes(aval: Any) -> int:
    return int(np.prod(aval.shape)) * np.dtype(aval.dtype).itemsize


@lru_cache(maxsize=256)
def _program(structure: Any, parameters: Any, packing: Packing, state: Any, samples: Any) -> Program | UnsupportedError:
    """The program, or why there is none."""
    try:
        with double():
            return _Writer(structure, parameters, packing, state, samples).program()
    except UnsupportedError as problem:
        return problem
    except Exception as problem:  # of a rule that does not foresee everything: another reason to leave it to XLA
        return UnsupportedError(f"something that failed to compile ({type(problem).__name__}: {problem})")


def program_of(learner: Learner, start: Any, packing: Packing) -> Program:
    """The program for this learner and states like this one, or an `UnsupportedError`."""
    leaves, structure = jax.tree.flatten(as_double(learner))
    found = _program(structure, _avals(leaves), packing, _avals(jax.tree.leaves(start)), learner.samples)
    if isinstance(found, UnsupportedError):
        raise found
    return found


def _avals(leaves: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(jax.ShapeDtypeStruct(np.shape(leaf), np.asarray(leaf).dtype) for leaf in leaves)


class _Writer:
    """Writes the module of a learner."""

    def __init__(self, structure: Any, parameters: Any, packing: Packing, state: Any, samples: Any) -> None:
        self.packing, self.samples, self.domains = packing, samples, jax.tree.leaves(samples)
        sample = tuple(jax.ShapeDtypeStruct(d.shape, np.int32 if d.is_index else np.float64) for d in self.domains)

        def step(parameters: Any, leaves: Any, xs: Any) -> Any:
            learner, old = structure.unflatten(parameters), packing.structure.unflatten(leaves)
            new, info = advance(learner, old, jax.tree.unflatten(jax.tree.structure(samples), xs))
            kept = [jnp.asarray(leaf, aval.dtype) for leaf, aval in zip(jax.tree.leaves(new), state, strict=True)]
            numbers = [info.surprise, info.learning_rate, info.change_probability]
            numbers = [jnp.nan if number is None else number for number in numbers]
            self.gives_change = info.change_probability is not None
            return kept, [jnp.asarray(n, float) for n in (learner.estimate(new), *numbers)]

        def read(parameters: Any, leaves: Any) -> Any:
            estimate = structure.unflatten(parameters).estimate(packing.structure.unflatten(leaves))
            return jnp.asarray(estimate, float)

        if any(np.prod(aval.shape) > LARGEST for aval in (*parameters, *state, *sample)):
            raise UnsupportedError("large arrays", expected=True)
        self.stepping, shapes = jax.make_jaxpr(step, return_shape=True)(parameters, state, sample)
        self.reading = jax.make_jaxpr(read)(parameters, state)
        if any(aval.shape for aval in shapes[1][1:]) or [a.shape for a in shapes[0]] != [a.shape for a in state]:
            raise UnsupportedError("a surprise or learning rate that is not one number")
        self.layout = Layout(parameters, state, *_places(packing, state), sample, shapes[1][0].shape)

    def program(self) -> Program:
        self.module = ir.Module("astonish")
        parts, xs = len(self.layout.parts), len(self.layout.samples)
        self.step = self._function("step", 1 + parts + xs + ANSWERS, exported=False)
        self._write_step()
        self.read = self._function("read", 1 + parts + 1, exported=False)
        self._write_read()
        self._write_series()
        self._write_rows()
        entry.write(self.module, self.step, self.layout, self.samples)
        return Program(self.layout, machine.compiled(self.module), self.gives_change)

    def _function(self, name: str, pointers: int, exported: bool, more: int = 0) -> Any:
        function = ir.Function(self.module, ir.FunctionType(NOTHING, [POINTER] * pointers + [WORD] * more), name)
        if not exported:
            function.linkage = "internal"
            function.attributes.add("noinline")
        function.attributes.add("nounwind")
        return function

    def _builder(self, function: Any) -> Any:
        """In a block behind the first one, which is for room in memory."""
        builder = ir.IRBuilder(function.append_basic_block("entry"))
        body = function.append_basic_block("body")
        builder.branch(body)
        builder.position_at_end(body)
        return builder

    def _loads(self, builder: Any, pointers: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """Parameters and state."""
        layout = self.layout
        parameters = [_load(builder, pointers[0], at, a) for at, a in zip(layout.offsets(), layout.parameters, strict=True)]
        states = [_load(builder, pointers[1 + part], at, aval)
                  for (part, at), aval in zip(layout.leaves, layout.state, strict=True)]  # fmt: skip
        return parameters, states

    def _write_step(self) -> None:
        builder, layout, parts = self._builder(self.step), self.layout, len(self.layout.parts)
        pointers = self.step.args
        parameters, states = self._loads(builder, pointers)
        samples = [_load(builder, pointers[1 + parts + k], 0, aval) for k, aval in enumerate(layout.samples)]
        found = Lowering(builder).run(self.stepping, [*parameters, *states, *samples])
        for (part, at), value in zip(layout.leaves, found[: len(layout.leaves)], strict=True):
            _store(builder, pointers[1 + part], at, value)
        for pointer, value in zip(pointers[-ANSWERS:], found[-ANSWERS:], strict=True):
            _store(builder, pointer, 0, value)
        builder.ret_void()

    def _write_read(self) -> None:
        builder = self._builder(self.read)
        parameters, states = self._loads(builder, self.read.args)
        (found,) = Lowering(builder).run(self.reading, [*parameters, *states])
        _store(builder, self.read.args[-1], 0, found)
        builder.ret_void()

    def _write_series(self) -> None:
        """Many samples, one state.

        Arguments: parameters, parts of the state, parts of the samples, answers, a byte for each sample that is 0 where
        it is missing (or null), where to copy the answers to the last sample that was there (or null), and the count.
        """
        parts, xs = len(self.layout.parts), len(self.layout.samples)
        function = self._function("series", 1 + parts + xs + ANSWERS + 1 + ANSWERS, exported=True, more=1)
        (parameters, *pointers), count = function.args[:-1], function.args[-1]
        rows, samples, answers, (seen, *latest) = _split(pointers, parts, xs, ANSWERS)
        builder = self._builder(function)
        restore = entry.flushing(builder)
        last = allocated(builder, WORD)
        builder.store(WORD(-1), last)
        with _counted(builder, count) as k:
            with builder.if_then(self._step_or_skip(builder, k, parameters, rows, samples, answers, seen)):
                builder.store(k, last)
        at = builder.load(last, typ=WORD)
        asked = builder.icmp_unsigned("!=", latest[0], ir.Constant(POINTER, None))
        with builder.if_then(builder.and_(asked, builder.icmp_signed(">=", at, WORD(0)))):
            for answer, room, size in zip(answers, latest, self._answer_sizes(), strict=True):
                _copy(builder, _ahead(builder, answer, at, size), room, size)
        restore()
        builder.ret_void()

    def _write_rows(self) -> None:
        """Many samples, a table of states.

        Arguments: parameters, parts of the table, parts of the samples, answers, which are missing (as above), the slot
        of each sample, the samples to learn from in their order, where to copy the state before each of these steps,
        part by part, and the count.
        """
        layout, parts, xs = self.layout, len(self.layout.parts), len(self.layout.samples)
        function = self._function("rows", 1 + parts + xs + ANSWERS + 3 + parts, exported=True, more=1)
        (parameters, *pointers), count = function.args[:-1], function.args[-1]
        tables, samples, answers, (seen, slots, order, *befores) = _split(pointers, parts, xs, ANSWERS)
        builder = self._builder(function)
        restore = entry.flushing(builder)
        with _counted(builder, count) as k:
            at = builder.load(builder.gep(order, [k], source_etype=WORD), typ=WORD)
            slot = builder.load(builder.gep(slots, [at], source_etype=WORD), typ=WORD)
            rows = [_ahead(builder, table, slot, size) for table, size in zip(tables, layout.parts, strict=True)]
            for row, before, size in zip(rows, befores, layout.parts, strict=True):
                _copy(builder, row, _ahead(builder, before, at, size), size)
            self._step_or_skip(builder, at, parameters, rows, samples, answers, seen)
        restore()
        builder.ret_void()

    def _answer_sizes(self) -> tuple[int, ...]:
        return (8 * self.layout.numbers, 8, 8, 8)

    def _step_or_skip(
        self, builder: Any, at: Any, parameters: Any, rows: Any, xs: Any, answers: Any, seen: Any
    ) -> Any:
        """A step, from the sample at this place and with answers there, unless it is missing. Whether it is not."""
        xs = [_ahead(builder, x, at, _bytes(aval)) for x, aval in zip(xs, self.layout.samples, strict=True)]
        answers = [_ahead(builder, a, at, size) for a, size in zip(answers, self._answer_sizes(), strict=True)]
        present = allocated(builder, ir.IntType(1))
        builder.store(ir.IntType(1)(1), present)
        with builder.if_then(builder.icmp_unsigned("!=", seen, ir.Constant(POINTER, None))):
            here = builder.load(builder.gep(seen, [at], source_etype=BYTE), typ=BYTE)
            builder.store(builder.icmp_unsigned("!=", here, BYTE(0)), present)
        there = builder.load(present, typ=ir.IntType(1))
        with builder.if_else(there) as (step, skip):
            with step:
                builder.call(self.step, [parameters, *rows, *xs, *answers])
            with skip:
                builder.call(self.read, [parameters, *rows, answers[0]])
                for answer, number in zip(answers[1:], (np.nan, 0.0, np.nan), strict=True):
                    builder.store(ir.Constant(ir.DoubleType(), number), answer)
        return there


def _split(pointers: Sequence[Any], *counts: int) -> list[Any]:
    """Groups of so many pointers, and the rest."""
    ends = np.cumsum((0, *counts)).tolist()
    groups = [list(pointers[begin:end]) for begin, end in zip(ends, ends[1:], strict=False)]
    return [*groups, list(pointers[ends[-1] :])]


def _places(packing: Packing, state: Sequence[Any]) -> tuple[tuple[tuple[int, int], ...], tuple[int, ...]]:
    """The part and the offset of each leaf, and how many bytes each part has."""
    places, sizes = [], [0]
    for aval, together in zip(state, packing.together, strict=True):
        if together:
            places.append((0, sizes[0]))
            sizes[0] += _bytes(aval)
        else:
            places.append((len(sizes), 0))
            sizes.append(_bytes(aval))
    return tuple(places), tuple(sizes)


def _load(builder: Any, pointer: Any, at: int, aval: Any) -> Lowered:
    dtype, size = np.dtype(aval.dtype), int(np.prod(aval.shape))
    if dtype.kind == "b":
        raise UnsupportedError("states of booleans")
    place = builder.gep(pointer, [WORD(at)], source_etype=BYTE)
    return Lowered(aval.shape, dtype, builder.load(place, typ=array_type(dtype, size), align=dtype.itemsize))


def _store(builder: Any, pointer: Any, at: int, value: Any) -> None:
    value = lowered(value)
    builder.store(value.value, builder.gep(pointer, [WORD(at)], source_etype=BYTE), align=value.dtype.itemsize)


def _ahead(builder: Any, pointer: Any, index: Any, size: int) -> Any:
    return builder.gep(pointer, [builder.mul(index, WORD(size))], source_etype=BYTE)


def _copy(builder: Any, source: Any, target: Any, size: int) -> None:
    if size:
        name = "llvm.memcpy.p0.p0.i64"
        arguments = [POINTER, POINTER, WORD, ir.IntType(1)]
        copy = builder.module.globals.get(name) or ir.Function(builder.module, ir.FunctionType(NOTHING, arguments), name)
        builder.call(copy, [target, source, WORD(size), ir.IntType(1)(0)])


class _counted:  # noqa: N801 (used as a statement)
    """A loop over 0, 1, ... up to a number."""

    def __init__(self, builder: Any, count: Any) -> None:
        self.builder, self.count = builder, count

    def __enter__(self) -> Any:
        builder = self.builder
        before = builder.block
        self.test, self.body, self.end = (builder.append_basic_block(name) for name in ("test", "body", "end"))
        builder.branch(self.test)
        builder.position_at_end(self.test)
        self.index = builder.phi(WORD)
        self.index.add_incoming(WORD(0), before)
        builder.cbranch(builder.icmp_signed("<", self.index, self.count), self.body, self.end)
        builder.position_at_end(self.body)
        return self.index

    def __exit__(self, *_: Any) -> None:
        builder = self.builder
        self.index.add_incoming(builder.add(self.index, WORD(1)), builder.block)
        builder.branch(self.test)
        builder.position_at_end(self.end)

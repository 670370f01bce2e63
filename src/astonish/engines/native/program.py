"""Machine code of a learner's step, and the streams, series and banks that it computes.

For streams a program has `series` (many samples, one state), `update` and `watch` (one sample from Python, see
`entry`); for banks `rows` (many samples, a table of states).
"""

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import jaxprs_in_params

from astonish.core.cooldown import alarm_and_wait
from astonish.core.numbers import BoolArray, as_double, double
from astonish.core.programs import Packing
from astonish.core.samples import read_one
from astonish.engines.native import entry, loops, parallel
from astonish.engines.native.llvm import Code, UnsupportedError, compiled, filled, record
from astonish.engines.native.loops import COUNT, Layout, Writer
from astonish.engines.native.lowering import LARGEST
from astonish.learners.base import MISSED, Learner, State, Step, Steps, advance


@dataclass(frozen=True)
class Program:
    """Machine code of a learner's step, for all learners that differ in parameters only.

    given: which answers the learner gives.
    """

    layout: Layout
    packing: Packing
    code: Code
    given: tuple[bool, ...]

    def stream(self, learner: Learner, state: State) -> "NativeSteps":
        """What takes the steps of a stream, from this state on."""
        return NativeSteps(self, learner, state)

    def bank(self, learner: Learner, tables: list[Any]) -> "NativeRows":
        """What takes the steps of a bank, whose states are in the rows of tables."""
        return NativeRows(self, learner, tables)

    def run(self, learner: Learner, state: State, samples: Any, observed: BoolArray) -> Steps:
        """What each step of a series gives, and the state after it."""
        small, *large = self.packed(state)
        parameters = self.layout.packed_parameters(learner)
        states = [_address(array) for array in (parameters, small, *large)]
        steps = self.series(ctypes.CFUNCTYPE, states, samples, observed, (None,) * COUNT)
        return steps._replace(state=self.packing.unpack(small, large))

    def series(
        self, kind: Any, states: Sequence[int], samples: Any, observed: BoolArray, latest: Sequence[int | None]
    ) -> Steps:
        """Call the compiled loop. kind: of function of ctypes, with or without Python's lock.

        states: where the parameters and the parts of the state are. latest: where to put the last answers, if anywhere.
        """
        count, arrays, answers = len(observed), self.columns(samples), self.room(len(observed))
        seen = None if observed.all() else np.ascontiguousarray(observed)
        places = [*map(_address, (*arrays, *answers)), None if seen is None else _address(seen)]
        pointers = [*states, *places, *latest]
        kind(None, *[ctypes.c_void_p] * len(pointers), ctypes.c_int64)(self.code["series"])(*pointers, count)
        return self.steps(answers)

    def columns(self, samples: Any) -> list[Any]:
        """Samples as compiled code reads them."""
        pairs = zip(self.layout.samples, jax.tree.leaves(samples), strict=True)
        return [np.ascontiguousarray(column, aval.dtype) for aval, column in pairs]

    def room(self, count: int) -> list[Any]:
        """Room for the answers of so many steps."""
        return [np.empty((count, *self.layout.estimate)), *(np.empty(count) for _ in self.given[1:])]

    def steps(self, answers: Sequence[Any]) -> Steps:
        """The answers that the learner gives."""
        return Steps(*(answer if given else None for answer, given in zip(answers, self.given, strict=True)))

    def packed(self, state: State) -> list[Any]:
        """Copies of the parts of a state."""
        small, large = self.packing.pack(state, np)
        return [small, *(np.array(part, order="C") for part in large)]


def program_of(learner: Learner, start: Any, packing: Packing, for_banks: bool = False) -> Program:
    """The program for this learner and states like this one, or an `UnsupportedError`."""
    leaves, structure = jax.tree.flatten(as_double(learner))
    avals = (_avals(leaves), _avals(jax.tree.leaves(start)))
    program = _program(structure, *avals, packing, learner.samples, for_banks)
    if isinstance(program, UnsupportedError):
        raise program
    return program


def _avals(leaves: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(jax.ShapeDtypeStruct(np.shape(leaf), np.asarray(leaf).dtype) for leaf in leaves)


@lru_cache(maxsize=256)
def _program(
    structure: Any, parameters: Any, state: Any, packing: Packing, samples: Any, for_banks: bool
) -> Program | UnsupportedError:
    """The program, or why there is none."""
    if any(np.prod(aval.shape) > LARGEST for aval in (*parameters, *state)):
        return UnsupportedError("large arrays", expected=True)
    try:
        with double():
            traced = _Traced(structure, parameters, packing, state, samples)
    except Exception:  # which XLA will raise again, when a step is taken
        return UnsupportedError("a step that fails", expected=True)
    try:
        with double():
            writer = Writer(traced.step, traced.read, traced.layout)
            if for_banks:
                loops.write_rows(writer, traced.lanes(loops.LANES))
            else:
                loops.write_series(writer)
                entry.write(writer.module, writer.step, traced.layout, samples)
            return Program(traced.layout, packing, compiled(writer.module), traced.given)
    except UnsupportedError as problem:
        return problem
    except Exception as problem:  # of a rule that does not foresee everything: another reason to leave it to XLA
        return UnsupportedError(f"something that failed to compile ({type(problem).__name__}: {problem})")


class _Traced:
    """A learner's step, and what it reads off a state, as JAX's programs."""

    def __init__(self, structure: Any, parameters: Any, packing: Packing, state: Any, samples: Any) -> None:
        domains = jax.tree.leaves(samples)
        sample = tuple(jax.ShapeDtypeStruct(d.shape, np.int32 if d.is_index else np.float64) for d in domains)

        def step(parameters: Any, leaves: Any, xs: Any) -> Any:
            learner, old = structure.unflatten(parameters), packing.structure.unflatten(leaves)
            new, info = advance(learner, old, jax.tree.unflatten(jax.tree.structure(samples), xs))
            kept = [jnp.asarray(leaf, aval.dtype) for leaf, aval in zip(jax.tree.leaves(new), state, strict=True)]
            answers = (learner.estimate(new), *info)
            self.given = tuple(answer is not None for answer in answers)
            return kept, [jnp.asarray(jnp.nan if answer is None else answer, float) for answer in answers]

        def read(parameters: Any, leaves: Any) -> Any:
            estimate = structure.unflatten(parameters).estimate(packing.structure.unflatten(leaves))
            return jnp.asarray(estimate, float)

        self.step, (kept, answers) = jax.make_jaxpr(step, return_shape=True)(parameters, state, sample)
        self.read = jax.make_jaxpr(read)(parameters, state)
        if any(aval.shape for aval in answers[1:]) or [a.shape for a in kept] != [a.shape for a in state]:
            raise ValueError("a step gives one surprise, one learning rate, and a state like the one before")
        self.layout = Layout.of(parameters, packing, state, sample, answers[0].shape)
        self._vmapped = jax.vmap(step, in_axes=(None, 0, 0))

    def lanes(self, count: int) -> Any:
        """The step of so many keys at once; None if it is not one of single numbers, where that is no gain."""
        state, samples = self.layout.state, self.layout.samples
        if any(aval.shape for aval in (*state, *samples)) or not _is_scalar(self.step.jaxpr):
            return None
        many = [tuple(jax.ShapeDtypeStruct((count,), aval.dtype) for aval in avals) for avals in (state, samples)]
        return jax.make_jaxpr(self._vmapped)(self.layout.parameters, *many)


def _is_scalar(jaxpr: Any) -> bool:
    """Whether all arrays in a program have one number."""
    inner = [part for equation in jaxpr.eqns for part in jaxprs_in_params(equation.params)]
    sizes = (np.prod(variable.aval.shape) for equation in jaxpr.eqns for variable in equation.outvars)
    return all(size <= 1 for size in sizes) and all(map(_is_scalar, inner))


class NativeSteps:
    """A learner and its state, where compiled code reads and writes them."""

    engine = "native"

    def __init__(self, program: Program, learner: Learner, state: State) -> None:
        self._program, self._samples = program, learner.samples
        layout, parts = program.layout, program.packed(state)
        self._parts = filled(record(parts), parts)  # in one piece of memory
        self._sample = record(layout.samples)
        self._latest = np.zeros(layout.numbers + COUNT - 1)  # an estimate, and single numbers
        self._latest[: layout.numbers] = np.ravel(learner.estimate(state))
        parameters = layout.packed_parameters(learner)
        answers = np.split(self._latest, layout.numbers + np.arange(COUNT - 1))
        states = (self._parts[name] for name in self._parts.dtype.names)
        self._addresses = [_address(array) for array in (parameters, *states, *answers)]
        self._owned = (parameters, self._parts, self._latest, program)
        self._step_from_bytes = self.bound("update_read", None, None)

    def updater(self) -> Callable[[Any], Step]:
        """The function that learns from one sample."""
        return self.bound("update", self._step_slowly, None)

    def bound(self, name: str, slow: Callable[[Any], Any] | None, watch: Any) -> Callable[..., Any]:
        """A function of the program's, for this state. slow: what reads samples that need a closer look."""
        layout = self._program.layout
        copy = self._latest[: layout.numbers].reshape(layout.estimate).copy
        objects = (float, int, tuple, np.ndarray, Step, slow, copy, True, False)
        table = [*map(id, objects), 0 if watch is None else _address(watch), *self._addresses]
        return entry.bound("update", self._program.code[name], table, objects, watch, self._owned)

    def state(self) -> State:
        copy = np.frombuffer(bytearray(self._parts.tobytes()), self._parts.dtype)[0]  # of all parts at once
        small, *large = (copy[name] for name in copy.dtype.names)
        return self._program.packing.unpack(small, large)

    def last(self) -> Step:
        """What the last sample that was not missing gave."""
        numbers, layout = np.frombuffer(self._latest.tobytes()), self._program.layout  # all of them at once
        estimate = numbers[: layout.numbers].reshape(layout.estimate).copy() if layout.estimate else numbers.item(0)
        return Step(estimate, *numbers[layout.numbers :].tolist())

    def _step_slowly(self, x: Any) -> Any:
        """Learn from a sample of any sort; one that is missing changes nothing."""
        sample = self.as_bytes(x)
        if sample is None:
            return Step(self.last().estimate, *MISSED)
        return self._step_from_bytes(sample)

    def as_bytes(self, x: Any) -> bytes | None:
        """A sample, checked, as compiled code reads it; None if it is missing."""
        sample = read_one(self._samples, x)
        if sample is None:
            return None
        content: bytes = filled(self._sample, jax.tree.leaves(sample)).tobytes()
        return content

    def update_many(self, samples: Any, observed: BoolArray) -> Steps:
        """Learn from samples in their order, and answer for each; under Python's lock, so nothing comes between."""
        states, latest = self._addresses[:-COUNT], self._addresses[-COUNT:]
        return self._program.series(ctypes.PYFUNCTYPE, states, samples, observed, latest)

    def watch(self, signal: int, *about: Any) -> "NativeWatch":
        return NativeWatch(self, self._addresses[-COUNT + signal], *about)


class NativeWatch:
    """Whether the number at an address exceeds a threshold after a step, and when it did not do so just before."""

    def __init__(
        self, steps: NativeSteps, address: int, threshold: float, cooldown: int, wait: int, alarm: bool
    ) -> None:
        self._watched = np.array((address, threshold, cooldown, wait, alarm, 0), entry.WATCHED)
        self._steps, self._from_bytes = steps, steps.bound("watch_read", None, self._watched)

    def updater(self) -> Callable[[Any], bool]:
        """The function that learns from one sample and says whether it gives an alarm."""
        return self._steps.bound("watch", self._slowly, self._watched)

    @property
    def threshold(self) -> float:
        return float(self._watched["threshold"])

    @threshold.setter
    def threshold(self, value: float) -> None:
        self._watched["threshold"] = value

    @property
    def alarm(self) -> bool:
        return bool(self._watched["alarm"])

    def now(self) -> tuple[State, bool, int]:
        """The state, whether the last sample gave an alarm, and for how many samples there is none; of one moment."""
        before, state = None, None
        while before != (after := self._watched.tobytes()):  # in which the samples are counted
            before, state = after, self._steps.state()
        watched = np.frombuffer(after, entry.WATCHED)[0]
        return state, bool(watched["alarm"]), int(watched["wait"])

    def _slowly(self, x: Any) -> bool:
        sample = self._steps.as_bytes(x)
        if sample is not None:
            return bool(self._from_bytes(sample))
        number, threshold, cooldown, wait, _, samples = self._watched.item()
        alarm, wait = alarm_and_wait(False, wait, cooldown)
        self._watched[()] = number, threshold, cooldown, wait, alarm, samples + 1
        return alarm


class NativeRows:
    """A learner whose states are in the rows of tables."""

    find = staticmethod(parallel.find)

    def __init__(self, program: Program, learner: Learner, tables: list[Any]) -> None:
        self._program, self._tables = program, tables
        self._parameters = program.layout.packed_parameters(learner)
        self.find(np.zeros(1, np.int64), np.full(8, -1, np.int32), np.zeros(1, np.int64), 3, 1)  # compiled now
        self._room: tuple[list[Any], Any] = [], np.empty(0)  # for each thread and for all, used again by the next batch

    def learn(self, slots: Any, samples: Any, observed: BoolArray, done: Any) -> Steps:
        """Learn from samples, those of each slot in their order, and answer for each.

        done: a number for each thread, which becomes 1 more than how many samples it has learned from. That is written
        by compiled code, as all that is learned is, so that no interruption comes between.
        """
        program, count, threads = self._program, len(observed), len(done)
        columns, answers = program.columns(samples), program.room(count)
        seen = None if observed.all() else np.ascontiguousarray(observed)
        slots = np.ascontiguousarray(slots, np.int64)
        orders, unread = self._room
        if len(orders) < threads or len(unread) <= count:
            orders, unread = [np.empty(count + 1, np.int64) for _ in range(threads)], np.empty(count + 1)
            self._room = orders, unread  # both at once: after an interruption between them, one would be too short
        # What the learner does not give is written where nobody reads it: new memory for it would cost time
        answers = [room if given else unread for room, given in zip(answers, program.given, strict=True)]
        common = [self._parameters, *self._tables, *columns, *answers, seen, slots]
        jobs = [(*common, orders[k], done[k:], count, threads - 1, k) for k in range(threads)]
        parallel.in_parallel(program.code["rows_job"], jobs)
        return program.steps(answers)

    def nothing_done(self, samples: int) -> Any:
        """What `learn` fills in as `done`, for so many samples."""
        return np.zeros(parallel.threads_for(samples), np.int64)


def _address(array: Any) -> int:
    return int(array.ctypes.data)

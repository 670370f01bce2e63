"""Streams and series that compiled code follows."""

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np

from astonish.core.cooldown import alarm_and_wait
from astonish.core.numbers import BoolArray
from astonish.core.programs import Packing
from astonish.core.samples import read_one
from astonish.engines.native import entry
from astonish.engines.native.layout import COUNT
from astonish.engines.native.program import Program
from astonish.learners.base import MISSED, Learner, State, Step, Steps

_NOTHING = (None,) * COUNT


class NativeSteps:
    """A learner and its state, where compiled code reads and writes them."""

    engine = "native"

    def __init__(self, program: Program, learner: Learner, state: State, packing: Packing) -> None:
        self._program, self._packing, self._samples = program, packing, learner.samples
        layout = program.layout
        self._room, self._parts = _in_one_piece(packed(packing, state))
        self._latest = np.zeros(layout.numbers + COUNT - 1)  # an estimate, and single numbers
        self._latest[: layout.numbers] = np.ravel(learner.estimate(state))
        parameters = layout.packed_parameters(learner)
        answers = np.split(self._latest, layout.numbers + np.arange(COUNT - 1))
        self._addresses = [_address(array) for array in (parameters, *self._parts, *answers)]
        self._owned = (parameters, self._room, self._latest, program)
        self._step_from_bytes = self.bound("update_read", None, None)

    def updater(self) -> Callable[[Any], Any]:
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
        copy = np.frombuffer(bytearray(self._room.tobytes()), np.uint8)  # of all parts at once
        small, *large = _pieces(copy, self._parts)
        return self._packing.unpack(small, large)

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
        leaves = zip(self._program.layout.samples, jax.tree.leaves(sample), strict=True)
        return b"".join(np.asarray(leaf, aval.dtype).tobytes() for aval, leaf in leaves)

    def address_of(self, answer: int) -> int:
        """Where the last of these numbers is, by its place in a `Step`."""
        return self._addresses[-COUNT + answer]

    def update_many(self, samples: Any, observed: BoolArray) -> Steps:
        """Learn from samples in their order, and answer for each; under Python's lock, so nothing comes between."""
        return _series(self._program, ctypes.PYFUNCTYPE, self._addresses[: 1 + len(self._parts)], samples, observed,
                       self._addresses[1 + len(self._parts) :])  # fmt: skip

    def watch(self, signal: int, threshold: float, cooldown: int, wait: int, alarm: bool) -> "NativeWatch":
        return NativeWatch(self, signal, threshold, cooldown, wait, alarm)


class NativeWatch:
    """Whether one of the numbers of a step exceeds a threshold, and when it did not do so just before."""

    def __init__(
        self, steps: NativeSteps, signal: int, threshold: float, cooldown: int, wait: int, alarm: bool
    ) -> None:
        self._numbers = np.zeros(6, np.int64)
        self._numbers[0] = steps.address_of(signal)
        self._numbers[2:5] = cooldown, wait, alarm
        self._steps, self.threshold = steps, threshold
        self._from_bytes = steps.bound("watch_read", None, self._numbers)

    def updater(self) -> Callable[[Any], bool]:
        """The function that learns from one sample and says whether it gives an alarm."""
        return self._steps.bound("watch", self._slowly, self._numbers)

    @property
    def threshold(self) -> float:
        return float(self._numbers[1:2].view(np.float64)[0])

    @threshold.setter
    def threshold(self, value: float) -> None:
        self._numbers[1:2].view(np.float64)[0] = value

    @property
    def alarm(self) -> bool:
        return bool(self._numbers[4])

    def now(self) -> tuple[State, bool, int]:
        """The state, whether the last sample gave an alarm, and for how many samples there is none; of one moment."""
        before, state = None, None
        while before != (after := self._numbers.tolist()):  # the last of which counts the steps
            before, state = after, self._steps.state()
        return state, bool(after[4]), after[3]

    def _slowly(self, x: Any) -> bool:
        sample = self._steps.as_bytes(x)
        if sample is not None:
            return bool(self._from_bytes(sample))
        _, _, cooldown, wait, _, count = self._numbers.tolist()
        alarm, wait = alarm_and_wait(False, wait, cooldown)
        self._numbers[3:] = wait, alarm, count + 1
        return alarm


def run_series(
    program: Program, learner: Learner, state: State, packing: Packing, samples: Any, observed: BoolArray
) -> Steps:
    """What each step of a series gave, and the state after it."""
    small, *large = packed(packing, state)
    parameters = program.layout.packed_parameters(learner)
    own = [_address(array) for array in (parameters, small, *large)]
    steps = _series(program, ctypes.CFUNCTYPE, own, samples, observed, _NOTHING)
    return steps._replace(state=packing.unpack(small, large))


def _series(
    program: Program, kind: Any, own: Sequence[int], samples: Any, observed: BoolArray, latest: Sequence[Any]
) -> Steps:
    """Call the program's loop. kind: of function of ctypes, with or without Python's lock."""
    count = len(observed)
    columns = as_columns(program, samples)
    answers = answers_for(program, count)
    seen = None if observed.all() else np.ascontiguousarray(observed)
    pointers = [
        *own,
        *map(_address, columns),
        *map(_address, answers),
        None if seen is None else _address(seen),
        *latest,
    ]
    kind(None, *[ctypes.c_void_p] * len(pointers), ctypes.c_int64)(program.code["series"])(*pointers, count)
    return answers_of(program, answers)


def answers_for(program: Program, count: int) -> list[Any]:
    """Room for the answers of so many steps."""
    return [np.empty((count, *program.layout.estimate)), *(np.empty(count) for _ in program.given[1:])]


def answers_of(program: Program, answers: Sequence[Any]) -> Steps:
    """The answers that the learner gives."""
    return Steps(*(answer if given else None for answer, given in zip(answers, program.given, strict=True)))


def as_columns(program: Program, samples: Any) -> list[Any]:
    """Samples as compiled code reads them."""
    pairs = zip(program.layout.samples, jax.tree.leaves(samples), strict=True)
    return [np.ascontiguousarray(column, aval.dtype) for aval, column in pairs]


def packed(packing: Packing, state: State) -> list[Any]:
    """Copies of the parts of a state."""
    small, large = packing.pack_numpy(state)
    return [small, *(np.array(part, order="C") for part in large)]


def _in_one_piece(parts: Sequence[Any]) -> tuple[Any, list[Any]]:
    """Memory with copies of these arrays in it, each at a multiple of 8 bytes, and the copies."""
    room = np.zeros(sum(-(-part.nbytes // 8) * 8 for part in parts), np.uint8)
    copies = _pieces(room, parts)
    for copy, part in zip(copies, parts, strict=True):
        copy[...] = part
    return room, copies


def _pieces(room: Any, like: Sequence[Any]) -> list[Any]:
    """Arrays like these in a piece of memory, one behind the other."""
    pieces, at = [], 0
    for part in like:
        pieces.append(room[at : at + part.nbytes].view(part.dtype).reshape(part.shape))
        at += -(-part.nbytes // 8) * 8
    return pieces


def _address(array: Any) -> int:
    return int(array.ctypes.data)

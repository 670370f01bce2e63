"""The states of many keys, and the order in which they learn.

First samples of different keys are learned from side by side. What follows of a key is gone through in a loop; keys
with about as many samples left go through their loops together, so that few wait for others.
"""

import math
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import NDArray

from astonish.core.numbers import BoolArray, FloatArray, as_double, double
from astonish.core.programs import Packing
from astonish.engines.native import program_for
from astonish.learners.base import Learner, State, Steps, first_state, scan
from astonish.online.series import OPTIONS

Slots = NDArray[np.int64]
TILES = (64, 512, 4096, 8192, 20480)  # numbers of keys, and
LOOPS = (1, 4, 16, 64, 512)  # numbers of samples of each, for which programs are compiled
_STATES = 2**16  # numbers in the states of a program: what a core's own memory holds, with what is made of them
_SAMPLES = 2**20  # in a program
_LAST = np.iinfo(np.int32).max
_ALIGNED = 64  # bytes: arrays that begin at a multiple are read where they are, others are copied first
_estimates = jax.jit(jax.vmap(lambda learner, state: learner.estimate(state), in_axes=(None, 0)))


class Block(NamedTuple):
    """Samples to learn from at once, in a program for so many `keys`.

    turn: blocks of one turn may be learned from side by side, those of the next need what became of them.
    slots: one for each key. at: where each key's samples are, in turn, -1 behind its last. Neither is filled up.
    """

    turn: int
    slots: Slots
    at: Slots
    keys: int


class Schedule:
    """Finds the order.

    capacity: slots there are. size: numbers in a state.

    >>> [block.at.tolist() for block in Schedule(capacity=2).of([np.array([1, 0, 1])], samples=3)]
    [[[0], [1]], [[2]]]
    """

    def __init__(self, capacity: int, size: int = 1) -> None:
        self._marks = np.zeros(capacity, np.int32)  # the number of the last sample of each slot
        self._next = 1
        self._size = size

    @property
    def nbytes(self) -> int:
        return self._marks.nbytes

    def of(self, parts: Iterable[Slots], samples: int) -> Iterator[Block]:
        """Blocks of so many samples, turn after turn, each as soon as the parts seen so far decide it.

        parts: the slots of the samples' keys, part after part.
        """
        if self._next + samples > _LAST:
            self._marks[:], self._next = 0, 1
        begin, self._next = self._next, self._next + samples
        start = begin
        later: list[tuple[Slots, Slots]] = []
        for slots in parts:
            number = np.arange(start, start + len(slots), dtype=np.int32)
            first = self._marks.take(slots, mode="clip") < begin
            self._marks[slots[::-1]] = number[::-1]  # of equal slots, the first sample is written last
            first &= self._marks.take(slots, mode="clip") == number
            at, rest = np.flatnonzero(first), np.flatnonzero(~first)
            yield from self._tiles(0, slots.take(at), (at + (start - begin))[:, None])
            later.append((slots.take(rest), rest + (start - begin)))
            start += len(slots)
        yield from self._loops(*(np.concatenate(column) for column in zip(*later, strict=True)))

    def _loops(self, slots: Slots, at: Slots) -> Iterator[Block]:
        """Second and later samples of keys: those with most of them first."""
        order = np.sort((slots << 32) | np.arange(len(slots))) & (2**32 - 1)  # faster than argsort, and as stable
        slots, at = slots[order], at[order]  # by slot and then by time
        starts = np.flatnonzero(np.diff(slots, prepend=-1))
        counts = np.diff(starts, append=len(slots))
        by_count = np.argsort(-counts, kind="stable")
        starts, counts = starts[by_count], counts[by_count]
        for turn, done in enumerate(range(0, int(counts.max(initial=0)), LOOPS[-1]), 1):
            left = np.minimum(counts - done, LOOPS[-1])
            for shorter, steps in reversed(list(zip((0, *LOOPS), LOOPS, strict=False))):
                keys = slice(*np.searchsorted(-left, [-steps, -shorter]))
                ahead = np.arange(steps)
                found = at.take(starts[keys, None] + done + ahead, mode="clip")
                found[ahead >= left[keys, None]] = -1
                yield from self._tiles(turn, slots[starts[keys]], found)

    def _tiles(self, turn: int, slots: Slots, at: Slots) -> Iterator[Block]:
        steps = at.shape[1]
        sizes = [keys for keys in TILES if keys * self._size <= _STATES and keys * steps <= _SAMPLES] or TILES[:1]
        for begin in range(0, len(slots), sizes[-1]):
            part: Any = slice(begin, begin + sizes[-1])
            yield Block(turn, slots[part], at[part], next(keys for keys in sizes if keys >= len(slots[part])))


class States:
    """A state in each slot, in flat arrays. start: the learner's before its first sample. table: all, by name."""

    def __init__(self, learner: Learner, capacity: int) -> None:
        with double():
            self._learner = jax.device_put(as_double(learner))
            self.start = first_state(learner)
            self.start_estimate = np.asarray(learner.estimate(self.start), np.float64)
            self._packing = Packing.of(self.start)
            small, large = jax.tree.map(np.asarray, self._packing.pack(self.start))
        self._rows = [np.empty((capacity, *part.shape), part.dtype) for part in (small, *large)]
        self._items = [_items(part) for part in self._rows]
        self.table = self._packing.unpack(self._rows[0], self._rows[1:])
        self.reset()

    def native(self, learner: Learner, engine: str | None) -> Any:
        """What learns from batches in compiled code; None where XLA does."""
        with double():
            program = program_for(learner, self.start, self._packing, engine, for_banks=True)
        if program is None:
            return None
        from astonish.engines.native.banks import NativeRows

        return NativeRows(program, learner, self._rows)

    @property
    def size(self) -> int:
        """How many numbers are in a state."""
        return sum(math.prod(part.shape[1:]) for part in self._rows)

    @property
    def nbytes(self) -> int:
        return sum(part.nbytes for part in self._rows)

    def at(self, slots: Slots | slice) -> State:
        """The states in these slots; of a slice, the very numbers that will change."""
        return jax.tree.map(lambda leaf: leaf[slots], self.table)

    def put(self, slots: Slots | slice, states: State) -> None:
        """Put states there: one in each slot, or one and the same in all."""
        jax.tree.map(lambda leaf, new: leaf.__setitem__(slots, new), self.table, states)

    def estimates(self, slots: Slots) -> FloatArray:
        """What the learner would answer from each of these states."""
        with double():
            return np.asarray(_estimates(self._learner, self.at(slots)))

    def reset(self) -> None:
        """Blocks that were begun before, and perhaps never ended, are not waited for."""
        self._last: Any = np.zeros(())  # of the block that was begun last; there once all of it is

    def rows(self, slots: Slots, length: int | None = None) -> list[Any]:
        """Copies of the states in these slots, filled up to this length with copies of the first."""
        return [_taken(part, slots, len(slots) if length is None else length) for part in self._rows]

    def put_rows(self, slots: Slots, rows: list[Any]) -> None:
        """Put such copies back; those that fill up are left out."""
        for items, part in zip(self._items, rows, strict=True):
            items[slots] = _items(np.asarray(part))[: len(slots)]

    def begin(self, block: Block, samples: Any, seen: BoolArray | None, rows: list[Any]) -> Steps:
        """Set out to learn from a block. What it gives can be waited for; the states stay as they are until `end`.

        rows: the states before, as many as there are keys in the block's program.
        """
        xs = jax.tree.map(lambda column: _taken(column, block.at, block.keys), samples)
        mask = None
        if seen is not None or block.at.shape[1] > 1:
            mask = np.zeros((block.keys, block.at.shape[1]), bool)
            mask[: len(block.at)] = block.at >= 0 if seen is None else (block.at >= 0) & seen[block.at]
        with double():
            steps, self._last = _compiled_loop(self._packing)(self._learner, xs, rows, mask, self._last)
        return steps

    def end(self, block: Block, steps: Steps) -> None:
        """Wait for a block, and put the states that it led to where they belong."""
        self.put_rows(block.slots, jax.tree.leaves(steps.state))


@cache
def _compiled_loop(packing: Packing) -> Callable[..., tuple[Steps, Array]]:
    """A compiled loop for all banks whose states are packed in the same way; the last state stays packed.

    It waits for the `last` one to end: two at once would compete for the cores, also with the search for keys.
    """

    def one(learner: Learner, xs: Any, rows: list[Any], seen: Any) -> Steps:
        steps = scan(learner, xs, packing.unpack(rows[0], rows[1:]), seen)
        return steps._replace(state=packing.pack(steps.state))

    def many(learner: Learner, xs: Any, rows: list[Any], seen: Any, last: Array) -> tuple[Steps, Array]:
        return jax.vmap(one, in_axes=(None, 0, 0, 0))(learner, xs, rows, seen), jnp.zeros_like(last)

    # not `loops.compiled`: XLA splits thousands of keys over threads, and refuses to do so within one kernel
    return jax.jit(many, compiler_options=OPTIONS, keep_unused=True)


def _items(rows: Any) -> Any:
    """Each row as one item, which NumPy puts in its place five times as fast."""
    flat = np.ascontiguousarray(rows).reshape(len(rows), math.prod(rows.shape[1:]))
    size = flat.dtype.itemsize * flat.shape[1]
    return flat.view(f"V{size}")[:, 0] if size else rows


def _taken(column: Any, at: Any, length: int) -> Any:
    """What is at these places, filled up to this length with copies of the first."""
    shape = (length, *at.shape[1:], *column.shape[1:])
    room = np.empty(math.prod(shape) * column.dtype.itemsize + _ALIGNED, np.uint8)
    begin = -room.__array_interface__["data"][0] % _ALIGNED
    taken = room[begin : begin + len(room) - _ALIGNED].view(column.dtype).reshape(shape)
    column.take(at, axis=0, out=taken[: len(at)], mode="clip")
    taken[len(at) :] = taken[:1]
    return taken

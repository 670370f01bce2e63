"""In which order are samples learned from, when many keys learn at once and each must see its own in turn?

First samples of different keys are learned from side by side. What follows of a key is gone through in a loop; keys
with about as many samples left go through their loops together, so that few wait for others.
"""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Whole = NDArray[np.int64]
TILES = (64, 512, 4096, 8192, 20480)  # numbers of keys, and
LOOPS = (1, 4, 16, 64, 512)  # numbers of samples of each, for which programs are compiled
_STATES = 2**16  # numbers in the states of a program: what a core's own memory holds, with what is made of them
_SAMPLES = 2**20  # in a program
_LAST = np.iinfo(np.int32).max


class Block(NamedTuple):
    """Samples to learn from at once, in a program for so many `keys`.

    turn: blocks of one turn may be learned from side by side, those of the next need what became of them.
    slots: one for each key. at: where each key's samples are, in turn, -1 behind its last. Neither is filled up.
    """

    turn: int
    slots: Whole
    at: Whole
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

    def of(self, parts: Iterable[Whole], samples: int) -> Iterator[Block]:
        """Blocks of so many samples, turn after turn, each as soon as the parts seen so far decide it.

        parts: the slots of the samples' keys, part after part.
        """
        if self._next + samples > _LAST:
            self._marks[:], self._next = 0, 1
        begin, self._next = self._next, self._next + samples
        start = begin
        later: list[tuple[Whole, Whole]] = []
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

    def _loops(self, slots: Whole, at: Whole) -> Iterator[Block]:
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

    def _tiles(self, turn: int, slots: Whole, at: Whole) -> Iterator[Block]:
        steps = at.shape[1]
        sizes = [keys for keys in TILES if keys * self._size <= _STATES and keys * steps <= _SAMPLES] or TILES[:1]
        for begin in range(0, len(slots), sizes[-1]):
            part: Any = slice(begin, begin + sizes[-1])
            yield Block(turn, slots[part], at[part], next(keys for keys in sizes if keys >= len(slots[part])))

"""In which order are samples learned from, when many keys learn at once and each must see its own in turn?

Samples of different keys are learned from side by side. Where a few keys have many samples left, they go through them
in a loop instead, still side by side.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Whole = NDArray[np.int64]
TILES = (64, 512, 4096, 8192, 32768)  # numbers of keys for which programs are compiled
_AT_ONCE = 2**16  # numbers of states that a core's own memory holds, with what is made of them
LOOPS = ((8, 512), (64, 64))  # keys and samples of each,
_WORTH = 16  # where there are more samples to come than these


class Block(NamedTuple):
    """Samples to learn from at once. slots: one per key. at: where each key's samples are, in turn, -1 behind its last.

    Neither is padded to the sizes in which blocks are computed, (`keys`, `steps`).
    """

    slots: Whole
    at: Whole
    keys: int
    steps: int

    def padded(self) -> tuple[Whole, Whole]:
        """Slots and places in full size: any slot for keys, and -1 for samples, that are not there."""
        if self.at.shape == (self.keys, self.steps):
            return self.slots, self.at
        slots, at = np.zeros(self.keys, np.int64), np.full((self.keys, self.steps), -1)
        slots[: len(self.slots)] = self.slots
        at[: self.at.shape[0], : self.at.shape[1]] = self.at
        return slots, at


def turns(slots: Whole, marks: Whole, now: int = 0, size: int = 1) -> Iterator[list[Block]]:
    """Blocks that may be learned from side by side, list after list.

    slots: the slot of each sample's key. marks: room to write a number at each slot; there is then the number of its
    first sample, counted from `now`. size: of a state.

    >>> [[block.at.tolist() for block in blocks] for blocks in turns(np.array([1, 0, 1, 1]), np.zeros(2, int))]
    [[[[0], [1]]], [[[2]]], [[[3]]]]
    """
    number = np.arange(now, now + len(slots))
    marks[slots[::-1]] = number[::-1]  # of equal slots, the first sample is written last
    first = marks.take(slots) == number
    at = np.flatnonzero(first)
    yield list(_tiles(slots.take(at), at[:, None], size))
    if len(at) < len(slots):
        yield from _later(slots, np.flatnonzero(~first), size)


def _later(slots: Whole, rest: Whole, size: int) -> Iterator[list[Block]]:
    """Second and later samples of keys: those with most samples first."""
    order, starts, counts = _sorted(slots[rest])
    done, most = 0, int(counts[0])
    while done < most:
        width = int(np.searchsorted(-counts, -done))  # how many keys have more samples than that
        loops = LOOPS if most - done > _WORTH else ()
        keys, steps = next((loop for loop in loops if width <= loop[0]), (0, 1))
        at = _through(starts[:width], counts[:width], done, steps)
        found = np.where(at < 0, -1, rest[order[at]])
        who = slots[found[:, 0]]
        yield [Block(who, found, keys, steps)] if keys else list(_tiles(who, found, size))
        done += steps


def _sorted(slots: Whole) -> tuple[Whole, Whole, Whole]:
    """Samples in the order of their slots and then of time; where each slot's begin, how many; most samples first."""
    order = np.argsort(slots, kind="stable")
    starts = np.flatnonzero(np.diff(slots[order], prepend=-1))
    counts = np.diff(starts, append=len(slots))
    by_count = np.argsort(-counts, kind="stable")
    return order, starts[by_count], counts[by_count]


def _through(starts: Whole, counts: Whole, done: int, steps: int) -> Whole:
    ahead = done + np.arange(min(steps, int(counts[0]) - done))
    return np.where(ahead < counts[:, None], starts[:, None] + ahead, -1)


def _tiles(who: Whole, at: Whole, size: int) -> Iterator[Block]:
    tiles = [tile for tile in TILES if tile * size <= _AT_ONCE] or TILES[:1]
    for begin in range(0, len(who), tiles[-1]):
        part: Any = slice(begin, begin + tiles[-1])
        yield Block(who[part], at[part], next(tile for tile in tiles if len(who[part]) <= tile), 1)

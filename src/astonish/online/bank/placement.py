"""Which slot does each key of a batch have, and which keys make room for new ones?"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from astonish.online.bank.journal import Journal
from astonish.online.bank.keys import UNKNOWN, Slots, keys_like
from astonish.online.bank.schedule import TILES
from astonish.online.bank.states import States

_PART = TILES[-1]
_NONE: Slots = np.zeros(0, np.int64)


class Placement:
    """Keys in the slots of a bank. used: how many slots have a key. seen: how many samples there were.

    evict: whether the least recently used keys make room for new ones; else new keys are then refused. compiled:
    whether compiled code finds them.
    """

    def __init__(self, capacity: int, evict: bool, compiled: bool = False) -> None:
        self.used = self.seen = 0
        self._capacity, self._evict, self._compiled = capacity, evict, compiled
        self._keys: Any = None
        self._last = np.zeros(capacity if evict else 0, np.int64)  # when each key last had a sample

    @property
    def nbytes(self) -> int:
        return self._last.nbytes + (0 if self._keys is None else self._keys.nbytes)

    def find(self, keys: Any) -> Slots:
        """The slots of these keys, `UNKNOWN` where there is none."""
        if self._keys is None:
            return np.full(len(keys), UNKNOWN, np.int64)
        return np.asarray(self._keys.find(self._keys.read(keys)))

    def all_keys(self) -> Any:
        """All keys, as an array, in the order of their slots."""
        return np.array([]) if self._keys is None else self._keys.at(np.arange(self.used))

    def last_used(self) -> Slots:
        """When each key last had a sample; the order in which they came, if none ever makes room."""
        return self._last[: self.used] if self._evict else np.arange(self.used)

    def fill(self, keys: Any, last: Slots) -> None:
        """Put keys, and when they last had a sample, into the first slots."""
        self._keys = keys_like(keys, self._capacity, self._compiled)
        self._keys.enter(self._keys.read(keys), np.arange(len(keys)))
        self.used, self.seen = len(keys), int(last.max()) + 1
        if self._evict:
            self._last[: len(keys)] = last

    def journal(self) -> Journal:
        """What `undo` needs to know, before anything is changed."""
        return Journal(self._keys, self.used, self.seen)

    def undo(self, journal: Journal) -> None:
        """Put all keys back as they were."""
        slots, last = journal.last
        self._last[slots] = last
        self._keys, self.used, self.seen = journal.keys, journal.used, journal.seen
        if self._keys is not None and journal.left is not None:
            slots, keys = journal.left
            self._keys.restore(keys, slots, self.used)

    def place(
        self, keys: Any, samples: int, states: States, journal: Journal, part: int | None = None
    ) -> Iterator[Slots]:
        """The slots of the samples' keys, part after part; new keys are given one, and the state to begin with.

        part: samples whose keys are found before any of them is learned from.
        """
        part = _PART if part is None else part
        memory = keys_like(keys, self._capacity, self._compiled) if self._keys is None else self._keys
        read = memory.read(keys)
        if len(read) != samples:
            raise ValueError(f"there are {len(read)} keys and {samples} samples; give a key for each sample")
        parts: list[Slots] = []
        for begin in range(0, samples, part):
            slots = memory.find(read[begin : begin + part])
            if slots.min() == UNKNOWN:
                self._enter(memory, read, states, journal)
                slots = memory.find(read[begin : begin + part])
            parts.append(slots)
            yield slots
        if self._evict:
            slots = np.concatenate(parts)
            journal.last = (slots, self._last[slots])
            self._last[slots] = np.arange(self.seen, self.seen + samples)  # of equals, the last stays
        self.seen += samples

    def _enter(self, memory: Any, read: Any, states: States, journal: Journal) -> None:
        """Give slots to those of a batch's keys that are new: unused ones, and those of keys least recently used."""
        known = memory.find(read)
        new = np.flatnonzero(known == UNKNOWN)
        keys = memory.unique([read[i] for i in new] if isinstance(read, list) else read[new])
        short = max(len(keys) - (self._capacity - self.used), 0)
        if short and not self._evict:
            full = f"the bank has room for {self._capacity} keys and knows {self.used}"
            raise ValueError(f"{full}, {len(keys)} more have come; give a larger capacity, or evict=True")
        oldest = self._oldest(short, known[known != UNKNOWN]) if short else _NONE
        slots = np.concatenate([np.arange(self.used, self.used + len(keys) - short), oldest])
        journal.rows.append((oldest, states.rows(oldest)))
        journal.left = (oldest, memory.at(oldest))
        memory.leave(oldest)
        self.used += len(keys) - short
        states.put(slots, states.start)
        memory.enter(keys, slots)
        self._keys = memory

    def _oldest(self, count: int, needed: Slots) -> Slots:
        """So many slots of the keys that were used least recently, none of them needed."""
        age = self._last[: self.used].copy()
        age[needed] = np.iinfo(np.int64).max
        if count > np.count_nonzero(age < np.iinfo(np.int64).max):
            advice = "give a larger capacity or smaller batches"
            raise ValueError(f"one batch has more keys than the {self._capacity} there is room for; {advice}")
        return np.argpartition(age, count - 1)[:count]

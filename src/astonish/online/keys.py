"""Keys and their slots: where the state of each key is, and which keys make room for new ones.

While a batch is learned, what it changes is written into a journal as it was before. Whatever interrupts the batch,
and whenever, the bank is put back from that before it does anything else. Putting it back twice does no harm, so that
may be interrupted too. Compiled code cannot be interrupted: a batch that it has learned stays learned.
"""

import sys
from collections.abc import Callable, Collection, Hashable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from astonish.core.numbers import FloatArray, is_missing

if TYPE_CHECKING:
    from astonish.online.bank import States

Slots = NDArray[np.int64]
Search = Callable[[Any, Any, Any, int, int], Slots]  # keys, the table, the key in each slot, its bits, the spread
UNKNOWN = -1
_FREE, _LEFT = UNKNOWN, -2  # places of the table: never taken, and given up
_SPREAD = np.uint64(0x9E3779B97F4A7C15)  # 2^64 over the golden ratio


class WholeNumbers:
    """Keys that are whole numbers: a hash table with open addressing, which is searched for all of them at once.

    search: compiled code that finds slots in it, if there is some.
    """

    def __init__(self, capacity: int, search: Search | None = None) -> None:
        self._keys, self._search = np.zeros(capacity, np.int64), search
        self._bits = max(int(2 * capacity - 1).bit_length(), 3)
        self._clear()

    def _clear(self) -> None:
        self._table, self._taken = np.full(1 << self._bits, _FREE, np.int32), 0

    @property
    def nbytes(self) -> int:
        """How much memory keys and slots take."""
        return self._keys.nbytes + self._table.nbytes

    def read(self, keys: Any) -> NDArray[np.int64]:
        """Keys as people give them, checked."""
        array = _array(keys)
        array = array if array.size else array.astype(np.int64)
        if array.dtype.kind not in "iu" or array.ndim != 1:
            odd = next((key for key in _listed(keys) if not isinstance(key, int | np.integer)), keys)
            raise ValueError(f"key {odd!r} is not a whole number, as all before it were; give keys of one sort")
        if array.dtype == np.uint64 and (array > np.iinfo(np.int64).max).any():
            raise ValueError(f"key {array.max()} is too large; give whole numbers below 2**63, or strings")
        return array.astype(np.int64, copy=False)

    def find(self, keys: NDArray[np.int64]) -> Slots:
        """The slot of each key, `UNKNOWN` where there is none."""
        if self._search:
            return self._search(np.ascontiguousarray(keys), self._table, self._keys, self._bits, int(_SPREAD))
        return self._table.take(self._ends(keys), mode="clip").astype(np.int64)

    def _ends(self, keys: NDArray[np.int64]) -> Slots:
        """Where in the table the search for each key ends, at its slot or a free place; compiled code does the same."""
        place, left, step = self._places(keys), np.arange(len(keys)), 1
        while len(left):
            slots = self._table.take(place[left], mode="clip")  # a little faster where nothing needs it
            others = (self._keys.take(slots, mode="clip") != keys[left]) | (slots < 0)
            left = left[others & (slots != _FREE)]  # they may be further on
            place[left] = self._on(place[left], step)
            step += 1
        return place

    def unique(self, keys: NDArray[np.int64]) -> NDArray[np.int64]:
        """Each key once, in the order in which they first occur."""
        values, first = np.unique(keys, return_index=True)
        return values[np.argsort(first)]

    def enter(self, keys: NDArray[np.int64], slots: Slots) -> None:
        """Remember new keys, each once."""
        self._keys[slots] = keys
        if self._taken + len(keys) > 0.75 * len(self._table):  # much of it by keys that have left
            stay = self._table[self._table >= 0].astype(np.int64)
            self._clear()
            self._take(stay)
        self._take(slots)

    def restore(self, keys: NDArray[np.int64], slots: Slots, used: int) -> None:
        """Put keys back into their slots, and forget all that are not in one of the first `used`."""
        self._keys[slots] = keys
        self._clear()
        self._take(np.arange(used))

    def leave(self, slots: Slots) -> None:
        """Forget the keys in these slots."""
        self._table[self._ends(self._keys[slots])] = _LEFT

    def _take(self, slots: Slots) -> None:
        self._taken += len(slots)
        place, step = self._places(self._keys[slots]), 1
        while len(slots):
            free = self._table[place] < 0
            self._table[place[free]] = slots[free]
            lost = self._table[place] != slots  # to another key that wanted the same place
            place, slots, step = self._on(place[lost], step), slots[lost], step + 1

    def at(self, slots: Slots) -> NDArray[np.int64]:
        """The keys in these slots."""
        return self._keys[slots]

    def _places(self, keys: NDArray[np.int64]) -> Slots:
        return ((keys.view(np.uint64) * _SPREAD) >> np.uint64(64 - self._bits)).view(np.int64)

    def _on(self, place: Slots, step: int) -> Slots:
        """Where to look next: steps that grow by one come to every place, and soon leave a crowd behind."""
        return (place + step) & (len(self._table) - 1)


class Names:
    """Keys of any other sort, above all strings: a dictionary with the methods of `WholeNumbers`."""

    def __init__(self, capacity: int, _: Search | None = None) -> None:
        self._slots: dict[Hashable, int] = {}
        self._keys = np.full(capacity, None)

    @property
    def nbytes(self) -> int:
        return sys.getsizeof(self._slots) + self._keys.nbytes

    def read(self, keys: Any) -> list[Hashable]:
        listed = _listed(keys)
        odd = [key for key in listed if is_missing(key) or isinstance(key, float) or not isinstance(key, Hashable)]
        if odd:
            raise ValueError(f"{odd[0]!r} is not a key; give whole numbers or strings")
        strings = isinstance(next(iter(self._slots or listed), ""), str)
        odd = [key for key in listed if isinstance(key, str) != strings or isinstance(key, int | np.integer)]
        if odd:
            sort = "a string, as others are" if strings else "a key like the others"
            raise ValueError(
                f"key {odd[0]!r} is not {sort}; give keys of one sort: whole numbers below 2**63, or strings"
            )
        return listed

    def find(self, keys: list[Hashable]) -> Slots:
        return np.fromiter((self._slots.get(key, UNKNOWN) for key in keys), np.int64, len(keys))

    def unique(self, keys: list[Hashable]) -> list[Hashable]:
        return list(dict.fromkeys(keys))

    def enter(self, keys: list[Hashable], slots: Slots) -> None:
        for key, slot in zip(keys, slots.tolist(), strict=True):
            self._slots[key], self._keys[slot] = slot, key

    def restore(self, keys: Any, slots: Slots, used: int) -> None:
        for key, slot in zip(keys, slots.tolist(), strict=True):
            self._keys[slot] = key
        self._slots = {key: slot for slot, key in enumerate(self._keys[:used].tolist())}

    def leave(self, slots: Slots) -> None:
        for key in self.at(slots):
            del self._slots[key]
        self._keys[slots] = None

    def at(self, slots: Slots) -> Any:
        return self._keys[slots]  # objects: an array of strings would lose NULs at their ends


def _listed(keys: Any) -> list[Any]:
    if isinstance(keys, str) or not isinstance(keys, Collection):
        raise ValueError(f"got {keys!r} as keys; give one for each sample, such as a list")
    return keys.tolist() if hasattr(keys, "tolist") else list(keys)


def _array(keys: Any) -> Any:
    """Keys as NumPy reads them; those of which it makes nothing as they are."""
    if np.ma.is_masked(keys):
        raise ValueError(f"key {int(np.argmax(np.ma.getmaskarray(keys)))} (counted from 0) is masked; give all of them")
    try:
        return np.asarray(keys)
    except ValueError:  # they are of several sorts, for others to refuse
        return np.array(_listed(keys), object)


@dataclass
class Journal:
    """A bank before a batch. keys: where its keys were kept. used: slots with a key. seen: samples there were.

    rows: states as they were, with their slots. done: numbers that are all above 0 once compiled code has learned the
    batch; None where XLA computes it. left: slots that were taken from keys, and these keys; None as long as no key was
    entered. last: when keys last had a sample, with their slots.
    """

    keys: Any
    used: int
    seen: int
    rows: list[tuple[Slots, list[FloatArray]]] = field(default_factory=list)
    done: FloatArray | None = None
    left: tuple[Slots, Any] | None = None
    last: tuple[Slots, FloatArray] = (np.zeros(0, np.int64), np.zeros(0))


class Placement:
    """Keys in the slots of a bank. used: how many slots have a key. seen: how many samples there were.

    evict: whether the least recently used keys make room for new ones; else new keys are then refused. search: compiled
    code that finds them, if there is some.
    """

    def __init__(self, capacity: int, evict: bool, search: Search | None) -> None:
        self.used = self.seen = 0
        self._capacity, self._evict, self._search = capacity, evict, search
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

    def _memory_for(self, keys: Any) -> Any:
        """The memory of keys; an empty one for keys of the sort of these, if there is none yet."""
        if self._keys is not None:
            return self._keys
        array = _array(keys)
        kind = WholeNumbers if array.dtype.kind in "iu" and array.ndim == 1 else Names
        return kind(self._capacity, self._search)

    def fill(self, keys: Any, last: Slots) -> None:
        """Put keys, and when they last had a sample, into the first slots."""
        self._keys = self._memory_for(keys)
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

    def place(self, keys: Any, samples: int, states: "States", journal: Journal, part: int) -> Iterator[Slots]:
        """The slots of the samples' keys, part after part; new keys are given one, and the state to begin with.

        part: samples whose keys are found before any of them is learned from.
        """
        memory = self._memory_for(keys)
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

    def _enter(self, memory: Any, read: Any, states: "States", journal: Journal) -> None:
        """Give slots to those of a batch's keys that are new: unused ones, and those of keys least recently used."""
        slots = memory.find(read)
        new = np.flatnonzero(slots == UNKNOWN)
        keys = memory.unique([read[i] for i in new] if isinstance(read, list) else read[new])
        short = max(len(keys) - (self._capacity - self.used), 0)
        if short and not self._evict:
            full = f"the bank has room for {self._capacity} keys and knows {self.used}"
            raise ValueError(f"{full}, {len(keys)} more have come; give a larger capacity, or evict=True")
        oldest = np.zeros(0, np.int64)  # the keys that were used least recently, none of them in this batch
        if short:
            age = self._last[: self.used].copy()
            age[slots[slots != UNKNOWN]] = np.iinfo(np.int64).max
            if short > np.count_nonzero(age < np.iinfo(np.int64).max):
                advice = "give a larger capacity or smaller batches"
                raise ValueError(f"one batch has more keys than the {self._capacity} there is room for; {advice}")
            oldest = np.argpartition(age, short - 1)[:short]
        slots = np.concatenate([np.arange(self.used, self.used + len(keys) - short), oldest])
        journal.rows.append((oldest, states.rows(oldest)))
        journal.left = (oldest, memory.at(oldest))
        memory.leave(oldest)
        self.used += len(keys) - short
        states.put(slots, states.start)
        memory.enter(keys, slots)
        self._keys = memory


def kept_keys(keys: Any) -> dict[str, Any]:
    """Keys as arrays for a file: whole numbers as they are, strings end to end in UTF-8, with the length of each."""
    if keys.dtype.kind == "i" or not len(keys):
        return {"keys": keys}
    odd = next((key for key in keys if not isinstance(key, str)), None)
    if odd is not None:
        raise ValueError(f"key {odd!r} cannot be kept in a file; give whole numbers or strings as keys")
    coded = [key.encode(errors="surrogatepass") for key in keys]
    return {"keys": np.frombuffer(b"".join(coded), np.uint8), "lengths": np.array([len(key) for key in coded])}


def read_keys(saved: dict[str, Any]) -> Any:
    """Keys out of the arrays of a file."""
    keys, lengths = saved.pop("keys"), saved.pop("lengths", None)
    if lengths is None:
        return keys
    ends = np.cumsum(lengths)
    parts = (keys[end - length : end] for end, length in zip(ends, lengths, strict=True))
    return [part.tobytes().decode(errors="surrogatepass") for part in parts]

"""Where is the state of each key kept? Every key that is known has a slot of its own."""

import sys
from collections.abc import Collection, Hashable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from astonish.core.numbers import is_missing

Slots = NDArray[np.int64]
UNKNOWN = -1
_FREE, _LEFT = UNKNOWN, -2  # places of the table: never taken, and given up
_SPREAD = np.uint64(0x9E3779B97F4A7C15)  # 2^64 over the golden ratio


class WholeNumbers:
    """Keys that are whole numbers: a hash table with open addressing, which is searched for all of them at once.

    compiled: whether compiled code searches it.
    """

    def __init__(self, capacity: int, compiled: bool = False) -> None:
        self._keys, self._compiled = np.zeros(capacity, np.int64), compiled
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
        if self._compiled:
            from astonish.engines.native.search import find

            return find(np.ascontiguousarray(keys), self._table, self._keys, self._bits, int(_SPREAD))
        place = self._places(keys)
        found = self._table.take(place, mode="clip").astype(np.int64)  # a little faster where nothing needs it
        left, step = self._astray(found, keys), 1
        while len(left):
            place[left] = self._on(place[left], step)
            found[left] = self._table.take(place[left])
            left, step = left.take(self._astray(found[left], keys[left])), step + 1
        return found

    def _astray(self, slots: Slots, keys: NDArray[np.int64]) -> Slots:
        """Which keys are not in these slots, but may be elsewhere."""
        others = (self._keys.take(slots, mode="clip") != keys) | (slots < 0)
        return np.flatnonzero(others & (slots != _FREE))

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
        place, step = self._places(self._keys[slots]), 1
        while len(slots):
            here = self._table[place] == slots
            self._table[place[here]] = _LEFT
            place, slots, step = self._on(place[~here], step), slots[~here], step + 1

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

    def __init__(self, capacity: int, compiled: bool = False) -> None:
        self._slots: dict[Hashable, int] = {}
        self._keys: list[Any] = [None] * capacity

    @property
    def nbytes(self) -> int:
        return sys.getsizeof(self._slots) + sys.getsizeof(self._keys)

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
        self._slots = {key: slot for slot, key in enumerate(self._keys[:used])}

    def leave(self, slots: Slots) -> None:
        for slot in slots.tolist():
            del self._slots[self._keys[slot]]
            self._keys[slot] = None

    def at(self, slots: Slots) -> Any:
        keys = np.empty(len(slots), object)  # an array of strings would lose NULs at their ends
        keys[:] = [self._keys[slot] for slot in slots.tolist()]
        return keys


def keys_like(keys: Any, capacity: int, compiled: bool = False) -> Any:
    """An empty memory for keys of the sort of these."""
    array = _array(keys)
    return (WholeNumbers if array.dtype.kind in "iu" and array.ndim == 1 else Names)(capacity, compiled)


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

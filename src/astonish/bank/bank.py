"""How does one learner follow millions of keyed streams at once?"""

import io
import os
from collections.abc import Iterable, Iterator
from itertools import chain, groupby
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

import jax
import numpy as np

from astonish.bank.keys import UNKNOWN, Slots, keys_like
from astonish.bank.schedule import TILES, Block, Schedule
from astonish.bank.states import States
from astonish.deprecated import renamed_arguments, renamed_fields
from astonish.domain import Domain, Mask, Numbers
from astonish.io.archive import Source, read, write
from astonish.io.files import atomic_write
from astonish.io.state import matching, named_leaves
from astonish.learner import Learner, State, Trace, check
from astonish.samples import read_series

if TYPE_CHECKING:
    from astonish.bank.tables import ColumnNames

_CAPACITY = Domain(1, 2**31 - 1, whole=True)
_PART = TILES[-1]  # samples whose keys are found before any of them is learned from


@renamed_fields(rate="learning_rate", change="change_probability")
class Steps(NamedTuple):
    """What `Bank.update` returns: a row per sample, in the order in which they were given.

    change_probability: of a change just before the sample; None if the learner does not estimate it.
    """

    estimate: Numbers
    surprise: Numbers
    learning_rate: Numbers
    change_probability: Numbers | None = None


class Bank:
    """One learner with a state for every key, such as a user, a sensor or a participant.

    capacity: how many keys there is room for. evict: whether the least recently used keys make room for new ones once
    it is full; else new keys are then refused.

    >>> from astonish import Gaussian, Smile
    >>> bank = Bank(Smile(Gaussian(noise=1.0)), capacity=1000)
    >>> steps = bank.update(["ann", "bob", "ann"], [0.1, 7.0, -0.2])
    >>> len(bank), steps.surprise.round(2).tolist()
    (2, [0.01, 24.5, 0.02])
    """

    @renamed_arguments(forgets="evict")
    def __init__(self, learner: Learner, capacity: int, evict: bool = False) -> None:
        check(learner)
        self.learner, self.evict = learner, evict
        self.capacity = int(_CAPACITY.check("capacity", capacity))
        self._states = States(learner, self.capacity)
        self._schedule = Schedule(self.capacity, self._states.size)
        self._keys: Any = None
        self._last = np.zeros(self.capacity if evict else 0, np.int64)  # when each key last had a sample
        self._seen, self._used = 0, 0

    def __repr__(self) -> str:
        return f"Bank({self.learner}, capacity={self.capacity}) with {len(self)} keys"

    def __len__(self) -> int:
        return self._used

    def __contains__(self, key: Any) -> bool:
        try:
            return bool(self._find([key])[0] != UNKNOWN)
        except ValueError:  # of another sort than all keys here
            return False

    @property
    def nbytes(self) -> int:
        """How much memory keys and states take, used or not; keys that are not whole numbers come on top."""
        keys = 0 if self._keys is None else self._keys.nbytes
        return keys + self._last.nbytes + self._schedule.nbytes + self._states.nbytes

    def update(self, keys: Any, xs: Any) -> Steps:
        """Learn from a batch: a key and a sample in each row. Samples of one key are learned from in their order.

        xs: samples as `run` takes them; one that is missing (None, NaN) changes nothing. A batch in which anything is
        not allowed is refused, and nothing is learned from it.
        """
        samples, observed = read_series(self.learner.samples, xs)
        seen = None if observed.all() else observed
        found: Any = None
        for block, steps in self._learned(self._placed(keys, len(observed)), samples, seen, len(observed)):
            if found is None:
                found = jax.tree.map(lambda part: np.empty((len(observed), *part.shape[2:])), steps)
            real: Any = np.s_[:, 0] if block.at.shape[1] == 1 else block.at >= 0  # the rest fills the block up
            for out, part in zip(jax.tree.leaves(found), jax.tree.leaves(steps), strict=True):
                out[block.at[real]] = part[: len(block.at)][real]
        return found

    def estimate(self, keys: Any) -> Numbers:
        """The present estimate for each of these keys; for unknown keys, the learner's estimate at its start."""
        slots = self._find(keys)
        known = slots != UNKNOWN
        start = self._states.start_estimate
        found = np.broadcast_to(start, (len(slots), *start.shape)).copy()
        if known.any():
            found[known] = self._states.estimates(slots[known])
        return found

    def state(self, key: Any) -> State:
        """The state of one key, from which `run` and `Stream` go on."""
        slot = self._find([key])[0]
        if slot == UNKNOWN:
            raise KeyError(f"{key!r} is not among the {len(self)} keys of this bank")
        return jax.tree.map(lambda leaf: leaf[0], self._states.at(np.array([slot])))

    def keys(self) -> Any:
        """All keys, as an array, in the order in which their slots were given to them."""
        return np.array([]) if self._keys is None else self._keys.at(np.arange(len(self)))

    def update_table(self, table: Any, key: str, sample: "ColumnNames") -> Any:
        """Learn from the rows of a table (pandas, Arrow or Polars), and return the same table with more columns.

        key, sample: names of columns; for samples of several parts as many, and a list of them for a part of several
        numbers, such as `[["x1", "x2"], "y"]` for a regression.
        """
        from astonish.bank.tables import update_table

        return update_table(self, table, key, sample)

    def to_frame(self, kind: str = "pandas") -> Any:
        """All keys and their estimates, as a table of this kind: pandas, pyarrow or polars."""
        from astonish.bank.tables import to_frame

        return to_frame(self, kind)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write all keys and states to one file; `Bank.load` goes on exactly where this left off."""
        with atomic_write(path) as file:
            self._write(file)

    def to_bytes(self) -> bytes:
        """What `save` would write, as bytes."""
        file = io.BytesIO()
        self._write(file)
        return file.getvalue()

    def _write(self, file: BinaryIO) -> None:
        keys = self.keys()
        if keys.dtype.kind not in "iU" and len(keys):
            odd = next(key for key in keys.tolist() if not isinstance(key, str))
            raise ValueError(f"key {odd!r} cannot be kept in a file; give whole numbers or strings as keys")
        used = slice(len(self))
        last = self._last[used] if self.evict else np.arange(len(self))  # as they came
        leaves = named_leaves(self._states.at(used))
        write(file, "bank", {"keys": keys, "last": last, **leaves}, {"capacity": self.capacity})

    @classmethod
    @renamed_arguments(forgets="evict")
    def load(cls, source: Source, learner: Learner, capacity: int | None = None, evict: bool = False) -> "Bank":
        """A bank that goes on from a saved one. capacity: as before when left out.

        Which key was used least recently is known of a bank that evicts; else it is the one that came first.
        """
        saved, about = read(source, "bank")
        try:
            keys, last, before = saved.pop("keys"), saved.pop("last"), about["capacity"]
        except (KeyError, TypeError) as missing:
            raise ValueError(f"the saved bank has no {missing}; give a file written by save") from None
        bank = cls(learner, before if capacity is None else capacity, evict)
        if len(keys) > bank.capacity:
            raise ValueError(f"{len(keys)} keys were saved and there is room for {bank.capacity}; give more capacity")
        if len(keys):
            bank._states.put(slice(len(keys)), matching(source, saved, bank._states.start, len(keys)))
            bank._keys = keys_like(keys, bank.capacity)
            bank._keys.enter(bank._keys.read(keys), np.arange(len(keys)))
            bank._used, bank._seen = len(keys), int(last.max()) + 1
            if evict:
                bank._last[: len(keys)] = last
        return bank

    def _find(self, keys: Any) -> Slots:
        if self._keys is None:
            return np.full(len(keys), UNKNOWN, np.int64)
        return np.asarray(self._keys.find(self._keys.read(keys)))

    def _placed(self, keys: Any, samples: int) -> Iterator[Slots]:
        """The slots of the samples' keys, part after part; new keys are given one."""
        memory = keys_like(keys, self.capacity) if self._keys is None else self._keys
        read = memory.read(keys)
        if len(read) != samples:
            raise ValueError(f"there are {len(read)} keys and {samples} samples; give a key for each sample")
        parts: list[Slots] = []
        for begin in range(0, samples, _PART):
            part = read[begin : begin + _PART]
            slots = memory.find(part)
            if slots.min() == UNKNOWN:
                self._enter(memory, read)
                slots = memory.find(part)
            parts.append(slots)
            yield slots
        if self.evict:
            self._last[np.concatenate(parts)] = np.arange(self._seen, self._seen + samples)  # of equals, the last stays
        self._seen += samples

    def _enter(self, memory: Any, read: Any) -> None:
        """Give slots to those of a batch's keys that are new: unused ones, and those of keys least recently used."""
        known = memory.find(read)
        new = np.flatnonzero(known == UNKNOWN)
        keys = memory.unique([read[i] for i in new] if isinstance(read, list) else read[new])
        short = max(len(keys) - (self.capacity - self._used), 0)
        if short and not self.evict:
            full = f"the bank has room for {self.capacity} keys and knows {self._used}"
            raise ValueError(f"{full}, {len(keys)} more have come; give a larger capacity, or evict=True")
        slots = np.arange(self._used, self._used + len(keys) - short)
        if short:
            age = self._last[: self._used].copy()
            age[known[known != UNKNOWN]] = np.iinfo(np.int64).max
            if short > np.count_nonzero(age < np.iinfo(np.int64).max):
                advice = "give a larger capacity or smaller batches"
                raise ValueError(f"one batch has more keys than the {self.capacity} there is room for; {advice}")
            oldest = np.argpartition(age, short - 1)[:short]
            memory.leave(oldest)
            slots = np.concatenate([slots, oldest])
        self._used += len(keys) - short
        self._states.put(slots, self._states.start)
        memory.enter(keys, slots)
        self._keys = memory

    def _learned(
        self, placed: Iterable[Slots], samples: Any, seen: Mask | None, length: int
    ) -> Iterator[tuple[Block, Steps]]:
        """Go through so many samples, from the states of their keys and back into them.

        All blocks of a turn are begun before any is waited for: while they are computed, the keys of those to come are
        found, and what those before gave is put away. Nor is any state changed before all keys have found room.
        """
        begun: list[tuple[Block, Trace]] = []
        self._states.reset()
        rounds = groupby(self._schedule.of(placed, length), key=lambda block: block.turn)
        for blocks in chain((blocks for _, blocks in rounds), [[]]):
            for block, trace in begun:
                self._states.end(block, trace)
            ended, begun = begun, [(block, self._states.begin(block, samples, seen)) for block in blocks]
            for block, trace in ended:
                parts: Any = (trace.estimate, trace.surprise, trace.learning_rate, trace.change_probability)
                yield block, Steps(*jax.tree.map(np.asarray, parts))

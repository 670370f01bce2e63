"""How does one learner follow millions of keyed streams at once?"""

import io
import math
import os
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import chain
from typing import Any, BinaryIO, NamedTuple, cast

import jax
import numpy as np

from astonish.bank.keys import UNKNOWN, Keys, Slots, keys_like
from astonish.bank.turns import Block, turns
from astonish.domain import Domain, Numbers, check_parameters
from astonish.files import whole
from astonish.learner import Learner, State, Trace, scan
from astonish.memory import Source, matching, named_leaves, read, write
from astonish.packing import Packing
from astonish.precision import as_double, double
from astonish.run import OPTIONS
from astonish.samples import Mask, read_series

_CAPACITY = Domain(1, 2**31 - 1, whole=True)
_estimates = jax.jit(jax.vmap(lambda learner, state: learner.estimate(state), in_axes=(None, 0)))


class Steps(NamedTuple):
    """What a bank answers to a batch, one row per sample, in the order in which they were given.

    change: the probability of a change just before the sample; None if the learner does not ask.
    """

    estimate: Numbers
    surprise: Numbers
    rate: Numbers
    change: Numbers | None = None


class Bank:
    """One learner with a memory for every key, such as a user, a sensor or a participant.

    capacity: how many keys there is room for. forgets: whether keys that were silent for longest make room for new ones
    once it is full; else new keys are then refused.

    >>> from astonish import Gaussian, Smile
    >>> bank = Bank(Smile(Gaussian(noise=1.0)), capacity=1000)
    >>> steps = bank.update(["ann", "bob", "ann"], [0.1, 7.0, -0.2])
    >>> len(bank), steps.surprise.round(2).tolist()
    (2, [0.01, 24.5, 0.02])
    """

    def __init__(self, learner: Learner, capacity: int, forgets: bool = False) -> None:
        check_parameters(learner)
        self.learner, self.forgets = learner, forgets
        self.capacity = int(_CAPACITY.check("capacity", capacity))
        with double():
            self._learner = jax.device_put(as_double(learner))
            self._start = as_double(learner.init())
            self._estimate = np.asarray(learner.estimate(self._start), np.float64)
            self._packing = Packing.of(self._start)
            small, large = jax.tree.map(np.asarray, self._packing.pack(self._start))
        self._rows = [np.empty((self.capacity, *part.shape), part.dtype) for part in (small, *large)]
        self._size = sum(math.prod(part.shape[1:]) for part in self._rows)
        self._items = [_items(part) for part in self._rows]  # the same numbers, a key's in one item,
        self._table = self._packing.unpack(self._rows[0], self._rows[1:])  # and by name
        self._keys: Keys | None = None
        self._last = np.zeros(self.capacity, np.int64)  # when each key was last heard of
        self._seen, self._used = 0, 0

    def __repr__(self) -> str:
        return f"Bank({self.learner}, capacity={self.capacity}) with {len(self)} keys"

    def __len__(self) -> int:
        return self._used

    def __contains__(self, key: Any) -> bool:
        return bool(self._find([key])[0] != UNKNOWN)

    @property
    def nbytes(self) -> int:
        """How much memory keys and states take, used or not; keys that are not whole numbers come on top."""
        keys = 0 if self._keys is None else self._keys.nbytes
        return keys + self._last.nbytes + sum(part.nbytes for part in self._rows)

    def update(self, keys: Any, xs: Any) -> Steps:
        """Learn from a batch: a key and a sample in each row. Samples of one key are learned from in their order.

        xs: samples as `run` takes them; one that is missing (None, NaN) changes nothing. A batch in which anything is
        not allowed is refused, and nothing is learned from it.
        """
        samples, observed = read_series(self.learner.samples, xs)
        slots = self._placed(keys, len(observed))
        seen = None if observed.all() else observed
        found: Steps | None = None
        for block, steps in self._learned(slots, samples, seen):
            found = _like(steps, len(slots)) if found is None else found
            _put(found, block, steps)
        if self.forgets:
            self._last[slots] = np.arange(self._seen, self._seen + len(slots))  # of equal slots, the last is kept
        self._seen += len(slots)
        return cast(Steps, found)

    def estimate(self, keys: Any) -> Numbers:
        """What the learner would answer for each of these keys if asked now; if it does not know it, at its start."""
        slots = self._find(keys)
        known = slots != UNKNOWN
        found = np.broadcast_to(self._estimate, (len(slots), *self._estimate.shape)).copy()
        if known.any():
            with double():
                found[known] = _estimates(self._learner, self._states(slots[known]))
        return found

    def state(self, key: Any) -> State:
        """The state of one key, from which `run` and `Stream` go on."""
        slot = self._find([key])[0]
        if slot == UNKNOWN:
            raise KeyError(f"{key!r} is not among the {len(self)} keys of this bank")
        return jax.tree.map(lambda leaf: leaf[0], self._states(np.array([slot])))

    def keys(self) -> Any:
        """All keys, as an array, in the order in which their slots were given to them."""
        return np.array([]) if self._keys is None else self._keys.at(np.arange(len(self)))

    def update_table(self, table: Any, key: str, sample: str | Sequence[str]) -> Any:
        """Learn from the rows of a table (pandas, Arrow or Polars), and answer with the same table and more columns.

        key, sample: names of columns; several for samples of several parts.
        """
        from astonish.bank.tables import update_table

        return update_table(self, table, key, sample)

    def to_frame(self, kind: str = "pandas") -> Any:
        """All keys and their estimates, as a table of this kind: pandas, pyarrow or polars."""
        from astonish.bank.tables import to_frame

        return to_frame(self, kind)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write all keys and states to one file; `Bank.load` goes on exactly where this left off."""
        with whole(path) as file:
            self._write(file)

    def packed(self) -> bytes:
        """The same, as bytes."""
        file = io.BytesIO()
        self._write(file)
        return file.getvalue()

    def _write(self, file: BinaryIO) -> None:
        keys = self.keys()
        if keys.dtype.kind not in "iU" and len(keys):
            odd = next(key for key in keys.tolist() if not isinstance(key, str))
            raise ValueError(f"key {odd!r} cannot be kept in a file; give whole numbers or strings as keys")
        used = slice(len(self))
        leaves = named_leaves(jax.tree.map(lambda leaf: leaf[used], self._table))
        write(file, "bank", {"capacity": self.capacity, "keys": keys, "last": self._last[used], **leaves})

    @classmethod
    def load(cls, source: Source, learner: Learner, capacity: int | None = None, forgets: bool = False) -> "Bank":
        """A bank that goes on from a saved one. capacity: as before when left out."""
        saved = read(source, "bank")
        try:
            keys, last = saved.pop("keys"), saved.pop("last")
            bank = cls(learner, int(saved.pop("capacity")) if capacity is None else capacity, forgets)
        except KeyError as missing:
            raise ValueError(f"the saved bank has no {missing}; give a file written by save") from None
        if len(keys) > bank.capacity:
            raise ValueError(
                f"{len(keys)} keys were saved and there is room for {bank.capacity}; give a larger capacity"
            )
        saved.pop("capacity", None)
        if len(keys):
            states = matching(source, saved, bank._start, len(keys))
            bank._keys = keys_like(keys, bank.capacity)
            bank._keys.enter(bank._keys.read(keys), np.arange(len(keys)))
            jax.tree.map(lambda table, rows: table.__setitem__(slice(len(keys)), rows), bank._table, states)
            bank._last[: len(keys)], bank._used, bank._seen = last, len(keys), int(last.max()) + 1
        return bank

    def _find(self, keys: Any) -> Slots:
        if self._keys is None:
            return np.full(len(keys), UNKNOWN, np.int64)
        return self._keys.find(self._keys.read(keys))

    def _placed(self, keys: Any, samples: int) -> Slots:
        """The slot of each sample's key; new keys are given one."""
        memory = keys_like(keys, self.capacity) if self._keys is None else self._keys
        read = memory.read(keys)
        if len(read) != samples:
            raise ValueError(f"there are {len(read)} keys and {samples} samples; give a key for each sample")
        slots = memory.find(read)
        new = np.flatnonzero(slots == UNKNOWN)
        if len(new):
            fresh = memory.unique([read[i] for i in new] if isinstance(read, list) else read[new])
            memory.enter(fresh, self._room(memory, slots[slots != UNKNOWN], len(fresh)))
            slots = memory.find(read)
        self._keys = memory
        return slots

    def _room(self, memory: Keys, busy: Slots, wanted: int) -> Slots:
        """Slots for new keys, at their start: unused ones, and those of the keys that were silent for longest."""
        short = max(wanted - (self.capacity - self._used), 0)
        if short and not self.forgets:
            raise ValueError(
                f"the bank has room for {self.capacity} keys and knows {self._used}, {wanted} more have come; give a "
                "larger capacity, or forgets=True"
            )
        fresh = np.arange(self._used, self._used + wanted - short)
        if short:
            age = self._last[: self._used].copy()
            age[busy] = np.iinfo(np.int64).max
            if short > np.count_nonzero(age < np.iinfo(np.int64).max):
                raise ValueError(
                    f"one batch has more keys than the {self.capacity} there is room for; give a larger capacity or "
                    "smaller batches"
                )
            silent = np.argpartition(age, short - 1)[:short]
            memory.leave(silent)
            fresh = np.concatenate([fresh, silent])
        self._used += wanted - short
        for table, start in zip(jax.tree.leaves(self._table), jax.tree.leaves(self._start), strict=True):
            table[fresh] = start
        return fresh

    def _states(self, slots: Slots) -> State:
        return jax.tree.map(lambda leaf: leaf[slots], self._table)

    def _learned(self, slots: Slots, samples: Any, seen: Mask | None) -> Iterator[tuple[Block, Steps]]:
        """Go through the samples, from the states of their keys and back into them.

        All blocks of a list are begun before any is waited for, so that several cores can work; and while they are
        computed, those to come are found, and what those before gave is put away.
        """
        begun: list[tuple[Block, Trace]] = []
        for blocks in chain(turns(slots, self._last, self._seen, self._size), [[]]):
            ended = [(block, self._ended(block, trace)) for block, trace in begun]
            with double():
                begun = [(block, self._begun(block, samples, seen)) for block in blocks]
            yield from ended

    def _begun(self, block: Block, samples: Any, seen: Mask | None) -> Trace:
        slots, at = block.padded()
        there = at >= 0
        mask = None if block.steps == 1 and seen is None else there if seen is None else there & seen[at]
        xs = jax.tree.map(lambda part: part.take(at, axis=0), samples)
        rows = [
            items.take(slots).view(part.dtype).reshape(len(slots), *part.shape[1:])
            for items, part in zip(self._items, self._rows, strict=True)
        ]
        return _through(self._packing)(self._learner, xs, rows, mask)

    def _ended(self, block: Block, trace: Trace) -> Steps:
        for items, new in zip(self._items, jax.tree.leaves(trace.state), strict=True):
            items[block.slots] = _items(np.asarray(new))[: len(block.slots)]
        parts: Any = (trace.estimate, trace.surprise, trace.rate, trace.change)
        return Steps(*jax.tree.map(np.asarray, parts))


def _items(rows: Any) -> Any:
    """Each row as one item, which NumPy copies from place to place ten times as fast."""
    size = rows.dtype.itemsize * math.prod(rows.shape[1:])
    return np.ascontiguousarray(rows).reshape(len(rows), -1).view(f"V{size}")[:, 0] if size else rows


@cache
def _through(packing: Packing) -> Callable[..., Trace]:
    """A compiled loop for all banks whose states are packed alike; the last state stays packed."""

    def one(learner: Learner, xs: Any, rows: list[Any], seen: Any) -> Trace:
        trace = scan(learner, xs, packing.unpack(rows[0], rows[1:]), seen)
        return trace._replace(state=packing.pack(trace.state))

    return jax.jit(jax.vmap(one, in_axes=(None, 0, 0, 0)), compiler_options=OPTIONS)


def _like(steps: Steps, samples: int) -> Steps:
    """Room for what so many samples give."""
    return jax.tree.map(lambda part: np.empty((samples, *part.shape[2:])), steps)


def _put(found: Steps, block: Block, steps: Steps) -> None:
    """What a block gave, to where its samples came from."""
    keys, length = block.at.shape
    there = np.s_[:, 0] if length == 1 else block.at >= 0
    for out, part in zip(jax.tree.leaves(found), jax.tree.leaves(steps), strict=True):
        out[block.at[there]] = part[:keys, :length][there]

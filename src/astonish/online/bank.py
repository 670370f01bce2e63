"""Banks: one learner that follows millions of keyed streams.

First samples of different keys are learned from side by side. What follows of a key is gone through in a loop; keys
with about as many samples left go through their loops together, so that few wait for others.
"""

import io
import math
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from itertools import chain, groupby
from threading import Lock
from typing import Any, BinaryIO, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from astonish.core.numbers import BoolArray, Domain, FloatArray, as_double, double
from astonish.core.programs import Packing
from astonish.core.refusal import naming_extra
from astonish.core.samples import read_series
from astonish.engines import program_for
from astonish.io.files import Source, atomic_write, name_of, read, write
from astonish.io.state import check_saved_by, described, matching, named_leaves
from astonish.learners.base import ANSWERS, Learner, State, Steps, check, first_state, scan, wide
from astonish.online.keys import UNKNOWN, Journal, Placement, Slots, kept_keys, read_keys
from astonish.online.series import OPTIONS

__all__ = ["Bank"]

ColumnNames = str | Sequence["ColumnNames"]  # one column, or as many as a sample has parts, each one or several
_KINDS = ("pandas", "pyarrow", "polars")
_CAPACITY = Domain(1, 2**31 - 1, whole=True)
_LARGE = 2**30  # bytes that are not set aside for keys to come, unless somebody asks for them
TILES = (64, 512, 4096, 8192, 20480)  # numbers of keys, and
LOOPS = (1, 4, 16, 64, 512)  # numbers of samples of each, for which programs are compiled
_PART = TILES[-1]  # samples whose keys are found before any of them is learned from, where XLA computes
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
    """The order in which the samples of a batch are learned from. capacity: slots there are. size: numbers in a state.

    >>> [block.at.tolist() for block in Schedule(capacity=2).of([np.array([1, 0, 1])], samples=3)]
    [[[0], [1]], [[2]]]
    """

    def __init__(self, capacity: int, size: int = 1) -> None:
        self.marks = np.zeros(capacity, np.int32)  # the number of the last sample of each slot
        self._next, self._size = 1, size

    def of(self, parts: Iterable[Slots], samples: int) -> Iterator[Block]:
        """Blocks of so many samples, turn after turn, each as soon as the parts seen so far decide it.

        parts: the slots of the samples' keys, part after part.
        """
        if self._next + samples > _LAST:
            self.marks[:], self._next = 0, 1
        begin = start = self._next
        self._next += samples
        later: list[tuple[Slots, Slots]] = []
        for slots in parts:
            number = np.arange(start, start + len(slots), dtype=np.int32)
            first = self.marks.take(slots, mode="clip") < begin
            self.marks[slots[::-1]] = number[::-1]  # of equal slots, the first sample is written last
            first &= self.marks.take(slots, mode="clip") == number
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
                places = at.take(starts[keys, None] + done + ahead, mode="clip")
                places[ahead >= left[keys, None]] = -1
                yield from self._tiles(turn, slots[starts[keys]], places)

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
        self.size = sum(math.prod(part.shape[1:]) for part in self._rows)  # numbers in a state
        self.nbytes = sum(part.nbytes for part in self._rows)

    def native(self, learner: Learner, engine: str | None) -> Any:
        """What learns from batches in compiled code; None where XLA does."""
        with double():
            program = program_for(learner, self.start, self._packing, engine, for_banks=True)
        return program and program.bank(learner, self._rows)

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

    def rows(self, slots: Slots, length: int | None = None) -> list[Any]:
        """Copies of the states in these slots, filled up to this length with copies of the first."""
        return [_taken(part, slots, len(slots) if length is None else length) for part in self._rows]

    def put_rows(self, slots: Slots, rows: list[Any]) -> None:
        """Put such copies back, or what they became, once it is there; those that fill up are left out."""
        for items, part in zip(self._items, rows, strict=True):
            items[slots] = _items(np.asarray(part))[: len(slots)]

    def begin(
        self, block: Block, samples: Any, seen: BoolArray | None, rows: list[Any], last: Any
    ) -> tuple[Steps, Any]:
        """Set out to learn from a block. What it gives can be waited for; the states stay as they are.

        rows: the states before, as many as there are keys in the block's program. last: what the block before gave
        besides its steps, which is there once all of it is.
        """
        xs = jax.tree.map(lambda column: _taken(column, block.at, block.keys), samples)
        mask = None
        if seen is not None or block.at.shape[1] > 1:
            mask = np.zeros((block.keys, block.at.shape[1]), bool)
            mask[: len(block.at)] = block.at >= 0 if seen is None else (block.at >= 0) & seen[block.at]
        with double():
            return _compiled_loop(self._packing)(self._learner, xs, rows, mask, last)


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

    # not `programs.compiled`: XLA splits thousands of keys over threads, and refuses to do so within one kernel
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


class Bank:
    """One learner with a state for every key, such as a user, a sensor or a participant.

    capacity: how many keys there is room for. evict: whether the least recently used keys make room for new ones once
    it is full; else new keys are then refused. engine: "native" or "xla"; see `Stream`.
    It can be used from several threads. A batch is learned completely or not at all, whatever interrupts it.

    >>> from astonish import Gaussian, Smile
    >>> bank = Bank(Smile(Gaussian(noise=1.0)), capacity=1000)
    >>> steps = bank.update(["ann", "bob", "ann"], [0.1, 7.0, -0.2])
    >>> len(bank), steps.surprise.round(2).tolist()
    (2, [0.01, 24.5, 0.02])
    """

    def __init__(self, learner: Learner, capacity: int, evict: bool = False, engine: str | None = None) -> None:
        check(learner)
        self.learner, self.evict = learner, evict
        self.capacity = int(_CAPACITY.check("capacity", capacity))
        self._states = States(learner, self.capacity)
        self._wanted_engine = "xla" if engine == "xla" else None  # elsewhere too: the other may not be there
        self._native = self._states.native(learner, engine)
        self._schedule = None if self._native else Schedule(self.capacity, self._states.size)
        self._placement = Placement(self.capacity, evict, self._native and self._native.find)
        self._journal: Journal | None = None
        self._lock = Lock()

    def __repr__(self) -> str:
        return f"Bank({self.learner}, capacity={self.capacity}) with {len(self)} keys"

    def __len__(self) -> int:
        with self._lock:
            self._undo_interrupted()
            return self._placement.used

    def __reduce__(self) -> tuple[Any, ...]:
        with self._lock:
            self._undo_interrupted()
            states = jax.tree.map(np.copy, self._states.at(slice(self._placement.used)))
            keys, last = self._placement.all_keys(), np.copy(self._placement.last_used())
            return Bank._filled, (self.learner, self.capacity, self.evict, keys, last, states, self._wanted_engine)

    def __contains__(self, key: Any) -> bool:
        with self._lock:
            self._undo_interrupted()
            try:
                return bool(self._placement.find([key])[0] != UNKNOWN)
            except ValueError:  # of another sort than all keys here
                return False

    @property
    def engine(self) -> str:
        """What computes the steps: "native" or "xla" (see `Stream`)."""
        return "native" if self._native else "xla"

    @property
    def nbytes(self) -> int:
        """How much memory keys and states take, used or not; keys that are not whole numbers come on top."""
        return self._placement.nbytes + (self._schedule.marks.nbytes if self._schedule else 0) + self._states.nbytes

    def update(self, keys: Any, xs: Any) -> Steps:
        """Learn from a batch: a key and a sample in each row. Samples of one key are learned from in their order.

        xs: samples as `run` takes them; one that is missing (None, NaN) changes nothing. A batch in which anything is
        not allowed is refused, and nothing is learned from it.
        """
        samples, observed = read_series(self.learner.samples, xs)
        with self._lock:
            self._undo_interrupted()
            self._journal = journal = self._placement.journal()
            if self._native:
                (slots,) = self._placement.place(keys, len(observed), self._states, journal, part=len(observed))
                journal.done = self._native.nothing_done(len(observed))
                steps: Steps = self._native.learn(slots, samples, observed, journal.done)
            else:
                steps = self._learned_by_xla(journal, keys, samples, observed)
            self._journal = None  # from here on, all of it is learned
        return steps

    def estimate(self, keys: Any) -> FloatArray:
        """The present estimate for each of these keys; for unknown keys, the learner's estimate at its start."""
        with self._lock:
            self._undo_interrupted()
            slots = self._placement.find(keys)
            is_known = slots != UNKNOWN
            start = self._states.start_estimate
            estimates = np.broadcast_to(start, (len(slots), *start.shape)).copy()
            if is_known.any():
                estimates[is_known] = self._states.estimates(slots[is_known])
            return estimates

    def state(self, key: Any) -> State:
        """The state of one key, from which `run` and `Stream` go on."""
        with self._lock:
            self._undo_interrupted()
            slot = self._placement.find([key])[0]
            if slot == UNKNOWN:
                raise KeyError(f"{key!r} is not among the {self._placement.used} keys of this bank")
            return jax.tree.map(lambda leaf: leaf[0], self._states.at(np.array([slot])))

    def keys(self) -> Any:
        """All keys, as an array, in the order in which their slots were given to them."""
        with self._lock:
            self._undo_interrupted()
            return self._placement.all_keys()

    @naming_extra("tables need")
    def update_table(self, table: Any, key: str, sample: ColumnNames) -> Any:
        """Learn from the rows of a table (pandas, Arrow or Polars); return it with a column for each answer of a step.

        key, sample: names of columns; for samples of several parts as many, and a list of them for a part of several
        numbers, such as `[["x1", "x2"], "y"]` for a regression.
        """
        import narwhals as nw

        frame = nw.from_native(table, eager_only=True, pass_through=False)
        check_columns(frame.columns, (key, *listed(sample)), (*wide("estimate", self.estimate([])), *ANSWERS[1:]))
        steps = self.update(frame[key].to_numpy(), _from_columns(self.learner.samples, frame, sample))
        answers = (nw.new_series(*column, backend=frame.implementation) for column in steps.columns().items())
        return frame.with_columns(*answers).to_native()

    def to_frame(self, kind: Any = "pandas") -> Any:
        """Return all keys and their estimates, as a table of this kind: pandas, pyarrow or polars."""
        if kind not in _KINDS:
            raise ValueError(f"kind = {kind!r} is not known; give one of {', '.join(_KINDS)}")
        keys = self.keys()
        columns = {"key": keys, **wide("estimate", self.estimate(keys))}
        with naming_extra("this table needs"):
            import narwhals as nw

            return nw.from_dict(columns, backend=kind).to_native()

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
        with self._lock:
            self._undo_interrupted()
            keys = kept_keys(self._placement.all_keys()) | {"last": self._placement.last_used()}
            states = named_leaves(self._states.at(slice(self._placement.used)))
            write(file, "bank", keys | states, {"capacity": self.capacity, "learner": described(self.learner)})

    @classmethod
    def load(
        cls,
        source: Source,
        learner: Learner,
        capacity: int | None = None,
        evict: bool = False,
        other_learner: bool = False,
    ) -> "Bank":
        """A bank that goes on from a saved one. capacity: as before when left out.

        Which key was used least recently is known of a bank that evicts; else it is the one that came first.
        other_learner: load it even if it was saved by another learner, or one with other parameters.
        """
        saved, about = read(source, "bank")
        try:
            keys, last, before = read_keys(saved), saved.pop("last"), about["capacity"]
        except (KeyError, TypeError, ValueError) as missing:
            raise ValueError(f"the saved bank has no {missing}; give a file written by save") from None
        check_saved_by(source, about, learner, other_learner)
        start = first_state(learner)
        states = matching(source, saved, start, len(keys))
        if capacity is None:
            capacity = int(_CAPACITY.check("capacity", before))
            size = capacity * sum(leaf.nbytes for leaf in jax.tree.leaves(start))
            if size > _LARGE and capacity > 100 * len(keys):
                claimed = f"{name_of(source)} claims room for {capacity} keys ({size / 2**30:.3g} GiB)"
                raise ValueError(f"{claimed} and holds {len(keys)}; give the capacity that you want")
        return cls._filled(learner, capacity, evict, keys, last, states)

    @classmethod
    def _filled(
        cls,
        learner: Learner,
        capacity: int,
        evict: bool,
        keys: Any,
        last: Slots,
        states: State,
        engine: str | None = None,
    ) -> "Bank":
        """A bank with these keys, when they last had a sample, and their states."""
        bank = cls(learner, capacity, evict, engine)
        if len(keys) > bank.capacity:
            raise ValueError(f"{len(keys)} keys were saved and there is room for {bank.capacity}; give more capacity")
        if len(keys):
            bank._states.put(slice(len(keys)), states)
            bank._placement.fill(keys, last)
        return bank

    def _undo_interrupted(self) -> None:
        """Put everything back as it was before an update that was interrupted, if the last one was."""
        journal = self._journal
        if journal is not None and (journal.done is None or not journal.done.all()):  # else all was learned before
            for slots, rows in reversed(journal.rows):  # what was there first is put back last
                self._states.put_rows(slots, rows)
            self._placement.undo(journal)
        self._journal = None

    def _learned_by_xla(self, journal: Journal, keys: Any, samples: Any, observed: BoolArray) -> Steps:
        """Go through all samples, from the states of their keys and back into them; the journal has what was there.

        All blocks of a turn are begun before any is waited for: while they are computed, the keys of those to come are
        found, and what those before gave is put away. Nor is any state changed before all keys have found room.
        """
        assert self._schedule is not None
        seen = None if observed.all() else observed
        answers: Any = None
        placed = self._placement.place(keys, len(observed), self._states, journal, _PART)
        rounds = groupby(self._schedule.of(placed, len(observed)), key=lambda block: block.turn)
        begun: list[tuple[Block, Steps]] = []
        last: Any = np.zeros(())
        for blocks in chain((blocks for _, blocks in rounds), [[]]):
            for block, steps in begun:
                self._states.put_rows(block.slots, jax.tree.leaves(steps.state))
            ended, begun = begun, []
            for block in blocks:
                rows = self._states.rows(block.slots, block.keys)
                if block.turn == 0:  # which has all keys of the batch, each once
                    journal.rows.append((block.slots, rows))
                steps, last = self._states.begin(block, samples, seen, rows, last)
                begun.append((block, steps))
            for block, steps in ended:
                parts = jax.tree.map(np.asarray, steps._replace(state=None))
                if answers is None:
                    answers = jax.tree.map(lambda part: np.empty((len(observed), *part.shape[2:])), parts)
                real: Any = np.s_[:, 0] if block.at.shape[1] == 1 else block.at >= 0  # the rest fills the block up
                for column, part in zip(jax.tree.leaves(answers), jax.tree.leaves(parts), strict=True):
                    column[block.at[real]] = part[: len(block.at)][real]
        return answers


def check_columns(columns: Sequence[str], needed: Sequence[str], added: Sequence[str]) -> None:
    """Refuse a table without columns that are needed, or with one of those that are added."""
    for name in needed:
        if name not in columns:
            raise ValueError(f"there is no column {name!r}; the columns are {', '.join(columns)}")
    for name in added:
        if name in columns:
            raise ValueError(f"the table has a column {name!r} already; rename it, since the answer needs the name")


def listed(names: ColumnNames) -> list[str]:
    """All names, one after the other.

    >>> listed([["x1", "x2"], "y"])
    ['x1', 'x2', 'y']
    """
    return [names] if isinstance(names, str) else [name for part in names for name in listed(part)]


def _from_columns(samples: Any, frame: Any, names: ColumnNames) -> Any:
    """The columns of these names, put together as the samples of a learner are."""
    if isinstance(samples, Domain):
        columns = [frame[name].to_numpy() for name in listed(names)]
        return columns[0] if isinstance(names, str) else np.stack(columns, axis=1)
    if isinstance(names, str) or len(names) != len(samples):
        raise ValueError(f"sample = {names!r}; these samples have {len(samples)} parts, so give columns for each")
    return tuple(_from_columns(part, frame, name) for part, name in zip(samples, names, strict=True))

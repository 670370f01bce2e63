"""Banks: one learner that follows millions of keyed streams."""

import io
import os
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, groupby
from threading import Lock
from typing import Any, BinaryIO

import jax
import numpy as np

from astonish.core.numbers import BoolArray, Domain, FloatArray
from astonish.core.refusal import naming_extra
from astonish.core.samples import read_series
from astonish.io.files import Source, atomic_write, name_of, read, write
from astonish.io.state import check_saved_by, described, matching, named_leaves
from astonish.learners.base import ANSWERS, Learner, State, Steps, check, first_state, wide
from astonish.online.bank.keys import UNKNOWN, Journal, Placement, kept_keys, read_keys
from astonish.online.bank.states import Block, Schedule, Slots, States

ColumnNames = str | Sequence["ColumnNames"]  # one column, or as many as a sample has parts, each one or several
_KINDS = ("pandas", "pyarrow", "polars")
_CAPACITY = Domain(1, 2**31 - 1, whole=True)
_LARGE = 2**30  # bytes that are not set aside for keys to come, unless somebody asks for them


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
        self._placement = Placement(self.capacity, evict, compiled=self._native is not None)
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
            try:
                return bool(self._find([key])[0] != UNKNOWN)
            except ValueError:  # of another sort than all keys here
                return False

    @property
    def engine(self) -> str:
        """What computes the steps: "native" or "xla" (see `Stream`)."""
        return "native" if self._native else "xla"

    @property
    def nbytes(self) -> int:
        """How much memory keys and states take, used or not; keys that are not whole numbers come on top."""
        return self._placement.nbytes + (self._schedule.nbytes if self._schedule else 0) + self._states.nbytes

    def update(self, keys: Any, xs: Any) -> Steps:
        """Learn from a batch: a key and a sample in each row. Samples of one key are learned from in their order.

        xs: samples as `run` takes them; one that is missing (None, NaN) changes nothing. A batch in which anything is
        not allowed is refused, and nothing is learned from it.
        """
        samples, observed = read_series(self.learner.samples, xs)
        with self._lock:
            self._undo_interrupted()
            self._journal = journal = self._placement.journal()
            found = self._learned(journal, keys, samples, observed)
            self._journal = None  # from here on, all of it is learned
        return found

    def estimate(self, keys: Any) -> FloatArray:
        """The present estimate for each of these keys; for unknown keys, the learner's estimate at its start."""
        with self._lock:
            slots = self._find(keys)
            known = slots != UNKNOWN
            start = self._states.start_estimate
            found = np.broadcast_to(start, (len(slots), *start.shape)).copy()
            if known.any():
                found[known] = self._states.estimates(slots[known])
            return found

    def state(self, key: Any) -> State:
        """The state of one key, from which `run` and `Stream` go on."""
        with self._lock:
            slot = self._find([key])[0]
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

    @naming_extra("this table needs")
    def to_frame(self, kind: Any = "pandas") -> Any:
        """Return all keys and their estimates, as a table of this kind: pandas, pyarrow or polars."""
        with naming_extra("tables need"):
            import narwhals as nw

        if kind not in _KINDS:
            raise ValueError(f"kind = {kind!r} is not known; give one of {', '.join(_KINDS)}")
        keys = self.keys()
        return nw.from_dict({"key": keys, **wide("estimate", self.estimate(keys))}, backend=kind).to_native()

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
        if journal is not None and journal.done is not None and journal.done.all():
            self._journal = None  # all was learned before the interruption
        elif journal is not None:
            for slots, rows in reversed(journal.rows):  # what was there first is put back last
                self._states.put_rows(slots, rows)
            self._placement.undo(journal)
            self._journal = None

    def _find(self, keys: Any) -> Slots:
        self._undo_interrupted()
        return self._placement.find(keys)

    def _learned(self, journal: Journal, keys: Any, samples: Any, observed: BoolArray) -> Steps:
        """Learn from a batch, and answer for each sample. What is changed goes into the journal first."""
        if self._native:
            (slots,) = self._placement.place(keys, len(observed), self._states, journal, part=len(observed))
            journal.done = self._native.nothing_done(len(observed))
            return self._native.learn(slots, samples, observed, journal.done)
        found: Any = None
        placed = self._placement.place(keys, len(observed), self._states, journal)
        for block, steps in self._steps(journal, placed, samples, observed):
            if found is None:
                found = jax.tree.map(lambda part: np.empty((len(observed), *part.shape[2:])), steps)
            real: Any = np.s_[:, 0] if block.at.shape[1] == 1 else block.at >= 0  # the rest fills the block up
            for out, part in zip(jax.tree.leaves(found), jax.tree.leaves(steps), strict=True):
                out[block.at[real]] = part[: len(block.at)][real]
        return found

    def _steps(
        self, journal: Journal, placed: Iterable[Slots], samples: Any, observed: BoolArray
    ) -> Iterator[tuple[Block, Steps]]:
        """Go through all samples, from the states of their keys and back into them.

        All blocks of a turn are begun before any is waited for: while they are computed, the keys of those to come are
        found, and what those before gave is put away. Nor is any state changed before all keys have found room.
        """
        assert self._schedule is not None
        seen = None if observed.all() else observed
        begun: list[tuple[Block, Steps]] = []
        self._states.reset()
        rounds = groupby(self._schedule.of(placed, len(observed)), key=lambda block: block.turn)
        for blocks in chain((blocks for _, blocks in rounds), [[]]):
            for block, steps in begun:
                self._states.end(block, steps)
            ended, begun = begun, []
            for block in blocks:
                rows = self._states.rows(block.slots, block.keys)
                if block.turn == 0:  # which has all keys of the batch, each once
                    journal.rows.append((block.slots, rows))
                begun.append((block, self._states.begin(block, samples, seen, rows)))
            for block, steps in ended:
                yield block, jax.tree.map(np.asarray, steps._replace(state=None))


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

"""How does compiled code learn from a batch, in the tables of a bank?"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from astonish.learner import Learner
from astonish.native.parallel import in_parallel, threads_for
from astonish.native.program import Program
from astonish.native.search import prepare, put
from astonish.native.streams import answers_of, as_columns
from astonish.numbers import Mask


class NativeRows:
    """A learner whose states are in the rows of tables."""

    def __init__(self, program: Program, learner: Learner, tables: list[Any]) -> None:
        self._program, self._tables = program, tables
        self._parameters = program.layout.packed_parameters(learner)
        prepare()  # not while a batch is learned
        self._scratch: list[tuple[Any, list[Any], list[Any]]] = []  # used again for the next batch

    def batch(self, slots: Any) -> "Batch":
        """What is to be learned in these slots, before it is."""
        threads, count = threads_for(len(slots)), len(slots)
        if len(self._scratch) < threads or len(self._scratch[0][0]) <= count:
            self._scratch = [(np.empty(count + 1, np.int64), self._before(count), self._answers(count))
                             for _ in range(threads)]  # fmt: skip
        orders, before, _ = zip(*self._scratch[:threads], strict=True)
        return Batch(self._tables, np.ascontiguousarray(slots, np.int64), orders, before)

    def learn(self, batch: "Batch", samples: Any, observed: Mask) -> tuple[Any, ...]:
        """Learn from samples, those of each slot in their order, and answer for each."""
        columns, threads, count = as_columns(self._program, samples), len(batch.done), len(observed)
        seen = None if observed.all() else np.ascontiguousarray(observed)
        found = self._answers(count)
        parts = [found] if threads == 1 else [answers for _, _, answers in self._scratch[:threads]]
        own = [self._parameters, *self._tables, *columns]
        jobs = [
            (*own, *parts[k], seen, batch.slots, *before, order, batch.done[k:], count, threads - 1, k)
            for k, (order, before) in enumerate(zip(batch.orders, batch.before, strict=True))
        ]
        in_parallel(self._program.code["rows_job"], jobs)
        for part, order in zip(parts, batch.taken(), strict=True) if threads > 1 else ():
            for k in range(4 if self._program.gives_change else 3):
                put(order, part[k], found[k])
        return answers_of(self._program, found)

    def _before(self, count: int) -> list[Any]:
        return [np.empty((count, *table.shape[1:]), table.dtype) for table in self._tables]

    def _answers(self, count: int) -> list[Any]:
        return [np.empty((count, *self._program.layout.estimate)), *(np.empty(count) for _ in range(3))]


class Batch:
    """What a batch changes.

    orders: room for the places of each thread's samples. before: for the states before their steps. done: 1 more than
    how many there were, once they were all taken.
    """

    def __init__(self, tables: list[Any], slots: Any, orders: Sequence[Any], before: Sequence[list[Any]]) -> None:
        self._tables, self.slots, self.orders, self.before = tables, slots, orders, before
        self.done = np.zeros(len(orders), np.int64)

    def taken(self) -> list[Any]:
        """The places of the samples that each thread has learned from."""
        return [order[: max(done - 1, 0)] for order, done in zip(self.orders, self.done.tolist(), strict=True)]

    def undo(self) -> None:
        """Put all states back; what was there first is put back last."""
        for order, before in zip(self.taken(), self.before, strict=True):
            for table, rows in zip(self._tables, before, strict=True):
                table[self.slots[order[::-1]]] = rows[: len(order)][::-1]

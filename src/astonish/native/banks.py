"""How does compiled code learn from a batch, in the tables of a bank?"""

from typing import Any

import numpy as np

from astonish.learner import Learner
from astonish.native.parallel import in_parallel, threads_for
from astonish.native.program import Program
from astonish.native.search import merge, prepare, share
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
        slots = np.ascontiguousarray(slots, np.int64)
        return Batch(self._tables, slots, share(slots, list(orders)), list(before))

    def learn(self, batch: "Batch", samples: Any, observed: Mask) -> tuple[Any, ...]:
        """Learn from samples, those of each slot in their order, and answer for each."""
        columns, threads = as_columns(self._program, samples), len(batch.orders)
        seen = None if observed.all() else np.ascontiguousarray(observed)
        found = self._answers(len(observed))
        parts = [found] if threads == 1 else [answers for _, _, answers in self._scratch[:threads]]
        arguments = [
            (self._parameters, *self._tables, *columns, *answers, seen, batch.slots, *before, order, done, len(order))
            for order, before, answers, done in zip(batch.orders, batch.before, parts, batch.done, strict=True)
        ]
        in_parallel(self._program.code["rows_job"], arguments)
        if threads > 1:
            for k in range(4 if self._program.gives_change else 3):
                merge(batch.slots, batch.orders, [part[k] for part in parts], found[k])
        return answers_of(self._program, found)

    def _before(self, count: int) -> list[Any]:
        return [np.empty((count, *table.shape[1:]), table.dtype) for table in self._tables]

    def _answers(self, count: int) -> list[Any]:
        return [np.empty((count, *self._program.layout.estimate)), *(np.empty(count) for _ in range(3))]


class Batch:
    """What a batch changes.

    orders: the places of each thread's samples. before: the states before their steps. done: whether they were taken.
    """

    def __init__(self, tables: list[Any], slots: Any, orders: list[Any], before: list[list[Any]]) -> None:
        self._tables, self.slots, self.orders, self.before = tables, slots, orders, before
        self.done = np.zeros((len(orders), 1), np.uint8)

    def undo(self) -> None:
        """Put all states back; what was there first is put back last."""
        for order, before, (done,) in zip(self.orders, self.before, self.done, strict=True):
            if done:
                for table, rows in zip(self._tables, before, strict=True):
                    table[self.slots[order[::-1]]] = rows[: len(order)][::-1]

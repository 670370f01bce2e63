"""How does compiled code learn from a batch, in the tables of a bank?"""

import ctypes
from typing import Any

import numpy as np

from astonish.learner import Learner
from astonish.native.layout import ANSWERS
from astonish.native.parallel import finished, in_parallel, threads_for
from astonish.native.program import Program
from astonish.native.search import merge, share
from astonish.native.streams import answers_of, as_columns
from astonish.numbers import Mask


class NativeRows:
    """A learner whose states are in the rows of tables."""

    def __init__(self, program: Program, learner: Learner, tables: list[Any]) -> None:
        self._program, self._tables = program, tables
        self._parameters = program.layout.packed_parameters(learner)
        pointers = 1 + 2 * len(tables) + len(program.layout.samples) + ANSWERS + 4
        self._scratch: dict[int, list[Any]] = {}
        self._rows = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * pointers, ctypes.c_int64)(program.code["rows"])

    def batch(self, slots: Any) -> "Batch":
        """What is to be learned in these slots, before it is."""
        return Batch(np.ascontiguousarray(slots, np.int64), self._tables)

    def learn(self, batch: "Batch", samples: Any, observed: Mask) -> tuple[Any, ...]:
        """Learn from samples, those of each slot in their order, and answer for each."""
        columns = as_columns(self._program, samples)
        seen = None if observed.all() else np.ascontiguousarray(observed)
        ends = np.linspace(0, len(observed), batch.threads + 1).astype(int)
        given = 4 if self._program.gives_change else 3
        parts: list[Any] = [None] * batch.threads

        def work(thread: int) -> None:
            order, before, answers = self._room(thread, batch)
            parts[thread], batch.order[thread], batch.before[thread] = answers, order, before
            arrays = [self._parameters, *self._tables, *columns, *answers, seen, batch.slots, *before, order]
            done = batch.done[thread : thread + 1]
            addresses = [None if array is None else array.ctypes.data for array in (*arrays, done)]
            self._rows(*addresses, len(order))

        def put(thread: int) -> None:
            first, last = ends[thread], ends[thread + 1]
            begins = [int(np.searchsorted(order, first)) for order in batch.order]
            for k in range(given):
                merge(batch.slots, [part[k] for part in parts], begins, first, found[k][first:last])

        in_parallel(work, batch.threads, batch.begun)
        if batch.threads == 1:
            found = parts[0]
        else:
            found = self._answers(len(observed))
            in_parallel(put, batch.threads)
        return answers_of(self._program, found)

    def _room(self, thread: int, batch: "Batch") -> tuple[Any, list[Any], list[Any]]:
        """The order of a thread's steps, and room for the states before them and for its answers.

        All of it is used again for the next batch, except for answers that are given away as they are.
        """
        count = len(batch.slots)
        if len(self._scratch.get(thread, [()])[0]) <= count:
            before = [np.empty((count, *table.shape[1:]), table.dtype) for table in self._tables]
            self._scratch[thread] = [np.empty(count + 1, np.int64), before, self._answers(count)]
        order, before, answers = self._scratch[thread]
        own = share(batch.slots, batch.threads, thread, order)
        return own, before, self._answers(count) if batch.threads == 1 else answers

    def _answers(self, count: int) -> list[Any]:
        return [np.empty((count, *self._program.layout.estimate)), *(np.empty(count) for _ in range(3))]


class Batch:
    """What a batch changes.

    order: the places of each thread's samples. before: the states before their steps. done: which threads have learned
    from theirs.
    """

    def __init__(self, slots: Any, tables: list[Any]) -> None:
        self.slots, self._tables = slots, tables
        self.threads = threads_for(len(slots))
        self.done = np.zeros(self.threads, np.uint8)
        self.order: list[Any] = [None] * self.threads
        self.begun: list[Any] = []
        self.before: list[Any] = [None] * self.threads

    def undo(self) -> None:
        """Put all states back, once nothing changes them any more; what was there first is put back last."""
        finished(self.begun)
        for done, order, before in zip(self.done, self.order, self.before, strict=True):
            if done:
                for table, rows in zip(self._tables, before, strict=True):
                    table[self.slots[order[::-1]]] = rows[: len(order)][::-1]

"""Batches that compiled code learns from, in the tables of a bank."""

from typing import Any

import numpy as np

from astonish.core.numbers import BoolArray
from astonish.engines.native.parallel import in_parallel, threads_for
from astonish.engines.native.program import Program
from astonish.engines.native.search import prepare, put
from astonish.engines.native.streams import answers_for, answers_of, as_columns
from astonish.learners.base import Learner, Steps


class NativeRows:
    """A learner whose states are in the rows of tables."""

    def __init__(self, program: Program, learner: Learner, tables: list[Any]) -> None:
        self._program, self._tables = program, tables
        self._parameters = program.layout.packed_parameters(learner)
        prepare()  # not while a batch is learned
        self._scratch: list[tuple[Any, list[Any]]] = []  # used again for the next batch

    def learn(self, slots: Any, samples: Any, observed: BoolArray, done: Any) -> Steps:
        """Learn from samples, those of each slot in their order, and answer for each.

        done: a number for each thread, which becomes 1 more than how many samples it has learned from. That is written
        by compiled code, as all that is learned is, so that no interruption comes between.
        """
        columns, count = as_columns(self._program, samples), len(observed)
        seen = None if observed.all() else np.ascontiguousarray(observed)
        slots, threads, found = np.ascontiguousarray(slots, np.int64), len(done), answers_for(self._program, count)
        if len(self._scratch) < threads or len(self._scratch[0][0]) <= count:
            self._scratch = [(np.empty(count + 1, np.int64), answers_for(self._program, count)) for _ in range(threads)]
        orders, parts = zip(*self._scratch[:threads], strict=True)
        into = [found] if threads == 1 else parts
        own = [self._parameters, *self._tables, *columns]
        jobs = [(*own, *into[k], seen, slots, orders[k], done[k:], count, threads - 1, k) for k in range(threads)]
        in_parallel(self._program.code["rows_job"], jobs)
        for part, order, end in zip(into, orders, done.tolist(), strict=True) if threads > 1 else ():
            for k in np.flatnonzero(self._program.given):
                put(order[: end - 1], part[k], found[k])
        return answers_of(self._program, found)

    def nothing_done(self, samples: int) -> Any:
        """What `learn` fills in as `done`, for so many samples."""
        return np.zeros(threads_for(samples), np.int64)

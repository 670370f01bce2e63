"""How is a study computed, and continued? Settings are sent to an executor, and results stored as they come back."""

from collections.abc import Callable, Mapping
from concurrent.futures import BrokenExecutor, Executor, Future, as_completed
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
from pandas import DataFrame

from astonish.core.numbers import COUNT
from astonish.sweep.executors import threads
from astonish.sweep.jobs import Job, JobResult, compute_job, jobs, usual_batch_size
from astonish.sweep.store import Store
from astonish.sweep.study import Result, Study

AnyExecutor = Executor | AbstractContextManager[Executor]


@dataclass(frozen=True)
class StudyResult:
    """The results of a study by name, and of settings that failed the reason, in full."""

    study: Study
    results: Mapping[str, Result]
    failed: Mapping[str, str]

    def table(self) -> DataFrame:
        """The summary of the results of all settings."""
        if self.failed:
            name, why = next(iter(self.failed.items()))
            raise ValueError(f"{len(self.failed)} of {len(self.study.settings)} settings failed: {name}: {short(why)}")
        return self.study.table(self.results)


def run_study(
    study: Study,
    folder: Path | str | None = None,
    executor: AnyExecutor | None = None,
    *,
    batch_size: int | None = None,
    recompute: bool = False,
    progress: Callable[[float], Any] = lambda _: None,
    say: Callable[[str], Any] = print,
) -> StudyResult:
    """Compute whatever is not finished yet, and return all results.

    folder: where results are stored, each as soon as it is there; the same call continues from them. Nowhere if left
    out.
    executor: any `concurrent.futures.Executor`, or a context that gives one, such as `scheduler` and `local_cluster`,
    which is entered if there is anything to compute; threads of this machine if left out. Results are the same to the
    last digit, whatever computes them on the same kind of device.
    batch_size: how many episodes an accelerator computes in one call; if left out, as many as fill the one of this
    machine. To be given for workers of an executor that have one; a processor computes settings one by one in any case.
    recompute: results of other settings or of other code are computed again; else they are refused.
    progress: is called with the share that is done. say: is called with sentences about what is not as expected.

    >>> study = Study({f"die/sides={n}": {"sides": n} for n in (4, 6)}, lambda s: {"mean": (s["sides"] + 1) / 2})
    >>> run_study(study).table()["mean"].tolist()
    [2.5, 3.5]
    """
    if batch_size is not None:
        batch_size = int(COUNT.check("batch_size", batch_size))
    store = None if folder is None else Store(Path(folder), study)
    opened: AbstractContextManager[Any] = nullcontext({}) if store is None else store.opened(recompute, say)
    with opened as results:
        run = _Run(study, store, results, progress, say)
        if names := [name for name in study.settings if name not in results]:
            batch_size = _batch_size(study, store, executor, batch_size)
            with nullcontext(executor) if isinstance(executor, Executor) else executor or threads() as pool:
                run.compute(pool, jobs(study, names, batch_size))
    found: Any = ({name: some[name] for name in study.settings if name in some} for some in (run.results, run.failed))
    return StudyResult(study, *found)


def _batch_size(study: Study, store: Store | None, executor: AnyExecutor | None, batch_size: int | None) -> int:
    """How many episodes there are in a call: as was given, as it was begun, or as the device here needs."""
    begun = 0 if store is None or store.device is None else store.device[1]
    if executor is not None:
        return begun if batch_size is None else batch_size
    if jax.default_backend() == "cpu":
        batch_size = 0
    elif batch_size is None:
        batch_size = begun or usual_batch_size(study)
    if store is not None:
        store.check_device(batch_size)
    return batch_size


class _Run:
    """The results and failures so far."""

    def __init__(self, study: Study, store: Store | None, results: dict[str, Result], progress: Any, say: Any) -> None:
        self.study, self.store, self.results, self.progress, self.say = study, store, results, progress, say
        self.failed: dict[str, str] = {}

    def compute(self, pool: Executor, parts: list[Job]) -> None:
        """Send all, and store what comes back. After an interruption nothing is begun, but what was begun is stored."""
        if self.store is not None:
            self.store.describe(type(pool).__name__, {})
        waiting = {pool.submit(compute_job, part): part for part in parts}
        self._report()
        try:
            for future in as_completed(list(waiting)):
                self._take(future, waiting.pop(future))
        except KeyboardInterrupt:
            begun = [future for future in waiting if not future.cancel()]
            if begun:
                self.say("stopping as soon as what was begun is finished")
            for future in as_completed(begun):
                self._take(future, waiting.pop(future))
            raise
        finally:
            for future in waiting:
                future.cancel()
            if self.store is not None:
                self.store.describe(type(pool).__name__, self.failed)

    def _take(self, future: Future[JobResult], part: Job) -> None:
        """Store what a job found."""
        if future.cancelled() or isinstance(future.exception(), BrokenExecutor):
            raise ConnectionError(
                f"the workers were lost with {len(self.results)} of {len(self.study.settings)} settings finished; "
                "run the same again to continue from there"
            )
        problem = future.exception()
        found = JobResult({}, dict.fromkeys(part.settings, repr(problem)), {}, "", 0) if problem else future.result()
        if self.store is not None:
            found = self.store.record(found)
        self.results |= found.results
        self.failed |= found.failed
        self._report()

    def _report(self) -> None:
        self.progress((len(self.results) + len(self.failed)) / len(self.study.settings))


def short(why: str) -> str:
    """The last line of what went wrong."""
    return why.strip().splitlines()[-1]

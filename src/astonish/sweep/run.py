"""How is a study carried out, and gone on with? Settings are sent to an engine, and results kept as they come back."""

from collections.abc import Callable, Mapping
from concurrent.futures import BrokenExecutor, Executor, Future, as_completed
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jax

from astonish.domain import Domain
from astonish.sweep.batches import Batch, batches, episodes_at_once
from astonish.sweep.engines import threads
from astonish.sweep.folder import Folder
from astonish.sweep.study import Result, Study
from astonish.sweep.work import Answer, Task, work

if TYPE_CHECKING:
    from pandas import DataFrame

Engine = Executor | AbstractContextManager[Executor]


@dataclass(frozen=True)
class Sweep:
    """What came of a study: results by name, and of those that failed the reason, in full."""

    study: Study
    results: Mapping[str, Result]
    failed: Mapping[str, str]

    def table(self) -> "DataFrame":
        """What the results of all settings come to."""
        if self.failed:
            name, why = next(iter(self.failed.items()))
            raise ValueError(f"{len(self.failed)} of {len(self.study.settings)} settings failed: {name}: {short(why)}")
        return self.study.table(self.results)


def run_sweep(
    study: Study,
    folder: Path | str | None = None,
    executor: Engine | None = None,
    *,
    at_once: int | None = None,
    anew: bool = False,
    told: Callable[[float], Any] | None = None,
    say: Callable[[str], Any] | None = None,
) -> Sweep:
    """Compute whatever is not finished yet, and give all results.

    folder: where results are kept, each as soon as it is there; the same call goes on from them. Nowhere if left out.
    executor: who computes: any `concurrent.futures.Executor`, or a context that lends one, such as `scheduler` and
    `local_cluster`, which is entered if there is anything to compute; threads of this machine if left out. Results are
    the same to the last digit, whoever computes them on the same kind of device.
    at_once: how many episodes an accelerator computes in one call; if left out, as many as fill the one that is here.
    To be said for workers of an executor that have one; a processor computes settings one by one in any case.
    anew: results of other settings or of other code are computed anew; else they are refused.
    told: hears which share is done. say: hears sentences about what is not as expected.

    >>> study = Study({f"die/sides={n}": {"sides": n} for n in (4, 6)}, lambda s: {"mean": (s["sides"] + 1) / 2})
    >>> run_sweep(study).table()["mean"].tolist()
    [2.5, 3.5]
    """
    if at_once is not None:
        at_once = int(Domain(1, whole=True).check("at_once", at_once))
    keeper = None if folder is None else Folder(Path(folder), study)
    with nullcontext() if keeper is None else keeper.held():
        results, sentences = ({}, []) if keeper is None else keeper.open(anew)
        for sentence in sentences:
            (say or print)(sentence)
        course = _Course(study, keeper, results, told or (lambda _: None))
        names = [name for name in study.settings if name not in results]
        return _computed(course, names, executor, at_once) if names else course.end("none")


def _computed(course: "_Course", names: list[str], executor: Engine | None, at_once: int | None) -> Sweep:
    """The sweep, once these settings, which are not finished yet, are computed."""
    study, keeper = course.study, course.keeper
    at_once = _size(study, keeper, executor, at_once)
    with nullcontext(executor) if isinstance(executor, Executor) else executor or threads() as engine:
        if keeper is not None:
            keeper.describe(type(engine).__name__, {})
        course.run(engine, batches(study, names, at_once), at_once)
        return course.end(type(engine).__name__)


def _size(study: Study, keeper: Folder | None, executor: Engine | None, at_once: int | None) -> int:
    """How many episodes there are in a call: as was said, as it was begun, or as the device here needs."""
    begun = 0 if keeper is None or keeper.place is None else keeper.place[1]
    if executor is not None:
        return begun if at_once is None else at_once
    if jax.default_backend() == "cpu":
        at_once = 0
    elif at_once is None:
        at_once = begun or episodes_at_once(study)
    if keeper is not None:
        keeper.check_place(at_once)
    return at_once


class _Course:
    """What has come back so far."""

    def __init__(self, study: Study, keeper: Folder | None, results: dict[str, Result], told: Any) -> None:
        self.study, self.keeper, self.results, self.told = study, keeper, results, told
        self.failed: dict[str, str] = {}

    def run(self, engine: Executor, parts: list[Batch], at_once: int) -> None:
        """Send all, and keep what comes back. After an interruption nothing is begun, but what was begun is kept."""
        waiting = {engine.submit(work, self._task(part, at_once)): part.names for part in parts}
        self._tell()
        try:
            for future in as_completed(list(waiting)):
                self._take(future, waiting.pop(future))
        except KeyboardInterrupt:
            begun = [future for future in waiting if not future.cancel()]
            for future in as_completed(begun):
                self._take(future, waiting.pop(future))
            raise
        finally:
            for future in waiting:
                future.cancel()

    def end(self, engine: str) -> Sweep:
        """The results, and the failures, in the order of the settings, whichever came first."""
        if self.keeper is not None and engine != "none":
            self.keeper.describe(engine, self.failed)
        results = {name: self.results[name] for name in self.study.settings if name in self.results}
        failed = {name: self.failed[name] for name in self.study.settings if name in self.failed}
        return Sweep(self.study, results, failed)

    def _task(self, part: Batch, at_once: int) -> Task:
        settings = {name: self.study.settings[name] for name in part.names}
        together = None if self.study.together is None else self.study.together.compute
        return Task(settings, self.study.compute, together, part.size, at_once)

    def _take(self, future: Future[Answer], names: list[str]) -> None:
        if future.cancelled() or isinstance(future.exception(), BrokenExecutor):
            raise ConnectionError(
                f"the workers were lost with {len(self.results)} of {len(self.study.settings)} settings finished; "
                "run the same again to go on from there"
            )
        problem = future.exception()
        answer = Answer({}, {name: repr(problem) for name in names}, {}, "", 0) if problem else future.result()
        where = answer.device, answer.at_once
        odd = self.keeper.odd(answer.versions, where) if self.keeper and answer.results else ""
        for name, result in answer.results.items():
            if odd:
                answer.failed[name] = odd
            else:
                self._keep(name, result, where)
        for name, why in answer.failed.items():
            self.failed[name] = why
            if self.keeper:
                self.keeper.fail(name, why)
        self._tell()

    def _keep(self, name: str, result: Result, where: tuple[str, int]) -> None:
        if self.keeper:
            self.keeper.keep(name, result, where)
        self.results[name] = result

    def _tell(self) -> None:
        self.told((len(self.results) + len(self.failed)) / len(self.study.settings))


def short(why: str) -> str:
    """The last line of what went wrong."""
    return why.strip().splitlines()[-1]

"""Studies computed: settings in jobs, sent to threads or the workers of a cluster, results stored as they come back.

On a processor a job has one setting, on an accelerator as many as fill it. An accelerator is fast only when it has much
to do. But a program that is compiled for another number of episodes may add in another order, and its last digits are
others. So all jobs of a study have one size: those that lack settings are filled up with copies of the last one, which
costs little, and a study that is continued keeps the size it had. A setting that fails does not stop the others.
"""

import logging
import os
import re
import traceback
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from concurrent.futures import BrokenExecutor, Executor, Future, ThreadPoolExecutor, as_completed
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import jax
from pandas import DataFrame

from astonish.core.numbers import COUNT
from astonish.core.refusal import naming_extra
from astonish.sweep.study import JobResult, Result, Setting, Store, Study, checked_result, device, versions

AnyExecutor = Executor | AbstractContextManager[Executor]
_SHARE = 0.5  # of the memory; a compiled program needs room of its own
_UNKNOWN = 2**33  # bytes, for a device that does not say how much it has
_ADDRESS = re.compile(r"(tcp|tls|ws|wss|ucx)://.")
_TIMEOUT = 10  # seconds, for a scheduler to answer
# Ctrl-C is for the program that started the workers
_IGNORE_INTERRUPT = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)"
_RETRIES = 3  # times that a task is sent again after a worker lost it


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
        failed: dict[str, str] = {}
        if names := [name for name in study.settings if name not in results]:
            # Episodes in a call: as was given, as it was begun, or as the device here needs
            begun = 0 if store is None or store.device is None else store.device[1]
            if executor is not None:
                batch_size = begun if batch_size is None else batch_size
            elif jax.default_backend() == "cpu":
                batch_size = 0
            elif batch_size is None:
                batch_size = begun or usual_batch_size(study)
            if executor is None and store is not None:
                store.check_device(batch_size)

            with nullcontext(executor) if isinstance(executor, Executor) else executor or threads() as pool:
                failed = _compute(pool, jobs(study, names, batch_size), study, store, results, progress, say)
    ordered: Any = ({name: some[name] for name in study.settings if name in some} for some in (results, failed))
    return StudyResult(study, *ordered)


class Job(NamedTuple):
    """Settings that are sent together, and how they are computed: see `Study`.

    compute_batch: for an accelerator, which computes `size` settings in one call. batch_size: how many episodes the
    call was made for; 0 if settings are computed one by one.
    """

    settings: Mapping[str, Setting]
    compute: Callable[[Setting], Any]
    compute_batch: Callable[[Any], Any] | None = None
    size: int = 0
    batch_size: int = 0


def usual_batch_size(study: Study) -> int:
    """How many episodes fill the device here: all of the largest group, or as many as half of its memory holds.

    A power of two; 0 on a processor, and for a study that does not say how to compute settings together.
    """
    batching = study.batching
    if batching is None or jax.default_backend() == "cpu":
        return 0
    episodes: Counter[Hashable] = Counter()
    for setting in study.settings.values():
        episodes[batching.group(setting)] += batching.episodes(setting)
    held = int(available_memory() / max(map(batching.memory, study.settings.values())))
    return min(1 << (max(episodes.values()) - 1).bit_length(), 1 << max(held.bit_length() - 1, 0))


def available_memory() -> float:
    """How many bytes episodes may take on the device here."""
    stats: dict[str, Any] = jax.local_devices()[0].memory_stats() or {}
    return _SHARE * stats.get("bytes_limit", _UNKNOWN)


def jobs(study: Study, names: Iterable[str], batch_size: int) -> list[Job]:
    """The settings of these names in jobs of at most so many episodes, or of one setting."""
    batching, settings = study.batching, study.settings
    if batching is None or batch_size == 0:
        return [Job({name: settings[name]}, study.compute) for name in names]
    groups = defaultdict(list)
    for name in names:
        size = max(1, batch_size // batching.episodes(settings[name]))
        groups[batching.group(settings[name]), size].append(name)
    return [
        Job({name: settings[name] for name in group[i : i + size]}, study.compute, batching.compute, size, batch_size)
        for (_, size), group in groups.items()
        for i in range(0, len(group), size)
    ]


def compute_job(job: Job) -> JobResult:
    """Compute all settings: in one call on an accelerator, if they were sent for that, else one by one."""
    batch = None if jax.default_backend() == "cpu" else job.compute_batch
    computed = JobResult({}, {}, versions(), device(), job.batch_size if batch else 0)

    def compute(names: list[str]) -> dict[str, Result]:
        settings = [job.settings[name] for name in names]
        if batch is None:
            results = [job.compute(setting) for setting in settings]
        else:  # filled up to the size of a call by copies of the last setting
            results = batch(settings + settings[-1:] * (job.size - len(settings)))[: len(settings)]
        named = zip(names, settings, results, strict=True)
        return {name: checked_result(setting, result) for name, setting, result in named}

    if batch is not None:
        try:
            return computed._replace(results=compute(list(job.settings)))
        except Exception:  # because of one of them; the others go on in calls of the same size
            pass
    for name in job.settings:
        try:
            computed.results.update(compute([name]))
        except Exception:
            computed.failed[name] = traceback.format_exc()
    return computed


def _compute(
    pool: Executor,
    parts: list[Job],
    study: Study,
    store: Store | None,
    results: dict[str, Result],
    progress: Callable[[float], Any],
    say: Callable[[str], Any],
) -> dict[str, str]:
    """Send all jobs, add what comes back to the results, store it, and return what failed.

    After an interruption nothing is begun, but what was begun is stored.
    """
    failed: dict[str, str] = {}

    def keep(future: Future[JobResult]) -> None:
        part, problem = waiting.pop(future), None if future.cancelled() else future.exception()
        if future.cancelled() or isinstance(problem, BrokenExecutor):
            raise ConnectionError(
                f"the workers were lost with {len(results)} of {len(study.settings)} settings finished; "
                "run the same again to continue from there"
            )
        broken = JobResult({}, dict.fromkeys(part.settings, repr(problem)), {}, "", 0)
        computed = broken if problem else future.result()
        if store is not None:
            computed = store.record(computed)
        results.update(computed.results)
        failed.update(computed.failed)
        progress((len(results) + len(failed)) / len(study.settings))

    if store is not None:
        store.describe(type(pool).__name__, {})
    waiting = {pool.submit(compute_job, part): part for part in parts}
    progress(len(results) / len(study.settings))
    try:
        for future in as_completed(list(waiting)):
            keep(future)
    except KeyboardInterrupt:
        begun = [future for future in waiting if not future.cancel()]
        if begun:
            say("stopping as soon as what was begun is finished")
        for future in as_completed(begun):
            keep(future)
        raise
    finally:
        for future in waiting:
            future.cancel()
        if store is not None:
            store.describe(type(pool).__name__, failed)
    return failed


@contextmanager
def threads() -> Iterator[Executor]:
    """A thread for each core; one alone for an accelerator. Compiled code does not block other threads."""
    with ThreadPoolExecutor(os.cpu_count() if jax.default_backend() == "cpu" else 1) as pool:
        yield pool


@contextmanager
def scheduler(address: str, say: Callable[[str], Any] = print) -> Iterator[Executor]:
    """The workers of a running Dask cluster. address: of its scheduler, such as `tcp://10.0.0.1:8786`.

    say: is called if there are no workers yet; the study begins with the first of them.
    """
    with naming_extra("a cluster needs"):
        from distributed import Client
        from distributed.utils import silence_logging_cmgr

    if not _ADDRESS.match(address):
        raise ValueError(f"{address!r} is no address of a scheduler; give one such as tcp://10.0.0.1:8786")
    with silence_logging_cmgr(logging.CRITICAL):
        try:
            client = Client(address, timeout=_TIMEOUT, set_as_default=False)
        except OSError as problem:
            raise ConnectionError(
                f"no scheduler answers at {address} ({problem}); give the address that it printed when it was started"
            ) from None
        with _lent(client) as pool:
            if not client.scheduler_info()["workers"]:
                say(f"{address} has no workers yet; waiting for the first")
            yield pool


@contextmanager
def local_cluster(workers: int) -> Iterator[Executor]:
    """A Dask cluster of so many processes on this machine, with a thread each."""
    with naming_extra("a cluster needs"):
        from distributed import Client, LocalCluster

    COUNT.check("workers", workers)
    quiet = {"dashboard_address": ":0", "silence_logs": logging.CRITICAL, "preload": [_IGNORE_INTERRUPT]}
    cluster = LocalCluster(n_workers=workers, threads_per_worker=1, **quiet)
    with cluster, _lent(Client(cluster, set_as_default=False)) as pool:
        yield pool


@contextmanager
def _lent(client: Any) -> Iterator[Executor]:
    """The executor of a client; what is not finished at the end is given up."""
    with client:
        pool = client.get_executor(pure=False, retries=_RETRIES)
        try:
            yield pool
        finally:
            pool.shutdown(wait=False)


def short(why: str) -> str:
    """The last line of what went wrong."""
    return why.strip().splitlines()[-1]

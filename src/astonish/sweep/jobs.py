"""Which settings are computed in one call, and what happens to them there? One that fails does not stop the others.

On a processor a call has one setting, on an accelerator as many as fill it. An accelerator is fast only when it has
much to do. But a program that is compiled for another number of episodes may add in another order, and its last digits
are others. So all calls of a study have one size: those that lack settings are filled up with copies of the last one,
which costs little, and a study that is continued keeps the size it had.
"""

import traceback
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any, NamedTuple

import jax

from astonish.sweep.provenance import Versions, device, versions
from astonish.sweep.study import Result, Setting, Study, checked_result

_SHARE = 0.5  # of the memory; a compiled program needs room of its own
_UNKNOWN = 2**33  # bytes, for a device that does not say how much it has


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


class JobResult(NamedTuple):
    """Results of a job, or why there are none; and by which code, and on what, they were computed."""

    results: dict[str, Result]
    failed: dict[str, str]
    versions: Versions
    device: str
    batch_size: int


def usual_batch_size(study: Study) -> int:
    """How many episodes fill the device here: all of the largest group, or as many as half of its memory holds.

    A power of two; 0 on a processor, and for a study that does not say how to compute settings together.
    """
    how = study.batching
    if how is None or jax.default_backend() == "cpu":
        return 0
    settings = study.settings.values()
    grouped: Counter[Hashable] = Counter()
    for setting in settings:
        grouped[how.group(setting)] += how.episodes(setting)
    held = int(available_memory() / max(how.memory(setting) for setting in settings))
    return min(1 << (max(grouped.values()) - 1).bit_length(), 1 << max(held.bit_length() - 1, 0))


def available_memory() -> float:
    """How many bytes episodes may take on the device here."""
    stats: dict[str, Any] = jax.local_devices()[0].memory_stats() or {}
    return _SHARE * stats.get("bytes_limit", _UNKNOWN)


def jobs(study: Study, names: Iterable[str], batch_size: int) -> list[Job]:
    """The settings of these names in jobs of at most so many episodes, or of one setting."""
    how, settings = study.batching, study.settings
    if how is None or batch_size == 0:
        return [Job({name: settings[name]}, study.compute) for name in names]
    groups = defaultdict(list)
    for name in names:
        groups[how.group(settings[name]), max(1, batch_size // how.episodes(settings[name]))].append(name)
    return [
        Job({name: settings[name] for name in group[i : i + size]}, study.compute, how.compute, size, batch_size)
        for (_, size), group in groups.items()
        for i in range(0, len(group), size)
    ]


def compute_job(job: Job) -> JobResult:
    """Compute all settings: in one call on an accelerator, if they were sent for that, else one by one."""
    compute = job.compute_batch
    if compute is None or jax.default_backend() == "cpu":
        return _one_by_one(job.settings, job.compute, 0)

    def filled_up(settings: list[Setting]) -> Any:
        """The results of a call that is filled up to its size by copies of the last setting, without theirs."""
        return compute(settings + settings[-1:] * (job.size - len(settings)))[: len(settings)]

    try:
        pairs = zip(job.settings.items(), filled_up(list(job.settings.values())), strict=True)
        results = {name: checked_result(setting, result) for (name, setting), result in pairs}
        return JobResult(results, {}, versions(), device(), job.batch_size)
    except Exception:  # because of one of them; the others go on in calls of the same size
        return _one_by_one(job.settings, lambda setting: filled_up([setting])[0], job.batch_size)


def _one_by_one(settings: Mapping[str, Setting], compute: Callable[[Setting], Any], batch_size: int) -> JobResult:
    found = JobResult({}, {}, versions(), device(), batch_size)
    for name, setting in settings.items():
        try:
            found.results[name] = checked_result(setting, compute(setting))
        except Exception:
            found.failed[name] = traceback.format_exc()
    return found

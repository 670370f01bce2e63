"""Many settings on many cores, many machines or an accelerator: each result is kept as soon as it is there."""

from astonish.core.refusal import naming_extra

with naming_extra("studies need"):
    from astonish.sweep.run import StudyResult, local_cluster, run_study, scheduler, threads
    from astonish.sweep.study import Batching, Result, Setting, Study

__all__ = [
    "Batching", "Result", "Setting", "Study", "StudyResult", "local_cluster", "run_study", "scheduler", "threads",
]  # fmt: skip

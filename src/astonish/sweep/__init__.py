"""Many settings on many cores, many machines or an accelerator: one result each, kept as soon as it is there."""

from astonish.sweep.engines import local_cluster, scheduler, threads
from astonish.sweep.run import Sweep, run_sweep
from astonish.sweep.study import Result, Setting, Study, Together

__all__ = ["Result", "Setting", "Study", "Sweep", "Together", "local_cluster", "run_sweep", "scheduler", "threads"]

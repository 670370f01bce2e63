"""What does `astonish sweep` do and say?"""

from collections.abc import Mapping
from concurrent.futures import Executor
from contextlib import AbstractContextManager
from pathlib import Path

from astonish.commands import leave
from astonish.commands.words import guarded, progress, refuse, say
from astonish.studies import read_study
from astonish.sweep import Sweep, local_cluster, run_sweep, scheduler
from astonish.sweep.run import short

_SHOWN = 10  # failures that are told one by one


def sweep(
    file: Path, out: Path | None, address: str | None, workers: int | None, at_once: int | None, anew: bool
) -> int:
    """Carry out the study of a file, or go on with it; the answer is the exit code."""
    folder = Path(file.stem) if out is None else out
    with guarded(folder) as answer:
        if address is not None and workers is not None:
            raise ValueError("--scheduler and --local-cluster are two engines; give one")
        study = read_study(file)
        with progress(file.stem) as told:
            engine = _engine(address, workers)
            found = run_sweep(study, folder, engine, at_once=at_once, anew=anew, told=told, say=say)
        answer.code = _failures(found.failed, folder) if found.failed else _summary(found, folder)
    return answer.code


def _engine(address: str | None, workers: int | None) -> AbstractContextManager[Executor] | None:
    if address is not None:
        return scheduler(address, say)
    return None if workers is None else local_cluster(workers)


def _failures(failed: Mapping[str, str], folder: Path) -> int:
    for name, why in list(failed.items())[:_SHOWN]:
        say(f"{name}: {short(why)}")
    more = f", of which {_SHOWN} are shown" if len(failed) > _SHOWN else ""
    count = f"{len(failed)} setting{'' if len(failed) == 1 else 's'} failed"
    return refuse(f"{count}{more}; {folder / 'failed'} says why, and the same command tries again", 1)


def _summary(found: Sweep, folder: Path) -> int:
    table = found.table()
    leave.table(table, folder / "summary.csv")
    if found.study.draw is not None:
        import matplotlib as mpl

        mpl.use("Agg")
        leave.drawing(found.study.draw(table), folder / "summary")
    print(f"{len(found.results)} settings: {folder / 'summary.csv'}")
    return 0

"""`astonish sweep`: many settings on all cores, an accelerator or a cluster."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Exit, Option

from astonish.cli.console import guarded, progress, refuse, say
from astonish.people.analysis.report import write_table

_SHOWN = 10  # failures that are listed one by one


def sweep(
    study: Annotated[Path, Argument(help="What to compute: a .toml file, or a .py file with a study in it.")],
    out: Annotated[Path | None, Option(help="Folder for results; else the name of the study.")] = None,
    address: Annotated[
        str | None, Option("--scheduler", help="Of a running Dask cluster, such as tcp://10.0.0.1:8786.")
    ] = None,
    workers: Annotated[int | None, Option("--local-cluster", min=1, help="How many processes; else threads.")] = None,
    batch_size: Annotated[
        int | None, Option(min=1, help="Episodes in one call on an accelerator; else what fills it.")
    ] = None,
    recompute: Annotated[bool, Option("--recompute", help="Replace results of other settings or other code.")] = False,
) -> None:
    """Compute many settings on all cores, an accelerator or a cluster; each result is kept as soon as it is there.

    The same command continues where it stopped, and tries again what failed.
    """
    folder = Path(study.stem) if out is None else out
    with guarded(folder, "sweeps need"):
        from astonish.sweep import local_cluster, run_study, scheduler
        from astonish.sweep.kinds import read_study

        if address is not None and workers is not None:
            raise ValueError("--scheduler and --local-cluster are two ways to compute; give one")
        described = read_study(study)
        executor: Any = None if workers is None else local_cluster(workers)
        if address is not None:
            executor = scheduler(address, say)
        with progress(study.stem) as report:
            how: Any = {"batch_size": batch_size, "recompute": recompute, "progress": report, "say": say}
            found = run_study(described, folder, executor, **how)
        if found.failed:
            raise _failures(found.failed, folder)
        table = found.table()
        write_table(table, folder / "summary.csv")
        if described.draw is not None:
            import matplotlib as mpl

            from astonish.report.style import save_figure

            mpl.use("Agg")
            save_figure(described.draw(table), folder / "summary")
        print(f"{len(found.results)} settings: {folder / 'summary.csv'}")


def _failures(failed: Mapping[str, str], folder: Path) -> Exit:
    from astonish.sweep.run import short

    for name, why in list(failed.items())[:_SHOWN]:
        say(f"{name}: {short(why)}")
    more = f", of which {_SHOWN} are shown" if len(failed) > _SHOWN else ""
    count = f"{len(failed)} setting{'' if len(failed) == 1 else 's'} failed"
    return refuse(f"{count}{more}; {folder / 'failed'} says why, and the same command tries again", 1)

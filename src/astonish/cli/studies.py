"""`astonish reproduce` and `astonish sweep`: the paper's figures with their claims, and many settings on all cores."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from astonish.cli.app import guarded, progress, refuse, say

if TYPE_CHECKING:
    from astonish.paper.figure import Figure, FigureResult, RunSettings

_SHOWN = 10  # failures that are listed one by one


def reproduce(
    figure: Annotated[
        list[str] | None,
        Argument(
            help="Which figures: 1 to 8, ceiling, sweeps, readings, em, cost, drift, links, choices; when none is "
            "named, all but the last, which takes long."
        ),
    ] = None,
    out: Annotated[Path, Option(help="Folder for pictures, numbers and the report.")] = Path("figures"),
    seed: Annotated[int, Option(min=0, max=2**32 - 1, help="Random seed; the same seed gives the same files.")] = 1,
    quick: Annotated[bool, Option("--quick", help="Small versions, to see that it works.")] = False,
    thorough: Annotated[
        bool, Option("--thorough", help="Five seeds, from this one on, and 100 walks instead of 20 where that matters.")
    ] = False,
) -> None:
    """Compute the paper's figures, and check what it claims.

    Results are kept: after an interruption the same command continues where it stopped.
    """
    with guarded(out, "figures need"):
        if quick and thorough:
            raise ValueError("a run is either quick or thorough; leave out --quick or --thorough")
        from astonish.paper.figure import RunSettings, chosen

        results = make_figures(chosen(figure or [], thorough), RunSettings(seed, quick, thorough), out)
        print_verdicts(results, quick, out)


def make_figures(
    figures: "list[Figure]", settings: "RunSettings", out: Path, command: str = ""
) -> "list[FigureResult]":
    """Compute and draw the figures with a progress bar; see `astonish.paper.figure`."""
    import matplotlib as mpl

    from astonish.paper.figure import reproduce as make

    mpl.use("Agg")
    mpl.rcdefaults()  # the same files for everybody, whatever they prefer in matplotlib otherwise
    with progress("reproducing") as report:
        return make(figures, settings, out, report, say, command)


def print_verdicts(results: "list[FigureResult]", quick: bool, out: Path) -> None:
    """Print the verdicts in short, and where to read more."""
    from rich.console import Console

    from astonish.paper.figure import FAILS, HOLDS, QUICK, count

    console = Console(markup=False, highlight=False, soft_wrap=True)
    claims = [claim for result in results for claim in result.claims]
    console.print(count(claims), style="bold")
    for claim in claims:
        if claim.verdict != HOLDS and not claim.ours:
            console.print(f"- {claim.verdict}", style="red" if claim.verdict == FAILS else "yellow", end="")
            console.print(f": {claim.says} ({claim.where})")
    if quick:
        console.print(QUICK, style="yellow")
    console.print(f"Report: {out / 'report.html'}")


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
        from astonish.people.analysis.report import write_table
        from astonish.sweep import local_cluster, run_study, scheduler
        from astonish.sweep.kinds import read_study
        from astonish.sweep.run import short

        if address is not None and workers is not None:
            raise ValueError("--scheduler and --local-cluster are two ways to compute; give one")
        described = read_study(study)
        executor: Any = None if workers is None else local_cluster(workers)
        if address is not None:
            executor = scheduler(address, say)
        with progress(study.stem) as report:
            result = run_study(
                described, folder, executor, batch_size=batch_size, recompute=recompute, progress=report, say=say
            )
        if result.failed:
            for name, why in list(result.failed.items())[:_SHOWN]:
                say(f"{name}: {short(why)}")
            more = f", of which {_SHOWN} are shown" if len(result.failed) > _SHOWN else ""
            count = f"{len(result.failed)} setting{'' if len(result.failed) == 1 else 's'} failed"
            raise refuse(f"{count}{more}; {folder / 'failed'} says why, and the same command tries again", 1)
        table = result.table()
        write_table(table, folder / "summary.csv")
        if described.draw is not None:
            import matplotlib as mpl

            from astonish.report.style import save_figure

            mpl.use("Agg")
            save_figure(described.draw(table), folder / "summary")
        print(f"{len(result.results)} settings: {folder / 'summary.csv'}")

"""`astonish reproduce` and `astonish sweep`: the paper's figures with their claims, and many settings on all cores."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from pydantic import Field

from astonish.cli.app import guarded, progress, refuse, say, takes_request
from astonish.io.files import read_toml
from astonish.io.request import FILE, AtLeastOne, Request, Words, asked

if TYPE_CHECKING:
    from astonish.paper.figure import Figure, FigureResult, RunSettings

_SHOWN = 10  # failures that are listed one by one


class ReproduceRequest(Request):
    """What can be asked about the paper's figures."""

    command: ClassVar[str] = "reproduce"
    figure: Words = asked(
        "Which figures: 1 to 8, ceiling, sweeps, readings, em, cost, drift, links, choices; when none is named, all "
        "but the last, which takes long. Or a request, .toml.",
        (),
        argument=True,
    )
    out: Path = asked("Folder for pictures, numbers and the report.", Path("figures"))
    seed: Annotated[int, Field(ge=0, le=2**32 - 1)] = asked("Random seed; the same seed gives the same files.", 1)
    quick: bool = asked("Small versions, to see that it works.", False)
    thorough: bool = asked("Five seeds, from this one on, and 100 walks instead of 20 where that matters.", False)


@takes_request
def reproduce(request: ReproduceRequest) -> None:
    """Compute the paper's figures, and check what it claims.

    Results are kept: after an interruption the same command continues where it stopped.
    """
    with guarded(request.out, "figures need"):
        if request.quick and request.thorough:
            raise ValueError("a run is either quick or thorough; leave out --quick or --thorough")
        from astonish.paper.figure import RunSettings, chosen

        settings = RunSettings(request.seed, request.quick, request.thorough)
        results = make_figures(chosen(request.figure, request.thorough), settings, request.out)
        request.write(request.out / FILE)
        print_verdicts(results, request.quick, request.out)


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


class SweepRequest(Request):
    """What can be asked about a study."""

    command: ClassVar[str] = "sweep"
    study: Path = asked(
        "What to compute: a .toml file, or a .py file with a study in it; or a request, .toml.", argument=True
    )
    out: Path | None = asked("Folder for results; else the name of the study.", None)
    scheduler: str | None = asked("Of a running Dask cluster, such as tcp://10.0.0.1:8786.", None)
    local_cluster: AtLeastOne | None = asked("How many processes; else threads.", None)
    batch_size: AtLeastOne | None = asked("Episodes in one call on an accelerator; else what fills it.", None)
    recompute: bool = asked("Replace results of other settings or other code.", False)

    @classmethod
    def is_in(cls, file: Path) -> bool:
        """Whether it is a request, as `write` makes it, rather than a study."""
        return super().is_in(file) and "command" in read_toml(file)


@takes_request
def sweep(request: SweepRequest) -> None:
    """Compute many settings on all cores, an accelerator or a cluster; each result is kept as soon as it is there.

    The same command continues where it stopped, and tries again what failed.
    """
    study, folder = request.study, request.out or Path(request.study.stem)
    with guarded(folder, "sweeps need"):
        from astonish.people.analysis.report import write_table
        from astonish.sweep import local_cluster, run_study, scheduler
        from astonish.sweep.kinds import read_study
        from astonish.sweep.run import short

        if request.scheduler is not None and request.local_cluster is not None:
            raise ValueError("--scheduler and --local-cluster are two ways to compute; give one")
        described = read_study(study)
        executor: Any = None if request.local_cluster is None else local_cluster(request.local_cluster)
        if request.scheduler is not None:
            executor = scheduler(request.scheduler, say)
        batch_size, recompute = request.batch_size, request.recompute
        with progress(study.stem) as report:
            result = run_study(
                described, folder, executor, batch_size=batch_size, recompute=recompute, progress=report, say=say
            )
        request.write(folder / FILE)
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

"""`astonish reproduce`: compute the paper's figures, and check what it claims."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from astonish.cli.console import guarded, progress, say

if TYPE_CHECKING:
    from astonish.paper.figure import Figure, FigureResult, RunSettings


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
    """The verdicts in short, and where to read more."""
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

"""What does `astonish reproduce` say while it works, when it is done, and when something is in its way?"""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib as mpl
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from astonish.commands.words import obstacle, refuse, say
from astonish.paper import figures, liakoni2021
from astonish.paper.claims import FAILS, HOLDS
from astonish.paper.figure import Figure
from astonish.paper.report import QUICK, Result, count
from astonish.paper.reproduce import reproduce as make
from astonish.paper.study import Study

SEEDS = range(2**32)


class Ears(NamedTuple):
    """Who is told that a figure begins, and that a table is finished."""

    figure: Callable[[Figure], Any]
    table: Callable[[str], Any]


def reproduce(names: Sequence[str], out: Path, seed: int, quick: bool, data: Path | None = None) -> int:
    """Make the figures of these names, all when there are none; the answer is the exit code.

    data: the folder of published numbers that `liakoni2021` is compared with.
    """
    try:
        chosen = figures.chosen(names, data)
        _check(seed)
    except ValueError as problem:
        return refuse(str(problem), 2)
    mpl.use("Agg")
    mpl.rcdefaults()  # the same files for everybody, whatever they prefer in matplotlib otherwise
    study = Study(seed, quick, out / "numbers" / f"{'quick-' if quick else ''}seed-{seed}")
    try:
        if study.open():
            say(f"{study.folder} held numbers of another version; they are computed anew")
        with _watched(chosen) as ears:
            results = make(chosen, replace(study, told=ears.table), out, ears.figure)
        for comparison in (figure for figure in chosen if figure.name == liakoni2021.NAME):
            print(liakoni2021.told(comparison.compute(study)), end="\n\n")
    except KeyboardInterrupt:
        return refuse(f"stopped; run the same command again to go on from {_finished(chosen, study)}", 130)
    except OSError as problem:
        return refuse(obstacle(problem, out, f", which goes on from {_finished(chosen, study)}"), 1)
    _sum_up(results, study, out)
    return 0


def _check(seed: int) -> None:
    if seed not in SEEDS:
        raise ValueError(f"seed = {seed} is not allowed; give a whole number from 0 to {SEEDS[-1]}")


@contextmanager
def _watched(chosen: Sequence[Figure]) -> Iterator[Ears]:
    """A bar over all tables on a terminal, elsewhere a line per figure."""
    if not sys.stderr.isatty():
        yield Ears(lambda figure: say(f"{figure.label}: {figure.title}"), lambda _: None)
        return
    columns = TextColumn("{task.description}"), BarColumn(), TextColumn("{task.completed} of {task.total} tables")
    with Progress(*columns, TimeElapsedColumn(), console=Console(stderr=True)) as bar:
        task = bar.add_task("", total=sum(len(figure.tables) for figure in chosen))
        yield Ears(lambda figure: bar.update(task, description=figure.label), lambda _: bar.advance(task))


def _sum_up(results: Sequence[Result], study: Study, out: Path) -> None:
    """The verdicts in short, and where to read more."""
    console = Console(markup=False, highlight=False, soft_wrap=True)
    claims = [claim for result in results for claim in result.claims]
    console.print(count(claims), style="bold")
    for claim in claims:
        if claim.verdict != HOLDS:
            console.print(f"- {claim.verdict}", style="red" if claim.verdict == FAILS else "yellow", end="")
            console.print(f": {claim.says} ({claim.where})")
    if study.quick:
        console.print(QUICK, style="yellow")
    console.print(f"Report: {out / 'report.html'}")


def _finished(chosen: Sequence[Figure], study: Study) -> str:
    """How many tables need not be computed again."""
    tables = {table for figure in chosen for table in figure.tables}
    number = sum(study.has(table) for table in tables)
    return f"{number} finished table{'' if number == 1 else 's'}"

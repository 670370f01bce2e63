"""`python -m validation.liakoni2021`: compare our learners' errors with those that were published."""

import shlex
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from astonish.cli.app import guarded
from astonish.cli.studies import make_figures, print_verdicts
from astonish.paper.figure import Figure, RunSettings, numbers_folder
from validation.liakoni2021 import comparison, drawing, numbers, published

TITLE = "Published errors of eight learners"
CAPTION = (
    "Mean squared errors of eight learners that follow a mean drawn anew from N(0, 1) before each sample with a "
    "probability, the hazard, of 0.005 to 0.1, from samples with noise of standard deviation 0.1 to 5: those published "
    "by Liakoni et al. (2021) and ours, each over ten series of 100000 steps, at the parameters that they found best. "
    "A: one against the other, ours on series of our own. B: difference over its standard error, by learner and "
    "hazard; within the grey band, three standard errors to either side, it is put down to chance. Red strokes: our "
    "errors on the very series that the authors drew. Their series for all values of noise and hazard share their "
    "seeds, and all learners see the same series, so that the dots are not independent of each other."
)

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


def figure_with(folder: Path) -> Figure:
    """The comparison with the errors in a folder; a ValueError says what is needed if they are not there."""
    theirs = published.read(folder)
    study, tables = partial(numbers.study_of, theirs), partial(numbers.tables_in, theirs)
    return Figure("liakoni2021", TITLE, CAPTION, study, drawing.draw, comparison.claims, tables)


@app.command()
def main(
    data: Annotated[
        Path | None, typer.Option(help="Folder of published errors and parameters.", show_default=False)
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for the picture, numbers and the report.")] = Path("figures"),
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Seed of all random numbers.")] = 1,
    quick: Annotated[bool, typer.Option("--quick", help="A small version, to see that it works.")] = False,
) -> None:
    """Compare our learners' errors with those that Liakoni et al. (2021) published.

    Results are kept: after an interruption the same command continues where it stopped.
    """
    with guarded(out, "figures need"):
        if data is None:
            raise ValueError(published.NEEDED)
        figure, settings = figure_with(data), RunSettings(seed, quick)
        command = f"python -m validation.liakoni2021 --data {shlex.quote(str(data))}"
        results = make_figures([figure], settings, out, command)
        print(comparison.as_text(figure.compute(settings, numbers_folder(out, settings))), end="\n\n")
        print_verdicts(results, quick, out)


if __name__ == "__main__":
    app()

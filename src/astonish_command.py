"""Which words does the command `astonish` understand?

This file stands beside the package, not in it, so that help comes at once: importing astonish imports JAX, which takes
most of a second.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

try:
    import rich  # noqa: F401 - used behind the command; said here if it is missing
    import typer
except ModuleNotFoundError as missing:
    sys.exit(f"astonish: the command needs {missing.name}, which is not installed; pip install 'astonish[cli]'")

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)


@app.callback()
def astonish() -> None:
    """Surprise-driven learning: how surprising is each trial, and the paper by Faraji, Preuschoff & Gerstner (2018)."""


@app.command()
def reproduce(
    figure: Annotated[
        list[str] | None,
        typer.Argument(
            help="Which figures: 1 to 8, ceiling, sweeps; all of these when none is named. "
            "Or liakoni2021, a comparison with published errors.",
            show_default=False,
        ),
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for pictures, numbers and the report.")] = Path("figures"),
    seed: Annotated[int, typer.Option(help="Seed of all chance; the same seed gives the same files.")] = 1,
    quick: Annotated[bool, typer.Option("--quick", help="Small versions, to see that it works.")] = False,
    data: Annotated[
        Path | None, typer.Option(help="Folder with the published numbers, for liakoni2021.", show_default=False)
    ] = None,
) -> None:
    """Compute the paper's figures, and check what it claims.

    Numbers are kept table by table: after an interruption the same command goes on where it stopped.
    """
    with _imports("figures need"):
        from astonish.commands.reproduce import reproduce as command
    raise typer.Exit(command(figure or [], out, seed, quick, data))


@app.command()
def surprise(
    file: Annotated[Path, typer.Argument(help="Table with a row for each trial: .csv, .tsv (also .gz) or .parquet.")],
    outcome: Annotated[
        list[str], typer.Option(help="Column of the outcome. Twice for transitions: where from, where to.")
    ],
    subject: Annotated[str | None, typer.Option(help="Column that names the participant.")] = None,
    block: Annotated[
        str | None, typer.Option(help="Column that numbers blocks, or has 1 on first trials; the belief starts anew.")
    ] = None,
    kind: Annotated[
        str | None, typer.Option(help="Of the outcome: continuous, binary, categorical or transitions; else guessed.")
    ] = None,
    label: Annotated[
        list[str] | None, typer.Option(help="An outcome that can occur, once for each; else those that do.")
    ] = None,
    learner: Annotated[
        str,
        typer.Option(
            help="smile, varsmile, bayes, leaky, message-passing, particle-filter; for numbers also delta, "
            "pearce-hall, kalman, nassar2010, nassar2012 (or reduced-bayes), nassar-gaussian2010, nassar-gaussian2012."
        ),
    ] = "smile",
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="A parameter, such as m=0.1, noise=25 or mean=0.")
    ] = None,
    given: Annotated[
        list[str] | None, typer.Option(help="A parameter that a column gives trial by trial, such as noise=sigma.")
    ] = None,
    measure: Annotated[
        list[str] | None,
        typer.Option(help="A measure of surprise, such as shannon or bayesian, or all; else the learner's own."),
    ] = None,
    hazard: Annotated[
        float | None, typer.Option(help="Chance of a change before each trial, for measures that reckon with it.")
    ] = None,
    prefix: Annotated[str, typer.Option(help="Goes before the names of new columns.")] = "",
    out: Annotated[
        Path | None,
        typer.Option(help="File to write, .csv, .tsv or .parquet; a folder with --bids. Else regressors.csv, or bids."),
    ] = None,
    bids: Annotated[bool, typer.Option("--bids", help="Write events files in a BIDS folder.")] = False,
    onset: Annotated[str, typer.Option(help="For BIDS: column of onsets in seconds.")] = "onset",
    duration: Annotated[str, typer.Option(help="For BIDS: column of durations, or seconds for all.")] = "duration",
    task: Annotated[str, typer.Option(help="For BIDS: what the task is called.")] = "task",
) -> None:
    """How surprising was each trial? Adds columns of surprise, learning rate, estimates and more to a table.

    astonish surprise trials.csv --outcome x --subject id --block run --learner varsmile --measure all
    """
    with _imports("tables need"):
        from astonish.commands.surprise import surprise as command
    code = command(
        file,
        outcome=outcome,
        subject=subject,
        block=block,
        kind=kind,
        label=label or [],
        learner=learner,
        settings=settings or [],
        given=given or [],
        measure=measure or [],
        hazard=hazard,
        prefix=prefix,
        out=out,
        bids=bids,
        onset=onset,
        duration=duration,
        task=task,
    )
    raise typer.Exit(code)


@contextmanager
def _imports(what: str) -> Iterator[None]:
    """Imports of the library, which may be cut short, or miss a package that is not of the library itself."""
    try:
        yield
    except KeyboardInterrupt:
        typer.echo("astonish: stopped", err=True)
        raise typer.Exit(130) from None
    except ModuleNotFoundError as missing:
        if (missing.name or "astonish").startswith("astonish"):
            raise
        sys.exit(f"astonish: {what} {missing.name}, which is not installed; pip install 'astonish[all]'")


def main() -> None:
    """Where the command begins."""
    app()

"""Which words does the command `astonish` understand?

This file stands beside the package, not in it, so that help comes at once: importing astonish imports JAX, which takes
most of a second.
"""

import sys
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
    """Surprise-driven learning: the paper by Faraji, Preuschoff & Gerstner (2018), made again."""


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
    try:
        from astonish.cli import reproduce as command
    except KeyboardInterrupt:
        typer.echo("astonish: stopped", err=True)
        raise typer.Exit(130) from None
    except ModuleNotFoundError as missing:
        if (missing.name or "astonish").startswith("astonish"):
            raise
        sys.exit(f"astonish: figures need {missing.name}, which is not installed; pip install 'astonish[all]'")
    raise typer.Exit(command(figure or [], out, seed, quick, data))


def main() -> None:
    """Where the command begins."""
    app()

"""The command `astonish`: its commands, and where it begins."""

import os
import sys
from typing import Annotated

from astonish import __version__
from astonish.core.refusal import NotInstalledError, check_installed

try:
    check_installed("the command needs", "pydantic", "rich", "typer")
except NotInstalledError as problem:
    sys.exit(f"astonish: {problem}")

import typer

from astonish.cli import cite, explore, learners, people, reproduce, sweep, watch

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"astonish {__version__}")
        raise typer.Exit


@app.callback()
def astonish(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version, and end.")
    ] = False,
) -> None:
    """Surprise-driven learning: how surprising is each trial, which learner is like people, and the paper behind it."""


for _command in (
    reproduce.reproduce, people.surprise, people.fit, people.compare, people.recover, sweep.sweep, watch.watch,
    explore.explore, learners.learners, cite.cite,
):  # fmt: skip
    app.command()(_command)


def main() -> None:
    """Where the command begins."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # else XLA tells of every loop that it refuses as one kernel
    app()

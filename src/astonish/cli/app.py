"""The command `astonish`: its commands, and where it begins."""

import os
import sys
import warnings
from typing import Annotated

from astonish import __version__
from astonish.refusal import NotInstalledError, check_installed

try:
    check_installed("the command needs", "typer", "rich")
except NotInstalledError as problem:
    sys.exit(f"astonish: {problem}")

import typer

from astonish.cli import benchmark, cite, compare, explore, fit, learners, recover, reproduce, surprise, sweep, watch

_OLD_OPTIONS = {  # they still work for one release
    "--response-time": "--responded",
    "--respond": "--response-model",
    "--also": "--free-response",
    "--anew": "--recompute",
    "--at-once": "--batch-size",
}

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
    reproduce.reproduce, surprise.surprise, fit.fit, compare.compare, recover.recover, sweep.sweep, watch.watch,
    explore.explore, learners.learners, cite.cite,
):  # fmt: skip
    app.command()(_command)
app.add_typer(benchmark.app, name="benchmark")


def main() -> None:
    """Where the command begins."""
    warnings.filterwarnings("default", ".*the old name goes with the next release", DeprecationWarning)
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # else XLA tells of every loop that it refuses as one kernel
    sys.argv[1:] = [_new_option(word) for word in sys.argv[1:]]
    app()


def _new_option(word: str) -> str:
    option, equals, value = word.partition("=")
    if option not in _OLD_OPTIONS:
        return word
    new = _OLD_OPTIONS[option]
    typer.echo(f"astonish: {option} is now {new}; the old name goes with the next release", err=True)
    return f"{new}{equals}{value}"

"""Where the command `astonish` begins, and what its commands share: options, sentences, progress and exit codes."""

import errno
import inspect
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_origin, get_type_hints

from astonish import __version__
from astonish.core.refusal import NotInstalledError, check_installed, naming_extra

try:
    check_installed("the command needs", "pydantic", "rich", "typer")
except NotInstalledError as problem:
    sys.exit(f"astonish: {problem}")

from typer import Argument, Exit, Option, Typer

from astonish.io.request import Asked, Request

if TYPE_CHECKING:
    from pandas import DataFrame

app = Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)


def main() -> None:
    """Run the command."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # else XLA tells of every loop that it refuses as one kernel
    app()


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"astonish {__version__}")
        raise Exit


@app.callback()
def astonish(
    version: Annotated[
        bool, Option("--version", callback=_print_version, is_eager=True, help="Print the version, and end.")
    ] = False,
) -> None:
    """Surprise-driven learning: how surprising is each trial, which learner is like people, and the paper behind it."""


# Sentences, progress and exit codes


def say(sentence: str) -> None:
    """Write a line about what is going on; results are printed to the standard output instead."""
    print(sentence, file=sys.stderr)


def refuse(sentence: str, code: int) -> Exit:
    """Say what is wrong, and end with this exit code."""
    say(f"astonish: {sentence}")
    return Exit(code)


@contextmanager
def guarded(
    out: Path | None = None,
    needs: str = "this command needs",
    thing: str = "folder",
    stopped: str = "the same command continues from what is finished",
) -> Iterator[None]:
    """Turn errors into a sentence and an exit code.

    Args:
        out: What the command writes.
        needs: What needs a package that is missing.
        thing: What `out` is.
        stopped: What happens after an interruption.

    """
    try:
        with naming_extra(needs):
            yield
    except ValueError as problem:
        raise refuse(str(problem), 2) from None
    except KeyboardInterrupt:
        raise refuse(f"stopped; {stopped}", 130) from None
    except NotInstalledError as missing:
        raise refuse(str(missing), 1) from None
    except BrokenPipeError:  # nobody reads any more
        raise
    except OSError as problem:
        raise refuse(_obstacle(problem, out or Path(), thing), 1) from None


def _obstacle(problem: OSError, out: Path, thing: str) -> str:
    """Say what is in the way of writing `out`, and what would work."""
    path = Path(problem.filename2 or problem.filename or out)
    if problem.errno is None:  # a sentence of our own
        return str(problem)
    if problem.errno in (errno.ENOSPC, errno.EDQUOT):
        advice = f"free some and run the same command again, or give a {thing} on another disk with --out"
        return f"no space is left for {out}; {advice}"
    if problem.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return f"{out} may not be written; give a {thing} of your own with --out"
    if problem.errno in (errno.EEXIST, errno.ENOTDIR):
        file = next((place for place in (path, *path.parents) if place.is_file()), path)
        return f"{file} is a file where a folder is needed; give another {thing} with --out"
    return f"{path} could not be written ({problem.strerror}); give another {thing} with --out"


@contextmanager
def progress(on: str, counted: bool = True) -> Iterator[Callable[[float], None]]:
    """Show a progress bar on a terminal, elsewhere nothing; to be called with the share that is done.

    counted: whether that share is known; if not, the bar only shows that something is done, and goes when it is over.
    """
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

    shares = [TaskProgressColumn()] if counted else []
    columns = TextColumn("{task.description}"), BarColumn(), *shares, TimeElapsedColumn()
    with Progress(*columns, console=Console(stderr=True), transient=not counted) as bar:
        task = bar.add_task(on, total=1.0 if counted else None)
        yield lambda share: bar.update(task, completed=share)
        bar.update(task, completed=1.0)


class Terminal:
    """Where an analysis that somebody asked for at a terminal says what it does (see `analysis.report.Console`)."""

    say, progress = staticmethod(say), staticmethod(progress)
    show = staticmethod(partial(print, flush=True))
    fitted = None  # there may be hundreds of participants, and all are in the tables

    @staticmethod
    def saved(report: Path) -> None:
        """Print where the report is on the standard output."""
        print(f"Report: {report}", flush=True)

    @staticmethod
    def table(name: str, frame: "DataFrame") -> None:
        """Print a table on the standard output, with its name above it and short numbers."""
        lines = frame.to_string(index=False, float_format="{:.4g}".format, na_rep="-")
        print(f"{name}\n{lines}\n", flush=True)


# Options


def takes_request(command: Callable[[Any], None]) -> Callable[..., None]:
    """Make a command that takes each field of a request from a command of one request.

    Typer reads the options of a command from its signature, so the signature has the fields in place of the class. All
    defaults there are None: what is not said is left to the request, or to the file that it is read from.
    """
    kind: type[Request] = next(iter(get_type_hints(command).values()))
    parameters = {field.name: _parameter(field) for field in kind.asked()}
    argument = next((field.name for field in kind.asked() if field.is_argument), "request")
    if argument not in parameters:
        about = Annotated[Path | None, Argument(help="A request, .toml; options override what it says.")]
        keyword_only = inspect.Parameter.KEYWORD_ONLY
        parameters = {argument: inspect.Parameter(argument, keyword_only, default=None, annotation=about), **parameters}

    @wraps(command)
    def run(**words: Any) -> None:
        said = {word: value for word, value in words.items() if value not in (None, [])}
        match said.get(argument):
            case (Path() | str() as only,) | (Path() as only):
                file = Path(only)
            case _:
                file = Path()
        with guarded():
            if kind.is_in(file):
                del said[argument]
                request = kind.read(file, **said)
            else:
                request = kind(**said)
        command(request)

    run.__signature__ = inspect.Signature(list(parameters.values()))  # type: ignore[attr-defined]
    run.__annotations__ = {name: parameter.annotation for name, parameter in parameters.items()}
    return run


def _parameter(field: Asked) -> inspect.Parameter:
    """Describe a field to Typer as a parameter of the command."""
    kind: Any = str if get_origin(field.kind) is dict else field.kind
    parameter = partial(inspect.Parameter, field.name, inspect.Parameter.KEYWORD_ONLY)
    hint: Any = list[kind] if field.several else kind
    if field.is_argument:
        hint = hint if field.default is None else hint | None
        default = inspect.Parameter.empty if field.default is None else None
        return parameter(default=default, annotation=Annotated[hint, Argument(help=field.help)])
    flags = f"{field.flag}/--no-{field.flag[2:]}" if kind is bool else field.flag
    in_help: str | bool = ", ".join(field.default) if field.several and field.default else str(field.default)
    if field.default in (None, (), "", False) or isinstance(field.default, dict):
        in_help = False
    elif field.default is True:
        in_help = field.flag.removeprefix("--")
    ends = "LOW HIGH" if get_origin(kind) is tuple else None
    about = Option(flags, help=field.help, rich_help_panel=field.heading, metavar=ends, show_default=in_help)
    return parameter(default=None, annotation=Annotated[hint | None, about])

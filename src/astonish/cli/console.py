"""How does every command report progress, and what is in its way?"""

import errno
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from typer import Exit

from astonish.core.refusal import NotInstalledError, naming_extra

if TYPE_CHECKING:
    from pandas import DataFrame


def say(sentence: str) -> None:
    """A line about what is going on; results are printed to the standard output instead."""
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
    """Errors become a sentence and an exit code.

    out: what the command writes, a `thing`. needs: what needs a package that is missing. stopped: what happens after an
    interruption.
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
        raise refuse(obstacle(problem, out or Path(), thing), 1) from None


def obstacle(problem: OSError, out: Path, thing: str = "folder") -> str:
    """What is in the way of writing `out`, and what would work."""
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
    """A progress bar on a terminal, elsewhere nothing; to be called with the share that is done.

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
    fitted = None  # there may be hundreds of participants, and all are in the tables

    @staticmethod
    def show(text: str) -> None:
        """A result, on the standard output."""
        print(text, flush=True)

    @staticmethod
    def saved(report: Path) -> None:
        """Where the report is, on the standard output."""
        print(f"Report: {report}", flush=True)

    @staticmethod
    def table(name: str, frame: "DataFrame") -> None:
        """A table, on the standard output, with its name above it."""
        from astonish.people.analysis.report import in_lines

        print(f"{name}\n{in_lines(frame)}\n", flush=True)

"""In which words does every command say what it does, and what is in its way?"""

import errno
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskProgressColumn, TextColumn, TimeElapsedColumn


def say(sentence: str) -> None:
    """A line for whoever watches; what others may want to read on is printed instead."""
    print(sentence, file=sys.stderr)


def refuse(sentence: str, code: int) -> int:
    """Say what is wrong; the answer is the exit code."""
    say(f"astonish: {sentence}")
    return code


def obstacle(problem: OSError, out: Path, again: str = "", thing: str = "folder") -> str:
    """What is in the way of writing `out`, and what would work.

    again: what the same command would do if it were run again. thing: what `out` is.
    """
    path = Path(problem.filename2 or problem.filename or out)
    if problem.errno is None:  # a sentence of our own
        return str(problem)
    if problem.errno in (errno.ENOSPC, errno.EDQUOT):
        return (
            f"no space is left for {out}; free some and run the same command again{again}, "
            f"or give a {thing} on another disk with --out"
        )
    if problem.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return f"{out} may not be written; give a {thing} of your own with --out"
    if problem.errno in (errno.EEXIST, errno.ENOTDIR):
        file = next((place for place in (path, *path.parents) if place.is_file()), path)
        return f"{file} is a file where a folder is needed; give another {thing} with --out"
    return f"{path} could not be written ({problem.strerror}); give another {thing} with --out"


class Answer:
    """The exit code of a command."""

    code = 0


@contextmanager
def guarded(out: Path, again: str = "the same command goes on from what is finished") -> Iterator[Answer]:
    """What is wrong, or in the way, becomes a sentence and an exit code. again: what to do after an interruption."""
    answer = Answer()
    try:
        yield answer
    except ValueError as problem:
        answer.code = refuse(str(problem), 2)
    except KeyboardInterrupt:
        answer.code = refuse(f"stopped; {again}", 130)
    except OSError as problem:
        answer.code = refuse(obstacle(problem, out), 1)


@contextmanager
def progress(on: str) -> Iterator[Callable[[float], None]]:
    """A bar on a terminal, elsewhere nothing; it hears which share is done."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    columns = TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn()
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(on, total=1.0)
        yield lambda share: bar.update(task, completed=share)
        bar.update(task, completed=1.0)


@contextmanager
def working(on: str) -> Iterator[None]:
    """A sign of life on a terminal while something takes its time, elsewhere nothing."""
    if not sys.stderr.isatty():
        yield
        return
    columns = SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        bar.add_task(on, total=None)
        yield

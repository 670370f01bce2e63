"""How is a file written so that it is there completely or not at all, and a folder by one program at a time?"""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import get_ident
from typing import BinaryIO


@contextmanager
def whole(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A file to write into, and the folders above it; it takes its name once all is written, or leaves nothing."""
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    unfinished = target.with_name(f".{target.name}.{os.getpid()}.{get_ident()}")
    try:
        with unfinished.open("wb") as file:
            yield file
        unfinished.replace(target)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise


@contextmanager
def alone(folder: Path) -> Iterator[bool]:
    """Whether this is the only program that is at work in a folder, which others then find taken.

    That ends with the program, however it ends. Where there can be no such lock (Windows, some shared disks, a folder
    that may only be read), everyone is told yes.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        yield _locked(folder / ".lock", stack)


def _locked(path: Path, stack: ExitStack) -> bool:
    try:
        import fcntl

        fcntl.flock(stack.enter_context(path.open("w")), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except (ImportError, OSError):
        return True
    return True

"""How is a file written completely or not at all, and a folder used by one program at a time?"""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import get_ident
from typing import BinaryIO


@contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A file to write into; it gets its name, and the folders above it, only once everything is written."""
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


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write text as UTF-8, completely or not at all."""
    with atomic_write(path) as file:
        file.write(text.encode())


@contextmanager
def locked(folder: Path) -> Iterator[bool]:
    """Lock a folder until the program ends, however it ends; False if another program holds the lock.

    Where there can be no such lock (Windows, some shared disks, a folder that may only be read), it is always True.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        free = True
        try:
            import fcntl

            fcntl.flock(stack.enter_context((folder / ".lock").open("w")), fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            free = False
        except (ImportError, OSError):
            pass
        yield free

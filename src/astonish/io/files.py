"""How is a file written completely or not at all, and checked, and a folder used by one program at a time?"""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from threading import get_ident
from typing import BinaryIO


@contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A file to write into; it gets its name only once everything is written, and is on the disk."""
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    unfinished = target.with_name(f".{target.name}.{os.getpid()}.{get_ident()}")
    try:
        with unfinished.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())  # else its name could survive a failure of power that its bytes do not
        unfinished.replace(target)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise
    with suppress(OSError):  # some systems do not sync folders
        folder = os.open(target.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write text as UTF-8, completely or not at all."""
    with atomic_write(path) as file:
        file.write(text.encode())


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Lock a folder until the program ends, however it ends; refused if another program holds the lock.

    Where there can be no such lock (Windows, some shared disks, a folder that may only be read), nothing is refused.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        try:
            import fcntl

            fcntl.flock(stack.enter_context((folder / ".lock").open("w")), fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            advice = "wait for its end, or give another folder"
            raise ValueError(f"{folder} is in use by another program; {advice}") from None
        except (ImportError, OSError):
            pass
        yield

"""How is a file written so that it is there completely or not at all?"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
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

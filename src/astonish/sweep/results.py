"""How is one result kept in a file? As an archive that says what it is the result of."""

from pathlib import Path
from typing import NamedTuple

from astonish.archive import DamagedError, read, write
from astonish.files import whole
from astonish.sweep.made import Made
from astonish.sweep.study import Result, Setting


class Kept(NamedTuple):
    """A result, the setting that it is the result of, and by which code, and on what, it was computed.

    at_once: with how many episodes in one call on an accelerator; 0 elsewhere.
    """

    name: str
    setting: Setting
    made: Made
    device: str
    at_once: int
    result: Result


def save(path: Path, kept: Kept) -> None:
    """Write a result; the file appears whole or not at all, and the same result gives the same bytes."""
    about = {**kept._asdict(), "setting": dict(kept.setting)}
    with whole(path) as file:
        write(file, "result", about.pop("result"), about)


def load(path: Path) -> Kept | None:
    """Read a result back; None if the file is damaged. One of a later version of the library is refused."""
    try:
        arrays, about = read(path, "result")
        return Kept(**about, result={name: array if array.ndim else array.item() for name, array in arrays.items()})
    except (DamagedError, TypeError):
        return None

"""Rooms that are tables: each line imports a class and says its names, and is read without running it.

So that help answers without waiting for JAX, the classes are imported when they are first used. A line reads

    from .two_rate import TwoRate as TwoRate  # two-rate, rw2

with the names by which commands know the class, the one that is printed first, or "-" if it needs more than numbers to
be made. Type checkers see the import. What has no names at all, such as the state of a learner, may be imported from
the room, but is not among what it exports.
"""

from collections.abc import Callable
from functools import cache
from importlib import import_module
from importlib.resources import files
from typing import Any, NamedTuple


class Exported(NamedTuple):
    """A line of a room's table: the module and the name of a class, and what commands call it."""

    module: str
    name: str
    names: tuple[str, ...]
    exported: bool


@cache
def rows(room: str) -> tuple[Exported, ...]:
    """Read the table of a room such as "astonish.learners".

    >>> next(row for row in rows("astonish.learners") if row.name == "TwoRate")
    Exported(module='astonish.learners.two_rate', name='TwoRate', names=('two-rate', 'rw2'), exported=True)
    """
    package, _, folder = room.partition(".")
    found = []
    for line in files(package).joinpath(folder, "__init__.py").read_text("utf-8").splitlines():
        if line.startswith("    from ."):
            written, _, names = line.partition("  # ")
            _, module, _, name, *_ = written.split()
            called = tuple(names.split(", ")) if names not in ("", "-") else ()
            found.append(Exported(room + module, name, called, bool(names)))
    return tuple(found)


def exports(room: str) -> tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]:
    """Give a room its `__all__`, `__getattr__` and `__dir__`."""
    modules = {row.name: row.module for row in rows(room)}

    def get(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {room!r} has no attribute {name!r}")
        return getattr(import_module(modules[name]), name)

    return [row.name for row in rows(room) if row.exported], get, lambda: sorted(modules)

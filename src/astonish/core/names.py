"""Names known without JAX, so that help answers at once: kinds of outcomes and responses, and tables of classes.

Rooms such as `astonish.learners` are tables: each line imports a class and says its names, and is read without running
it; the class is imported when it is first used. A line reads

    from .two_rate import TwoRate as TwoRate  # two-rate, rw2

with the names by which commands know the class, the one that is printed first, or "-" if it needs more than numbers to
be made. Type checkers see the import. What else a line imports, such as the state of a learner, can be imported from
the room, but is not among what it exports; nor is anything on a line without names.
"""

from collections.abc import Callable, Iterator
from enum import StrEnum
from functools import cache
from importlib import import_module
from importlib.resources import files
from typing import Any, Literal, NamedTuple


class OutcomeKind(StrEnum):
    """What happens on a trial: a number, 0 or 1, one of several labels, a step from one label to another, or an angle.

    Angles look like other numbers, so that they are never guessed.
    """

    CONTINUOUS = "continuous"
    BINARY = "binary"
    CATEGORICAL = "categorical"
    TRANSITIONS = "transitions"
    CIRCULAR = "circular"


class ResponseKind(StrEnum):
    """What a participant gives: a number, one of several labels, or an angle."""

    CONTINUOUS = "continuous"
    CHOICE = "choice"
    CIRCULAR = "circular"


Contexts = Literal["together", "apart"]  # does a sample change all contexts of transitions, or its own alone?
NUMBERS = (OutcomeKind.CONTINUOUS, OutcomeKind.BINARY)
MEASURED = (OutcomeKind.CONTINUOUS, OutcomeKind.CIRCULAR)  # kinds whose outcomes are no labels


class Exported(NamedTuple):
    """A line of a room's table: the module and the name of a class, and what commands call it."""

    module: str
    name: str
    names: tuple[str, ...]


@cache
def rows(room: str) -> tuple[Exported, ...]:
    """Read the table of a room such as "astonish.learners".

    >>> next(row for row in rows("astonish.learners") if row.name == "TwoRate")
    Exported(module='astonish.learners.two_rate', name='TwoRate', names=('two-rate', 'rw2'))
    """
    return tuple(
        Exported(module, classes[0], tuple(name for name in names if name != "-"))
        for module, classes, names in _lines(room)
        if names
    )


def exports(room: str) -> tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]:
    """Give a room its `__all__`, `__getattr__` and `__dir__`."""
    places = {name: module for module, classes, _ in _lines(room) for name in classes}

    def get(name: str) -> Any:
        if name not in places:
            raise AttributeError(f"module {room!r} has no attribute {name!r}")
        return getattr(import_module(places[name]), name)

    return [row.name for row in rows(room)], get, lambda: sorted(places)


def _lines(room: str) -> Iterator[tuple[str, list[str], list[str]]]:
    """The module, what is imported from it, and the names, of each line of a table."""
    package, _, folder = room.partition(".")
    for line in files(package).joinpath(folder, "__init__.py").read_text("utf-8").splitlines():
        if line.startswith("    from ."):
            code, _, names = line.partition("  # ")
            module, _, imported = code.removeprefix("    from ").partition(" import ")
            classes = [part.partition(" as ")[0] for part in imported.split(", ")]
            yield room + module, classes, names.split(", ") if names else []

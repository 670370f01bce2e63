"""How does an analysis say what it does, whoever asked for it: somebody at a terminal, or on the page?"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from pandas import DataFrame

    from astonish.people.fit import Fit


class Console(Protocol):
    """Where sentences, results and progress go.

    fitted: what to do with the few participants to whom a model, by its name, has just been fitted; None if nobody
    waits for them.
    """

    @property
    def fitted(self) -> "Callable[[str, Fit], None] | None":
        """See above."""

    def say(self, sentence: str) -> None:
        """A line about what is going on, or what was assumed."""

    def show(self, text: str) -> None:
        """A result."""

    def table(self, name: str, frame: "DataFrame") -> None:
        """A result that is a table."""

    def progress(self, doing: str, counted: bool = True) -> AbstractContextManager[Callable[[float], None]]:
        """A bar for something that takes long; to be called with the share that is done, if that is known (counted)."""

"""How does an analysis say what it does, whoever asked for it: somebody at a terminal, or on the page?"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Protocol


class Console(Protocol):
    """Where sentences, results and progress go."""

    def say(self, sentence: str) -> None:
        """A line about what is going on, or what was assumed."""

    def show(self, text: str) -> None:
        """A result."""

    def progress(self, doing: str, counted: bool = True) -> AbstractContextManager[Callable[[float], None]]:
        """A bar for something that takes long; to be called with the share that is done, if that is known (counted)."""

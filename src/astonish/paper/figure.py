"""What is a figure of the paper? Numbers that are computed and kept, a drawing of them, and claims they decide."""

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from astonish.paper.claims import Claim
from astonish.paper.study import Numbers, Study

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing


class Figure(NamedTuple):
    """One figure.

    name: as people type it. tables: the names of the tables that `compute` asks the study for, in order.
    caption: what it shows, in our words. draw: takes what `compute` returned, and nothing else; so does `claims`.
    option: what the command needs besides the name.
    """

    name: str
    title: str
    caption: str
    tables: tuple[str, ...]
    compute: Callable[[Study], Numbers]
    draw: Callable[[Numbers], "Drawing"]
    claims: Callable[[Numbers], list[Claim]]
    option: str = ""

    @property
    def stem(self) -> str:
        """The name of its files, without their ending."""
        return f"figure{self.name}" if self.name.isdecimal() else self.name

    @property
    def label(self) -> str:
        """Its name as a heading."""
        return f"Figure {self.name}" if self.name.isdecimal() else self.name.capitalize()

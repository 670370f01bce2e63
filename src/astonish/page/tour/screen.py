"""What is a screen of the tour? One idea of the paper, a picture of it, our verdict, and a control that breaks it."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, ClassVar, NamedTuple

import numpy as np

from astonish.page.controls import Json, Slider, Values, described, numbers, one_of, packed
from astonish.page.tour.verdicts import claim_that_begins, mark_of

Words = dict[str, str]
WALKS, STEPS = 10, 6000  # of every screen about the maze, so that they share what is compiled


class Options(NamedTuple):
    """One of several things to choose from. options: what each is called on the page."""

    label: str
    options: Mapping[str, str]
    default: str

    def described(self) -> Json:
        """For the page."""
        return {"label": self.label, "options": list(self.options.items()), "default": self.default}


class Shown(NamedTuple):
    """What a screen shows for some settings.

    found: a sentence with the numbers, which is also the text of the picture. verdict: whether the paper's claim holds
    at these settings, as `paper.claims.verdict` says it; empty where nothing is claimed yet. panels: of the picture.
    python: a script that computes the same. text: lines to be read above the picture.
    """

    found: str
    verdict: str
    panels: list[Json]
    python: Sequence[str]
    text: Sequence[str] = ()


class Screen(ABC):
    """One screen.

    name: in requests and addresses. idea: one or two sentences. claims: with which words our claims about the paper
    begin. breaking: settings at which the first claim does not hold, or where the numbers change it; hint: what they
    are, in words. steps: the control that moves on before the next screen comes, if there is one. columns: panels side
    by side where there is room.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    idea: ClassVar[str]
    claims: ClassVar[tuple[str, ...]]
    breaking: ClassVar[Mapping[str, Any]]
    hint: ClassVar[str]
    sliders: ClassVar[Mapping[str, Slider]] = {}
    choices: ClassVar[Mapping[str, Options]] = {}
    steps: ClassVar[str] = ""
    columns: ClassVar[int] = 1

    @abstractmethod
    def show(self, at: Values, chosen: Words) -> Shown:
        """What is shown if the sliders stand there, and this is chosen."""

    def described(self) -> Json:
        """For the page: the texts, the controls, and what is known about the claims."""
        texts = {"name": self.name, "title": self.title, "idea": self.idea, "hint": self.hint, "steps": self.steps}
        controls = {"sliders": described(self.sliders), "breaking": dict(self.breaking), "columns": self.columns}
        choices = {name: choice.described() for name, choice in self.choices.items()}
        return {**texts, **controls, "choices": choices, "claims": [claim_that_begins(words) for words in self.claims]}

    def answer(self, request: Any) -> Json:
        """What is shown for a request, every part of which is checked."""
        at, others = numbers(request, self.sliders, *self.choices)
        chosen = {
            name: one_of(name, others.get(name, choice.default), choice.options)
            for name, choice in self.choices.items()
        }
        found = self.show(at, chosen)
        return {**found._asdict(), "mark": mark_of(found.verdict), "python": "\n".join([*found.python, ""])}


def mark(kind: str, name: str = "", look: int | None = None, **parts: Any) -> Json:
    """Something to draw in a panel, as `static/plot.js` takes it; look: which of the colours. Arrays are packed."""
    values = {key: packed(value) if isinstance(value, np.ndarray) else value for key, value in parts.items()}
    return {"kind": kind, "name": name, **({} if look is None else {"look": look}), **values}


@cache
def walks() -> Any:
    """Walks through the paper's maze."""
    from astonish.paper.agents import MazeWalks
    from astonish.worlds.maze import A, B, maze, walk

    rooms = maze(A, B)
    return MazeWalks(walk(rooms, STEPS, [[1, k] for k in range(WALKS)]), np.stack([rooms.transitions] * WALKS))


def with_band(name: str, look: int, x: Any, ends: Any) -> list[Json]:
    """A line through means, and a band between the ends of their intervals; ends: rows of mean, low and high."""
    mean, low, high = np.asarray(ends, float).T
    band = mark("band", look=look, x=np.asarray(x, float), low=low, high=high, opacity=0.25)
    return [band, mark("line", name, look, x=np.asarray(x, float), y=mean, width=2.5)]

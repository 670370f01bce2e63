"""A screen of the tour: one idea of the paper, a picture of it, our verdict, and a control that breaks it."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from textwrap import dedent
from typing import Any, NamedTuple

import numpy as np

from astonish.page.controls import Json, Slider, Values, described, numbers, one_of, packed
from astonish.paper.figure import FAILS, HOLDS, IN_PART

Words = dict[str, str]
VERDICTS = Path(__file__).with_name("verdicts.json")
# the mark of a verdict, for those who do not see its colour, and how it is put of some settings
SIGNS = {HOLDS: ("✓", "holds"), IN_PART: ("◐", "holds in part"), FAILS: ("✗", "does not hold")}


class Options(NamedTuple):
    """One of several things to choose from. options: what each is called on the page."""

    label: str
    options: Mapping[str, str]
    default: str


class Shown(NamedTuple):
    """What a screen shows for some settings.

    sentence: what is found, with its numbers; also the text of the picture. verdict: whether the paper's claim holds at
    these settings, as `paper.figure.verdict` says it; empty where nothing is claimed yet. panels: of the picture.
    python: a script that computes the same, indented. text: lines to be read above the picture.
    """

    sentence: str
    verdict: str
    panels: list[Json]
    python: str
    text: Sequence[str] = ()


SCREENS: dict[str, "Screen"] = {}  # in the order of the tour


@dataclass
class Screen:
    """One screen, which decorates the function that shows it, and is then the next of the tour.

    The function is given the values of the sliders and what is chosen.

    Args:
        name: Its name in requests and addresses.
        title: Its heading.
        idea: One to four sentences.
        claims: Identifiers of our claims about the paper.
        hint: The settings that break the claim, in words.
        breaking: Those settings, at which the first claim does not hold, or where the numbers change it.
        sliders: Numbers to set, by name.
        choices: Things to choose, by name.
        steps: The control that moves on before the next screen comes, if there is one.
        columns: Panels side by side where there is room.
    """

    name: str
    title: str
    idea: str
    claims: tuple[str, ...]
    hint: str
    breaking: Mapping[str, Any]
    sliders: Mapping[str, Slider] = field(default_factory=dict)
    choices: Mapping[str, Options] = field(default_factory=dict)
    steps: str = ""
    columns: int = 1
    show: Callable[[Values, Words], Shown] = field(init=False)

    def __call__(self, show: Callable[[Values, Words], Shown]) -> None:
        self.show = show
        SCREENS[self.name] = self

    def described(self) -> Json:
        """Describe for the page the texts, the controls, and what is known about the claims."""
        texts = {"name": self.name, "title": self.title, "idea": self.idea, "hint": self.hint, "steps": self.steps}
        choices = {
            name: {"label": choice.label, "options": list(choice.options.items()), "default": choice.default}
            for name, choice in self.choices.items()
        }
        controls = {"sliders": described(self.sliders), "choices": choices, "breaking": dict(self.breaking)}
        return {**texts, **controls, "columns": self.columns, "claims": [all_claims()[claim] for claim in self.claims]}

    def answer(self, request: Any) -> Json:
        """Show what a request asks for, every part of which is checked."""
        at, others = numbers(request, self.sliders, *self.choices)
        choices = self.choices.items()
        chosen = {name: one_of(name, others.get(name, choice.default), choice.options) for name, choice in choices}
        shown = self.show(at, chosen)
        sign, here = SIGNS.get(shown.verdict, ("", ""))
        return {**shown._asdict(), "mark": sign, "here": here, "python": dedent(shown.python).lstrip("\n")}


@cache
def all_claims() -> dict[str, dict[str, str]]:
    """Read each claim of the paper, by identifier: its place, the paper's value, ours, and the verdict on it.

    They are those of docs/verdicts.md, which `docs/verdicts.py` writes here.
    """
    return {claim["id"]: claim for claim in json.loads(VERDICTS.read_text(encoding="utf-8"))}


def mark(kind: str, name: str = "", look: int | None = None, **parts: Any) -> Json:
    """Draw something in a panel, as `static/plot.js` takes it; look: which of the colours. Arrays are packed."""
    values = {key: packed(value) if isinstance(value, np.ndarray) else value for key, value in parts.items()}
    return {"kind": kind, "name": name, **({} if look is None else {"look": look}), **values}


def panel(label: str, marks: list[Json], x: str = "", end: float | None = None, **look: Any) -> Json:
    """Make a panel of a picture; x: what its other axis shows, if it is written there; end: where it ends, from 0."""
    ends = {} if end is None else {"range": [0, end]}
    return {"label": label, **look, **({"x": {"label": x, **ends}} if x else {}), "marks": marks}


def with_band(name: str, look: int, x: Any, ends: Any) -> list[Json]:
    """Draw a line through means, and a band between the ends of their intervals; ends: rows of mean, low and high."""
    mean, low, high = np.asarray(ends, float).T
    band = mark("band", look=look, x=np.asarray(x, float), low=low, high=high, opacity=0.25)
    return [band, mark("line", name, look, x=np.asarray(x, float), y=mean, width=2.5)]

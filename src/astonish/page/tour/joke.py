"""Screen 1, Fig. 1B: why is a joke surprising?"""

from collections.abc import Mapping
from typing import Any, ClassVar

from astonish.core.domain import Domain
from astonish.page.controls import Json, Slider, Values
from astonish.page.tour.screen import Options, Screen, Shown, Words, mark

LINES = {"goldfish": "“There are two goldfish in a tank.", "Tuesday": "“On Tuesday there are two friends in a tank."}
REST = ("One turns to the other and says:", "You man the guns, I'll drive.”")
MEANINGS = ["container", "vehicle"]


class JokeScreen(Screen):
    """A listener's belief about the word tank, while a joke is told."""

    name = "joke"
    title = "A joke needs an opinion to contradict"
    idea = (
        "“Tank” can mean a container or a military vehicle. The first line of the joke makes one meaning more "
        "probable; the last line contradicts it. Surprise is large where a firm belief is contradicted."
    )
    claims = ("The second phrase of the joke",)
    hint = "Tell it without the goldfish: the first line then says nothing about the tank."
    breaking: ClassVar[Mapping[str, Any]] = {"first": "Tuesday", "line": 3}
    steps = "line"
    columns = 2
    sliders: ClassVar[Mapping[str, Slider]] = {"line": Slider("lines told", Domain(0, 3, whole=True), 0)}
    choices: ClassVar[Mapping[str, Options]] = {
        "first": Options("the first line speaks of", {"goldfish": "goldfish", "Tuesday": "a Tuesday"}, "goldfish")
    }

    def show(self, at: Values, chosen: Words) -> Shown:
        from astonish.paper.claims import verdict
        from astonish.paper.examples import told

        line, joke = int(at["line"]), told(chosen["first"])
        now = joke.believed[(0, 1, 1, 2)[line]].tolist()
        committed = joke.guns > joke.alone + 1e-9 and joke.entropy[1] < joke.entropy[0]
        suggested = joke.suggested.tolist() if line == 3 else None
        surprises = [float(each) for each in (joke.first, joke.guns, joke.alone)]
        return Shown(
            _found(line, chosen["first"], now, *surprises[1:]),
            verdict([committed, joke.alone <= joke.again + 1e-9]) if line == 3 else "",
            [_meanings(now, suggested), _surprises(chosen["first"], surprises, line)],
            _script(chosen["first"]),
            [LINES[chosen["first"]], *REST][:line],
        )


def _found(line: int, first: str, now: list[float], guns: float, alone: float) -> str:
    believed = f"“container” has probability {now[0]:.2f}, “vehicle” {now[1]:.2f}"
    if line == 0:
        return f"Nobody has said anything yet: {believed}."
    if line < 3:
        return f"The first line speaks of {first}. To the listener {believed}, by Bayes' rule."
    more = f"“guns” surprises the listener by {guns:.2f} nats, and without the first line by {alone:.2f}"
    if guns > alone + 1e-9:
        return f"{more}: commitment makes it {guns / alone:.1f} times as surprising. Now {believed}."
    return f"{more}: the first line committed the listener to nothing, so that it makes no difference. Now {believed}."


def _meanings(now: list[float], suggested: list[float] | None) -> Json:
    marks = [mark("bars", "belief", 0, x=MEANINGS, y=now)]
    if suggested is not None:
        marks.append(mark("bars", "what “guns” alone suggests", 1, x=MEANINGS, y=suggested))
    return {"label": "probability", "range": [0, 1], "x": {"label": "what “tank” means"}, "marks": marks}


def _surprises(first: str, surprises: list[float], line: int) -> Json:
    """Of what was said; at the end also of the last word without the first line."""
    names = [f"“{first}”", "“guns”, after it", "“guns” alone"]
    heard = [surprises[0] if line >= 1 else 0.0, *(surprises[1:] if line == 3 else [0.0, 0.0])]
    most = 1.1 * max(surprises)
    label = {"label": "word"}
    return {
        "label": "surprise (nats)",
        "range": [0, most],
        "x": label,
        "marks": [mark("bars", "surprise", 2, x=names, y=heard)],
    }


def _script(first: str) -> list[str]:
    return [
        "from astonish.paper.examples import told",
        "from astonish.core.precision import double",
        "",
        "with double():",
        f"    joke = told({first!r})",
        'for name, belief in zip(["before", "after the first line", "at the end"], joke.believed):',
        '    print(f"{name}: container {belief[0]:.4g}, vehicle {belief[1]:.4g}")',
        'print(f"surprise of guns: {joke.guns:.4g} nats, without the first line {joke.alone:.4g}")',
    ]

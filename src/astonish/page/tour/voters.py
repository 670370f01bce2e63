"""Screen 2, Fig. 1A: is an outcome that is equally probable to all equally surprising to all?"""

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from astonish.core.domain import Domain
from astonish.page.controls import Json, Slider, Values
from astonish.page.tour.screen import Screen, Shown, Words, mark

WINNER = 2
QUARTER = 0.25  # the weight of the winner, to everyone


class VotersScreen(Screen):
    """Three colleagues before an election that candidate 2 wins."""

    name = "voters"
    title = "Equally probable, not equally surprising"
    idea = (
        "Three colleagues expect different results of an election. Candidate 2 wins, who was equally probable to all "
        "three. A and B had a firm favourite, C had none: C is less surprised, because C was committed to less."
    )
    claims = ("Candidate 2 surprises A and B more than C",)
    hint = "Let C have a favourite as well: candidate 4."
    breaking: ClassVar[Mapping[str, Any]] = {"confidence": 0.75}
    columns = 4
    sliders: ClassVar[Mapping[str, Slider]] = {
        "confidence": Slider("weight that C gives to candidate 4", Domain(QUARTER, 1 - QUARTER), QUARTER)
    }

    def show(self, at: Values, chosen: Words) -> Shown:
        from astonish.paper.claims import same, verdict
        from astonish.paper.examples import COLLEAGUES, elected

        rest = (1 - QUARTER - at["confidence"]) / 2
        weights = {**COLLEAGUES, "C": (rest, QUARTER, rest, at["confidence"])}
        found = {name: elected(each, WINNER) for name, each in weights.items()}
        likely = [np.exp(-each["shannon"]) for each in found.values()]
        a, b, c = (each["surprise"] for each in found.values())
        return Shown(
            _found(likely[-1], a, b, c),
            verdict([same(likely, likely[0]) and min(a, b) > c + 1e-9]),
            [*(_belief(name, k, each) for k, (name, each) in enumerate(weights.items())), _surprise([a, b, c])],
            _script(weights["C"]),
        )


def _found(likely: float, a: float, b: float, c: float) -> str:
    surprises = f"A by {a:.2f}, B by {b:.2f} and C by {c:.2f} nats"
    start = f"Candidate 2 had probability {likely:.2f} to all three, and surprises {surprises}"
    if a > c + 1e-9:
        return f"{start}: C, who is less committed, by {a - c:.2f} nats less."
    return f"{start}: C is now as committed as A and B, and as surprised. The difference was commitment alone."


def _belief(name: str, look: int, weights: Any) -> Json:
    x, y = ["1", "2", "3", "4"], [float(weight) for weight in weights]
    marks = [mark("bars", f"belief of {name}", look, x=x, y=y)]
    return {"label": f"{name}: weight", "range": [0, 1], "x": {"label": "candidate"}, "marks": marks}


def _surprise(values: list[float]) -> Json:
    marks = [mark("bars", "surprise at candidate 2", 3, x=["A", "B", "C"], y=values)]
    return {"label": "surprise (nats)", "zero": True, "x": {"label": "colleague"}, "marks": marks}


def _script(weights: Any) -> list[str]:
    return [
        "from astonish.paper.examples import COLLEAGUES, elected",
        "from astonish.core.precision import double",
        "",
        "with double():",
        f'    for name, weights in {{**COLLEAGUES, "C": {tuple(map(float, weights))}}}.items():',
        f"        found = elected(weights, {WINNER})",
        "        print(f\"{name}: surprise {found['surprise']:.4g}, Shannon {found['shannon']:.4g} nats\")",
    ]

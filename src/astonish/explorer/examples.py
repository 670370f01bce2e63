"""The paper's examples as beliefs to play with: voters, a listener, drivers (Fig. 1), and the samples of Fig. 2B."""

from typing import Any

import numpy as np

from astonish.beliefs import Grid, finite
from astonish.domain import Domain
from astonish.explorer.controls import Answer, Slider
from astonish.explorer.shapes import Shape
from astonish.paper.commitment.numbers import FAR, WIDTHS
from astonish.paper.examples.numbers import CARS, COLLEAGUES, MANY, WORDS, drivers, listener, voting

_GRID = "Grid(jnp.array({models}), lambda x, models: jnp.log(models[:, x]), width=jnp.array({width}))"


def shapes() -> dict[str, Shape]:
    """Their families, by name. To be called in double precision."""
    candidates = tuple(f"candidate {k}" for k in range(1, 5))
    cars, slots = drivers(MANY)[1][0], drivers(MANY)[0][0]
    kinds = ("red cars", "green BMWs", f"the other {MANY - 2} kinds")
    return {
        "election": _shape("Election: which candidate do most people prefer?", _election(), candidates, candidates),
        "joke": _shape("Joke: what does 'tank' mean?", listener()[0], ("container", "vehicle"), tuple(WORDS)),
        "parking": _shape("Parking lot: which kind of car does the neighbour drive?", cars, kinds, CARS),
        "slots": _shape("Parking lot: how busy is the day?", slots, ("quiet", "usual", "busy"), CARS),
    }


def presets() -> list[Answer]:
    """Who believes what, and sees what. To be called in double precision."""
    people: list[tuple[str, str, Any, int]] = [
        (f"Election: colleague {name}, and candidate 2 wins", "election", w, 1) for name, w in COLLEAGUES.items()
    ]
    beliefs = listener()[1]
    _, undecided, used = (belief for _, belief in drivers(MANY))
    people += [
        ("Joke: guns, after goldfish", "joke", beliefs["after"].weights, 1),
        ("Joke: guns, out of the blue", "joke", beliefs["before"].weights, 1),
        ("Parking lot: used to the red car, and sees the green one", "parking", used.weights, 1),
        ("Parking lot: undecided, and sees the green car", "parking", undecided.weights, 1),
        ("Parking lot: cares only about a free slot", "slots", (1.0, 1.0, 1.0), 1),
    ]
    normal = [
        (f"Figure 2B: a belief {width:g} times as wide as the noise", {"noise": 1.0, "mean": 0.0, "std": width})
        for width in WIDTHS.values()
    ]
    return [_preset(label, family, _weights(weights), x) for label, family, weights, x in people] + [
        _preset(label, "gaussian", values, FAR) for label, values in normal
    ]


def _preset(label: str, family: str, values: dict[str, float], x: float) -> Answer:
    return {"label": label, "family": family, "values": values, "x": x}


def _weights(weights: Any) -> dict[str, float]:
    return {f"weight{k}": float(f"{weight:.6g}") for k, weight in enumerate(np.asarray(weights), 1)}


def _election() -> Grid:
    chances: Any = voting().probability.to_numpy().reshape(4, 4)
    return finite(chances)


def _shape(label: str, family: Grid, points: tuple[str, ...], outcomes: tuple[str, ...]) -> Shape:
    models, width = np.asarray(family.points).tolist(), np.broadcast_to(np.asarray(family.width), len(points)).tolist()
    separate = family.domain != Domain()
    return Shape(
        label,
        {
            f"weight{k}": Slider(f"weight of {name}", Domain(0, 1), round(1 / len(points), 3), 0.001)
            for k, name in enumerate(points, 1)
        },
        Slider("observation", Domain(0, len(outcomes) - 1, whole=True), 1, 1),
        lambda _: family,
        f"finite({models})" if separate else _GRID.format(models=models, width=width),
        "finite" if separate else "Grid",
        outcomes,
        points,
    )

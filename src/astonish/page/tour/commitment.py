"""Screen 3, Fig. 2A: two people predict the same; is the more committed one more surprised?"""

from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

import numpy as np

from astonish.core.domain import Domain, FloatArray
from astonish.page.controls import Json, Slider, Values
from astonish.page.tour.screen import Options, Screen, Shown, Words, mark
from astonish.theory.expfam import Belief, Family

NAMES = ("committed", "open")
SAMPLES: FloatArray = np.linspace(-1, 5.5, 131)
THETAS: FloatArray = np.linspace(-3, 3, 241)  # where normal beliefs are drawn


class Person(NamedTuple):
    """Someone who believes something; density: of the belief at these thetas."""

    family: Family
    belief: Belief
    thetas: Any
    density: Any


class CommitmentScreen(Screen):
    """Pairs of people with equal predictions."""

    name = "commitment"
    title = "The same prediction, another surprise"
    idea = (
        "Commitment is minus the entropy of a belief: it is high if few possibilities have all the weight. Two people "
        "can predict the same and differ in it: both know how large theta is, but only one of them knows its sign."
    )
    claims = ("Of two people to whom a sample is equally likely",)
    hint = (
        "Take two normal models instead: they predict the same too, but a sample far away surprises the open one more."
    )
    breaking: ClassVar[Mapping[str, Any]] = {"pair": "normal", "x": 3.2}
    columns = 3
    sliders: ClassVar[Mapping[str, Slider]] = {"x": Slider("the sample that both see", Domain(0, 5), 3.2)}
    choices: ClassVar[Mapping[str, Options]] = {
        "pair": Options(
            "two people",
            {
                "sign": "one knows the sign, the other does not (Fig. 2A)",
                "alike": "both know the sign: equal commitment",
                "normal": "two normal models with equal predictions",
            },
            "sign",
        )
    }

    def show(self, at: Values, chosen: Words) -> Shown:
        from astonish.paper.claims import verdict
        from astonish.paper.examples import measured

        people = _people(chosen["pair"])
        found = {name: measured(each.family, each.belief, at["x"]) for name, each in people.items()}
        committed, other = found.values()
        return Shown(
            _found(at["x"], committed, other),
            verdict([committed["surprise"] > other["surprise"] + 1e-9]),
            [_predictions(people, at["x"]), _beliefs(people), _surprises(found)],
            _script(chosen["pair"], at["x"]),
        )


def _people(pair: str) -> dict[str, Person]:
    from astonish.paper.examples import density
    from astonish.paper.figure2 import folded_pair, normal_pair

    if pair == "normal":
        normal = normal_pair().items()
        return {name: Person(f, belief, THETAS, np.asarray(f.density(belief, THETAS))) for name, (f, belief) in normal}
    family, beliefs = folded_pair()
    if pair == "alike":
        beliefs["open"] = beliefs["committed"]
    thetas = np.asarray(family.points)
    return {name: Person(family, b, thetas, np.asarray(density(family, b))) for name, b in beliefs.items()}


def _found(x: float, committed: dict[str, float], other: dict[str, float]) -> str:
    surer, more = (committed[name] - other[name] for name in ("commitment", "surprise"))
    start = (
        f"The sample {x:g} has Shannon surprise {committed['shannon']:.2f} nats to both. Confidence-corrected, it "
        f"surprises the committed person by {committed['surprise']:.2f} and the open one by "
        f"{other['surprise']:.2f} nats"
    )
    if abs(surer) < 1e-9:
        return f"{start}: equal commitment, equal surprise."
    if more > 0:
        return f"{start}: {surer:.2f} nats more commitment, {more:.2f} nats more surprise."
    return (
        f"{start}: {surer:.2f} nats more commitment, and yet {-more:.2f} nats less surprise. The claim does not hold."
    )


def _predictions(people: dict[str, Person], x: float) -> Json:
    from astonish.paper.figure2 import log_evidence

    looks = ({"look": 0, "width": 4}, {"look": 1, "width": 2})
    marks = [
        mark("line", name, **look, x=SAMPLES, y=np.exp(np.asarray(log_evidence(each.family, each.belief, SAMPLES))))
        for look, (name, each) in zip(looks, people.items(), strict=True)
    ]
    marks.append(mark("rules", "the sample", x=[x], dash="dot", width=2))
    return {"label": "predicted density", "zero": True, "x": {"label": "sample"}, "marks": marks}


def _beliefs(people: dict[str, Person]) -> Json:
    marks = [
        mark("line", name, look, x=np.asarray(each.thetas), y=each.density, width=2.5)
        for look, (name, each) in enumerate(people.items())
    ]
    return {"label": "believed density", "zero": True, "x": {"label": "theta"}, "marks": marks}


def _surprises(found: dict[str, dict[str, float]]) -> Json:
    marks = [
        mark("bars", name, look, x=["Shannon", "confidence corrected"], y=[each["shannon"], each["surprise"]])
        for look, (name, each) in enumerate(found.items())
    ]
    return {"label": "surprise (nats)", "zero": True, "x": {"label": "measure"}, "marks": marks}


def _script(pair: str, x: float) -> list[str]:
    if pair == "normal":
        people = ["    people = normal_pair()"]
    else:
        second = "open" if pair == "sign" else "committed"
        people = [
            "    family, beliefs = folded_pair()",
            f'    people = {{"committed": (family, beliefs["committed"]), "open": (family, beliefs[{second!r}])}}',
        ]
    return [
        "from astonish.paper.examples import measured",
        f"from astonish.paper.figure2 import {'normal_pair' if pair == 'normal' else 'folded_pair'}",
        "from astonish.core.precision import double",
        "",
        "with double():",
        *people,
        "    for name, (family, belief) in people.items():",
        f"        found = measured(family, belief, {x!r})",
        "        print(f\"{name}: surprise {found['surprise']:.4g}, commitment {found['commitment']:.4g} nats\")",
    ]

"""Belief lab: what one observation does to a belief, and how surprising it is by every measure."""

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, NamedTuple

import jax
import numpy as np

from astonish.beliefs import Grid, finite
from astonish.core.numbers import Domain, as_double, double
from astonish.core.parameters import declared
from astonish.core.programs import interpreted
from astonish.learners import Smile
from astonish.models.parameters import arguments, imports, parameters
from astonish.models.registry import FAMILIES
from astonish.online.explanation import explain
from astonish.online.measures import in_order
from astonish.page.controls import (
    READINESS,
    Json,
    Slider,
    Values,
    described,
    json_number,
    limited,
    numbers,
    one_of,
    packed,
    slider_for,
    stack,
    updated,
)
from astonish.paper import figure1, figure2
from astonish.paper.figure1 import COLLEAGUES, WORDS, listener, voting
from astonish.people.tables.regressors import describe
from astonish.theory.drawing import BARS, drawn
from astonish.theory.expfam import Family

DRAWN = ("belief", "scaled", "updated")
MOST_OUTCOMES, LARGEST_SAMPLE = 50, 1e6
ALPHA = {"first": 10.0, "second": 4.0, "third": 2.0, "fourth": 1.0}  # of a Dirichlet belief to begin with


class LabFamily(NamedTuple):
    """A family of beliefs in the lab.

    sliders: of the belief and, as x, of the observation. family, prior: from the values of the sliders to the family,
    with its code in Python, and to the arguments of its prior. imports: what the code needs.
    outcomes: what can be observed, by name; none for numbers. points: what the bars stand for; none for a density.
    """

    label: str
    sliders: Mapping[str, Slider]
    family: Callable[[Values], tuple[Family, str]]
    prior: Callable[[Values], Mapping[str, Any]]
    imports: list[str]
    outcomes: tuple[str, ...] = ()
    points: tuple[str, ...] = ()


class LabTab:
    """A belief, an observation, and the update by the SMiLe rule."""

    @cached_property
    def families(self) -> dict[str, LabFamily]:
        """Those of the catalogue about one number, the probabilities of four outcomes, and the paper's examples."""
        with double():
            kinds = {name: kind for name, kind in FAMILIES.classes().items() if kind.support and kind.proper_likelihood}
            shapes = {name: _on_a_line(kind) for name, kind in kinds.items()} | {"dirichlet": _dirichlet()}

            # The paper's: voters, a listener, drivers (Fig. 1)
            probabilities: Any = voting().probability.to_numpy().reshape(4, 4)
            candidates = tuple(f"candidate {k}" for k in range(1, 5))
            drivers = figure1.drivers(figure1.MANY)
            slots, cars = drivers["slot"][0], drivers["undecided"][0]
            kinds_of_car = ("red cars", "green BMWs", f"the other {figure1.MANY - 2} kinds")
            election, question = finite(probabilities), "Election: which candidate do most people prefer?"
            meanings, which = ("container", "vehicle"), "Parking lot: which kind of car does the neighbour drive?"
            return shapes | {
                "election": _grid(question, election, candidates, candidates),
                "joke": _grid("Joke: what does 'tank' mean?", listener()[0], meanings, tuple(WORDS)),
                "parking": _grid(which, cars, kinds_of_car, figure1.CARS),
                "slots": _grid("Parking lot: how busy is the day?", slots, ("quiet", "usual", "busy"), figure1.CARS),
            }

    def controls(self) -> Json:
        families = {
            name: {
                "label": shape.label,
                "sliders": described(shape.sliders),
                "outcomes": shape.outcomes,
                "points": shape.points,
            }
            for name, shape in self.families.items()
        }
        with double():
            return {"families": families, "presets": _presets(), "sliders": described({"m": READINESS})}

    def answer(self, request: Any) -> Json:
        name = request.get("family", "gaussian") if isinstance(request, dict) else "gaussian"
        shape = self.families[one_of("family", name, self.families)]
        at, _ = numbers(request, {**shape.sliders, "m": READINESS}, "family")
        x, m = at.pop("x"), at.pop("m")
        with double():
            family = as_double(shape.family(at)[0])
            belief = as_double(family.prior(**shape.prior(at)))
            update = updated(family, belief, x, m)
            drawing = drawn(family, jax.tree.map(lambda *parts: np.stack(parts), *update["beliefs"]))
        picture: Json = {"kind": drawing.kind, "at": list(shape.points)}
        picture |= {name: packed(height) for name, height in zip(DRAWN, drawing.heights, strict=True)}
        if drawing.kind != BARS:  # with the observation to expect at each value
            expected = None if drawing.expected is None else packed(drawing.expected)
            picture |= {"at": packed(drawing.at), "expected": expected, "same_axis": drawing.has_samples}
        seen = shape.outcomes[int(x - shape.sliders["x"].domain.low)] if shape.outcomes else ""
        explanation = explain(Smile(family, m, prior=belief), [x], 0, seen)
        measures = update["measures"]
        return {
            "drawn": picture,
            "sentence": explanation.sentence,
            **stack(explanation),
            **{name: json_number(update[name]) for name in ("gamma", "surprise", "bound", "bound_max")},
            **{name: packed(update[name]) for name in ("gammas", "again", "spent")},
            "measures": [
                {"name": column, "value": json_number(measures[column]), "meaning": describe(column).replace("`", "")}
                for column in in_order(measures)
            ],
            "python": self.script(shape, at, x, m),
        }

    def script(self, shape: LabFamily, at: Values, x: float, m: float) -> str:
        """Write the same in Python."""
        lines = [
            *shape.imports,
            "from astonish.online.measures import Moment, all_measures",
            "from astonish.core.numbers import double",
            "",
            "with double():",
            f"    family = {shape.family(at)[1]}",
            f"    belief = family.prior({arguments(shape.prior(at))})",
            f"    update = rule.smile(family, belief, x={x!r}, m={m!r})",
            '    print(f"gamma {update.gamma:.4g}, bound {update.bound:.4g} of {update.bound_max:.4g} nats")',
            f"    moment = Moment(family, family.prior(), family.prior(), belief, update.belief, {x!r})",
            "    for name, value in all_measures(moment, hazard=None).items():",
            '        print(f"{name}: {value:.4g}")',
        ]
        return "\n".join([*lines, ""])


# ---- which beliefs can be shaped, and what can be set of them


def _on_a_line(kind: Any) -> LabFamily:
    """Make a family of the catalogue, about one number, part of the lab."""
    low, high = kind.usual_samples
    sliders = {name: slider_for(name, parameter.known, (low, high)) for name, parameter in parameters(kind).items()}

    def family(at: Values) -> tuple[Family, str]:
        own = {word: at[word] for word in declared(kind)}
        return kind(**own), f"{kind.__name__}({arguments(own)})"

    samples: Domain = family({name: slider.default for name, slider in sliders.items()})[0].samples
    few = samples.is_index and samples.has_low and samples.high - samples.low <= MOST_OUTCOMES
    first = round(min(low + 0.6 * (high - low), samples.high), None if samples.whole else 2)
    return LabFamily(
        f"{kind.__name__}: {(kind.__doc__ or '').partition(chr(10))[0].replace('`', '')}",
        {**sliders, "x": Slider("observation", limited(samples, LARGEST_SAMPLE), first, (low, high))},
        family,
        lambda at: {word: at[word] for word in kind.prior_parameters},
        imports([kind], "rule"),
        tuple(str(k) for k in range(int(samples.low), int(samples.high) + 1)) if few else (),
    )


def _dirichlet() -> LabFamily:
    names, kind = tuple(ALPHA), FAMILIES.find("dirichlet")
    about, domain = "1, and one more for each observation that comes first", Domain(0, LARGEST_SAMPLE, open=True)
    sliders = {
        f"alpha{k}": Slider(f"alpha of the {name} outcome", domain, alpha, (1, 101), about=about)
        for k, (name, alpha) in enumerate(ALPHA.items(), 1)
    }
    return LabFamily(
        "Dirichlet: which of four outcomes comes next?",
        {**sliders, "x": Slider("observation", Domain(0, 3, whole=True), 3)},
        lambda _: (kind(4), "Dirichlet(4)"),
        lambda at: {"alpha": list(at.values())},
        imports([kind], "rule"),
        names,
        names,
    )


def _grid(label: str, family: Grid, points: tuple[str, ...], outcomes: tuple[str, ...]) -> LabFamily:
    models, width, last = np.asarray(family.points).tolist(), np.asarray(family.width), len(outcomes) - 1
    code, lines = f"finite({models})", ["from astonish import finite, rule"]
    if width.ndim:  # it was not made by `finite`
        likelihood, domain = "lambda x, models: jnp.log(models[:, x])", f"Domain(0, {last}, whole=True)"
        code = f"Grid(jnp.array({models}), {likelihood}, jnp.array({width.tolist()}), {domain})"
        lines = [
            "import jax.numpy as jnp",
            "from astonish import Grid, rule",
            "from astonish.core.numbers import Domain",
        ]
    even = round(1 / len(points), 3)
    sliders = {f"weight{k}": Slider(f"weight of {name}", Domain(0, 1), even) for k, name in enumerate(points, 1)}
    x = Slider("observation", Domain(0, last, whole=True), 1)
    return LabFamily(label, {**sliders, "x": x}, lambda _: (family, code), _prior, lines, outcomes, points)


def _prior(at: Values) -> Mapping[str, Any]:
    if not any(at.values()):
        raise ValueError("the weights are all 0; give at least one above 0")
    return {"weights": list(at.values())}


_weights_of = interpreted(lambda belief: belief.weights)


def _presets() -> list[Json]:
    """List who believes what and sees what in the paper's examples and in Fig. 2B. To be called in double precision."""
    beliefs, normal = listener()[1], {"noise": 1.0, "mean": 0.0, "x": figure2.FAR}
    drivers = figure1.drivers(figure1.MANY)
    undecided, used = drivers["undecided"][1], drivers["used to red"][1]
    people: list[tuple[str, str, Any]] = [
        *((f"Election: colleague {name}, and candidate 2 wins", "election", w) for name, w in COLLEAGUES.items()),
        ("Joke: guns, after goldfish", "joke", _weights_of(beliefs["after"])),
        ("Joke: guns, out of the blue", "joke", _weights_of(beliefs["before"])),
        ("Parking lot: used to the red car, and sees the green one", "parking", _weights_of(used)),
        ("Parking lot: undecided, and sees the green car", "parking", _weights_of(undecided)),
        ("Parking lot: cares only about a free slot", "slots", (1.0, 1.0, 1.0)),
    ]
    presets = [
        (label, family, {f"weight{k}": float(f"{w:.6g}") for k, w in enumerate(np.asarray(weights), 1)} | {"x": 1})
        for label, family, weights in people
    ]
    presets += [
        (f"Figure 2B: a belief {std:g} times as wide as the noise", "gaussian", normal | {"std": std})
        for std in figure2.WIDTHS.values()
    ]
    return [{"label": label, "family": family, "values": values} for label, family, values in presets]

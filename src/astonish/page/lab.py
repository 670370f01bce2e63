"""Belief lab: what does one observation do to a belief, and how surprising is it by every measure?"""

from functools import cached_property
from typing import Any

import jax
import numpy as np

from astonish.core.domain import declared
from astonish.core.interpreter import interpreted
from astonish.core.precision import as_double, double
from astonish.learners import Smile
from astonish.models.assemble import arguments
from astonish.online.explanation import explain
from astonish.online.measures import COLUMNS, Moment, all_measures
from astonish.page.controls import Json, Values, described, json_number, numbers, one_of, packed, slider_for
from astonish.page.explained import stack
from astonish.page.families import LabFamily, lab_families, presets
from astonish.people.tables.regressors import describe
from astonish.theory import expfam, rule
from astonish.theory.drawing import BARS, Drawing, drawn
from astonish.theory.expfam import Belief, Family, bregman

READINESS = {"m": slider_for("m", declared(Smile)["m"])}
GAMMAS: Any = np.linspace(0.0, 1.0, 101)
DRAWN = ("belief", "scaled", "updated")


class LabTab:
    """A belief, an observation, and the update by the SMiLe rule."""

    @cached_property
    def families(self) -> dict[str, LabFamily]:
        """Those of the catalogue, and those of the paper's examples."""
        with double():
            return lab_families()

    def controls(self) -> Json:
        families = {name: family.described() for name, family in self.families.items()}
        with double():
            return {"families": families, "presets": presets(), "sliders": described(READINESS)}

    def answer(self, request: Any) -> Json:
        name = request.get("family", "gaussian") if isinstance(request, dict) else "gaussian"
        shape = self.families[one_of("family", name, self.families)]
        at, _ = numbers(request, {**shape.sliders, **READINESS}, "family")
        x, m = at.pop("x"), at.pop("m")
        with double():
            family = as_double(shape.family(at)[0])
            belief = as_double(family.prior(**shape.prior(at)))
            found = _update(family, belief, x, m)
            drawing = drawn(family, jax.tree.map(lambda *parts: np.stack(parts), *found["beliefs"].values()))
        explanation = explain(Smile(family, m, prior=belief), [x], 0, shape.outcome(x))
        measures = {column: found["measures"][column] for column in COLUMNS if column in found["measures"]}
        return {
            "drawn": _drawn(shape, drawing),
            "sentence": explanation.sentence,
            **stack(explanation),
            **{name: json_number(found[name]) for name in ("gamma", "surprise", "bound", "bound_max")},
            **{name: packed(found[name]) for name in ("gammas", "again", "spent")},
            "measures": [
                {"name": column, "value": json_number(value), "meaning": describe(column).replace("`", "")}
                for column, value in measures.items()
            ],
            "python": self.script(shape, at, x, m),
        }

    def script(self, shape: LabFamily, at: Values, x: float, m: float) -> str:
        """The same in Python."""
        lines = [
            *shape.imports,
            "from astonish.online.measures import Moment, all_measures",
            "from astonish.core.precision import double",
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


@interpreted
def _update(family: Family, belief: Belief, x: Any, m: Any) -> dict[str, Any]:
    update = rule.smile(family, belief, x, m)
    prior, scaled = family.prior(), expfam.scaled_likelihood(family, x)
    curve = jax.vmap(lambda gamma: expfam.log_mass_curve(family, belief, scaled, gamma))(GAMMAS)
    first, last = (jax.tree.map(lambda values, end=end: values[end], curve) for end in (0, -1))
    beliefs = dict(zip(DRAWN, (belief, scaled, update.belief), strict=True))
    return {
        **update._asdict(),
        "beliefs": beliefs,
        "gammas": GAMMAS,
        "again": bregman(curve, last, 1 - GAMMAS),  # this and the next are read off one curve
        "spent": bregman(curve, first, -GAMMAS),
        "measures": all_measures(Moment(family, prior, prior, belief, update.belief, x), None),
    }


def _drawn(shape: LabFamily, drawing: Drawing) -> Json:
    """Belief, scaled likelihood and updated belief for the page, and the observation to expect at each value."""
    heights = {name: packed(height) for name, height in zip(DRAWN, drawing.heights, strict=True)}
    if drawing.kind == BARS:
        return {"kind": BARS, "at": list(shape.points), **heights}
    expected = None if drawing.expected is None else packed(drawing.expected)
    at = {"at": packed(drawing.at), "expected": expected, "same_axis": drawing.has_samples}
    return {"kind": drawing.kind, **at, **heights}

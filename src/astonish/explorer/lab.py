"""Belief lab: what does one observation do to a belief, and how surprising is it by every measure?"""

from collections.abc import Callable
from functools import cached_property
from typing import Any

import jax
import numpy as np

from astonish import expfam, rule
from astonish.assemble import arguments
from astonish.domain import declared
from astonish.expfam import Belief, Family, bregman
from astonish.explorer.controls import Json, Values, described, json_number, numbers, one_of, packed, slider_for
from astonish.explorer.families import LabFamily, lab_families, presets
from astonish.explorer.memory import give_back_memory
from astonish.learners import Smile
from astonish.measures import COLUMNS, Moment, all_measures
from astonish.precision import as_double, double
from astonish.trials.regressors import describe

READINESS = {"m": slider_for("m", declared(Smile)["m"])}
GAMMAS: Any = np.linspace(0.0, 1.0, 101)
# compiled quickly, for it runs in a millisecond anyway
QUICKLY: dict[str, str | bool] = {"xla_backend_optimization_level": "0", "xla_llvm_disable_expensive_passes": True}
FINE = 81  # points of a curve about each of the beliefs drawn
_NEAR_END = 1e-4  # how near a density is drawn to the ends of what is possible


class LabTab:
    """A belief, an observation, and the update by the SMiLe rule."""

    def __init__(self) -> None:
        self._programs: dict[tuple[str, str], Any] = {}

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
            found = self.computed(_update, name, family, belief, x, m)
            drawn = _bars(shape, found["beliefs"]) if shape.points else self.curves(name, family, found)
        measures = {column: found["measures"][column] for column in COLUMNS if column in found["measures"]}
        return {
            "drawn": drawn,
            **{name: json_number(found[name]) for name in ("gamma", "surprise", "bound", "bound_max")},
            **{name: packed(found[name]) for name in ("gammas", "again", "spent")},
            "measures": [
                {"name": column, "value": json_number(value), "meaning": describe(column).replace("`", "")}
                for column, value in measures.items()
            ],
            "python": self.script(shape, at, x, m),
        }

    def computed(self, function: Callable[..., Any], name: str, *given: Any) -> Any:
        """What a function gives for a family of this name, for which it is compiled once."""
        key = function.__name__, name
        if key not in self._programs:
            self._programs[key] = jax.jit(function).lower(*given).compile(QUICKLY)
            give_back_memory()  # compiling takes several times what the program does
        return jax.device_get(self._programs[key](*given))

    def curves(self, name: str, family: Family, found: dict[str, Any]) -> Json:
        """Densities, at points that are close wherever one of them is narrow, and the observation to expect at each."""
        assert family.support is not None
        near = np.linspace(-4, 4, FINE)[:, None] * found["widths"] + found["middles"]
        at = np.unique(np.clip(near, family.support.low + _NEAR_END, family.support.high - _NEAR_END))
        padded = np.pad(at, (0, near.size - len(at)), mode="edge")  # always as many, so that nothing is compiled anew
        curves, expected = self.computed(_densities, name, family, found["beliefs"], padded)
        drawn: Json = {name: packed(curve[: len(at)]) for name, curve in {**curves, "at": padded}.items()}
        drawn["expected"] = None if expected is None else packed(expected[: len(at)])
        return {"kind": "curves", "same_axis": bool(np.array_equal(expected, padded)), **drawn}

    def script(self, shape: LabFamily, at: Values, x: float, m: float) -> str:
        """The same in Python."""
        lines = [
            *shape.imports,
            "from astonish.measures import Moment, all_measures",
            "from astonish.precision import double",
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


def _update(family: Family, belief: Belief, x: Any, m: Any) -> dict[str, Any]:
    update = rule.smile(family, belief, x, m)
    prior, scaled = family.prior(), expfam.target(family, x)
    curve = jax.vmap(lambda gamma: expfam.along(family, belief, scaled, gamma))(GAMMAS)
    first, last = (jax.tree.map(lambda values, end=end: values[end], curve) for end in (0, -1))
    beliefs = {"belief": belief, "scaled": scaled, "updated": update.belief}
    return {
        **update._asdict(),
        "beliefs": beliefs,
        "middles": [each.mean for each in beliefs.values()],
        "widths": [each.std for each in beliefs.values()],
        "gammas": GAMMAS,
        "again": bregman(curve, last, 1 - GAMMAS),  # this and the next are read off one curve
        "spent": bregman(curve, first, -GAMMAS),
        "measures": all_measures(Moment(family, prior, prior, belief, update.belief, x), None),
    }


def _bars(shape: LabFamily, beliefs: dict[str, Belief]) -> Json:
    """The weight of each model, or the expected probability of each outcome."""
    heights = {name: belief.weights if hasattr(belief, "weights") else belief.mean for name, belief in beliefs.items()}
    return {"kind": "bars", "at": list(shape.points), **{name: packed(height) for name, height in heights.items()}}


def _densities(family: Family, beliefs: dict[str, Belief], at: Any) -> Any:
    return {name: family.density(belief, at) for name, belief in beliefs.items()}, family.expected(at)

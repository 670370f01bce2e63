"""Belief lab: what does one observation do to a belief, and how surprising is it by every measure?"""

from functools import cache
from typing import Any

import jax
import numpy as np
from scipy.special import xlog1py, xlogy

from astonish import expfam, rule
from astonish.beliefs import BetaBelief, GammaBelief, GaussianBelief, GridBelief
from astonish.domain import Domain, Numbers
from astonish.expfam import Belief, Family, bregman
from astonish.explorer.controls import Answer, Slider, described, known, numbers, one, one_of, packed, told
from astonish.explorer.shapes import SHAPES, Shape, Values, about
from astonish.precision import as_double, double
from astonish.regressors import describe
from astonish.surprises import COLUMNS, Moment, all_measures

READINESS = {"m": Slider("m, readiness to change one's mind", Domain(0.001, 1000), 0.1, 0.01, log=True)}
GAMMAS: Any = np.linspace(0.0, 1.0, 101)
FINE = 81  # points of a curve about each of the beliefs drawn
_TWO_ENDS = 1e-4  # how near a density is drawn to the ends of what is possible


@cache
def all_shapes() -> dict[str, Shape]:
    """Those of the library, and those of the paper's examples."""
    from astonish.explorer.examples import shapes  # what the paper's figures import takes a second

    with double():
        return SHAPES | shapes()


@cache
def controls() -> Answer:
    """What can be set, for the page."""
    from astonish.explorer.examples import presets

    with double():
        found = presets()
    families = {name: about(shape) for name, shape in all_shapes().items()}
    return {"families": families, "presets": found, "sliders": described(READINESS)}


def lab(said: Any) -> Answer:
    """A belief, an observation, and what the SMiLe rule makes of them."""
    shape = _shape(said)
    asked = known(said, ("family", *shape.sliders, *READINESS, "x"))
    at, m = numbers(asked, shape.sliders), numbers(asked, READINESS)["m"]
    x = one("x", asked.get("x", shape.sample.default), shape.sample.domain)
    with double():
        family = as_double(shape.family(at))
        belief = as_double(shape.belief(family, at))
        found = jax.device_get(_looked(family, belief, x, m))
        drawn = jax.device_get({"belief": belief, "scaled": found["scaled"], "updated": found["update"].belief})
        picture = _bars(shape, drawn) if shape.points else _curves(family, drawn)
    update = found["update"]
    return {
        "drawn": picture,
        "gamma": told(update.gamma),
        "surprise": told(update.surprise),
        "bound": told(update.bound),
        "bound_max": told(update.bound_max),
        "gammas": packed(GAMMAS),
        "again": packed(found["again"]),
        "spent": packed(found["spent"]),
        "measures": [
            {"name": column, "value": told(found["measures"][column]), "meaning": describe(column).replace("`", "")}
            for column in COLUMNS
            if column in found["measures"]
        ],
        "python": _python(shape, at, x, m),
    }


def _shape(said: Any) -> Shape:
    """Which belief is spoken of. The library's own are found without what the examples need."""
    name = said.get("family", "gaussian") if isinstance(said, dict) else "gaussian"
    if isinstance(name, str) and name in SHAPES:
        return SHAPES[name]
    return all_shapes()[one_of("family", name, all_shapes())]


@jax.jit
def _looked(family: Family, belief: Belief, x: Any, m: Any) -> dict[str, Any]:
    update = rule.smile(family, belief, x, m)
    prior, scaled = family.prior(), expfam.target(family, x)
    curve = jax.vmap(lambda gamma: expfam.along(family, belief, scaled, gamma))(GAMMAS)
    first, last = (jax.tree.map(lambda values, end=end: values[end], curve) for end in (0, -1))
    again, spent = bregman(curve, last, 1 - GAMMAS), bregman(curve, first, -GAMMAS)  # both are read off one curve
    measures = all_measures(Moment(family, prior, prior, belief, update.belief, x), None)
    return {"update": update, "scaled": scaled, "measures": measures, "again": again, "spent": spent}


def _bars(shape: Shape, drawn: dict[str, Belief]) -> Answer:
    """The weight of each model, or the expected chance of each outcome."""
    heights = {n: b.weights if isinstance(b, GridBelief) else b.mean for n, b in drawn.items()}
    return {"kind": "bars", "at": list(shape.points), **{name: packed(height) for name, height in heights.items()}}


def _curves(family: Family, drawn: dict[str, Belief]) -> Answer:
    """Densities, at points that are close wherever one of them is narrow."""
    low, high = _support(drawn["belief"])
    near = [float(b.mean) + float(b.std) * np.linspace(-4, 4, FINE) for b in drawn.values()]
    at = np.unique(np.clip(np.concatenate(near), low, high))
    curves = {name: packed(density(family, belief, at)) for name, belief in drawn.items()}
    return {"kind": "curves", "at": packed(at), **curves}


def _support(belief: Belief) -> tuple[float, float]:
    if isinstance(belief, GaussianBelief):
        return -np.inf, np.inf
    return _TWO_ENDS, 1 - _TWO_ENDS if isinstance(belief, BetaBelief) else np.inf


def density(family: Family, belief: Belief, theta: Any) -> Numbers:
    """That of the parameter, for beliefs about one number; their kernels are described in `beliefs/`."""
    match belief:
        case GaussianBelief():
            log_kernel = -0.5 * belief.precision * (theta - belief.mean) ** 2
        case BetaBelief():
            log_kernel = xlogy(belief.ones - 1, theta) + xlog1py(belief.zeros - 1, -theta)
        case GammaBelief():
            log_kernel = xlogy(belief.shape - 1, theta) - belief.time * theta
    return np.exp(log_kernel - np.asarray(_log_partition(family, belief)))


@jax.jit
def _log_partition(family: Family, belief: Belief) -> Any:
    return family.log_partition(belief)


def _python(shape: Shape, at: Values, x: float, m: float) -> str:
    examples = ["import jax.numpy as jnp"] if shape.needs == "Grid" else []
    lines = [
        *examples,
        f"from astonish import {shape.needs}, rule",
        "from astonish.precision import double",
        "from astonish.surprises import Moment, all_measures",
        "",
        "with double():",
        f"    family = {shape.written if shape.needs == 'Grid' else shape.written.format(**at)}",
        f"    {shape.prior_line(at)}",
        f"    update = rule.smile(family, belief, x={x!r}, m={m!r})",
        '    print(f"gamma {update.gamma:.4g}, bound {update.bound:.4g} of {update.bound_max:.4g} nats")',
        f"    moment = Moment(family, family.prior(), family.prior(), belief, update.belief, {x!r})",
        "    for name, value in all_measures(moment, hazard=None).items():",
        '        print(f"{name}: {value:.4g}")',
    ]
    return "\n".join([*lines, ""])

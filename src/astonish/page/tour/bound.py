"""Screen 4, Fig. 2B: how far may a surprise move a belief?"""

from collections.abc import Mapping
from typing import Any, ClassVar

import jax
import numpy as np
from jax import Array

from astonish.beliefs import Gaussian
from astonish.core.domain import Domain, FloatArray, declared
from astonish.core.interpreter import interpreted
from astonish.learners import Smile
from astonish.page.controls import Json, Slider, Values, slider_for
from astonish.page.tour.screen import Screen, Shown, Words, mark
from astonish.theory import rule
from astonish.theory.expfam import Belief

GAMMAS: FloatArray = np.linspace(0.0, 1.0, 101)


class BoundScreen(Screen):
    """One normal belief, one sample, and the step that a bound on the change of belief allows."""

    name = "bound"
    title = "Surprise decides how far a belief may move"
    idea = (
        "A step of size gamma moves the belief towards what the sample alone says. The change is bounded: the larger "
        "the surprise, and the larger m, the readiness to change one's mind, the larger the bound and the step."
    )
    claims = ("Surprise over gamma is a parabola", "A bound of zero leaves the belief as it is")
    hint = (
        "Make the belief narrower than the noise: the curve is no parabola any more. Or set m to 0: nothing is learned."
    )
    breaking: ClassVar[Mapping[str, Any]] = {"width": 0.4}
    sliders: ClassVar[Mapping[str, Slider]] = {
        "m": slider_for("m", declared(Smile)["m"]),
        "width": Slider("width of the belief, in units of the noise", Domain(0.1, 4), 1.0),
    }

    def show(self, at: Values, chosen: Words) -> Shown:
        from astonish.paper.claims import same, verdict
        from astonish.paper.figure2 import FAR, surprise_again

        family = Gaussian()
        belief = family.prior(std=at["width"])
        update, spent = _update(family, belief, FAR, at["m"])
        again = np.asarray(surprise_again(family, belief, FAR, GAMMAS))
        parabola = again[0] * (1 - GAMMAS) ** 2
        off = float(np.abs(again - parabola).max() / again[0])
        left = float(np.interp(update.gamma, GAMMAS, again))
        return Shown(
            _found(update, left, off),
            verdict([same(off, 0)]),
            [_surprise(again, parabola, update.gamma, left), _change(spent, update)],
            _script(at["m"], at["width"], FAR),
        )


@interpreted
def _update(family: Gaussian, belief: Belief, x: Any, m: Any) -> tuple[rule.Update, Array]:
    spent = jax.vmap(lambda gamma: rule.bound_from_gamma(family, belief, x, gamma))(GAMMAS)
    return rule.smile(family, belief, x, m), spent


def _found(update: rule.Update, left: float, off: float) -> str:
    start = (
        f"A surprise of {update.surprise:.2f} nats allows a change of {update.bound:.2f} of at most "
        f"{update.bound_max:.2f} nats, which gives gamma = {update.gamma:.2f}; seen again, the sample would surprise "
        f"by {left:.2f} nats"
    )
    if off < 1e-9:
        return f"{start}. The curve is a parabola."
    return f"{start}. The curve is no parabola: it is off by up to {off:.0%} of its start."


def _surprise(again: Any, parabola: Any, gamma: float, left: float) -> Json:
    marks = [
        mark("line", "the parabola of the same start", 6, x=GAMMAS, y=parabola, dash="dash", width=2),
        mark("line", "surprise at the same sample, after the step", 0, x=GAMMAS, y=again, width=3),
        mark("dots", "the step that is made", 1, x=np.array([gamma]), y=np.array([left]), size=9),
    ]
    return {"label": "surprise left (nats)", "zero": True, "marks": marks}


def _change(spent: Any, update: rule.Update) -> Json:
    gamma, bound = float(update.gamma), float(update.bound)
    marks = [
        mark("line", "change of the belief", 2, x=GAMMAS, y=spent, width=3),
        mark("line", "bound B", 1, x=np.array([0.0, 1.0]), y=np.array([bound, bound]), width=2, dash="dot"),
        mark("dots", "", 1, x=np.array([gamma]), y=np.array([bound]), size=9),
    ]
    return {"label": "change (nats)", "zero": True, "marks": marks, "x": {"label": "gamma: size of the step"}}


def _script(m: float, width: float, x: float) -> list[str]:
    return [
        "from astonish import Gaussian, rule",
        "from astonish.core.precision import double",
        "",
        "with double():",
        "    family = Gaussian()",
        f"    update = rule.smile(family, family.prior(std={width!r}), x={x!r}, m={m!r})",
        '    print(f"surprise {update.surprise:.4g}, bound {update.bound:.4g} of {update.bound_max:.4g} nats")',
        '    print(f"gamma {update.gamma:.4g}")',
    ]

"""At which values are beliefs drawn, and how high are they there?"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from astonish.core.numbers import FloatArray
from astonish.core.programs import interpreted
from astonish.core.special import wrapped
from astonish.theory.expfam import Belief, Family

CURVES, BARS, POINTS = "curves", "bars", "points"
_NEAR_END = 1e-4  # how near a density is drawn to the ends of what is possible
_WIDTHS = 4.0  # so many standard deviations to either side


class Drawing(NamedTuple):
    """Beliefs of one family as they are drawn, a row of `heights` for each.

    kind: "curves" for densities at the values `at` of the parameter; "bars" for a number for each of several outcomes,
    models or components, which `at` counts from 0; "points" where neither is known: the heights are mean and standard
    deviation. probabilities: whether bars are probabilities. expected: of curves, the sample to expect at each value;
    None where that is not a number.
    """

    kind: str
    at: FloatArray
    heights: FloatArray
    expected: FloatArray | None = None
    probabilities: bool = False

    @property
    def has_samples(self) -> bool:
        """Whether samples are on the same axis as the parameter."""
        return self.expected is not None and np.array_equal(self.at, self.expected)


def drawn(family: Family, beliefs: Belief, fine: int = 81) -> Drawing:
    """Beliefs, which are stacked, as they are drawn. To be called in double precision.

    fine: how many points of a curve there are about each of them.
    """
    means, widths, weights = _shapes(family, beliefs)
    if family.support is None and family.period is None:
        heights = means if weights is None else weights
        if heights.ndim == 1:
            return Drawing(POINTS, np.zeros(0), np.stack([means, widths], axis=1))
        return Drawing(BARS, np.arange(heights.shape[1]) * 1.0, heights, None, weights is not None)
    # Densities at points that are close to each other wherever one of the beliefs is narrow
    near = np.linspace(-_WIDTHS, _WIDTHS, fine)[:, None] * widths + means
    if family.period is not None:
        near = np.append(wrapped(near, family.period), np.linspace(-0.5, 0.5, 2 * fine) * float(family.period))
    elif family.support is not None:
        near = np.clip(near, family.support.low + _NEAR_END, family.support.high - _NEAR_END)
    at = np.unique(near)
    padded = np.pad(at, (0, near.size - len(at)), mode="edge")  # always as many, so that nothing is compiled anew
    heights, expected = _densities(family, beliefs, padded)
    return Drawing(CURVES, at, heights[:, : len(at)], None if expected is None else expected[: len(at)])


@interpreted
def _shapes(family: Family, beliefs: Belief) -> Any:
    def shape(belief: Belief) -> Any:
        return jnp.asarray(belief.mean), jnp.asarray(belief.std), family.weights(belief)

    return jax.vmap(shape)(beliefs)


@interpreted
def _densities(family: Family, beliefs: Belief, at: Any) -> Any:
    return jax.vmap(lambda belief: family.density(belief, at))(beliefs), family.expected(at)

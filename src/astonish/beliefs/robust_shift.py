"""Did the level of a series change within the last samples, or was that an outlier?

Hypotheses about when the level changed last (run lengths: Adams & MacKay 2007), up to `LONGEST` samples ago, each with
a belief about the new level. Samples are in units of their noise, which has heavy tails (Student's distribution) and,
now and then, an outlier that says nothing about the level.
"""

import math
from typing import Annotated, Any, NamedTuple

import jax.numpy as jnp
from jax import Array

from astonish.core.numbers import FINITE, NOT_NEGATIVE, PROBABILITY, Number

LONGEST = 16
_FREEDOM = 5  # degrees of freedom of the noise; odd, so that its density has a whole power
_PEAK = math.gamma((_FREEDOM + 1) / 2) / math.gamma(_FREEDOM / 2) / math.sqrt((_FREEDOM - 2) * math.pi)
_JUMP, _OUTLIER = 5.0, 20.0  # how large changes of the level, and outliers, are: half of them are larger
_OUTLIERS = 0.01  # share of samples that are outliers


class Shifts(NamedTuple):
    """Hypotheses that the level changed 1, 2, ... samples ago, with the new level and its precision.

    Levels are relative to the level before the oldest of these changes. The weights sum to the probability of a change.
    """

    weights: Annotated[Array, PROBABILITY]
    level: Annotated[Array, FINITE]
    precision: Annotated[Array, NOT_NEGATIVE]

    @property
    def probability(self) -> Array:
        """That the level changed within the last `LONGEST` samples."""
        return jnp.minimum(self.weights.sum(), 1.0)

    @property
    def mean(self) -> Array:
        """By how much, on average over the hypotheses, the level has changed."""
        return (self.weights * self.level).sum()


def none(kind: Any) -> Shifts:
    """Before the first sample."""
    return Shifts(jnp.zeros(LONGEST, kind), jnp.zeros(LONGEST, kind), jnp.ones(LONGEST, kind))


def update(shifts: Shifts, x: Array, hazard: Number) -> tuple[Shifts, Array]:
    """After a sample; and by how much the level has moved for good, by the hypothesis that is now too old to be kept.

    The levels of all others are relative to the moved one.
    """
    moved = shifts.weights[-1] * shifts.level[-1]
    old, level, precision = shifts.weights[:-1], shifts.level[:-1] - moved, shifts.precision[:-1]
    x = x - moved
    none = 1 - jnp.minimum(old.sum(), 1.0)

    outlier = _OUTLIERS * _cauchy(x, _OUTLIER)
    spread = 1 + 1 / precision
    distance = jnp.square(x - level) / spread
    ordinary = (1 - _OUTLIERS) * _student(distance) / jnp.sqrt(spread)
    begun = hazard * ((1 - _OUTLIERS) * _cauchy(x, _JUMP) + outlier)
    joint = jnp.concatenate([jnp.ravel(begun), (1 - hazard) * old * (ordinary + outlier)])
    never = (1 - hazard) * none * ((1 - _OUTLIERS) * _student(jnp.square(x)) + outlier)
    weights = joint / (joint.sum() + never)

    # Student's distribution is a mixture of normal ones: a sample counts by the expected precision of its own.
    count = ordinary / (ordinary + outlier) * ((_FREEDOM + 1) / (_FREEDOM - 2 + distance))
    precise = precision + count
    level = jnp.concatenate([jnp.ravel(x), level + count / precise * (x - level)])
    return Shifts(weights, level, jnp.concatenate([jnp.ones_like(precise[:1]), precise])), moved


def _student(square: Array) -> Array:
    """The density of Student's distribution with variance 1, from the square of the number."""
    return _PEAK / (1 + square / (_FREEDOM - 2)) ** ((_FREEDOM + 1) // 2)


def _cauchy(x: Array, size: float) -> Array:
    return 1 / (math.pi * size * (1 + jnp.square(x / size)))

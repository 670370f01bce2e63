"""Gaussian beliefs: where is the mean of samples whose noise is known?

The kernel is `exp(-precision (theta - mean)^2 / 2)`: it is stored by its own mean, not as a natural parameter, so that
nothing is lost when the mean is far from zero.
"""

import math
from typing import ClassVar, NamedTuple

import jax.numpy as jnp
from jax import Array

from astonish import predictive
from astonish.config import config
from astonish.domain import POSITIVE, Domain, parameter
from astonish.precision import Number, limits, number
from astonish.special import log, reciprocal

_LOG_TWO_PI = math.log(2 * math.pi)


class GaussianBelief(NamedTuple):
    """A normal distribution over the unknown mean."""

    mean: Array
    precision: Array

    @property
    def std(self) -> Array:
        return jnp.asarray(self.precision) ** -0.5

    @property
    def mode(self) -> Array:
        return self.mean

    def __repr__(self) -> str:
        return f"GaussianBelief(mean={self.mean}, std={self.std})"


@config
class Gaussian:
    """Conjugate to samples `x` from a normal distribution with standard deviation `noise` (section 4.10).

    >>> Gaussian(noise=4.0).prior(mean=1.0)
    GaussianBelief(mean=1.0, std=4.0)
    """

    noise: Number = parameter(default=1.0, domain=POSITIVE)
    one_sample_is_enough: ClassVar[bool] = True
    samples: ClassVar[Domain] = Domain()

    def prior(self, mean: Number = 0.0, std: Number | None = None) -> GaussianBelief:
        """A belief with this mean, and as uncertain as one sample unless `std` says otherwise."""
        return GaussianBelief(number(mean), 1 / number(self.noise if std is None else std, "std", POSITIVE) ** 2)

    def flat(self) -> GaussianBelief:
        return GaussianBelief(jnp.zeros(()), jnp.zeros(()))

    def likelihood(self, x: Number) -> GaussianBelief:
        return self.prior(mean=x)

    def blend(self, a: GaussianBelief, u: Number, b: GaussianBelief, v: Number) -> tuple[GaussianBelief, Array]:
        unit = jnp.minimum(a.precision, b.precision)  # in which neither total nor its powers can vanish
        unit = jnp.where(unit > 0, unit, 1.0)
        old, new = u * (a.precision / unit), v * (b.precision / unit)
        total = old + new
        gap = b.mean - a.mean
        distance = jnp.minimum(gap * gap * unit, 1e-4 * limits(total).max)  # cut lest it overflow
        misfit = 0.5 * old * new * reciprocal(total) * distance
        return GaussianBelief(a.mean + new / total * gap, total * unit), misfit

    def log_partition(self, belief: GaussianBelief) -> Array:
        return 0.5 * (_LOG_TWO_PI - log(belief.precision))

    def log_base(self, x: Number) -> Array:
        return -0.5 * _LOG_TWO_PI - log(self.noise)

    def error(self, belief: GaussianBelief, x: Number) -> Array:
        return x - belief.mean

    def predictive_divergence(self, a: GaussianBelief, b: GaussianBelief, x: Number) -> Array:
        noise = jnp.square(self.noise)
        return predictive.normal(b.mean - a.mean, noise + 1 / a.precision, noise + 1 / b.precision)

"""Normal-gamma beliefs: where is the mean of samples, and how noisy are they?

The kernel is `tau^(shape - 1/2) exp(-tau (weight (mu - mean)^2 + 2 scale) / 2)` over the mean `mu` and the precision
`tau` of the samples. Its `scale` is blended as pooled variances are (Chan, Golub & LeVeque 1983), which cannot cancel.
"""

import math
from typing import ClassVar, NamedTuple

import jax.numpy as jnp
from jax import Array

from astonish import predictive
from astonish.config import config
from astonish.domain import POSITIVE, Domain
from astonish.precision import Number, limits, number
from astonish.special import log, log_gamma, reciprocal


class NormalGammaBelief(NamedTuple):
    """As if `weight` samples had been seen of the mean and `2 shape` of the variance."""

    mean: Array
    weight: Array
    shape: Array
    scale: Array

    @property
    def mode(self) -> Array:
        return self.mean

    @property
    def noise(self) -> Array:
        """The standard deviation of samples that goes with the mean precision."""
        return jnp.sqrt(self.scale / self.shape)

    @property
    def std(self) -> Array:
        """How uncertain the mean is, at that noise."""
        return self.noise / jnp.sqrt(self.weight)


@config
class NormalGamma:
    """Conjugate to normal samples `x` of unknown mean and unknown variance.

    One sample says nothing about a variance, so the scaled likelihood is improper: give learners a `reference`.

    >>> NormalGamma().prior(mean=1.0, noise=2.0).noise.item()
    2.0
    """

    one_sample_is_enough: ClassVar[bool] = False
    samples: ClassVar[Domain] = Domain()

    def prior(
        self, mean: Number = 0.0, noise: Number = 1.0, weight: Number = 1.0, shape: Number = 1.0
    ) -> NormalGammaBelief:
        """A belief in this mean, worth `weight` samples, and in this noise, worth `2 shape` samples."""
        named = {"noise": noise, "weight": weight, "shape": shape}
        noise, weight, shape = (number(value, name, POSITIVE) for name, value in named.items())
        return NormalGammaBelief(number(mean), weight, shape, shape * noise**2)

    def flat(self) -> NormalGammaBelief:
        return NormalGammaBelief(*(jnp.full((), value) for value in (0.0, 0.0, 0.5, 0.0)))

    def likelihood(self, x: Number) -> NormalGammaBelief:
        return NormalGammaBelief(number(x), *(jnp.full((), value) for value in (1.0, 1.0, 0.0)))

    def blend(
        self, a: NormalGammaBelief, u: Number, b: NormalGammaBelief, v: Number
    ) -> tuple[NormalGammaBelief, Number]:
        old, new = u * a.weight, v * b.weight
        weight = old + new
        gap = b.mean - a.mean
        distance = jnp.minimum(gap * gap, 1e-4 * limits(weight).max)  # cut lest it overflow
        shape = 0.5 + u * (a.shape - 0.5) + v * (b.shape - 0.5)
        scale = u * a.scale + v * b.scale + 0.5 * old * new * reciprocal(weight) * distance
        return NormalGammaBelief(a.mean + new / weight * gap, weight, shape, scale), 0.0

    def log_partition(self, belief: NormalGammaBelief) -> Array:
        spread = 0.5 * (math.log(2 * math.pi) - log(belief.weight))
        return log_gamma(belief.shape) - belief.shape * log(belief.scale) + spread

    def log_base(self, x: Number) -> Array:
        return jnp.full((), -0.5 * math.log(2 * math.pi))

    def error(self, belief: NormalGammaBelief, x: Number) -> Array:
        return x - belief.mean

    def predictive_divergence(self, a: NormalGammaBelief, b: NormalGammaBelief, x: Number) -> Array:
        return predictive.student(b.mean - a.mean, _predicted(a), _predicted(b))


def _predicted(belief: NormalGammaBelief) -> tuple[Array, Array]:
    """Degrees of freedom and scale of the t distribution of the next sample."""
    return 2 * belief.shape, belief.noise * jnp.sqrt(1 + 1 / belief.weight)

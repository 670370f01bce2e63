"""Normal-gamma beliefs: where is the mean of samples, and how noisy are they?

The kernel is `tau^(shape - 1/2) exp(-tau (weight (mu - mean)^2 + 2 scale) / 2)` over the mean `mu` and the precision
`tau` of the samples. Its `scale` is blended as pooled variances are (Chan, Golub & LeVeque 1983), which cannot cancel.
"""

import math
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.random import Generator

from astonish.beliefs.gamma import GammaBelief, log_partition_near
from astonish.core.names import OutcomeKind
from astonish.core.numbers import FINITE, POSITIVE, Domain, FloatArray, Number, limits, number
from astonish.core.parameters import MEAN, NOISE, Parameter
from astonish.core.special import fraction, log, log_gamma
from astonish.theory import predictive
from astonish.theory.expfam import Family, nearby, printed


class NormalGammaBelief(NamedTuple):
    """As if `weight` samples had been seen of the mean and `2 shape` of the variance."""

    mean: Annotated[Array, FINITE]
    weight: Annotated[Array, POSITIVE]
    shape: Annotated[Array, POSITIVE]
    scale: Annotated[Array, POSITIVE]

    def __repr__(self) -> str:
        def values(exact: NormalGammaBelief) -> dict[str, Any]:
            noise = np.sqrt(exact.scale / exact.shape)
            return {"mean": exact.mean, "noise": noise, "weight": exact.weight, "shape": exact.shape}

        return printed(self, values)

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


class NormalGamma(Family):
    """Where is the mean of normal samples `x`, and how noisy are they?

    One sample says nothing about a variance, so the scaled likelihood is improper: give learners a `reference`.

    >>> NormalGamma().prior(mean=1.0, noise=2.0).noise.item()
    2.0
    """

    name: ClassVar[str] = "normal-gamma"
    takes: ClassVar[tuple[str, ...]] = (OutcomeKind.CONTINUOUS,)
    proper_likelihood: ClassVar[bool] = False
    samples: ClassVar[Domain] = Domain()
    prior_parameters: ClassVar[Mapping[str, Parameter]] = {
        "mean": MEAN,
        "noise": NOISE._replace(about="expected standard deviation of the samples"),
        "weight": Parameter(POSITIVE, (0.1, 10.0), "samples of the mean that the first belief is worth", 1.0),
        "shape": Parameter(POSITIVE, (0.5, 10.0), "half the samples of the noise that it is worth", 1.0),
    }

    def prior(
        self, mean: Number = 0.0, noise: Number = 1.0, weight: Number = 1.0, shape: Number = 1.0
    ) -> NormalGammaBelief:
        """A belief in this mean, worth `weight` samples, and in this noise, worth `2 shape` samples."""
        noise, weight = number(noise, "noise", POSITIVE), number(weight, "weight", POSITIVE)
        shape = number(shape, "shape", POSITIVE)
        return NormalGammaBelief(number(mean, "mean", FINITE), weight, shape, shape * noise**2)

    def flat(self) -> NormalGammaBelief:
        return NormalGammaBelief(*(jnp.full((), value) for value in (0.0, 0.0, 0.5, 0.0)))

    def likelihood(self, x: Number) -> NormalGammaBelief:
        return NormalGammaBelief(number(x), *(jnp.full((), value) for value in (1.0, 1.0, 0.0)))

    def blend(
        self, a: NormalGammaBelief, u: Number, b: NormalGammaBelief, v: Number
    ) -> tuple[NormalGammaBelief, Number]:
        old, new = u * a.weight, v * b.weight
        mean = a.mean + fraction(old, new) * (b.mean - a.mean)
        shape = 0.5 + u * (a.shape - 0.5) + v * (b.shape - 0.5)
        scale = u * a.scale + v * b.scale + _between(a, u, b, v)
        return NormalGammaBelief(mean, old + new, shape, scale), 0.0

    def log_partition(self, belief: NormalGammaBelief) -> Array:
        spread = 0.5 * (math.log(2 * math.pi) - log(belief.weight))
        return log_gamma(belief.shape) - belief.shape * log(belief.scale) + spread

    def log_mass_near(self, a: NormalGammaBelief, u: Number, b: NormalGammaBelief, v: Number) -> Array:
        belief, near = self.blend(a, u, b, v)[0], nearby(a, b)
        of_noise = log_partition_near(GammaBelief(belief.shape, belief.scale), GammaBelief(near.shape, near.scale))
        bent = _between(a, u, b, v) * (near.shape / near.scale)
        return of_noise - bent - 0.5 * log(belief.weight)

    def log_base(self, x: Number) -> Array:
        return jnp.full((), -0.5 * math.log(2 * math.pi))

    def error(self, belief: NormalGammaBelief, x: Number) -> Array:
        return x - belief.mean

    def predicted_std(self, belief: NormalGammaBelief, x: Number) -> Array:
        """Of a t distribution: infinite up to two degrees of freedom."""
        freedom, scale = _predicted(belief)
        return jnp.where(freedom > 2, scale * jnp.sqrt(freedom / jnp.where(freedom > 2, freedom - 2, 1.0)), jnp.inf)

    def predictive_divergence(self, a: NormalGammaBelief, b: NormalGammaBelief, x: Number) -> Array:
        return predictive.student(b.mean - a.mean, _predicted(a), _predicted(b))

    def with_mean(self, belief: NormalGammaBelief, mean: Any) -> NormalGammaBelief:
        return belief._replace(mean=mean)

    def sample(self, belief: NormalGammaBelief, rng: Generator) -> Any:
        """The mean and the standard deviation of samples."""
        noise = rng.gamma(belief.shape, 1 / belief.scale) ** -0.5
        return rng.normal(belief.mean, noise / belief.weight**0.5), noise

    def sample_outcome(self, theta: tuple[float, float], rng: Generator, steps: int) -> FloatArray:
        return rng.normal(*theta, steps)


def _between(a: NormalGammaBelief, u: Number, b: NormalGammaBelief, v: Number) -> Array:
    """What the distance between two means adds to the scale."""
    furthest = 1e-2 * limits(a.mean).max ** 0.5
    return _pooled(u * a.weight, v * b.weight, jnp.clip(b.mean - a.mean, -furthest, furthest))  # cut lest it overflow


@jax.custom_jvp
def _pooled(old: Array, new: Array, gap: Array) -> Array:
    """`old new / (old + new) gap^2 / 2`, with derivatives that do not overflow before it does."""
    return 0.5 * old * fraction(old, new) * gap * gap


_pooled.defjvps(
    lambda tangent, _, old, new, gap: 0.5 * (fraction(old, new) * gap) ** 2 * tangent,
    lambda tangent, _, old, new, gap: 0.5 * (fraction(new, old) * gap) ** 2 * tangent,
    lambda tangent, _, old, new, gap: old * fraction(old, new) * gap * tangent,
)


def _predicted(belief: NormalGammaBelief) -> tuple[Array, Array]:
    """Degrees of freedom and scale of the t distribution of the next sample."""
    return 2 * belief.shape, belief.noise * jnp.sqrt(1 + 1 / belief.weight)

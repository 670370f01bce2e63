"""Gaussian beliefs: where is the mean of samples whose noise is known?

The kernel is `exp(-precision (theta - mean)^2 / 2)`: it is stored by its own mean, not as a natural parameter, so that
nothing is lost when the mean is far from zero.
"""

import math
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.random import Generator

from astonish.core.names import OutcomeKind
from astonish.core.numbers import FINITE, POSITIVE, Domain, FloatArray, Number, limits, number
from astonish.core.parameters import MEAN, NOISE, STD, Parameter
from astonish.core.special import fraction, log, parallel
from astonish.theory import predictive
from astonish.theory.expfam import MeanFamily, printed

_LOG_TWO_PI = math.log(2 * math.pi)


class GaussianBelief(NamedTuple):
    """A normal distribution over the unknown mean."""

    mean: Annotated[Array, FINITE]
    precision: Annotated[Array, POSITIVE]

    @property
    def std(self) -> Array:
        return jnp.asarray(self.precision) ** -0.5

    @property
    def mode(self) -> Array:
        return self.mean

    def __repr__(self) -> str:
        with np.errstate(divide="ignore"):
            return printed(self, lambda exact: {"mean": exact.mean, "std": exact.precision**-0.5})


class Gaussian(MeanFamily):
    """Where is the mean of samples `x` that are normal with standard deviation `noise` (section 4.10)?

    >>> Gaussian(noise=4.0).prior(mean=1.0)
    GaussianBelief(mean=1.0, std=4.0)
    """

    noise: Number = NOISE.field()
    name: ClassVar[str] = "gaussian"
    takes: ClassVar[tuple[str, ...]] = (OutcomeKind.CONTINUOUS,)
    samples: ClassVar[Domain] = Domain()
    support: ClassVar[Domain | None] = Domain()
    usual_samples: ClassVar[tuple[float, float]] = (-10.0, 10.0)
    prior_parameters: ClassVar[Mapping[str, Parameter]] = {"mean": MEAN, "std": STD}

    def prior(self, mean: Number = 0.0, std: Number | None = None) -> GaussianBelief:
        """A belief with this mean, and as uncertain as one sample unless `std` says otherwise."""
        precision = 1 / number(self.noise if std is None else std, "std", POSITIVE) ** 2
        return GaussianBelief(number(mean, "mean", FINITE), precision)

    def flat(self) -> GaussianBelief:
        return GaussianBelief(jnp.zeros(()), jnp.zeros(()))

    def likelihood(self, x: Number) -> GaussianBelief:
        return self.prior()._replace(mean=number(x))

    def blend(self, a: GaussianBelief, u: Number, b: GaussianBelief, v: Number) -> tuple[GaussianBelief, Array]:
        old, new, unit, misfit = _in_units(a, u, b, v)
        return GaussianBelief(a.mean + fraction(old, new) * (b.mean - a.mean), (old + new) * unit), misfit

    def log_mass_near(self, a: GaussianBelief, u: Number, b: GaussianBelief, v: Number) -> Array:
        old, new, _, misfit = _in_units(a, u, b, v)
        return -0.5 * log(old + new) - misfit

    def log_partition(self, belief: GaussianBelief) -> Array:
        return 0.5 * (_LOG_TWO_PI - log(belief.precision))

    def log_base(self, x: Number) -> Array:
        return -0.5 * _LOG_TWO_PI - log(self.noise)

    def predicted_std(self, belief: GaussianBelief, x: Number) -> Array:
        return jnp.hypot(belief.std, jnp.asarray(self.noise))

    def predictive_divergence(self, a: GaussianBelief, b: GaussianBelief, x: Number) -> Array:
        noise = jnp.square(self.noise)
        return predictive.normal(b.mean - a.mean, noise + 1 / a.precision, noise + 1 / b.precision)

    def density(self, belief: GaussianBelief, grid: Any) -> Array:
        return jnp.exp(-0.5 * belief.precision * jnp.square(grid - belief.mean) - self.log_partition(belief))

    def with_mean(self, belief: GaussianBelief, mean: Any) -> GaussianBelief:
        return belief._replace(mean=mean)

    def sample(self, belief: GaussianBelief, rng: Generator) -> Any:
        return rng.normal(belief.mean, belief.precision**-0.5)

    def sample_outcome(self, theta: float, rng: Generator, steps: int) -> FloatArray:
        return rng.normal(theta, self.noise, steps)


def _in_units(a: GaussianBelief, u: Number, b: GaussianBelief, v: Number) -> tuple[Array, Array, Array, Array]:
    """The precisions of `a^u` and `b^v` in a unit in which their sum cannot vanish, the unit, and the misfit."""
    unit = jnp.minimum(a.precision, b.precision)
    unit = jnp.where(unit > 0, unit, 1.0)
    old, new = u * (a.precision / unit), v * (b.precision / unit)
    gap = b.mean - a.mean
    distance = jnp.minimum(gap * gap * unit, 1e-4 * limits(gap).max)  # cut lest it overflow
    return old, new, unit, 0.5 * parallel(old, new) * distance

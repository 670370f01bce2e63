"""Gamma beliefs: at what rate do things happen, judged by counts or by waiting times?"""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, NamedTuple, Protocol

import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.scipy.special import xlogy
from numpy.random import Generator

from astonish.core.names import OutcomeKind
from astonish.core.numbers import POSITIVE, Domain, FloatArray, Number, limits, number
from astonish.core.parameters import Parameter
from astonish.core.special import log, log_gamma, log_gamma_near, log_less
from astonish.theory import predictive
from astonish.theory.expfam import Family, MeanFamily, linear, nearby, printed


class GammaBelief(NamedTuple):
    """`shape - 1` events have, in effect, been seen in a time of `time`."""

    shape: Annotated[Array, POSITIVE]
    time: Annotated[Array, POSITIVE]

    def __repr__(self) -> str:
        with np.errstate(divide="ignore"):
            return printed(self, lambda exact: {"rate": exact.shape / exact.time, "time": exact.time})

    @property
    def mean(self) -> Array:
        return self.shape / self.time

    @property
    def mode(self) -> Array:
        return jnp.maximum(self.shape - 1, 0) / self.time

    @property
    def std(self) -> Array:
        return jnp.sqrt(self.shape) / self.time


def log_partition_near(belief: GammaBelief, near: GammaBelief) -> Array:
    """`log_partition` of a gamma belief less a line (see `Family.log_mass_near`)."""
    by_time = belief.shape * log_less(belief.time, near.time)
    line = (belief.shape - near.shape) * (belief.time / near.time - 1)
    return log_gamma_near(belief.shape, near.shape) - by_time - line


class RateFamily(Family, Protocol):
    """A family of beliefs about the rate of events."""

    takes: ClassVar[tuple[str, ...]] = (OutcomeKind.CONTINUOUS,)
    support: ClassVar[Domain | None] = POSITIVE
    prior_parameters: ClassVar[Mapping[str, Parameter]] = {
        "rate": Parameter(POSITIVE, (0.1, 20.0), "mean of the first belief about the rate of events", 1.0),
        "time": Parameter(POSITIVE, (0.1, 20.0), "time of observation that the first belief is worth", 1.0),
    }

    def prior(self, rate: Number = 1.0, time: Number = 1.0) -> GammaBelief:
        """A belief whose mean is `rate`, worth an observation of this `time`."""
        return GammaBelief(number(rate, "rate", POSITIVE) * number(time, "time", POSITIVE), number(time))

    def flat(self) -> GammaBelief:
        return GammaBelief(jnp.ones(()), jnp.zeros(()))

    def log_partition(self, belief: GammaBelief) -> Array:
        return log_gamma(belief.shape) - belief.shape * log(belief.time)

    def log_mass_near(self, a: GammaBelief, u: Number, b: GammaBelief, v: Number) -> Array:
        return log_partition_near(linear(self.flat(), a, u, b, v)[0], nearby(a, b))

    def density(self, belief: GammaBelief, grid: Any) -> Array:
        return jnp.exp(xlogy(belief.shape - 1, grid) - belief.time * grid - self.log_partition(belief))

    def sample(self, belief: GammaBelief, rng: Generator) -> Any:
        return rng.gamma(belief.shape, 1 / belief.time)


class Poisson(MeanFamily, RateFamily):
    """At what rate do events happen, judged by counts `x` = 0, 1, 2, ... per unit of time?

    >>> Poisson().prior(rate=3.0).mean.item()
    3.0
    """

    name: ClassVar[str] = "poisson"
    samples: ClassVar[Domain] = Domain(0, whole=True)
    usual_samples: ClassVar[tuple[float, float]] = (0.0, 20.0)

    def likelihood(self, x: Number) -> GammaBelief:
        return GammaBelief(1 + number(x), jnp.ones(()))

    def log_base(self, x: Number) -> Array:
        return -log_gamma(1 + number(x))

    def predicted_std(self, belief: GammaBelief, x: Number) -> Array:
        return jnp.sqrt(belief.mean * (1 + 1 / belief.time))

    def predictive_divergence(self, a: GammaBelief, b: GammaBelief, x: Number) -> Array:
        return predictive.negative_binomial(a, b)

    def sample_outcome(self, theta: float, rng: Generator, steps: int) -> Any:
        return rng.poisson(theta, steps)


class Exponential(RateFamily):
    """At what rate do events happen, judged by the waiting times `x` > 0 between them?

    Waits so short that the rate would not be a number any more (1e-302, or 1e-32 in single precision) count as these.

    >>> Exponential().likelihood(2.0).mean.item()  # one event in a time of 2, and one that flatness gives
    1.0
    """

    name: ClassVar[str] = "exponential"
    samples: ClassVar[Domain] = Domain(0, open=True, inside=1.0)
    usual_samples: ClassVar[tuple[float, float]] = (0.05, 10.0)

    def likelihood(self, x: Number) -> GammaBelief:
        wait = number(x)
        return GammaBelief(jnp.full((), 2.0), wait.clip(min=float(limits(wait).tiny) * 2**20))

    def error(self, belief: GammaBelief, x: Number) -> Array:
        """Minus infinity as long as no event has been seen, for the wait that is then expected is infinite."""
        seen = belief.shape - 1
        return x - jnp.where(seen > 0, belief.time / jnp.where(seen > 0, seen, 1.0), jnp.inf)

    def predicted_std(self, belief: GammaBelief, x: Number) -> Array:
        """Infinite as long as fewer than two events have been seen."""
        seen = belief.shape - 1
        some = jnp.where(seen > 1, seen, 2.0)
        return jnp.where(seen > 1, belief.time / some * jnp.sqrt((some + 1) / (some - 1)), jnp.inf)

    def predictive_divergence(self, a: GammaBelief, b: GammaBelief, x: Number) -> Array:
        return predictive.lomax(a, b)

    def expected(self, theta: Any) -> Any:
        return 1 / theta

    def sample_outcome(self, theta: float, rng: Generator, steps: int) -> FloatArray:
        return rng.exponential(1 / theta, steps)

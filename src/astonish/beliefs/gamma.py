"""Gamma beliefs: at what rate do things happen, judged by counts or by waiting times?"""

from typing import ClassVar, NamedTuple

import jax.numpy as jnp
from jax import Array

from astonish import predictive
from astonish.config import config
from astonish.domain import POSITIVE, Domain
from astonish.expfam import linear
from astonish.precision import Number, number
from astonish.special import log, log_gamma


class GammaBelief(NamedTuple):
    """`shape - 1` events have, in effect, been seen in a time of `time`."""

    shape: Array
    time: Array

    @property
    def mean(self) -> Array:
        return self.shape / self.time

    @property
    def mode(self) -> Array:
        return jnp.maximum(self.shape - 1, 0) / self.time

    @property
    def std(self) -> Array:
        return jnp.sqrt(self.shape) / self.time


@config
class Poisson:
    """Conjugate to counts `x` = 0, 1, 2, ... of events per unit of time.

    >>> Poisson().prior(rate=3.0).mean.item()
    3.0
    """

    one_sample_is_enough: ClassVar[bool] = True
    samples: ClassVar[Domain] = Domain(0, whole=True)

    def prior(self, rate: Number = 1.0, time: Number = 1.0) -> GammaBelief:
        """A belief whose mean is `rate`, worth an observation of this `time`."""
        return GammaBelief(number(rate, "rate", POSITIVE) * number(time, "time", POSITIVE), number(time))

    def flat(self) -> GammaBelief:
        return GammaBelief(jnp.ones(()), jnp.zeros(()))

    def likelihood(self, x: Number) -> GammaBelief:
        return GammaBelief(1 + number(x), jnp.ones(()))

    def blend(self, a: GammaBelief, u: Number, b: GammaBelief, v: Number) -> tuple[GammaBelief, Number]:
        return linear(self.flat(), a, u, b, v)

    def log_partition(self, belief: GammaBelief) -> Array:
        return _log_partition(belief)

    def log_base(self, x: Number) -> Array:
        return -log_gamma(1 + number(x))

    def error(self, belief: GammaBelief, x: Number) -> Array:
        return x - belief.mean

    def predictive_divergence(self, a: GammaBelief, b: GammaBelief, x: Number) -> Array:
        return predictive.negative_binomial(a, b)


@config
class Exponential:
    """Conjugate to waiting times `x` > 0 between events; the belief is about their rate.

    >>> Exponential().likelihood(2.0).mean.item()  # one event in a time of 2, and one that flatness gives
    1.0
    """

    one_sample_is_enough: ClassVar[bool] = True
    samples: ClassVar[Domain] = Domain(0, open=True, inside=1.0)

    def prior(self, rate: Number = 1.0, time: Number = 1.0) -> GammaBelief:
        """A belief whose mean is `rate`, worth an observation of this `time`."""
        return Poisson().prior(rate, time)

    def flat(self) -> GammaBelief:
        return Poisson().flat()

    def likelihood(self, x: Number) -> GammaBelief:
        return GammaBelief(jnp.full((), 2.0), number(x))

    def blend(self, a: GammaBelief, u: Number, b: GammaBelief, v: Number) -> tuple[GammaBelief, Number]:
        return linear(self.flat(), a, u, b, v)

    def log_partition(self, belief: GammaBelief) -> Array:
        return _log_partition(belief)

    def log_base(self, x: Number) -> Array:
        return jnp.zeros(())

    def error(self, belief: GammaBelief, x: Number) -> Array:
        """Minus infinity as long as no event has been seen, for the wait that is then expected is infinite."""
        seen = belief.shape - 1
        return x - jnp.where(seen > 0, belief.time / jnp.where(seen > 0, seen, 1.0), jnp.inf)

    def predictive_divergence(self, a: GammaBelief, b: GammaBelief, x: Number) -> Array:
        return predictive.lomax(a, b)


def _log_partition(belief: GammaBelief) -> Array:
    return log_gamma(belief.shape) - belief.shape * log(belief.time)

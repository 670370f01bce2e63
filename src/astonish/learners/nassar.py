"""Delta rules for a mean that jumps, whose rate is nearly what Bayes' rule would have it be.

Nassar, Wilson, Heasly & Gold (2010), and the reduced Bayesian model of Nassar, Rumsey, Wilson, Parikh, Heasly & Gold
(2012). In both the mean jumps to anywhere in a range; `nassar_gaussian` has the versions in which it does not.
"""

import math
from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from astonish.config import config
from astonish.domain import POSITIVE, Domain, parameter
from astonish.learner import Info
from astonish.precision import Number, limits

CHANCE = Domain(0.0, 1.0, open=True)


class Run(NamedTuple):
    """An estimate, and how many samples it is thought to rest on."""

    mean: Array
    length: Array


class Doubt(NamedTuple):
    """An estimate, and its variance as a multiple of that of the noise: one over a run length, but free to grow."""

    mean: Array
    variance: Array

    @property
    def relative_uncertainty(self) -> Array:
        """The share of the doubt about the mean in the variance of the next sample (their tau)."""
        return self.variance / (1 + self.variance)


@config
class Nassar2010:
    """Knows the noise, how often the mean jumps (`hazard`), and that it jumps to anywhere from `low` to `high`.

    It reports Shannon's surprise; its rate is the weight of the new sample in its estimate.
    likelihood_weight: how much it heeds the evidence for a jump; 1 is normative, people are often below.
    """

    noise: Number = parameter(default=1.0, domain=POSITIVE)
    hazard: Number = parameter(default=0.1, domain=CHANCE)
    low: Number = parameter(default=-20.0, domain=Domain())
    high: Number = parameter(default=20.0, domain=Domain())
    likelihood_weight: Number = parameter(default=1.0, domain=Domain(0.0))
    samples: ClassVar[Domain] = Domain()

    def __post_init__(self) -> None:
        _need_room(self.low, self.high)

    def init(self) -> Run:
        middle = _middle(self.low, self.high)
        return Run(middle, jnp.ones_like(middle))

    def step(self, state: Run, x: Number) -> tuple[Run, Info]:
        std = self.noise * jnp.sqrt(1 + 1 / state.length)
        stay, jump = _log_normal(_distance(x, state.mean, std), std), _log_flat(self.low, self.high)
        jumped = jax.nn.sigmoid(self.likelihood_weight * (jump - stay) + log_odds(self.hazard))
        rate = (1 + jumped * state.length) / (state.length + 1)
        mean = (1 - rate) * state.mean + rate * x
        length = (1 - jumped) * (state.length + 1) + jumped
        return Run(mean, length), Info(mixture_surprise(stay, jump, self.hazard), rate, jumped)

    def estimate(self, state: Run) -> Array:
        return state.mean


@config
class Nassar2012:
    """As `Nassar2010`, but not knowing whether the mean has jumped makes it uncertain, and so quicker to learn.

    It reports Shannon's surprise, of someone who heeds evidence as one should.
    start: its first estimate; the middle of the range when left out. uncertainty: how uncertain it is of that, as a
    share of the variance of the first sample; 1/2 is as if one sample had been seen.
    surprise_sensitivity: how much it heeds the evidence for a jump; 1 is normative, 0 ignores it.
    uncertainty_underestimation: the logarithm of the factor by which it takes its variance to be smaller than it is.
    """

    noise: Number = parameter(default=1.0, domain=POSITIVE)
    hazard: Number = parameter(default=0.1, domain=CHANCE)
    low: Number = parameter(default=-20.0, domain=Domain())
    high: Number = parameter(default=20.0, domain=Domain())
    start: Number | None = None
    uncertainty: Number = parameter(default=0.5, domain=CHANCE)
    surprise_sensitivity: Number = parameter(default=1.0, domain=Domain(0.0))
    uncertainty_underestimation: Number = parameter(default=0.0, domain=Domain())
    samples: ClassVar[Domain] = Domain()

    def __post_init__(self) -> None:
        _need_room(self.low, self.high)

    def init(self) -> Doubt:
        start = self.start
        mean = _middle(self.low, self.high) if start is None else jnp.asarray(start, jnp.result_type(float, start))
        share = jnp.asarray(self.uncertainty, mean.dtype)
        return Doubt(mean, share / (1 - share))

    def step(self, state: Doubt, x: Number) -> tuple[Doubt, Info]:
        std = jnp.sqrt(1 + state.variance)  # of the next sample, in units of the noise, as is the gap
        gap = _distance(x, state.mean, self.noise)
        stay, jump = _log_normal(gap / std, self.noise * std), _log_flat(self.low, self.high)
        odds = self.surprise_sensitivity * (jump - stay) + log_odds(self.hazard)
        jumped, stayed = jax.nn.sigmoid(odds), jax.nn.sigmoid(-odds)
        rate = jumped + (1 - jumped) * state.relative_uncertainty
        mean = (1 - rate) * state.mean + rate * x
        variance = rate + jumped * stayed * (gap / (1 + state.variance)) ** 2
        info = Info(mixture_surprise(stay, jump, self.hazard), rate, jumped)
        return Doubt(mean, self._underestimated(variance)), info

    def estimate(self, state: Doubt) -> Array:
        return state.mean

    def _underestimated(self, variance: Array) -> Array:
        kind = limits(variance)  # within which it must stay to remain a number
        return jnp.clip(variance * jnp.exp(-self.uncertainty_underestimation), kind.tiny, 1e-4 * kind.max)


def log_odds(chance: Number) -> Array:
    """Logarithm of the odds that belong to a probability."""
    return jnp.log(chance) - jnp.log1p(-jnp.asarray(chance))


def mixture_surprise(stay: Array, jump: Array, hazard: Number) -> Array:
    """Shannon's surprise at a sample, from its log-densities if the mean has stayed and if it has jumped."""
    return -jnp.logaddexp(stay + jnp.log1p(-jnp.asarray(hazard)), jump + jnp.log(hazard))


def _need_room(low: Number, high: Number) -> None:
    if isinstance(low, float | int) and isinstance(high, float | int) and low >= high:
        raise ValueError(f"low = {low:g} and high = {high:g} leave no room for the mean; give low below high")


def _middle(low: Number, high: Number) -> Array:
    return 0.5 * (jnp.asarray(low, jnp.result_type(float, low)) + high)


def _distance(x: Number, mean: Array, std: Number) -> Array:
    """How many standard deviations a sample is from the mean, cut at a number whose square is still a number."""
    furthest = 0.1 * limits(mean).max ** 0.5
    return jnp.clip((x - mean) / std, -furthest, furthest)


def _log_normal(distance: Array, std: Number) -> Array:
    return -0.5 * distance * distance - jnp.log(std) - 0.5 * math.log(2 * math.pi)


def _log_flat(low: Number, high: Number) -> Array:
    return -jnp.log(jnp.asarray(high) - low)

"""How fast does the world move? Kalman filters that learn the size of its steps from the samples (Piray & Daw 2020)."""

import math
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, NamedTuple, Protocol

import jax
import jax.numpy as jnp
from jax import Array
from numpy.random import Generator

from astonish.beliefs import Gaussian
from astonish.core.names import NUMBERS
from astonish.core.numbers import (
    FINITE,
    NOT_NEGATIVE,
    POSITIVE,
    PROBABILITY,
    Domain,
    FloatArray,
    Number,
    floats,
    limits,
)
from astonish.core.parameters import NOISE, START, Parameter, parameter
from astonish.core.special import fraction, log, parallel
from astonish.learners.base import BinaryLearner, Learner, NumberLearner, StepInfo
from astonish.learners.kalman import DRIFT

VOLATILITY_RATE = Parameter(PROBABILITY, (0.01, 0.5), "how fast volatility is updated", 0.1, symbol="lambda")
_CERTAIN = 1e-12  # as close to 0 and 1 as a probability that is put into a state may be


class VolatileState(NamedTuple):
    """What is followed: its mean m and variance w, and its volatility v, the variance of its step before each sample.

    A number that wanders, or, of outcomes 0 and 1, the log-odds of a 1.
    """

    mean: Annotated[Array, FINITE]
    variance: Annotated[Array, NOT_NEGATIVE]
    volatility: Annotated[Array, NOT_NEGATIVE]


class _FollowsVolatility(Protocol):
    """The field of a volatile filter, which each declares in an order of its own."""

    volatility_rate: Number


class VolatileFilter(_FollowsVolatility, Learner, Protocol):
    """What the filters for numbers and for outcomes 0 and 1 share."""

    surprise_measure: ClassVar[str] = "shannon"
    meanings: ClassVar[Mapping[str, str]] = {
        "volatility": "variance of the step that what is followed takes before the next outcome (v)",
        "variance": "variance of what is followed, given the outcomes so far (w)",
    }

    def quantities(self, state: VolatileState, new: VolatileState, x: Number) -> dict[str, Array]:
        return {"volatility": new.volatility, "variance": new.variance}

    def uncertainty(self, state: VolatileState) -> Array:
        return jnp.sqrt(state.variance)

    def step_variance(self, state: VolatileState) -> Array:
        return state.volatility

    def updated(self, state: VolatileState, noise_variance: Array, moved: Array, gain: Array) -> VolatileState:
        """The state after the mean has moved so far; no variance is a difference, so that none can be negative.

        With w' = (1 - k)(w + v), the expected square of the step, (m' - m)^2 + w + w' - 2 (1 - k) w, is
        (m' - m)^2 + k w + (1 - k) v.
        """
        variance = parallel(state.variance + state.volatility, noise_variance)
        new = jnp.square(moved) + gain * state.variance
        volatility = (1 - self.volatility_rate * gain) * state.volatility + self.volatility_rate * new
        return VolatileState(state.mean + moved, variance, volatility)


class VolatileKalman(VolatileFilter, NumberLearner):
    """A Kalman filter for a mean whose steps may become larger or smaller: after large errors it learns faster.

    It reports Shannon's surprise; its learning rate is the Kalman gain. The paper's sigma^2 is `noise` squared, its v0
    is `drift` squared, and the variance of the first belief is that of the noise. Outcomes 0 and 1 are numbers to it.
    Without `volatility_rate`, it is the Kalman filter.
    """

    noise: Number = NOISE.field()
    volatility_rate: Number = VOLATILITY_RATE.field(usual=(0.001, 0.1))
    drift: Number = DRIFT.field(about="standard deviation of the mean's step before the first sample")
    start: Number = START.field()
    name: ClassVar[str] = "vkf"
    takes: ClassVar[tuple[str, ...]] = NUMBERS
    free: ClassVar[tuple[str, ...]] = ("volatility_rate", "drift")

    def init(self) -> VolatileState:
        start, drift, *_ = floats(self.start, self.drift, self.noise, self.volatility_rate)
        return VolatileState(start, self._noise_variance.astype(start.dtype), jnp.square(drift))

    def step(self, state: VolatileState, x: Number) -> tuple[VolatileState, StepInfo]:
        expected, error = state.variance + state.volatility, x - state.mean
        gain, spread = fraction(self._noise_variance, expected), self._noise_variance + expected
        surprise = 0.5 * (log(2 * math.pi * spread) + error * (error / spread))
        return self.updated(state, self._noise_variance, gain * error, gain), StepInfo(surprise, gain)

    def simulate(self, rng: Generator, steps: int) -> FloatArray:
        family = Gaussian(self.noise)
        return family.sample_outcome(family.sample(family.prior(self.start, self.noise), rng), rng, steps)

    @property
    def _noise_variance(self) -> Array:
        (noise,) = floats(self.noise)
        least = float(limits(noise).tiny) ** (1 / 3)  # whose square, in derivatives, is still a number
        return jnp.maximum(jnp.square(noise), least)


class BinaryVolatileKalman(VolatileFilter, BinaryLearner):
    """The same for outcomes 0 and 1, of which it follows the log-odds of a 1. Its estimate is the probability of a 1.

    It reports Shannon's surprise. Its learning rate is that of the estimate: the share of the error, outcome less
    estimate, by which the estimate moves.
    """

    volatility_rate: Number = VOLATILITY_RATE.field()
    v0: Number = parameter(0.1, Domain(0.0), (0.01, 1.0), "volatility before the first sample, of the log-odds")
    omega: Number = parameter(
        0.1, POSITIVE, (0.01, 1.0), "variance of the noise, of the log-odds, and of the first belief"
    )
    name: ClassVar[str] = "vkf-binary"
    free: ClassVar[tuple[str, ...]] = ("volatility_rate", "v0", "omega")

    def init(self) -> VolatileState:
        omega, v0, _ = floats(self.omega, self.v0, self.volatility_rate)
        return VolatileState(jnp.zeros_like(omega), omega, v0)

    def step(self, state: VolatileState, x: Number) -> tuple[VolatileState, StepInfo]:
        expected, omega = state.variance + state.volatility, jnp.asarray(self.omega)
        sign = jnp.where(jnp.asarray(x) == 1, 1.0, -1.0).astype(state.mean.dtype)
        moved = jnp.sqrt(expected) * sign * jax.nn.sigmoid(-sign * state.mean)  # outcome less estimate, to all digits
        new = self.updated(state, omega, moved, fraction(omega, expected))
        surprise, after = jax.nn.softplus(-sign * state.mean), jax.nn.softplus(sign * new.mean)
        rate = -jnp.expm1(jax.nn.softplus(sign * state.mean) - after)  # one minus the ratio of the errors
        return new, StepInfo(surprise, jnp.clip(rate, 0.0, 1.0))

    def estimate(self, state: VolatileState) -> Array:
        return jax.nn.sigmoid(state.mean)

    def uncertainty(self, state: VolatileState) -> Array:
        return self._slope(state) * jnp.sqrt(state.variance)

    def step_variance(self, state: VolatileState) -> Array:
        return jnp.square(self._slope(state)) * state.volatility

    def _slope(self, state: VolatileState) -> Array:
        """By how much the probability of a 1 rises with its log-odds."""
        return jax.nn.sigmoid(state.mean) * jax.nn.sigmoid(-state.mean)

    def with_estimate(self, state: VolatileState, value: Any) -> VolatileState:
        probability = jnp.clip(value, _CERTAIN, 1 - _CERTAIN)
        return state._replace(mean=jnp.log(probability) - jnp.log1p(-probability))

    def simulate(self, rng: Generator, steps: int) -> Any:
        log_odds = rng.normal(0.0, math.sqrt(self.omega))
        return rng.binomial(1, 1 / (1 + math.exp(-log_odds)), steps)

"""Are samples scattered because they are noisy, or because what they are about has moved?

The Rao-Blackwellised particle filter of Piray & Daw (2021): every particle holds a guess of the noise (stochasticity)
and of how far the mean moves (volatility), and a Kalman filter that takes both for granted.
"""

from typing import Annotated, Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from astonish.core.numbers import (
    COUNT,
    FINITE,
    NOT_NEGATIVE,
    POSITIVE,
    PROBABILITY,
    RANDOM_BITS,
    WHOLE,
    Number,
    limits,
    random_key,
)
from astonish.core.parameters import MEAN, NOISE, STD, parameter
from astonish.core.special import fraction, log, parallel
from astonish.learners.base import NumberLearner, StepInfo
from astonish.learners.kalman import DRIFT
from astonish.learners.particle_filter import resampled, reweighted


class KalmanParticles(NamedTuple):
    """What each particle believes, its weight, and the key of the random numbers to come.

    mean, variance: of its Kalman filter. log_stochasticity: the logarithm of its variance of samples about the mean.
    log_volatility: the same of the mean's step before each sample.
    """

    mean: Annotated[Array, FINITE]
    variance: Annotated[Array, POSITIVE]
    log_stochasticity: Annotated[Array, FINITE]
    log_volatility: Annotated[Array, FINITE]
    weights: Annotated[Array, NOT_NEGATIVE]
    key: Array


class StochasticityVolatility(NumberLearner):
    """A mean that takes normal steps, seen through normal noise, where the sizes of both change all the time.

    Before each sample, the precision of samples is multiplied by a random number with mean 1 that varies the more the
    larger `lambda_s` is, and the precision of the mean's step likewise by `lambda_v`. With a lambda of 0 that precision
    is known and fixed. The two lesioned learners of the paper are these: `lambda_s=0` takes noise for volatility, and
    `lambda_v=0` takes volatility for noise. With both 0 it is the Kalman filter.

    It reports Shannon's surprise; its learning rate is the Kalman gain, averaged over particles. Particles are
    resampled, systematically, as soon as the effective sample size is no more than half of their number. The same seed
    gives the same answers. noise, drift, mean, std: what is believed before the first step.
    Its likelihood jumps wherever other particles are resampled: a search for parameters is slow, and may not converge,
    which a fit then says.
    """

    lambda_s: Number = parameter(0.1, PROBABILITY, (0.01, 0.5), "how fast the noise changes; at 0 it stays as it is")
    lambda_v: Number = parameter(0.1, PROBABILITY, (0.01, 0.5), "how fast the drift changes; at 0 it stays as it is")
    noise: Number = NOISE.field(about="standard deviation of the samples, at first")
    drift: Number = DRIFT.field(domain=POSITIVE, about=f"{DRIFT.about}, at first")
    mean: Number = MEAN.field()
    std: Number = STD.field(default=1.0)
    particles: int = parameter(100, COUNT, (20, 200), "how many particles there are", static=True)
    seed: Number = parameter(0, WHOLE, (0, 1000), "seed of the particles' random numbers")
    name: ClassVar[str] = "stochasticity-volatility"
    surprise_measure: ClassVar[str] = "shannon"
    free: ClassVar[tuple[str, ...]] = ("lambda_s", "lambda_v")
    meanings: ClassVar[dict[str, str]] = {
        "stochasticity": "variance that samples are believed to have, after the outcome",
        "volatility": "variance that the mean's steps are believed to have, after the outcome",
    }

    def init(self) -> KalmanParticles:
        numbers = (self.mean, jnp.square(self.std), 2 * jnp.log(self.noise), 2 * jnp.log(self.drift))
        kind, key = jnp.result_type(float, *numbers), jax.random.key_data(random_key(self.seed))
        mean, variance, stochasticity, volatility = (jnp.full(self.particles, number, kind) for number in numbers)
        weights = jnp.full_like(mean, 1 / self.particles)
        return KalmanParticles(mean, variance, _bounded(stochasticity), _bounded(volatility), weights, key)

    def step(self, state: KalmanParticles, x: Number) -> tuple[KalmanParticles, StepInfo]:
        count = self.particles
        key, now = jax.random.split(jax.random.wrap_key_data(state.key, impl=RANDOM_BITS))
        uniforms = jax.random.uniform(now, (4 * count + 1,))
        for_noise, for_drift = uniforms[:-1].reshape(2, 2, count)
        stochasticity = _bounded(state.log_stochasticity - log_multiplier(self.lambda_s, *for_noise))
        volatility = _bounded(state.log_volatility - log_multiplier(self.lambda_v, *for_drift))
        expected = state.variance + jnp.exp(volatility)
        noise = jnp.exp(stochasticity)
        spread = expected + noise  # of the sample; errors so large that their squares overflow are cut
        most = limits(spread).max ** 0.49
        scaled = jnp.clip((x - state.mean) / jnp.sqrt(spread), -most, most)
        evidence = -0.5 * (jnp.square(scaled) + log(2 * jnp.pi * spread))
        posterior, surprise = reweighted(state.weights, evidence)
        places = (jnp.arange(count) + uniforms[-1]) / count  # of systematic resampling: one draw, evenly repeated
        chosen, weights = resampled(places, posterior)
        gain = fraction(noise, expected)
        mean, variance = (1 - gain) * state.mean + gain * x, parallel(expected, noise)
        rate = jnp.clip(weights @ gain[chosen], 0.0, 1.0)
        particles = mean[chosen], variance[chosen], stochasticity[chosen], volatility[chosen]
        return KalmanParticles(*particles, weights, jax.random.key_data(key)), StepInfo(surprise, rate)

    def estimate(self, state: KalmanParticles) -> Array:
        return state.weights @ state.mean

    def uncertainty(self, state: KalmanParticles) -> Array:
        """The standard deviation of what all particles believe: the spread within each, and between them."""
        off = state.mean - self.estimate(state)
        return jnp.sqrt(state.weights @ (state.variance + jnp.square(off)))

    def step_variance(self, state: KalmanParticles) -> Array:
        return self.volatility(state)

    def quantities(self, state: KalmanParticles, new: KalmanParticles, x: Number) -> dict[str, Array]:
        return {"stochasticity": self.stochasticity(new), "volatility": self.volatility(new)}

    def stochasticity(self, state: KalmanParticles) -> Array:
        """The variance of samples about the mean that is believed in: 1 over the expected precision."""
        return 1 / (state.weights @ jnp.exp(-state.log_stochasticity))

    def volatility(self, state: KalmanParticles) -> Array:
        """The variance of the mean's steps that is believed in: 1 over the expected precision."""
        return 1 / (state.weights @ jnp.exp(-state.log_volatility))

    def with_estimate(self, state: KalmanParticles, value: Any) -> KalmanParticles:
        return state._replace(mean=state.mean + (value - self.estimate(state)))


def log_multiplier(rate: Number, u: Array, v: Array) -> Array:
    """The logarithm of e / eta, where e ~ Beta(eta nu, (1 - eta) nu), eta = 1 - rate and nu = 1 / (2 (1 - eta)).

    Exact, from two numbers that are uniform between 0 and 1. Since (1 - eta) nu is 1/2, e is distributed as
    n / (n + t^2), where t follows Student's distribution with n = (1 - rate) / rate degrees of freedom, which Bailey
    (1994) draws as t^2 = n (u^(-2/n) - 1) cos(2 pi v)^2.
    """
    rate = jnp.minimum(rate, 1 - limits(rate).eps ** 0.5)  # close to 1 the precision is almost surely 0
    grown = -jnp.log1p(-u) * (2 * rate / (1 - rate))  # the logarithm of u^(-2/n), from 1 - u, which is never 0
    share = jnp.square(jnp.cos(2 * jnp.pi * v))
    return -grown - log(share + (1 - share) * jnp.exp(-grown)) - jnp.log1p(-rate)


def _bounded(log_variance: Array) -> Array:
    """Kept between bounds so far away that only rounding and overflow are behind them."""
    most = 0.4 * jnp.log(limits(log_variance).max)
    return jnp.clip(log_variance, -most, most)

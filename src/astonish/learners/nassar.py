"""Delta rules for a mean that jumps, whose rate is nearly what Bayes' rule would have it be.

Nassar, Wilson, Heasly & Gold (2010), and the reduced Bayesian model of Nassar, Rumsey, Wilson, Parikh, Heasly & Gold
(2012). In both the mean jumps to anywhere in a range; `nassar_gaussian` has the versions in which it does not.
"""

import math
from typing import Annotated, Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from numpy.random import Generator

from astonish.core.numbers import (
    FINITE,
    NOT_NEGATIVE,
    OPEN_PROBABILITY,
    POSITIVE,
    Domain,
    FloatArray,
    Number,
    floats,
    limits,
)
from astonish.core.parameters import HAZARD, HIGH, LOW, NOISE, START, Parameter, check_ends
from astonish.learners.base import NumberLearner, StepInfo

EVIDENCE_WEIGHT = Parameter(Domain(0.0), (0.1, 2.0), "weight of the evidence for a jump; 1 is normative", 1.0)
FIRST_UNCERTAINTY = Parameter(
    OPEN_PROBABILITY, (0.1, 0.9), "uncertainty of the first estimate, as a share of that of the first sample", 0.5
)
UNDERESTIMATION = Parameter(
    Domain(), (-1.0, 4.0), "logarithm of the factor by which it takes its variance to be smaller than it is", 0.0
)


class RunLength(NamedTuple):
    """An estimate, and how many samples it is thought to rest on."""

    mean: Annotated[Array, FINITE]
    length: Annotated[Array, POSITIVE]


class RelativeVariance(NamedTuple):
    """An estimate, and its variance as a multiple of that of the noise: one over a run length, but free to grow."""

    mean: Annotated[Array, FINITE]
    variance: Annotated[Array, NOT_NEGATIVE]

    @property
    def relative_uncertainty(self) -> Array:
        """The share of the doubt about the mean in the variance of the next sample (their tau)."""
        return self.variance / (1 + self.variance)


class UniformJumps(NumberLearner):
    """What both learners share: the world in which they learn."""

    noise: Number = NOISE.field()
    hazard: Number = HAZARD.field()
    low: Number = LOW.field()
    high: Number = HIGH.field()
    free: ClassVar[tuple[str, ...]] = ("hazard",)
    surprise_measure: ClassVar[str] = "shannon"

    def __post_init__(self) -> None:
        check_ends(self.low, self.high, "the mean")

    def simulate(self, rng: Generator, steps: int) -> FloatArray:
        return rng.normal(rng.uniform(self.low, self.high), self.noise, steps)


class Nassar2010(UniformJumps):
    """Knows the noise, how often the mean jumps (`hazard`), and that it jumps to anywhere from `low` to `high`.

    It reports Shannon's surprise; its learning rate is the weight of the new sample in its estimate. People are often
    below the normative `likelihood_weight`.
    """

    likelihood_weight: Number = EVIDENCE_WEIGHT.field()
    name: ClassVar[str] = "nassar2010"

    def init(self) -> RunLength:
        middle = 0.5 * (floats(self.low)[0] + self.high)
        return RunLength(middle, jnp.ones_like(middle))

    def step(self, state: RunLength, x: Number) -> tuple[RunLength, StepInfo]:
        std = self.noise * jnp.sqrt(1 + 1 / state.length)
        stay, jump = _log_normal(_distance(x, state.mean, std), std), -jnp.log(jnp.asarray(self.high) - self.low)
        jumped = jax.nn.sigmoid(self.likelihood_weight * (jump - stay) + log_odds(self.hazard))
        rate = (1 + jumped * state.length) / (state.length + 1)
        mean = (1 - rate) * state.mean + rate * x
        length = (1 - jumped) * (state.length + 1) + jumped
        return RunLength(mean, length), StepInfo(mixture_surprise(stay, jump, self.hazard), rate, jumped)

    def uncertainty(self, state: RunLength) -> Array:
        return self.noise / jnp.sqrt(state.length)


class Nassar2012(UniformJumps):
    """As `Nassar2010`, but not knowing whether the mean has jumped makes it uncertain, and so quicker to learn.

    It reports Shannon's surprise of an observer who weighs the evidence normatively.
    A `first_uncertainty` of 1/2 is as if one sample had been seen.
    """

    start: Number | None = START.field(default=None, about="first estimate; else the middle of the range", fact="")
    first_uncertainty: Number = FIRST_UNCERTAINTY.field()
    surprise_sensitivity: Number = EVIDENCE_WEIGHT.field()
    uncertainty_underestimation: Number = UNDERESTIMATION.field()
    name: ClassVar[str] = "nassar2012"

    def init(self) -> RelativeVariance:
        start = self.start
        mean = 0.5 * (floats(self.low)[0] + self.high) if start is None else floats(start)[0]
        share = jnp.asarray(self.first_uncertainty, mean.dtype)
        return RelativeVariance(mean, share / (1 - share))

    def step(self, state: RelativeVariance, x: Number) -> tuple[RelativeVariance, StepInfo]:
        std = jnp.sqrt(1 + state.variance)  # of the next sample, in units of the noise, as is the gap
        gap = _distance(x, state.mean, self.noise)
        stay, jump = _log_normal(gap / std, self.noise * std), -jnp.log(jnp.asarray(self.high) - self.low)
        variance, info = reduced_bayes(self, state, gap, stay, jump)
        mean = (1 - info.learning_rate) * state.mean + info.learning_rate * x
        return RelativeVariance(mean, variance), info

    def uncertainty(self, state: RelativeVariance) -> Array:
        return self.noise * jnp.sqrt(state.variance)


def reduced_bayes(
    learner: Any, state: RelativeVariance, gap: Array, stay: Array, jump: Array
) -> tuple[Array, StepInfo]:
    """Find the relative variance after a sample, and the learning rate (the equations of Nassar et al. 2012).

    Args:
        learner: A `Nassar2012` or `NassarCircular`.
        state: The belief before the sample.
        gap: How far the sample is from the mean, in units of the noise.
        stay: The sample's log-density if the mean has stayed.
        jump: The same if the mean has jumped.
    """
    odds = learner.surprise_sensitivity * (jump - stay) + log_odds(learner.hazard)
    jumped, stayed = jax.nn.sigmoid(odds), jax.nn.sigmoid(-odds)
    rate = jumped + (1 - jumped) * state.relative_uncertainty
    variance = rate + jumped * stayed * (gap / (1 + state.variance)) ** 2
    kind = limits(variance)  # within which it must stay to remain a number
    variance = jnp.clip(variance * jnp.exp(-learner.uncertainty_underestimation), kind.tiny, 1e-4 * kind.max)
    return variance, StepInfo(mixture_surprise(stay, jump, learner.hazard), rate, jumped)


def log_odds(probability: Number) -> Array:
    """Logarithm of the odds that belong to a probability."""
    return jnp.log(probability) - jnp.log1p(-jnp.asarray(probability))


def mixture_surprise(stay: Array, jump: Array, hazard: Number) -> Array:
    """Shannon's surprise at a sample, from its log-densities if the mean has stayed and if it has jumped."""
    return -jnp.logaddexp(stay + jnp.log1p(-jnp.asarray(hazard)), jump + jnp.log(hazard))


def _distance(x: Number, mean: Array, std: Number) -> Array:
    """How many standard deviations a sample is from the mean, cut at a number whose square is still a number."""
    most = 0.1 * limits(mean).max ** 0.5
    return jnp.clip((x - mean) / std, -most, most)


def _log_normal(distance: Array, std: Number) -> Array:
    return -0.5 * distance * distance - jnp.log(std) - 0.5 * math.log(2 * math.pi)

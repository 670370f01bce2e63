"""A delta rule for a direction that jumps, whose rate is nearly what Bayes' rule would have it be.

The reduced Bayesian model of Nassar, Rumsey, Wilson, Parikh, Heasly & Gold (2012) on a circle: errors go the shorter
way round, samples have a von Mises distribution about the direction, which jumps to anywhere on the circle.
"""

import math
from typing import ClassVar

import jax.numpy as jnp
from jax import Array
from numpy.random import Generator

from astonish.beliefs import VonMises
from astonish.core.numbers import FloatArray, Number
from astonish.core.parameters import CONCENTRATION, DIRECTION, HAZARD, PERIOD
from astonish.core.special import log, log_von_mises, wrapped
from astonish.learners import nassar
from astonish.learners.base import CircularLearner, StepInfo


class NassarCircular(CircularLearner):
    """Knows how concentrated samples are, and that the direction jumps anywhere with probability `hazard` before each.

    The variance of samples is taken to be 1 / `concentration`, as it is for small noise, where this learner agrees with
    `Nassar2012`. It reports Shannon's surprise of an observer who weighs the evidence normatively.
    A `first_uncertainty` of 1/2 is as if one sample had been seen.
    """

    concentration: Number = CONCENTRATION.field()
    hazard: Number = HAZARD.field()
    period: Number = PERIOD.field()
    start: Number = DIRECTION.field()
    first_uncertainty: Number = nassar.FIRST_UNCERTAINTY.field()
    surprise_sensitivity: Number = nassar.EVIDENCE_WEIGHT.field()
    uncertainty_underestimation: Number = nassar.UNDERESTIMATION.field()
    name: ClassVar[str] = "reduced-bayes-circular"
    surprise_measure: ClassVar[str] = "shannon"
    free: ClassVar[tuple[str, ...]] = ("hazard",)

    def init(self) -> nassar.RelativeVariance:
        mean = jnp.asarray(wrapped(self.start, self.period))
        share = jnp.asarray(self.first_uncertainty, mean.dtype)
        return nassar.RelativeVariance(mean, share / (1 - share))

    def step(self, state: nassar.RelativeVariance, x: Number) -> tuple[nassar.RelativeVariance, StepInfo]:
        error = wrapped(x - state.mean, self.period)
        angle = 2 * math.pi / self.period * error
        jump = -log(self.period)
        stay = log_von_mises(angle, self.concentration / (1 + state.variance)) + math.log(2 * math.pi) + jump
        variance, info = nassar.reduced_bayes(self, state, angle * jnp.sqrt(self.concentration), stay, jump)
        return nassar.RelativeVariance(wrapped(state.mean + info.learning_rate * error, self.period), variance), info

    def uncertainty(self, state: nassar.RelativeVariance) -> Array:
        """The standard deviation of the direction, as of a normal distribution: it may exceed the circle."""
        return self.period / (2 * math.pi) * jnp.sqrt(state.variance / self.concentration)

    def estimate(self, state: nassar.RelativeVariance) -> Array:
        return state.mean

    def with_estimate(self, state: nassar.RelativeVariance, value: Number) -> nassar.RelativeVariance:
        return state._replace(mean=wrapped(value, self.period))

    def simulate(self, rng: Generator, steps: int) -> FloatArray:
        family = VonMises(self.concentration, self.period)
        return family.sample_outcome(family.sample(family.prior(), rng), rng, steps)

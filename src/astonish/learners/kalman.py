"""Where is a mean that wanders? The filter of Kalman (1960), in one dimension."""

from typing import ClassVar, Protocol

import jax.numpy as jnp
from jax import Array
from numpy.random import Generator

from astonish.beliefs import Gaussian, GaussianBelief
from astonish.core.numbers import NOT_NEGATIVE, FloatArray, Number
from astonish.core.parameters import MEAN, NOISE, STD, Parameter
from astonish.learners.base import NumberLearner, StepInfo
from astonish.theory.expfam import bayes
from astonish.theory.surprise import shannon

DRIFT = Parameter(NOT_NEGATIVE, (0.002, 0.5), "standard deviation of the mean's step before each sample", 0.1, "drift")


class _KnowsNoise(Protocol):
    """The fields of a Gaussian filter, which it declares in an order of its own."""

    noise: Number
    mean: Number
    std: Number


class GaussianFilter(_KnowsNoise, NumberLearner, Protocol):
    """A learner that knows the noise of normal samples, and whose state is a Gaussian belief about their mean."""

    surprise_measure: ClassVar[str] = "shannon"

    def init(self) -> GaussianBelief:
        return Gaussian(self.noise).prior(self.mean, self.std)

    def uncertainty(self, state: GaussianBelief) -> Array:
        return state.std

    def simulate(self, rng: Generator, steps: int) -> FloatArray:
        family = Gaussian(self.noise)
        return family.sample_outcome(family.sample(self.init(), rng), rng, steps)


class Kalman(GaussianFilter):
    """Before every sample, the first included, the mean takes a normal step with standard deviation `drift`.

    Exact in that world. It reports Shannon's surprise; its learning rate is the Kalman gain, which does not depend on
    the samples. A missing sample changes nothing: no time passes. mean, std: the belief before the first step.
    """

    noise: Number = NOISE.field()
    drift: Number = DRIFT.field()
    mean: Number = MEAN.field()
    std: Number = STD.field(default=1.0)
    name: ClassVar[str] = "kalman"
    free: ClassVar[tuple[str, ...]] = ("drift",)

    def step_variance(self, state: GaussianBelief) -> Array:
        return jnp.square(jnp.asarray(self.drift, state.mean.dtype))

    def step(self, state: GaussianBelief, x: Number) -> tuple[GaussianBelief, StepInfo]:
        family = Gaussian(self.noise)
        expected = GaussianBelief(state.mean, state.precision / (1 + state.precision * jnp.square(self.drift)))
        gain = 1 / (1 + expected.precision * jnp.square(self.noise))
        return bayes(family, expected, x), StepInfo(shannon(family, expected, x), gain)

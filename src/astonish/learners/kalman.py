"""Where is a mean that wanders? The filter of Kalman (1960), in one dimension."""

from typing import ClassVar

import jax.numpy as jnp
from jax import Array

from astonish.beliefs import Gaussian, GaussianBelief
from astonish.config import config
from astonish.domain import POSITIVE, Domain, parameter
from astonish.expfam import bayes
from astonish.learner import Info
from astonish.precision import Number
from astonish.surprise import shannon


@config
class Kalman:
    """Before every sample, the first included, the mean takes a normal step with standard deviation `drift`.

    Exact in that world. It reports Shannon's surprise; its rate is the Kalman gain, which does not depend on the
    samples. A missing sample changes nothing: no time passes. mean, std: the belief before the first step.
    """

    noise: Number = parameter(default=1.0, domain=POSITIVE)
    drift: Number = parameter(default=0.1, domain=Domain(0.0))
    mean: Number = parameter(default=0.0, domain=Domain())
    std: Number = parameter(default=1.0, domain=POSITIVE)
    samples: ClassVar[Domain] = Domain()

    def init(self) -> GaussianBelief:
        return Gaussian(self.noise).prior(self.mean, self.std)

    def step(self, state: GaussianBelief, x: Number) -> tuple[GaussianBelief, Info]:
        family = Gaussian(self.noise)
        expected = GaussianBelief(state.mean, state.precision / (1 + state.precision * jnp.square(self.drift)))
        gain = 1 / (1 + expected.precision * jnp.square(self.noise))
        return bayes(family, expected, x), Info(shannon(family, expected, x), gain)

    def estimate(self, state: GaussianBelief) -> Array:
        return state.mean

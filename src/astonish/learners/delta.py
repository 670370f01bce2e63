"""The delta rule: move a fixed part of the way to every sample (Rescorla & Wagner 1972)."""

from typing import ClassVar

import jax.numpy as jnp
from jax import Array

from astonish.config import config
from astonish.domain import Domain, parameter
from astonish.learner import Info
from astonish.precision import Number


@config
class Delta:
    """Follow numbers with a fixed learning rate. The surprise it reports is the size of its error."""

    rate: Number = parameter(default=0.1, domain=Domain(0.0, 1.0))
    start: Number = parameter(default=0.0, domain=Domain())
    samples: ClassVar[Domain] = Domain()

    def init(self) -> Array:
        return jnp.asarray(self.start, jnp.result_type(float, self.start))

    def step(self, state: Array, x: Number) -> tuple[Array, Info]:
        error = x - state
        rate = jnp.asarray(self.rate, jnp.result_type(float, self.rate))
        return (1 - rate) * state + rate * x, Info(jnp.abs(error), rate)

    def estimate(self, state: Array) -> Array:
        return state

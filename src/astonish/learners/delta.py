"""The delta rule: move a fixed part of the way to every sample (Rescorla & Wagner 1972)."""

from typing import Any, ClassVar

import jax.numpy as jnp
from jax import Array

from astonish.core.names import NUMBERS
from astonish.core.numbers import PROBABILITY, Domain, Number
from astonish.core.parameters import START, parameter
from astonish.learners.base import Learner, StepInfo


class Delta(Learner):
    """Follow numbers with a fixed learning rate. The surprise it reports is the size of its error."""

    learning_rate: Number = parameter(
        0.1, PROBABILITY, (0.05, 0.95), "share of the error by which the estimate moves", symbol="alpha"
    )
    start: Number = START.field()
    name: ClassVar[str] = "delta"
    surprise_measure: ClassVar[str] = "absolute_error"
    takes: ClassVar[tuple[str, ...]] = NUMBERS
    free: ClassVar[tuple[str, ...]] = ("learning_rate",)
    samples: ClassVar[Domain] = Domain()

    def init(self) -> Array:
        return jnp.asarray(self.start, jnp.result_type(float, self.start))

    def step(self, state: Array, x: Number) -> tuple[Array, StepInfo]:
        rate = jnp.asarray(self.learning_rate, jnp.result_type(float, self.learning_rate))
        return (1 - rate) * state + rate * x, StepInfo(jnp.abs(x - state), rate)

    def estimate(self, state: Array) -> Array:
        return state

    def with_estimate(self, state: Array, value: Any) -> Any:
        return value

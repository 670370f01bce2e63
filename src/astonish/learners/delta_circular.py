"""The delta rule for angles: turn a fixed part of the way to every sample (Rescorla & Wagner 1972, on a circle)."""

from typing import Any, ClassVar

import jax.numpy as jnp
from jax import Array

from astonish.core.numbers import PROBABILITY, Number, floats
from astonish.core.parameters import DIRECTION, PERIOD, parameter
from astonish.core.special import wrapped
from astonish.learners.base import CircularLearner, StepInfo


class DeltaCircular(CircularLearner):
    """Follow angles, the shorter way round, with a fixed learning rate. Its surprise is the size of its error."""

    learning_rate: Number = parameter(0.1, PROBABILITY, (0.05, 0.95), "share of the error by which the estimate turns")
    start: Number = DIRECTION.field()
    period: Number = PERIOD.field()
    name: ClassVar[str] = "delta-circular"
    surprise_measure: ClassVar[str] = "absolute_error"
    free: ClassVar[tuple[str, ...]] = ("learning_rate",)

    def init(self) -> Array:
        return jnp.asarray(wrapped(self.start, self.period))

    def step(self, state: Array, x: Number) -> tuple[Array, StepInfo]:
        (rate,) = floats(self.learning_rate)
        error = wrapped(x - state, self.period)
        return wrapped(state + rate * error, self.period), StepInfo(jnp.abs(error), rate)

    def estimate(self, state: Array) -> Array:
        return state

    def with_estimate(self, state: Array, value: Any) -> Any:
        return wrapped(value, self.period)

"""The delta rule: move a fixed part of the way to every sample (Rescorla & Wagner 1972)."""

from typing import ClassVar

import jax.numpy as jnp
from jax import Array

from astonish.core.numbers import PROBABILITY, Number, floats
from astonish.core.parameters import START, parameter
from astonish.learners.base import StepInfo, ValueLearner


class Delta(ValueLearner):
    """Follow numbers with a fixed learning rate. The surprise it reports is the size of its error."""

    learning_rate: Number = parameter(
        0.1, PROBABILITY, (0.05, 0.95), "share of the error by which the estimate moves", symbol="alpha"
    )
    start: Number = START.field()
    name: ClassVar[str] = "delta"
    free: ClassVar[tuple[str, ...]] = ("learning_rate",)

    def step(self, state: Array, x: Number) -> tuple[Array, StepInfo]:
        (rate,) = floats(self.learning_rate)
        return (1 - rate) * state + rate * x, StepInfo(jnp.abs(x - state), rate)

"""Good news and bad news: a delta rule with one learning rate for each (Niv et al. 2012, Lefebvre et al. 2017)."""

from typing import ClassVar

import jax.numpy as jnp
from jax import Array

from astonish.core.numbers import PROBABILITY, Number
from astonish.core.parameters import START, parameter
from astonish.learners.base import StepInfo, ValueLearner


class TwoRate(ValueLearner):
    """The rule of Rescorla and Wagner with one learning rate for samples above, and one for samples below the estimate.

    The surprise it reports is the size of its error. With equal rates, it is the delta rule.
    """

    learning_rate_positive: Number = parameter(
        0.1, PROBABILITY, (0.05, 0.95), "learning rate for samples above the estimate", symbol="alpha_positive"
    )
    learning_rate_negative: Number = parameter(
        0.1, PROBABILITY, (0.05, 0.95), "learning rate for samples below the estimate", symbol="alpha_negative"
    )
    start: Number = START.field()
    name: ClassVar[str] = "two-rate"
    free: ClassVar[tuple[str, ...]] = ("learning_rate_positive", "learning_rate_negative")

    def step(self, state: Array, x: Number) -> tuple[Array, StepInfo]:
        rate = jnp.where(x >= state, self.learning_rate_positive, self.learning_rate_negative)
        return (1 - rate) * state + rate * x, StepInfo(jnp.abs(x - state), rate)

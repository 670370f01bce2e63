"""Good news and bad news: a delta rule with one learning rate for each (Niv et al. 2012, Lefebvre et al. 2017)."""

from typing import Any, ClassVar

import jax.numpy as jnp
from jax import Array

from astonish.core.names import NUMBERS
from astonish.core.numbers import PROBABILITY, Domain, Number
from astonish.core.parameters import START, parameter
from astonish.learners.base import Learner, StepInfo


class TwoRate(Learner):
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
    surprise_measure: ClassVar[str] = "absolute_error"
    takes: ClassVar[tuple[str, ...]] = NUMBERS
    free: ClassVar[tuple[str, ...]] = ("learning_rate_positive", "learning_rate_negative")
    samples: ClassVar[Domain] = Domain()

    def init(self) -> Array:
        return jnp.asarray(self.start, jnp.result_type(float, self.start))

    def step(self, state: Array, x: Number) -> tuple[Array, StepInfo]:
        rate = jnp.where(x >= state, self.learning_rate_positive, self.learning_rate_negative)
        return (1 - rate) * state + rate * x, StepInfo(jnp.abs(x - state), rate)

    def estimate(self, state: Array) -> Array:
        return state

    def with_estimate(self, state: Array, value: Any) -> Any:
        return value

"""A baseline that never learns: whatever happens, its estimate stays as it is."""

from typing import Any, ClassVar

import jax.numpy as jnp
from jax import Array

from astonish.core.names import NUMBERS
from astonish.core.numbers import Domain, Number
from astonish.core.parameters import START
from astonish.learners.base import Learner, StepInfo


class NoLearning(Learner):
    """Never learns, so that a learner that explains responses no better has explained nothing by learning.

    The surprise it reports is the size of its error. Of anchored answers it expects each to repeat the last.
    """

    start: Number = START.field(about="estimate, which never changes")
    name: ClassVar[str] = "no-learning"
    surprise_measure: ClassVar[str] = "absolute_error"
    takes: ClassVar[tuple[str, ...]] = NUMBERS
    free: ClassVar[tuple[str, ...]] = ("start",)
    learns: ClassVar[bool] = False
    samples: ClassVar[Domain] = Domain()

    def init(self) -> Array:
        return jnp.asarray(self.start, jnp.result_type(float, self.start))

    def step(self, state: Array, x: Number) -> tuple[Array, StepInfo]:
        return state, StepInfo(jnp.abs(x - state), jnp.zeros_like(state))

    def estimate(self, state: Array) -> Array:
        return state

    def with_estimate(self, state: Array, value: Any) -> Any:
        return value

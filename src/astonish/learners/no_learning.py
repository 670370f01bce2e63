"""A baseline that never learns: whatever happens, its estimate stays as it is."""

from typing import ClassVar

import jax.numpy as jnp
from jax import Array

from astonish.core.numbers import Number
from astonish.core.parameters import START
from astonish.learners.base import StepInfo, ValueLearner


class NoLearning(ValueLearner):
    """Never learns, so that a learner that explains responses no better has explained nothing by learning.

    The surprise it reports is the size of its error. Of anchored answers it expects each to repeat the last.
    """

    start: Number = START.field(about="estimate, which never changes")
    name: ClassVar[str] = "no-learning"
    free: ClassVar[tuple[str, ...]] = ("start",)
    learns: ClassVar[bool] = False

    def step(self, state: Array, x: Number) -> tuple[Array, StepInfo]:
        return state, StepInfo(jnp.abs(x - state), jnp.zeros_like(state))

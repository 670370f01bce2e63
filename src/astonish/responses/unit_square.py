"""Choices by the unit-square sigmoid: the odds of a choice are a power of the odds that the learner predicts."""

from typing import ClassVar

import jax
import jax.numpy as jnp

from astonish.core.names import ResponseKind
from astonish.core.numbers import Domain, Number, limits
from astonish.core.parameters import parameter
from astonish.responses.base import Categorical, Response, ResponseInput


class UnitSquare(Response):
    """Chooses 1 with probability p^zeta / (p^zeta + (1 - p)^zeta), where the learner predicts it with probability p.

    Of several outcomes each is chosen in proportion to that power of its probability. (As in Mathys et al. 2014.)
    """

    zeta: Number = parameter(1.0, Domain(0.0), (0.5, 20.0), "how strongly choices follow predictions; 0 is random")
    name: ClassVar[str] = "unit-square"
    takes: ClassVar[tuple[str, ...]] = (ResponseKind.CHOICE,)
    free: ClassVar[tuple[str, ...]] = ("zeta",)
    kind: ClassVar[str] = "choice"
    scale: ClassVar[str] = "zeta"
    of_probabilities: ClassVar[bool] = True

    def distribution(self, given: ResponseInput) -> Categorical:
        probabilities = given.estimate if given.estimate.ndim else jnp.stack([1 - given.estimate, given.estimate])
        possible = jnp.maximum(probabilities, limits(probabilities).eps)  # 0 has no logarithm
        return Categorical(jax.nn.log_softmax(self.zeta * jnp.log(possible)))

"""Choices by softmax: more often what the learner takes for more probable."""

import math
from collections.abc import Collection
from typing import ClassVar, Self

import jax
import jax.numpy as jnp

from astonish.core.names import ResponseKind
from astonish.core.numbers import PROBABILITY, Domain, FloatArray, Number
from astonish.core.parameters import parameter
from astonish.responses.base import Categorical, Ends, Response, ResponseInput

_USUAL = 3.0  # beta from which a search begins, for values from 0 to 1


class Softmax(Response):
    """Chooses one of the outcomes, more often the more probable the learner takes it to be."""

    beta: Number = parameter(
        1.0, Domain(0.0), (0.5, 20.0), "how strongly choices follow values; 0 is random", "per_unit"
    )
    perseveration: Number = parameter(0.0, Domain(), (-2.0, 2.0), "additional attraction of the last choice")
    lapse: Number = parameter(0.0, PROBABILITY, (0.001, 0.2), "share of choices that are made at random")
    name: ClassVar[str] = "softmax"
    takes: ClassVar[tuple[str, ...]] = (ResponseKind.CHOICE,)
    free: ClassVar[tuple[str, ...]] = ("beta",)
    kind: ClassVar[str] = "choice"
    scale: ClassVar[str] = "beta"

    def distribution(self, given: ResponseInput) -> Categorical:
        values = given.estimate if given.estimate.ndim else jnp.stack([1 - given.estimate, given.estimate])
        repeated = jnp.arange(len(values)) == given.last_response
        log_probabilities = jax.nn.log_softmax(self.beta * values + self.perseveration * repeated)
        lapse = jnp.asarray(self.lapse)
        at_random = jnp.log(lapse) - math.log(len(values))
        return Categorical(jnp.logaddexp(jnp.log1p(-lapse) + log_probabilities, at_random))

    @classmethod
    def for_responses(cls, responses: FloatArray, free: Collection[str], outcomes: Ends = (0.0, 1.0)) -> Self:
        width = outcomes[1] - outcomes[0] or 1.0
        return cls(beta=_USUAL / width, lapse=0.05 if "lapse" in free else 0.0)

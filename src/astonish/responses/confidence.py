"""Reports of confidence that follow the precision of a belief (as in Meyniel, Schlunegger & Dehaene 2015)."""

from collections.abc import Collection
from typing import ClassVar, Self

import jax.numpy as jnp
import numpy as np

from astonish.core.names import ResponseKind
from astonish.core.numbers import POSITIVE, Domain, FloatArray, Number, limits
from astonish.core.parameters import parameter
from astonish.responses.base import Ends, Normal, Response, ResponseInput, normal


class Confidence(Response):
    """How sure someone says to be: linear in the logarithm of the present precision of the belief, with normal noise.

    The precision is 1 over the squared standard deviation of what is believed (see `Learner.uncertainty`).
    """

    offset: Number = parameter(0.0, Domain(), (0.0, 1.0), "confidence at a precision of 1", fact="middle")
    slope: Number = parameter(0.1, Domain(), (0.0, 0.3), "change of confidence per nat of log precision", fact="step")
    noise: Number = parameter(1.0, POSITIVE, (0.02, 0.5), "standard deviation of reports", fact="response_noise")
    name: ClassVar[str] = "confidence"
    takes: ClassVar[tuple[str, ...]] = (ResponseKind.CONTINUOUS,)
    free: ClassVar[tuple[str, ...]] = ("offset", "slope", "noise")

    def distribution(self, given: ResponseInput) -> Normal:
        uncertainty = jnp.ones(()) if given.uncertainty is None else given.uncertainty
        least = limits(uncertainty).tiny ** 0.5
        return normal(self.offset - 2 * self.slope * jnp.log(jnp.maximum(uncertainty, least)), self.noise)

    def needs(self) -> tuple[str, ...]:
        return ("uncertainty",)

    @classmethod
    def for_responses(cls, responses: FloatArray, free: Collection[str], outcomes: Ends = (0.0, 1.0)) -> Self:
        spread = float(np.nanstd(responses)) or 1.0
        return cls(float(np.nanmean(responses)), 0.1 * spread, spread)

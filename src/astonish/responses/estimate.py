"""Responses that report the learner's estimate."""

from collections.abc import Collection
from dataclasses import field, replace
from typing import ClassVar, Self

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from astonish.core.names import ResponseKind
from astonish.core.numbers import NOT_NEGATIVE, POSITIVE, PROBABILITY, Domain, FloatArray, Number
from astonish.core.parameters import parameter
from astonish.responses.base import Distribution, Ends, Normal, Perseverating, Response, ResponseInput, lapsing


class Estimate(Response):
    """Reports the learner's estimate, a number, with normal noise.

    anchored: whether the learner goes on from each response.
    """

    noise: Number = parameter(1.0, POSITIVE, (0.01, 0.3), "standard deviation of responses", fact="response_noise")
    growth: Number = parameter(0.0, Domain(0.0), (0.01, 0.5), "growth of the noise per unit that the estimate moves")
    lapse: Number = parameter(0.0, PROBABILITY, (0.001, 0.2), "share of responses that are any number instead")
    low: Number = parameter(0.0, Domain(), (0.0, 0.2), "smallest response", fact="low")
    high: Number = parameter(1.0, Domain(), (0.8, 1.0), "largest response", fact="high")
    anchored: bool = field(default=True, kw_only=True, metadata={"static": True})
    name: ClassVar[str] = "estimate"
    takes: ClassVar[tuple[str, ...]] = (ResponseKind.CONTINUOUS,)
    free: ClassVar[tuple[str, ...]] = ("noise",)
    kind: ClassVar[str] = "estimate"

    def __post_init__(self) -> None:
        NOT_NEGATIVE.check("high - low", self.high - self.low)

    def distribution(self, given: ResponseInput) -> Distribution:
        step = _size(given.estimate - given.previous_estimate)
        return lapsing(Normal(given.estimate, self.noise + self.growth * step), self.lapse, self.low, self.high)

    @classmethod
    def for_responses(cls, responses: FloatArray, free: Collection[str], outcomes: Ends = (0.0, 1.0)) -> Self:
        noise = 0.3 * float(np.nanstd(responses)) or 1.0
        growth, lapse = 0.1 if "growth" in free else 0.0, 0.05 if "lapse" in free else 0.0
        return cls(noise, growth, lapse, float(np.nanmin(responses)), float(np.nanmax(responses)))


class StickyEstimate(Estimate):
    """As `Estimate`, but small steps are often left out: the response stays what it was.

    (Bruckner, Nassar, Li & Eppinger.) For responses in whole numbers.
    """

    half: Number = parameter(0.0, Domain(), (0.0, 0.2), "size of the steps of which half are left out", fact="step")
    slope: Number = parameter(-1.0, Domain(), (-100.0, -2.0), "how steeply that falls with their size", fact="per_unit")
    name: ClassVar[str] = "sticky"
    free: ClassVar[tuple[str, ...]] = ("noise", "growth", "half", "slope")

    def distribution(self, given: ResponseInput) -> Distribution:
        size = _size(given.estimate - given.previous_estimate)
        odds = self.slope * (size - self.half)
        other = Normal(given.estimate, self.noise + self.growth * size)
        first = jnp.isnan(given.last_response)  # with nothing to repeat
        log_same = jnp.where(first, -jnp.inf, jax.nn.log_sigmoid(odds))
        log_other = jnp.where(first, 0.0, jax.nn.log_sigmoid(-odds))
        last = jnp.where(first, given.estimate, given.last_response)
        return lapsing(Perseverating(other, last, log_same, log_other), self.lapse, self.low, self.high)

    @classmethod
    def for_responses(cls, responses: FloatArray, free: Collection[str], outcomes: Ends = (0.0, 1.0)) -> Self:
        start = super().for_responses(responses, free, outcomes)
        return replace(start, growth=0.1, half=start.noise, slope=-1 / start.noise)


def _size(step: Array) -> Array:
    """Return the size of a step, with a derivative of zero where there is none."""
    return jnp.where(step == 0, 0.0, jnp.abs(step))

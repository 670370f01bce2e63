"""Numbers that follow surprise, such as a reaction time or the size of a pupil."""

from collections.abc import Collection
from typing import ClassVar, Self

import numpy as np

from astonish.core.names import ResponseKind
from astonish.core.numbers import POSITIVE, Domain, FloatArray, Number
from astonish.core.parameters import parameter
from astonish.responses.base import Ends, Normal, Response, ResponseInput, normal


class Readout(Response):
    """A number that is linear in surprise, with normal noise."""

    offset: Number = parameter(0.0, Domain(), (0.0, 1.0), "response without any surprise", fact="middle")
    slope: Number = parameter(0.0, Domain(), (-0.5, 0.5), "change of the response per nat of surprise", fact="step")
    noise: Number = parameter(1.0, POSITIVE, (0.02, 0.5), "standard deviation of responses", fact="response_noise")
    name: ClassVar[str] = "readout"
    takes: ClassVar[tuple[str, ...]] = (ResponseKind.CONTINUOUS,)
    free: ClassVar[tuple[str, ...]] = ("offset", "slope", "noise")
    only_after: ClassVar[bool] = True

    def distribution(self, given: ResponseInput) -> Normal:
        return normal(self.offset + self.slope * given.surprise, self.noise)

    @classmethod
    def for_responses(cls, responses: FloatArray, free: Collection[str], outcomes: Ends = (0.0, 1.0)) -> Self:
        return cls(offset=float(np.nanmean(responses)), noise=0.3 * float(np.nanstd(responses)) or 1.0)

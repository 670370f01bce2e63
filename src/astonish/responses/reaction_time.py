"""Reaction times whose logarithm is linear in what a learner predicts, as in the HGF toolbox (Mathys et al. 2014)."""

from collections.abc import Collection
from dataclasses import replace
from typing import ClassVar, NamedTuple, Self

import jax.numpy as jnp
import numpy as np
from jax import Array

from astonish.core.names import ResponseKind
from astonish.core.numbers import POSITIVE, Domain, FloatArray, Number
from astonish.core.parameters import parameter
from astonish.responses.base import Ends, Response, ResponseInput, normal

_LONG = 60.0  # seconds
_TRIED = 0.1  # a slope from which a search may begin
_LEAST = 1e-6  # of the variance by which others are divided


class LogReactionTime(Response):
    """A reaction time in seconds, the logarithm of which is normal and linear in up to four regressors.

    They are the surprise at the last outcome and, of the prediction for this trial, the variance p (1 - p) of an
    outcome that is 1 with probability p, the variance of what is believed (`Learner.uncertainty` squared), and that of
    the step that it is expected to take (`Learner.step_variance`). For outcomes 0 and 1 the latter two are divided by
    p (1 - p), so that for the hierarchical Gaussian filter they are p (1 - p) times the variances of its second level.
    """

    offset: Number = parameter(0.0, Domain(), (-1.5, 1.5), "logarithm of the reaction time without any of these")
    by_surprise: Number = parameter(0.0, Domain(), (-0.5, 0.5), "change of the logarithm per nat of surprise")
    by_variance: Number = parameter(0.0, Domain(), (-2.0, 2.0), "change per unit of the variance of the outcome")
    by_uncertainty: Number = parameter(0.0, Domain(), (-2.0, 2.0), "change per unit of the variance of the belief")
    by_volatility: Number = parameter(0.0, Domain(), (-2.0, 2.0), "change per unit of the variance of the next step")
    noise: Number = parameter(0.3, POSITIVE, (0.05, 1.0), "standard deviation of the logarithm")
    name: ClassVar[str] = "log-rt"
    takes: ClassVar[tuple[str, ...]] = (ResponseKind.CONTINUOUS,)
    free: ClassVar[tuple[str, ...]] = ("offset", "by_surprise", "noise")

    def distribution(self, given: ResponseInput) -> "LogNormal":
        of_prediction: Array | float = 0.0  # to which what the learner does not know adds nothing
        if given.prediction is not None:
            mean, uncertainty, step_variance = given.prediction
            unit: Array | float = 1.0
            if given.of_probability:
                variance = mean * (1 - mean)
                of_prediction, unit = self.by_variance * variance, jnp.maximum(variance, _LEAST)
            if uncertainty is not None:
                of_prediction += self.by_uncertainty * (jnp.square(uncertainty) / unit)
            if step_variance is not None:
                of_prediction += self.by_volatility * (step_variance / unit)
        return LogNormal(self.offset + self.by_surprise * given.surprise + of_prediction, self.noise)

    def check_responses(self, column: str, responses: FloatArray) -> None:
        POSITIVE.check(column, responses)
        if np.median(responses) > _LONG:
            usual = f"half of all {column} are above {np.median(responses):g}, but reaction times are in seconds"
            raise ValueError(f"{usual}; if these are milliseconds, divide them by 1000")

    def needs(self) -> tuple[str, ...]:
        wanted = {"variance": self.by_variance, "uncertainty": self.by_uncertainty, "volatility": self.by_volatility}
        return tuple(name for name, slope in wanted.items() if np.any(np.asarray(slope) != 0))

    @classmethod
    def for_responses(cls, responses: FloatArray, free: Collection[str], outcomes: Ends = (0.0, 1.0)) -> Self:
        logs = np.log(responses[responses > 0])
        start = cls(offset=float(np.mean(logs)), noise=float(np.std(logs)) or 1.0)
        slopes = [name for name in ("by_variance", "by_uncertainty", "by_volatility") if name in free]
        return replace(start, **dict.fromkeys(slopes, _TRIED))


class LogNormal(NamedTuple):
    """A number above 0 whose logarithm is normal."""

    log_mean: Array
    log_std: Number

    @property
    def mean(self) -> Array:
        return jnp.exp(self.log_mean + 0.5 * jnp.square(self.log_std))

    def log_prob(self, response: Array) -> Array:
        log = jnp.log(jnp.where(response > 0, response, 1.0))
        return normal(self.log_mean, self.log_std).log_prob(log) - log

    def sample(self, key: Array) -> Array:
        return jnp.exp(normal(self.log_mean, self.log_std).sample(key))

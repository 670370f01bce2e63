"""Response models: how a response follows from a learner's estimate and surprise.

Each is one small function: from what happened up to now to a distribution of responses.
"""

import math
from collections.abc import Collection
from typing import ClassVar, NamedTuple, Protocol, Self

import jax
import jax.numpy as jnp
from jax import Array

from astonish.core.numbers import FloatArray, Number, PytreeDataclass

Ends = tuple[float, float]  # the smallest and the largest
_LOG_ROOT_TWO_PI = 0.5 * math.log(2 * math.pi)


class Prediction(NamedTuple):
    """What a learner thinks just before the outcome of a trial.

    uncertainty: the standard deviation of what it believes. step_variance: that of the step that it expects, squared.
    None for a learner that does not know it, and with several options.
    """

    estimate: Array
    uncertainty: Array | None
    step_variance: Array | None


class ResponseInput(NamedTuple):
    """What a response may depend on.

    estimate: the learner's present one. previous_estimate: the one before the last outcome. surprise, learning_rate: at
    that outcome. last_response: the participant's, NaN if there was none. period: after how much estimates repeat, if
    they are angles; else None. prediction: for this trial, before its outcome. uncertainty: the standard deviation of
    what the learner believes at present; None if it does not know it. of_probability: whether estimates are
    probabilities that outcomes are 1.
    """

    estimate: Array
    previous_estimate: Array
    surprise: Array
    learning_rate: Array
    last_response: Array
    period: Number | None = None
    prediction: Prediction | None = None
    uncertainty: Array | None = None
    of_probability: bool = False


class Distribution(Protocol):
    """A distribution of responses."""

    @property
    def mean(self) -> Array:
        """The response to expect; of choices, the most probable one."""

    def log_prob(self, response: Array) -> Array:
        """The logarithm of the probability (or its density) of a response."""

    def sample(self, key: Array) -> Array:
        """A response drawn at random."""


class Response(PytreeDataclass, Protocol):
    """A way to respond: a frozen dataclass whose parameters are its leaves. Derive a response model from this class.

    takes: the kinds of responses that it explains. free: the parameters that are always fitted.
    kind: "estimate" if responses are numbers that report the learner's estimate, "choice" if they are labels of
    outcomes, or options, "readout" if they are other numbers that follow an outcome.
    of_probabilities: whether a choice rests on probabilities alone, so that rewards that are other numbers do not do.
    scale: the parameter, if any, that only multiplies estimates, and cannot be found if these never change.
    only_after: whether it follows an outcome, and so cannot come before that of its trial.
    """

    takes: ClassVar[tuple[str, ...]] = ()
    free: ClassVar[tuple[str, ...]] = ()
    kind: ClassVar[str] = "readout"
    of_probabilities: ClassVar[bool] = False
    scale: ClassVar[str] = ""
    only_after: ClassVar[bool] = False

    @property
    def anchored(self) -> bool:
        """Whether the learner goes on from each response, so that only the step to the next one is explained."""
        return False

    def distribution(self, given: ResponseInput) -> Distribution:
        """The distribution of the response, given what happened up to now."""

    def check_responses(self, column: str, responses: FloatArray) -> None:
        """Refuse numbers that cannot be such responses."""
        return

    def needs(self) -> tuple[str, ...]:
        """Name what the learner has to know, of "variance" (of an outcome 0 or 1), "uncertainty" and "volatility"."""
        return ()

    @classmethod
    def for_responses(cls, responses: FloatArray, free: Collection[str], outcomes: Ends = (0.0, 1.0)) -> Self:
        """Make a model of these responses with parameters from which a search may begin.

        free: parameters that are to be fitted; those that are not stay where they have no effect. outcomes: the
        smallest and the largest outcome.
        """
        return cls()


class Normal(NamedTuple):
    """A number, most probably near the mean."""

    mean: Array
    std: Array

    def log_prob(self, response: Array) -> Array:
        distance = (response - self.mean) / self.std
        return -0.5 * distance * distance - jnp.log(self.std) - _LOG_ROOT_TWO_PI

    def sample(self, key: Array) -> Array:
        return self.mean + self.std * jax.random.normal(key, jnp.shape(self.mean), jnp.result_type(float, self.mean))


class Perseverating(NamedTuple):
    """The last response again, or else another number.

    The same response twice is taken for a repetition, or for another number that was rounded to it: responses come in
    steps of 1.
    """

    other: Normal
    last: Array
    log_same: Array
    log_other: Array

    @property
    def mean(self) -> Array:
        return jnp.exp(self.log_same) * self.last + jnp.exp(self.log_other) * self.other.mean

    def log_prob(self, response: Array) -> Array:
        other = self.log_other + self.other.log_prob(response)
        return jnp.where(response == self.last, jnp.logaddexp(self.log_same, other), other)

    def sample(self, key: Array) -> Array:
        uniform, more = jax.random.split(key)
        same = jnp.log(jax.random.uniform(uniform)) < self.log_same
        return jnp.where(same, self.last, jnp.round(self.other.sample(more)))


class Lapsing(NamedTuple):
    """The response that was meant, or else any number from `low` to `high`."""

    meant: Distribution
    lapse: Array
    low: Array
    high: Array

    @property
    def mean(self) -> Array:
        return (1 - self.lapse) * self.meant.mean + self.lapse * 0.5 * (self.low + self.high)

    def log_prob(self, response: Array) -> Array:
        anything = jnp.log(self.lapse) - jnp.log(self.high - self.low)
        return jnp.logaddexp(jnp.log1p(-self.lapse) + self.meant.log_prob(response), anything)

    def sample(self, key: Array) -> Array:
        uniform, where, more = jax.random.split(key, 3)
        anything = self.low + (self.high - self.low) * jax.random.uniform(where, dtype=self.low.dtype)
        return jnp.where(jax.random.uniform(uniform) < self.lapse, anything, self.meant.sample(more))


class Categorical(NamedTuple):
    """One of several labels, by number."""

    log_probabilities: Array

    @property
    def mean(self) -> Array:
        return jnp.argmax(self.log_probabilities, -1).astype(self.log_probabilities.dtype)

    def log_prob(self, response: Array) -> Array:
        return self.log_probabilities[jnp.asarray(response).astype(jnp.int32)]

    def sample(self, key: Array) -> Array:
        return jax.random.categorical(key, self.log_probabilities).astype(self.log_probabilities.dtype)


def normal(mean: Array, std: Number) -> Normal:
    """Spread all responses alike about their means."""
    return Normal(mean, jnp.broadcast_to(jnp.asarray(std, mean.dtype), mean.shape))


def lapsing(meant: Distribution, lapse: Number, low: Number, high: Number) -> Distribution:
    """Make a response that may be a lapse; as it was meant where lapses are ruled out."""
    if isinstance(lapse, float | int) and lapse == 0:
        return meant
    return Lapsing(meant, *(jnp.asarray(part, meant.mean.dtype) for part in (lapse, low, high)))

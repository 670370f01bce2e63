"""How does a response follow from what a learner thinks?

A response model is one small function: from what a participant has just gone through to a distribution of answers.
"""

import math
from dataclasses import field
from typing import ClassVar, NamedTuple, Protocol

import jax
import jax.numpy as jnp
from jax import Array

from astonish.config import config
from astonish.domain import POSITIVE, Domain, parameter
from astonish.precision import Number

_LOG_ROOT_TWO_PI = 0.5 * math.log(2 * math.pi)


class Seen(NamedTuple):
    """What an answer may depend on.

    estimate: what the learner thinks now. origin: what it thought before the last outcome. surprise, rate: of that
    outcome. last: the participant's last answer, NaN if there was none.
    """

    estimate: Array
    origin: Array
    surprise: Array
    rate: Array
    last: Array


class Answer(Protocol):
    """A distribution of answers."""

    @property
    def mean(self) -> Array:
        """The answer to expect; of choices, the most probable one."""

    def log_prob(self, response: Array) -> Array:
        """The logarithm of the probability (or its density) of an answer."""

    def draw(self, key: Array) -> Array:
        """An answer."""


class Response(Protocol):
    """A way to respond: a frozen dataclass whose parameters are its leaves.

    kind: "estimate" if answers are numbers that say what the learner thinks, "choice" if they are outcomes by number,
    "readout" if they are numbers that follow an outcome otherwise.
    anchored: whether the learner takes each answer for its own estimate and goes on from there, so that only the step
    from one answer to the next is to be explained.
    """

    kind: ClassVar[str]

    @property
    def anchored(self) -> bool: ...

    def answer(self, seen: Seen) -> Answer:
        """What a participant may answer now."""


class Normal(NamedTuple):
    """A number, most probably near the mean."""

    mean: Array
    std: Array

    def log_prob(self, response: Array) -> Array:
        distance = (response - self.mean) / self.std
        return -0.5 * distance * distance - jnp.log(self.std) - _LOG_ROOT_TWO_PI

    def draw(self, key: Array) -> Array:
        return self.mean + self.std * jax.random.normal(key, jnp.shape(self.mean), jnp.result_type(float, self.mean))


class SometimesTheSame(NamedTuple):
    """The last answer again, or else another number.

    The same answer twice is taken for a repetition, or for another number that was rounded to it: answers come in steps
    of 1.
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

    def draw(self, key: Array) -> Array:
        luck, more = jax.random.split(key)
        same = jnp.log(jax.random.uniform(luck)) < self.log_same
        return jnp.where(same, self.last, jnp.round(self.other.draw(more)))


class SometimesAnything(NamedTuple):
    """What was meant, or else any number from `low` to `high`."""

    meant: Answer
    lapse: Array
    low: Array
    high: Array

    @property
    def mean(self) -> Array:
        return (1 - self.lapse) * self.meant.mean + self.lapse * 0.5 * (self.low + self.high)

    def log_prob(self, response: Array) -> Array:
        anything = jnp.log(self.lapse) - jnp.log(self.high - self.low)
        return jnp.logaddexp(jnp.log1p(-self.lapse) + self.meant.log_prob(response), anything)

    def draw(self, key: Array) -> Array:
        luck, where, more = jax.random.split(key, 3)
        anything = self.low + (self.high - self.low) * jax.random.uniform(where, dtype=self.low.dtype)
        return jnp.where(jax.random.uniform(luck) < self.lapse, anything, self.meant.draw(more))


class Choice(NamedTuple):
    """One of several, by number."""

    log_chances: Array

    @property
    def mean(self) -> Array:
        return jnp.argmax(self.log_chances, -1).astype(self.log_chances.dtype)

    def log_prob(self, response: Array) -> Array:
        return self.log_chances[jnp.asarray(response).astype(jnp.int32)]

    def draw(self, key: Array) -> Array:
        return jax.random.categorical(key, self.log_chances).astype(self.log_chances.dtype)


@config
class Estimate:
    """Says what the learner thinks, a number, with some noise.

    noise: its standard deviation. growth: how much larger that is for every unit by which the estimate moves.
    lapse: how often the answer is any number from `low` to `high` instead.
    """

    noise: Number = parameter(default=1.0, domain=POSITIVE)
    growth: Number = parameter(default=0.0, domain=Domain(0.0))
    lapse: Number = parameter(default=0.0, domain=Domain(0.0, 1.0))
    low: Number = parameter(default=0.0, domain=Domain())
    high: Number = parameter(default=1.0, domain=Domain())
    anchored: bool = field(default=True, metadata={"static": True})
    kind: ClassVar[str] = "estimate"

    def answer(self, seen: Seen) -> Answer:
        meant = Normal(seen.estimate, self.noise + self.growth * _size(seen.estimate - seen.origin))
        return _lapsing(meant, self.lapse, self.low, self.high)


@config
class StickyEstimate:
    """As `Estimate`, but small steps are often left out: the answer stays what it was.

    Half of all steps of the size `half` are left out; `slope` says how quickly that changes with their size (Bruckner,
    Nassar, Li & Eppinger). For answers in whole numbers.
    """

    noise: Number = parameter(default=1.0, domain=POSITIVE)
    growth: Number = parameter(default=0.0, domain=Domain(0.0))
    lapse: Number = parameter(default=0.0, domain=Domain(0.0, 1.0))
    low: Number = parameter(default=0.0, domain=Domain())
    high: Number = parameter(default=1.0, domain=Domain())
    half: Number = parameter(default=0.0, domain=Domain())
    slope: Number = parameter(default=-1.0, domain=Domain())
    anchored: bool = field(default=True, metadata={"static": True})
    kind: ClassVar[str] = "estimate"

    def answer(self, seen: Seen) -> Answer:
        size = _size(seen.estimate - seen.origin)
        odds = self.slope * (size - self.half)
        other = Normal(seen.estimate, self.noise + self.growth * size)
        first = jnp.isnan(seen.last)  # with nothing to repeat
        log_same = jnp.where(first, -jnp.inf, jax.nn.log_sigmoid(odds))
        log_other = jnp.where(first, 0.0, jax.nn.log_sigmoid(-odds))
        meant = SometimesTheSame(other, jnp.where(first, seen.estimate, seen.last), log_same, log_other)
        return _lapsing(meant, self.lapse, self.low, self.high)


@config
class Softmax:
    """Chooses one of the outcomes, more often the more probable the learner thinks it is.

    beta: how decidedly; 0 is at random. perseveration: how much more attractive the last choice is than that.
    lapse: how often the choice is made without thinking.
    """

    beta: Number = parameter(default=1.0, domain=Domain(0.0))
    perseveration: Number = parameter(default=0.0, domain=Domain())
    lapse: Number = parameter(default=0.0, domain=Domain(0.0, 1.0))
    anchored: ClassVar[bool] = False
    kind: ClassVar[str] = "choice"

    def answer(self, seen: Seen) -> Choice:
        chances = seen.estimate if seen.estimate.ndim else jnp.stack([1 - seen.estimate, seen.estimate])
        again = jnp.arange(len(chances)) == seen.last
        log_chances = jax.nn.log_softmax(self.beta * chances + self.perseveration * again)
        lapse = jnp.asarray(self.lapse)
        at_random = jnp.log(lapse) - math.log(len(chances))
        return Choice(jnp.logaddexp(jnp.log1p(-lapse) + log_chances, at_random))


@config
class Readout:
    """A number that follows surprise, such as a reaction time or the width of a pupil."""

    offset: Number = parameter(default=0.0, domain=Domain())
    slope: Number = parameter(default=0.0, domain=Domain())
    noise: Number = parameter(default=1.0, domain=POSITIVE)
    anchored: ClassVar[bool] = False
    kind: ClassVar[str] = "readout"

    def answer(self, seen: Seen) -> Normal:
        mean = self.offset + self.slope * seen.surprise
        return Normal(mean, jnp.broadcast_to(jnp.asarray(self.noise, mean.dtype), mean.shape))


def _lapsing(meant: Answer, lapse: Number, low: Number, high: Number) -> Answer:
    """An answer that may be a lapse; as it was meant where lapses are ruled out."""
    if isinstance(lapse, float | int) and lapse == 0:
        return meant
    return SometimesAnything(meant, *(jnp.asarray(part, meant.mean.dtype) for part in (lapse, low, high)))


def _size(step: Array) -> Array:
    """The size of a step, with a slope of zero where there is none."""
    return jnp.where(step == 0, 0.0, jnp.abs(step))

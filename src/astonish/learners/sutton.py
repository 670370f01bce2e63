"""Learn how fast to learn: raise the learning rate while errors keep their sign (the algorithm K1 of Sutton 1992)."""

from typing import Annotated, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from astonish.core.names import NUMBERS
from astonish.core.numbers import FINITE, NOT_NEGATIVE, OPEN_PROBABILITY, POSITIVE, Domain, Number, floats, limits
from astonish.core.parameters import START, parameter
from astonish.learners.base import NumberLearner, StepInfo

_MOST = 30.0  # of the log-odds of a learning rate: beyond, one minus the rate would soon be no number of its own


class Gain(NamedTuple):
    """An estimate, the log-odds of its learning rate (Sutton's b less ln R), and a trace of recent changes (his h)."""

    mean: Annotated[Array, FINITE]
    log_odds: Annotated[Array, FINITE]
    trace: Annotated[Array, FINITE]


class SuttonK1(NumberLearner):
    """A delta rule whose learning rate rises while errors have the sign of recent changes, and falls when they do not.

    The surprise it reports is the size of its error. Sutton's R, the variance of the noise, is in the first learning
    rate: it is e^b / (R + e^b), and of b only its distance from ln R matters. With b = ln R at first, it is 1/2.
    Errors and the trace are measured in units of `scale`; it is 1 in the original.
    """

    meta_rate: Number = parameter(1.0, NOT_NEGATIVE, (0.05, 5.0), "how fast the learning rate changes (mu)")
    start: Number = START.field()
    first_rate: Number = parameter(0.5, OPEN_PROBABILITY, (0.05, 0.95), "learning rate before the first sample")
    first_trace: Number = parameter(0.005, Domain(), (0.0, 0.1), "trace of changes before the first sample (h)")
    scale: Number = parameter(1.0, POSITIVE, (0.1, 1.0), "the error that counts as 1", fact="range")
    name: ClassVar[str] = "sutton-k1"
    surprise_measure: ClassVar[str] = "absolute_error"
    takes: ClassVar[tuple[str, ...]] = NUMBERS
    free: ClassVar[tuple[str, ...]] = ("meta_rate", "first_rate")

    def init(self) -> Gain:
        start, rate, trace, *_ = floats(self.start, self.first_rate, self.first_trace, self.meta_rate, self.scale)
        return Gain(start, jnp.clip(jnp.log(rate) - jnp.log1p(-rate), -_MOST, _MOST), trace)

    def step(self, state: Gain, x: Number) -> tuple[Gain, StepInfo]:
        error = (x - state.mean) / self.scale
        most = 0.1 * limits(state.mean).max
        slope = jnp.clip(self.meta_rate * error, -most, most)  # infinity times a trace of 0 would be no number
        log_odds = jnp.clip(state.log_odds + slope * state.trace, -_MOST, _MOST)
        rate, rest = jax.nn.sigmoid(log_odds), jax.nn.sigmoid(-log_odds)
        trace = (state.trace + rate * error) * rest
        return Gain(rest * state.mean + rate * x, log_odds, trace), StepInfo(jnp.abs(x - state.mean), rate)

"""Has it reversed? A hidden Markov model of which of two options is the good one (Hampton et al. 2006)."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from numpy.random import Generator

from astonish.core.numbers import FINITE, OPEN_PROBABILITY, Number, floats
from astonish.core.parameters import HAZARD, parameter
from astonish.core.special import fraction
from astonish.learners.base import BinaryLearner, StepInfo

_CERTAIN = 1e-12  # as close to 0 and 1 as a probability that is put into a state may be


class Reversal(NamedTuple):
    """The log-odds that the first option is the good one now."""

    log_odds: Annotated[Array, FINITE]


class ReversalHMM(BinaryLearner):
    """Exact inference in a world of two states: one option is good and the other bad, and they may swap at any time.

    An outcome of 1 speaks for the first option: its probability is `good` while that option is the good one, and `bad`
    while it is not. Before each outcome, the first included, the options swap roles with probability `hazard`.
    The estimate is the probability of a 1 as things are now. The learning rate is the share of the error by which the
    outcome moves it from what was expected; it is the same for both outcomes. It reports Shannon's surprise.
    """

    hazard: Number = HAZARD.field()
    good: Number = parameter(0.8, OPEN_PROBABILITY, (0.55, 0.95), "probability of a 1 while the first option is good")
    bad: Number = parameter(0.2, OPEN_PROBABILITY, (0.05, 0.45), "probability of a 1 while the first option is bad")
    name: ClassVar[str] = "reversal-hmm"
    free: ClassVar[tuple[str, ...]] = ("hazard", "good", "bad")
    meanings: ClassVar[Mapping[str, str]] = {"good_probability": "probability that the first option is the good one"}

    def init(self) -> Reversal:
        return Reversal(jnp.zeros((), jnp.result_type(float, self.hazard, self.good, self.bad)))

    def step(self, state: Reversal, x: Number) -> tuple[Reversal, StepInfo]:
        is_good, is_bad = -jax.nn.softplus(-state.log_odds), -jax.nn.softplus(state.log_odds)
        if_good, if_bad = (_log_probability(probability, x) for probability in (self.good, self.bad))
        stays, swaps = _log_probability(self.hazard, 0), _log_probability(self.hazard, 1)
        became_good, became_bad = is_bad + swaps + if_good, is_good + swaps + if_bad
        now_good = jnp.logaddexp(is_good + stays + if_good, became_good)
        now_bad = jnp.logaddexp(is_bad + stays + if_bad, became_bad)
        surprise = -jnp.logaddexp(now_good, now_bad)
        change = jnp.exp(jnp.logaddexp(became_good, became_bad) + surprise)

        # The rate is the share of the outcome's variance that is due to not knowing the state
        expected_good = jnp.exp(jnp.logaddexp(is_good + stays, is_bad + swaps))
        expected_bad = jnp.exp(jnp.logaddexp(is_bad + stays, is_good + swaps))
        good, bad = jnp.asarray(self.good), jnp.asarray(self.bad)
        within = expected_good * good * (1 - good) + expected_bad * bad * (1 - bad)
        rate = fraction(within, expected_good * expected_bad * jnp.square(good - bad))
        return Reversal(now_good - now_bad), StepInfo(surprise, rate, jnp.minimum(change, 1.0))

    def estimate(self, state: Reversal) -> Array:
        is_good, is_bad = jax.nn.sigmoid(state.log_odds), jax.nn.sigmoid(-state.log_odds)
        return is_good * self.good + is_bad * self.bad

    def quantities(self, state: Reversal, new: Reversal, x: Number) -> dict[str, Array]:
        return {"good_probability": jax.nn.sigmoid(new.log_odds)}

    def uncertainty(self, state: Reversal) -> Array:
        root = 0.5 * (jax.nn.softplus(state.log_odds) + jax.nn.softplus(-state.log_odds))
        return jnp.exp(-root) * jnp.abs(jnp.asarray(self.good) - self.bad)

    def with_estimate(self, state: Reversal, value: Any) -> Reversal:
        gap = jnp.asarray(self.good) - self.bad
        is_good = jnp.clip((value - self.bad) / jnp.where(gap == 0, 1.0, gap), _CERTAIN, 1 - _CERTAIN)
        return Reversal(jnp.log(is_good) - jnp.log1p(-is_good))

    def simulate(self, rng: Generator, steps: int) -> Any:
        return rng.binomial(1, self.good if rng.random() < 0.5 else self.bad, steps)


def _log_probability(probability: Number, x: Number) -> Array:
    """The logarithm of the probability of an outcome 0 or 1, given that of a 1."""
    (probability,) = floats(probability)
    return jnp.where(jnp.asarray(x) == 1, jnp.log(probability), jnp.log1p(-probability))

"""The approximately Bayesian delta rule for a mean that jumps (Nassar, Wilson, Heasly & Gold 2010)."""

import math
from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from astonish.config import config
from astonish.domain import POSITIVE, Domain, parameter
from astonish.learner import Info
from astonish.precision import Number, limits


class Run(NamedTuple):
    """An estimate, and how many samples it is thought to rest on."""

    mean: Array
    length: Array


@config
class Nassar2010:
    """Knows the noise, how often the mean jumps (`hazard`), and that it jumps to anywhere from `low` to `high`.

    It reports Shannon's surprise; its rate is the weight of the new sample in its estimate.
    likelihood_weight: how much it heeds the evidence for a jump; 1 is normative, people are often below.
    """

    noise: Number = parameter(default=1.0, domain=POSITIVE)
    hazard: Number = parameter(default=0.1, domain=Domain(0.0, 1.0, open=True))
    low: Number = parameter(default=-20.0, domain=Domain())
    high: Number = parameter(default=20.0, domain=Domain())
    likelihood_weight: Number = parameter(default=1.0, domain=Domain(0.0))
    samples: ClassVar[Domain] = Domain()

    def __post_init__(self) -> None:
        low, high = self.low, self.high
        if isinstance(low, float | int) and isinstance(high, float | int) and low >= high:
            raise ValueError(f"low = {low:g} and high = {high:g} leave no room for the mean; give low below high")

    def init(self) -> Run:
        middle = 0.5 * (jnp.asarray(self.low, jnp.result_type(float, self.low)) + self.high)
        return Run(middle, jnp.ones_like(middle))

    def step(self, state: Run, x: Number) -> tuple[Run, Info]:
        stay, jump = self._chances(state, x)
        odds = self.likelihood_weight * (jump - stay) + _log_odds(self.hazard)
        jumped = jax.nn.sigmoid(odds)
        rate = (1 + jumped * state.length) / (state.length + 1)
        mean = (1 - rate) * state.mean + rate * x
        surprise = -jnp.logaddexp(stay + jnp.log1p(-jnp.asarray(self.hazard)), jump + jnp.log(self.hazard))
        return Run(mean, (1 - jumped) * (state.length + 1) + jumped), Info(surprise, rate, jumped)

    def estimate(self, state: Run) -> Array:
        return state.mean

    def _chances(self, state: Run, x: Number) -> tuple[Array, Array]:
        """Log-density of the sample if the mean has stayed, and if it has jumped."""
        std = self.noise * jnp.sqrt(1 + 1 / state.length)
        furthest = 0.1 * limits(std).max ** 0.5  # whose square is still a number
        distance = jnp.clip((x - state.mean) / std, -furthest, furthest)
        stay = -0.5 * distance * distance - jnp.log(std) - 0.5 * math.log(2 * math.pi)
        return stay, -jnp.log(jnp.asarray(self.high) - self.low)


def _log_odds(chance: Number) -> Array:
    return jnp.log(chance) - jnp.log1p(-jnp.asarray(chance))

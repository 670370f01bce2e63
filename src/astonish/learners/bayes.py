"""Bayes' rule for a world that does not change, and leaky integration for one that does.

Both report Shannon's surprise, and as rate the share of the newest sample in all the evidence, the prior not counted.
"""

from typing import Any, NamedTuple

import jax.numpy as jnp
from jax import Array

from astonish.config import config
from astonish.domain import Domain, parameter
from astonish.expfam import Belief, Family, bayes, blend, dtype_of
from astonish.learner import Info
from astonish.precision import Number
from astonish.surprise import shannon


class Evidence(NamedTuple):
    """A belief, and how many samples it still rests on."""

    belief: Belief
    samples: Array


@config
class Leaky:
    """Bayes' rule that forgets: the past counts `keep` times as much with every sample, down to the prior.

    The belief's distance from the prior shrinks by the factor `keep` before each sample, which itself counts fully.
    """

    family: Family
    keep: Number = parameter(default=0.9, domain=Domain(0.0, 1.0))
    prior: Belief | None = None

    @property
    def samples(self) -> Any:
        return self.family.samples

    def init(self) -> Evidence:
        belief = self.family.prior() if self.prior is None else self.prior
        return Evidence(belief, jnp.zeros((), dtype_of(belief)))

    def step(self, state: Evidence, x: Any) -> tuple[Evidence, Info]:
        faded = blend(self.family, state.belief, self.keep, self.init().belief, 1 - jnp.asarray(self.keep))
        samples = self.keep * state.samples + 1
        info = Info(shannon(self.family, state.belief, x), 1 / samples)
        return Evidence(bayes(self.family, faded, x), samples), info

    def estimate(self, state: Evidence) -> Array:
        return state.belief.mean


@config
class Bayes:
    """Bayes' rule (eq. 14), naively: every sample counts alike, for ever."""

    family: Family
    prior: Belief | None = None

    @property
    def samples(self) -> Any:
        return self.family.samples

    def init(self) -> Evidence:
        return Leaky(self.family, 1.0, self.prior).init()

    def step(self, state: Evidence, x: Any) -> tuple[Evidence, Info]:
        samples = state.samples + 1
        info = Info(shannon(self.family, state.belief, x), 1 / samples)
        return Evidence(bayes(self.family, state.belief, x), samples), info

    def estimate(self, state: Evidence) -> Array:
        return state.belief.mean

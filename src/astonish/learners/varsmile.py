"""Variational SMiLe: forget as a sample speaks for a change (Liakoni, Modirshanechi, Gerstner & Brea 2021)."""

from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from astonish.config import config
from astonish.domain import Domain, parameter
from astonish.expfam import Belief, Family, bayes, blend, log_evidence
from astonish.learner import Info
from astonish.precision import Number, limits


@config
class VarSmile:
    """The past fades towards the prior by gamma, and the new sample counts fully, so that confidence can grow.

    gamma is `m S / (1 + m S)`, where S, the Bayes-factor surprise, says how much more probable the sample is under the
    prior than under the belief. It reports ln S; with `m = p / (1 - p)` for a chance p of a change before each sample,
    gamma is the probability that there was one.
    """

    family: Family
    m: Number = parameter(default=0.1, domain=Domain(0.0))
    prior: Belief | None = None

    @property
    def samples(self) -> Any:
        return self.family.samples

    def init(self) -> Belief:
        return self.family.prior() if self.prior is None else self.prior

    def step(self, state: Belief, x: Any) -> tuple[Belief, Info]:
        prior = self.init()
        surprise = log_evidence(self.family, prior, x) - log_evidence(self.family, state, x)
        gamma = _gamma(jnp.asarray(self.m), surprise)
        faded = blend(self.family, state, 1 - gamma, prior, gamma)
        return bayes(self.family, faded, x), Info(surprise, gamma, gamma)

    def estimate(self, state: Belief) -> Array:
        return state.mean


def _gamma(m: Array, surprise: Array) -> Array:
    """`m S / (1 + m S)` from ln S, of whatever size; at `m = 0` a zero that knows its slope."""
    some = m > 0
    most = 0.4 * jnp.log(limits(surprise).max)  # whose exponential is still a number
    none = m * jnp.exp(jnp.minimum(surprise, most))
    return jnp.where(some, jax.nn.sigmoid(jnp.log(jnp.where(some, m, 1.0)) + surprise), none)

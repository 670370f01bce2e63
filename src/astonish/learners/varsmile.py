"""Variational SMiLe: forget as a sample speaks for a change (Liakoni, Modirshanechi, Gerstner & Brea 2021)."""

from typing import Any, ClassVar

import jax
import jax.numpy as jnp

from astonish.core.names import Contexts
from astonish.core.numbers import Domain, Number, limits
from astonish.core.parameters import parameter
from astonish.learners.base import FamilyLearner, StepInfo
from astonish.theory.expfam import Belief, Family, bayes, blend, log_evidence


class VarSmile(FamilyLearner):
    """The past fades towards the prior by gamma, and the new sample counts fully, so that confidence can grow.

    gamma is `m S / (1 + m S)`, where S, the Bayes-factor surprise, says how much more probable the sample is under the
    prior than under the belief. It reports ln S; with `m = p / (1 - p)` for a probability p of a change before each
    sample, gamma is the probability that there was one.
    """

    family: Family
    m: Number = parameter(0.1, Domain(0.0), (0.01, 1.0), "readiness to forget; the odds of a change, if normative")
    prior: Belief | None = None
    name: ClassVar[str] = "varsmile"
    surprise_measure: ClassVar[str] = "bayes_factor"
    free: ClassVar[tuple[str, ...]] = ("m",)
    usual_contexts: ClassVar[Contexts] = "together"

    def step(self, state: Belief, x: Any) -> tuple[Belief, StepInfo]:
        prior = self.first_belief
        surprise = log_evidence(self.family, prior, x) - log_evidence(self.family, state, x)
        m = jnp.asarray(self.m)
        most = 0.4 * jnp.log(limits(surprise).max)  # whose exponential is still a number
        at_zero = m * jnp.exp(jnp.minimum(surprise, most))  # at m = 0 gamma is 0, with the right derivative
        gamma = jnp.where(m > 0, jax.nn.sigmoid(jnp.log(jnp.where(m > 0, m, 1.0)) + surprise), at_zero)
        faded = blend(self.family, state, 1 - gamma, prior, gamma)
        return bayes(self.family, faded, x), StepInfo(surprise, gamma, gamma)

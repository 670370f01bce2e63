"""Bayes' rule for a world that does not change, and leaky integration for one that does.

Both report Shannon's surprise, and as learning rate the share of the newest sample in all the evidence, the prior not
counted.
"""

from typing import Annotated, Any, ClassVar, NamedTuple, Protocol

import jax.numpy as jnp
from jax import Array

from astonish.core.names import Contexts
from astonish.core.numbers import NOT_NEGATIVE, PROBABILITY, Number
from astonish.core.parameters import parameter
from astonish.learners.base import FamilyLearner, StepInfo
from astonish.theory.expfam import Belief, Family, bayes, blend, dtype_of
from astonish.theory.surprise import shannon


class Evidence(NamedTuple):
    """A belief, and how many samples it still rests on."""

    belief: Belief
    samples: Annotated[Array, NOT_NEGATIVE]

    @property
    def mean(self) -> Array:
        return self.belief.mean


class _WithEvidence(FamilyLearner, Protocol):
    """A learner that counts the samples behind its belief."""

    surprise_measure: ClassVar[str] = "shannon"

    def init(self) -> Evidence:
        return Evidence(self.first_belief, jnp.zeros((), dtype_of(self.first_belief)))

    def belief(self, state: Evidence) -> Belief:
        return state.belief

    def with_belief(self, state: Evidence, belief: Belief) -> Evidence:
        return state._replace(belief=belief)


class Bayes(_WithEvidence):
    """Bayes' rule (eq. 14), naively: every sample counts the same, for ever."""

    family: Family
    prior: Belief | None = None
    name: ClassVar[str] = "bayes"

    def step(self, state: Evidence, x: Any) -> tuple[Evidence, StepInfo]:
        samples = state.samples + 1
        info = StepInfo(shannon(self.family, state.belief, x), 1 / samples)
        return Evidence(bayes(self.family, state.belief, x), samples), info


class Leaky(_WithEvidence):
    """Bayes' rule that forgets: the past counts `keep` times as much with every sample, down to the prior.

    The belief's distance from the prior shrinks by the factor `keep` before each sample, which itself counts fully.
    """

    family: Family
    keep: Number = parameter(0.9, PROBABILITY, (0.5, 0.99), "how much of the past still counts after each sample")
    prior: Belief | None = None
    name: ClassVar[str] = "leaky"
    free: ClassVar[tuple[str, ...]] = ("keep",)
    usual_contexts: ClassVar[Contexts] = "together"

    def step(self, state: Evidence, x: Any) -> tuple[Evidence, StepInfo]:
        faded = blend(self.family, state.belief, self.keep, self.first_belief, 1 - jnp.asarray(self.keep))
        samples = self.keep * state.samples + 1
        info = StepInfo(shannon(self.family, state.belief, x), 1 / samples)
        return Evidence(bayes(self.family, faded, x), samples), info

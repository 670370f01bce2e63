"""A particle filter over histories of changes (Liakoni, Modirshanechi, Gerstner & Brea 2021).

Particle filtering with the rate of forgetting set by Bayes-factor surprise: every particle holds the belief that
follows from one history of changes, and draws at random whether there was a change just now.
"""

from typing import Annotated, Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from astonish.core.names import Contexts
from astonish.core.numbers import COUNT, NOT_NEGATIVE, RANDOM_BITS, WHOLE, Number, limits, random_key
from astonish.core.parameters import HAZARD, parameter
from astonish.core.special import log
from astonish.learners.base import LastChange, StepInfo, repeated, rows_where
from astonish.learners.message_passing import MixtureLearner
from astonish.theory.expfam import Belief, Family, bayes, log_evidence


class Particles(NamedTuple):
    """Beliefs (stacked), their weights, how many samples each rests on, and the key of the random numbers to come."""

    beliefs: Belief
    weights: Annotated[Array, NOT_NEGATIVE]
    ages: Annotated[Array, WHOLE]
    key: Array


class ParticleFilter(MixtureLearner):
    """Before each sample the world changes with probability `hazard`, to a parameter drawn from the prior.

    It reports Shannon's surprise and its estimate of the probability of a change; its learning rate is the share of the
    newest sample in those since the last change, averaged over particles. Particles are resampled as soon as the
    effective sample size is no more than half of their number. The same seed gives the same answers.
    """

    family: Family
    hazard: Number = HAZARD.field()
    prior: Belief | None = None
    particles: int = parameter(20, COUNT, (5, 100), "how many particles there are", static=True)
    seed: Number = parameter(0, WHOLE, (0, 1000), "seed of the particles' random numbers")
    name: ClassVar[str] = "particle-filter"
    free: ClassVar[tuple[str, ...]] = ("hazard",)
    usual_contexts: ClassVar[Contexts] = "together"

    def init(self) -> Particles:
        count = self.particles
        key = random_key(self.seed)
        beliefs = repeated(self._fresh(), count)
        ages = jnp.zeros(count, jnp.int32)
        return Particles(beliefs, jnp.full(count, 1 / count), ages, jax.random.key_data(key))

    def step(self, state: Particles, x: Any) -> tuple[Particles, StepInfo]:
        key, now = jax.random.split(jax.random.wrap_key_data(state.key, impl=RANDOM_BITS))
        for_changes, for_resampling = jax.random.uniform(now, (2, self.particles))
        hazard = jnp.asarray(self.hazard)
        under_each = jax.vmap(lambda belief: log_evidence(self.family, belief, x))(state.beliefs)
        stay = jnp.log1p(-hazard) + log_weights(state.weights) + under_each
        change = jnp.log(hazard) + log_evidence(self.family, self._fresh(), x)
        top = jnp.maximum(stay.max(), change)
        changed = state.weights * jnp.exp(jnp.minimum(change - top, 0))  # weight of each particle and a change
        least = limits(stay).tiny ** 0.5  # huge evidence may be rounded otherwise here than in `top`
        joint = changed + jnp.exp(jnp.minimum(stay - top, 0)) + least * state.weights  # with or without a change
        total, total_changed = (part @ jnp.ones_like(part) for part in (joint, changed))  # `sum` adds up one by one
        chosen, weights = resampled(for_resampling, joint / total)
        renewed = (for_changes * joint < changed)[chosen]
        beliefs = rows_where(renewed, self._fresh(), jax.tree.map(lambda leaf: leaf[chosen], state.beliefs))
        beliefs = jax.vmap(lambda belief: bayes(self.family, belief, x))(beliefs)
        ages = jnp.where(renewed, 0, state.ages[chosen]) + 1
        rate = jnp.minimum(weights @ (1 / ages.astype(weights.dtype)), 1.0)
        info = StepInfo(-top - log(total), rate, total_changed / total)
        return Particles(beliefs, weights, ages, jax.random.key_data(key)), info

    def last_change(self, state: Particles) -> LastChange:
        return LastChange(state.ages, state.weights)

    def _fresh(self) -> Belief:
        return jax.tree.map(jnp.asarray, self.first_belief)


def resampled(uniforms: Array, weights: Array) -> tuple[Array, Array]:
    """The indices of the particles that go on, and their weights: resampled if the effective sample size is small.

    uniforms: a random number from 0 to 1 for each particle.
    """
    count = len(weights)
    resample = 1 / (weights @ weights) <= count / 2
    few = count <= 64  # so few that comparing all pairs, though more work, is faster than a search
    sums = jnp.tril(jnp.ones((count, count), weights.dtype)) @ weights if few else jnp.cumsum(weights)
    at = uniforms * sums[-1]
    if few:
        drawn = jnp.sum(sums[None] <= at[:, None], axis=1, dtype=jnp.int32)
    else:  # binary search; what `jnp.searchsorted` becomes in JAX 0.12 has no operations that an engine could compile
        drawn, end = jnp.zeros(count, jnp.int32), jnp.full(count, count, jnp.int32)
        for _ in range(count.bit_length()):
            middle = (drawn + end) >> 1
            is_above = sums[middle] > at
            drawn, end = jnp.where(is_above, drawn, middle + 1), jnp.where(is_above, middle, end)
    chosen = jnp.where(resample, jnp.minimum(drawn, count - 1), jnp.arange(count, dtype=drawn.dtype))
    return chosen, jnp.where(resample, 1 / count, weights)


def reweighted(weights: Array, log_likelihood: Array) -> tuple[Array, Array]:
    """The weights of hypotheses after a sample, by Bayes' rule, and Shannon's surprise at it."""
    log_joint = log_weights(weights) + log_likelihood
    top = log_joint.max()
    least = limits(log_likelihood).tiny ** 0.5  # huge evidence may be rounded otherwise here than in `top`
    joint = jnp.exp(jnp.minimum(log_joint - top, 0)) + least * weights
    total = joint @ jnp.ones_like(joint)  # `sum` adds up one by one
    return joint / total, -top - log(total)


def log_weights(weights: Array) -> Array:
    """Logarithms of probabilities, minus infinity where one is zero; derivatives there are zero, not NaN."""
    positive = weights > 0
    return jnp.where(positive, log(jnp.where(positive, weights, 1.0)), -jnp.inf)

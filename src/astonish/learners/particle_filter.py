"""A crowd of learners, each with its own guess when the world changed (Liakoni, Modirshanechi, Gerstner & Brea 2021).

Particle filtering with the rate of forgetting set by Bayes-factor surprise: every particle holds the belief that
follows from one history of changes, and draws at random whether there was a change just now.
"""

from dataclasses import field
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from astonish.config import config
from astonish.domain import Domain, parameter
from astonish.expfam import Belief, Family, bayes, log_evidence
from astonish.learner import Info
from astonish.learners.message_passing import average, log_weights, repeated
from astonish.precision import Number, limits
from astonish.special import log


class Particles(NamedTuple):
    """Beliefs (stacked), their weights, how many samples each rests on, and the key of the random numbers to come."""

    beliefs: Belief
    weights: Array
    ages: Array
    key: Array


@config
class ParticleFilter:
    """Before each sample the world changes with chance `hazard`, to a parameter drawn anew from the prior.

    It reports Shannon's surprise and its estimate of the probability of a change; its rate is the share of the newest
    sample in those since the last change, averaged over particles. Particles are drawn anew from their weights as soon
    as these are worth no more than half of them. The same seed gives the same answers.
    """

    family: Family
    hazard: Number = parameter(default=0.1, domain=Domain(0.0, 1.0, open=True))
    prior: Belief | None = None
    particles: int = field(default=20, metadata={"static": True, "domain": Domain(1, whole=True)})
    seed: Number = parameter(default=0, domain=Domain(0, whole=True))

    @property
    def samples(self) -> Any:
        return self.family.samples

    def init(self) -> Particles:
        some = self.particles
        key = jax.random.key_data(jax.random.key(jnp.asarray(self.seed).astype(jnp.result_type(int))))
        beliefs = repeated(self._fresh(), some)
        return Particles(beliefs, jnp.full(some, 1 / some), jnp.zeros(some, jnp.int32), key)

    def step(self, state: Particles, x: Any) -> tuple[Particles, Info]:
        key, now = jax.random.split(jax.random.wrap_key_data(state.key))
        for_changes, for_drawing = jax.random.uniform(now, (2, self.particles))
        hazard = jnp.asarray(self.hazard)
        under_each = jax.vmap(lambda belief: log_evidence(self.family, belief, x))(state.beliefs)
        stay = jnp.log1p(-hazard) + log_weights(state.weights) + under_each
        change = jnp.log(hazard) + log_evidence(self.family, self._fresh(), x)
        top = jnp.maximum(stay.max(), change)
        changed = state.weights * jnp.exp(
            jnp.minimum(change - top, 0)
        )  # how probable each particle is if there was a change
        least = limits(stay).tiny ** 0.5  # huge evidence may be rounded otherwise here than in `top`
        shares = changed + jnp.exp(jnp.minimum(stay - top, 0)) + least * state.weights  # and in all, up to one factor
        total, news = (part @ jnp.ones_like(part) for part in (shares, changed))  # the compiler adds up one by one
        chosen, weights = _drawn(for_drawing, shares / total)
        beliefs, ages = self._renewed(state, chosen, (for_changes * shares < changed)[chosen])
        beliefs = jax.vmap(lambda belief: bayes(self.family, belief, x))(beliefs)
        rate = jnp.minimum(weights @ (1 / ages.astype(weights.dtype)), 1.0)
        return Particles(beliefs, weights, ages, jax.random.key_data(key)), Info(-top - log(total), rate, news / total)

    def estimate(self, state: Particles) -> Array:
        return average(state.weights, state.beliefs)

    def _fresh(self) -> Belief:
        prior = self.family.prior() if self.prior is None else self.prior
        return jax.tree.map(jnp.asarray, prior)

    def _renewed(self, state: Particles, chosen: Array, changed: Array) -> tuple[Belief, Array]:
        """The chosen particles' beliefs, those that saw a change made anew, and how many samples they will rest on."""

        def renew(old: Array, fresh: Array) -> Array:
            return jnp.where(changed.reshape(-1, *[1] * fresh.ndim), fresh, old[chosen])

        return jax.tree.map(renew, state.beliefs, self._fresh()), jnp.where(changed, 0, state.ages[chosen]) + 1


def _drawn(luck: Array, weights: Array) -> tuple[Array, Array]:
    """Which particles go on, with which weights: as they are, or drawn anew if few of them carry all the weight.

    luck: a random number from 0 to 1 for each of them.
    """
    some = len(weights)
    anew = 1 / (weights @ weights) <= some / 2
    few = some <= 64  # so few that all at once, though more work, is sooner done than one after the other
    sums = jnp.tril(jnp.ones((some, some), weights.dtype)) @ weights if few else jnp.cumsum(weights)
    drawn = jnp.searchsorted(sums, luck * sums[-1], side="right", method="compare_all" if few else "scan")
    chosen = jnp.where(anew, jnp.minimum(drawn, some - 1), jnp.arange(some))
    return chosen, jnp.where(anew, 1 / some, weights)

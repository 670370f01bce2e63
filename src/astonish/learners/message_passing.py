"""Exact inference in a world that changes, with as many hypotheses as one can afford.

Adams & MacKay (2007), Fearnhead & Liu (2007); as MPN in Liakoni, Modirshanechi, Gerstner & Brea (2021). A hypothesis
says when the world changed last. With more of them than samples, nothing is left out.
"""

from dataclasses import field
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from astonish.config import config
from astonish.domain import Domain, parameter
from astonish.expfam import Belief, Family
from astonish.learner import Info
from astonish.precision import Number
from astonish.special import log


class Hypotheses(NamedTuple):
    """What is believed if the last change was so long ago, and how probable that is.

    beliefs: one per hypothesis, stacked. log_partitions: theirs, known from the step before. weights: the hypotheses'
    probabilities; zero where a place is empty. log_weights: their logarithms, in which none is lost for being small.
    ages: how many samples there were since the change, the one just after it included (the run length of Adams &
    MacKay).
    """

    beliefs: Belief
    log_partitions: Array
    weights: Array
    log_weights: Array
    ages: Array


@config
class MessagePassing:
    """Before each sample the world changes with chance `hazard`, to a parameter drawn anew from the prior.

    It keeps the most probable `hypotheses` about the time of the last change. It reports Shannon's surprise; its rate
    is the share of the newest sample in those since the last change, averaged over hypotheses; its `change` is exact
    as long as no hypothesis had to go.
    """

    family: Family
    hazard: Number = parameter(default=0.1, domain=Domain(0.0, 1.0, open=True))
    prior: Belief | None = None
    hypotheses: int = field(default=20, metadata={"static": True, "domain": Domain(1, whole=True)})

    @property
    def samples(self) -> Any:
        return self.family.samples

    def init(self) -> Hypotheses:
        places = repeated(self._fresh(), self.hypotheses)
        empty = jnp.arange(self.hypotheses) > 0
        return places._replace(
            weights=jnp.where(empty, 0.0, places.weights), log_weights=jnp.where(empty, -jnp.inf, places.log_weights)
        )

    def step(self, state: Hypotheses, x: Any) -> tuple[Hypotheses, Info]:
        hazard = jnp.asarray(self.hazard)
        olds = jax.vmap(lambda one: self._seen(one, x, jnp.log1p(-hazard)))(state)
        new = self._seen(self._fresh(), x, jnp.log(hazard))
        top = jax.lax.stop_gradient(jnp.maximum(olds.log_weights.max(), new.log_weights))
        olds, new = (each._replace(weights=jnp.exp(each.log_weights - top)) for each in (olds, new))
        total = olds.weights @ jnp.ones_like(olds.weights) + new.weights  # the compiler adds up one by one
        kept, lost = _exchanged(olds, new)
        left = total - lost
        kept = kept._replace(weights=kept.weights / left, log_weights=kept.log_weights - (top + log(left)))
        rate = kept.weights @ (1 / kept.ages.astype(total.dtype))
        return kept, Info(-top - log(total), jnp.minimum(rate, 1.0), new.weights / total)

    def estimate(self, state: Hypotheses) -> Array:
        return average(state.weights, state.beliefs)

    def run_lengths(self, state: Hypotheses, longest: int) -> Array:
        """The probability that 1, 2, ... `longest` samples have come since the last change."""
        return (jnp.arange(1, longest + 1)[:, None] == state.ages) @ state.weights

    def _fresh(self) -> Hypotheses:
        """The hypothesis that the world changed just now, as if it were the only one."""
        belief = jax.tree.map(jnp.asarray, self.family.prior() if self.prior is None else self.prior)
        log_partition = jnp.asarray(self.family.log_partition(belief))
        one = jnp.ones_like(log_partition)
        return Hypotheses(belief, log_partition, one, jnp.zeros_like(one), jnp.zeros((), jnp.int32))

    def _seen(self, one: Hypotheses, x: Any, log_chance: Array) -> Hypotheses:
        """A hypothesis after a sample; its log-weight is now that of hypothesis and sample together."""
        belief, misfit = self.family.blend(one.beliefs, 1, self.family.likelihood(x), 1)
        log_partition = self.family.log_partition(belief)
        log_evidence = self.family.log_base(x) + log_partition - misfit - one.log_partitions
        log_weight = one.log_weights + log_chance + log_evidence
        return Hypotheses(belief, log_partition, one.weights, log_weight, one.ages + 1)


def _exchanged(olds: Hypotheses, new: Hypotheses) -> tuple[Hypotheses, Array]:
    """The old hypotheses, the new one in the place of the least unless it is less still; and the weight lost."""
    least = jnp.argmin(olds.log_weights)  # which tell apart what is almost zero
    gives_way = olds.log_weights[least] <= new.log_weights

    def exchange(old: Array, new: Array) -> Array:
        place = ((jnp.arange(len(old)) == least) & gives_way).reshape(-1, *[1] * new.ndim)
        return jnp.where(place, new, old)

    return jax.tree.map(exchange, olds, new), jnp.where(gives_way, olds.weights[least], new.weights)


def repeated(tree: Any, times: int) -> Any:
    """The same thing, so many times, stacked."""
    return jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (times, *jnp.shape(leaf))), tree)


def log_weights(weights: Array) -> Array:
    """Logarithms of probabilities, minus infinity where one is zero; derivatives there are zero, not NaN."""
    some = weights > 0
    return jnp.where(some, log(jnp.where(some, weights, 1.0)), -jnp.inf)


def average(weights: Array, beliefs: Belief) -> Array:
    """The mean of what stacked beliefs expect."""
    return jnp.tensordot(weights, jax.vmap(lambda belief: belief.mean)(beliefs), axes=1)

"""Exact inference in a world that changes, with as many hypotheses as one can afford.

Adams & MacKay (2007), Fearnhead & Liu (2007); as MPN in Liakoni, Modirshanechi, Gerstner & Brea (2021). A hypothesis
says when the world changed last. With more of them than samples, nothing is left out.

With fewer, these authors drop the least probable one. Which one that is changes with the parameters, and each time the
likelihood jumps: searches for the best parameters then do not end. So here two hypotheses about neighbouring times
become one, and which two depends on how long ago those times are, on nothing else. The likelihood is smooth, and nearer
to the exact one.
"""

from dataclasses import field, replace
from typing import Annotated, Any, ClassVar, NamedTuple, Protocol, Self

import jax
import jax.numpy as jnp
from jax import Array

from astonish.core.names import Contexts
from astonish.core.numbers import COUNT, FINITE, NOT_NEGATIVE, Number
from astonish.core.parameters import HAZARD, parameter
from astonish.core.programs import once
from astonish.core.special import difference, log
from astonish.learners.base import FamilyLearner, LastChange, StepInfo, repeated, rows_where
from astonish.theory.expfam import Belief, Family, blend

_EMPTY = -(2**30)  # the longest run of a slot that has not been used yet
_FAR = 50  # so many samples ago for each hypothesis, times of changes are not kept apart


class Hypotheses(NamedTuple):
    """What is believed if the last change was so long ago, and how probable that is.

    beliefs: one per hypothesis, stacked. log_partitions: theirs, known from the step before. weights: the hypotheses'
    probabilities; zero where a slot is empty. log_weights: their logarithms, in which none is lost for being small.
    ages: how many samples there were since the change, the one just after it included; a mean where several
    hypotheses were merged. oldest: the longest of these; negative where a slot is empty. Slots are in this order.
    """

    beliefs: Belief
    log_partitions: Annotated[Array, FINITE]
    weights: Annotated[Array, NOT_NEGATIVE]
    log_weights: Array
    ages: Annotated[Array, NOT_NEGATIVE]
    oldest: Array


class MixtureLearner(FamilyLearner, Protocol):
    """A learner whose state has many `beliefs` of its family, stacked, and their `weights`."""

    surprise_measure: ClassVar[str] = "shannon"

    def estimate(self, state: Any) -> Array:
        return self.family.mixture_mean(state.beliefs, state.weights)

    def error(self, state: Any, x: Any) -> Any:
        """That of the mixture: of angles, from its mean direction; else the mean of those of the beliefs."""
        if self.family.period is not None:
            return difference(x, self.estimate(state), self.family.period)
        errors = jax.vmap(lambda belief: self.family.error(belief, x))(state.beliefs)
        if errors is None:
            return None
        weights = state.weights.reshape(-1, *[1] * (errors.ndim - 1))
        return jnp.where(weights > 0, weights * errors, 0.0).sum(0)

    def belief(self, state: Any) -> None:
        return None

    def uncertainty(self, state: Any) -> Array:
        return self.family.mixture_std(state.beliefs, state.weights)


class MessagePassing(MixtureLearner):
    """Before each sample the world changes with probability `hazard`, to a parameter drawn from the prior.

    It keeps so many `hypotheses` about the time of the last change. It reports Shannon's surprise; its learning rate is
    the share of the newest sample in those since the last change, averaged over hypotheses. All it reports is exact as
    long as there are no more samples than hypotheses.
    merge: whether two hypotheses about neighbouring times then become one; if not, the least probable one is dropped,
    as published (MPN), which keeps the times of changes apart.
    """

    family: Family
    hazard: Number = HAZARD.field()
    prior: Belief | None = None
    hypotheses: int = parameter(20, COUNT, (5, 100), "how many times of the last change are kept in mind", static=True)
    merge: bool = field(default=True, kw_only=True, metadata={"static": True})
    name: ClassVar[str] = "message-passing"
    free: ClassVar[tuple[str, ...]] = ("hazard",)
    usual_contexts: ClassVar[Contexts] = "together"

    def init(self) -> Hypotheses:
        slots = repeated(self._fresh(), self.hypotheses)
        empty = jnp.arange(self.hypotheses) > 0
        return slots._replace(
            weights=jnp.where(empty, 0.0, slots.weights),
            log_weights=jnp.where(empty, -jnp.inf, slots.log_weights),
            oldest=jnp.where(empty, _EMPTY, slots.oldest),
        )

    def step(self, state: Hypotheses, x: Any) -> tuple[Hypotheses, StepInfo]:
        hazard = jnp.asarray(self.hazard)
        olds = jax.vmap(lambda one: self._seen(one, x, jnp.log1p(-hazard)))(state)
        new = self._seen(self._fresh(), x, jnp.log(hazard))
        top = jax.lax.stop_gradient(jnp.maximum(olds.log_weights.max(), new.log_weights))
        olds, new = (part._replace(weights=jnp.exp(part.log_weights - top)) for part in (olds, new))
        total = olds.weights @ jnp.ones_like(olds.weights) + new.weights  # the compiler adds up one by one
        if self.merge:
            kept, left = self._merged(olds, new), total
        else:  # the least probable of the old and the new one goes; log-weights tell apart what is almost zero
            least = jnp.argmin(olds.log_weights)
            gives_way = olds.log_weights[least] <= new.log_weights
            kept = rows_where((jnp.arange(len(olds.log_weights)) == least) & gives_way, new, olds)
            left = total - jnp.where(gives_way, olds.weights[least], new.weights)
        kept = kept._replace(weights=kept.weights / left, log_weights=kept.log_weights - (top + log(left)))
        rate = kept.weights @ (1 / kept.ages)
        return kept, StepInfo(-top - log(total), jnp.minimum(rate, 1.0), new.weights / total)

    def last_change(self, state: Hypotheses) -> LastChange:
        return LastChange(jnp.round(state.ages).astype(jnp.int32), state.weights, state.log_weights)

    def with_change_times(self, hypotheses: int | None = None) -> Self:
        return replace(self, merge=False, hypotheses=self.hypotheses if hypotheses is None else hypotheses)

    def _fresh(self) -> Hypotheses:
        """The hypothesis that the world changed just now, with all the weight."""
        belief = jax.tree.map(jnp.asarray, self.first_belief)
        log_partition = jnp.asarray(self.family.log_partition(belief))
        one = jnp.ones_like(log_partition)
        zero = jnp.zeros_like(one)
        return Hypotheses(belief, log_partition, one, zero, zero, jnp.zeros((), jnp.int32))

    def _seen(self, one: Hypotheses, x: Any, log_probability: Array) -> Hypotheses:
        """A hypothesis after a sample; its log-weight is now that of hypothesis and sample together."""
        belief, misfit = self.family.blend(one.beliefs, 1, self.family.likelihood(x), 1)
        log_partition = once(self.family.log_partition(belief))
        log_evidence = self.family.log_base(x) + log_partition - misfit - one.log_partitions
        log_weight = once(one.log_weights + log_probability + log_evidence)
        return Hypotheses(belief, log_partition, one.weights, log_weight, one.ages + 1, one.oldest + 1)

    def _merged(self, olds: Hypotheses, new: Hypotheses) -> Hypotheses:
        """Keep the hypotheses in order, from the newest to the oldest, and make one of two neighbours."""
        newers = jax.tree.map(_moved_on, new, olds)

        # The pair that takes up the least time, compared to how long ago it was
        since = _moved_on(jnp.zeros_like(newers.oldest[0]), newers.oldest)
        at = jnp.argmin(jnp.where(since < _FAR * self.hypotheses, (olds.oldest - since) / (since + 1), 0.0))
        newer, older = (jax.tree.map(lambda leaf: leaf[at], part) for part in (newers, olds))

        # One in place of both, of which the older may be an empty slot
        log_weight = jnp.logaddexp(newer.log_weights, older.log_weights)
        possible = log_weight > -jnp.inf
        share = jnp.where(possible, jnp.exp(newer.log_weights - jnp.where(possible, log_weight, 0.0)), 0.5)
        belief = blend(self.family, newer.beliefs, share, older.beliefs, 1 - share)
        log_partition, weight = self.family.log_partition(belief), newer.weights + older.weights
        age, oldest = share * newer.ages + (1 - share) * older.ages, jnp.maximum(newer.oldest, older.oldest)
        both = Hypotheses(belief, log_partition, weight, log_weight, age, oldest)
        places = jnp.arange(self.hypotheses)
        return rows_where(places < at, newers, rows_where(places == at, both, olds))


def _moved_on(first: Array, rows: Array) -> Array:
    """The rows, each at the next place, after another first one; the last is lost."""
    return jnp.concatenate([first[None], rows[:-1]]) if len(rows) > 1 else first[None]

"""How far should a surprise move a belief?

Faraji, Preuschoff & Gerstner (2018), sections 2.2, 2.3 and 4.6-4.9.

The SMiLe rule moves a belief along the line from itself (`gamma` = 0) to the scaled likelihood of the sample
(`gamma` = 1), as far as a bound on D[new || old] allows. All of it is read off one convex curve,
`expfam.log_mass_curve`.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from astonish.core.numbers import NOT_NEGATIVE, PROBABILITY, Number, limits
from astonish.theory.expfam import Belief, Family, blend, bregman, divergence, log_mass_curve, scaled_likelihood
from astonish.theory.solver import powers_at, spent_at
from astonish.theory.surprise import confidence_corrected


class Update(NamedTuple):
    """A belief after a sample, and what decided how far it moved."""

    belief: Belief
    gamma: Array
    surprise: Array
    bound: Array
    bound_max: Array


def smile(family: Family, belief: Belief, x: Any, m: Number, reference: Belief | None = None) -> Update:
    """Surprise-modulated update of a belief: one pass through the loop of Algorithm 1.

    m: readiness to change one's mind, 0 or more. reference: see `surprise.confidence_corrected`.
    Close to m = 0 gamma grows as the square root of m: its derivative there is infinite, and at 0 itself given as 0.
    """
    naive = scaled_likelihood(family, x, reference)
    old, new = log_mass_curve(family, belief, naive, 0.0), log_mass_curve(family, belief, naive, 1.0)
    surprise, bound_max = bregman(old, new, 1.0), bregman(new, old, -1.0)
    share = granted(surprise, m)
    gamma, rest = powers_at(family, belief, naive, share)
    return Update(blend(family, belief, rest, naive, gamma), gamma, surprise, share * bound_max, bound_max)


def step(family: Family, belief: Belief, x: Any, gamma: Number, reference: Belief | None = None) -> Belief:
    """The SMiLe rule (eq. 6): the belief proportional to `likelihood^gamma belief^(1 - gamma)`."""
    PROBABILITY.check("gamma", gamma)
    return blend(family, belief, 1 - gamma, scaled_likelihood(family, x, reference), gamma)


@jax.custom_jvp
def granted(surprise: Number, m: Number) -> Array:
    """`m S / (1 + m S)`: the share of the largest bound that a surprise is granted (eq. 7).

    >>> float(granted(10.0, m=0.1))
    0.5
    """
    NOT_NEGATIVE.check("m", m)
    surprise = jnp.asarray(surprise, jnp.result_type(float, surprise))
    product = jnp.minimum(m * surprise, limits(surprise).max ** 0.5)
    return product / (1 + product)


@granted.defjvp
def _(primals: tuple[Number, Number], tangents: tuple[Array, Array]) -> tuple[Array, Array]:
    """Ordered such that nothing overflows before the derivative does."""
    surprise, m = primals
    left = 1 / (1 + jnp.minimum(m * surprise, limits(surprise).max))
    return granted(surprise, m), left * m * left * tangents[0] + left * surprise * left * tangents[1]


def bound_max(family: Family, belief: Belief, x: Any, reference: Belief | None = None) -> Array:
    """D[scaled likelihood || belief]: from this bound on, nothing of the old belief is left (Fig. 2B)."""
    return divergence(family, scaled_likelihood(family, x, reference), belief)


def bound(family: Family, belief: Belief, x: Any, m: Number, reference: Belief | None = None) -> Array:
    """B, the most that a sample may change the belief (eq. 7)."""
    surprise = confidence_corrected(family, belief, x, reference)
    return granted(surprise, m) * bound_max(family, belief, x, reference)


def bound_from_gamma(family: Family, belief: Belief, x: Any, gamma: Number, reference: Belief | None = None) -> Array:
    """D[q_gamma || belief], the bound under which the SMiLe rule chooses this `gamma`."""
    PROBABILITY.check("gamma", gamma)
    return spent_at(family, belief, scaled_likelihood(family, x, reference), gamma)


def gamma_from_bound(family: Family, belief: Belief, x: Any, bound: Number, reference: Belief | None = None) -> Array:
    """The `gamma` at which D[q_gamma || belief] meets the bound: 0 for a bound of 0, 1 from `bound_max` on."""
    naive = scaled_likelihood(family, x, reference)
    most = divergence(family, naive, belief)
    share = jnp.asarray(bound) / jnp.where(most > 0, most, 1.0)
    return powers_at(family, belief, naive, jnp.clip(share, 0.0, 1.0)).gamma


def impact(family: Family, before: Belief, after: Belief, x: Any, reference: Belief | None = None) -> Array:
    """How much less surprising the sample is the second time (eq. 4)."""
    first = confidence_corrected(family, before, x, reference)
    return first - confidence_corrected(family, after, x, reference)


def impact_of_change(family: Family, before: Belief, after: Belief, gamma: Number) -> Array:
    """The impact of a step of the SMiLe rule, from the change of belief alone (eq. 8); `gamma` above 0."""
    PROBABILITY.check("gamma", gamma)
    forth, back = divergence(family, before, after), divergence(family, after, before)
    return forth / gamma + (1 / jnp.asarray(gamma) - 1) * back


def is_plausible(family: Family, before: Belief, after: Belief, x: Any, reference: Belief | None = None) -> Array:
    """Whether this change of belief is one that a plausible learning rule could make (eq. 3), to within rounding."""
    first = confidence_corrected(family, before, x, reference)
    return confidence_corrected(family, after, x, reference) <= first + 16 * limits(first).eps * (1 + first)

"""How far should a surprise move a belief?

Faraji, Preuschoff & Gerstner (2018), sections 2.2, 2.3 and 4.6-4.9.

The SMiLe rule moves a belief along the line from itself (`gamma` = 0) to the scaled likelihood of the sample
(`gamma` = 1), as far as a bound on D[new || old] allows. All of it is read off one convex curve, `expfam.along`.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from astonish.expfam import Belief, Curve, Family, along, blend, bregman, divergence, target
from astonish.precision import Number, limits
from astonish.surprise import confidence_corrected

_CLOSE = 3e-5  # a step that moves gamma by less leaves an error of about its square
_MOST_STEPS = 30  # two or three do, but for very vague beliefs


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
    """
    naive = target(family, x, reference)
    old, new = along(family, belief, naive, 0.0), along(family, belief, naive, 1.0)
    surprise, bound_max = bregman(old, new, 1.0), bregman(new, old, -1.0)
    share = granted(surprise, m)
    gamma = _gamma(family, belief, naive, share)
    return Update(blend(family, belief, 1 - gamma, naive, gamma), gamma, surprise, share * bound_max, bound_max)


def step(family: Family, belief: Belief, x: Any, gamma: Number, reference: Belief | None = None) -> Belief:
    """The SMiLe rule (eq. 6): the belief proportional to `likelihood^gamma belief^(1 - gamma)`."""
    return blend(family, belief, 1 - gamma, target(family, x, reference), gamma)


def granted(surprise: Number, m: Number) -> Array:
    """`m S / (1 + m S)`: the share of the largest bound that a surprise is granted (eq. 7).

    >>> float(granted(10.0, m=0.1))
    0.5
    """
    surprise = jnp.asarray(surprise, jnp.result_type(float, surprise))
    product = jnp.minimum(m * surprise, limits(surprise).max ** 0.5)
    return product / (1 + product)


def bound_max(family: Family, belief: Belief, x: Any, reference: Belief | None = None) -> Array:
    """D[scaled likelihood || belief]: from this bound on, nothing of the old belief is left (Fig. 2B)."""
    return divergence(family, target(family, x, reference), belief)


def bound(family: Family, belief: Belief, x: Any, m: Number, reference: Belief | None = None) -> Array:
    """B, the most that a sample may change the belief (eq. 7)."""
    surprise = confidence_corrected(family, belief, x, reference)
    return granted(surprise, m) * bound_max(family, belief, x, reference)


def bound_from_gamma(family: Family, belief: Belief, x: Any, gamma: Number, reference: Belief | None = None) -> Array:
    """D[q_gamma || belief], the bound under which the SMiLe rule chooses this `gamma`."""
    return _spent(family, belief, target(family, x, reference), gamma)


def gamma_from_bound(family: Family, belief: Belief, x: Any, bound: Number, reference: Belief | None = None) -> Array:
    """The `gamma` at which D[q_gamma || belief] meets the bound: 0 for a bound of 0, 1 from `bound_max` on."""
    naive = target(family, x, reference)
    most = divergence(family, naive, belief)
    share = jnp.asarray(bound) / jnp.where(most > 0, most, 1.0)
    return _gamma(family, belief, naive, jnp.clip(share, 0.0, 1.0))


def impact(family: Family, before: Belief, after: Belief, x: Any, reference: Belief | None = None) -> Array:
    """How much less surprising the sample is the second time (eq. 4)."""
    first = confidence_corrected(family, before, x, reference)
    return first - confidence_corrected(family, after, x, reference)


def impact_of_change(family: Family, before: Belief, after: Belief, gamma: Number) -> Array:
    """The impact of a step of the SMiLe rule, from the change of belief alone (eq. 8); `gamma` above 0."""
    forth, back = divergence(family, before, after), divergence(family, after, before)
    return forth / gamma + (1 / jnp.asarray(gamma) - 1) * back


def is_plausible(family: Family, before: Belief, after: Belief, x: Any, reference: Belief | None = None) -> Array:
    """Whether this change of belief is one that a plausible learning rule could make (eq. 3)."""
    return impact(family, before, after, x, reference) >= 0


def _spent(family: Family, a: Belief, b: Belief, gamma: Number) -> Array:
    """D[q || a] for `q` proportional to `a^(1 - gamma) b^gamma`."""
    return bregman(along(family, a, b, gamma), along(family, a, b, 0.0), -jnp.asarray(gamma))


@jax.custom_jvp
def _gamma(family: Family, a: Belief, b: Belief, share: Number) -> Array:
    """Where on the line from `a` to `b` the divergence from `a` is this share of the whole."""
    old, new = along(family, a, b, 0.0), along(family, a, b, 1.0)
    most = bregman(new, old, -1.0)
    inside = jnp.asarray((share > 0) & (share < 1))
    part = jnp.where(inside, share, 0.5)

    def unfinished(state: tuple[Array, Array, Array]) -> Array:
        return state[1] & (state[2] < _MOST_STEPS)

    def improve(state: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        gamma, _, steps = state
        here = along(family, a, b, gamma)
        better = _next(gamma, here, bregman(here, old, -gamma), part * most)
        return better, jnp.abs(better - gamma) > _CLOSE * gamma, steps + 1

    start = _first(old.curvature, most, part)
    gamma, _, _ = jax.lax.while_loop(unfinished, improve, (start, inside, jnp.zeros((), jnp.int32)))
    return jnp.where(inside, gamma, jnp.where(share > 0, 1.0, 0.0)).astype(gamma.dtype)


@_gamma.defjvp
def _(primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> tuple[Array, Array]:
    """`spent(gamma, line) = share most(line)` stays true when the line and the share move; at its ends gamma stays."""
    family, a, b, share = primals
    gamma = _gamma(family, a, b, share)

    def excess(family: Family, a: Belief, b: Belief) -> Array:
        return _spent(family, a, b, gamma) - share * _spent(family, a, b, 1.0)

    rise = jax.jvp(excess, primals[:3], tangents[:3])[1] - tangents[3] * _spent(family, a, b, 1.0)
    inside = (gamma > 0) & (gamma < 1)
    slope = jnp.where(inside, gamma * along(family, a, b, gamma).curvature, 1.0)
    return gamma, jnp.where(inside, -rise / slope, 0.0)


def _first(curvature: Array, most: Array, share: Array) -> Array:
    """Solves `a g^2 / (1 - (1 - a) g) = share`: right for small g and g = 1, and for Gaussians as wide as the noise."""
    a = curvature / jnp.maximum(2 * most, limits(most).tiny)
    c = share * (1 - a)
    return 2 * share / (c + jnp.sqrt(c * c + 4 * a * share))


def _next(gamma: Array, here: Curve, spent: Array, bound: Array) -> Array:
    """A better gamma: the divergence `spent` here is continued to the bound by a function with its value and slope.

    Where it grows faster than gamma, that function is `c g^2 / (1 - h g)`, where slower, `c + d ln g` (by a rational
    approximation); both are solved by hand.
    """
    kind = limits(spent)
    one_over = 1 / jnp.maximum(spent, kind.tiny)
    rho = jnp.clip(bound * one_over, kind.eps, 1 / kind.eps)
    power = jnp.clip(gamma * gamma * here.curvature * one_over, kind.eps, kind.max**0.3)
    fast = power > 1.2
    c = rho * (power - 2)
    step = jnp.clip(rho - 1, -1.8 * power, 1.8 * power)
    top = jnp.where(fast, 2 * rho * (power - 1), 2 * power + step)
    bottom = jnp.where(fast, c + jnp.sqrt(c * c + 4 * rho * jnp.abs(power - 1)), 2 * power - step)
    return gamma * top / jnp.maximum(gamma * top, bottom)

"""Where on the line between two beliefs has a given part of the way been spent?

The way is measured by the divergence D[q || a] of the point reached, `q` proportional to `a^(1 - gamma) b^gamma`, from
the start `a`. The solver is our own: the divergence is close enough to a function that can be solved by hand for two
or three steps to reach rounding error; a bracket sees to the rest.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from astonish.expfam import Belief, Family, along, bregman
from astonish.precision import Number, limits

_CLOSE = 3e-5  # a step that is smaller, relative to the distance from both ends, leaves an error of about its square
_MOST_STEPS = 60


def spent_at(family: Family, a: Belief, b: Belief, gamma: Number) -> Array:
    """D[q || a] for `q` proportional to `a^(1 - gamma) b^gamma`."""
    return bregman(along(family, a, b, gamma), along(family, a, b, 0.0), -jnp.asarray(gamma))


class Search(NamedTuple):
    """Where the search for gamma stands: between `low` and `high`, with so many steps to go."""

    gamma: Array
    low: Array
    high: Array
    to_go: Array


@jax.custom_jvp
def gamma_at(family: Family, a: Belief, b: Belief, share: Number) -> Array:
    """Where on the line from `a` to `b` the divergence from `a` is this share of the whole."""
    old, new = along(family, a, b, 0.0), along(family, a, b, 1.0)
    whole = bregman(new, old, -1.0)
    per_whole = 1 / jnp.maximum(whole, limits(whole).tiny)  # a quotient is computed once, a sum by all who need it
    inside = jnp.asarray((share > 0) & (share < 1))
    bound = jnp.where(inside, share, 0.5)

    def improve(search: Search) -> Search:
        gamma = search.gamma
        here = along(family, a, b, gamma)
        spent = bregman(here, old, -gamma) * per_whole / bound
        low, high = jnp.where(spent < 1, gamma, search.low), jnp.where(spent < 1, search.high, gamma)
        better = _next(gamma, spent, gamma * gamma * here.curvature * per_whole / bound)
        halfway = jnp.sqrt(jnp.maximum(low, high / 64) * high)
        better = jnp.where(jnp.abs(better - gamma) < 0.9 * (high - low), jnp.clip(better, low, high), halfway)
        moved = jnp.abs(better - gamma) > _CLOSE * gamma * (1 - gamma) + 64 * limits(gamma).eps
        return Search(better, low, high, jnp.where(moved, search.to_go - 1, 0))

    first = _first(0.5 * old.curvature * per_whole, bound)
    to_go = jnp.where(inside, _MOST_STEPS, 0).astype(jnp.int8)
    start = Search(first, jnp.zeros_like(first), jnp.ones_like(first), to_go)
    gamma = jax.lax.while_loop(lambda search: search.to_go > 0, improve, start).gamma
    return jnp.where(inside, gamma, jnp.where(share > 0, 1.0, 0.0)).astype(gamma.dtype)


@gamma_at.defjvp
def _(primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> tuple[Array, Array]:
    """`spent(gamma, line) = share most(line)` stays true when the line and the share move; at its ends gamma stays.

    Nor does it move with a line so short that the difference of what is spent on it would be rounding error: whatever
    gamma is there, it leads to the same belief.
    """
    family, a, b, share = primals
    gamma = gamma_at(family, a, b, share)
    most = spent_at(family, a, b, 1.0)

    def excess(family: Family, a: Belief, b: Belief) -> Array:
        return spent_at(family, a, b, gamma) - share * spent_at(family, a, b, 1.0)

    moved = jax.jvp(excess, primals[:3], tangents[:3])[1]
    rise = jnp.where(most > limits(most).eps ** 0.63, moved, 0.0) - tangents[3] * most
    inside = (gamma > 0) & (gamma < 1)
    slope = jnp.where(inside, gamma * along(family, a, b, gamma).curvature, 1.0)
    return gamma, jnp.where(inside, -rise / slope, 0.0)


def _first(a: Array, share: Array) -> Array:
    """Solves `a g^2 / (1 - (1 - a) g) = share`: right for small g and g = 1, and for Gaussians as wide as the noise."""
    c = share * (1 - a)
    root = jnp.sqrt(c * c + 4 * a * share)
    g = jnp.where(c > 0, 2 * share, root - c) / jnp.where(c > 0, c + root, 2 * a)
    return jnp.where((g > 0) & (g <= 1), g, 0.5)  # half-way where even this overflowed


def _next(gamma: Array, spent: Array, growth: Array) -> Array:
    """A better gamma: what is `spent` here is continued to 1, the bound, by a function with its value and slope.

    growth: by how much more is spent when gamma grows by a factor e, at this slope. Where spending grows faster than
    gamma, that function is `c g^2 / (1 - h g)`, where slower, `c + d ln g` (by a rational approximation); both are
    solved by hand.
    """
    kind = limits(spent)
    one_over = 1 / jnp.maximum(spent, kind.tiny)
    rho = jnp.clip(one_over, kind.eps, 1 / kind.eps)
    power = jnp.clip(growth * one_over, kind.eps, kind.max**0.3)
    fast = power > 1.2
    c = rho * (power - 2)
    step = jnp.clip(rho - 1, -1.8 * power, 1.8 * power)
    top = jnp.where(fast, 2 * rho * (power - 1), 2 * power + step)
    bottom = jnp.where(fast, c + jnp.sqrt(c * c + 4 * rho * jnp.abs(power - 1)), 2 * power - step)
    return gamma * top / jnp.maximum(gamma * top, bottom)

"""Where on the line between two beliefs has a given part of the way been spent?

The way is measured by the divergence D[q || a] of the point reached, `q` proportional to `a^(1 - gamma) b^gamma`, from
the start `a`. The solver is our own: the divergence is close enough to functions that can be solved by hand for two
or three steps to reach rounding error; a bracket sees to the rest. What is searched for are the odds `gamma / (1 -
gamma)`: so 1 - gamma keeps its digits, which a belief that is much narrower than the noise needs.

On an accelerator the number of steps is fixed (`Family.search_steps`). What is left then is rounding error where
beliefs are ordinary, and at most about a millionth of gamma at the worst settings that the tests try.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from astonish.expfam import Belief, Family, along, bregman
from astonish.precision import Number, limits

_CLOSE = 3e-5  # a step that is smaller, relative to the odds, leaves an error of about its square
_MOST_STEPS = 60


def spent_at(family: Family, a: Belief, b: Belief, gamma: Number, rest: Number | None = None) -> Array:
    """D[q || a] for `q` proportional to `a^rest b^gamma`, where `rest = 1 - gamma`."""
    return bregman(along(family, a, b, gamma, rest), along(family, a, b, 0.0), -jnp.asarray(gamma))


class Powers(NamedTuple):
    """To which powers two beliefs are raised: `gamma`, and `rest = 1 - gamma` with all its digits."""

    gamma: Array
    rest: Array


class Search(NamedTuple):
    """Where the search for the odds of gamma stands: between `low` and `high`, with so many steps to go."""

    odds: Array
    low: Array
    high: Array
    to_go: Array


@jax.custom_jvp
def powers_at(family: Family, a: Belief, b: Belief, share: Number) -> Powers:
    """Where on the line from `a` to `b` the divergence from `a` is this share of the whole."""
    old, new = along(family, a, b, 0.0), along(family, a, b, 1.0)
    whole = bregman(new, old, -1.0)
    per_whole = 1 / jnp.maximum(whole, limits(whole).tiny)  # a quotient is computed once, a sum by all who need it
    inside = jnp.asarray((share > 0) & (share < 1))
    bound = jnp.where(inside, share, 0.5)

    def improve(search: Search) -> Search:
        odds = search.odds
        gamma, rest = _powers(odds)
        here = along(family, a, b, gamma, rest)
        left = bound / jnp.maximum(bregman(here, old, -gamma) * per_whole, limits(odds).tiny)
        low, high = jnp.where(left > 1, odds, search.low), jnp.where(left > 1, search.high, odds)
        better = _next(gamma, rest, left, gamma * gamma * here.curvature * per_whole / bound)
        halfway = jnp.sqrt(jnp.maximum(low, odds / 64)) * jnp.sqrt(jnp.minimum(high, odds * 64))
        better = jnp.where(jnp.abs(better - odds) < 0.9 * (high - low), jnp.clip(better, low, high), halfway)
        rounding = 64 * limits(odds).eps
        moved = (jnp.abs(better - odds) > _CLOSE * odds + rounding) & (jnp.abs(left - 1) > rounding)
        return Search(better, low, high, jnp.where(moved, search.to_go - 1, 0))

    first = _first(0.5 * old.curvature * per_whole, new.curvature * per_whole, bound)
    to_go = jnp.where(inside, _MOST_STEPS, 0).astype(jnp.int8)
    start = Search(first, jnp.zeros_like(first), jnp.full_like(first, limits(first).max / 64), to_go)
    found = _powers(_improved(improve, start, family.search_steps).odds)
    all_or_nothing = jnp.asarray(share > 0, found.gamma.dtype)
    return Powers(jnp.where(inside, found.gamma, all_or_nothing), jnp.where(inside, found.rest, 1 - all_or_nothing))


@powers_at.defjvp
def _(primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> tuple[Powers, Powers]:
    """`spent(gamma, line) = share most(line)` stays true when the line and the share move; at its ends gamma stays.

    Nor does it move with a line so short that the difference of what is spent on it would be rounding error: whatever
    gamma is there, it leads to the same belief.
    """
    family, a, b, share = primals
    gamma, rest = found = powers_at(family, a, b, share)
    most = spent_at(family, a, b, 1.0)

    def excess(family: Family, a: Belief, b: Belief) -> Array:
        return spent_at(family, a, b, gamma, rest) - share * spent_at(family, a, b, 1.0)

    moved = jax.jvp(excess, primals[:3], tangents[:3])[1]
    rise = jnp.where(most > limits(most).eps ** 0.63, moved, 0.0) - tangents[3] * most
    slope = gamma * along(family, a, b, gamma, rest).curvature
    inside = (gamma > 0) & (rest > 0) & jnp.isfinite(slope)
    change = jnp.where(inside, -rise / jnp.where(inside, slope, 1.0), 0.0)
    return found, Powers(change, -change)


def _powers(odds: Array) -> Powers:
    rest = 1 / (1 + odds)
    return Powers(odds * rest, rest)


def _improved(improve: Callable[[Search], Search], start: Search, steps: int) -> Search:
    """The end of the search. An accelerator takes a fixed number of steps: to ask it when to stop takes longer."""

    def fixed(search: Search) -> Search:
        for _ in range(steps):
            search = improve(search)
        return search

    def until_found(search: Search) -> Search:
        return jax.lax.while_loop(lambda search: search.to_go > 0, improve, search)

    return jax.lax.platform_dependent(start, cpu=until_found, default=fixed)


def _first(a: Array, d: Array, share: Array) -> Array:
    """The odds at which `a g^2 / (1 - b g - c g^2) = share`: a function with the curvature of what is spent at g = 0.

    a: half of that curvature. d: the slope at g = 1, which it has too, as it has the value 1 there. Where there is no
    such function (it has a pole), one without `c`: right for equal Gaussians, and for small g and g = 1 otherwise.
    """
    b, c = 2 - a * d, a * (d - 1) - 1
    inside = share * b * b + 4 * (a + share * c)
    g = 2 / (b + jnp.sqrt(jnp.maximum(inside, 0.0) / share))
    usable = (inside > 0) & (g > 0) & (g < 1) & (1 - (b + c * g) * g > 0)
    plain = share * (1 + a)
    left = 1 - share
    other = (plain + jnp.sqrt(plain * plain + 4 * a * share * left)) / (2 * a * left)
    odds = jnp.where(usable, g / (1 - g), other)
    return jnp.where((odds > 0) & (odds < limits(odds).max / 64), odds, 1.0)  # half-way where even this overflowed


def _next(gamma: Array, rest: Array, left: Array, growth: Array) -> Array:
    """Better odds: what is spent here is continued to the bound by a function with its value and slope.

    left: the bound, in units of what is spent. growth: by how much more is spent when gamma grows by a factor e, at
    this slope, in units of the bound. Where spending grows faster than gamma, that function is `c g^2 / (1 - h g)`,
    where slower, `c + d ln g` (by a rational approximation); both are solved by hand.
    """
    kind = limits(left)
    rho = jnp.clip(left, kind.eps, 1 / kind.eps)
    power = jnp.clip(growth * jnp.minimum(left, 1 / kind.eps), kind.eps, kind.max**0.3)
    fast = power > 1.2
    c = rho * (power - 2)
    step = jnp.clip(rho - 1, -1.8 * power, 1.8 * power)
    top = jnp.where(fast, rho * power + jnp.sqrt(c * c + 4 * rho * jnp.abs(power - 1)), 2 * power + step)
    bottom = rest * top + jnp.where(fast, 2 * (1 - rho), -2 * step)
    return gamma * top / jnp.maximum(bottom, kind.tiny)

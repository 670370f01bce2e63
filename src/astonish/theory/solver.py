"""Where on the line between two beliefs has a given part of the way been spent?

The way is measured by the divergence D[q || a] of the point reached, `q` proportional to `a^(1 - gamma) b^gamma`, from
the start `a`. The solver is our own: the divergence is close enough to functions that can be solved by hand for two
or three steps to reach rounding error; a bracket sees to the rest. What is searched for are the odds `gamma / (1 -
gamma)`: so 1 - gamma keeps its digits, which a belief that is much narrower than the noise needs.

On an accelerator the number of steps is fixed (`Family.search_steps`). What is left then is rounding error where
beliefs are ordinary, and at most about a millionth of gamma at the worst settings that the tests try.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jax.custom_batching import custom_vmap

from astonish.core.numbers import Number, limits
from astonish.core.programs import once
from astonish.theory.expfam import Belief, Curve, Family, bregman, log_mass_curve

_CLOSE = 3e-5  # a step that is smaller, relative to the odds, leaves an error of about its square
_MOST_STEPS = 60
Choice = Callable[[Array, Callable[[], Any], Callable[[], Any]], Any]  # what one of two functions gives


def spent_at(family: Family, a: Belief, b: Belief, gamma: Number, rest: Number | None = None) -> Array:
    """D[q || a] for `q` proportional to `a^rest b^gamma`, where `rest = 1 - gamma`."""
    return bregman(log_mass_curve(family, a, b, gamma, rest), log_mass_curve(family, a, b, 0.0), -jnp.asarray(gamma))


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


class Line(NamedTuple):
    """The line that is searched, from `a` to `b`. old: its curve at `a`. per_whole: 1 over the divergence at its end.

    share: the part of that divergence that is to be spent.
    """

    family: Family
    a: Belief
    b: Belief
    old: Curve
    per_whole: Array
    share: Array


@jax.custom_jvp
def powers_at(family: Family, a: Belief, b: Belief, share: Number) -> Powers:
    """Where on the line from `a` to `b` the divergence from `a` is this share of the whole."""
    old, new = log_mass_curve(family, a, b, 0.0), log_mass_curve(family, a, b, 1.0)
    whole = bregman(new, old, -1.0)
    per_whole = 1 / jnp.maximum(whole, limits(whole).tiny)  # a quotient is computed once, a sum by all who need it
    inside = jnp.asarray((share > 0) & (share < 1))
    line = Line(family, a, b, old, per_whole, jnp.where(inside, share, 0.5))
    first = _first(0.5 * old.curvature * per_whole, new.curvature * per_whole, line.share)
    to_go = jnp.where(inside, _MOST_STEPS, 0).astype(jnp.int8)
    start = Search(first, jnp.zeros_like(first), jnp.full_like(first, limits(first).max / 64), to_go)
    end = jax.lax.platform_dependent(line, start, cpu=_until_found, default=_in_fixed_steps)
    found = _powers(end.odds)
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
    slope = gamma * log_mass_curve(family, a, b, gamma, rest).curvature
    inside = (gamma > 0) & (rest > 0) & jnp.isfinite(slope)
    change = once(jnp.where(inside, -rise / jnp.where(inside, slope, 1.0), 0.0))
    return found, Powers(change, -change)


def _powers(odds: Array) -> Powers:
    rest = 1 / (1 + odds)
    return Powers(odds * rest, rest)


def _until_found(line: Line, search: Search) -> Search:
    return jax.lax.while_loop(lambda search: search.to_go > 0, partial(_improve_alone, line), search)


def _in_fixed_steps(line: Line, search: Search) -> Search:
    """An accelerator takes a fixed number of steps: to ask it when to stop takes longer."""
    for _ in range(line.family.search_steps):
        search = _improve(line, search, _either)
    return search


def _improve(line: Line, search: Search, choose: Choice) -> Search:
    """A step of the search, which ends where what is spent is right."""
    odds = search.odds
    gamma, rest = _powers(odds)
    here = log_mass_curve(line.family, line.a, line.b, gamma, rest)
    left = line.share / jnp.maximum(bregman(here, line.old, -gamma) * line.per_whole, limits(odds).tiny)

    def move() -> Search:
        low, high = jnp.where(left > 1, odds, search.low), jnp.where(left > 1, search.high, odds)
        better = _next(gamma, rest, left, gamma * gamma * here.curvature * line.per_whole / line.share)
        halfway = jnp.sqrt(jnp.maximum(low, odds / 64)) * jnp.sqrt(jnp.minimum(high, odds * 64))
        better = jnp.where(jnp.abs(better - odds) < 0.9 * (high - low), jnp.clip(better, low, high), halfway)
        moved = jnp.abs(better - odds) > _CLOSE * odds + 64 * limits(odds).eps
        return Search(better, low, high, jnp.where(moved, search.to_go - 1, 0).astype(search.to_go.dtype))

    def stay() -> Search:
        return search._replace(to_go=jnp.zeros_like(search.to_go))

    return choose(jnp.abs(left - 1) > limits(odds).eps ** 0.75, move, stay)


@custom_vmap
def _improve_alone(line: Line, search: Search) -> Search:
    """One search by itself: a processor goes on with odds that it expects to be right while it checks them."""
    return _improve(line, search, jax.lax.cond)


@_improve_alone.def_vmap
def _(_: int, batched: list[Any], line: Line, search: Search) -> tuple[Search, Search]:
    axes = jax.tree.map(lambda is_batched: 0 if is_batched else None, batched)
    found = jax.vmap(partial(_improve, choose=_either), in_axes=axes)(line, search)
    return found, jax.tree.map(lambda _: True, found)


def _either(which: Array, yes: Callable[[], Any], no: Callable[[], Any]) -> Any:
    """What one of two functions gives; both are computed."""
    return jax.tree.map(partial(jnp.where, which), yes(), no())


def _first(a: Array, d: Array, share: Array) -> Array:
    """The odds at which `a g^2 / (1 - b g - c g^2) = share`: a function with the curvature of what is spent at g = 0.

    a: half of that curvature. d: the slope at g = 1, which it has too, as it has the value 1 there. Where there is no
    such function (it has a pole), one without `c`: right for equal Gaussians, and for small g and g = 1 otherwise.
    """
    b, c = 2 - a * d, a * (d - 1) - 1
    square = b * b + 4 * c + 4 * a / share
    per_g = 0.5 * (b + jnp.sqrt(jnp.maximum(square, 0.0)))
    usable = (square > 0) & (per_g > 1) & (per_g * (per_g - b) > c)
    plain = share * (1 + a)
    left = 1 - share
    other = (plain + jnp.sqrt(plain * plain + 4 * a * share * left)) / (2 * a * left)
    odds = jnp.where(usable, 1 / (per_g - 1), other)
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

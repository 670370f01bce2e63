"""How probable is a surprise at least as large as this one, judging by all that came before?

The share of past values that were at least as large, this one counted, is uniform if the values are exchangeable,
whatever their distribution (conformal prediction: Vovk, Gammerman & Shafer 2005). Here they are counted in bins of
their logarithm, so that memory does not grow. Beyond the largest value so far the share goes on as the Pareto tail that
fits the largest ones (Hill 1975).
"""

import math
from typing import Annotated, Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array

from astonish.core.numbers import FINITE, NOT_NEGATIVE, Number

BINS = 48
LOWEST, HIGHEST = math.log(0.03), math.log(80.0)  # logarithms of values between which they are told apart
_WIDTH = (HIGHEST - LOWEST) / (BINS - 1)
_EDGES = LOWEST + _WIDTH * np.arange(BINS)
_TOP, _FEWEST = 0.02, 5.0  # share, and number, of the largest values, to which the tail is fitted
_PRIOR_SLOPE, _PRIOR_COUNT = 0.2, 2.0  # mean logarithm by which they exceed the least of them, and how sure of that
_LEAST_SLOPE = 0.02
_ENOUGH = 50.0  # values, before which nothing is said about a tail


class Tail(NamedTuple):
    """Several kinds of values: how many of each there were, how many at least as large as each edge, and the largest.

    above: a row for each kind. largest: their logarithms.
    """

    seen: Annotated[Array, NOT_NEGATIVE]
    above: Annotated[Array, NOT_NEGATIVE]
    largest: Annotated[Array, FINITE]


def empty(kinds: int, dtype: Any) -> Tail:
    """Before the first values."""
    return Tail(jnp.zeros((), dtype), jnp.zeros((kinds, BINS), dtype), jnp.full(kinds, LOWEST, dtype))


def log_probability(tail: Tail, values: Array) -> Array:
    """The logarithm of the probability of a value at least as large as this one, for each kind; they are at least 0."""
    places = _places(values)
    beyond = jnp.maximum(places - tail.largest, 0.0)

    # How many values were at least as large, this one counted: straight lines between edges
    below = places[:, None] >= _EDGES
    part = (places - LOWEST) / _WIDTH
    part = part - jnp.floor(part)
    more = jnp.log1p(jnp.where(below, tail.above, jnp.inf).min(-1))  # at the edge just below
    less = jnp.log1p(jnp.where(below, 0.0, tail.above).max(-1))
    inside = jnp.where(beyond > 0, 0.0, more + part * (less - more))

    # By how much, on average, the logarithms of the largest values exceed the least of these (Hill's estimate): the
    # area under the counts from there on, divided by the count there
    few = (tail.above <= jnp.maximum(_FEWEST, _TOP * tail.seen)) & (tail.above > 0)
    counts = jnp.where(few, tail.above, 0.0)
    most = counts.max(-1)
    area = _WIDTH * (counts.sum(-1) - 0.5 * most)
    slopes = jnp.maximum((area + _PRIOR_COUNT * _PRIOR_SLOPE) / (most + _PRIOR_COUNT), _LEAST_SLOPE)
    further = jnp.where(tail.seen < _ENOUGH, 0.0, beyond / slopes)
    return inside - jnp.log(tail.seen + 1) - further


def add(tail: Tail, values: Array) -> Tail:
    """With one value more of each kind."""
    places = _places(values)
    return Tail(tail.seen + 1, tail.above + (places[:, None] >= _EDGES), jnp.maximum(tail.largest, places))


def quantiles(tail: Tail, probability: Number) -> Array:
    """The value that a share `probability` exceeds, for each kind, within the range in which values are told apart."""
    wanted = probability * tail.seen
    next_one = jnp.concatenate([tail.above[:, 1:], jnp.zeros_like(tail.above[:, :1])], -1)
    crossed = (tail.above - wanted) / jnp.maximum(tail.above - next_one, 1.0)
    return jnp.exp(LOWEST + _WIDTH * jnp.clip(crossed, 0.0, 1.0).sum(-1))


def _places(values: Array) -> Array:
    return jnp.log(jnp.clip(values, math.exp(LOWEST), math.exp(HIGHEST)))

"""How far apart are two predictions of the next sample?

Kullback-Leibler divergences D[a || b] between the distributions of samples that beliefs predict: normal, categorical,
negative binomial (counts at an uncertain rate), Lomax (waiting times at one), Student's t (normal samples of uncertain
variance) and of angles. The last four have no closed form. Each is an integral of a function so smooth, in the right
variable, that the trapezoidal rule gets it right to rounding (Takahasi & Mori 1974; Trefethen & Weideman 2014).
"""

import math

import jax.numpy as jnp
from jax import Array
from jax.scipy.linalg import solve_triangular

from astonish.core.numbers import Number, limits

_NODES = 256


def outcomes(log_a: Array, log_b: Array) -> Array:
    """Between the probabilities of finitely many outcomes, given as logarithms.

    >>> round(float(outcomes(jnp.log(jnp.array([0.5, 0.5])), jnp.log(jnp.array([0.25, 0.75])))), 4)
    0.1438
    """
    return _at_least_zero(jnp.exp(log_a) @ (log_a - log_b))


def normal(gap: Number, a: Number, b: Number) -> Array:
    """Between normal distributions with variances `a` and `b` whose means are `gap` apart (eq. 33).

    >>> float(normal(3.0, 1.0, 1.0))
    4.5
    """
    wider = (jnp.asarray(a) - b) / b
    return _at_least_zero(0.5 * (wider - jnp.log1p(wider) + _squared(gap / jnp.sqrt(b))))


def normal_vector(gap: Array, a: Array, b: Array) -> Array:
    """The same for vectors; `a` and `b` are covariance matrices."""
    root = jnp.linalg.cholesky(b)
    ratio = solve_triangular(root, jnp.linalg.cholesky(a), lower=True)
    distance = _squared(solve_triangular(root, gap, lower=True)).sum()
    return _at_least_zero(0.5 * (jnp.square(ratio).sum() - len(gap) + distance) - jnp.log(jnp.diagonal(ratio)).sum())


def negative_binomial(a: tuple[Array, Array], b: tuple[Array, Array]) -> Array:
    """Between predictions of a count, from a (shape, time) of a gamma belief about its rate each.

    The mean of ln Gamma(count + shape) follows from Malmsten's integral for ln Gamma, in which the count occurs only
    as exp(-s count), and that has a mean in closed form. The variable of the integral is ln s.
    """
    (k, t), (n, u) = a, b
    finest = jnp.log(jnp.minimum(1.0, jnp.minimum(1 / jnp.maximum(k, n), t / k)))
    ends = jnp.log(limits(k).eps / 16) + finest, jnp.log(45.0 / jnp.minimum(k, n))
    s = jnp.exp(jnp.linspace(*ends, _NODES))
    less = -jnp.expm1(-s)
    apart = jnp.exp(-jnp.minimum(k, n) * s) * jnp.expm1(-jnp.abs(n - k) * s) * jnp.sign(n - k)
    width = (ends[1] - ends[0]) / (_NODES - 1)
    gammas = (apart * -jnp.expm1(-k * jnp.log1p(less / t)) / less).sum() * width
    powers = n * jnp.log1p(1 / u) - k * jnp.log1p(1 / t) + k / t * jnp.log1p((u - t) / (1 + t))
    return _at_least_zero(gammas + powers)


def lomax(a: tuple[Array, Array], b: tuple[Array, Array]) -> Array:
    """Between predictions of a waiting time, from a (shape, time) of a gamma belief about the rate each.

    The logarithm of 1 + wait / time has an exponential distribution, by whose quantiles the mean is taken.
    """
    (k, t), (n, u) = a, b
    y = jnp.linspace(-4.0, 4.0, _NODES, dtype=jnp.result_type(float, k))
    quantile = jnp.exp(y - jnp.exp(-y))
    weights = jnp.exp(-quantile) * quantile * (1 + jnp.exp(-y)) * (8.0 / (_NODES - 1))
    w, ratio = quantile / k, t / u
    near = jnp.log1p(ratio * jnp.expm1(jnp.minimum(w, 1.0)))
    far = w + jnp.log(ratio + (1 - ratio) * jnp.exp(-jnp.maximum(w, 1.0)))
    mean_log = weights @ jnp.where(w < 1, near, far)  # of 1 + wait / u
    return _at_least_zero(jnp.log(k) - jnp.log(n) + jnp.log(u) - jnp.log(t) - (k + 1) / k + (n + 1) * mean_log)


def student(gap: Number, a: tuple[Array, Array], b: tuple[Array, Array]) -> Array:
    """Between Student's distributions whose centres are `gap` apart, from (degrees of freedom, scale) of each."""
    (k, s), (n, r) = a, b
    most = math.asinh(0.8 / math.pi * math.log(limits(k).max))  # at which z^2 is still a number
    y = jnp.linspace(-most, most, 2 * _NODES, dtype=jnp.result_type(float, k))
    steep = 0.5 * math.pi * jnp.sinh(y)
    z, width = jnp.sinh(steep), jnp.cosh(steep) * jnp.cosh(y)

    def kernel(freedom: Array, z: Array) -> Array:
        return -0.5 * (freedom + 1) * jnp.log1p(_squared(z / jnp.sqrt(freedom)))

    here = jnp.exp(kernel(k, z)) * width
    norms = jnp.log(jnp.exp(kernel(n, z)) @ width) - jnp.log(here.sum()) + jnp.log(r) - jnp.log(s)
    there = kernel(n, (s / r) * z - gap / r)
    return _at_least_zero(norms + here @ (kernel(k, z) - there) / here.sum())


def circle(width: Number) -> tuple[Array, Array]:
    """Angles and weights by which to integrate over the circle a function that is about so wide, and at 0 largest.

    Its tangent of half the angle is scaled by the width: so it stays periodic, as the trapezoidal rule needs it.

    >>> angles, weights = circle(0.5)
    >>> round(float(weights.sum()), 4)
    6.2832
    """
    scale = jnp.minimum(width, 1.0)
    even = (jnp.arange(_NODES) + 0.5) * (2 * math.pi / _NODES) - math.pi
    cosine, sine = jnp.cos(0.5 * even), scale * jnp.sin(0.5 * even)
    return 2 * jnp.arctan2(sine, cosine), (2 * math.pi / _NODES) * scale / (cosine * cosine + sine * sine)


def _squared(distance: Array) -> Array:
    """The square, cut lest it overflow."""
    furthest = 0.1 * limits(distance).max ** 0.5
    return jnp.square(jnp.clip(distance, -furthest, furthest))


def _at_least_zero(divergence: Array) -> Array:
    """A divergence without what rounding may have put below zero."""
    return jnp.maximum(divergence, 0.0)

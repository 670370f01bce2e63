"""A regression whose noise is not known, that outliers do not spoil, and whose past fades.

Beliefs about weights and noise are those of `beliefs.Regression` and `beliefs.NormalGamma` together, with the
covariance of the weights in place of their precision, so that no matrix is inverted: recursive least squares (Plackett
1950).
"""

from typing import Annotated, Any, NamedTuple

import jax.numpy as jnp
from jax import Array

from astonish.core.numbers import FINITE, NOT_NEGATIVE, Number, limits

WIDE = 100.0  # variance of each weight at first, and on average at most, in units of the noise's
TRUSTED = 4.0  # standard deviations from what is expected, from which on values are trusted less
_SMALLEST = 1e-12  # noise, in units of the values, below which differences are taken for rounding


class Weights(NamedTuple):
    """Normal weights, whose covariance is in units of the noise's variance; `scale / shape` is that variance.

    spread: the mean and the variance of all values, and their number, for a first guess at the noise. faith: in that
    guess; as if so many pairs of values had been seen.
    """

    mean: Annotated[Array, FINITE]
    covariance: Annotated[Array, FINITE]
    shape: Annotated[Array, NOT_NEGATIVE]
    scale: Annotated[Array, NOT_NEGATIVE]
    spread: Annotated[Array, FINITE]
    faith: Annotated[Array, NOT_NEGATIVE]


class ExpectedValue(NamedTuple):
    """A value that is expected, its standard deviation, and the part of it that is due to the weights.

    leverage: the variance due to the weights over that of the noise. gain: the covariance of weights and value.
    """

    mean: Array
    std: Array
    leverage: Array
    gain: Array


def start(size: int, kind: Any) -> Weights:
    """Before the first value."""
    zero = jnp.zeros((), kind)
    return Weights(jnp.zeros(size, kind), WIDE * jnp.eye(size, dtype=kind), zero, zero, jnp.zeros(3, kind), zero + 1)


def predict(weights: Weights, features: Array) -> ExpectedValue:
    """The value that goes with these features."""
    gain = (weights.covariance * features).sum(-1)
    leverage, mean = (features * gain).sum(), (features * weights.mean).sum()
    guess = weights.faith * weights.spread[1]
    variance = (weights.scale + guess) / (weights.shape + weights.faith)
    least = jnp.square(_SMALLEST * mean) + limits(mean).tiny ** 0.75
    return ExpectedValue(mean, jnp.sqrt(jnp.maximum(variance, least) * (1 + leverage)), leverage, gain)


def trust(z: Array) -> Array:
    """How far a value is trusted that is `z` standard deviations from what was expected."""
    return jnp.square(TRUSTED / jnp.maximum(jnp.abs(z), TRUSTED))


def update(weights: Weights, expected: ExpectedValue, error: Array, trust: Array, forgetting: Number) -> Weights:
    """After a value that was so far from what was expected, and is trusted so far (from 0 to 1)."""
    keep, share = 1 - forgetting, trust / (1 + trust * expected.leverage)
    covariance = weights.covariance - expected.gain[:, None] * (share * expected.gain)
    size = weights.mean.shape[-1]
    variances = sum(covariance[k, k] for k in range(size))
    faded = jnp.where(variances > WIDE * size, 1.0, keep)  # what is not seen is not forgotten for ever

    # Mean, variance and number of all values, with one value more (Welford 1962)
    mean, variance, count = weights.spread[0], weights.spread[1], weights.spread[2] + 1
    value = expected.mean + error
    gap = value - mean
    moved = mean + gap / count
    return Weights(
        weights.mean + expected.gain * (share * error),
        covariance / faded,
        keep * weights.shape + 0.5,
        keep * weights.scale + 0.5 * error * (share * error),
        jnp.stack([moved, variance + (gap * (value - moved) - variance) / count, count]),
        keep * weights.faith,
    )

"""What are the special functions that beliefs are made of, fast and differentiable to any order?

`log_gamma`, `digamma` and `trigamma` are each other's derivatives. Arguments below 8 are shifted up by 8 with the
recurrence of the gamma function and then met by the asymptotic series (Abramowitz & Stegun 1964, 6.1.40, 6.3.18 and
6.4.12), so the three share most of their work when a compiler sees them together. The Bessel function I0 of arguments
below 20 is its power series, of larger ones the asymptotic series (9.6.12 and 9.7.1 there).
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from astonish.core.numbers import Number, limits, namespace, number

_SHIFT = 8
_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6)  # B_2, B_4, ..., B_14
_HALF_LOG_TWO_PI = 0.9189385332046727418
# the diagonal Pade approximant of ln(1 + t) of degree 8: its denominator, and its numerator without the factor t
_BOTTOM = [Fraction(math.comb(8, k) * math.comb(16 - k, 8), math.comb(16, 8)) for k in range(9)]
_TOP = [sum(_BOTTOM[i] * Fraction((-1) ** (j - i + 1), j - i) for i in range(j)) for j in range(1, 9)]
_LOG_BOTTOM, _LOG_TOP = [float(c) for c in _BOTTOM], [float(c) for c in _TOP]
_LOG_LESS_TOP = [float(t - b) for t, b in zip([*_TOP[1:], 0], _BOTTOM[1:], strict=True)]  # of (ln(1 + t) - t) / t^2

_LARGE = 20  # from where on I0 is computed by its asymptotic series
# coefficients of (I0(k) - 1) / z as a polynomial in z = (k / _LARGE)^2
_I0_SMALL = tuple(float(Fraction(_LARGE**2, 4) ** n / math.factorial(n) ** 2) for n in range(1, 40))


def _asymptotic_series(terms: int) -> tuple[float, ...]:
    """Coefficients of `ln(I0(k) exp(-k) sqrt(2 pi k))` as a polynomial in `z = _LARGE / k`."""
    a = [Fraction(math.prod(range(1, 2 * n, 2)) ** 2, math.factorial(n) * (8 * _LARGE) ** n) for n in range(terms)]
    log_a = [Fraction(0)]
    for n in range(1, terms):  # n a_n is the sum of k log_a_k a_(n - k)
        log_a.append(a[n] - sum((k * log_a[k] * a[n - k] for k in range(1, n)), Fraction(0)) / n)
    return tuple(map(float, log_a))


_LOG_I0_LARGE = _asymptotic_series(30)


@jax.custom_jvp
@jax.jit
def log_gamma(x: Number) -> Array:
    """Logarithm of the gamma function, for `x > 0`.

    >>> round(float(log_gamma(5.0)), 4)  # ln 4!
    3.1781
    """
    x, z, r = _shifted(x)
    q, _, _ = _rising(x)
    tail = _horner([b / ((2 * k + 1) * (2 * k + 2)) for k, b in enumerate(_BERNOULLI)], r * r) * r
    return (z - 0.5) * log(z) - z + _HALF_LOG_TWO_PI + tail - _below(x, log(q))


@jax.custom_jvp
@jax.jit
def digamma(x: Number) -> Array:
    """Derivative of `log_gamma`, for `x > 0`.

    >>> round(float(digamma(1.0)), 4)  # minus Euler's constant
    -0.5772
    """
    x, z, r = _shifted(x)
    q, dq, _ = _rising(x)
    tail = _horner([b / (2 * k + 2) for k, b in enumerate(_BERNOULLI)], r * r) * (r * r)
    return log(z) - 0.5 * r - tail - _below(x, (2 * x + 7) * dq * (1 / q))


@jax.custom_jvp
@jax.jit
def log_gamma_near(x: Number, near: Number) -> Array:
    """`log_gamma` less a line, chosen such that little is left where `x` is close to `near`.

    How far `log_gamma` lies above its tangents does not change with that line, and is read off this with more digits.
    """
    x, z, r = _shifted(x)
    q, _, _ = _rising(x)
    z0 = _shifted(near)[1]
    tail = _horner([b / ((2 * k + 1) * (2 * k + 2)) for k, b in enumerate(_BERNOULLI)], r * r) * r
    line = (z - 0.5) * log_less(z, z0) + (z - z0 - 0.5) * ((z - z0) / z0)
    return line + tail - _below(x, log(q) - _SHIFT * log(z0))


@jax.custom_jvp
@jax.jit
def _digamma_near(x: Number, near: Number) -> Array:
    """Derivative of `log_gamma_near`."""
    x, z, r = _shifted(x)
    q, dq, _ = _rising(x)
    z0 = _shifted(near)[1]
    tail = _horner([b / (2 * k + 2) for k, b in enumerate(_BERNOULLI)], r * r) * (r * r)
    return (z - z0) / z0 + log_less(z, z0) - 0.5 * r - tail - _below(x, (2 * x + 7) * dq * (1 / q))


@jax.jit
def trigamma(x: Number) -> Array:
    """Derivative of `digamma`, for `x > 0`.

    >>> round(float(trigamma(1.0)), 4)  # pi^2 / 6
    1.6449
    """
    x, _, r = _shifted(x)
    q, dq, ddq = _rising(x)
    tail = _horner(_BERNOULLI, r * r) * (r * r * r)
    s = dq * (1 / q)
    return r + 0.5 * r * r + tail + _below(x, (2 * x + 7) ** 2 * (s * s - ddq * (1 / q)) - 2 * s)


@jax.custom_jvp
def reciprocal(x: Number) -> Array:
    """`1 / x`, with derivatives that neither overflow nor underflow before it does.

    >>> float(reciprocal(4.0))
    0.25
    """
    return 1 / jnp.asarray(x)


@jax.custom_jvp
def fraction(a: Number, b: Number) -> Array:
    """`b / (a + b)`, of numbers not below zero, with derivatives in which nothing cancels.

    >>> float(fraction(1.0, 3.0))
    0.75
    """
    return b * reciprocal(a + jnp.asarray(b))


@jax.custom_jvp
def parallel(a: Number, b: Number) -> Array:
    """`a b / (a + b)`, of numbers not below zero, with derivatives in which nothing cancels.

    >>> float(parallel(2.0, 2.0))
    1.0
    """
    return a * fraction(a, b)


@jax.custom_jvp
@jax.jit
def log(x: Number) -> Array:
    """Natural logarithm of a positive number.

    The compiler calls a scalar routine for `jnp.log` of float64; this one runs on all lanes of a vector unit at once
    and is as exact: x = 2^e (1 + t) with small t, and a Pade approximant of ln(1 + t).

    >>> float(log(1.0))
    0.0
    """
    x = jnp.asarray(x, jnp.result_type(float, x))
    exponent, t = _exponent_and_rest(x)
    top, bottom = _horner(_LOG_TOP, t) * t, _horner(_LOG_BOTTOM, t)
    return (top + exponent.astype(x.dtype) * math.log(2) * bottom) / bottom  # a quotient is computed once, a sum again


@jax.custom_jvp
@jax.jit
def log_less(x: Number, y: Number) -> Array:
    """`ln(x / y) - (x - y) / y` of positive numbers, with all digits for close ones, too.

    >>> round(float(log_less(1.25, 1.0)), 4)
    -0.0269
    """
    x = jnp.asarray(x, jnp.result_type(float, x, y))
    off = (x - y) / y
    exponent, t = _exponent_and_rest(x / y)
    t = jnp.where(exponent == 0, off, t)
    top, bottom = _horner(_LOG_LESS_TOP, t) * t * t, _horner(_LOG_BOTTOM, t)
    return (top + (exponent.astype(x.dtype) * math.log(2) + (t - off)) * bottom) / bottom


@jax.jit
def log_i0_less(square: Number) -> Array:
    """`ln I0(k) - (sqrt(1 + k^2) - 1)`, with the Bessel function I0, as a function of `square = k^2`.

    So it has all derivatives at 0, and for large `k`, where I0 grows as exp(k), no digits are lost.

    >>> round(float(log_i0_less(4.0) + 5**0.5 - 1), 4)  # ln I0(2)
    0.824
    """
    is_small, small, k = _small_and_large(square)
    near = jnp.log1p(_i0_less_one(small)) - root_less_one(small)
    far = _polynomial(_LOG_I0_LARGE, _LARGE / k) - 0.5 * log(2 * math.pi * k) + 1 - 1 / (k + jnp.sqrt(1 + k * k))
    return jnp.where(is_small, near, far)


def log_von_mises(angle: Number, concentration: Number) -> Array:
    """The logarithm of the density of an angle, in radians, about 0.

    >>> round(float(jnp.exp(log_von_mises(3.0, 0.0)) * 2 * jnp.pi), 4)
    1.0
    """
    half = jnp.sin(0.5 * jnp.asarray(angle))
    k = jnp.minimum(concentration, 1e-2 * limits(half).max ** 0.5)  # cut lest its square overflow
    at_zero = 1 - 1 / (k + jnp.sqrt(1 + k * k))  # k less sqrt(1 + k^2) - 1
    return at_zero - 2 * concentration * half * half - log_i0_less(k * k) - math.log(2 * math.pi)


@jax.jit
def log_bessel_ratio(square: Number) -> Array:
    """`ln(I1(k) / I0(k))` as a function of `square = k^2` above 0: the length of the mean vector of von Mises angles.

    >>> round(float(jnp.exp(log_bessel_ratio(4.0))), 4)
    0.6978
    """
    is_small, small, k = _small_and_large(square)
    bent, slope = jax.jvp(_i0_less_one, (small,), (jnp.ones_like(small),))  # I1 is the derivative of I0 by k
    near = 0.5 * log(small) + log(2 * slope / (1 + bent))
    far = jnp.log1p(-0.5 / k - _LARGE / (k * k) * _polynomial(_derivative(_LOG_I0_LARGE), _LARGE / k))
    return jnp.where(is_small, near, far)


def root_less_one(square: Number) -> Array:
    """`sqrt(1 + square) - 1`, with all digits for small ones, too.

    >>> float(root_less_one(3.0))
    1.0
    """
    return square / (1 + jnp.sqrt(1 + jnp.asarray(square)))


def wrapped(angle: Number, period: Number) -> Array:
    """The angle that is the same but for whole periods, above minus half a period and up to half a period.

    >>> float(wrapped(350.0, 360.0)), float(wrapped(-180.0, 360.0))
    (-10.0, 180.0)
    """
    numbers = namespace(angle, period)
    angle, period = number(angle), number(period)
    rest = numbers.fmod(angle, period)
    return rest - period * numbers.ceil(rest / period - 0.5)


def difference(a: Any, b: Any, period: Number | None) -> Any:
    """`a - b`, for angles the shorter way round. period: the whole circle; None for other numbers.

    >>> float(difference(170.0, -170.0, 360.0)), difference(170.0, -170.0, None)
    (-20.0, 340.0)
    """
    return a - b if period is None else wrapped(a - b, period)


log_gamma.defjvps(lambda tangent, _, x: digamma(x) * tangent)
digamma.defjvps(lambda tangent, _, x: trigamma(x) * tangent)
log_gamma_near.defjvps(lambda tangent, _, x, near: _digamma_near(x, near) * tangent, None)
_digamma_near.defjvps(lambda tangent, _, x, __: trigamma(x) * tangent, None)
log_less.defjvps(lambda tangent, _, x, y: (1 - x * reciprocal(y)) * (reciprocal(x) * tangent), None)
fraction.defjvps(
    lambda tangent, f, a, b: -f * (reciprocal(a + b) * tangent),
    lambda tangent, _, a, b: fraction(b, a) * (reciprocal(a + b) * tangent),
)
parallel.defjvps(
    lambda tangent, _, a, b: fraction(a, b) ** 2 * tangent,
    lambda tangent, _, a, b: fraction(b, a) ** 2 * tangent,
)
log.defjvps(lambda tangent, _, x: reciprocal(x) * tangent)
reciprocal.defjvps(lambda tangent, r, _: -(r * tangent) * r)


def _shifted(x: Number) -> tuple[Array, Array, Array]:
    """`x` kept below the shift, and the argument of the series with its reciprocal."""
    x = jnp.asarray(x, jnp.result_type(float, x))
    z = jnp.where(x < _SHIFT, x + _SHIFT, x)
    return jnp.minimum(x, _SHIFT), z, 1 / z


def _rising(x: Array) -> tuple[Array, Array, Array]:
    """`x (x + 1) ... (x + 7)` as a polynomial in `y = x (x + 7)`, with its first two derivatives in `y`."""
    y = x * (x + 7)
    return y * (y + 6) * (y + 10) * (y + 12), ((4 * y + 84) * y + 504) * y + 720, (12 * y + 168) * y + 504


def _exponent_and_rest(x: Array) -> tuple[Array, Array]:
    """`e` and a small `t` such that `x = 2^e (1 + t)`."""
    mantissa_bits = jnp.finfo(x.dtype).nmant
    integer = jnp.int64 if x.dtype == jnp.float64 else jnp.int32
    bits = jax.lax.bitcast_convert_type(x, integer)
    exponent = (bits - jax.lax.bitcast_convert_type(jnp.asarray(0.5**0.5, x.dtype), integer)) >> mantissa_bits
    return exponent, jax.lax.bitcast_convert_type(bits - (exponent << mantissa_bits), x.dtype) - 1


def _below(x: Array, value: Array) -> Array:
    return jnp.where(x < _SHIFT, value, 0.0)


def _small_and_large(square: Number) -> tuple[Array, Array, Array]:
    """Whether `k` is below `_LARGE`, `k^2` if it is, and `k` if it is not, cut where its square would overflow.

    Close to `_LARGE` both are right: a compiler that computes the square twice may round it once up and once down.
    """
    square, middle = jnp.asarray(square, jnp.result_type(float, square)), _LARGE**2
    small = jnp.where(square < 1.1 * middle, square, middle)
    large = jnp.where(square > 0.9 * middle, jnp.minimum(square, 1e-4 * limits(square).max), middle)
    return square < middle, small, jnp.sqrt(large)


def _i0_less_one(square: Array) -> Array:
    """`I0(k) - 1` for `k` up to `_LARGE`."""
    z = square / _LARGE**2
    return z * _polynomial(_I0_SMALL, z)


@partial(jax.custom_jvp, nondiff_argnums=(0,))
def _polynomial(coefficients: tuple[float, ...], x: Array) -> Array:
    """`sum_k c_k x^k`, whose derivative is a polynomial again."""
    return _horner(coefficients, x)


@_polynomial.defjvp
def _(coefficients: tuple[float, ...], primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
    return _polynomial(coefficients, *primals), _polynomial(_derivative(coefficients), *primals) * tangents[0]


def _derivative(coefficients: tuple[float, ...]) -> tuple[float, ...]:
    return tuple(k * c for k, c in enumerate(coefficients))[1:]


def _horner(coefficients: Sequence[float], x: Array) -> Array:
    """`sum_k c_k x^k`."""
    total = jnp.zeros_like(x)
    for c in reversed(coefficients):
        total = total * x + c
    return total

"""Vector-valued Gaussian beliefs: where is a mean in several dimensions, and what are the weights of a regression?

The kernel is `exp(-(theta - mean)' precision (theta - mean) / 2)`, as in `gaussian.py` with a matrix for a number.

Small symmetric matrices are inverted without LAPACK: a call takes microseconds whatever the size of the matrix, and a
loop that makes one cannot be a single kernel (see `core/programs.py`). Up to a size of 8 a matrix is inverted by the
sweep operator (Goodnight 1979): Gauss-Jordan elimination, which needs no pivoting where a matrix is positive definite.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, NamedTuple, Protocol

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.core import Tracer
from jax.scipy.linalg import cho_solve
from numpy.random import Generator

from astonish.core.numbers import (
    COUNT,
    FINITE,
    POSITIVE,
    Domain,
    FloatArray,
    Number,
    as_numbers,
    limits,
    namespace,
    number,
    vector,
)
from astonish.core.parameters import REQUIRED, Parameter, parameter
from astonish.core.special import log
from astonish.theory import predictive
from astonish.theory.expfam import Family

_LOG_TWO_PI = math.log(2 * math.pi)


@dataclass(frozen=True)
class SymmetricMatrices:
    """The symmetric matrices whose eigenvalues are above `least` once the diagonal is scaled to 1. about: in words."""

    about: str
    least: float

    def check(self, name: str, value: Any) -> None:
        """Refuse any other matrix; under `jax.jit` and the like its value is not known yet, and it is let through.

        >>> COVARIANCE.check("noise", [[1.0, 2.0], [2.0, 1.0]])
        Traceback (most recent call last):
        ValueError: noise = [[1. 2.] [2. 1.]] is not allowed; give a symmetric positive definite matrix
        """
        if not isinstance(value, Tracer) and not self._allows(matrix := as_numbers(name, value)):
            raise ValueError(f"{name} = {' '.join(str(matrix).split())} is not allowed; give {self.about}")

    def _allows(self, matrix: FloatArray) -> bool:
        if matrix.ndim < 2 or matrix.shape[-1] != matrix.shape[-2] or not np.isfinite(matrix).all():
            return False
        variances = np.diagonal(matrix, axis1=-2, axis2=-1)
        if not (variances > 0).all():
            return False
        sizes = np.sqrt(variances)
        scaled = matrix / sizes[..., None] / sizes[..., None, :]
        lopsided = np.abs(scaled - np.swapaxes(scaled, -1, -2)) > 1e-6
        return not lopsided.any() and bool((np.linalg.eigvalsh(scaled) > self.least).all())


COVARIANCE = SymmetricMatrices("a symmetric positive definite matrix", 1e-15)
PRECISION = SymmetricMatrices("a symmetric matrix without negative eigenvalues", -1e-6)


class VectorBelief(NamedTuple):
    """A multivariate normal distribution over the unknown vector."""

    mean: Annotated[Array, FINITE]
    precision: Annotated[Array, PRECISION]

    @property
    def mode(self) -> Array:
        return self.mean

    @property
    def std(self) -> Array:
        """The marginal standard deviation of each component."""
        return jnp.sqrt(jnp.diagonal(jnp.linalg.inv(self.precision), axis1=-2, axis2=-1))


class VectorFamily(Family, Protocol):
    """A family of beliefs about a vector."""

    def blend(self, a: VectorBelief, u: Number, b: VectorBelief, v: Number) -> tuple[VectorBelief, Array]:
        old, new = u * a.precision, v * b.precision
        precision = old + new
        gap = b.mean - a.mean
        pull = product(inverse(_raised(precision)), product(new, gap))  # how far the mean moves from a towards b
        return VectorBelief(a.mean + pull, precision), 0.5 * (gap * product(old, pull)).sum()

    def log_partition(self, belief: VectorBelief) -> Array:
        size = belief.mean.shape[-1]
        return 0.5 * (size * _LOG_TWO_PI - inverse_and_log_determinant(_raised(belief.precision))[1])

    def log_mass_near(self, a: VectorBelief, u: Number, b: VectorBelief, v: Number) -> Array:
        """`log_mass`, with one inverse for both of its parts."""
        old, new = u * a.precision, v * b.precision
        gap, size = b.mean - a.mean, a.mean.shape[-1]
        covariance, log_determinant = inverse_and_log_determinant(_raised(old + new))
        misfit = (product(old, gap) * product(covariance, product(new, gap))).sum()
        return 0.5 * (size * _LOG_TWO_PI - log_determinant - misfit)


class GaussianVector(VectorFamily):
    """Where is the mean of vectors `x` that are normal with covariance matrix `noise`?

    >>> GaussianVector(jnp.diag(jnp.array([1.0, 4.0]))).prior().std.tolist()
    [1.0, 2.0]
    """

    noise: Array
    name: ClassVar[str] = "gaussian-vector"

    def __post_init__(self) -> None:
        COVARIANCE.check("noise", self.noise)
        object.__setattr__(self, "noise", number(self.noise))

    @property
    def samples(self) -> Domain:
        return Domain(shape=(len(self.noise),))

    def prior(self, mean: Number = 0.0, covariance: Number | None = None) -> VectorBelief:
        """A belief with this mean, and as uncertain as one sample unless `covariance` says otherwise."""
        mean = vector(mean, len(self.noise), "mean", FINITE)
        if covariance is None:
            return VectorBelief(mean, self._precision())
        COVARIANCE.check("covariance", covariance)
        covariance = number(covariance)
        if len(covariance) != len(self.noise):
            raise ValueError(f"covariance has shape {covariance.shape}; give one of shape {np.shape(self.noise)}")
        return VectorBelief(mean, namespace(covariance).linalg.inv(covariance))

    def flat(self) -> VectorBelief:
        return VectorBelief(jnp.zeros(len(self.noise)), jnp.zeros_like(self.noise))

    def likelihood(self, x: Number) -> VectorBelief:
        return VectorBelief(vector(x, len(self.noise), "a sample"), self._precision())

    def _precision(self) -> Array:
        noise = number(self.noise)
        return inverse(noise) if isinstance(noise, jax.Array) else np.linalg.inv(noise)

    def log_base(self, x: Number) -> Array:
        return -self.log_partition(self.prior())

    def error(self, belief: VectorBelief, x: Number) -> Array:
        return x - belief.mean

    def predicted_std(self, belief: VectorBelief, x: Number) -> Array:
        return jnp.sqrt(jnp.diagonal(number(self.noise) + inverse(belief.precision)))

    def predictive_divergence(self, a: VectorBelief, b: VectorBelief, x: Number) -> Array:
        before, after = (number(self.noise) + inverse(belief.precision) for belief in (a, b))
        return predictive.normal_vector(b.mean - a.mean, before, after)

    def sample(self, belief: VectorBelief, rng: Generator) -> FloatArray:
        return rng.multivariate_normal(belief.mean, np.linalg.inv(belief.precision))

    def sample_outcome(self, theta: Any, rng: Generator, steps: int) -> FloatArray:
        return rng.multivariate_normal(theta, np.asarray(self.noise), steps)


class Regression(VectorFamily):
    """What are the weights of a regression?

    Samples are `x = (features, y)`, where `y` is normal about `features . weights` with standard deviation `noise`.

    One sample leaves most directions undecided, so the scaled likelihood is improper: give learners a `reference`.

    >>> Regression(size=2).prior(std=3.0).std.tolist()
    [3.0, 3.0]
    """

    size: int = parameter(REQUIRED, COUNT, (1, 10), "how many features there are", static=True)
    noise: Number = parameter(1.0, POSITIVE, (0.1, 2.0), "standard deviation of responses about their prediction")
    name: ClassVar[str] = "regression"
    proper_likelihood: ClassVar[bool] = False
    prior_parameters: ClassVar[Mapping[str, Parameter]] = {
        "mean": Parameter(Domain(), (-1.0, 1.0), "weights of the first belief", 0.0),
        "std": Parameter(POSITIVE, (0.1, 10.0), "standard deviation of each weight in the first belief", 1.0),
    }

    @property
    def samples(self) -> tuple[Domain, Domain]:
        return Domain(-1e8, 1e8, shape=(self.size,), inside=1.0), Domain()

    def prior(self, mean: Number = 0.0, std: Number = 1.0) -> VectorBelief:
        """A belief in these weights, each with this uncertainty, independent of each other."""
        precision = number(np.eye(self.size)) / number(std, "std", POSITIVE) ** 2
        return VectorBelief(vector(mean, self.size, "mean", FINITE), precision)

    def flat(self) -> VectorBelief:
        return VectorBelief(jnp.zeros(self.size), jnp.zeros((self.size, self.size)))

    def likelihood(self, x: tuple[Number, Number]) -> VectorBelief:
        features, square = _features(x)
        nearest = features / jnp.where(square > 0, square, 1.0) * x[1]  # one of the weights that fit exactly
        return VectorBelief(nearest, jnp.outer(features, features) / jnp.square(self.noise))

    def log_base(self, x: tuple[Number, Number]) -> Array:
        left = jnp.where(_features(x)[1] > 0, 0.0, x[1] / jnp.asarray(self.noise))  # what no weights can explain
        return -0.5 * (_LOG_TWO_PI + left * left) - log(self.noise)

    def error(self, belief: VectorBelief, x: tuple[Number, Number]) -> Array:
        return x[1] - jnp.asarray(x[0]) @ belief.mean

    def predicted_std(self, belief: VectorBelief, x: tuple[Number, Number]) -> Array:
        return jnp.sqrt(self._variance(belief, x))

    def predictive_divergence(self, a: VectorBelief, b: VectorBelief, x: tuple[Number, Number]) -> Array:
        gap = jnp.asarray(x[0]) @ (b.mean - a.mean)
        return predictive.normal(gap, self._variance(a, x), self._variance(b, x))

    def _variance(self, belief: VectorBelief, x: tuple[Number, Number]) -> Array:
        """That of the predicted response."""
        features = jnp.asarray(x[0]) * 1.0
        return jnp.square(self.noise) + (features * product(inverse(_raised(belief.precision)), features)).sum()


def _features(x: tuple[Number, Number]) -> tuple[Array, Array]:
    """The features of a sample, and the square of their length: all zero where dividing by it would overflow."""
    features = jnp.asarray(x[0]) * 1.0
    square = features @ features
    some = square > 1e8 * limits(square).tiny
    return jnp.where(some, features, 0.0), jnp.where(some, square, 0.0)


def _raised(precision: Array) -> Array:
    """The matrix with its diagonal raised by a few roundings, lest a nearly singular one turn negative."""
    ridge = 4 * limits(precision).eps * len(precision)
    return precision * (1 + ridge * np.eye(len(precision)))


SMALL = 8  # up to this size a matrix is inverted without LAPACK


@jax.custom_jvp
def inverse_and_log_determinant(matrix: Array) -> tuple[Array, Array]:
    """Of a symmetric positive definite matrix; NaN throughout of another. Derivatives take no other inverse.

    >>> inverse, log_determinant = inverse_and_log_determinant(jnp.array([[1.0, 1.0], [1.0, 2.0]]))
    >>> inverse.tolist(), abs(float(log_determinant)) < 1e-6
    ([[2.0, -1.0], [-1.0, 1.0]], True)
    """
    size, matrix = matrix.shape[-1], _symmetric(matrix)
    if size > SMALL:
        root = jnp.linalg.cholesky(matrix)
        return cho_solve((root, True), jnp.eye(size, dtype=matrix.dtype)), 2 * _log(jnp.diagonal(root)).sum()
    at = jnp.arange(size)

    def sweep(k: Array, so_far: tuple[Array, Array]) -> tuple[Array, Array]:
        swept, log_determinant = so_far
        row = jax.lax.dynamic_index_in_dim(swept, k, keepdims=False)
        pivot = jax.lax.dynamic_index_in_dim(row, k, keepdims=False)
        pivot = jnp.where(pivot > 0, pivot, jnp.nan)
        here, scaled = at == k, row * (1 / pivot)
        column = jnp.where(here, -1 / pivot, scaled)
        rest = swept - row[:, None] * scaled[None]
        return jnp.where(
            here[None], column[:, None], jnp.where(here[:, None], column[None], rest)
        ), log_determinant + _log(pivot)

    swept, log_determinant = jax.lax.fori_loop(0, size, sweep, (matrix, jnp.zeros_like(matrix[0, 0])))
    return -swept, log_determinant


@inverse_and_log_determinant.defjvp
def _(primals: tuple[Array], tangents: tuple[Array]) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
    inverse, log_determinant = inverse_and_log_determinant(*primals)
    change = _symmetric(tangents[0])
    return (inverse, log_determinant), (-product(product(inverse, change), inverse), (inverse * change).sum())


def inverse(matrix: Array) -> Array:
    """The inverse alone.

    >>> inverse(jnp.array([[1.0, 1.0], [1.0, 2.0]])).tolist()
    [[2.0, -1.0], [-1.0, 1.0]]
    """
    return inverse_and_log_determinant(matrix)[0]


def product(a: Array, b: Array) -> Array:
    """`a @ b` of a matrix and a vector, or of two matrices: as a sum, since a product of matrices is another call."""
    if max(a.shape) > SMALL:
        return a @ b
    return (a * b[None]).sum(-1) if b.ndim == 1 else (a[:, :, None] * b[None]).sum(1)


def _log(pivot: Array) -> Array:
    return jnp.where(pivot > 0, log(pivot), jnp.nan)


def _symmetric(matrix: Array) -> Array:
    return 0.5 * (matrix + matrix.T)

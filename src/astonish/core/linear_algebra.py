"""How are small symmetric matrices inverted without calling LAPACK?

A call takes microseconds whatever the size of the matrix, and a loop that makes one cannot be a single kernel (see
`loops`). So up to a size of 8 a matrix is inverted here, by the sweep operator (Goodnight 1979): Gauss-Jordan
elimination, which needs no pivoting where a matrix is positive definite. Larger ones are left to LAPACK.
"""

import jax
import jax.numpy as jnp
from jax import Array
from jax.scipy.linalg import cho_solve

from astonish.core.special import log

SMALL = 8


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

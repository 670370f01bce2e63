"""Checks linear_algebra against NumPy and SciPy: values, derivatives, ill-conditioned and impossible matrices."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.linalg import invhilbert

from astonish.beliefs.regression import SMALL, inverse, inverse_and_log_determinant, product

sizes = pytest.mark.parametrize("size", [1, 2, 3, SMALL, SMALL + 1])
both = jax.jit(inverse_and_log_determinant)


def matrix_of(size: int, seed: int = 0, condition: float = 10.0) -> Any:
    """A symmetric matrix with eigenvalues from 1 to the condition."""
    axes, _ = np.linalg.qr(np.random.default_rng([seed, size]).normal(size=(size, size)))
    return (axes * np.geomspace(1.0, condition, size)) @ axes.T


@sizes
def test_inverse_and_determinant_are_numpys(size: int) -> None:
    matrix = matrix_of(size)
    found, log_determinant = both(matrix)
    np.testing.assert_allclose(found, np.linalg.inv(matrix), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(log_determinant, np.linalg.slogdet(matrix)[1], rtol=1e-12, atol=1e-14)


@sizes
def test_ill_conditioned_matrices_lose_no_more_digits_than_they_must(size: int) -> None:
    matrix = matrix_of(size, condition=1e10)
    found = np.asarray(both(matrix)[0])
    assert np.abs(found @ matrix - np.eye(size)).max() < 1e-5
    assert both(matrix)[1] == pytest.approx(np.log(np.geomspace(1.0, 1e10, size)).sum(), rel=1e-6)


def test_the_inverse_of_a_hilbert_matrix() -> None:
    at = np.arange(1, 7)
    np.testing.assert_allclose(inverse(jnp.asarray(1 / (at[:, None] + at - 1))), invhilbert(6), rtol=1e-8)


def test_scales_may_differ_by_many_orders() -> None:
    scales = np.array([1e-8, 1.0, 1e8])
    matrix = matrix_of(3) * scales * scales[:, None]
    np.testing.assert_allclose(
        inverse(jnp.asarray(matrix)) * scales * scales[:, None], np.linalg.inv(matrix_of(3)), 1e-12
    )


@sizes
def test_what_is_not_positive_definite_gives_nan_throughout(size: int) -> None:
    for matrix in (np.diag([-1.0, *np.ones(size - 1)]), np.diag([*np.ones(size - 1), -1.0]), np.zeros((size, size))):
        assert all(np.isnan(part).all() for part in both(matrix))


@pytest.mark.parametrize("size", [1, 2, 5])
def test_derivatives_of_both_orders_are_those_of_lapack(size: int) -> None:
    matrix, change = jnp.asarray(matrix_of(size)), jnp.asarray(matrix_of(size, seed=1))

    def ours(t: Any) -> Any:
        found, log_determinant = inverse_and_log_determinant(matrix + t * change)
        return (jnp.cos(found)).sum() + log_determinant

    def theirs(t: Any) -> Any:
        changed = matrix + t * change
        return (jnp.cos(jnp.linalg.inv(changed))).sum() + jnp.linalg.slogdet(changed)[1]

    for derivative in (jax.grad, jax.jacfwd, lambda f: jax.jacfwd(jax.jacfwd(f)), lambda f: jax.grad(jax.jacfwd(f))):
        assert jax.jit(derivative(ours))(0.1) == pytest.approx(float(jax.jit(derivative(theirs))(0.1)), rel=1e-10)
    gradient = jax.grad(lambda matrix: inverse_and_log_determinant(matrix)[1])(matrix)
    np.testing.assert_allclose(gradient, np.linalg.inv(matrix), rtol=1e-12)


@sizes
def test_products_are_numpys(size: int) -> None:
    a, b = matrix_of(size), matrix_of(size, seed=1)
    np.testing.assert_allclose(product(jnp.asarray(a), jnp.asarray(b)), a @ b, rtol=1e-13, atol=1e-14)
    np.testing.assert_allclose(product(jnp.asarray(a), jnp.asarray(b[0])), a @ b[0], rtol=1e-13, atol=1e-14)


def test_stacks_are_inverted_under_vmap() -> None:
    stack = np.stack([matrix_of(3, seed) for seed in range(4)])
    np.testing.assert_allclose(jax.jit(jax.vmap(inverse))(stack), np.linalg.inv(stack), rtol=1e-12, atol=1e-14)

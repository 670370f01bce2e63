"""Checks the special functions against 50-digit arithmetic."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest

from astonish.core.special import digamma, log, log_gamma, reciprocal, trigamma

NEAR = np.array([-1e-2, -1e-4, -1e-7, -1e-10, 0.0, 1e-10, 1e-7, 1e-4, 1e-2])
ARGUMENTS = np.concatenate([np.geomspace(1e-3, 1e8, 1200), 1 + NEAR, 2 + NEAR, 8 + NEAR])

FUNCTIONS = [
    ("log_gamma", log_gamma, mpmath.loggamma),
    ("log_gamma_slope", jax.vmap(jax.grad(log_gamma)), mpmath.digamma),
    ("log_gamma_curvature", jax.vmap(jax.grad(jax.grad(log_gamma))), lambda x: mpmath.psi(1, x)),
    ("digamma", digamma, mpmath.digamma),
    ("digamma_slope", jax.vmap(jax.grad(digamma)), lambda x: mpmath.psi(1, x)),
    ("trigamma", trigamma, lambda x: mpmath.psi(1, x)),
    ("trigamma_slope", jax.vmap(jax.grad(trigamma)), lambda x: mpmath.psi(2, x)),
    ("log", log, mpmath.log),
    ("log_slope", jax.vmap(jax.grad(log)), lambda x: 1 / x),
    ("log_curvature", jax.vmap(jax.grad(jax.grad(log))), lambda x: -1 / x**2),
    ("reciprocal", reciprocal, lambda x: 1 / x),
    ("reciprocal_slope", jax.vmap(jax.grad(reciprocal)), lambda x: -1 / x**2),
    ("reciprocal_curvature", jax.vmap(jax.grad(jax.grad(reciprocal))), lambda x: 2 / x**3),
]
Function = Callable[[Any], Any]


def _exact(f: Function, xs: Any) -> Any:
    with mpmath.workdps(50):
        return np.array([float(f(mpmath.mpf(float(x)))) for x in xs])


@pytest.mark.parametrize(("ours", "theirs"), [f[1:] for f in FUNCTIONS], ids=[f[0] for f in FUNCTIONS])
def test_agrees_with_fifty_digits(ours: Function, theirs: Function) -> None:
    got = jax.jit(ours)(jnp.asarray(ARGUMENTS))
    np.testing.assert_allclose(got, _exact(theirs, ARGUMENTS), rtol=1e-13, atol=1e-13)


@pytest.mark.single
@pytest.mark.parametrize(("ours", "theirs"), [f[1:] for f in FUNCTIONS], ids=[f[0] for f in FUNCTIONS])
def test_is_as_good_as_single_precision_allows(ours: Function, theirs: Function) -> None:
    arguments = ARGUMENTS.astype(np.float32)
    got = jax.jit(ours)(jnp.asarray(arguments))
    assert got.dtype == jnp.float32
    np.testing.assert_allclose(got, _exact(theirs, arguments), rtol=1e-5, atol=1e-5)


def test_log_is_exact_over_the_whole_range() -> None:
    x = np.concatenate([np.geomspace(1e-300, 1e300, 601), 1 + NEAR])
    np.testing.assert_allclose(log(x), _exact(mpmath.log, x), rtol=4e-16, atol=1e-22)


def test_log_of_one_and_powers_of_two() -> None:
    assert float(log(1.0)) == 0.0
    np.testing.assert_allclose(log(2.0 ** np.arange(-1000, 1001)), np.arange(-1000, 1001) * np.log(2), rtol=4e-16)


def test_derivatives_of_reciprocal_neither_overflow_nor_underflow_early() -> None:
    assert jax.grad(reciprocal)(1e-150) == pytest.approx(-1e300)
    assert jax.grad(log)(1e-300) == pytest.approx(1e300)
    assert jax.jvp(reciprocal, (1e200,), (1e200,))[1] == pytest.approx(-1e-200)


@pytest.mark.parametrize("f", [log_gamma, digamma, trigamma, log, reciprocal])
def test_takes_whole_numbers(f: Function) -> None:
    assert float(f(3)) == float(f(3.0))

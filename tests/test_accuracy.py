"""Checks surprise, largest bound and gamma against 80-digit arithmetic on the literal formulas, hard cases included."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest
from mpmath import mpf

from astonish.beliefs import (
    Beta,
    BetaBelief,
    Dirichlet,
    DirichletBelief,
    Exponential,
    GammaBelief,
    Gaussian,
    GaussianVector,
    NormalGamma,
    Poisson,
    Regression,
    finite,
)
from astonish.theory import expfam, rule, surprise
from laboratory import by_numpy

Point = list[mpf]  # the parameters of a belief in 80 digits


@dataclass(frozen=True)
class Oracle:
    """Kullback-Leibler divergence and geometric mixture of two beliefs, written out for one family."""

    divergence: Callable[[Point, Point], mpf]
    mix: Callable[[Point, Point, mpf], Point]

    def answers(self, belief: Point, target: Point, m: float) -> tuple[float, float, float]:
        """S_cc, B_max and the gamma that solves KL[q_gamma || belief] = B."""
        with mpmath.workdps(80):
            s, most = self.divergence(belief, target), self.divergence(target, belief)
            bound = mpf(m) * s / (1 + mpf(m) * s) * most
            if bound == 0:
                return float(s), float(most), 0.0

            def excess(t: mpf) -> mpf:
                return mpmath.log(self.divergence(self.mix(belief, target, mpmath.exp(t)), belief) / bound)

            root = mpmath.findroot(excess, (mpf(-40), mpf(0)), solver="anderson", tol=mpf(10) ** -18, maxsteps=200)
            return float(s), float(most), float(mpmath.exp(root))


@cache
def _log_gamma(x: mpf) -> mpf:
    return mpmath.loggamma(x)


@cache
def _digamma(x: mpf) -> mpf:
    return mpmath.digamma(x)


def _line(a: Point, b: Point, g: mpf) -> Point:
    return [(1 - g) * p + g * q for p, q in zip(a, b, strict=True)]


def _dirichlet(a: Point, b: Point) -> mpf:
    def norm(c: Point) -> mpf:
        return mpmath.fsum(_log_gamma(v) for v in c) - _log_gamma(mpmath.fsum(c))

    at_sum = _digamma(mpmath.fsum(a))
    means = mpmath.fsum((p - q) * (_digamma(p) - at_sum) for p, q in zip(a, b, strict=True) if p != q)
    return norm(b) - norm(a) + means


def _gamma(a: Point, b: Point) -> mpf:
    (k, t), (n, u) = a, b
    shapes = (k - n) * mpmath.digamma(k) - mpmath.loggamma(k) + mpmath.loggamma(n)
    return shapes + n * mpmath.log(t / u) + k * (u - t) / t


def _gaussian(a: Point, b: Point) -> mpf:
    (x, p), (y, q) = a, b
    return (mpmath.log(p / q) + q / p + q * (x - y) ** 2 - 1) / 2


def _gaussian_mix(a: Point, b: Point, g: mpf) -> Point:
    p, q = (1 - g) * a[1], g * b[1]
    return [(p * a[0] + q * b[0]) / (p + q), p + q]


DIRICHLET = Oracle(_dirichlet, _line)
GAMMA = Oracle(_gamma, _line)
GAUSSIAN = Oracle(_gaussian, _gaussian_mix)


def _point(belief: Any) -> Point:
    return [mpf(float(v)) for leaf in jax.tree.leaves(belief) for v in np.ravel(leaf)]


@jax.jit
def _ours(family: Any, belief: Any, x: Any, m: Any) -> tuple[Any, ...]:
    update = rule.smile(family, belief, x, m)
    separately = surprise.confidence_corrected(family, belief, x), rule.bound_max(family, belief, x)
    solved = rule.gamma_from_bound(family, belief, x, update.bound)
    return update.surprise, update.bound_max, update.gamma, *separately, solved


def _check(oracle: Oracle, family: Any, belief: Any, x: Any, m: float) -> None:
    exact = oracle.answers(_point(belief), _point(expfam.scaled_likelihood(family, x)), m)
    got = np.array(_ours(family, belief, x, m))
    np.testing.assert_allclose(got[:3], exact, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(got[3:], exact, rtol=1e-7, atol=1e-9)


def _log_uniform(rng: np.random.Generator, low: float, high: float, size: int | None = None) -> Any:
    return np.exp(rng.uniform(np.log(low), np.log(high), size))


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("size", [2, 15, 100])
def test_dirichlet_of_scattered_concentrations(size: int, seed: int) -> None:
    rng = np.random.default_rng([size, seed])
    low, high = [(1e-2, 1e6), (1e-2, 1.0), (1.0, 20.0), (1e4, 1e6)][seed % 4]
    belief = DirichletBelief(_log_uniform(rng, low, high, size))
    _check(DIRICHLET, Dirichlet(size), belief, int(rng.integers(size)), _log_uniform(rng, 1e-6, 1e6))


@pytest.mark.parametrize("m", [1e-6, 0.1, 1e6])
@pytest.mark.parametrize("apart", [1e-3, 1e-4, 1e-6, 1e-8, 1e-10, 1e-12])
@pytest.mark.parametrize("size", [2, 15])
def test_dirichlet_that_almost_equals_the_target(size: int, apart: float, m: float) -> None:
    belief = DirichletBelief(np.where(np.arange(size) == 1, 2.0, 1.0) * (1 + apart))
    _check(DIRICHLET, Dirichlet(size), belief, 1, m)


@pytest.mark.parametrize("apart", [1e-3, 1e-6, 1e-9])
@pytest.mark.parametrize("m", [1e-6, 1.0, 1e6])
def test_dirichlet_that_differs_from_the_target_in_one_outcome(apart: float, m: float) -> None:
    alpha = np.where(np.arange(15) == 1, 2.0, 1.0)
    alpha[7] += apart
    _check(DIRICHLET, Dirichlet(15), DirichletBelief(alpha), 1, m)


@pytest.mark.parametrize("m", [1e-3, 1.0])
def test_dirichlet_with_a_thousand_outcomes(m: float) -> None:
    alpha = np.where(np.arange(1000) % 10 == 0, 1e4, 0.5)
    _check(DIRICHLET, Dirichlet(1000), DirichletBelief(alpha), 1, m)


def random_case(rng: np.random.Generator, name: str) -> tuple[Oracle, Any, Any, Any, float]:
    """A belief of one family, a sample and m, each over many orders of magnitude, and what is exact about it."""
    if name == "gaussian":
        family, oracle = Gaussian(), GAUSSIAN
        belief, x = family.prior(0.0, _log_uniform(rng, 1e-3, 1e3)), float(rng.normal() * _log_uniform(rng, 1e-3, 1e3))
    elif name in ("poisson", "exponential"):
        family, oracle = (Poisson(), GAMMA) if name == "poisson" else (Exponential(), GAMMA)
        belief = GammaBelief(*_log_uniform(rng, 1e-2, 1e6, 2))
        x = float(rng.integers(10 ** rng.integers(1, 6))) if name == "poisson" else float(_log_uniform(rng, 1e-4, 1e4))
    else:
        family, oracle = (Beta(), DIRICHLET) if name == "beta" else (Dirichlet(5), DIRICHLET)
        alpha = _log_uniform(rng, 1e-2, 1e6, 2 if name == "beta" else 5)
        belief = BetaBelief(*alpha) if name == "beta" else DirichletBelief(alpha)
        x = int(rng.integers(len(alpha)))
    return oracle, family, belief, x, float(_log_uniform(rng, 1e-6, 1e6))


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("name", ["beta", "poisson", "exponential"])
def test_any_belief_sample_and_readiness(name: str, seed: int) -> None:
    _check(*random_case(np.random.default_rng(seed), name))


@pytest.mark.parametrize("m", [1e-6, 1e-2, 1e6])
@pytest.mark.parametrize("off", [0.0, 1e-3, 0.1, 1.0, 30.0, 1e3])
@pytest.mark.parametrize("width", [1e-4, 1e-2, 0.5, 1 - 1e-9, 1.0, 1 + 1e-5, 2.0, 1e3])
def test_gaussian(width: float, off: float, m: float) -> None:
    family = Gaussian(noise=2.0)
    _check(GAUSSIAN, family, family.prior(mean=-3.0, std=2.0 * width), -3.0 + 2.0 * off, m)


@pytest.mark.parametrize("m", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("apart", [1e-3, 1e-6, 1e-9, 1e-12])
@pytest.mark.parametrize("count", [0.0, 3.0, 1e4])
def test_poisson_that_almost_equals_the_target(count: float, apart: float, m: float) -> None:
    _check(GAMMA, Poisson(), GammaBelief(np.array((count + 1) * (1 + apart)), np.array(1 - apart / 2)), count, m)


@pytest.mark.parametrize("shift", [1e8, -1e8])
@pytest.mark.parametrize("width", [0.1, 1.0, 8.0])
@pytest.mark.parametrize("off", [0.5, 3.0, 100.0])
def test_shifting_gaussian_and_sample_together_changes_nothing(width: float, off: float, shift: float) -> None:
    family = Gaussian(noise=1.0)
    here = _ours(family, family.prior(0.0, width), off, 0.1)
    there = _ours(family, family.prior(shift, width), shift + off, 0.1)
    np.testing.assert_allclose(np.array(there), np.array(here), rtol=1e-6)


@pytest.mark.parametrize("scale", [1e-12, 1e12])
@pytest.mark.parametrize("width", [0.1, 1.0, 8.0])
def test_units_of_a_gaussian_change_nothing(width: float, scale: float) -> None:
    one, other = Gaussian(noise=1.0), Gaussian(noise=scale)
    here = _ours(one, one.prior(0.5, width), 3.0, 0.1)
    there = _ours(other, other.prior(0.5 * scale, width * scale), 3.0 * scale, 0.1)
    np.testing.assert_allclose(np.array(there), np.array(here), rtol=1e-6)


@pytest.mark.parametrize("scale", [1e-12, 1e12])
def test_units_of_waiting_times_change_nothing(scale: float) -> None:
    here = _ours(Exponential(), Exponential().prior(rate=2.0, time=5.0), 0.7, 0.1)
    there = _ours(Exponential(), Exponential().prior(rate=2.0 / scale, time=5.0 * scale), 0.7 * scale, 0.1)
    np.testing.assert_allclose(np.array(there), np.array(here), rtol=1e-6)


@pytest.mark.parametrize("mean", [0.0, -7.25, 1e8])
@pytest.mark.parametrize("noise", [1.0, 0.3, 1e-6])
def test_a_sample_at_the_mean_of_a_belief_as_wide_as_the_noise_is_no_surprise(noise: float, mean: float) -> None:
    family = Gaussian(noise=noise)
    update = rule.smile(family, family.prior(mean), jnp.asarray(mean), 0.1)
    assert float(update.surprise) == 0.0
    assert float(update.gamma) == 0.0


@pytest.mark.parametrize("width", [1e-3, 0.1, 0.9, 1.1, 10.0])
def test_a_sample_at_the_mean_is_surprising_by_the_difference_in_width(width: float) -> None:
    family = Gaussian(noise=2.0)
    got = surprise.confidence_corrected(family, family.prior(5.0, 2.0 * width), 5.0)
    exact = -np.log(width) + (width**2 - 1) / 2
    np.testing.assert_allclose(got, exact, rtol=1e-7, atol=1e-9)


def _finite(a: Point, b: Point) -> mpf:
    return mpmath.fsum(p * mpmath.log(p / q) for p, q in zip(a, b, strict=True))


def _finite_mix(a: Point, b: Point, g: mpf) -> Point:
    mixed = [p ** (1 - g) * q**g for p, q in zip(a, b, strict=True)]
    return [each / mpmath.fsum(mixed) for each in mixed]


FINITE = Oracle(_finite, _finite_mix)


def test_poisson_of_many_events_in_which_logarithms_are_large() -> None:
    _check(GAMMA, Poisson(), GammaBelief(np.float64(487758.8), np.float64(3.3008)), 148770.0, 1.47e-4)


@pytest.mark.parametrize("apart", [1e-2, 1e-3, 1e-5, 1e-6])
@pytest.mark.parametrize("m", [1e-2, 1.0, 1e6])
def test_models_that_are_almost_as_likely_as_the_sample_makes_them(apart: float, m: float) -> None:
    family = finite([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.3, 0.3, 0.4]])
    with mpmath.workdps(80):
        like = [mpf(0.2), mpf(0.8), mpf(0.3)]
        target = [each / mpmath.fsum(like) for each in like]
        tilted = [each * (1 + mpf(apart) * k) for k, each in enumerate(target)]
        belief = family.prior([float(each / mpmath.fsum(tilted)) for each in tilted])
        weights = [mpmath.exp(mpf(float(each))) for each in belief.log_density]
        own = [each / mpmath.fsum(weights) for each in weights]
        exact = FINITE.answers(own, target, m)
    got = np.array(_ours(family, belief, 1, m))
    np.testing.assert_allclose(got[:2], exact[:2], rtol=1e-5, atol=1e-14)
    np.testing.assert_allclose(got[2], exact[2], rtol=1e-5, atol=1e-9)


@pytest.mark.parametrize("narrow", [1e-5, 1e-7, 1e-9])
def test_what_is_left_of_a_belief_much_narrower_than_the_noise(narrow: float) -> None:
    family, (m, x) = Gaussian(noise=1.0), (0.1, 5.0)
    update = jax.jit(rule.smile)(family, family.prior(std=narrow), x, m)
    with mpmath.workdps(80):
        belief, target = [mpf(0), mpf(narrow) ** -2], [mpf(x), mpf(1)]
        s, most = _gaussian(belief, target), _gaussian(target, belief)
        bound = mpf(m) * s / (1 + mpf(m) * s) * most

        def excess(t: mpf) -> mpf:  # in the logarithm of 1 - gamma
            return _gaussian(_gaussian_mix(belief, target, 1 - mpmath.exp(t)), belief) / bound - 1

        root = mpmath.findroot(excess, (mpf(-60), mpf(-1)), solver="anderson", tol=mpf(10) ** -18, maxsteps=300)
        mean, precision = _gaussian_mix(belief, target, 1 - mpmath.exp(root))
    np.testing.assert_allclose(np.array(update.belief), [float(mean), float(precision)], rtol=1e-7)


@pytest.mark.parametrize("size", [1e7, 1e8])
@pytest.mark.parametrize("noise", [1e-3, 1.0, 1e3])
def test_no_divergence_of_a_regression_is_negative(size: float, noise: float) -> None:
    family, rng = Regression(2, noise), np.random.default_rng(1)
    belief = prior = family.prior(std=30.0)
    smile = jax.jit(rule.smile)
    for features in size * rng.normal(size=(30, 2)):
        update = smile(family, belief, (features, 1.0), 0.5, prior)
        for name in ("surprise", "bound", "bound_max"):
            assert getattr(update, name) >= 0, name
        assert 0 <= update.gamma <= 1
        belief = update.belief


@pytest.mark.parametrize(
    ("family", "x", "jacobian"),
    [
        (Gaussian(), 1e150, jax.jacrev),
        (Gaussian(), -1e150, jax.jacfwd),
        (GaussianVector(np.eye(2)), np.array([1e150, -1e150]), jax.jacrev),
        (Regression(2), (np.array([1.0, 2.0]), 1e150), jax.jacfwd),
        (Poisson(), 1e15, jax.jacfwd),
        (Exponential(), 1e150, jax.jacrev),
        (Beta(), 1, jax.jacfwd),
        (NormalGamma(), 1e150, jax.jacfwd),
    ],
    ids=["gaussian_reverse", "gaussian", "vector", "regression", "poisson", "exponential", "beta", "normal_gamma"],
)
def test_derivatives_at_far_outliers_are_finite(family: Any, x: Any, jacobian: Any) -> None:
    reference = None if family.proper_likelihood else family.prior()

    def answers(belief: Any, x: Any, m: Any) -> Any:
        update = rule.smile(family, belief, x, m, reference)
        return jax.tree.leaves((update.belief, update.gamma, jnp.log1p(update.surprise)))

    of = (0, 2) if isinstance(x, int) else (0, 1, 2)  # an outcome has no derivative
    moved = by_numpy(jacobian(answers, argnums=of))(family.prior(), x, 0.1)
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(moved))


def random_gamma(rng: np.random.Generator) -> tuple[str, float, float]:
    """A random case of any family: what it was, and gamma, exactly and ours."""
    name = str(rng.choice(("gaussian", "poisson", "exponential", "beta", "dirichlet")))
    oracle, family, belief, x, m = random_case(rng, name)
    exact = oracle.answers(_point(belief), _point(expfam.scaled_likelihood(family, x)), m)
    return f"{family} {belief} x={x} m={m}", exact[2], float(_ours(family, belief, x, m)[2])

"""Is a belief about a probability that lies between two ends what quadrature and the beta distribution say it is?"""

from typing import Any

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad

from astonish import Beta, BetaInterval, Smile
from astonish.core.numbers import double
from astonish.learners.base import scan
from laboratory import by_numpy, expfam

SEEN = [(0, 0), (3, 2), (100, 3), (0.3, 7.9), (1000, 1000), (10_000, 0), (9_999, 1), (5e6, 10)]
ENDS = [(0.1, 0.9), (0.4, 0.45), (0.05, 0.95)]


def _moments(ones: float, zeros: float, low: float, high: float) -> tuple[float, float, float]:
    """Log-integral, mean and standard deviation, by adaptive quadrature about the mode with many digits."""
    mode = min(max(ones / (ones + zeros) if ones + zeros else low, low), high)
    top = ones * mpmath.log(mode) + zeros * mpmath.log(1 - mode)
    steps = [far * 0.5 / np.sqrt(ones + zeros + 1) for far in (-20, -3, -0.5, -0.02, 0, 0.02, 0.5, 3, 20)]
    places = sorted({low, high, *(min(max(mode + step, low), high) for step in steps)})

    def integral(power: int) -> mpmath.mpf:
        def integrand(p: mpmath.mpf) -> mpmath.mpf:
            return mpmath.exp(ones * mpmath.log(p) + zeros * mpmath.log(1 - p) - top) * (p - mode) ** power

        return mpmath.quad(integrand, places)

    mass, first, second = (integral(power) for power in range(3))
    spread = mpmath.sqrt(second / mass - (first / mass) ** 2)
    return float(top + mpmath.log(mass)), float(mode + first / mass), float(spread)


@pytest.mark.parametrize("ends", ENDS)
@pytest.mark.parametrize("seen", SEEN)
def test_integral_mean_and_spread_are_those_of_quadrature(seen: tuple[float, float], ends: tuple[float, float]) -> None:
    family = BetaInterval(*ends)
    with double(), mpmath.workdps(30):
        belief = family.prior(ones=1 + seen[0], zeros=1 + seen[1])
        log_mass, mean, std = _moments(*seen, *ends)
        np.testing.assert_allclose(family.log_partition(belief), log_mass, rtol=1e-12, atol=1e-11)
        np.testing.assert_allclose(belief.mean, mean, rtol=1e-12)
        np.testing.assert_allclose(belief.std, std, rtol=1e-8)


@pytest.mark.parametrize(("ones", "zeros"), [(0, 0), (3, 2), (60, 1), (0, 400), (20_000, 30_000)])
def test_on_the_whole_interval_it_is_a_beta_belief(ones: float, zeros: float) -> None:
    whole, beta = BetaInterval(), Beta()
    with double():
        a, b = (each.prior(ones=1 + ones, zeros=1 + zeros) for each in (whole, beta))
        for name in ("mean", "std"):
            np.testing.assert_allclose(getattr(a, name), getattr(b, name), rtol=1e-7)
        np.testing.assert_allclose(whole.log_partition(a), beta.log_partition(b), rtol=1e-9, atol=1e-8)
        np.testing.assert_allclose(expfam.entropy(whole, a), expfam.entropy(beta, b), atol=1e-5)
        for x in (0, 1):
            np.testing.assert_allclose(expfam.log_evidence(whole, a, x), expfam.log_evidence(beta, b, x), rtol=1e-7)
            near = expfam.divergence(whole, a, whole.prior(ones=1 + ones + x, zeros=2 + zeros))
            np.testing.assert_allclose(
                near, expfam.divergence(beta, b, beta.prior(ones=1 + ones + x, zeros=2 + zeros)), atol=3e-5
            )


def test_the_density_is_that_of_scipy_cut_and_scaled() -> None:
    family = BetaInterval(0.2, 0.7)
    grid, of_beta = np.array([0.1, 0.2, 0.35, 0.7, 0.71]), stats.beta(4.0, 2.5)
    with double():
        density = family.density(family.prior(ones=4.0, zeros=2.5), grid)
    inside = (grid >= 0.2) & (grid <= 0.7)
    expected = np.where(inside, of_beta.pdf(grid) / (of_beta.cdf(0.7) - of_beta.cdf(0.2)), 0.0)
    np.testing.assert_allclose(density, expected, rtol=1e-10)


def test_derivatives_by_counts_and_ends() -> None:
    """Of the log-integral: the mean of ln theta, that of ln(1 - theta), and the density at the ends."""

    def log_partition(ones: float, zeros: float, low: float, high: float) -> jax.Array:
        family = BetaInterval(low, high)
        return family.log_partition(family.prior(ones=1 + ones, zeros=1 + zeros))

    at = 3.0, 5.5, 0.1, 0.6
    with double():
        found = by_numpy(jax.grad(log_partition, (0, 1, 2, 3)))(*at)
    ones, zeros, low, high = at

    def kernel(p: float) -> float:
        return float(p**ones * (1 - p) ** zeros)

    mass = quad(kernel, low, high)[0]
    log_one = quad(lambda p: np.log(p) * kernel(p), low, high)[0] / mass
    log_zero = quad(lambda p: np.log1p(-p) * kernel(p), low, high)[0] / mass
    np.testing.assert_allclose(found, [log_one, log_zero, -kernel(low) / mass, kernel(high) / mass], rtol=1e-9)


@pytest.mark.parametrize("mode", [jax.grad, jax.jacfwd])
def test_derivatives_stay_finite(mode: Any) -> None:
    xs = np.array([1] * 40 + [0] * 3 + [1] * 10)

    def total(m: float, low: float, high: float) -> jax.Array:
        trace = scan(Smile(BetaInterval(low, high), m), jnp.asarray(xs))
        return trace.estimate.sum() + trace.surprise.sum()

    with double():
        slopes = by_numpy(mode(total, (0, 1, 2)))
        for at in ((0.1, 0.1, 0.9), (1e-6, 0.0, 1.0), (100.0, 0.49, 0.51)):
            assert np.isfinite(slopes(*at)).all()

"""Is Kalman the Kalman filter? The oracles are a joint normal distribution, conditioned on samples, and limits."""

import math

import numpy as np
import pytest
import scipy.stats

from astonish import Bayes, Gaussian, Kalman, run
from families import agree

XS = np.random.default_rng(7).normal(size=12).cumsum()


@pytest.mark.parametrize("drift", [0.0, 0.3, 0.5, 2.0, 5.0])
@pytest.mark.parametrize(("noise", "mean", "std"), [(1.0, 0.0, 1.0), (0.4, -3.0, 6.0), (7.0, 2.0, 0.1)])
def test_it_is_conditioning_on_all_samples_at_once(drift: float, noise: float, mean: float, std: float) -> None:
    """The joint distribution of means and samples is normal: nothing has to be filtered to know what follows."""
    history, total = run(Kalman(noise, drift, mean, std), XS), 0.0
    for t in range(1, len(XS) + 1):
        when = np.arange(1, t + 1)
        means = std**2 + drift**2 * np.minimum.outer(when, when)
        samples = means + noise**2 * np.eye(t)
        weights = np.linalg.solve(samples, means[-1])
        assert history.estimate[t - 1] == pytest.approx(mean + weights @ (XS[:t] - mean), rel=1e-9)
        assert history.learning_rate[t - 1] == pytest.approx(weights[-1], rel=1e-9)
        together = -scipy.stats.multivariate_normal.logpdf(XS[:t], np.full(t, mean), samples)
        assert history.surprise[t - 1] == pytest.approx(together - total, rel=1e-7)
        total = together
    assert float(history.state.std) ** 2 == pytest.approx(means[-1, -1] - weights @ means[-1], rel=1e-9)


@pytest.mark.parametrize(("noise", "drift"), [(1.0, 0.1), (2.0, 3.0), (0.5, 0.02)])
def test_the_gain_settles_at_the_solution_of_riccatis_equation(noise: float, drift: float) -> None:
    """Before a sample the variance P then solves P = P noise^2 / (P + noise^2) + drift^2."""
    variance = (drift**2 + math.sqrt(drift**4 + 4 * drift**2 * noise**2)) / 2
    assert run(Kalman(noise, drift), np.zeros(2000)).learning_rate[-1] == pytest.approx(
        variance / (variance + noise**2)
    )


def test_without_drift_it_is_bayes_rule() -> None:
    family = Gaussian(1.5)
    exact = run(Bayes(family, family.prior(0.5, 2.0)), XS)
    still = run(Kalman(1.5, 0.0, 0.5, 2.0), XS)
    agree(still, rtol=1e-12, estimate=exact.estimate, surprise=exact.surprise)
    assert float(still.state.std) == pytest.approx(float(exact.state.belief.std), rel=1e-12)


def test_with_endless_drift_only_the_last_sample_counts() -> None:
    np.testing.assert_allclose(run(Kalman(1.0, 1e8), XS).estimate, XS, rtol=1e-12)


@pytest.mark.parametrize("noise", [1e-8, 1.0])
@pytest.mark.parametrize("extreme", [1e150, -1e150])
def test_the_gain_does_not_depend_on_the_samples_even_if_they_are_extreme(noise: float, extreme: float) -> None:
    np.testing.assert_array_equal(run(Kalman(), XS).learning_rate, run(Kalman(), XS[::-1] * 1e6).learning_rate)
    history = run(Kalman(noise, 0.5), [1.0, extreme, -extreme, 2.0])
    assert np.isfinite([history.estimate, history.surprise, history.learning_rate]).all()
    np.testing.assert_array_equal(history.learning_rate, run(Kalman(noise, 0.5), np.zeros(4)).learning_rate)

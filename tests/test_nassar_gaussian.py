"""Are NassarGaussian2010 and NassarGaussian2012 the rules Nas10* and Nas12* of Liakoni et al. (2021)?

The oracles are their recursions in plain Python, and the exact belief on a fine grid.
"""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from astonish import Bayes, Gaussian, Nassar2012, NassarGaussian2010, NassarGaussian2012, run
from astonish.beliefs import GaussianBelief
from astonish.learners.nassar import RelativeVariance
from astonish.worlds.gaussian_jumps import gaussian_jumps
from families import agree

both = pytest.mark.parametrize("rule", [NassarGaussian2010, NassarGaussian2012])


def normal(x: Any, mean: Any, variance: float) -> Any:
    return np.exp(-((x - mean) ** 2) / (2 * variance)) / math.sqrt(2 * math.pi * variance)


def plainly(
    xs: list[float], noise: float, hazard: float, mean: float, std: float, second: bool
) -> Iterator[tuple[float, float, float, float]]:
    """Estimate, its variance, probability of a jump and surprise, by a run length `r` that starts at 0, the prior."""
    rho, mu, r, variance = noise**2 / std**2, mean, 0.0, std**2
    for x in xs:
        fresh, old = normal(x, mean, noise**2 + std**2), normal(x, mu, noise**2 + variance)
        odds = hazard / (1 - hazard) * fresh / old
        gamma = odds / (1 + odds)
        a, b = mu + (x - mu) / (rho + r + 1), mean + (x - mean) / (rho + 1)
        mu = (1 - gamma) * a + gamma * b
        if second:
            within = noise**2 * (rho + gamma * r + 1) / ((rho + r + 1) * (rho + 1))
            variance = within + gamma * (1 - gamma) * (a - b) ** 2
            r = noise**2 / variance - rho
        else:
            r = (1 - gamma) * (r + 1) + gamma
            variance = 1 / (1 / std**2 + r / noise**2)
        yield mu, variance, gamma, -math.log((1 - hazard) * old + hazard * fresh)


@both
@pytest.mark.parametrize("hazard", [0.005, 0.1, 0.5])
@pytest.mark.parametrize(("noise", "mean", "std"), [(0.1, 0.0, 1.0), (5.0, 0.0, 1.0), (1.5, -2.0, 4.0)])
def test_it_follows_the_recursion(rule: Any, hazard: float, noise: float, mean: float, std: float) -> None:
    xs = gaussian_jumps(300, seed=8, hazard=0.05, low=mean - std, high=mean + std, noise=noise).samples.tolist()
    history = run(rule(noise, hazard, mean, std), xs)
    oracle = np.array(list(plainly(xs, noise, hazard, mean, std, rule is NassarGaussian2012)))
    ours = np.stack([history.estimate, np.asarray(history.change_probability), history.surprise], axis=1)
    np.testing.assert_allclose(ours, oracle[:, [0, 2, 3]], rtol=1e-7, atol=1e-12)
    assert float(history.state.std) ** 2 == pytest.approx(oracle[-1, 1], rel=1e-9)


def exactly(xs: list[float], noise: float, hazard: float, mean: float, std: float) -> tuple[float, float]:
    """Mean and variance of the exact belief after some samples, on a grid."""
    theta = np.linspace(mean - 12 * std, mean + 12 * std, 100_001)
    prior = normal(theta, mean, std**2)
    belief = prior = prior / prior.sum()
    for x in xs:
        belief = ((1 - hazard) * belief + hazard * prior) * normal(x, theta, noise**2)
        belief /= belief.sum()
    return belief @ theta, belief @ (theta - belief @ theta) ** 2


@both
@pytest.mark.parametrize("xs", [[0.7], [0.7, 1.0], [0.7, -2.5]])
def test_up_to_two_samples_the_estimate_is_exact(rule: Any, xs: list[float]) -> None:
    """The belief has two parts only from the second on, and it is their averaging that is approximate after that."""
    mean, variance = exactly(xs, 0.8, 0.2, 0.3, 1.7)
    state = run(rule(0.8, 0.2, 0.3, 1.7), xs).state
    assert float(state.mean) == pytest.approx(mean, rel=1e-8)
    if rule is NassarGaussian2012 or len(xs) == 1:
        assert float(state.std) ** 2 == pytest.approx(variance, rel=1e-8)


@both
def test_the_rate_is_how_far_the_estimate_moves_towards_the_sample(rule: Any) -> None:
    """From a belief about 0 with a prior about 0, so that nothing else moves it."""
    learner = rule(1.0, 0.3, 0.0, 2.0)
    state, x = GaussianBelief(np.float64(0.0), np.float64(5.0)), 1e-6  # so near that gamma hardly depends on it
    new, info = learner.step(state, x)
    assert float(info.learning_rate) == pytest.approx(float(new.mean) / x, rel=1e-9)


@both
def test_a_hazard_near_zero_is_bayes_rule(rule: Any) -> None:
    xs = [0.3, -1.2, 2.0, 0.7, 1.1]
    family = Gaussian(1.5)
    exact = run(Bayes(family, family.prior(0.5, 2.0)), xs)
    history = run(rule(1.5, 1e-14, 0.5, 2.0), xs)
    agree(history, estimate=exact.estimate, surprise=exact.surprise)
    assert float(history.state.std) == pytest.approx(float(exact.state.belief.std), rel=1e-9)


def test_a_wide_prior_makes_it_the_reduced_model() -> None:
    """A prior so wide that it is flat where samples are equals a range in which a jump has the same density."""
    xs = gaussian_jumps(300, seed=10, hazard=0.05).samples
    std = 1e8
    room = std * math.sqrt(2 * math.pi)
    gaussian = run(NassarGaussian2012(4.0, 0.1, 0.0, std), xs, GaussianBelief(np.float64(0), np.float64(1 / 16)))
    uniform = run(Nassar2012(4.0, 0.1, -room / 2, room / 2), xs, RelativeVariance(np.float64(0), np.float64(1)))
    assert np.asarray(uniform.change_probability).max() > 0.99
    agree(gaussian, uniform, rtol=1e-8)
    agree(gaussian, rtol=1e-7, atol=1e-12, change_probability=uniform.change_probability)


@both
@pytest.mark.parametrize("noise", [1e-8, 1.0])
@pytest.mark.parametrize("extreme", [1e150, -1e150])
def test_extreme_samples_are_followed_and_forgotten(rule: Any, noise: float, extreme: float) -> None:
    history = run(rule(noise, 0.1, 0.0, 3.0), [1.0, extreme, extreme, 2.0, 2.0])
    assert np.isfinite([history.estimate, history.learning_rate, history.surprise, history.change_probability]).all()
    assert history.estimate[1] == pytest.approx(extreme * 9 / (9 + noise**2), rel=1e-9)
    assert 1.5 < history.estimate[-1] <= 2.0

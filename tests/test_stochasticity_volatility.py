"""Is StochasticityVolatility the filter of Piray & Daw (2021)? The oracles are SciPy and loops in plain NumPy."""

from dataclasses import replace
from typing import Any

import jax
import numpy as np
import pytest
from scipy import stats

from astonish import Kalman, StochasticityVolatility, Stream, measure, run, run_many, scan
from astonish.core.numbers import RANDOM_BITS, as_double, double
from astonish.learners.stochasticity_volatility import log_multiplier
from families import agree

NUMBERS = np.cumsum(np.random.default_rng(1).normal(size=60) * 0.5) + np.random.default_rng(2).normal(size=60)


@pytest.mark.parametrize("rate", [0.01, 0.1, 0.5, 0.9])
def test_precisions_are_multiplied_by_beta_variables(rate: float) -> None:
    u, v = np.random.default_rng(3).random((2, 20_000))
    with double():
        e = np.exp(log_multiplier(rate, u, v)) * (1 - rate)
    eta, nu = 1 - rate, 1 / (2 * rate)
    assert stats.kstest(e, stats.beta(eta * nu, (1 - eta) * nu).cdf).pvalue > 0.01


def test_with_a_lambda_of_zero_precisions_stay_exactly_and_with_one_they_vanish() -> None:
    u, v = np.random.default_rng(3).random((2, 1000))
    with double():
        assert (np.asarray(log_multiplier(0.0, u, v)) == 0).all()
        vanishing = np.asarray(log_multiplier(1.0, u, v))
    assert np.isfinite(vanishing).all()
    assert np.mean(vanishing < -1e3) > 0.99


def test_with_both_lambdas_zero_it_is_the_kalman_filter() -> None:
    learner, kalman = StochasticityVolatility(0, 0, 1.3, 0.4, 0.5, 2.0), Kalman(1.3, 0.4, 0.5, 2.0)
    ours, exact = run(learner, NUMBERS), run(kalman, NUMBERS)
    agree(ours, exact)
    np.testing.assert_allclose(learner.uncertainty(ours.state), exact.state.std, rtol=1e-9)
    np.testing.assert_allclose(learner.stochasticity(ours.state), 1.3**2, rtol=1e-9)
    np.testing.assert_allclose(learner.volatility(ours.state), 0.4**2, rtol=1e-9)


def filtered(xs: Any, draw: Any, first: tuple[float, float, float, float], count: int) -> Any:
    """The filter as the paper has it, with precisions y and z; draw: gives the multipliers and a uniform number."""
    mean, variance = np.full(count, first[2]), np.full(count, first[3] ** 2)
    y, z = np.full(count, first[0] ** -2), np.full(count, first[1] ** -2)
    weights = np.full(count, 1 / count)
    found = []
    for x in xs:
        of_y, of_z, place = draw()
        y, z = y * of_y, z * of_z
        predicted = variance + 1 / z
        likelihood = stats.norm.pdf(x, mean, np.sqrt(predicted + 1 / y))
        surprise = -np.log(weights @ likelihood)
        weights = weights * likelihood / (weights @ likelihood)
        gain = predicted / (predicted + 1 / y)
        mean, variance = mean + gain * (x - mean), (1 - gain) * predicted
        if 1 / np.sum(weights**2) <= count / 2:
            sums = np.cumsum(weights)
            chosen = [min(int(np.sum(sums <= (j + place) / count)), count - 1) for j in range(count)]
            mean, variance, y, z, gain = mean[chosen], variance[chosen], y[chosen], z[chosen], gain[chosen]
            weights = np.full(count, 1 / count)
        found.append((weights @ mean, surprise, weights @ gain, 1 / (weights @ y), 1 / (weights @ z)))
    return np.array(found)


def test_it_takes_the_steps_of_the_paper() -> None:
    """With the same random numbers; among the 60 steps are some with and some without resampling."""
    learner = StochasticityVolatility(0.2, 0.3, 1.3, 0.4, 0.5, 2.0, particles=30, seed=4)
    key = jax.random.key(4, impl=RANDOM_BITS)

    def draw() -> Any:
        nonlocal key
        key, now = jax.random.split(key)
        uniforms = np.asarray(jax.random.uniform(now, (121,)))
        (u1, v1), (u2, v2) = uniforms[:-1].reshape(2, 2, 30)
        multipliers = []
        for rate, u, v in ((0.2, u1, v1), (0.3, u2, v2)):
            n = (1 - rate) / rate
            t2 = n * ((1 - u) ** (-2 / n) - 1) * np.cos(2 * np.pi * v) ** 2
            multipliers.append(n / (n + t2) / (1 - rate))
        return *multipliers, uniforms[-1]

    with double():
        expected = filtered(NUMBERS, draw, (1.3, 0.4, 0.5, 2.0), 30)
    ours = run(learner, NUMBERS)
    agree(ours, estimate=expected[:, 0], surprise=expected[:, 1], learning_rate=expected[:, 2])
    np.testing.assert_allclose(learner.stochasticity(ours.state), expected[-1, 3], rtol=1e-9)
    np.testing.assert_allclose(learner.volatility(ours.state), expected[-1, 4], rtol=1e-9)


def test_with_many_particles_it_agrees_with_beta_variables_of_numpy() -> None:
    rng = np.random.default_rng(5)

    def draw() -> Any:
        return rng.beta(4.5, 0.5, 10_000) / 0.9, rng.beta(2.0, 0.5, 10_000) / 0.8, rng.random()

    expected = filtered(NUMBERS[:30], draw, (1.3, 0.4, 0.5, 2.0), 10_000)
    learner = StochasticityVolatility(0.1, 0.2, 1.3, 0.4, 0.5, 2.0, particles=2000)
    ours = run(learner, NUMBERS[:30], engine="xla")
    agree(ours, rtol=1e-7, atol=0.05, estimate=expected[:, 0], surprise=expected[:, 1])
    agree(ours, rtol=1e-7, atol=0.03, learning_rate=expected[:, 2])


def _worlds(noise: float, drift: float) -> list[Any]:
    rng = np.random.default_rng(6)
    return [np.cumsum(drift * rng.normal(size=150)) + noise * rng.normal(size=150) for _ in range(8)]


def _rate(learner: Any, noise: float, drift: float) -> float:
    """The mean learning rate in such a world, once it has had time to learn about it."""
    return float(np.mean([history.learning_rate[50:] for history in run_many(learner, _worlds(noise, drift))]))


BOTH = StochasticityVolatility(0.1, 0.1, noise=1.4, drift=1.0)


def test_noise_lowers_the_learning_rate_and_volatility_raises_it() -> None:
    assert _rate(BOTH, 3.0, 0.7) < _rate(BOTH, 1.0, 0.7) - 0.1
    assert _rate(BOTH, 1.0, 3.0) > _rate(BOTH, 1.0, 0.7) + 0.1


def test_each_lesion_takes_one_for_the_other() -> None:
    no_noise, no_volatility = replace(BOTH, lambda_s=0.0), replace(BOTH, lambda_v=0.0)
    assert _rate(no_noise, 3.0, 0.7) > _rate(no_noise, 1.0, 0.7) + 0.1
    assert _rate(no_volatility, 1.0, 3.0) < _rate(no_volatility, 1.0, 0.7) - 0.1


def test_the_seed_decides() -> None:
    one, again, other = (run(replace(BOTH, seed=seed), NUMBERS).estimate for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, again)
    assert not np.array_equal(one, other)


def test_a_series_continues_from_an_estimate() -> None:
    stream = Stream(BOTH)
    stream.update(3.0)
    state = BOTH.with_estimate(stream.state, 7.0)
    assert float(BOTH.estimate(state)) == pytest.approx(7.0)
    assert float(BOTH.uncertainty(state)) == pytest.approx(float(BOTH.uncertainty(stream.state)))


def test_derivatives_are_those_of_the_computation() -> None:
    """By finite differences, where no particle is resampled; that particles are drawn has no derivative."""
    learner, xs, h = StochasticityVolatility(0.05, 0.1, 1.3, 0.4, 0.5, 2.0, particles=20), NUMBERS[:5], 1e-6
    with double():
        cost = jax.jit(
            lambda value, name: scan(replace(as_double(learner), **{name: value}), xs).surprise.sum(), static_argnums=1
        )
        for name in ("lambda_s", "lambda_v", "noise", "drift", "mean", "std"):
            at = getattr(learner, name)
            slope = float(jax.grad(cost)(at, name))
            assert slope == pytest.approx(float(cost(at + h, name) - cost(at - h, name)) / (2 * h), rel=1e-5)


def test_noise_and_volatility_are_quantities_to_regress_on() -> None:
    numbers, learner = [0.3, -1.0, 2.0, 0.5], StochasticityVolatility(particles=7)
    table, state = measure(learner, numbers), run(learner, numbers).state
    assert table["stochasticity"].iloc[-1] == pytest.approx(float(learner.stochasticity(state)), rel=1e-9)
    assert table["volatility"].iloc[-1] == pytest.approx(float(learner.volatility(state)), rel=1e-9)

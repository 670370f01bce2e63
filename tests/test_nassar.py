"""Is Nassar2010 the rule of Nassar, Wilson, Heasly & Gold (2010)? The oracle is their recursion in plain Python."""

import math

import jax
import numpy as np
import pytest

from astonish import Nassar2010, Stream, run
from astonish.tasks.gaussian_jumps import gaussian_jumps


def plainly(
    xs: list[float], noise: float, hazard: float, low: float, high: float, weight: float
) -> list[tuple[float, float, float]]:
    """Estimate, learning rate and Shannon's surprise after each sample, from probabilities rather than logarithms."""
    estimate, length = (low + high) / 2, 1.0
    found = []
    for x in xs:
        variance = noise**2 + noise**2 / length
        stay = math.exp(-((x - estimate) ** 2) / (2 * variance)) / math.sqrt(2 * math.pi * variance)
        change = 1 / (high - low)
        ratio = (change / stay) ** weight * hazard / (1 - hazard)
        omega = ratio / (1 + ratio)
        rate = (1 + omega * length) / (length + 1)
        estimate += rate * (x - estimate)
        length = (1 - omega) * (length + 1) + omega
        found.append((estimate, rate, -math.log((1 - hazard) * stay + hazard * change)))
    return found


@pytest.mark.parametrize("hazard", [0.01, 0.066, 0.4])
@pytest.mark.parametrize("weight", [1.0, 0.4, 0.0, 2.0])
@pytest.mark.parametrize(("low", "high"), [(-20.0, 20.0), (5.0, 11.0)])
def test_it_follows_the_recursion(hazard: float, weight: float, low: float, high: float) -> None:
    xs = gaussian_jumps(300, seed=8, hazard=0.05, low=low, high=high).samples.tolist()
    history = run(Nassar2010(4.0, hazard, low, high, weight), xs)
    ours = np.stack([history.estimate, history.rate, history.surprise], axis=1)
    np.testing.assert_allclose(ours, plainly(xs, 4.0, hazard, low, high, weight), rtol=1e-9)


def test_without_evidence_for_jumps_it_averages_at_the_rate_of_the_hazard() -> None:
    """Heeding no evidence, it always believes in a jump with the same chance: the rate settles at a fixed point."""
    history = run(Nassar2010(4.0, hazard=0.2, likelihood_weight=0.0), np.zeros(200))
    length = 1 / 0.2  # of r = .8 (r + 1) + .2
    assert history.rate[-1] == pytest.approx((1 + 0.2 * length) / (length + 1), rel=1e-12)


def test_a_hazard_near_zero_gives_the_mean_of_the_samples_and_the_middle() -> None:
    xs = [0.3, -1.2, 2.0, 0.7, 1.1]
    estimate = run(Nassar2010(1.0, hazard=1e-14, low=-4.0, high=4.0), xs).estimate
    np.testing.assert_allclose(estimate, np.cumsum(xs) / np.arange(2, 7), rtol=1e-9)


@pytest.mark.parametrize("extreme", [1e150, -1e150])
def test_extreme_samples_are_followed_and_forgotten(extreme: float) -> None:
    history = run(Nassar2010(4.0), [1.0, extreme, extreme, 2.0, 2.0])
    assert np.isfinite([history.estimate, history.rate, history.surprise]).all()
    np.testing.assert_allclose(history.estimate[1:], [extreme, extreme, 2.0, 2.0], rtol=1e-12)
    np.testing.assert_allclose(history.rate[[1, 3]], 1.0, rtol=1e-12)
    # a jump was certain, and its density is 1 / 40
    assert history.surprise[1] == pytest.approx(-math.log(0.1 / 40), rel=1e-12)


@pytest.mark.parametrize("noise", [1e-8, 4.0])
def test_extreme_samples_leave_numbers_even_if_no_evidence_is_heeded(noise: float) -> None:
    """The rates are then the same whatever the samples are, however many noises away."""
    learner = Nassar2010(noise, likelihood_weight=0.0)
    extreme, calm = run(learner, [1.0, 1e150, -1e150, 2.0]), run(learner, [1.0, 1.0, 1.0, 1.0])
    assert np.isfinite([extreme.estimate, extreme.surprise]).all()
    np.testing.assert_allclose(extreme.rate, calm.rate, rtol=1e-12)


@pytest.mark.parametrize(("low", "high"), [(2.0, 2.0), (3, 2), (0.0, -1.0)])
def test_a_range_without_room_is_refused(low: float, high: float) -> None:
    message = f"low = {low:g} and high = {high:g} leave no room for the mean; give low below high"
    with pytest.raises(ValueError, match=message):
        Nassar2010(1.0, low=low, high=high)


@pytest.mark.parametrize(
    ("learner", "message"),
    [
        (Nassar2010(0.0), "noise = 0 is not allowed"),
        (Nassar2010(1.0, hazard=0.0), "hazard = 0 is not allowed"),
        (Nassar2010(1.0, hazard=1.0), "hazard = 1 is not allowed"),
        (Nassar2010(1.0, likelihood_weight=-0.1), "likelihood_weight = -0.1 is not allowed"),
    ],
)
def test_parameters_outside_their_range_are_refused(learner: Nassar2010, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        run(learner, [1.0])


def test_a_stream_says_the_same() -> None:
    xs = [0.3, -1.2, 12.0, 11.5]
    stream = Stream(Nassar2010(1.5, 0.1, -20.0, 20.0, 0.7))
    estimates = [stream.update(x).estimate for x in xs]
    np.testing.assert_allclose(estimates, [row[0] for row in plainly(xs, 1.5, 0.1, -20.0, 20.0, 0.7)], rtol=1e-9)


def test_it_differentiates() -> None:
    """By the hazard, against a finite difference of the oracle."""
    xs = [0.3, -1.2, 9.0, 8.0]

    def last(hazard: float) -> jax.Array:
        learner = Nassar2010(1.5, hazard)
        state = learner.init()
        for x in xs:
            state, _ = learner.step(state, x)
        return learner.estimate(state)

    above, below = (plainly(xs, 1.5, 0.1 + d, -20.0, 20.0, 1.0)[-1][0] for d in (1e-6, -1e-6))
    assert float(jax.grad(last)(0.1)) == pytest.approx((above - below) / 2e-6, rel=1e-6)

"""Checks the delta rules for angles against plain loops, and against their linear versions where noise is small."""

from typing import Any

import numpy as np
import pytest
from scipy import stats

from astonish import DeltaCircular, Nassar2012, NassarCircular, run
from families import ANGLES, agree


def _shorter(angle: float, period: float) -> float:
    """The same angle within half a period of 0."""
    return (angle + period / 2) % period - period / 2


def _nassar(xs: Any, k: float, hazard: float, period: float, start: float, share: float, s: float, u: float) -> Any:
    """Nassar et al. (2012) with von Mises and uniform densities. s: sensitivity to surprise. u: underestimation."""
    unit = period / (2 * np.pi)
    mean, variance, rows = start, share / (1 - share), []
    for x in xs:
        error = _shorter(x - mean, period)
        stay = stats.vonmises.pdf(error / unit, k / (1 + variance)) / unit
        weighed = hazard * (1 / period) ** s, (1 - hazard) * stay**s
        jumped = weighed[0] / sum(weighed)
        tau = variance / (1 + variance)
        rate = jumped + (1 - jumped) * tau
        spread = (error / unit) ** 2 * k * (1 - tau) ** 2
        variance = (jumped + (1 - jumped) * tau + jumped * (1 - jumped) * spread) * np.exp(-u)
        mean = _shorter(mean + rate * error, period)
        rows.append((mean, -np.log(hazard / period + (1 - hazard) * stay), rate, jumped))
    return np.array(rows).T


@pytest.mark.parametrize("period", [2 * np.pi, 360.0])
@pytest.mark.parametrize(
    ("k", "hazard", "s", "u"), [(5.0, 0.1, 1.0, 0.0), (50.0, 0.3, 0.6, 1.2), (0.2, 0.9, 1.0, -0.5)]
)
def test_the_reduced_bayesian_model_against_a_plain_loop(
    k: float, hazard: float, s: float, u: float, period: float
) -> None:
    xs = np.array(ANGLES) * period / (2 * np.pi)
    start = 0.2 * period
    mean, surprise, rate, jumped = _nassar(xs, k, hazard, period, start, 0.4, s, u)
    history = run(NassarCircular(k, hazard, period, start, 0.4, s, u), xs)
    agree(history, estimate=mean, surprise=surprise, learning_rate=rate, change_probability=jumped)


def test_the_delta_rule_against_a_plain_loop() -> None:
    mean, expected = 2.0, []
    for x in ANGLES:
        mean = _shorter(mean + 0.3 * _shorter(x - mean, 2 * np.pi), 2 * np.pi)
        expected.append(mean)
    np.testing.assert_allclose(run(DeltaCircular(0.3, start=2.0), ANGLES).estimate, expected, rtol=1e-12)


def test_with_little_noise_the_circle_is_a_line() -> None:
    rng = np.random.default_rng(4)
    noise = 1e-3
    xs = np.repeat(rng.uniform(-1, 1, 8), 25) + rng.normal(0, noise, 200)
    line = run(Nassar2012(noise, 0.04, -np.pi, np.pi), xs)
    circle = run(NassarCircular(noise**-2, 0.04), xs)
    np.testing.assert_allclose(circle.estimate, line.estimate, atol=1e-5)
    np.testing.assert_allclose(circle.surprise[1:], line.surprise[1:], atol=1e-3)
    rest = {"learning_rate": line.learning_rate, "change_probability": line.change_probability}
    agree(circle, rtol=1e-7, atol=1e-4, **rest)


@pytest.mark.parametrize("learner", [NassarCircular(8.0, start=0.5), DeltaCircular(0.4, start=0.5)])
@pytest.mark.parametrize("turn", [0.3, 2.0, 3.1, -100.0])
def test_whoever_turns_the_outcomes_turns_the_estimates(learner: Any, turn: float) -> None:
    turned = type(learner)(learner.concentration, start=0.5 + turn) if hasattr(learner, "hazard") else None
    turned = turned or DeltaCircular(0.4, start=0.5 + turn)
    here, there = run(learner, ANGLES), run(turned, np.array(ANGLES) + turn)
    np.testing.assert_allclose(np.exp(1j * there.estimate), np.exp(1j * (here.estimate + turn)), atol=1e-9)
    agree(there, rtol=1e-8, surprise=here.surprise, learning_rate=here.learning_rate)


def test_estimates_lie_above_minus_half_a_circle_and_up_to_half_a_circle() -> None:
    for learner in (NassarCircular(100.0, period=360.0), DeltaCircular(1.0, period=360.0)):
        estimates = run(learner, [179.0, 181.0, 180.0, -180.0, 540.0, 1e6]).estimate
        assert ((estimates > -180) & (estimates <= 180)).all()
    assert DeltaCircular(start=-180.0, period=360.0).init() == 180.0

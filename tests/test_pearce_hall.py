"""Is PearceHall the hybrid rule of Pearce & Hall (1980) and Li et al. (2011)? The oracle is a loop in plain Python."""

from typing import Any

import numpy as np
import pytest

from astonish import Delta, PearceHall, run

COINS = np.random.default_rng(3).integers(0, 2, 200).astype(float)
NUMBERS = np.random.default_rng(4).normal(size=200) * 30 + 100


def textbook(xs: Any, kappa: float, eta: float, value: float, alpha: float) -> list[tuple[float, float, float]]:
    """Estimate, rate and error for outcomes from 0 to 1, where nothing has to be kept in bounds."""
    found = []
    for x in xs:
        delta = x - value
        found.append((value + kappa * alpha * delta, kappa * alpha, abs(delta)))
        value += kappa * alpha * delta
        alpha = eta * abs(delta) + (1 - eta) * alpha
    return found


def _answers(learner: PearceHall, xs: Any) -> Any:
    history = run(learner, xs)
    return np.stack([history.estimate, history.learning_rate, history.surprise], axis=1)


@pytest.mark.parametrize("kappa", [0.1, 0.7, 1.0])
@pytest.mark.parametrize("eta", [0.0, 0.3, 1.0])
@pytest.mark.parametrize(("value", "alpha"), [(0.5, 1.0), (0.0, 0.2)])
def test_between_0_and_1_it_is_the_textbook_rule(kappa: float, eta: float, value: float, alpha: float) -> None:
    ours = _answers(PearceHall(kappa, eta, value, alpha), COINS)
    np.testing.assert_allclose(ours, textbook(COINS, kappa, eta, value, alpha), rtol=1e-9, atol=1e-15)


def test_units_do_not_matter() -> None:
    """Samples, start and scale in other units: the same rates, and estimates in those units."""
    unit = 300.0
    ours = _answers(PearceHall(0.8, 0.4, start=0.5 * unit, associability=0.6, scale=unit), COINS * unit)
    rates = textbook(COINS, 0.8, 0.4, 0.5, 0.6)
    np.testing.assert_allclose(ours / [unit, 1.0, unit], rates, rtol=1e-9, atol=1e-15)


def test_errors_beyond_the_scale_count_as_one() -> None:
    value, alpha, estimates, rates = 100.0, 1.0, [], []
    for x in NUMBERS:
        rates.append(0.9 * alpha)
        size = min(abs(x - value) / 25.0, 1.0)
        value, alpha = value + rates[-1] * (x - value), 0.5 * size + 0.5 * alpha
        estimates.append(value)
    history = run(PearceHall(0.9, 0.5, start=100.0, scale=25.0), NUMBERS)
    assert (history.surprise > 25).any()
    assert (history.surprise < 25).any()
    np.testing.assert_allclose(history.estimate, estimates, rtol=1e-9)
    np.testing.assert_allclose(history.learning_rate, rates, rtol=1e-9)
    assert history.learning_rate.max() <= 0.9


def test_without_renewal_it_is_the_delta_rule() -> None:
    fixed, hybrid = run(Delta(0.24, 90.0), NUMBERS), run(PearceHall(0.8, 0.0, 90.0, 0.3), NUMBERS)
    np.testing.assert_allclose(hybrid.estimate, fixed.estimate, rtol=1e-12)
    np.testing.assert_allclose(hybrid.learning_rate, fixed.learning_rate, rtol=1e-12)
    np.testing.assert_allclose(hybrid.surprise, fixed.surprise, rtol=1e-12)


def test_it_learns_slower_while_it_predicts_well_and_faster_after_a_reversal() -> None:
    rate = run(PearceHall(0.5, 0.3), [1.0] * 30 + [0.0] * 5).learning_rate
    assert (np.diff(rate[1:30]) < 0).all()  # the first error is as large as errors get, and changes nothing
    assert rate[29] < 0.02
    assert rate[31] > 0.1


@pytest.mark.parametrize("extreme", [1e150, -1e150])
def test_extreme_samples_leave_numbers(extreme: float) -> None:
    history = run(PearceHall(0.5, 0.3, scale=1e-8), [1.0, extreme, -extreme, 2.0])
    assert np.isfinite([history.estimate, history.surprise, history.learning_rate]).all()
    np.testing.assert_allclose(history.learning_rate, 0.5, rtol=1e-12)  # every error is as large as errors get
    assert history.estimate[1] == pytest.approx(extreme / 2, rel=1e-9)

"""Delta rules whose learning rate is not fixed: with one rate for each sign, Sutton's K1, Pearce & Hall's hybrid rule.

The oracles are their equations in plain loops, numbers that others have computed, and the delta rule.
"""

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest

from astonish import Delta, PearceHall, SuttonK1, TwoRate, run
from families import agree
from published_data import published_data

DATA, needs_data = published_data("hgf", "inputs")
COINS = np.random.default_rng(8).binomial(1, 0.7, 60)
FLIPS = np.random.default_rng(3).integers(0, 2, 200).astype(float)
NUMBERS = np.random.default_rng(4).normal(size=200) * 30 + 100
XS = np.random.default_rng(7).normal(size=50)
RATES = [0.0, 0.3, 0.8, 1.0]


@pytest.mark.parametrize(
    ("learner", "rule", "xs"),
    [
        (TwoRate(0.3, 0.3, 1.0), Delta(0.3, 1.0), XS),
        (SuttonK1(0.0, 0.4, 0.2), Delta(0.2, 0.4), COINS),
        (PearceHall(0.8, 0.0, 90.0, 0.3), Delta(0.24, 90.0), NUMBERS),
    ],
)
def test_where_its_rate_stays_it_is_the_delta_rule(learner: Any, rule: Delta, xs: Any) -> None:
    agree(run(learner, xs), run(rule, xs), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("positive", RATES)
@pytest.mark.parametrize("negative", RATES)
def test_each_sign_has_its_rate(positive: float, negative: float) -> None:
    history, at = run(TwoRate(positive, negative, 0.2), XS), 0.2
    for t, x in enumerate(XS):
        error = x - at
        rate = positive if error > 0 else negative
        at = at + rate * error
        assert history.estimate[t] == pytest.approx(at, rel=1e-12, abs=1e-14)
        assert history.learning_rate[t] == rate
        assert history.surprise[t] == pytest.approx(abs(error), rel=1e-12, abs=1e-14)


def test_who_learns_more_from_good_news_expects_more_than_there_is() -> None:
    """Of coins, the estimate settles where both kinds of errors balance: p a / (p a + (1 - p) b)."""
    coins = np.random.default_rng(1).binomial(1, 0.5, 20_000)
    assert run(TwoRate(0.03, 0.01, 0.5), coins).estimate[2000:].mean() == pytest.approx(0.75, abs=0.01)


def by_equations(xs: np.ndarray, mu: float, v: float, h: float, b: float, noise: float) -> np.ndarray:
    """Estimate and learning rate after every sample; b: the first one, noise: R."""
    found = []
    for x in xs:
        error = x - v
        b = b + mu * error * h
        a = math.exp(b) / (noise + math.exp(b))
        h = (h + a * error) * max(1 - a, 0)
        v = v + a * error
        found.append((v, a))
    return np.array(found)


@pytest.mark.parametrize("mu", [0.0, 1.0, 3.0])
@pytest.mark.parametrize("noise", [0.5, 1.0, 4.0])
@pytest.mark.parametrize("rate", [0.2, 0.5])
def test_it_is_k1_whatever_the_noise(mu: float, noise: float, rate: float) -> None:
    """Sutton's R only moves b, which starts at ln R where nothing else is said."""
    first = math.log(noise) + math.log(rate / (1 - rate))
    oracle, history = by_equations(COINS, mu, 0.4, 0.02, first, noise), run(SuttonK1(mu, 0.4, rate, 0.02), COINS)
    errors = np.abs(COINS - np.append(0.4, oracle[:-1, 0]))
    agree(history, estimate=oracle[:, 0], learning_rate=oracle[:, 1], surprise=errors)


@needs_data
def test_the_published_inputs_give_the_known_numbers() -> None:
    inputs = pd.read_csv(DATA / "canonical_binary_3level.csv")["mu1"].to_numpy(int)
    history = run(SuttonK1(3.0, start=0.5, first_trace=0.005), inputs)
    assert round(float(history.estimate[-1]), 7) == 0.1061601
    assert round(float(history.learning_rate.mean()), 7) == 0.1675686


def test_errors_are_measured_in_units_of_the_scale() -> None:
    one, other = run(SuttonK1(3.0, 0.5), COINS), run(SuttonK1(3.0, 50.0, scale=100.0), 100 * COINS)
    agree(other, rtol=1e-12, estimate=100 * one.estimate, learning_rate=one.learning_rate)


def test_it_learns_faster_after_a_jump_than_before() -> None:
    noise = np.random.default_rng(2).normal(0, 0.1, 200)
    rates = run(SuttonK1(3.0, 0.0), noise + np.repeat([0.0, 1.0], 100)).learning_rate
    assert rates[100:110].max() > 1.4 * rates[90:100].max()


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
    ours = _answers(PearceHall(kappa, eta, value, alpha), FLIPS)
    np.testing.assert_allclose(ours, textbook(FLIPS, kappa, eta, value, alpha), rtol=1e-9, atol=1e-15)


def test_units_do_not_matter() -> None:
    """Samples, start and scale in other units: the same rates, and estimates in those units."""
    unit = 300.0
    ours = _answers(PearceHall(0.8, 0.4, start=0.5 * unit, associability=0.6, scale=unit), FLIPS * unit)
    rates = textbook(FLIPS, 0.8, 0.4, 0.5, 0.6)
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
    agree(history, estimate=estimates, learning_rate=rates)
    assert history.learning_rate.max() <= 0.9


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

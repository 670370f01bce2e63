"""Are these the volatile Kalman filters? The oracles are the paper's equations in a plain loop, and limits."""

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.stats
from scipy.special import expit

from astonish import BinaryVolatileKalman, Detector, Kalman, VolatileKalman, run
from astonish.core.numbers import as_double, double
from astonish.learners.base import scan
from astonish.people.tables import Columns, read_trials
from astonish.people.tables.facts import choose
from families import agree
from published_data import published_data

DATA, needs_data = published_data("hgf", "inputs")
XS = np.random.default_rng(7).normal(size=40).cumsum()
COINS = np.random.default_rng(8).binomial(1, 0.7, 60)
RATES = [0.0, 0.2, 1.0]


def by_equations(xs: Any, rate: float, v0: float, sigma2: float, start: float, binary: bool) -> np.ndarray:
    """Mean, variance, volatility, gain and surprise after every sample (equations 9 to 13, and 14 to 19 for binary)."""
    m, w, v, found = start, sigma2, v0, []
    for x in xs:
        k = (w + v) / (w + v + sigma2)
        if binary:
            surprise = -math.log(expit(m) if x == 1 else 1 - expit(m))
            new = m + math.sqrt(w + v) * (x - expit(m))
        else:
            surprise = -scipy.stats.norm.logpdf(x, m, math.sqrt(w + v + sigma2))
            new = m + k * (x - m)
        w_new = (1 - k) * (w + v)
        v = v + rate * ((new - m) ** 2 + w + w_new - 2 * (1 - k) * w - v)
        m, w = new, w_new
        found.append((m, w, v, k, surprise))
    return np.array(found)


def states(learner: Any, xs: Any) -> np.ndarray:
    """Mean, variance and volatility after every sample."""
    with double():
        return np.stack(scan(as_double(learner), xs, read=lambda state: state).estimate, -1)


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize(("noise", "drift", "start"), [(1.0, 0.1, 0.0), (0.4, 2.0, -3.0), (7.0, 0.0, 2.0)])
def test_numbers_are_followed_as_in_the_paper(rate: float, noise: float, drift: float, start: float) -> None:
    learner = VolatileKalman(noise, rate, drift, start)
    oracle, history = by_equations(XS, rate, drift**2, noise**2, start, binary=False), run(learner, XS)
    np.testing.assert_allclose(states(learner, XS), oracle[:, :3], rtol=1e-9, atol=1e-14)
    agree(history, estimate=oracle[:, 0], learning_rate=oracle[:, 3], surprise=oracle[:, 4])
    assert float(learner.uncertainty(history.state)) ** 2 == pytest.approx(oracle[-1, 1])


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize(("v0", "omega"), [(0.1, 0.1), (2.0, 0.4), (0.0, 1.0)])
def test_coins_are_followed_as_in_the_paper(rate: float, v0: float, omega: float) -> None:
    learner = BinaryVolatileKalman(rate, v0, omega)
    oracle, history = by_equations(COINS, rate, v0, omega, 0.0, binary=True), run(learner, COINS)
    np.testing.assert_allclose(states(learner, COINS), oracle[:, :3], rtol=1e-9, atol=1e-14)
    agree(history, estimate=expit(oracle[:, 0]), surprise=oracle[:, 4])
    before = np.append(0.5, expit(oracle[:-1, 0]))
    np.testing.assert_allclose(history.learning_rate, (expit(oracle[:, 0]) - before) / (COINS - before), rtol=1e-7)


@needs_data
def test_the_published_inputs_give_the_known_numbers() -> None:
    inputs = pd.read_csv(DATA / "canonical_binary_3level.csv")["mu1"].to_numpy(int)
    history = run(BinaryVolatileKalman(0.1, 0.1, 0.1), inputs)
    assert np.round(history.state, 7).tolist() == [-1.8044095, 0.0631714, 0.1055402]
    assert round(float(history.surprise.sum()), 7) == 206.3290286


def test_with_a_volatility_that_is_not_learned_it_is_the_kalman_filter() -> None:
    volatile, plain = run(VolatileKalman(1.5, 0.0, 0.5, 1.0), XS), run(Kalman(1.5, 0.5, 1.0, 1.5), XS)
    agree(volatile, rtol=1e-12, estimate=plain.estimate, learning_rate=plain.learning_rate)
    agree(volatile, surprise=plain.surprise)


def test_units_do_not_matter() -> None:
    one, other = run(VolatileKalman(1.5, 0.3, 0.5, 1.0), XS), run(VolatileKalman(15, 0.3, 5, 10), 10 * XS)
    agree(other, rtol=1e-12, estimate=10 * one.estimate, learning_rate=one.learning_rate)


def test_it_learns_faster_where_the_world_moves_more() -> None:
    rng = np.random.default_rng(3)
    xs = np.append(np.zeros(300), rng.normal(0, 2, 300).cumsum()) + rng.normal(0, 1, 600)
    rates = run(VolatileKalman(1.0, 0.1, 0.3), xs).learning_rate
    assert rates[100:300].mean() + 0.1 < rates[400:].mean()


@pytest.mark.parametrize("rate", RATES)
def test_ten_thousand_equal_outcomes(rate: float) -> None:
    binary = BinaryVolatileKalman(rate)
    for learner, x in ((VolatileKalman(0.5, rate), 1.0), (binary, 1), (binary, 0)):
        history = run(learner, [x] * 10_000)
        assert np.isfinite([history.estimate, history.surprise, history.learning_rate]).all()
        assert history.estimate[-1] == pytest.approx(x, abs=1e-3)
        assert np.isfinite(run(learner, [1 - x], history.state).surprise).all()


def test_a_state_is_given_an_estimate() -> None:
    learner = BinaryVolatileKalman()
    for probability in (0.3, 0.0, 1.0):
        state = learner.with_estimate(learner.init(), probability)
        assert float(learner.estimate(state)) == pytest.approx(probability, abs=1e-6)


def test_coins_are_numbers_too() -> None:
    trials = read_trials(pd.DataFrame({"coin": [0, 0, 0, 1, 0]}), Columns("coin"))
    chosen = choose("vkf", trials)
    assert chosen.learner == VolatileKalman(0.5, 0.1, 0.05, 0.5)
    assert chosen.assumed[0] == "noise = 0.5, the standard deviation of 0 and 1, if they are equally frequent"


def test_a_detector_takes_its_threshold_from_the_model_itself() -> None:
    for learner in (VolatileKalman(1.0), BinaryVolatileKalman()):
        quiet = learner.simulate(np.random.default_rng(0), 2000)
        alarms = Detector.calibrated(learner, quiet, false_alarm_rate=0.01).alarms(quiet)
        assert alarms.mean() <= 0.01

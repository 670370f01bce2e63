"""Is the inference about reversals exact? The oracle adds up the probabilities of all sequences of hidden states."""

from itertools import product

import numpy as np
import pytest

from astonish import ReversalHMM, run

COINS = [1, 1, 0, 1, 0, 0, 0, 1, 0]
WORLDS = [(0.1, 0.8, 0.2), (0.3, 0.7, 0.4), (0.9, 0.6, 0.6), (0.05, 0.1, 0.95)]


def by_enumeration(xs: list[int], hazard: float, good: float, bad: float) -> tuple[float, float, float]:
    """The probability of these outcomes, of the good state at last, and of a swap before the last outcome."""
    total = is_good = swapped = 0.0
    for states in product((0, 1), repeat=len(xs) + 1):  # the state before the first swap, too
        probability = 0.5
        for before, now, x in zip(states, states[1:], xs, strict=False):
            one = good if now else bad
            probability *= (hazard if before != now else 1 - hazard) * (one if x else 1 - one)
        total += probability
        is_good += probability * states[-1]
        swapped += probability * (states[-1] != states[-2])
    return total, is_good / total, swapped / total


@pytest.mark.parametrize(("hazard", "good", "bad"), WORLDS)
def test_it_is_exact(hazard: float, good: float, bad: float) -> None:
    learner, before, expected = ReversalHMM(hazard, good, bad), 1.0, 0.5 * (good + bad)
    history = run(learner, COINS)
    for t in range(len(COINS)):
        total, is_good, swapped = by_enumeration(COINS[: t + 1], hazard, good, bad)
        estimate = is_good * good + (1 - is_good) * bad
        assert history.estimate[t] == pytest.approx(estimate, rel=1e-12)
        assert history.surprise[t] == pytest.approx(-np.log(total / before), rel=1e-12)
        assert history.change_probability[t] == pytest.approx(swapped, rel=1e-12)
        assert history.learning_rate[t] == pytest.approx(
            (estimate - expected) / (COINS[t] - expected), rel=1e-9, abs=1e-12
        )
        next_good = is_good * (1 - hazard) + (1 - is_good) * hazard
        before, expected = total, next_good * good + (1 - next_good) * bad
    spread = np.sqrt(is_good * (1 - is_good)) * abs(good - bad)
    assert float(learner.uncertainty(history.state)) == pytest.approx(spread, rel=1e-12)


def test_swapped_names_are_the_same_model() -> None:
    one, other = run(ReversalHMM(0.1, 0.8, 0.3), COINS), run(ReversalHMM(0.1, 0.3, 0.8), COINS)
    np.testing.assert_allclose(one.estimate, other.estimate, rtol=1e-12)
    np.testing.assert_allclose(one.state.log_odds, -other.state.log_odds, rtol=1e-12)


def test_a_reversal_is_noticed() -> None:
    history = run(ReversalHMM(0.05, 0.8, 0.2), [1] * 20 + [0] * 5)
    assert history.estimate[19] > 0.78
    assert history.estimate[-1] < 0.22
    assert history.change_probability[20] > 3 * history.change_probability[19]


def test_a_state_is_given_an_estimate() -> None:
    learner = ReversalHMM(0.1, 0.7, 0.4)
    for wanted, given in ((0.5, 0.5), (0.9, 0.7), (0.0, 0.4)):
        found = learner.estimate(learner.with_estimate(learner.init(), wanted))
        assert float(found) == pytest.approx(given, abs=1e-6)
    same = ReversalHMM(0.1, 0.5, 0.5)
    assert np.isfinite(same.with_estimate(same.init(), 0.3).log_odds)


def test_its_own_world_is_of_one_state() -> None:
    xs = ReversalHMM(0.1, 0.9, 0.1).simulate(np.random.default_rng(0), 2000)
    assert min(abs(xs.mean() - 0.9), abs(xs.mean() - 0.1)) < 0.03

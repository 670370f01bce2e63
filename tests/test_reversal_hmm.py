"""Is the inference about reversals exact? The oracle adds up the probabilities of all sequences of hidden states."""

from itertools import product
from typing import Any

import jax
import numpy as np
import pytest

from astonish import ReversalHMM, run
from astonish.core.numbers import as_double, double
from astonish.learners.base import scan

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


@pytest.mark.parametrize("hazard", [1e-12, 0.5, 1 - 1e-12])
@pytest.mark.parametrize(("good", "bad"), [(1 - 1e-12, 1e-12), (0.5, 0.5), (1e-12, 0.9)])
def test_extremes_leave_numbers_and_derivatives(hazard: float, good: float, bad: float) -> None:
    xs = np.array([1] * 10_000 + [0, 0, 1, 0])
    learner: Any = ReversalHMM(hazard, good, bad)
    history = run(learner, xs)
    answers = [history.estimate, history.surprise, history.learning_rate, history.change_probability]
    assert np.isfinite(answers).all()
    assert ((history.change_probability >= 0) & (history.change_probability <= 1)).all()

    def total(learner: Any) -> Any:
        trace = scan(learner, xs)
        return trace.estimate.sum() + trace.surprise.sum() + trace.learning_rate.sum()

    with double():
        learner = as_double(learner)
        reverse = jax.grad(total)(learner)
        forward = jax.jvp(total, (learner,), (jax.tree.map(np.ones_like, learner),))[1]
    assert np.isfinite([*jax.tree.leaves(reverse), forward]).all()


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


@pytest.mark.parametrize("wrong", [{"hazard": 0.0}, {"good": 1.0}, {"bad": 0.0}])
def test_what_would_be_certain_is_refused(wrong: dict[str, float]) -> None:
    (name,) = wrong
    with pytest.raises(ValueError, match=rf"{name} = [01] is not allowed; give a finite number between 0 and 1"):
        run(ReversalHMM(**wrong), COINS)

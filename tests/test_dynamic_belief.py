"""Is this the dynamic belief model? The oracles are its equations on a grid that integrates exactly, and its limits."""

import numpy as np
import pandas as pd
import pytest
import scipy.stats

from astonish import Bayes, Beta, DynamicBelief, MessagePassing, run
from astonish.people.tables import Columns, read_trials
from astonish.people.tables.facts import choose

COINS = np.random.default_rng(8).binomial(1, 0.7, 60)


def by_grid(xs: np.ndarray, alpha: float, ones: float, zeros: float) -> np.ndarray:
    """Mean of the belief after, and probability of a 1 before every outcome (equations 1 and 2 of the paper).

    The prior times the likelihood of any history is a polynomial, which Gauss and Legendre's points integrate exactly.
    """
    points, weights = np.polynomial.legendre.leggauss(100)
    points, weights = 0.5 * (points + 1), 0.5 * weights
    prior = weights * scipy.stats.beta.pdf(points, ones, zeros)
    belief, found = prior, []
    for x in xs:
        expected = alpha * belief + (1 - alpha) * prior
        probability = expected @ points
        belief = expected * (points if x else 1 - points)
        belief = belief / belief.sum()
        found.append((belief @ points, probability))
    return np.array(found)


@pytest.mark.parametrize("alpha", [0.05, 0.5, 0.8, 0.98])
@pytest.mark.parametrize(("ones", "zeros"), [(0, 0), (2, 1)])
def test_it_is_exact_with_enough_hypotheses(alpha: float, ones: int, zeros: int) -> None:
    oracle = by_grid(COINS, alpha, 1 + ones, 1 + zeros)
    history = run(
        DynamicBelief(Beta(), alpha, Beta().prior(ones=1 + ones, zeros=1 + zeros), hypotheses=len(COINS) + 1), COINS
    )
    np.testing.assert_allclose(history.estimate, oracle[:, 0], rtol=1e-9)
    probability = np.where(COINS == 1, oracle[:, 1], 1 - oracle[:, 1])
    np.testing.assert_allclose(history.surprise, -np.log(probability), rtol=1e-8, atol=1e-12)
    before = np.append((1 + ones) / (2 + ones + zeros), history.estimate[:-1])
    prediction = alpha * before + (1 - alpha) * before[0]
    np.testing.assert_allclose(prediction, oracle[:, 1], rtol=1e-9)


def test_the_usual_number_of_hypotheses_is_nearly_enough() -> None:
    coins = np.random.default_rng(9).binomial(1, np.repeat([0.2, 0.8, 0.5, 0.2, 0.8], 35))
    for alpha, off in ((0.8, 1e-3), (0.95, 3e-3), (0.99, 3e-3)):
        found = run(DynamicBelief(Beta(), alpha), coins).estimate
        np.testing.assert_allclose(found, by_grid(coins, alpha, 1, 1)[:, 0], rtol=0, atol=off)


def test_it_is_message_passing_under_another_name() -> None:
    dynamic, passing = DynamicBelief(Beta(), 0.75, hypotheses=20), MessagePassing(Beta(), 0.25, hypotheses=20)
    one, other = run(dynamic, COINS), run(passing, COINS)
    for name in ("estimate", "surprise", "learning_rate", "change_probability"):
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=1e-12)
    weights = dynamic.last_change(one.state).weights
    np.testing.assert_allclose(weights, passing.last_change(other.state).weights, rtol=1e-12)


def test_a_world_that_hardly_changes_is_that_of_the_fixed_belief_model() -> None:
    dynamic, fixed = run(DynamicBelief(Beta(), 1 - 1e-12), COINS), run(Bayes(Beta()), COINS)
    np.testing.assert_allclose(dynamic.estimate, fixed.estimate, rtol=1e-9)


def test_it_has_its_name_and_its_prior() -> None:
    trials = read_trials(pd.DataFrame({"coin": [0, 0, 0, 1, 0]}), Columns("coin"))
    learner = choose("dbm", trials, {"alpha": 0.7, "ones": 3.0, "zeros": 2.0}).learner
    assert learner == DynamicBelief(Beta(), 0.7, Beta().prior(ones=3.0, zeros=2.0))

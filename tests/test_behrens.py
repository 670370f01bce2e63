"""Is Behrens2007 exact inference on a grid? The oracle goes through all combinations in plain Python."""

from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy import stats

from astonish import Bayes, Behrens2007, Beta, measure, run

COINS = np.random.default_rng(9).integers(0, 2, 12)


def by_hand(xs: Any, count_r: int, count_v: int, count_k: int) -> Any:
    """Prediction of a 1 before each sample, expected r and v after it; every sum is written out."""
    rs = [(i + 0.5) / count_r for i in range(count_r)]
    vs = [-i for i in np.linspace(np.log(2), np.log(10_000), count_v)]
    ks = list(np.linspace(np.log(5e-4), np.log(20), count_k)) if count_k > 1 else [np.log(np.sqrt(5e-4 * 20))]

    def step_of_v(old: float, k: float) -> Any:
        probabilities = np.array([np.exp(-0.5 * ((new - old) / np.exp(k)) ** 2) for new in vs])
        return dict(zip(vs, probabilities / probabilities.sum(), strict=True))

    def step_of_r(old: float, v: float) -> Any:
        beta = stats.beta(1 + old * np.exp(-v), 1 + (1 - old) * np.exp(-v))
        probabilities = np.array([beta.pdf(new) for new in rs])
        return dict(zip(rs, probabilities / probabilities.sum(), strict=True))

    of_v = {(v, k): step_of_v(v, k) for v, k in product(vs, ks)}
    of_r = {(r, v): step_of_r(r, v) for r, v in product(rs, vs)}
    belief = dict.fromkeys(product(rs, vs, ks), 1 / (count_r * count_v * count_k))
    found = []
    for x in xs:
        expected = dict.fromkeys(belief, 0.0)
        for (r, v, k), weight in belief.items():
            for new_v, new_r in product(vs, rs):
                expected[new_r, new_v, k] += weight * of_v[v, k][new_v] * of_r[r, new_v][new_r]
        prediction = sum(r * weight for (r, _, _), weight in expected.items())
        joint = {at: weight * (at[0] if x else 1 - at[0]) for at, weight in expected.items()}
        belief = {at: weight / sum(joint.values()) for at, weight in joint.items()}
        mean, volatility = (sum(at[part] * weight for at, weight in belief.items()) for part in (0, 1))
        found.append((prediction, mean, volatility))
    return np.array(found)


@pytest.mark.parametrize("sizes", [(4, 3, 3), (5, 4, 1)])
def test_it_sums_over_all_combinations(sizes: tuple[int, int, int]) -> None:
    learner = Behrens2007(*sizes)
    history, (prediction, mean, volatility) = run(learner, COINS), by_hand(COINS, *sizes).T
    np.testing.assert_allclose(history.estimate, mean, rtol=1e-9)
    np.testing.assert_allclose(history.surprise, -np.log(np.where(COINS, prediction, 1 - prediction)), rtol=1e-9)
    np.testing.assert_allclose(history.learning_rate, (mean - prediction) / (COINS - prediction), rtol=1e-7)
    assert float(learner.volatility(history.state)) == pytest.approx(volatility[-1], rel=1e-9)


def _volatilities(learner: Behrens2007, xs: Any) -> Any:
    return np.array([learner.volatility(run(learner, xs[:stop]).state) for stop in range(60, len(xs) + 1, 60)])


def test_volatility_is_believed_to_fall_while_nothing_changes_and_to_rise_when_much_does() -> None:
    rng = np.random.default_rng(10)
    stable = rng.random(240) < 0.8
    volatile = rng.random(240) < np.where(np.arange(240) // 20 % 2, 0.9, 0.1)
    v = _volatilities(Behrens2007(), np.concatenate([stable, volatile]).astype(int))
    assert v[3] < v[0]  # at the end of the stable block
    assert v[7] > v[3] + 0.5  # and at the end of the volatile one
    learning = run(Behrens2007(), np.concatenate([stable, volatile]).astype(int)).learning_rate
    assert learning[-60:].mean() > 2 * learning[180:240].mean()


def test_in_a_stable_world_it_is_close_to_counting() -> None:
    coins = (np.random.default_rng(11).random(400) < 0.7).astype(int)
    ours, counted = run(Behrens2007(50, 15, 8), coins), run(Bayes(Beta()), coins)
    assert abs(ours.estimate[-1] - counted.estimate[-1]) < 0.06


@pytest.mark.parametrize("x", [0, 1])
def test_after_many_equal_outcomes_it_is_certain_and_still_gives_numbers(x: int) -> None:
    learner = Behrens2007()
    history = run(learner, np.full(10_000, x))
    assert abs(history.estimate[-1] - x) < 0.03
    assert np.isfinite([history.estimate, history.surprise, history.learning_rate]).all()
    assert float(learner.uncertainty(history.state)) < 0.05
    assert np.isfinite(run(learner, [1 - x], history.state).surprise).all()


def test_volatility_is_a_quantity_to_regress_on() -> None:
    coins = [1, 0, 1, 1, 0, 0, 1]
    learner = Behrens2007(6, 4, 3)
    last = measure(learner, coins)["volatility"].iloc[-1]
    assert last == pytest.approx(float(learner.volatility(run(learner, coins).state)), rel=1e-9)

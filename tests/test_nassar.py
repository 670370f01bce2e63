"""Are Nassar2010 and Nassar2012 the rules of Nassar et al. (2010, 2012), and do people follow the latter as published?

The oracles are their recursions in plain Python, numerical integration, and numbers published by others.
"""

import math
from typing import Any

import jax
import numpy as np
import pandas as pd
import pytest

from astonish import Nassar2010, Nassar2012, run, scan
from astonish.learners.nassar import RelativeVariance
from astonish.worlds.gaussian_jumps import gaussian_jumps
from families import agree
from published_data import published_data

DATA, needs_data = published_data("ada_learn", "data of people")


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
    ours = np.stack([history.estimate, history.learning_rate, history.surprise], axis=1)
    np.testing.assert_allclose(ours, plainly(xs, 4.0, hazard, low, high, weight), rtol=1e-9)


def test_without_evidence_for_jumps_it_averages_at_the_rate_of_the_hazard() -> None:
    """Heeding no evidence, it always gives a jump the same probability: the rate settles at a fixed point."""
    history = run(Nassar2010(4.0, hazard=0.2, likelihood_weight=0.0), np.zeros(200))
    length = 1 / 0.2  # of r = .8 (r + 1) + .2
    assert history.learning_rate[-1] == pytest.approx((1 + 0.2 * length) / (length + 1), rel=1e-12)


@pytest.mark.parametrize("rule", [Nassar2010, Nassar2012])
def test_a_hazard_near_zero_gives_the_mean_of_the_samples_and_the_middle(rule: Any) -> None:
    xs, counts = [0.3, -1.2, 2.0, 0.7, 1.1], np.arange(2, 7)
    history = run(rule(1.0, hazard=1e-14, low=-4.0, high=4.0), xs)
    agree(history, estimate=np.cumsum(xs) / counts, learning_rate=1 / counts)


@pytest.mark.parametrize("rule", [Nassar2010, Nassar2012])
@pytest.mark.parametrize("extreme", [1e150, -1e150])
def test_extreme_samples_are_followed_and_forgotten(rule: Any, extreme: float) -> None:
    history = run(rule(4.0), [1.0, extreme, extreme, 2.0, 2.0])
    assert np.isfinite([history.estimate, history.learning_rate, history.surprise, history.change_probability]).all()
    np.testing.assert_allclose(history.estimate[1:], [extreme, extreme, 2.0, 2.0], rtol=1e-12)
    # a jump was certain, and its density is 1 / 40
    assert history.surprise[1] == pytest.approx(-math.log(0.1 / 40), rel=1e-12)
    if rule is Nassar2010:
        np.testing.assert_allclose(history.learning_rate[[1, 3]], 1.0, rtol=1e-12)
    else:
        assert float(run(rule(4.0), [1.0, extreme]).state.relative_uncertainty) == pytest.approx(0.5, rel=1e-12)


@pytest.mark.parametrize("noise", [1e-8, 4.0])
def test_extreme_samples_leave_numbers_even_if_no_evidence_is_heeded(noise: float) -> None:
    """The rates are then the same whatever the samples are, however many noises away."""
    learner = Nassar2010(noise, likelihood_weight=0.0)
    extreme, calm = run(learner, [1.0, 1e150, -1e150, 2.0]), run(learner, [1.0, 1.0, 1.0, 1.0])
    assert np.isfinite([extreme.estimate, extreme.surprise]).all()
    np.testing.assert_allclose(extreme.learning_rate, calm.learning_rate, rtol=1e-12)


def reduced(
    xs: list[float],
    noise: float,
    hazard: float,
    low: float,
    high: float,
    start: float,
    tau: float = 0.5,
    sensitivity: float = 1.0,
    underestimation: float = 0.0,
) -> list[tuple[float, float, float, float, float]]:
    """Estimate, rate, surprise, probability of a jump and relative uncertainty, as the methods of 2012 write them."""
    estimate, found = start, []
    for x in xs:
        total = noise**2 + noise**2 * tau / (1 - tau)
        stay = math.exp(-((x - estimate) ** 2) / (2 * total)) / math.sqrt(2 * math.pi * total)
        jump = 1 / (high - low)
        omega = jump**sensitivity * hazard / (jump**sensitivity * hazard + stay**sensitivity * (1 - hazard))
        rate = omega + tau - omega * tau
        delta = x - estimate
        variance = omega * noise**2 + (1 - omega) * tau * noise**2 + omega * (1 - omega) * ((1 - tau) * delta) ** 2
        variance /= math.exp(underestimation)
        estimate, tau = estimate + rate * delta, variance / (variance + noise**2)
        found.append((estimate, rate, -math.log((1 - hazard) * stay + hazard * jump), omega, tau))
    return found


@pytest.mark.parametrize("hazard", [0.01, 0.1, 0.3, 0.4])
@pytest.mark.parametrize(("sensitivity", "underestimation"), [(1.0, 0.0), (0.3, 3.0), (0.0, 0.0), (1.7, -0.5)])
@pytest.mark.parametrize(("low", "high", "start"), [(-20.0, 20.0, 3.0), (5.0, 11.0, 8.0)])
def test_the_reduced_model_follows_its_recursion(
    hazard: float, sensitivity: float, underestimation: float, low: float, high: float, start: float
) -> None:
    xs = gaussian_jumps(300, seed=9, hazard=0.05, low=low, high=high).samples.tolist()
    learner = Nassar2012(4.0, hazard, low, high, start, 0.7, sensitivity, underestimation)
    history = run(learner, xs)
    oracle = reduced(xs, 4.0, hazard, low, high, start, 0.7, sensitivity, underestimation)
    ours = np.stack(
        [history.estimate, history.learning_rate, history.surprise, np.asarray(history.change_probability)], axis=1
    )
    np.testing.assert_allclose(ours, [row[:4] for row in oracle], rtol=1e-9)
    assert float(history.state.relative_uncertainty) == pytest.approx(oracle[-1][4], rel=1e-9)


@pytest.mark.parametrize(("mean", "variance", "x"), [(1.0, 1.0, 3.5), (-2.0, 0.05, 4.4), (0.0, 3.0, 0.1)])
def test_a_step_has_the_mean_and_the_variance_of_the_exact_belief(mean: float, variance: float, x: float) -> None:
    """Integrated numerically over a range so wide that its ends do not matter."""
    noise, hazard, low, high = 1.3, 0.2, -30.0, 30.0
    theta = np.linspace(low, high, 400_001)
    before = (1 - hazard) * np.exp(-((theta - mean) ** 2) / (2 * variance * noise**2))
    before /= math.sqrt(2 * math.pi * variance) * noise
    density = (before + hazard / (high - low)) * np.exp(-((x - theta) ** 2) / (2 * noise**2))
    weight = density / density.sum()
    exact = weight @ theta
    state, _ = Nassar2012(noise, hazard, low, high).step(RelativeVariance(np.float64(mean), np.float64(variance)), x)
    assert float(state.mean) == pytest.approx(exact, rel=1e-8)
    assert float(state.variance) * noise**2 == pytest.approx(weight @ (theta - exact) ** 2, rel=1e-8)


def test_the_published_single_step() -> None:
    """Bruckner, Nassar, Li & Eppinger's check of the helicopter task, in which a jump has the density 1 / 300."""
    learner = Nassar2012(noise=10.0, hazard=0.1, low=0.0, high=300.0)
    state, info = learner.step(RelativeVariance(np.float64(100.0), np.float64(100.0 / 10.0**2)), 150.0)
    assert float(info.change_probability) == pytest.approx(0.8718136, abs=5e-8)
    assert float(info.learning_rate) == pytest.approx(0.9359068, abs=5e-8)
    assert float(state.variance) * 10.0**2 == pytest.approx(163.43733523, abs=5e-9)
    assert float(state.relative_uncertainty) == pytest.approx(0.62040308, abs=5e-9)
    assert float(state.mean) == pytest.approx(100.0 + 50.0 * 0.9359068, abs=5e-6)


def published(name: str, row: str) -> float:
    path = DATA / "published_results" / f"{name}_ada-pos.csv"
    return float(pd.read_csv(path, index_col=0).loc[row, "0"])


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    """What people answered in the position task of Foucault & Meyniel (2024), beside what the model does there."""
    table = pd.read_csv(DATA / "main_ada-pos.csv.gz").sort_values(["run", "session", "trial"])
    learner = Nassar2012(table["std"].iloc[0], table["pc"].iloc[0], low=0.0, high=1.0)
    sessions = table["outcome"].to_numpy().reshape(-1, 75)
    with jax.enable_x64(True):
        follow = jax.jit(jax.vmap(lambda xs: scan(learner, xs, read=lambda state: state)))
        trace = jax.tree.map(np.asarray, follow(sessions))
    earlier = np.insert(trace.estimate.variance[:, :-1], 0, 1.0, axis=1)  # a relative uncertainty of 1/2 is odds of 1
    answers = table["estimate"].to_numpy().reshape(-1, 75)
    asked = np.insert(answers[:, :-1], 0, 0.5, axis=1)
    return table.assign(
        model=trace.estimate.mean.ravel(),
        change=trace.change_probability.ravel(),
        uncertainty=np.sqrt(earlier).ravel(),
        rate=((answers - asked) / (sessions - asked)).ravel(),
    )


@needs_data
def test_people_agree_with_the_model_as_published(people: pd.DataFrame) -> None:
    correlations, slopes = [], []
    for _, run_of_one in people.groupby("run"):
        model, answer = run_of_one["model"], run_of_one["estimate"]
        correlations.append(np.corrcoef(model, answer)[0, 1])
        slopes.append(np.polyfit(model, answer, 1)[0])
    assert len(slopes) == 96
    name = "accuracy_subject-estimate_by_model-estimate_stats_"
    assert np.mean(correlations) == pytest.approx(published(name + "pearsonr", "Mean of pearsonr"), abs=1e-6)
    assert np.mean(slopes) == pytest.approx(published(name + "slope", "Mean of slope"), abs=1e-6)


@needs_data
def test_jumps_and_uncertainty_explain_peoples_rates_as_published(people: pd.DataFrame) -> None:
    """Uncertainty is the standard deviation of the belief before the sample."""
    weights = []
    for _, run_of_one in people[people["rate"].between(-0.6, 1.3)].groupby("run"):
        columns = run_of_one[["change", "uncertainty", "rate"]].to_numpy()
        scores = (columns - columns.mean(axis=0)) / columns.std(axis=0)
        weights.append(np.linalg.lstsq(scores[:, :2], scores[:, 2])[0])
    jump, doubt = np.mean(weights, axis=0)
    name = "learning-rate_regression_weights_cpp_uncertainty_stats"
    assert jump == pytest.approx(published(name, "coef_cpp_mean"), abs=1e-6)
    assert doubt == pytest.approx(published(name, "coef_uncertainty_mean"), abs=1e-6)


def test_doubt_about_a_jump_raises_the_next_rate_above_that_of_the_older_rule() -> None:
    """After some samples at 0, one at which a jump is as probable as not."""
    old, new = Nassar2010(1.0, 0.1), Nassar2012(1.0, 0.1)
    calm = [0.0] * 10
    odd = min(np.linspace(2.0, 5.0, 301), key=lambda x: abs(run(new, [*calm, x]).change_probability[-1] - 0.5))
    assert run(new, [*calm, odd]).change_probability[-1] == pytest.approx(0.5, abs=0.02)
    assert run(new, [*calm, odd, 0.0]).learning_rate[-1] > run(old, [*calm, odd, 0.0]).learning_rate[-1] + 0.05


@pytest.mark.parametrize("noise", [1e-8, 4.0])
def test_the_reduced_model_stays_a_number_even_if_no_evidence_is_heeded(noise: float) -> None:
    """Then no sample rules a jump out or in, and an extreme one leaves it as uncertain as can be."""
    history = run(Nassar2012(noise, surprise_sensitivity=0.0), [1.0, 1e150, -1e150, 2.0, 2.0])
    assert np.isfinite([history.estimate, history.surprise, history.learning_rate, history.change_probability]).all()
    np.testing.assert_allclose(history.learning_rate[2], 1.0, rtol=1e-12)
    np.testing.assert_allclose(np.asarray(history.change_probability), 0.1, rtol=1e-12)


@pytest.mark.parametrize("underestimation", [-800.0, 800.0])
def test_absurd_confidence_and_absurd_doubt_stay_numbers(underestimation: float) -> None:
    history = run(Nassar2012(1.0, uncertainty_underestimation=underestimation), [1.0, 2.0, -3.0, 1e150, 0.0])
    assert np.isfinite([history.estimate, history.surprise, history.learning_rate, history.change_probability]).all()
    assert np.isfinite(jax.tree.leaves(history.state)).all()

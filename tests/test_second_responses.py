"""Reaction times, confidence, and two responses in one trial."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
from scipy import stats

from astonish import HGF, Beta, BinaryVolatileKalman, Delta, Gaussian, Kalman, Smile, TwoLevelHGF, run
from astonish.people.fit import (
    Confidence,
    Estimate,
    LogReactionTime,
    Model,
    Readout,
    Softmax,
    fit,
    plan_trials,
    recover_parameters,
    simulate_responses,
)
from astonish.people.fit.description import probability_of_choices, r_squared
from astonish.people.fit.likelihood import evaluate, participant_data
from astonish.people.fit.plot import plot_fit
from astonish.people.tables import Columns, read_trials
from astonish.responses.reaction_time import LogNormal
from test_fit import gradients_are_exact

COINS = np.random.default_rng(4).integers(2, size=40)


def _table() -> pd.DataFrame:
    rng = np.random.default_rng(7)
    return pd.DataFrame({"x": COINS, "choice": rng.integers(2, size=40), "rt": rng.lognormal(-0.5, 0.3, 40)})


BOTH = Columns("x", response="choice", second_response="rt")


def _one(model: Model, trials: Any) -> Any:
    data = jax.tree.map(lambda part: jnp.asarray(part[0]), participant_data(model, trials))
    return jax.tree.map(np.asarray, evaluate(model, data, trials.responds_before))


def test_a_log_normal_distribution() -> None:
    given = LogNormal(jnp.asarray(-0.4), 0.3)
    other = stats.lognorm(0.3, scale=np.exp(-0.4))
    for x in (0.01, 0.5, 3.0):
        assert float(given.log_prob(jnp.asarray(x))) == pytest.approx(other.logpdf(x), rel=1e-12)
    assert float(given.mean) == pytest.approx(other.mean(), rel=1e-12)
    draws = np.asarray(jax.vmap(given.sample)(jax.random.split(jax.random.key(0), 20_000)))
    assert np.log(draws).mean() == pytest.approx(-0.4, abs=0.01)
    assert np.log(draws).std() == pytest.approx(0.3, abs=0.01)


@pytest.mark.parametrize("before", [True, False])
def test_reaction_times_follow_the_regressors_of_the_hgf_toolbox(before: bool) -> None:
    """Surprise, m1 (1 - m1), and m1 (1 - m1) times the variance and the step variance of the log odds, by hand."""
    learner = HGF(-2.0, -5.0)
    response = LogReactionTime(-0.7, 0.2, 0.5, 0.3, 0.4, 0.25)
    trials = read_trials(_table(), Columns("x", response="rt"), response_kind="continuous", responds_before=before)
    found = _one(Model(learner, response), trials)
    state, surprise = learner.init(), 0.0
    for k, (x, rt) in enumerate(zip(COINS, _table().rt, strict=True)):
        m1 = 1 / (1 + np.exp(-float(state.mu2)))
        variance = m1 * (1 - m1)
        step = np.exp(float(state.mu3) - 2.0)
        if not before:
            surprise = -np.log(m1 if x else 1 - m1)
        mean = -0.7 + 0.2 * surprise + 0.5 * variance + 0.3 * variance * float(state.sigma2) + 0.4 * variance * step
        assert found.log_likelihood[k] == pytest.approx(stats.lognorm(0.25, scale=np.exp(mean)).logpdf(rt), rel=1e-10)
        if before:
            surprise = -np.log(m1 if x else 1 - m1)
        state, _ = learner.step(state, jnp.asarray(x))


def test_confidence_follows_the_precision_of_the_belief() -> None:
    table = _table().assign(sure=np.linspace(0.2, 0.9, 40))
    trials = read_trials(table, Columns("x", response="sure"), responds_before=False)
    found = _one(Model(Smile(Beta(), m=0.3), Confidence(0.1, 0.2, 0.3)), trials)
    for k in (0, 7, 39):
        part = run(Smile(Beta(), m=0.3), COINS[: k + 1])
        variance = float(stats.beta(part.state.ones, part.state.zeros).var())
        expected = stats.norm(0.1 + 0.2 * np.log(1 / variance), 0.3).logpdf(table.sure[k])
        assert found.log_likelihood[k] == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("before", [True, False])
def test_two_responses_add_their_log_likelihoods(before: bool) -> None:
    table = _table()
    table.loc[3, "rt"] = None
    table.loc[5, "choice"] = None
    learner, choice, time = HGF(), Softmax(2.0, perseveration=0.3), LogReactionTime(-0.5, 0.1, 0.3)
    both = read_trials(table, BOTH, responds_before=before)
    found = _one(Model(learner, choice, time), both)
    alone = _one(Model(learner, choice), read_trials(table, Columns("x", response="choice"), responds_before=before))
    times = read_trials(table, Columns("x", response="rt"), response_kind="continuous", responds_before=before)
    other = _one(Model(learner, time), times)
    np.testing.assert_allclose(found.log_likelihood, alone.log_likelihood + other.log_likelihood, rtol=1e-12)
    np.testing.assert_array_equal(found.expected, alone.expected)
    np.testing.assert_allclose(found.expected_second, other.expected)
    assert "second response rt: from" in both.preview()
    assert "1 missing" in both.preview()


def test_two_responses_are_simulated_and_found_again() -> None:
    rng = np.random.default_rng(2)
    plan = plan_trials(
        rng.random((30, 150)) < 0.7, kind="binary", response_kind="choice", responds_before=True, second=True
    )
    model = Model(TwoLevelHGF(-1.0), Softmax(3.0), LogReactionTime(-0.5, 0.15, noise=0.2))
    made = simulate_responses(model, plan)
    assert made.second is not None
    np.testing.assert_array_equal(made.frame["second"].to_numpy()[made.rows], made.second)
    free = ["omega2", "beta", "offset", "by_surprise", "second.noise"]
    found = fit(model, made, free, starts=2)
    assert np.median(found.values[:, 2:], axis=0) == pytest.approx([-0.5, 0.15, 0.2], abs=0.03)
    again = recover_parameters(model, plan, free, participants=20, starts=1).summary()
    assert again.correlation["offset"] > 0.9
    alone = recover_parameters(
        Model(model.learner, model.response), plan, ["omega2", "beta"], participants=20, starts=1
    )
    assert again.width["omega2"] < alone.summary().width["omega2"]  # reaction times tell more about it


def test_how_well_choices_are_explained_is_not_about_reaction_times() -> None:
    """McFadden's R2 and the figure are those of choices alone, at the same parameters."""
    table = _table().assign(rt=lambda own: 0.001 * own.rt)  # so that densities are far above 1
    trials = read_trials(table, BOTH, responds_before=True)
    found = fit(Model(TwoLevelHGF(), Softmax(2.0), LogReactionTime(-7.4, 0.1)), trials, ["offset"], starts=1)
    alone = _one(Model(TwoLevelHGF(), Softmax(2.0)), trials).log_likelihood
    assert found.log_likelihood.sum() > 0
    assert r_squared(found) == pytest.approx([1 - alone.sum() / (40 * np.log(0.5))])
    assert probability_of_choices(found)[0] == pytest.approx(np.exp(alone))
    drawn = plot_fit(found).axes[-1].lines[0].get_ydata()
    assert drawn == pytest.approx([np.exp(alone).mean()])


@pytest.mark.parametrize("learner", [Kalman(1.0, 0.3), BinaryVolatileKalman(), HGF(), TwoLevelHGF()], ids=str)
def test_a_step_variance_is_that_of_a_simulated_step(learner: Any) -> None:
    """On the scale of the estimate, to first order: how far it moves if what is followed takes such a step."""
    samples = COINS[:20] if learner.samples.whole else np.random.default_rng(1).normal(size=20)
    state = run(learner, samples).state
    variance = float(learner.step_variance(state))
    inner = {"Kalman": 0.3**2, "BinaryVolatileKalman": getattr(state, "volatility", 0.0)}
    step = inner.get(type(learner).__name__) or np.exp(float(getattr(state, "mu3", 0.0)) + learner.omega2)
    name = "mean" if hasattr(state, "mean") else "mu2"
    moved = [learner.estimate(state._replace(**{name: getattr(state, name) + sign * 1e-4})) for sign in (1, -1)]
    slope = (float(moved[0]) - float(moved[1])) / 2e-4
    assert variance == pytest.approx(slope**2 * float(step), rel=1e-6)


def test_derivatives_are_exact() -> None:
    trials = read_trials(_table(), BOTH, responds_before=True)
    model = Model(HGF(), Softmax(2.0), LogReactionTime(-0.5, 0.1, 0.2, 0.1, 0.1))
    free = ["omega2", "beta", "by_surprise", "by_variance", "by_uncertainty", "by_volatility", "second.noise"]
    gradients_are_exact(model, trials, free)


@pytest.mark.parametrize(
    ("learner", "response", "second", "sentence"),
    [
        (Delta(), Softmax(), Softmax(), "Softmax is no model of a second response; give Readout or LogReactionTime"),
        (Delta(), Softmax(), LogReactionTime(by_volatility=0.1), "follows the volatility .* which Delta does not know"),
        (Delta(), Softmax(), Confidence(), "follows the uncertainty .* which Delta does not know"),
        (Delta(), Softmax(), Readout(), "Readout follows the surprise at an outcome, so it comes after it"),
    ],
)
def test_what_cannot_be_explained_is_refused(learner: Any, response: Any, second: Any, sentence: str) -> None:
    trials = read_trials(_table(), BOTH, responds_before=True)
    with pytest.raises(ValueError, match=sentence):
        fit(Model(learner, response, second), trials, ["response.beta"])


def test_reaction_times_are_above_zero_and_have_a_column() -> None:
    table = _table()
    table.loc[2, "rt"] = -0.3
    trials = read_trials(table, BOTH, responds_before=True)
    model = Model(HGF(), Softmax(), LogReactionTime())
    with pytest.raises(ValueError, match=r"rt = -0.3 is not allowed; give a finite number above 0"):
        fit(model, trials, ["beta"])
    with pytest.raises(ValueError, match="there is no second response; name its column"):
        fit(model, read_trials(table, Columns("x", response="choice"), responds_before=True), ["beta"])
    numbers = pd.DataFrame({"x": np.arange(9) + 0.5, "b": np.arange(9) + 0.3, "rt": 0.5})
    trials = read_trials(numbers, Columns("x", response="b", second_response="rt"), responds_before=False)
    with pytest.raises(ValueError, match="follows the variance of what is predicted"):
        fit(Model(Smile(Gaussian()), Estimate(), LogReactionTime(by_variance=0.1)), trials, ["m"])

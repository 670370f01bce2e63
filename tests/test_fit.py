"""Fits: the likelihood against a plain loop, gradients against differences, searches against SciPy and closed forms."""

import math
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar
from zipfile import ZipExtFile

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from matplotlib import pyplot as plt
from pandas import DataFrame
from scipy import optimize, stats

import astonish
from astonish import (
    Beta,
    Delta,
    Dirichlet,
    Gaussian,
    MessagePassing,
    Nassar2012,
    ParticleFilter,
    PearceHall,
    PerContext,
    Smile,
    Stream,
)
from astonish.core.numbers import Domain, double, pytree_dataclass
from astonish.core.parameters import parameter
from astonish.models.parameters import find_parameter, parameters
from astonish.models.registry import LEARNERS
from astonish.people.fit import (
    CircularEstimate,
    Estimate,
    Fit,
    Model,
    Readout,
    Softmax,
    StickyEstimate,
    UnitSquare,
    fit,
    recover_parameters,
    simulate_responses,
)
from astonish.people.fit.estimate import prepare
from astonish.people.fit.likelihood import (
    Losses,
    _moving,
    begin,
    evaluate,
    log_likelihoods_and_gradients,
    participant_data,
    simulate,
    trial,
)
from astonish.people.fit.search import minimise
from astonish.people.fit.space import Space
from astonish.people.tables import Columns, Trials, read_trials
from astonish.people.tables.facts import choose
from astonish.responses.base import Categorical, Normal, Perseverating, Response, ResponseInput

SMILE = Smile(Gaussian(noise=2.0), m=0.3)
NASSAR = Nassar2012(noise=2.0, hazard=0.2, low=-20.0, high=20.0)


def _numbers(people: int = 3, steps: int = 40, seed: int = 0) -> DataFrame:
    """Made-up participants who follow jumping numbers; with gaps, blocks and a column of noise."""
    rng = np.random.default_rng(seed)
    rows = []
    for person in range(people):
        mean, estimate = 0.0, 0.0
        for step in range(steps):
            mean = rng.uniform(-15, 15) if rng.random() < 0.1 else mean
            x = mean + 2 * rng.standard_normal()
            start = estimate
            estimate += (0.3 + 0.1 * person) * (x - estimate) + 0.5 * rng.standard_normal()
            rows.append((f"p{person}", step // (steps // 2), x, start, estimate, 2.0 + (step >= steps // 2)))
    table = DataFrame(rows, columns=["id", "block", "x", "before", "after", "sigma"])
    table.loc[table.index.isin([7, 55]), "x"] = np.nan
    table.loc[table.index.isin([12, 90]), ["before", "after"]] = np.nan
    return table


def _one(model: Model, trials: Trials) -> Any:
    """The data of the first participant."""
    return jax.tree.map(lambda part: jnp.asarray(part[0]), participant_data(model, trials))


def _trials(before: bool, table: DataFrame | None = None, given: bool = False) -> Trials:
    noise, response = {"noise": "sigma"} if given else {}, "before" if before else "after"
    columns = Columns("x", subject="id", block="block", response=response, given=noise)
    return read_trials(_numbers() if table is None else table, columns, responds_before=before)


def _by_hand(learner: Any, table: DataFrame, before: bool, noise: float, anchored: bool) -> float:
    """The log-likelihood of one participant by the streaming door, in plain Python."""
    total = 0.0
    for _, block in table.groupby("block"):
        stream = Stream(learner)
        estimate = float(learner.estimate(learner.init()))
        answered = not before  # where one starts before an outcome is not to be explained
        for row in block.itertuples():
            if not before and not math.isnan(row.x):
                estimate = stream.update(row.x).estimate
            response = row.before if before else row.after
            there = not math.isnan(response)
            if there and (answered or not anchored) and (before or not math.isnan(row.x)):
                total += stats.norm.logpdf(response, estimate, noise)
            if there and anchored:
                answered, estimate = True, response
                stream = Stream(learner, stream.state._replace(mean=np.float64(response)))
            if before and not math.isnan(row.x):
                estimate = stream.update(row.x).estimate
    return total


@pytest.mark.parametrize("anchored", [True, False])
@pytest.mark.parametrize("before", [True, False])
@pytest.mark.parametrize("learner", [SMILE, NASSAR, PearceHall(0.8, scale=10.0)], ids=lambda it: type(it).__name__)
def test_the_likelihood_is_that_of_a_plain_loop(learner: Any, before: bool, anchored: bool) -> None:
    table = _numbers()
    model = Model(learner, Estimate(noise=1.5, anchored=anchored))
    data = jax.tree.map(jnp.asarray, participant_data(model, _trials(before, table)))
    outputs = jax.vmap(lambda own: evaluate(model, own, before))(data)
    for person, found in zip(("p0", "p1", "p2"), outputs.log_likelihood.sum(1), strict=True):
        assert found == pytest.approx(_by_hand(learner, table[table.id == person], before, 1.5, anchored), rel=1e-10)


@pytest.mark.parametrize("before", [True, False])
def test_noise_grows_with_the_last_step_of_the_estimate(before: bool) -> None:
    """Of a learner that goes its own way: from before the last outcome to now, and none at the start of a block."""
    table = _numbers(people=1)
    model = Model(Delta(0.3), Estimate(noise=1.5, growth=0.2, anchored=False))
    data = _one(model, _trials(before, table))
    total = 0.0
    for _, block in table.groupby("block"):
        last = estimate = 0.0
        for row in block.itertuples():
            response = row.before if before else row.after
            for respond in (before, not before):
                if not respond and not math.isnan(row.x):
                    last, estimate = estimate, estimate + 0.3 * (row.x - estimate)
                elif not respond:
                    last = estimate
                elif not math.isnan(response) and (before or not math.isnan(row.x)):
                    total += stats.norm.logpdf(response, estimate, 1.5 + 0.2 * abs(estimate - last))
    assert float(evaluate(model, data, before).log_likelihood.sum()) == pytest.approx(total, rel=1e-10)


def test_a_parameter_may_be_given_trial_by_trial() -> None:
    table = _numbers()
    model = Model(SMILE, Estimate(noise=1.5))
    data = _one(model, _trials(False, table, given=True))
    first = table[table.id == "p0"]
    expected = sum(
        _by_hand(Smile(Gaussian(noise=2.0 + k), m=0.3), first[first.block == k], False, 1.5, True) for k in (0, 1)
    )
    assert float(evaluate(model, data, False).log_likelihood.sum()) == pytest.approx(expected, rel=1e-10)


SPACES: list[tuple[Any, list[str]]] = [
    (Model(SMILE, Estimate(noise=1.5, growth=0.1)), ["m", "response.noise", "growth", "family.noise"]),
    (Model(NASSAR, StickyEstimate(1.5, 0.1, 1.0, -0.5)), ["hazard", "surprise_sensitivity", "half", "slope"]),
    (Model(MessagePassing(Gaussian(2.0), 0.1), Estimate(1.5, anchored=False)), ["hazard", "response.noise"]),
    (Model(MessagePassing(Gaussian(2.0), 0.1), Estimate(1.5, anchored=False)), ["hazard", "family.noise"]),
    (Model(ParticleFilter(Gaussian(2.0), 0.1), Estimate(1.5, anchored=False)), ["response.noise"]),
    (Model(SMILE, Readout(0.1, 0.2, 1.0)), ["m", "offset", "response.slope", "response.noise"]),
]


RESPONSE_COLUMNS = {"continuous": "x", "binary": "coin", "circular": "angle"}
PROBABILITIES = ("particle-filter", "stochasticity-volatility")  # their likelihood jumps where particles are drawn


@pytest.mark.parametrize("name", sorted(set(LEARNERS.classes()) - set(PROBABILITIES)))
def test_every_learner_is_fitted_with_exact_derivatives(name: str) -> None:
    kind = next(str(each) for each in LEARNERS.find(name).takes if each in RESPONSE_COLUMNS)
    rng = np.random.default_rng(8)
    numbers = rng.normal(np.repeat([0.0, 4.0, 1.0], 10), 2.0)
    table = DataFrame({"x": numbers, "coin": rng.integers(2, size=30), "angle": numbers, "said": rng.random(30)})
    columns = Columns(RESPONSE_COLUMNS[kind], response="said")
    trials = read_trials(table, columns, kind=kind, responds_before=False)
    response = CircularEstimate(anchored=False) if kind == "circular" else Estimate(anchored=False)
    model = Model(choose(name, trials).learner, response)
    gradients_are_exact(model, trials, [*LEARNERS.find(name).free, *(f"response.{word}" for word in response.free)])


def gradients_are_exact(model: Model, trials: Trials, free: list[str]) -> tuple[float, Any]:
    """Compare them with differences, for the first participant; the answer is the loss there, and where it is."""
    space, data, none, *_ = prepare(model, trials, free, None)
    losses, x = Losses(model, data, space, trials.responds_before, none, batch=8), space.start(model)
    steps = 1e-5 * np.eye(len(x))
    found, gradients = losses(np.concatenate([x[None], x + steps, x - steps]), np.zeros(1 + 2 * len(x), int))
    central = (found[1 : 1 + len(x)] - found[1 + len(x) :]) / 2e-5
    np.testing.assert_allclose(gradients[0], central, rtol=1e-5, atol=1e-5)
    return found[0], x


@pytest.mark.parametrize(("model", "free"), SPACES, ids=lambda it: None if isinstance(it, list) else str(it)[14:34])
def test_gradients_agree_with_differences_and_the_value_with_the_loop(model: Model, free: list[str]) -> None:
    loss, x = gradients_are_exact(model, _trials(False), free)
    outputs = evaluate(Space.of(model, free).bind(model, jnp.asarray(x)), _one(model, _trials(False)), False)
    assert loss == pytest.approx(-float(outputs.log_likelihood.sum()), rel=1e-12)


@pytest.mark.parametrize("free", ["hazard", "family.noise", "response.noise"])
def test_only_what_a_parameter_changes_has_derivatives(free: str) -> None:
    model = Model(MessagePassing(Gaussian(2.0), 0.1, merge=False), Estimate(1.5, anchored=False))
    space = Space.of(model, [free])
    own = _one(model, _trials(False))
    moves = _moving(
        lambda value, own: begin(space.put(model, value), own),
        lambda value, memory, at: trial(space.put(model, value), False, memory, at),
        jnp.asarray(space.constrained(space.start(model))),
        own,
    )
    assert moves.state.weights == moves.last.estimate == moves.last.surprise == (free != "response.noise")
    assert moves.state.log_partitions == (free == "family.noise")
    assert any(jax.tree.leaves(moves.state.beliefs)) == (free == "family.noise")
    assert not moves.state.ages


def test_the_best_delta_rule_is_a_regression_through_the_origin() -> None:
    """Of updates on errors, if each starts from the last answer; the noise is what it leaves over."""
    table = _numbers(people=2, steps=60, seed=3).dropna()
    found = fit(Model(Delta(0.5), Estimate()), _trials(True, table), ["learning_rate", "response.noise"], starts=3)
    for person, (rate, noise), error in zip(("p0", "p1"), found.values, found.error, strict=True):
        steps = table[table.id == person].assign(next=lambda t: t.groupby("block").before.shift(-1)).dropna()
        wrong, update = steps.x - steps.before, steps.next - steps.before
        slope = float((wrong * update).sum() / (wrong * wrong).sum())
        left = float(np.sqrt(((update - slope * wrong) ** 2).mean()))
        assert (rate, noise) == pytest.approx((slope, left), rel=1e-5)
        assert error == pytest.approx((left / math.sqrt((wrong**2).sum()), left / math.sqrt(2 * len(steps))), rel=1e-4)
    skipped = _numbers(people=2, steps=60, seed=3).loc[[7, 55, 12, 90], "id"].value_counts()  # without x or response
    assert found.responses.tolist() == [58.0 - skipped["p0"], 58.0 - skipped["p1"]]
    np.testing.assert_allclose(found.bic, 2 * np.log(found.responses) - 2 * found.log_likelihood)


def test_searches_end_where_scipys_do() -> None:
    model, free = Model(SMILE, Estimate()), ["m", "response.noise"]
    trials = _trials(False)
    found = fit(model, trials, free, starts=4)
    space, data, none, *_ = prepare(model, trials, free, None)
    losses = Losses(model, data, space, False, none, 1)
    for person in range(3):
        best = optimize.minimize(
            lambda x: tuple(part[0] for part in losses(x[None], np.array([person]))),  # noqa: B023
            space.start(model),
            jac=True,
            method="L-BFGS-B",
            options={"ftol": 1e-14, "gtol": 1e-8},
        )
        assert -found.log_likelihood[person] == pytest.approx(best.fun, abs=1e-6)
        np.testing.assert_allclose(found.unconstrained[person], best.x, atol=1e-3)
    assert found.converged.all()
    assert (found.starts_at_optimum == 4).all()
    assert found.notes == ("", "", "")


def test_many_searches_find_the_bottom_of_a_crooked_valley() -> None:
    """Rosenbrock's, each with its own bottom, from places all around."""
    bottoms = np.array([1.0, -0.5, 2.0])

    def losses(places: Any, who: Any) -> Any:
        a, (x, y) = bottoms[who], places.T
        return (a - x) ** 2 + 100 * (y - x * x) ** 2, np.stack(
            [-2 * (a - x) - 400 * x * (y - x * x), 200 * (y - x * x)], 1
        )

    who = np.repeat(np.arange(3), 20)
    begin = 3 * np.random.default_rng(0).standard_normal((60, 2))
    found = minimise(losses, begin, who, limit=15.0, tolerance=1e-12)
    assert found.converged.all()
    np.testing.assert_allclose(found.x, np.stack([bottoms[who], bottoms[who] ** 2], 1), atol=1e-4)


def test_a_search_stops_at_the_edge_and_where_there_is_no_number() -> None:
    def losses(places: Any, _: Any) -> Any:
        with np.errstate(invalid="ignore"):
            return np.where(places[:, 0] > 90, np.nan, -places[:, 0]), np.full(places.shape, -1.0)

    found = minimise(losses, np.array([[0.0], [95.0]]), np.zeros(2, int), limit=15.0, tolerance=1e-9)
    assert found.x[0] == 15.0
    assert found.converged[0]
    nowhere = np.full(1, np.nan), np.ones((1, 1))
    far = minimise(lambda *_: nowhere, np.zeros((1, 1)), np.zeros(1, int), limit=9.0, tolerance=1e-9)
    assert not far.converged[0]
    assert np.isinf(far.loss[0])


def test_standard_errors_are_those_of_the_curvature() -> None:
    model, free = Model(NASSAR, Estimate()), ["surprise_sensitivity", "response.noise"]
    trials = _trials(False)
    found = fit(model, trials, free, starts=2)
    space, data, *_ = prepare(model, trials, free, None)
    own = jax.tree.map(lambda part: jnp.asarray(part[:1]), data)
    second = jax.jacfwd(lambda x: log_likelihoods_and_gradients(model, own, space, False, x[None])[1][0])(
        jnp.asarray(found.unconstrained[0])
    )
    np.testing.assert_allclose(found.hessian[0], -np.asarray(second), rtol=1e-4, atol=1e-4)
    errors = np.sqrt(np.diagonal(np.linalg.inv(-np.asarray(second))))
    np.testing.assert_allclose(found.unconstrained_error[0], errors, rtol=1e-4)
    m, error = found.values[0, 0], found.error[0, 0]
    assert error == pytest.approx(m * found.unconstrained_error[0, 0])
    assert found.low[0, 0] == pytest.approx(m * math.exp(-1.96 * found.unconstrained_error[0, 0]), rel=1e-4)


def test_priors_pull_towards_what_was_expected() -> None:
    model, trials = Model(SMILE, Estimate()), _trials(False)
    free = ["m", "response.noise"]
    plain, pulled = (fit(model, trials, free, starts=2, priors=p) for p in (None, {"m": (math.log(5.0), 0.01)}))
    np.testing.assert_allclose(pulled.values[:, 0], 5.0, rtol=0.05)
    assert (pulled.log_likelihood < plain.log_likelihood).all()


def test_an_interrupted_fit_goes_on_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model, trials, free = Model(Delta(), Estimate()), _trials(False), ["learning_rate", "response.noise"]
    monkeypatch.setattr("astonish.people.fit.estimate._TOGETHER", 1)
    whole = fit(model, trials, free, starts=2)
    heard: list[float] = []

    def interrupt(share: float) -> None:
        heard.append(share)
        if share > 0.5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit(model, trials, free, starts=2, checkpoint=tmp_path, progress=interrupt)
    finished = sorted(tmp_path.iterdir())
    assert 1 <= len(finished) < 3
    times = [file.stat().st_mtime_ns for file in finished]
    again = fit(model, trials, free, starts=2, checkpoint=tmp_path)
    np.testing.assert_array_equal(again.unconstrained, whole.unconstrained)
    assert [file.stat().st_mtime_ns for file in finished] == times
    finished[0].write_bytes(finished[0].read_bytes()[:100])  # damaged: it is found anew
    again = fit(model, trials, free, starts=2, checkpoint=tmp_path)
    np.testing.assert_array_equal(again.unconstrained, whole.unconstrained)
    monkeypatch.setattr(ZipExtFile, "MIN_READ_SIZE", 16)  # as if the file were longer than what is read at once
    sound = finished[0].read_bytes()
    finished[0].write_bytes(sound.replace(b"'shape': (1, 2)", b"'shape': (0, 2)"))  # a bit of how many there are
    assert finished[0].read_bytes() != sound
    again = fit(model, trials, free, starts=2, checkpoint=tmp_path)
    np.testing.assert_array_equal(again.unconstrained, whole.unconstrained)
    fit(model, trials, free, starts=3, checkpoint=tmp_path)
    assert len(list(tmp_path.iterdir())) == 6


def test_participants_come_as_they_are_found_and_are_the_same(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    model, trials, free = Model(Delta(), Estimate()), _trials(False), ["learning_rate", "response.noise"]
    monkeypatch.setattr("astonish.people.fit.estimate._FEW", 2)
    parts: list[Fit] = []
    whole = fit(model, trials, free, starts=2)
    again = fit(model, trials, free, starts=2, checkpoint=tmp_path, fitted=parts.append)
    assert [part.trials.subjects for part in parts] == [trials.subjects[:2], trials.subjects[2:]]
    for name in ("values", "low", "high", "bic"):
        found = np.concatenate([getattr(part, name) for part in parts])
        np.testing.assert_array_equal(found, getattr(again, name))
        np.testing.assert_array_equal(found, getattr(whole, name))
    shared: list[Fit] = []
    alike = fit(model, trials, free, starts=2, shared=["response.noise"], fitted=shared.append)
    assert shared == [alike]  # before all are there, nobody's are known


def test_a_shared_noise_of_delta_rules_is_what_all_leave_over() -> None:
    """Rates are those of each alone; the variance is the mean over all; its error that of so many responses."""
    table = _numbers(people=3, steps=60, seed=3).dropna()
    model, trials = Model(Delta(0.5), Estimate()), _trials(True, table)
    alone = fit(model, trials, ["learning_rate", "response.noise"], starts=2)
    found = fit(model, trials, ["learning_rate"], shared=["response.noise"], starts=2)
    np.testing.assert_allclose(found.values[:, 0], alone.values[:, 0], rtol=1e-4)
    total = float(alone.responses.sum())
    noise = math.sqrt((alone.responses * alone.values[:, 1] ** 2).sum() / total)
    np.testing.assert_allclose(found.values[:, 1], noise, rtol=1e-4)
    np.testing.assert_allclose(found.error[:, 1], noise / math.sqrt(2 * total), rtol=1e-3)
    np.testing.assert_allclose(found.error[:, 0], alone.error[:, 0] * noise / alone.values[:, 1], rtol=1e-3)
    assert found.converged.all()
    assert found.parameters == pytest.approx(1 + 1 / 3)


@pytest.mark.parametrize(("before", "learner"), [(True, Beta()), (False, Beta()), (True, Dirichlet(2))])
def test_choices_follow_the_predicted_probabilities(before: bool, learner: Any) -> None:
    table = DataFrame({"x": [1, 1, 0, 1, 1, 0], "choice": [0, 1, 1, 0, 1, 1]})
    columns = Columns("x", response="choice")
    trials = read_trials(table, columns, responds_before=before, response_kind="choice")
    model = Model(Smile(learner), Softmax(beta=2.0, perseveration=0.4, lapse=0.1))
    found = evaluate(model, _one(model, trials), before)
    stream, last, estimate = Stream(Smile(learner)), None, 0.5
    for k, (x, choice) in enumerate(table.itertuples(index=False)):
        if not before:
            estimate = stream.update(x).estimate
        probability = float(np.atleast_1d(estimate)[-1])
        value = np.array([1 - probability, probability]) * 2.0
        if last is not None:
            value[last] += 0.4
        probabilities = 0.9 * np.exp(value) / np.exp(value).sum() + 0.05
        assert float(found.log_likelihood[k]) == pytest.approx(math.log(probabilities[choice]), rel=1e-12)
        last = choice
        if before:
            estimate = stream.update(x).estimate


def test_the_unit_square_sigmoid_raises_odds_to_a_power() -> None:
    """By hand: odds of 4 to 1 with zeta = 1.5 are odds of 8 to 1; with zeta = 0 all choices are alike."""

    def logs(zeta: Any, estimate: Any) -> Any:
        given = ResponseInput(*[jnp.asarray(estimate)] * 2, *[jnp.zeros(())] * 3)
        distribution = UnitSquare(zeta).distribution(given)
        return jnp.stack([distribution.log_prob(jnp.asarray(choice)) for choice in range(max(np.size(estimate), 2))])

    with double():
        np.testing.assert_allclose(np.exp(logs(1.5, 0.8)), [1 / 9, 8 / 9], rtol=1e-12)
        np.testing.assert_allclose(np.exp(logs(1.0, 0.3)), [0.7, 0.3], rtol=1e-12)
        np.testing.assert_allclose(np.exp(logs(2.0, [0.5, 0.3, 0.2])), np.array([25, 9, 4]) / 38, rtol=1e-12)
        for certain in (0.0, 1.0):
            np.testing.assert_allclose(np.exp(logs(0.0, certain)), [0.5, 0.5], rtol=1e-12)
            slope = jax.grad(lambda zeta, at=certain: logs(zeta, at)[1])(20.0)
            assert np.isfinite([slope, logs(1e6, certain)[1]]).all()


def test_choices_in_contexts_follow_the_context_of_the_trial() -> None:
    table = DataFrame({"a": [0, 1, 0, 1, 0], "b": [1, 0, 1, 0, 1], "choice": [1, 0, 1, 0, 1]})
    columns = Columns(("a", "b"), response="choice")
    trials = read_trials(table, columns, responds_before=True, kind="transitions", response_kind="choice")
    learner = PerContext(Smile(Dirichlet(2)), 2)
    model = Model(learner, Softmax(beta=3.0))
    found = evaluate(model, _one(model, trials), True)
    streams = [Stream(Smile(Dirichlet(2))) for _ in range(2)]
    estimates: list[Any] = [np.full(2, 0.5)] * 2
    for k, (a, b, choice) in enumerate(table.itertuples(index=False)):
        value = 3.0 * estimates[a]
        assert float(found.log_likelihood[k]) == pytest.approx(math.log(np.exp(value)[choice] / np.exp(value).sum()))
        estimates[a] = streams[a].update(b).estimate


def test_an_answer_of_a_sticky_participant_is_the_last_one_or_normal() -> None:
    other = Normal(jnp.array(3.0), jnp.array(2.0))
    answer = Perseverating(other, jnp.array(1.0), jnp.log(0.3), jnp.log(0.7))
    assert float(answer.log_prob(jnp.array(4.0))) == pytest.approx(math.log(0.7) + stats.norm.logpdf(4, 3, 2))
    assert float(answer.log_prob(jnp.array(1.0))) == pytest.approx(math.log(0.3 + 0.7 * stats.norm.pdf(1, 3, 2)))
    draws = np.asarray(jax.vmap(answer.sample)(jax.random.split(jax.random.key(0), 20_000)))
    by_probability = np.diff(stats.norm.cdf([0.5, 1.5], 3, 2))[0]  # answers come in whole numbers
    assert (draws == 1.0).mean() == pytest.approx(0.3 + 0.7 * by_probability, abs=0.01)
    assert (draws == np.round(draws)).all()
    assert draws.mean() == pytest.approx(float(answer.mean), abs=0.05)


def test_someone_who_has_not_answered_yet_has_nothing_to_repeat() -> None:
    given = ResponseInput(*map(jnp.asarray, (3.0, 3.0, 1.0, 0.5, jnp.nan)))
    answer = StickyEstimate(noise=2.0, half=5.0).distribution(given)
    assert float(answer.log_prob(jnp.array(4.0))) == pytest.approx(stats.norm.logpdf(4, 3, 2))
    assert float(answer.mean) == 3.0
    assert np.isfinite(np.asarray(jax.vmap(answer.sample)(jax.random.split(jax.random.key(0), 100)))).all()


@pytest.mark.parametrize("size", [0.0, 2.0])
def test_small_steps_are_left_out_more_often(size: float) -> None:
    given = ResponseInput(*map(jnp.asarray, (size, 0.0, 1.0, 0.5, 0.0)))
    answer = StickyEstimate(noise=1.0, half=1.0, slope=-2.0).distribution(given)
    assert float(jnp.exp(answer.log_same)) == pytest.approx(1 / (1 + math.exp(2 * (size - 1))))


def test_draws_of_choices_have_their_probabilities() -> None:
    answer = Categorical(jnp.log(jnp.array([0.2, 0.5, 0.3])))
    draws = np.asarray(jax.vmap(answer.sample)(jax.random.split(jax.random.key(1), 20_000)))
    np.testing.assert_allclose(np.bincount(draws.astype(int)) / 20_000, [0.2, 0.5, 0.3], atol=0.012)


@pytest.mark.parametrize("before", [True, False])
def test_simulated_answers_are_explained_as_they_were_drawn(before: bool) -> None:
    """Their residuals are standard normal, whether anchored in the answers or not, and there where real ones are."""
    table = _numbers(people=1, steps=2000, seed=5)
    for anchored in (True, False):
        model = Model(SMILE, Estimate(noise=1.5, anchored=anchored))
        data = _one(model, _trials(before, table))
        drawn = simulate(model, data, before, jax.random.key(2))
        assert (jnp.isnan(drawn.responses) == jnp.isnan(data.responses)).all()
        again = evaluate(model, data._replace(responses=drawn.responses), before)
        np.testing.assert_allclose(again.log_likelihood, drawn.log_likelihood, rtol=1e-12)
        off = np.asarray(drawn.responses - drawn.expected)[np.asarray(data.scored)]
        assert stats.kstest(off / 1.5, stats.norm.cdf).pvalue > 0.01


def test_short_names_mean_one_parameter() -> None:
    model = Model(SMILE, Estimate())
    assert find_parameter(parameters(model), "m").path == "learner.m"
    with pytest.raises(ValueError, match=r"'noise' may be learner\.family\.noise or response\.noise; give the whole"):
        find_parameter(parameters(model), "noise")
    with pytest.raises(ValueError, match=r"no parameter 'k'; known are family\.noise, m, response\.noise, growth"):
        Space.of(model, ["k"])
    with pytest.raises(ValueError, match="is a whole number"):
        Space.of(Model(MessagePassing(Gaussian()), Estimate(anchored=False)), ["hypotheses"])


@pytree_dataclass
class Undershoot(Response):
    """Reports less than the estimate: by how much has an upper end, but no lower one."""

    shift: Any = parameter(-1.0, Domain(high=0.0), (-5.0, -0.1), "how far responses are off")
    noise: Any = parameter(1.0, Domain(0.0, open=True), (0.1, 2.0), "standard deviation of responses")
    name: ClassVar[str] = "undershoot"
    takes: ClassVar[tuple[str, ...]] = ("continuous",)
    free: ClassVar[tuple[str, ...]] = ("shift", "noise")
    kind: ClassVar[str] = "estimate"

    def distribution(self, given: ResponseInput) -> Normal:
        return Normal(given.estimate + self.shift, jnp.asarray(self.noise))


def test_a_parameter_with_an_upper_end_alone_is_searched_for() -> None:
    model, free = Model(Delta(0.3), Undershoot()), ["shift", "response.noise"]
    trials = simulate_responses(model, _trials(False), {"shift": -2.0, "response.noise": 0.5})
    found = fit(model, trials, free, starts=3)
    outputs, scored = found.outputs, np.asarray(found.data.scored)
    off = np.where(scored, outputs.responses - outputs.expected + found.values[:, :1], np.nan)
    np.testing.assert_allclose(found.values[:, 0], np.nanmean(off, axis=1), rtol=1e-5)
    np.testing.assert_allclose(found.values[:, 0], -2.0, atol=0.4)
    assert (found.low < found.values).all()
    assert (found.values < found.high).all()
    assert (found.high[:, 0] < 0).all()
    np.testing.assert_allclose(found.error[:, 0], found.values[:, 1] / np.sqrt(found.responses), rtol=1e-3)
    assert found.notes == ("", "", "")
    assert trials.responses is not None
    at_the_end = fit(model, replace(trials, responses=trials.responses + 4.0), free, starts=2)
    assert {note.partition(";")[0] for note in at_the_end.notes} == {"shift is at its upper bound"}
    np.testing.assert_allclose(at_the_end.values[:, 0], 0.0, atol=1e-4)
    again = recover_parameters(model, found.trials, free, participants=12, starts=2)
    assert again.summary().loc["shift", "correlation"] > 0.8
    assert (again.truth[:, 0] < 0).all()
    plt.close(again.plot())


NUMBERS, SILENT = _trials(False), read_trials(_numbers(), Columns("x", subject="id"))
UNWILLING = jax.tree.map(lambda leaf: -leaf if leaf == 0.5 else leaf, Smile(Gaussian(2.0), m=0.5))  # unchecked by JAX


@pytest.mark.parametrize(
    ("model", "trials", "free", "sentence"),
    [
        (Model(SMILE, Softmax()), NUMBERS, ["beta"], "are numbers, which Softmax does not give"),
        (Model(SMILE, Estimate()), NUMBERS, [], "nothing is free"),
        (Model(MessagePassing(Gaussian(2.0)), Estimate()), NUMBERS, ["hazard"], "cannot go on from someone's answer;"),
        (Model(SMILE, Readout()), _trials(True), ["m"], "comes after it"),
        (Model(SMILE, Estimate()), SILENT, ["m"], "there are no responses"),
        (Model(UNWILLING, Estimate()), NUMBERS, ["m"], "m = -0.5 is not allowed; give a finite number"),
    ],
)
def test_models_that_cannot_have_answered_so_are_refused(model: Any, trials: Any, free: Any, sentence: str) -> None:
    with pytest.raises(ValueError, match=re.escape(sentence)):
        fit(model, trials, free, starts=1)


def test_participants_who_tell_nothing_are_left_out_and_said() -> None:
    table = _numbers()
    table.loc[table.id == "p1", "after"] = 4.0
    table.loc[(table.id == "p2") & (table.index % 40 > 1), "after"] = np.nan
    found = fit(Model(Delta(), Estimate()), _trials(False, table), ["learning_rate", "response.noise"], starts=1)
    assert found.trials.subjects == ("p0",)
    assert found.excluded == {"p1": "all responses are 4", "p2": "2 responses cannot tell 2 parameters"}
    nobody = table[table.id == "p1"]
    with pytest.raises(ValueError, match=r"no participant can be fitted \(p1: all responses are 4\)"):
        fit(Model(Delta(), Estimate()), _trials(False, nobody), ["learning_rate", "response.noise"])


def test_learners_go_on_from_an_answer_and_stay_as_sure() -> None:
    coin = Smile(Beta())
    belief = coin.with_estimate(Beta().prior(ones=4.0, zeros=2.0), 0.25)
    assert (float(belief.mean), float(belief.ones + belief.zeros)) == pytest.approx((0.25, 6.0))
    assert float(coin.with_estimate(Beta().prior(), 0.0).ones) > 0
    assert SMILE.with_estimate(SMILE.init(), 4.0).mean == 4.0
    assert float(Delta().with_estimate(jnp.zeros(()), 4.0)) == 4.0


def test_a_fit_can_be_read_and_used() -> None:
    found: Fit = fit(Model(SMILE, Estimate()), _trials(False), ["m", "response.noise"], starts=2)
    assert found.table().shape == (6, 7)
    assert found.table().parameter.tolist() == ["m", "noise"] * 3
    assert found.model_of("p1").learner.m == pytest.approx(found.values[1, 0])  # type: ignore[attr-defined]
    assert "a fit to 3 participants" in repr(found)
    assert found.people().columns.tolist()[:3] == ["participant", "m", "noise"]
    assert np.isfinite(found.people()[["log_likelihood", "aic", "bic"]].to_numpy()).all()
    assert found.outputs.learning_rate.shape == found.trials.observed.shape


def test_the_function_at_the_door_fits_models_to_participants() -> None:
    assert astonish.fit is fit
    assert "fit" in dir(astonish)
    assert "fit" not in astonish.__all__  # it needs pandas, which the others do not


def test_rooms_about_people_can_be_imported_in_any_order() -> None:
    program = """
import sys
from importlib import import_module
for room in ("comparison", "recovery", "posterior", "fit", "analysis.commands"):
    for name in [name for name in sys.modules if name.partition(".")[0] == "astonish"]:
        del sys.modules[name]
    import_module(f"astonish.people.{room}")
"""
    subprocess.run([sys.executable, "-c", program], check=True)

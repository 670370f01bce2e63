"""Recovery: simulated answers against plain loops, what is found against least squares, and summaries by hand."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest
from matplotlib import pyplot as plt
from pandas import DataFrame
from scipy import special, stats

from astonish import Delta, Dirichlet, Gaussian, Leaky, Nassar2012, PerContext, Smile
from astonish.people.fit import (
    Estimate,
    Model,
    Softmax,
    fit,
    plan_trials,
    recover_models,
    recover_parameters,
    simulate_responses,
)
from astonish.people.fit.space import Space
from astonish.people.recovery import Confusion, Recovery, trials_needed
from astonish.people.recovery.simulation import repeated, true_values
from astonish.people.tables import Trials, read_trials
from astonish.worlds.gaussian_jumps import many_gaussian_jumps

PEOPLE, STEPS = 60, 200
EPISODES = many_gaussian_jumps(STEPS, range(PEOPLE))
TASK = plan_trials(EPISODES, responds_before=False)
DELTA = Model(Delta(0.4), Estimate(2.0))
SMILE = Model(Smile(Gaussian(4.0)), Estimate(2.0))
NASSAR = Model(Nassar2012(noise=4.0, hazard=0.066), Estimate(2.0))
FREE = ["learning_rate", "response.noise"]
SPREAD = {"learning_rate": 0.7, "response.noise": 0.3}


@pytest.fixture(scope="module")
def found() -> Recovery:
    with jax.enable_x64(True):
        return recover_parameters(DELTA, TASK, FREE, participants=PEOPLE, spread=SPREAD, starts=2)


def _gappy() -> Trials:
    samples = EPISODES.samples[:3, :40].copy()
    samples[1, 5:8] = np.nan
    noise = np.where(np.arange(40) < 20, 4.0, 8.0)
    return plan_trials(samples, responds_before=True, blocks=20, given={"noise": noise})


def _walks() -> Trials:
    walk = np.array(["left", "middle", "right"])[np.random.default_rng(1).integers(0, 3, (2, 51))]
    return plan_trials((walk[:, :-1], walk[:, 1:]), responds_before=True, response_kind="choice")


@pytest.mark.parametrize(
    ("trials", "model"),
    [(_gappy(), NASSAR), (_walks(), Model(PerContext(Leaky(Dirichlet(3)), 3), Softmax(beta=3.0)))],
    ids=["numbers", "transitions"],
)
def test_simulated_trials_are_those_that_their_own_table_tells(trials: Trials, model: Model) -> None:
    made = simulate_responses(model, repeated(trials, len(trials) + 2), seed=3)
    same: Any = {name: getattr(made, name) for name in ("kind", "response_kind", "responds_before", "labels")}
    read = read_trials(made.frame, made.columns, **same)
    for name in ("subjects", "outcomes", "observed", "starts", "rows", "responses", "scored", "given"):
        jax.tree.map(np.testing.assert_array_equal, getattr(made, name), getattr(read, name))
    assert made.responses is not None
    assert np.isfinite(made.responses).all()
    assert (made.responses[0] != made.responses[len(trials)]).any()  # the same trials, another participant
    np.testing.assert_array_equal(made.observed[0], made.observed[len(trials)])


def test_answers_come_where_there_are_some_and_follow_the_answers_before() -> None:
    responses = np.where(np.arange(STEPS) % 7 == 3, np.nan, 0.0) + np.zeros((PEOPLE, 1))
    sparse = replace(TASK, responses=responses, scored=np.isfinite(responses))
    rates = np.linspace(0.1, 0.9, PEOPLE)
    made = simulate_responses(DELTA, sparse, {"learning_rate": rates, "response.noise": 1.5}, seed=1).responses
    assert made is not None
    np.testing.assert_array_equal(np.isnan(made), np.isnan(responses))
    estimate, residuals = np.zeros(PEOPLE), []
    for x, answer in zip(TASK.outcomes.T, made.T, strict=True):
        estimate = estimate + rates * (x - estimate)
        residuals.append((answer - estimate) / 1.5)
        estimate = np.where(np.isnan(answer), estimate, answer)
    known = np.stack(residuals).ravel()
    assert stats.kstest(known[np.isfinite(known)], "norm").pvalue > 0.01


def test_a_participant_answers_alike_whoever_else_takes_part() -> None:
    others = simulate_responses(DELTA, TASK.only(("1", "2", *TASK.subjects[:1:-1])))
    some = simulate_responses(DELTA, TASK)
    assert some.responses is not None
    assert others.responses is not None
    np.testing.assert_array_equal(some.responses[:2], others.responses[:2])
    assert (some.responses != simulate_responses(DELTA, TASK, seed=1).responses).all()


def test_rates_are_found_as_least_squares_finds_them(found: Recovery) -> None:
    """Of someone who goes on from each answer, the rate is the slope of steps over errors."""
    made = found.fit.trials
    assert made.responses is not None
    last = np.concatenate([np.zeros((PEOPLE, 1)), made.responses[:, :-1]], axis=1)
    error, step = made.outcomes - last, made.responses - last
    slope = (error * step).sum(1) / (error**2).sum(1)
    noise = np.sqrt(((step - slope[:, None] * error) ** 2).mean(1))
    np.testing.assert_allclose(found.fit.values, np.stack([slope, noise], axis=1), rtol=1e-5)


def test_the_summary_is_that_of_the_table(found: Recovery) -> None:
    table, summary = found.table(), found.summary()
    for name, scale in (("learning_rate", special.logit), ("noise", np.log)):
        own, row = table[table["parameter"] == name], summary.loc[name]
        error = scale(own["found"]) - scale(own["true"])
        held = (own["low"] <= own["true"]) & (own["true"] <= own["high"])
        expected = stats.pearsonr(scale(own["true"]), scale(own["found"]))
        assert row["correlation"] == pytest.approx(expected[0])
        ends = expected.confidence_interval(0.95)
        assert [row["correlation_low"], row["correlation_high"]] == pytest.approx([ends.low, ends.high], abs=1e-4)
        assert row["bias"] == pytest.approx(error.mean())
        assert row["rmse"] == pytest.approx(np.sqrt((error**2).mean()))
        assert row["coverage"] == pytest.approx(held.mean())
        assert row["width"] == pytest.approx((scale(own["high"]) - scale(own["low"])).median())
        assert row["coverage_se"] == pytest.approx(np.sqrt(0.95 * 0.05 / PEOPLE))
        assert row[["participants", "at_bound", "not_told"]].tolist() == [PEOPLE, 0, 0]


def test_truth_is_drawn_about_the_model_with_the_spread_that_is_given() -> None:
    """A sixth of the range in which values usually lie, where none is given."""
    space, rng = Space.of(DELTA, FREE), np.random.default_rng(0)
    truth = true_values(DELTA, TASK, space, 2000, None, None, rng)
    xs = np.stack([special.logit(truth[:, 0]), np.log(truth[:, 1])], axis=1)
    np.testing.assert_allclose(xs.mean(0), [special.logit(0.4), np.log(2.0)], atol=0.06)
    usual = [np.ptp(special.logit([0.05, 0.95])), np.ptp(np.log([0.01, 0.3]))]
    np.testing.assert_allclose(xs.std(0), np.array(usual) / 6, rtol=0.06)
    given = true_values(DELTA, TASK, space, 2000, None, SPREAD, rng)
    np.testing.assert_allclose(special.logit(given[:, 0]).std(), 0.7, rtol=0.06)
    np.testing.assert_allclose(np.log(given[:, 1]).std(), 0.3, rtol=0.06)
    less = true_values(DELTA, TASK, space, 2000, None, {"learning_rate": 0.0, "response.noise": 0.1}, rng)
    np.testing.assert_allclose(less[:, 0], 0.4)
    assert np.log(less[:, 1]).std() == pytest.approx(0.1, rel=0.06)


def test_truth_may_be_told_or_be_what_a_fit_has_found(found: Recovery) -> None:
    values = np.array([[0.2, 1.0], [0.6, 3.0]])
    same: Any = {"participants": PEOPLE, "starts": 2}
    told = recover_parameters(DELTA, TASK, FREE, truth=values, **same)
    np.testing.assert_array_equal(told.truth, np.tile(values, (PEOPLE // 2, 1)))
    by_name = DataFrame({"response.noise": values[:, 1], "learning_rate": values[:, 0]})
    named = recover_parameters(DELTA, TASK, FREE, truth=by_name, **same)
    np.testing.assert_array_equal(named.fit.unconstrained, told.fit.unconstrained)
    fitted = recover_parameters(DELTA, TASK, FREE, truth=found.fit, **same)
    assert all((row == found.fit.values).all(1).any() for row in fitted.truth)
    assert len(np.unique(fitted.truth, axis=0)) > 20


def test_those_at_a_bound_and_those_who_cannot_be_fitted_are_counted_apart() -> None:
    """In a few trials with much noise a rate is often 0 for all that can be told; the first two answer twice only."""
    there = np.arange(STEPS) < np.where(np.arange(PEOPLE) < 2, 2, 12)[:, None]
    short = replace(TASK, responses=np.where(there, 0.0, np.nan), scored=there)
    noisy = Model(Delta(0.05), Estimate(10.0))
    found = recover_parameters(noisy, short, FREE, participants=PEOPLE, starts=2)
    table, row = found.table(), found.summary().loc["learning_rate"]
    own = table[table["parameter"] == "learning_rate"]
    bound = own["note"].str.contains("learning_rate is at its").to_numpy()
    gone = own["note"].str.contains("cannot tell").to_numpy()
    assert gone.tolist() == [True, True] + [False] * (PEOPLE - 2)
    assert own["found"].isna().to_numpy().tolist() == gone.tolist()
    assert 0 < bound.sum() < PEOPLE - 10
    assert row[["participants", "at_bound", "not_told"]].tolist() == [PEOPLE - 2 - bound.sum(), bound.sum(), 2]
    kept = own[~bound & ~gone]
    related = stats.pearsonr(special.logit(kept["true"]), special.logit(kept["found"]))[0]
    assert row["correlation"] == pytest.approx(related)
    plt.close(found.plot())


def test_smile_is_recovered_and_told_apart_from_others() -> None:
    """The Gaussian task of the paper: m is found, its intervals hold it, and the true model is chosen."""
    found = recover_parameters(SMILE, TASK, ["m", "response.noise"], participants=PEOPLE, starts=2).summary()
    assert found.loc["m", "correlation"] > 0.9
    assert (abs(found["coverage"] - 0.95) < 3 * found["coverage_se"]).all()
    free = {"SMiLe": (SMILE, "m"), "delta": (DELTA, "learning_rate"), "Nassar": (NASSAR, "hazard")}
    models = {name: (model, (parameter, "response.noise")) for name, (model, parameter) in free.items()}
    shares: list[float] = []
    confusion = recover_models(models, TASK, participants=PEOPLE // 3, starts=2, progress=shares.append)
    assert (np.diagonal(confusion.matrix()) > 0.8).all()
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    for criterion, penalty in (("bic", 2 * np.log(STEPS)), ("aic", 4.0)):
        np.testing.assert_allclose(confusion.table[criterion], penalty - 2 * confusion.table["log_likelihood"])


def test_the_confusion_matrix_and_its_inverse() -> None:
    """Of four participants of each model: a is chosen for a 3 times, for b once; c never."""
    rows = []
    for k, (true, chosen) in enumerate(zip("aaaabbbbcccc", "aaababbbbbbb", strict=True)):
        for name in "abc":
            rows.append((str(k), true, name, -5.0 if name == chosen else 0.0, 0.0 if name == "c" else 1.0))
    columns = ["participant", "simulated", "fitted", "bic", "aic"]
    found = Confusion(("a", "b", "c"), DataFrame(rows, columns=columns))
    np.testing.assert_allclose(found.matrix(), [[0.75, 0.25, 0.0], [0.25, 0.75, 0.0], [0.0, 1.0, 0.0]])
    np.testing.assert_allclose(found.inverse(), [[0.75, 0.125, np.nan], [0.25, 0.375, np.nan], [0.0, 0.5, np.nan]])
    np.testing.assert_allclose(found.matrix("aic"), [[0.0, 0.0, 1.0]] * 3)
    figure = found.plot()
    texts = [[text.get_text() for text in axis.texts] for axis in figure.axes[:2]]
    assert texts[0][:2] == ["0.75", "0.25"]
    assert texts[1][2] == "-"
    plt.close(figure)
    with pytest.raises(ValueError, match="criterion = 'dic' is not known; give one of bic, aic"):
        found.matrix("dic")


def test_fewer_trials_are_a_table_that_ends_earlier() -> None:
    needed = trials_needed(DELTA, TASK, FREE, counts=(200, 50), participants=PEOPLE, starts=2)
    assert list(needed.recoveries) == [50, 200]
    made = needed.recoveries[200].fit.trials
    early = made.frame.groupby("participant", sort=False).head(50)
    short = read_trials(early, made.columns, responds_before=False, response_kind="continuous")
    np.testing.assert_allclose(needed.recoveries[50].fit.values, fit(DELTA, short, FREE, starts=2).values, rtol=1e-5)
    table = needed.table().set_index(["parameter", "trials"])
    for name in ("learning_rate", "noise"):
        assert table.loc[(name, 50), "width"] / table.loc[(name, 200), "width"] == pytest.approx(2, rel=0.15)
        assert table.loc[(name, 200), "correlation"] > table.loc[(name, 50), "correlation"]
    figure = needed.plot()
    curve = table.loc["learning_rate", "correlation"].reset_index()
    np.testing.assert_allclose(figure.axes[0].lines[0].get_xydata(), curve)
    plt.close(figure)


def test_the_drawing_shows_true_and_found_values(found: Recovery) -> None:
    figure = found.plot()
    axis, row = figure.axes[0], found.summary().loc["learning_rate"]
    points = np.asarray(axis.containers[0].lines[0].get_xydata())
    np.testing.assert_allclose(special.expit(points[:, 0]), found.truth[:, 0])
    np.testing.assert_allclose(special.expit(points[:, 1]), found.fit.values[:, 0])
    title = f"learning_rate: r = {row['correlation']:.2f}\n95 % interval: {100 * row['coverage']:.0f} %"
    assert axis.get_title() == title
    assert axis.get_xlim() == axis.get_ylim()
    plt.close(figure)


def test_what_is_finished_is_kept(tmp_path: Path, found: Recovery) -> None:
    again: Any = {"participants": PEOPLE, "spread": SPREAD, "starts": 2, "checkpoint": tmp_path}
    first = recover_parameters(DELTA, TASK, FREE, **again)
    files = {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    second = recover_parameters(DELTA, TASK, FREE, **again)
    assert {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()} == files
    np.testing.assert_array_equal(first.fit.unconstrained, second.fit.unconstrained)
    np.testing.assert_allclose(first.fit.unconstrained, found.fit.unconstrained, rtol=1e-4, atol=1e-5)


OTHER = Model(Delta(), Estimate(anchored=False))
BEFORE = replace(TASK, responds_before=True)
REFUSED: list[tuple[Any, str]] = [
    (lambda: plan_trials(np.zeros((2, 3, 4)), responds_before=False), r"shape \(2, 3, 4\); give a row for each"),
    (lambda: plan_trials((np.zeros((2, 3)), np.zeros((2, 4)))), r"shape \(2, 3\) and \(2, 4\); give"),
    (lambda: plan_trials(np.zeros((2, 5)), responds_before=False, blocks=0), "blocks = 0 is not allowed"),
    (lambda: simulate_responses(DELTA, TASK, {"learning_rate": [0.1, 0.2]}), r"shape \(2,\); give one number, or one"),
    (lambda: simulate_responses(DELTA, TASK, {"learning_rate": 1.5}), "learning_rate = 1.5 is not allowed"),
    (lambda: recover_parameters(DELTA, TASK, ["tempo"]), "there is no parameter 'tempo'"),
    (lambda: recover_parameters(DELTA, TASK, ["growth"]), "response.growth of the model is at its bound"),
    ({"participants": 0}, "participants = 0 is not allowed"),
    ({"spread": {"start": 1.0}}, "spread names learner.start, which is not"),
    ({"spread": {"learning_rate": -1.0}}, "spread of learning_rate = -1 is not allowed"),
    ({"truth": [[0.1]]}, r"truth has shape \(1, 1\); give a row for each"),
    ({"truth": [[1.1, 2.0]]}, "learning_rate = 1.1 is not allowed"),
    ({"truth": {"learning_rate": [0.1]}}, "truth does not say response.noise"),
    ({"truth": [[0.1, 2.0]], "spread": {"learning_rate": 1.0}}, "truth was given; give one of them"),
    (lambda: recover_models({"delta": (DELTA, FREE)}, TASK), "there are 1 models to choose from; give at least two"),
    (
        lambda: recover_models({"a": (DELTA, FREE), "b": (NASSAR, ["hazard"])}, TASK, truth={"c": [[0.1]]}),
        "truth names 'c', which is no model; known are a, b",
    ),
    (
        lambda: recover_models({"a": (DELTA, FREE), "b": (OTHER, FREE)}, BEFORE),
        "a and b do not explain the same responses",
    ),
    (lambda: trials_needed(DELTA, TASK, FREE), "nobody has 800 trials, the longest series has 200; give counts up to"),
    (lambda: trials_needed(DELTA, TASK, FREE, counts=()), "counts is empty"),
]


@pytest.mark.parametrize(("call", "sentence"), REFUSED, ids=[sentence[:20] for _, sentence in REFUSED])
def test_what_cannot_be_is_refused(call: Any, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        _ = recover_parameters(DELTA, TASK, FREE, **call) if isinstance(call, dict) else call()

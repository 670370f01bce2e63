"""Behaviour beside a model's: learning rates, repeated choices, how well responses are explained, and figures."""

from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import pytest

from astonish import Delta, NoLearning, PerOption
from astonish.people.fit import Estimate, Fit, Model, Softmax, fit, plan_trials, simulate_responses
from astonish.people.fit.description import (
    LAGS,
    PEOPLE,
    mse,
    r_squared,
    rates_around_changes,
    rates_by_error,
    repeats,
    repeats_by_outcome,
    steps,
)
from astonish.people.fit.plot import plot_behaviour, plot_participant
from astonish.people.tables import Columns, read_trials
from astonish.worlds import bandit


@pytest.fixture(scope="module", params=[True, False], ids=["before", "after"])
def followed(request: pytest.FixtureRequest) -> Fit:
    """People who follow at a rate of 0.4, and at 0.9 just after a change."""
    rng, rows = np.random.default_rng(0), []
    for who in range(3):
        for block in range(2):
            answer, mean = 0.0, 0.0
            for t in range(40):
                changed = t % 10 == 5
                mean = rng.normal(0, 20) if changed else mean
                x = mean + rng.normal()
                new = answer + (0.9 if changed else 0.4) * (x - answer)
                rows.append((who, block, x, answer if request.param else new, int(changed)))
                answer = new
    table = pd.DataFrame(rows, columns=["id", "block", "x", "b", "jump"])
    trials = read_trials(table, Columns("x", "id", "block", "b", change="jump"), responds_before=request.param)
    return fit(Model(Delta(0.5, start=0.0), Estimate(1.0)), trials, ["learning_rate", "noise"], starts=1)


def test_steps_are_those_of_the_table(followed: Fit) -> None:
    table = steps(followed)
    known = table[table.error.abs() > 1e-9]
    rate = known.step / known.error
    after = known.lag == 0
    np.testing.assert_allclose(rate[after], 0.9, rtol=1e-6)
    np.testing.assert_allclose(rate[~after], 0.4, rtol=1e-6)
    assert len(table) == 3 * 2 * 39  # not the first of a block
    fitted = followed.values[:, 0][table.participant.astype(int)]
    np.testing.assert_allclose(table.model_step, fitted * table.model_error, atol=1e-9)
    assert set(table.lag.dropna()) <= set(LAGS)
    assert (table.lag == 0).sum() == 3 * 2 * 4


def test_rates_by_error_and_around_changes(followed: Fit) -> None:
    around = rates_around_changes({"delta": followed})
    assert around is not None
    of_people = around[around.of == PEOPLE].set_index("lag").rate
    assert of_people[0] == pytest.approx(0.9)
    assert of_people[1] == pytest.approx(0.4)
    of_model = around[around.of == "delta"].set_index("lag").rate
    np.testing.assert_allclose(of_model, followed.values[:, 0].mean(), atol=1e-6)
    by_error = rates_by_error({"delta": followed})
    assert by_error[by_error.of == PEOPLE].rate.iloc[-1] > by_error[by_error.of == PEOPLE].rate.iloc[0]
    assert (by_error.groupby("of").error.apply(lambda sizes: sizes.is_monotonic_increasing)).all()


def test_figures_of_numbers(followed: Fit) -> None:
    left, right = plot_behaviour({"delta": followed}).axes
    assert [text.get_text() for text in left.get_legend().get_texts()] == [PEOPLE, "delta"]
    assert right.get_xlabel() == "outcomes since a change (0: the first)"
    axis = plot_participant(followed, "1").axes[0]
    assert axis.get_title(loc="left") == "participant 1"
    shown = axis.lines[1].get_ydata()
    np.testing.assert_array_equal(shown, followed.outputs.responses[1])
    with pytest.raises(ValueError, match="there is no participant '9'; give one of 0, 1, 2"):
        plot_participant(followed, "9")


def test_how_well_numbers_are_explained(followed: Fit) -> None:
    for row in range(3):
        there = followed.data.scored[row]
        responses, expected = followed.data.responses[row][there], followed.outputs.expected[row][there]
        errors = np.square(responses - expected)
        assert mse(followed)[row] == pytest.approx(errors.mean())
        assert r_squared(followed)[row] == pytest.approx(1 - errors.mean() / responses.var())


@pytest.fixture(scope="module")
def chosen() -> Fit:
    model = Model(PerOption(Delta(0.4, start=0.5), 3), Softmax(5.0))
    task = bandit.many(bandit.reversal, 60, range(4), probabilities=(0.9, 0.2, 0.1))
    return fit(model, simulate_responses(model, plan_trials(task, blocks=30)), ["learning_rate", "beta"], starts=1)


def test_repeated_choices_are_those_of_the_table(chosen: Fit) -> None:
    table, by_hand = repeats(chosen), []
    frame = chosen.trials.frame
    for who, own in frame.groupby("participant"):
        probabilities = chosen.outputs.probabilities[chosen.trials.subjects.index(str(who))]
        after = [row for _, part in own.groupby("block") for row in list(part.itertuples())[:-1]]
        mean = np.mean([float(row.reward) for row in after])
        for _, part in own.groupby("block"):
            for one, other in pairwise(part.itertuples()):
                at = other.Index - own.index[0]
                by_hand.append((one.choice == other.choice, probabilities[at, one.choice - 1], one.reward - mean))
    np.testing.assert_allclose(table[["repeated", "model_repeated", "outcome"]], np.array(by_hand, float))
    summary = repeats_by_outcome({"delta": chosen}).set_index(["of", "after"]).rate
    own = table[table.outcome > 0].groupby("participant").repeated.mean().mean()
    assert summary[(PEOPLE, "better")] == pytest.approx(own)
    assert summary[("delta", "better")] > summary[("delta", "worse")]
    assert rates_around_changes({"delta": chosen}) is None  # the table does not say when


def test_figures_of_choices(chosen: Fit) -> None:
    assert len(plot_behaviour({"delta": chosen}).axes) == 1
    axis = plot_participant(chosen).axes[0]
    assert [line.get_label() for line in axis.lines[:3]] == [f"P({k}), the model" for k in (1, 2, 3)]


def test_how_well_choices_are_explained(chosen: Fit) -> None:
    """McFadden's: 1 - log-likelihood / that of choosing at random."""
    assert np.isnan(mse(chosen)).all()
    at_random = 60 * np.log(1 / 3)
    assert r_squared(chosen) == pytest.approx(1 - chosen.log_likelihood / at_random)
    assert (r_squared(chosen) > 0.1).all()


def test_the_baseline_never_learns(followed: Fit) -> None:
    baseline = fit(Model(NoLearning(0.0), Estimate(1.0)), followed.trials, ["noise"], starts=1)
    last = steps(baseline)
    np.testing.assert_allclose(last.model_step, 0, atol=1e-12)
    assert (baseline.log_likelihood < followed.log_likelihood).all()
    free = fit(Model(NoLearning(0.0), Estimate(1.0, anchored=False)), followed.trials, ["start", "noise"], starts=1)
    responses = [own[there] for own, there in zip(free.data.responses, free.data.scored, strict=True)]
    assert free.values[:, 0] == pytest.approx([np.mean(own) for own in responses], abs=1e-3)
    assert r_squared(free) == pytest.approx(np.zeros(3), abs=1e-6)


def test_people_who_choose_without_learning(chosen: Fit) -> None:
    table = pd.DataFrame({"x": np.tile([0, 1], 20), "c": [1, 1, 1, 0] * 10})
    trials = read_trials(table, Columns("x", response="c"), responds_before=True)
    any_model: Any = Model(NoLearning(0.5), Softmax(3.0))
    found = fit(any_model, trials, ["start"], starts=2)
    assert np.exp(found.log_likelihood[0] / 40) == pytest.approx(np.exp(0.75 * np.log(0.75) + 0.25 * np.log(0.25)))

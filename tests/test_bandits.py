"""Choices with consequences: learners of options, their likelihood, simulations, tasks and published data."""

from itertools import pairwise
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest

from astonish import HGF, Beta, Delta, MessagePassing, PerOption, Smile, run
from astonish.learners.base import check
from astonish.people.fit import (
    Model,
    Softmax,
    UnitSquare,
    fit,
    plan_trials,
    recover_models,
    recover_parameters,
    simulate_responses,
)
from astonish.people.fit.likelihood import evaluate, participant_data
from astonish.people.posterior.checks import statistics
from astonish.people.tables import Columns, read_trials
from astonish.people.tables.facts import choose
from astonish.people.tables.regressors import regressors
from astonish.people.tables.trials import with_payoffs
from astonish.worlds import bandit


def _table(options: int = 3, people: int = 2, steps: int = 25) -> pd.DataFrame:
    """Random choices and rewards; some choices are missing, some outcomes of others are not shown."""
    rng = np.random.default_rng(3)
    size = people * steps
    table = pd.DataFrame({
        "id": np.repeat(np.arange(people), steps),
        "block": np.tile(np.arange(steps) // 15, people),
        "choice": rng.integers(options, size=size).astype(object),
        **{f"pay{k}": rng.normal(k, 1.0, size) for k in range(options)},
    })  # fmt: skip
    table["reward"] = [np.nan if k is None else row[f"pay{k}"] for k, row in zip(table.choice, table.iloc, strict=True)]
    table.loc[4, ["choice", "reward"]] = None
    table.loc[9, "reward"] = None
    return table


def _by_hand(own: pd.DataFrame, shown: Any, rate: float, start: float, decay: float, softmax: Softmax) -> list[float]:
    """The log-probability of each choice of one participant, in a plain loop. shown: which outcomes of others are."""
    found, block = [], None
    for k, row in enumerate(own.itertuples(index=False)):
        if row.block != block:
            values, last, block = np.full(3, start), None, row.block
        if row.choice is None:
            found.append(0.0)
            continue
        odds = np.exp(softmax.beta * values + softmax.perseveration * (np.arange(3) == last))
        probabilities = (1 - softmax.lapse) * odds / odds.sum() + softmax.lapse / 3
        found.append(float(np.log(probabilities[row.choice])))
        last = row.choice
        if np.isnan(row.reward):
            continue
        for option in range(3):
            if option == row.choice or shown[k, option]:
                values[option] += rate * (getattr(row, f"pay{option}") - values[option])
            else:
                values[option] += decay * (start - values[option])
    return found


@pytest.mark.parametrize("counterfactual", [False, True])
def test_the_likelihood_is_that_of_a_plain_loop(counterfactual: bool) -> None:
    table, rng = _table(), np.random.default_rng(5)
    hidden = rng.random((len(table), 3)) < 0.4
    shown = table.copy()
    for k in range(3):
        shown.loc[hidden[:, k], f"pay{k}"] = np.nan
    names = ("pay0", "pay1", "pay2") if counterfactual else ()
    columns = Columns("reward", subject="id", block="block", choice="choice", counterfactual=names)
    trials = read_trials(shown, columns)
    softmax = Softmax(1.3, perseveration=0.4, lapse=0.1)
    model = Model(PerOption(Delta(0.3, start=0.5), 3, decay=0.2, counterfactual=counterfactual), softmax)
    data = jax.tree.map(jnp.asarray, participant_data(model, trials))
    seen = ~hidden if counterfactual else np.zeros_like(hidden)
    for who in range(2):
        own = jax.tree.map(lambda part, who=who: part[who], data)
        rows = np.flatnonzero(table.id == who)
        by_hand = _by_hand(table.iloc[rows], seen[rows], 0.3, 0.5, 0.2, softmax)
        np.testing.assert_allclose(evaluate(model, own, True).log_likelihood, by_hand, rtol=1e-11, atol=1e-13)


def test_only_the_copy_of_the_option_chosen_learns() -> None:
    samples = [(0, 1), (2, 0), (0, 1), (1, 1), (2, 1)]
    found = run(PerOption(Smile(Beta(), m=0.5), 3), samples)
    for option in range(3):
        alone = run(Smile(Beta(), m=0.5), [x for k, x in samples if k == option])
        assert float(found.estimate[-1, option]) == pytest.approx(float(alone.estimate[-1]), rel=1e-12)
        assert found.surprise[[k == option for k, _ in samples]] == pytest.approx(alone.surprise, rel=1e-12)


def test_what_cannot_be_learned_per_option_is_refused() -> None:
    with pytest.raises(ValueError, match="MessagePassing cannot go on from someone's answer"):
        check(PerOption(MessagePassing(Beta()), 2, decay=0.1))
    check(PerOption(MessagePassing(Beta()), 2))
    with pytest.raises(ValueError, match="decay = 2 is not allowed; give a finite number from 0 to 1"):
        check(PerOption(Delta(), 2, decay=2.0))
    with pytest.raises(ValueError, match="PerOption estimates 2 numbers; give a learner that estimates one for an opt"):
        check(PerOption(PerOption(Delta(), 2), 2))


@pytest.mark.parametrize(
    ("columns", "asked", "sentence"),
    [
        ({"choice": None, "payoffs": ("pay0",)}, {}, "are about options; name the column of the choice"),
        ({"response": "pay1"}, {}, "a choice is the response, and its outcome is one column"),
        ({}, {"responds_before": False}, "a choice comes before its outcome; leave out responds_before"),
        ({}, {"options": [1]}, "choice holds only 1, which is no choice; name all options"),
        ({}, {"options": [0, 1, 1]}, "options = 0, 1, 1 names one twice"),
        (
            {"payoffs": ("pay0", "pay1")},
            {},
            "--payoff was given 2 times; give a column for each of the options 0, 1, 2",
        ),
        ({"payoffs": ("pay1", "pay0", "pay2")}, {}, "on trial [0-9]+ of participant 0 .* name payoffs in the order of"),
    ],
)
def test_what_is_said_about_options_is_checked(columns: dict[str, Any], asked: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        read_trials(_table(), Columns("reward", **{"subject": "id", "choice": "choice", **columns}), **asked)


def test_an_option_that_nobody_chose_can_be_named() -> None:
    trials = read_trials(_table(2), Columns("reward", subject="id", choice="choice"), options=[0, 1, 7])
    assert trials.options == (0, 1, 7)
    assert "choice choice: one of 0, 1, 7; 1 missing" in trials.preview()
    assert not trials.observed[0, [4, 9]].any()
    with pytest.raises(ValueError, match="nobody chose 7, so what it would pay is not known"):
        with_payoffs(trials)
    learner = choose("delta", trials, {"start": 0.0, "decay": 0.3})
    assert learner.code == "PerOption(Delta(learning_rate=0.1, start=0.0), 3, decay=0.3)".replace(
        "learning_rate=0.1, ", ""
    )


def test_models_that_cannot_choose_among_options_are_refused() -> None:
    trials = read_trials(_table(), Columns("reward", subject="id", choice="choice"))
    for model, sentence in (
        (Model(Delta(), Softmax()), r"Delta does not estimate each of 3 options; give PerOption\(Delta"),
        (Model(PerOption(Delta(), 2), Softmax()), "does not estimate each of 3 options"),
        (Model(PerOption(Delta(), 3), UnitSquare()), "UnitSquare reads probabilities, but rewards go from"),
    ):
        with pytest.raises(ValueError, match=sentence):
            fit(model, trials, ["beta" if "Softmax" in str(model) else "zeta"])


def test_rewards_keep_their_values() -> None:
    table = pd.DataFrame({"c": ["left", "right"] * 3, "r": [-1, 1, 1, -1, 1, 1]})
    trials = read_trials(table, Columns("r", choice="c"))
    assert trials.kind == "continuous"
    assert trials.scalar_outcomes.tolist() == [table.r.tolist()]
    assert trials.options == ("left", "right")


def _simulated(counterfactual: bool = False, people: int = 12) -> tuple[Model, Any]:
    plan = plan_trials(bandit.many(bandit.reversal, 60, range(people)), blocks=30, counterfactual=counterfactual)
    model = Model(PerOption(Delta(0.4, start=0.5), 2, counterfactual=counterfactual), Softmax(4.0))
    return model, simulate_responses(model, plan, {"learning_rate": np.linspace(0.1, 0.9, people)}, seed=2)


@pytest.mark.parametrize("counterfactual", [False, True])
def test_simulated_people_are_paid_for_what_they_chose(counterfactual: bool) -> None:
    _, trials = _simulated(counterfactual)
    table = trials.frame
    paid = np.where(table.choice == 1, table.payoff_1, table.payoff_2)
    assert (table.reward == paid).all()
    assert 0.2 < (table.choice == 1).mean() < 0.8
    names = ("payoff_1", "payoff_2") if counterfactual else ()
    columns = Columns("reward", "participant", "block", choice="choice", counterfactual=names)
    again = read_trials(table, columns, options=(1, 2))
    jax.tree.map(np.testing.assert_array_equal, again.outcomes, trials.outcomes)
    np.testing.assert_array_equal(again.responses, trials.responses)


def test_the_one_column_of_what_the_other_option_paid() -> None:
    """It says the same as a column for each option."""
    model, trials = _simulated(counterfactual=True)
    table = trials.frame.assign(other=np.where(trials.frame.choice == 1, trials.frame.payoff_2, trials.frame.payoff_1))
    columns = Columns("reward", "participant", "block", choice="choice", counterfactual=("other",))
    again = read_trials(table, columns)
    jax.tree.map(np.testing.assert_array_equal, again.outcomes, trials.outcomes)
    assert again.payoffs is not None
    redone = simulate_responses(model, again, seed=3).frame
    paid = np.where(redone.choice == 1, redone.payoff_2, redone.payoff_1)
    np.testing.assert_array_equal(redone.other.astype(float), paid)


def test_parameters_of_simulated_people_are_found_again() -> None:
    model, trials = _simulated(people=30)
    found = recover_parameters(model, trials, ["learning_rate", "beta"], participants=60, starts=2)
    summary = found.summary()
    assert summary.correlation["learning_rate"] > 0.5
    assert summary.coverage["learning_rate"] > 0.85
    rivals = {
        "one rate": (model, ["learning_rate", "beta"]),
        "random": (Model(PerOption(Delta(0.0, start=0.5), 2), Softmax(1.0)), ["beta"]),
    }
    matrix = recover_models(rivals, trials, participants=15, starts=2).matrix()
    assert matrix.loc["one rate", "one rate"] > 0.8


def test_what_others_would_have_paid_is_assumed_from_trials_nearby() -> None:
    columns = Columns("reward", subject="id", block="block", choice="choice")
    trials = read_trials(_table(), columns)
    known = with_payoffs(trials, seed=1)
    assert with_payoffs(known) is known
    assert known.payoffs is not None
    chosen = np.take_along_axis(known.payoffs, trials.choices[..., None], -1)[..., 0]
    np.testing.assert_array_equal(chosen[trials.observed], trials.scalar_outcomes[trials.observed])
    blocks = np.cumsum(trials.starts, axis=1)
    for row in range(2):
        for at in range(trials.rows.shape[1]):
            for option in range(3):
                same = trials.observed[row] & (trials.choices[row] == option) & (blocks[row] == blocks[row, at])
                same = same if same.any() else trials.observed[row] & (trials.choices[row] == option)
                near = np.argsort(np.abs(np.flatnonzero(same) - at), kind="stable")[:5]
                allowed = trials.scalar_outcomes[row, np.flatnonzero(same)[near]]
                assert known.payoffs[row, at, option] in allowed


def test_statistics_of_choices_are_those_of_a_plain_loop() -> None:
    _, trials = _simulated(people=2)
    model = Model(PerOption(Delta(), 2), Softmax())
    data = participant_data(model, trials)._replace(payoffs=trials.payoffs)
    found = statistics("choice", trials, data, data.responses)
    for who, own in trials.frame.groupby("participant"):
        stay, mean = {True: [], False: []}, own.reward.astype(float).mean()
        for _, part in own.groupby("block"):
            rows = list(part.itertuples(index=False))
            for one, other in pairwise(rows):
                stay[one.reward > mean].append(one.choice == other.choice)
        row = trials.subjects.index(str(who))
        assert found["mean reward"][row] == pytest.approx(mean)
        assert found["share repeated"][row] == pytest.approx(np.mean(stay[True] + stay[False]))
        assert found["share repeated after a reward above the mean"][row] == pytest.approx(np.mean(stay[True]))
        assert found["share repeated after a reward below the mean"][row] == pytest.approx(np.mean(stay[False]))


def test_surprise_and_values_of_every_trial() -> None:
    trials = read_trials(_table(), Columns("reward", subject="id", choice="choice"))
    table = regressors(PerOption(Delta(0.5, start=0.0), 3), trials)
    values = np.zeros(3)
    for row in table[table.id == 0].itertuples(index=False):
        if np.isnan(row.reward):
            assert np.isnan([row.surprise, row.value_0, row.prediction]).all()
            continue
        np.testing.assert_allclose([row.value_0, row.value_1, row.value_2], values)
        assert row.prediction == pytest.approx(values[row.choice])
        assert row.prediction_error == pytest.approx(row.reward - values[row.choice])
        values[row.choice] += 0.5 * (row.reward - values[row.choice])


def test_learners_of_probabilities_choose_too() -> None:
    _, trials = _simulated(people=4)
    model = Model(PerOption(HGF(), 2), Softmax(2.0))
    found = fit(model, trials, ["omega2", "beta"], starts=2)
    assert np.isfinite(found.log_likelihood).all()
    table = regressors(model.learner, trials, ["shannon", "epsilon2"])
    probability = np.where(trials.scalar_outcomes == 1, 1, -1) * table.prediction.to_numpy()[trials.rows]
    np.testing.assert_allclose(
        table.shannon.to_numpy()[trials.rows], -np.log(np.where(probability > 0, probability, 1 + probability))
    )


@pytest.mark.parametrize(("every", "probabilities"), [((5, 5), (0.7, 0.1)), ((3, 9), (0.9, 0.5, 0.1))])
def test_reversals_turn_the_options_round(every: tuple[int, int], probabilities: tuple[float, ...]) -> None:
    made = bandit.reversal(20_000, 1, probabilities, every)
    lengths = np.diff(np.flatnonzero(np.concatenate([[True], made.changed[1:]])))
    assert (lengths.min(), lengths.max()) == every
    for option in range(len(probabilities)):
        for probability in probabilities:
            here = made.truth[:, option] == probability
            assert made.payoffs[here, option].mean() == pytest.approx(probability, abs=0.02)
    stays = ~made.changed[1:]
    assert (made.truth[1:][stays] == made.truth[:-1][stays]).all()
    assert (made.truth[1:][~stays] != made.truth[:-1][~stays]).all()


def test_drifting_means_are_drawn_back_to_the_centre() -> None:
    """A first-order autoregression: its variance, its lag-one correlation, and noise about it."""
    made = bandit.many(bandit.drifting, 2000, range(30))
    assert made.truth.std() == pytest.approx(2.8 / np.sqrt(1 - 0.9836**2), rel=0.05)
    off = made.truth - 50.0
    assert (off[:, 1:] * off[:, :-1]).mean() / (off * off).mean() == pytest.approx(0.9836, abs=0.003)
    assert (made.payoffs - made.truth).std() == pytest.approx(4.0, rel=0.02)


def test_restless_probabilities_are_reflected() -> None:
    made = bandit.restless(5000, 3, drift=0.2)
    assert 0.25 <= made.truth.min() < 0.26
    assert 0.74 < made.truth.max() <= 0.75
    rng = np.random.default_rng(3)
    at, turned = rng.uniform(0.25, 0.75, (1, 2))[0], np.ones(2)  # whoever is reflected also turns round
    for step, truth in zip(0.2 * rng.standard_normal((4999, 2))[:50], made.truth[1:51], strict=True):
        at = at + turned * step
        while ((at < 0.25) | (at > 0.75)).any():
            turned = np.where((at < 0.25) | (at > 0.75), -turned, turned)
            at = np.where(at < 0.25, 0.5 - at, np.where(at > 0.75, 1.5 - at, at))
        np.testing.assert_allclose(truth, at)
    assert made.payoffs.mean() == pytest.approx(made.truth.mean(), abs=0.02)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: bandit.reversal(0, 1), "trials = 0 is not allowed"),
        (lambda: bandit.reversal(10, 1, (0.5,)), "give one for each of two or more options"),
        (lambda: bandit.reversal(10, 1, every=(5, 3)), "every"),
        (lambda: bandit.restless(10, 1, low=0.8, high=0.2), "high - low"),
        (lambda: bandit.many(bandit.restless, 10, []), "there are no seeds"),
    ],
)
def test_tasks_refuse_what_makes_no_sense(call: Any, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        call()

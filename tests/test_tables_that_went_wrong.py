"""Tables that were once read wrongly without a word: each is now read as it was meant, or asked about."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings, strategies as st
from typer.testing import CliRunner

from astonish import Bayes, Beta, BetaInterval, Dirichlet, Gaussian, Smile, run
from astonish.cli.app import app
from astonish.learners import Delta
from astonish.people.fit import Estimate, Model, Readout, fit, plan_trials, simulate_responses
from astonish.people.fit.likelihood import participant_data
from astonish.people.recovery.simulation import repeated
from astonish.people.tables import Columns, Rejected, Trials, read_trials
from astonish.people.tables.facts import choose
from astonish.people.tables.regressors import regressors

LONG, NAN = 24, np.nan


def _table(**columns: Any) -> pd.DataFrame:
    """A table whose columns are repeated up to the same length."""
    return pd.DataFrame({name: [values[k % len(values)] for k in range(LONG)] for name, values in columns.items()})


def _written(tmp_path: Path, table: pd.DataFrame | str | bytes, name: str = "trials.csv") -> Path:
    path = tmp_path / name
    if isinstance(table, pd.DataFrame):
        table.to_csv(path, index=False)
    else:
        path.write_bytes(table if isinstance(table, bytes) else table.encode())
    return path


def _command(*words: Any) -> Any:
    return CliRunner().invoke(app, [str(word) for word in words])


def _refused(*words: Any) -> str:
    """The last line of a command that refuses, and writes no report."""
    result = _command(*words)
    assert result.exit_code == 2, result.output
    assert not (Path(str(words[-1])) / "report.html").exists()
    return str(result.stderr.splitlines()[-1]).removeprefix("astonish: ")


def _read(table: Any, outcome: str = "x", response: str | None = "b", **how: Any) -> Trials:
    asked = {"responds_before": False} if response else {}
    return read_trials(table, Columns(outcome, response=response), **asked, **how)


# Responses: numbers or choices, and on which scale?

RATINGS = [1, 2, 3, 4, 5, 6, 7]
PAID = [0.0, 12.5, 3.0, 7.5, 10.0]


@pytest.mark.parametrize(
    ("outcomes", "responses", "question"),
    [
        (PAID, RATINGS, r"the responses b are few whole numbers \(1, 2, 3, 4, 5, 6, 7\): numbers, or choices\? Give "),
        (PAID, [1, 2, 3, 4], r"response_kind='continuous' or 'choice' \(--response-kind continuous, or choice\)"),
        (PAID, [*range(11)], r"if b says which option was taken, and x what it paid, give Columns\('x', choice='b'\)"),
        (PAID, [1, 0], "--choice b --reward x"),
        (PAID, [37, 39], r"few whole numbers \(37, 39\)"),  # codes of keys
        ([0, 1], RATINGS, r"how probable x is, from 1 to 7, give response_scale=\(1, 7\) \(--response-scale 1 7\)"),
        ([0, 1], [1, 2], r"few whole numbers \(1, 2\): numbers, or choices"),
        (["yes", "no"], [0, 1], r"few whole numbers \(0, 1\)"),
        (
            PAID,
            ["left", "right"],
            r"the responses b are choices \('left', 'right'\), but the outcomes x are numbers: wh",
        ),
        (
            [0, 1],
            ["left", "right"],
            "the choices 'left', 'right' are none of the outcomes 0, 1; .*--choice b --reward x",
        ),
        (["yes", "no"], ["left", "right"], "are none of the outcomes 'no', 'yes'; .*--choice b --reward x"),
    ],
)
def test_what_responses_are_is_asked_where_a_guess_may_be_wrong(outcomes: Any, responses: Any, question: str) -> None:
    with pytest.raises(ValueError, match=question):
        _read(_table(x=outcomes, b=responses))


def test_two_options_and_a_reward_are_not_taken_for_anything_else() -> None:
    table = _table(reward=[-1, 1, 1], choice=[1, 2])  # as toolboxes for reinforcement learning have it
    with pytest.raises(ValueError, match=r"are few whole numbers \(1, 2\): numbers, or choices\?") as asked:
        _read(table, "reward", "choice")
    assert "--choice choice --reward reward" in str(asked.value)
    assert "probable" not in str(asked.value)
    for choices, strange in (([1, 2], "2"), ([3, 4], "3, 4")):
        question = rf"the choices {strange} are none of the outcomes -1, 1; .*--choice choice --reward reward"
        with pytest.raises(ValueError, match=question):
            _read(_table(reward=[-1, 1, 1], choice=choices), "reward", "choice", response_kind="choice")


@pytest.mark.parametrize(
    ("outcomes", "responses", "kinds"),
    [
        ([0, 1, 1], [0, 1], ("binary", "choice")),
        ([0, 1, 1], [0, 0.25, 1], ("binary", "continuous")),
        ([10, 200, 299], [0, 20, 300, 40], ("continuous", "continuous")),  # the helicopter task
        (PAID, [*range(12)], ("continuous", "continuous")),
        (PAID, [1.0, 2.5, 3.0], ("continuous", "continuous")),
        (PAID, [4, 4, 4], ("continuous", "continuous")),
        (["a", "b", "c"], ["b", "a"], ("categorical", "choice")),
    ],
)
def test_what_is_clear_is_not_asked(outcomes: Any, responses: Any, kinds: tuple[str, str]) -> None:
    trials = _read(_table(x=outcomes, b=responses))
    assert (trials.kind, trials.response_kind) == kinds
    assert "(guessed)" in trials.preview().splitlines()[2]


def test_the_answer_is_taken() -> None:
    table = _table(x=PAID, b=RATINGS)
    assert _read(table, response_kind="continuous").responses[0, :7].tolist() == RATINGS
    assert _read(table, response_kind="choice").labels == tuple(RATINGS)
    assert "(guessed)" not in _read(table, response_kind="choice").preview().splitlines()[2]


@pytest.mark.parametrize(
    ("outcome", "response", "asked"),
    [
        ("reward", "choice", True),
        ("feedback_t", "keyPress", True),
        ("win", "action", True),
        ("reward", "prediction", False),
        ("outcome", "choice", True),
        ("outcome", "prediction", False),
        ("outcome", "response", False),
        ("window", "response", False),
    ],
)
def test_a_choice_that_is_rewarded_may_look_like_a_prediction(outcome: str, response: str, asked: bool) -> None:
    table = _table(**{outcome: [0, 1, 1], response: [1, 0]})
    if asked:
        question = rf"does {response} predict {outcome}, or is it a choice .*--response-kind choice.*--reward {outcome}"
        with pytest.raises(ValueError, match=question):
            _read(table, outcome, response)
    else:
        assert _read(table, outcome, response).response_kind == "choice"
    assert _read(table, outcome, response, response_kind="choice").response_kind == "choice"


ESTIMATES = Model(Delta(0.3, start=0.5), Estimate(noise=0.1))


@pytest.mark.parametrize(
    ("outcomes", "responses", "question"),
    [
        (
            [0, 1],
            [*range(0, 101, 4)],
            r"b are from 0 to 92, .* is 0 the probability 0, and 100 the probability 1\? Then",
        ),
        ([0, 1], [*range(0, 101, 4)], r"give response_scale=\(0, 100\) \(--response-scale 0 100\); if they are no est"),
        ([0, 1], [0.5, 1.01], r"from 0.5 to 1.01, but estimates are probabilities, from 0 to 1"),
        (
            [0.1, 0.9, 0.4],
            [10.5, 95, 40],
            r"b are from 10.5 to 95, but estimates are like the outcomes x, from 0.1 to 0.",
        ),
        ([30, 290, 120], [0.1, 0.9, 0.4], r"from 0.1 to 0.9, but .* from 30 to 290; .*\(--response-scale LOW HIGH\)"),
        ([100.0, 140, 120], [1.5, 40, 20], "from 1.5 to 40, but .* from 100 to 140"),
        (
            [-1, 1],
            [-0.5, 0.25],
            r"--response-scale -1 1\); if they estimate the mean of -1 and 1, give kind='cont",
        ),
        ([0, 1], [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.2], r"scale 0 1\), without the 2 of 24 that"),
        ([0, 1], [*range(0, 101, 5), 150], r"from 0 to 150, .*scale 0 100\), without the 1 of 24 that are outside; if"),
    ],
)
def test_responses_on_another_scale_than_the_estimate_are_refused(outcomes: Any, responses: Any, question: str) -> None:
    trials = _read(_table(x=outcomes, b=responses))
    with pytest.raises(ValueError, match=question):
        fit(ESTIMATES, trials, ["learning_rate"])
    participant_data(Model(Delta(0.3), Readout()), trials)  # reaction times have a scale of their own


@pytest.mark.parametrize(
    ("outcomes", "responses"),
    [
        ([0, 1], [0.0, 1.0, 0.5]),
        ([30, 290, 120], [45.5, 200, 160]),
        ([30, 290, 120, 150], [139.5, 140.5, 138.5]),  # of people who have seen that the mean stays
        ([0.0, 1.0, 10.0], [0.5, -85.0, 3.0]),  # up to ten times as widely spread
        ([5, 5, 5], [0.5, 100, 4]),  # which tell nothing about a scale
    ],
)
def test_responses_on_the_scale_of_the_outcomes_are_not_asked_about(outcomes: Any, responses: Any) -> None:
    assert _read(_table(x=outcomes, b=responses)).another_scale == ""


@pytest.mark.parametrize("far", [1e3, 1e6, -1e9])
@pytest.mark.parametrize("biased", [0.0, 12.0])
def test_one_outcome_far_out_is_no_other_scale(far: float, biased: float) -> None:
    for seed in range(10):
        outcomes = np.random.default_rng(seed).normal(100, 10, 12)
        table = pd.DataFrame({"x": np.append(outcomes, far), "b": np.append(outcomes[::-1], 100.0) + biased})
        assert _read(table).another_scale == ""
        assert "if they are on another scale" in _read(table.assign(b=table["b"] / 100)).another_scale


def test_a_scale_takes_percentages_to_probabilities() -> None:
    table = _table(x=[0, 1], b=[0, 25, 50, 100, 110, 30])
    trials = _read(table, response_scale=(0, 100))
    assert trials.responses[0, :6].tolist()[:4] == [0, 0.25, 0.5, 1]
    assert trials.unread[0] == Rejected(4, "b = 110 is outside the scale from 0 to 100")
    assert np.isnan(trials.responses[0, 4])
    assert trials.outcomes[0, 4] == 0
    assert trials.observed[0, 4]
    assert "response b: continuous, from 0 to 1 (0 means 0, 100 means 1); given after" in trials.preview()
    found = fit(ESTIMATES, trials, ["learning_rate"], starts=1)
    rows = found.trial_table()
    explained = found.data.scored[0]
    np.testing.assert_allclose(rows["expected_response"][explained], 100 * found.outputs.expected[0][explained])
    simulated = simulate_responses(found.model, trials)
    assert np.isnan(simulated.responses[0, 4])
    np.testing.assert_allclose(simulated.frame["b"], 100 * simulated.responses[0])
    ratings = _read(_table(x=[0, 1], b=RATINGS), response_scale=(1, 7))
    np.testing.assert_allclose(ratings.responses[0, :7], np.arange(7) / 6)
    reversed_ratings = _read(_table(x=[0, 1], b=RATINGS), response_scale=(7, 1))
    np.testing.assert_allclose(reversed_ratings.responses[0, :7], 1 - np.arange(7) / 6)
    far = _read(_table(x=[30, 290, 120], b=[0.1, 0.9, 0.4]), response_scale=(0, 1 / 300))
    np.testing.assert_allclose(far.responses[0, :3], [30, 270, 120])
    as_they_are = _read(_table(x=[100.0, 140, 120], b=[1.5, 40, 20]), response_scale=(0, 1))
    assert as_they_are.responses[0, 0] == 1.5
    participant_data(Model(Delta(0.3), Estimate()), as_they_are)


def test_commands_ask_and_take_the_answers(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {"x": rng.integers(2, size=60), "slider": rng.integers(101, size=60), "r": rng.integers(1, 8, 60)}
    )
    path, out = _written(tmp_path, table), tmp_path / "out"
    words = ("fit", path, "--outcome", "x", "--responded", "after", "--learner", "delta", "--starts", "1")
    assert "(--response-scale 0 100)" in _refused(*words, "--response", "slider", "--out", out)
    assert "(--response-scale 1 7)" in _refused(*words, "--response", "r", "--out", out)
    assert "(--response-scale 1 7)" in _refused(
        *words, "--response", "r", "--response-kind", "continuous", "--out", out
    )
    refused = _refused(*words, "--response", "r", "--response-kind", "choice", "--range", "0", "1", "--out", out)
    assert "2 choices, but" not in refused  # the range leaves choices of 1 alone
    for column, ends in (("slider", ("0", "100")), ("r", ("1", "7"))):
        done = _command(*words, "--response", column, "--response-scale", *ends, "--out", out)
        assert done.exit_code == 0, done.output
        assert f"({ends[0]} means 0, {ends[1]} means 1)" in done.stderr


def test_planned_and_simulated_responses_are_not_asked_about() -> None:
    plan = plan_trials([[100.0, 120.0, 140.0] * 5], responds_before=False)  # whose responses hold a place only
    model = Model(Delta(0.3, start=100.0), Estimate(noise=500.0))
    wild = simulate_responses(model, plan)
    assert fit(model, wild, ["learning_rate"], starts=1).values.shape == (1, 1)


# Ranges and unreadable responses


def test_a_range_speaks_of_choices_as_they_are_written() -> None:
    table = _table(x=[1, 2, 3, 4], b=[1, 4, 9, 2])  # 9 for no answer
    trials = _read(table, kind="categorical", response_kind="choice", response_range=(1, 4))
    assert trials.labels == (1, 2, 3, 4)
    assert trials.responses[0, :4].tolist()[:2] == [0, 3]
    assert np.isnan(trials.responses[0, 2])
    assert trials.unread[0] == Rejected(2, "b = 9 is outside the range from 1 to 4")
    assert trials.rejected == ()
    with pytest.raises(ValueError, match=r"response_range = \(1, 4\) \(--range\) is for numbers, but b holds text"):
        _read(_table(x=["a", "b"], b=["a", "b"]), response_range=(1, 4))


def test_responses_that_are_all_unreadable_are_refused(tmp_path: Path) -> None:
    path = _written(tmp_path, _table(x=PAID, b=["much"]))
    with pytest.raises(
        ValueError, match=r"none of the responses could be read, the first .*\(line 2\) because b = 'much'"
    ):
        _read(path, response_kind="continuous")


def test_a_choice_that_is_none_of_two_outcomes_is_one_response_that_could_not_be_read() -> None:
    table = _table(x=["yes", "no"], b=["no", "yes"])
    table.loc[3, "b"] = "oops"
    trials = _read(table)
    assert trials.kind == "binary"
    assert trials.unread == (Rejected(3, "b = 'oops' is none of 'no', 'yes'"),)
    assert trials.observed.all()


# Two outcomes


@pytest.mark.parametrize(
    ("values", "labels", "said"),
    [
        (["yes", "no", "no"], ("no", "yes"), "1 stands for 'yes', 0 for 'no'"),
        (["Win", "Loss"], ("Loss", "Win"), "1 stands for 'Win', 0 for 'Loss'"),
        (["correct", "incorrect"], ("incorrect", "correct"), "1 stands for 'correct'"),
        (["right", "left"], ("left", "right"), "1 stands for 'right', 0 for 'left'"),
        (["B", "A"], ("A", "B"), "1 stands for 'B', 0 for 'A'"),
        ([-1, 1, 1], (-1, 1), "1 stands for 1, 0 for -1"),
        ([2, 1, 1], (1, 2), "1 stands for 2, 0 for 1"),
        ([True, False], (0, 1), "one of 0, 1"),
        (["True", "False"], ("False", "True"), "1 stands for 'True'"),
    ],
)
def test_two_outcomes_are_binary_and_what_is_1_is_said(values: Any, labels: Any, said: str) -> None:
    trials = _read(_table(x=values), response=None)
    assert (trials.kind, trials.labels) == ("binary", labels)
    assert trials.preview().splitlines()[1].startswith(f"outcome x: binary (guessed), {said}")
    assert trials.outcomes[0].tolist() == [labels.index(value) for value in _table(x=values)["x"]]
    found = regressors(Bayes(Beta()), trials)
    expected = run(Bayes(Beta()), [labels.index(value) for value in found["x"]])
    np.testing.assert_allclose(found["estimate"], expected.estimate)
    np.testing.assert_allclose(found["prediction_error"], trials.outcomes[0] - found["prediction"])


def test_which_of_two_outcomes_is_1_may_be_decided(tmp_path: Path) -> None:
    table = _table(x=["yes", "no", "no"], b=["no", "yes"])
    trials = _read(table, labels=("yes", "no"))
    assert trials.labels == ("yes", "no")
    assert trials.outcomes[0, :3].tolist() == [0, 1, 1]
    assert trials.responses[0, :2].tolist() == [1, 0]  # in the same labels
    words = ("surprise", _written(tmp_path, table), "--outcome", "x", "--out", tmp_path / "o.csv", "--label", "yes")
    done = _command(*words, "--label", "no", "--learner", "bayes")
    assert "outcome x: binary (guessed), 1 stands for 'no', 0 for 'yes'; none missing" in done.stderr
    assert pd.read_csv(tmp_path / "o.csv")["estimate"].tolist()[:2] == pytest.approx([1 / 3, 1 / 2])


def test_labels_that_differ_in_capital_letters_only_are_asked_about(tmp_path: Path) -> None:
    path = _written(tmp_path, _table(x=["Yes", "no", "yes", "No"]))
    question = "does x mean the same by 'No' and 'no'? Then list what can occur, each once, as labels (--label); else "
    assert _refused("surprise", path, "--outcome", "x", "--out", tmp_path / "o.csv").startswith(question)
    trials = _read(path, response=None, labels=["no", "yes"])
    assert trials.outcomes[0, :4].tolist() == [1, 0, 1, 0]
    assert trials.rejected == ()
    apart = _read(_table(x=["a", "A", "b"]), response=None, labels=["a", "A", "b"])
    assert apart.outcomes[0, :3].tolist() == [0, 1, 2]
    choices = _table(reward=[0, 1], choice=["left", "Left", "right"])
    with pytest.raises(ValueError, match=r"'Left' and 'left'\? Then list .* as options \(--options\)"):
        read_trials(choices, Columns("reward", choice="choice"))
    both = read_trials(choices, Columns("reward", choice="choice"), options=["left", "right"])
    assert both.choices[0, :3].tolist() == [0, 0, 1]


def test_true_and_false_may_be_called_by_name(tmp_path: Path) -> None:
    path = _written(tmp_path, "x\nTRUE\nFALSE\nTRUE\n")
    assert _read(path, response=None).outcomes.tolist() == [[1, 0, 1]]
    assert _read(path, response=None, labels=["FALSE", "TRUE"]).outcomes.tolist() == [[1, 0, 1]]
    assert _read(path, response=None, labels=["TRUE", "FALSE"]).outcomes.tolist() == [[0, 1, 0]]


def test_predictions_in_labels_are_fitted(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    names = np.array(["loss", "win"])
    table = pd.DataFrame({"outcome": names[rng.integers(2, size=80)], "prediction": names[rng.integers(2, size=80)]})
    words = ("--outcome", "outcome", "--response", "prediction", "--responded", "before", "--learner", "delta")
    done = _command("fit", _written(tmp_path, table), *words, "--starts", "1", "--out", tmp_path / "o")
    assert done.exit_code == 0, done.output
    assert set(pd.read_csv(tmp_path / "o" / "trials.csv")["expected_response"]) <= {"loss", "win"}
    coded = table.replace({"loss": 0, "win": 1}).infer_objects()
    plain = _command("fit", _written(tmp_path, coded, "c.csv"), *words, "--starts", "1", "--out", tmp_path / "p")
    assert plain.exit_code == 0, plain.output
    found = [pd.read_csv(tmp_path / name / "participants.csv") for name in "op"]
    pd.testing.assert_frame_equal(*found)


def test_other_pairs_of_numbers_stay_numbers_and_that_is_said() -> None:
    trials = _read(_table(x=[0, 100]), response=None)
    assert trials.kind == "continuous"
    note = "note: the outcomes are only 0, 100; if these are labels, give kind='binary' (--kind binary)"
    assert note in trials.preview().splitlines()
    doors = _read(_table(x=[1, 2, 4, 3]), response=None).preview().splitlines()
    assert (
        "note: the outcomes are only 1, 2, 3, 4; if these are labels, give kind='categorical' (--kind cat" in doors[2]
    )
    binary = _read(_table(x=[0, 100]), response=None, kind="binary")
    assert (binary.labels, binary.outcomes[0, :2].tolist()) == ((0, 100), [0, 1])
    with pytest.raises(ValueError, match="x holds 1, 2, 3, which are not two outcomes; give kind='categorical'"):
        _read(_table(x=[1, 2, 3]), response=None, kind="binary")


# The order of trials


def _shuffled(**more: Any) -> pd.DataFrame:
    """Two people, two blocks each, of which trials are numbered anew; rows at random."""
    rows = [
        (who, block, trial, 100 * block + trial + 0.5) for who in "ab" for block in (1, 2) for trial in range(1, 13)
    ]
    table = pd.DataFrame(rows, columns=["who", "block", "trial", "x"])
    return table.sample(frac=1, random_state=0).reset_index(drop=True).assign(**more)


def test_a_column_called_trial_that_is_not_in_order_is_asked_about() -> None:
    question = (
        r"trial falls from \d+ to \d+ in row \d+: are the rows out of order\? Give trial='trial' \(--trial trial\)"
    )
    with pytest.raises(ValueError, match=question):
        read_trials(_shuffled(), Columns("x", "who", "block"))
    for name in ("Trial", "trial_number", "trialNo", "exp.trial.index"):
        with pytest.raises(ValueError, match=rf"Give trial='{name}' \(--trial {name}\)"):
            read_trials(_shuffled().rename(columns={"trial": name}), Columns("x", "who", "block"))


def test_trials_are_ordered_by_a_column() -> None:
    trials = read_trials(_shuffled(), Columns("x", "who", "block", trial="trial"))
    expected = [100 * block + trial + 0.5 for block in (1, 2) for trial in range(1, 13)]
    np.testing.assert_array_equal(trials.outcomes, [expected, expected])
    np.testing.assert_array_equal(np.flatnonzero(trials.starts[0]), [0, 12])
    found = trials.frame["x"].to_numpy()[trials.rows]
    np.testing.assert_array_equal(found, trials.outcomes)
    pd.testing.assert_frame_equal(trials.frame, _shuffled())  # whose rows stay where they are
    assert trials.preview().startswith("participants: 2 (by who), of 24 trials in 2 blocks by block, ordered by trial")


def test_trials_are_ordered_by_numbers_not_by_text_and_first_trials_may_be_marked() -> None:
    table = pd.DataFrame({"t": ["10", "9", "x", "8", "1"], "x": [4.5, 3.5, 9.0, 2.5, 1.5], "new": [0, 1, 0, 0, 1]})
    trials = read_trials(table[table.t != "x"], Columns("x", block="new", trial="t"))
    assert trials.outcomes.tolist() == [[1.5, 2.5, 3.5, 4.5]]
    assert trials.starts.tolist() == [[True, False, True, False]]
    times = pd.DataFrame({"at": ["09:30", "08:15", "10:00"], "x": [2.5, 1.5, 3.5]})
    assert read_trials(times, Columns("x", trial="at")).outcomes.tolist() == [[1.5, 2.5, 3.5]]
    gone = read_trials(table.assign(t=[10, 9, None, 8, 1]), Columns("x", block="new", trial="t"))
    assert gone.rejected == (Rejected(2, "t is empty"),)
    never = read_trials(table.assign(t=[10, 9, np.inf, 8, 1]), Columns("x", block="new", trial="t"))
    assert never.rejected == (Rejected(2, "t = inf is infinite"),)


def test_trials_of_the_same_number_are_refused() -> None:
    question = (
        r"trial = 1 is there twice in a block, in rows \d+ and \d+; name the column of the block \(block=, --block\)"
    )
    with pytest.raises(ValueError, match=question):
        read_trials(_shuffled().sort_values(["trial", "block"], ignore_index=True), Columns("x", "who", trial="trial"))


def test_names_of_trials_are_ordered_by_the_numbers_in_them() -> None:
    table = pd.DataFrame({"trial": [f"T{k}" for k in range(1, 25)], "x": np.arange(24) + 0.5})
    shuffled = table.sample(frac=1, random_state=0, ignore_index=True)
    with pytest.raises(ValueError, match=r"trial falls from T\d+ to T\d+ in row \d+: are the rows out of order\?"):
        _read(shuffled, response=None)
    trials = read_trials(shuffled, Columns("x", trial="trial"))
    np.testing.assert_array_equal(trials.outcomes[0], table["x"])
    assert read_trials(table, Columns("x")).notes == ()


def test_a_second_half_before_the_first_is_out_of_order() -> None:
    table = pd.DataFrame({"trial": [*range(13, 25), *range(1, 13)], "x": np.arange(24) + 0.5})
    for name in ("trial", "trials.thisN", "Trial#", "trial_count"):
        with pytest.raises(ValueError, match=f"{name} falls from 24 to 1 in row 12: are the rows out of order"):
            _read(table.rename(columns={"trial": name}), response=None)


def test_rows_of_the_same_trial_are_said() -> None:
    once = pd.DataFrame({"trial": [1, 2, 2, 3, 4], "x": [1.5, 2, 3.5, 4, 5]})
    said = "note: trial is that of the row before {}: is there one row for each trial?"
    assert _read(once, response=None).notes == (said.format("once"),)
    twice = pd.DataFrame({"trial": np.repeat(range(5), 2), "x": np.arange(10) + 0.5})
    assert _read(twice, response=None).notes == (said.format("5 times"),)
    phases = pd.DataFrame({"trial": np.repeat(range(3), 5), "x": np.arange(15) + 0.5})
    assert _read(phases, response=None).notes == ()


def test_blocks_that_come_back_are_said_and_start_anew_also_when_trials_are_ordered() -> None:
    table = pd.DataFrame({"task": [1, 1, 2, 2, 1, 1], "trial": range(6), "x": np.arange(6) + 0.5})
    said = "note: task comes back to the same value once: beliefs start anew each time"
    for columns in (Columns("x", block="task"), Columns("x", block="task", trial="trial")):
        trials = read_trials(table, columns)
        assert np.flatnonzero(trials.starts[0]).tolist() == [0, 2, 4]
        assert trials.notes == (said,)


def test_marks_of_first_trials_are_marks_also_for_those_whose_first_trial_is_not_marked() -> None:
    marks = [1, 0, 0] * 2 + [0, 0, 1, 0, 0]
    table = pd.DataFrame({"id": ["a"] * 6 + ["b"] * 5, "new": marks, "x": np.arange(11) + 0.5})
    trials = read_trials(table, Columns("x", "id", block="new"))
    assert [np.flatnonzero(row).tolist() for row in trials.starts] == [[0, 3], [0, 2]]


def test_participants_that_were_not_named_are_said() -> None:
    table = _shuffled().sort_values(["who", "block", "trial"], ignore_index=True).rename(columns={"who": "subject_id"})
    said = "note: all rows are taken for one participant: or does subject_id name 2 (--subject subject_id)?"
    assert read_trials(table, Columns("x", block="block")).notes[0] == said
    assert read_trials(table, Columns("x", "subject_id", "block")).notes == ()
    own = table.assign(subject_id=range(len(table)))  # which numbers rows
    assert not any("--subject subject_id" in note for note in read_trials(own, Columns("x", block="block")).notes)


def test_ids_of_blocks_are_not_taken_for_marks_of_first_trials_when_rows_are_interleaved() -> None:
    table = pd.DataFrame({"run": [1, 0] * 4, "trial": np.repeat([1, 2, 3, 4], 2), "x": np.arange(8.0) + 0.5})
    trials = read_trials(table, Columns("x", block="run", trial="trial"))
    assert trials.outcomes.tolist() == [[1.5, 3.5, 5.5, 7.5, 0.5, 2.5, 4.5, 6.5]]
    assert np.flatnonzero(trials.starts[0]).tolist() == [0, 4]


def test_trials_that_start_again_are_said_but_not_refused() -> None:
    table = _shuffled().sort_values(["who", "block", "trial"], ignore_index=True)
    trials = read_trials(table, Columns("x", "who"))
    assert (
        "note: trial starts again at 1 2 times within a block: is there a column of blocks (--block), or of "
        "participants (--subject)?" in trials.notes
    )
    assert read_trials(table, Columns("x", "who", "block")).notes == ()
    named = read_trials(table.assign(trial_type=[3, 1] * 24), Columns("x", "who", "block"))
    assert named.notes == ()


# What means that something is missing


@pytest.mark.parametrize(
    ("values", "mark"),
    [
        ([0.2, 0.9, -999, 0.4], "-999"),
        ([0.2, 0.9, 99, 0.4], "99"),
        ([120, 299, 0, 999, 14], "999"),
        ([0, 1, 1, -9], "-9"),
        ([0.2, 0.9, -9999, 0.4], "-9999"),
        ([120, 600, 0, -999, 14], "-999"),  # which is not far from the rest, but alone negative
        ([120, 300, 0, -99, 14], "-99"),
        ([120, 450, 0, 999, 14], "999"),
        ([*np.arange(0, 1.2, 0.1), -1], "-1"),
        ([1, 2, 2, 9], "9"),
    ],
)
def test_numbers_such_as_minus_999_are_asked_about(values: Any, mark: str, tmp_path: Path) -> None:
    question = (
        rf"x = {mark} stands apart from all other values, .*missing=\[{mark}\] \(--missing {mark}\); else missing=\[\]"
    )
    path = _written(tmp_path, _table(x=values))
    with pytest.raises(ValueError, match=question):
        _read(path, response=None)
    assert f"--missing {mark}" in _refused("surprise", path, "--outcome", "x", "--out", tmp_path / "o.csv")
    trials = _read(path, response=None, missing=[mark])
    missing = (_table(x=values)["x"] == int(mark)).sum()
    assert (~trials.observed).sum() == missing
    assert str(int(trials.frame["x"].iloc[values.index(int(mark))])) == mark  # as it was written
    done = _command(
        "surprise", path, "--outcome", "x", "--missing", mark, "--missing", "none", "--out", tmp_path / "o.csv"
    )
    assert done.exit_code == 0, done.output
    assert f"; {missing} missing" in done.stderr
    assert _read(path, response=None, missing=[]).observed.all()


@pytest.mark.parametrize(
    "values",
    [
        [1, 2, 7, 9],
        [1, 3, 9],
        [50, 99, 0, 12],
        [900, 999, 950],
        [-9, -12, -7, 30],
        [99, 99, 99],
        [-1, 0, 1],
        [-1, 1],
        [-1.5, *range(12), -1],
    ],
)
def test_numbers_that_only_look_so_are_not_asked_about(values: Any) -> None:
    assert _read(_table(x=values), response=None).observed.all()


def test_missing_responses_may_be_out_of_range_instead() -> None:
    table = _table(x=PAID, b=[0.5, 11.5, -99])
    with pytest.raises(
        ValueError, match=r"--missing -99\), or response_range=\(0.5, 11.5\) \(--range 0.5 11.5\); else"
    ):
        _read(table)
    assert len(_read(table, response_range=(0, 20)).unread) == 8  # which answers the question
    assert _read(table, missing=[-99]).unread == ()


def test_words_may_mean_missing() -> None:
    table = _table(x=["1.5", "none", "2.5", "?"])
    trials = _read(table, response=None, missing=["none", "?"])
    assert trials.kind == "continuous"
    assert (~trials.observed).sum() == 12
    assert trials.rejected == ()


def test_a_response_of_minus_1_may_mean_that_there_was_none() -> None:
    question = (
        r"b = -1 stands apart .* from 0 to 1: .*\(--missing -1\), or response_range=\(0, 1\) \(--range 0 1\); else"
    )
    with pytest.raises(ValueError, match=question):
        _read(_table(x=[0, 1, 1], b=[1, 0, -1]))
    trials = _read(_table(x=[0, 1, 1], b=[1, 0, -1]), missing=[-1])
    assert (trials.response_kind, np.isnan(trials.responses).sum()) == ("choice", 8)
    assert _read(_table(x=[-1, 0, 1], b=[1, 0, -1]), response_kind="continuous").unread == ()  # of which it is one
    note = "; if -1 means missing, give missing=[-1] (--missing -1)"
    assert note in _read(_table(x=[-1, 0, 1]), response=None).preview()


@pytest.mark.parametrize("word", ["timeout", "No response", "-", "missing"])
def test_words_that_say_that_something_is_missing_are_asked_about(word: str, tmp_path: Path) -> None:
    path = _written(tmp_path, _table(x=["win", "loss", word]))
    question = f"does x = {word!r} mean that x is missing? Then give missing=[{word!r}] (--missing {word!r}); else "
    assert _refused("surprise", path, "--outcome", "x", "--out", tmp_path / "o.csv").startswith(question)
    trials = _read(path, response=None, missing=[word])
    assert (trials.kind, trials.labels, (~trials.observed).sum()) == ("binary", ("loss", "win"), 8)
    assert _read(path, response=None, missing=[]).labels == tuple(sorted(["win", "loss", word]))
    answers = _table(x=["left", "right"], b=["right", word, "left"])
    with pytest.raises(ValueError, match=f"does b = '{word}' mean that b is missing"):
        _read(answers)


def test_words_that_are_outcomes_are_not_asked_about() -> None:
    assert _read(_table(x=["hit", "miss", "lost"]), response=None).kind == "categorical"
    assert _read(_table(x=["reward", "none"]), response=None).labels == ("none", "reward")


@pytest.mark.parametrize(
    ("choices", "rewards", "none"),
    [
        ([1, 2, -1], [0, 1], "-1"),
        ([1, 2, 99], [0, 1], "99"),
        (["l", "r", "timeout"], [0, 1], "timeout"),
        ([1, 2, "missed", 1, 2], [0, 1], "missed"),
        ([1, 2, 0], [0.5, 1.5, None], "0"),  # for which there is never a reward
        ([0, 1, 2], [0, 1], ""),
        ([-1, 1], [-1, 1], ""),
    ],
)
def test_what_may_be_no_choice_is_asked_about(choices: Any, rewards: Any, none: str) -> None:
    table, columns = _table(reward=rewards, choice=choices), Columns("reward", choice="choice")
    every = read_trials(table, columns, missing=[]).options
    if not none:
        assert read_trials(table, columns).options == every
        return
    options = [str(option) for option in every or () if str(option) != none]
    question = f"is choice = {none} an option? It looks as if it were none: give options={options} (--options"
    with pytest.raises(ValueError, match=re.escape(question)):
        read_trials(table, columns)
    trials = read_trials(table, columns, options=options)
    assert [str(option) for option in trials.options or ()] == options
    assert trials.unread[0].reason.startswith("choice = ")
    assert read_trials(table, columns, options=every).options == every


# Text files


NUMBERS = "a;3,5;0,125\na;2;1,5\na;1.234,5;2,5\n"


@pytest.mark.parametrize(
    ("text", "outcomes", "said"),
    [
        ("id;x;b\n" + NUMBERS, [3.5, 2, 1234.5], "file: decimal commas in x, b|file: marks between thousands in x"),
        ("id;x\na;3,5\na;-2,25\na;+1,0e2\n", [3.5, -2.25, 100], "file: decimal commas in x"),
        ('id,x\na,"1,234.5"\na,12\na,"2,000,000"\n', [1234.5, 12, 2e6], "file: marks between thousands in x"),
        (
            "id\tx\na\t1 234,5\na\t1,5\na\t2\n",
            [1234.5, 1.5, 2],
            "file: decimal commas in x|file: marks between thousands in x",
        ),
        ("id;x\na;1'234.5\na;1.5\na;2\n", [1234.5, 1.5, 2], "file: marks between thousands in x"),
        ("id;x\na;0,125\na;1,234\na;2,500\n", [0.125, 1.234, 2.5], "file: decimal commas in x"),
        ("id;y;x\na;2,5;1,234\na;1,5;2,345\na;0,5;3,456\n", [1.234, 2.345, 3.456], "file: decimal commas in y, x"),
    ],
)
def test_decimal_commas_and_marks_between_thousands_are_recognised(
    text: str, outcomes: list[float], said: str, tmp_path: Path
) -> None:
    trials = _read(_written(tmp_path, text), response=None)
    assert trials.outcomes.tolist() == [outcomes]
    assert trials.notes == tuple(said.split("|"))
    assert trials.rejected == ()


def test_one_comma_may_mean_two_things(tmp_path: Path) -> None:
    path = _written(tmp_path, "id;x\na;1,234\na;2,345\na;3,456\n")
    question = r"is x = '1,234' the number 1.234, or 1234\? Give decimal=',' \(--decimal ,\) for the first, decimal='.'"
    with pytest.raises(ValueError, match=question):
        _read(path, response=None)
    assert _read(path, response=None, decimal=",").outcomes.tolist() == [[1.234, 2.345, 3.456]]
    assert _read(path, response=None, decimal=".").outcomes.tolist() == [[1234, 2345, 3456]]
    done = _command("surprise", path, "--outcome", "x", "--decimal", ",", "--out", tmp_path / "o.csv")
    assert done.exit_code == 0, done.output
    assert "file: decimal commas in x" in done.stderr.splitlines()
    assert pd.read_csv(tmp_path / "o.csv")["x"].tolist() == [1.234, 2.345, 3.456]
    mixed = _written(tmp_path, "y;x\n2,5;1.234\n1,5;2.345\n0,5;3.456\n", "mixed.csv")
    with pytest.raises(
        ValueError, match=r"other columns have decimal commas: is x = '1.234' the number 1234\? Then give"
    ):
        _read(mixed, response=None)
    assert _read(mixed, response=None, decimal=",").outcomes.tolist() == [[1234, 2345, 3456]]
    points = _written(tmp_path, "y;x\n2,5;1.25\n1,5;2.345\n0,5;3.456\n", "points.csv")
    assert _read(points, response=None).outcomes.tolist() == [[1.25, 2.345, 3.456]]  # each column in its own way


def test_points_between_thousands_are_recognised_or_asked_about(tmp_path: Path) -> None:
    path = _written(tmp_path, "id;x\na;987\na;1.234\na;1.102\na;876\n")
    question = (
        r"is x = '1.234' the number 1234, since '987' is there, too\? Then give decimal=',' \(--decimal ,\); else"
    )
    with pytest.raises(ValueError, match=question):
        _read(path, response=None)
    assert _read(path, response=None, decimal=",").outcomes.tolist() == [[987, 1234, 1102, 876]]
    assert _read(path, response=None, decimal=".").outcomes.tolist() == [[987, 1.234, 1.102, 876]]
    clear = _written(tmp_path, "id;x\na;987\na;1.234.567\na;1.102\na;876\n", "clear.csv")
    assert _read(clear, response=None).outcomes.tolist() == [[987, 1234567, 1102, 876]]
    assert _read(clear, response=None).notes == ("file: marks between thousands in x",)
    for plain in ("x\n100\n1.234\n1.25\n", "x\n100.000\n1.234\n2.345\n", "x\n100\n0.234\n1.234\n"):
        assert _read(_written(tmp_path, plain), response=None).outcomes[0, 1] < 2


def _texts(seed: int, form: str, low: float) -> tuple[list[str], list[float]]:
    """Numbers in a form such as "_.1f", as text and as they are meant."""
    texts = [format(number, form) for number in np.random.default_rng(seed).uniform(low, 10 * abs(low) + 2, 12)]
    return texts, [float(text.replace("_", "")) for text in texts]


BLANKS = ("\u00a0", "\u202f", "\u2009", " ", "\t")


@pytest.mark.parametrize(
    ("odd", "meant"),
    [
        *((f"1.204{blank}", 1.204) for blank in BLANKS),
        *((f"{blank}-1.204", -1.204) for blank in BLANKS),
        *((f"1{mark}000", 1000.0) for mark in (*BLANKS[:4], "'", "\u2019")),
        *((odd, None) for odd in ("0,5", "3,", "-0,125", "1.234.567", "1.234,5", "1,2e3")),  # which is asked about
        *((odd, NAN) for odd in ("timeout", "50%", "1,234;", "12.5.3")),  # which are no numbers
        *((odd, float(odd)) for odd in ("1e-3", "1.204e2", "-.5", "7", "12.5", "1.2345")),
    ],
)
def test_one_odd_cell_multiplies_no_column(odd: str, meant: float | None, tmp_path: Path) -> None:
    for seed in range(20):
        texts, numbers = _texts(seed, ".3f", seed % 3 - 1.0)
        frame = pd.DataFrame({"x": [*texts, odd, "n.a."]})
        table = frame if seed > 3 else _written(tmp_path, frame, f"{seed}.csv")
        if meant is None:
            with pytest.raises(ValueError, match=r"x = .*decimal=',' \(--decimal ,\).* decimal='\.' \(--decimal \.\)"):
                _read(table, response=None)
            assert _read(table, response=None, decimal=".").outcomes[0, :12].tolist() == numbers
        else:
            trials = _read(table, response=None)
            assert trials.outcomes[0].tolist() == [*numbers, *([] if np.isnan(meant) else [meant])]


@pytest.mark.parametrize(
    ("form", "marks", "asked"),
    [
        ("_.1f", ",.", False),
        ("_.1f", ".,", False),
        ("_.2f", ",\u202f", False),
        ("_.2f", ".'", False),
        (".3f", ".,", False),
        (".3f", ",.", True),  # 1,204
        ("_.0f", ".,", True),
        (".3e", ",.", True),
        (".2e", ",.", False),
    ],
)
def test_tables_in_one_notation_are_read_or_asked_about(form: str, marks: str, asked: bool) -> None:
    for seed in range(20):
        texts, numbers = _texts(seed, form, 1100.0 if "_" in form else 1.0)
        table = pd.DataFrame({"x": [text.translate(str.maketrans("._", marks)) for text in texts] + ["n.a."]})
        if asked:
            with pytest.raises(ValueError, match=r"is x = .* the number .*, or .*\? Give decimal=','"):
                _read(table, response=None)
        else:
            assert _read(table, response=None).outcomes[0].tolist() == numbers
        assert _read(table, response=None, decimal=marks[0]).outcomes[0].tolist() == numbers


def test_cells_that_contradict_each_other_are_asked_about(tmp_path: Path) -> None:
    path = _written(tmp_path, "x;y\n2,041;a\n0,418;b\n1.5;c\n")
    question = "x = '0,418' fits decimal commas only, but '1.5' fits decimal points only: which are right"
    with pytest.raises(ValueError, match=question):
        _read(path, response=None)
    assert _read(path, response=None, decimal=",").outcomes.tolist() == [[2.041, 0.418, 1.5]]
    assert _read(_table(x=[1.5, 2.5], y=["0,5", "1.5"]), response=None).frame["y"].tolist()[:2] == ["0,5", "1.5"]
    beside = _table(x=["1,234", "2,345"], y=["0,5", "1,5"], z=["0.5", "1.5"])
    with pytest.raises(ValueError, match=r"is x = '1,234' the number 1\.234, or 1234"):
        _read(beside, response=None)
    assert _read(beside[["x", "y"]], response=None).outcomes[0, 0] == 1.234


def test_a_minus_sign_makes_a_number_negative(tmp_path: Path) -> None:
    commas = _read(_written(tmp_path, "x;y\n\u22121,5;a\n2,5;b\n\u22120,25;c\n"), response=None)
    assert commas.outcomes.tolist() == [[-1.5, 2.5, -0.25]]
    plain = _read(_written(tmp_path, "x\n\u22121.234\n2.5\n\u22123\n"), response=None)
    assert plain.outcomes.tolist() == [[-1.234, 2.5, -3]]
    signs = _read(_table(x=["+", "\u2212"]), response=None)
    assert signs.labels == ("+", "\u2212")


def test_a_number_that_cannot_be_read_beside_decimal_commas_costs_its_row(tmp_path: Path) -> None:
    trials = _read(_written(tmp_path, "x;y\n1,5;a\noops;b\n2,5;c\n3,5;d\n"), response=None)
    assert trials.rejected == (Rejected(3, "x = 'oops' is not a number"),)
    assert trials.outcomes.tolist() == [[1.5, 2.5, 3.5]]


PLAIN = "id,x,note\na,1.5,Zürich\na,2.5,\na,3.5,é\n"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (PLAIN.encode(), ()),
        (PLAIN.encode("utf-8-sig"), ()),
        (PLAIN.encode("utf-16"), ("file: text in UTF-16",)),
        (b"\xfe\xff" + PLAIN.encode("utf-16-be"), ("file: text in UTF-16",)),
        (PLAIN.encode("utf-16-le"), ("file: text in UTF-16-LE",)),  # without a mark
        (PLAIN.encode("utf-16-be"), ("file: text in UTF-16-BE",)),
        (PLAIN.encode("utf-32"), ("file: text in UTF-32",)),
        (PLAIN.encode("latin-1"), ("file: text in Windows-1252 (Latin-1), since it is not in UTF-8",)),
        (PLAIN.replace("\n", "\r\n").encode(), ()),
        (PLAIN.replace("\n", "\r").encode(), ()),
        (PLAIN.rstrip("\n").encode(), ()),
        (PLAIN.replace("\n", ",\n").encode(), ()),
        (PLAIN.replace("\n", ",,\n").encode(), ()),
        (PLAIN.replace("a,", "a, ").encode(), ()),
        ("\n\n" + PLAIN, ()),
        ("# by hand\n#\n" + PLAIN, ("file: comments before the table, not read: 2 (up to line 2)",)),
    ],
)  # fmt: skip
def test_text_is_read_whatever_it_was_saved_by(content: Any, said: tuple[str, ...], tmp_path: Path) -> None:
    trials = _read(_written(tmp_path, content), response=None)
    assert trials.outcomes.tolist() == [[1.5, 2.5, 3.5]]
    assert trials.frame["note"].fillna("").tolist() == ["Zürich", "", "é"]
    assert (trials.notes, trials.rejected) == (said, ())
    assert list(trials.frame) == ["id", "x", "note"]


def test_rows_with_other_numbers_of_cells_are_named_and_never_shifted(tmp_path: Path) -> None:
    text = (
        'id,x,b\na,1.5,"two\nlines"\na,2.5\n# a remark, of two cells\na,3.5,c\n\na,4.5,d,5\na,5.5,e\n,,\na,6.5,f,\n\n\n'
    )
    trials = _read(_written(tmp_path, text), response=None)
    assert trials.outcomes.tolist() == [[1.5, 3.5, 5.5, 6.5]]
    assert trials.rejected == (
        Rejected(4, "the line has 2 cells, but there are 3 columns"),
        Rejected(5, "the line is a comment, since it begins with #"),
        Rejected(7, "the line is empty"),
        Rejected(8, "the line has 4 cells, but there are 3 columns"),
        Rejected(10, "the line is empty"),
    )
    assert trials.frame["b"].tolist() == ["two\nlines", "c", "e", "f"]


def test_comments_may_have_the_names_and_participants_may_begin_like_comments(tmp_path: Path) -> None:
    trials = _read(_written(tmp_path, "# x,b\n1.5,2\n2.5,3\n3.5,4\n"), response=None)  # as NumPy writes it
    assert trials.outcomes.tolist() == [[1.5, 2.5, 3.5]]
    assert trials.notes == ("file: the names of the columns are in a comment, line 1",)
    path = _written(tmp_path, "id,x\n#1,1.5\n#1,2.5\n#1,3.5\n", "ids.csv")
    assert read_trials(path, Columns("x", "id")).subjects == ("#1",)


def test_names_of_columns_amid_the_rows_are_no_labels(tmp_path: Path) -> None:
    text = "id,x\na,yes\na,no\na,yes\nid,x\nb,no\nb,yes\nb,no\n"  # two files in one
    trials = read_trials(_written(tmp_path, text), Columns("x", "id"))
    assert (trials.kind, trials.subjects, trials.excluded) == ("binary", ("a", "b"), {})
    assert trials.rejected == (Rejected(5, "the line has the names of the columns again"),)


def test_one_column_is_not_two_things() -> None:
    with pytest.raises(ValueError, match="x cannot be two things, such as outcome and response; name two columns"):
        _read(_table(x=PAID), "x", "x")
    twice = Columns("x", response="b", second_response="b")
    with pytest.raises(ValueError, match="b cannot be two things"):
        read_trials(_table(x=PAID, b=[1.5, 2.5]), twice, responds_before=False)


def test_columns_of_the_same_name_are_refused_if_they_are_needed(tmp_path: Path) -> None:
    path = _written(tmp_path, "x,b,x,note,note\n1,1,4,a,b\n2,5,5,a,b\n3,9,6,a,b\n")
    with pytest.raises(ValueError, match="there are several columns 'x'; give each a name of its own"):
        _read(path, response=None)
    trials = _read(path, "b", response=None)
    assert list(trials.frame) == ["x", "b", "x.1", "note", "note.1"]
    assert "file: there are several columns 'x'; the second is now x.1" in trials.preview()


def test_spreadsheets_are_read(tmp_path: Path) -> None:
    pytest.importorskip("openpyxl")
    table, path = _table(x=[1.5, None, 3.5], id=["007"], b=["much", 0.5, 2.5]), tmp_path / "trials.xlsx"
    with pd.ExcelWriter(path) as book:
        table.to_excel(book, sheet_name="Trials", index=False)
        table[:3].to_excel(book, sheet_name="Notes", index=False)
    trials = read_trials(path, Columns("x", "id", response="b"), responds_before=False)
    assert trials.notes == ("file: sheet 'Trials', the first of 2",)
    assert trials.subjects == ("007",)
    assert trials.outcomes[0, :3].tolist() == [1.5, 0, 3.5]
    assert trials.observed[0, :3].tolist() == [True, False, True]
    assert trials.unread[0] == Rejected(2, "b = 'much' is not a number")  # as the spreadsheet counts its rows
    assert trials.preview().splitlines()[-6].strip().startswith("row 2:")


def test_spreadsheets_without_a_table_or_with_doubled_names(tmp_path: Path) -> None:
    pytest.importorskip("openpyxl")
    path = tmp_path / "trials.xlsx"
    pd.DataFrame().to_excel(path, index=False)
    with pytest.raises(ValueError, match=r"could not be read as a spreadsheet \(sheet 'Sheet1' is empty\)"):
        _read(path, response=None)
    pd.DataFrame([[1.5, 2, 3], [2.5, 3, 4], [3.5, 4, 5]], columns=["x", "y", "y"]).to_excel(path, index=False)
    trials = _read(path, response=None)
    assert list(trials.frame) == ["x", "y", "y.1"]
    assert trials.notes == ("file: sheet 'Sheet1'", "file: there are several columns 'y'; the second is now y.1")
    with pytest.raises(ValueError, match="there are several columns 'y'; give each a name of its own"):
        _read(path, "y", response=None)


def test_other_columns_may_be_called_by_numbers() -> None:
    trials = _read(pd.DataFrame({"x": [1.5, 2.5, 3.5], 1: ["1,5", "2,5", "3,5"]}), response=None)
    assert trials.frame[1].tolist() == [1.5, 2.5, 3.5]


def test_spreadsheets_need_an_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: Any, **__: Any) -> None:
        raise ImportError("openpyxl")

    monkeypatch.setattr(pd, "ExcelFile", missing)
    sentence = r"needs openpyxl, which is not installed; pip install 'astonish\[excel\]', or give a .csv"
    with pytest.raises(ValueError, match=sentence):
        _read(_written(tmp_path, "", "trials.xlsx"), response=None)


# Columns of the user's


def test_columns_of_the_table_are_never_overwritten(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    table = pd.DataFrame(
        {"x": rng.normal(size=40), "b": rng.normal(size=40), "log_likelihood": "mine", "participant": "x"}
    )
    words = ("--outcome", "x", "--response", "b", "--responded", "after", "--learner", "delta", "--starts", "1")
    done = _command("fit", _written(tmp_path, table), *words, "--out", tmp_path / "o")
    assert done.exit_code == 0, done.output
    assert "the table has log_likelihood already: in trials.csv, what the fit adds has a number behind" in done.stderr
    found = pd.read_csv(tmp_path / "o" / "trials.csv")
    assert set(found["log_likelihood"]) == {"mine"}
    assert np.isfinite(found["log_likelihood_2"]).all()
    trials = _read(table)
    again = repeated(trials, 3)
    assert set(again.frame["participant"]) == {"x"}
    assert again.columns.subject == "simulated_participant"
    assert again.frame["simulated_participant"].unique().tolist() == ["1", "2", "3"]
    assert trials.frame.columns.tolist() == table.columns.tolist()


def test_simulated_responses_do_not_stand_beside_real_ones() -> None:
    table = pd.DataFrame({"who": ["a"] * 20 + ["b"] * 2, "x": np.arange(22.0), "b": np.arange(22.0) + 0.5})
    trials = read_trials(table, Columns("x", "who", response="b"), responds_before=False)
    simulated = simulate_responses(Model(Delta(0.5), Estimate(noise=1.0)), trials)
    assert simulated.frame["b"].isna().tolist() == [False] * 20 + [True] * 2
    assert table["b"].notna().all()


def test_a_plan_keeps_its_own_columns() -> None:
    with pytest.raises(ValueError, match="given names 'response', which is a column of the plan itself"):
        plan_trials([[1.0, 2.0, 3.0]], responds_before=False, given={"response": 1.0})


# Refused before anything is fitted, and said


def _people(tmp_path: Path) -> Path:
    rng = np.random.default_rng(3)
    rows = [(who, block, rng.normal(), rng.normal()) for who in "ab" for block in (1, 2) for _ in range(15)]
    return _written(tmp_path, pd.DataFrame(rows, columns=["id", "run", "x", "b"]))


PREDICTIONS = ("--outcome", "x", "--response", "b", "--responded", "before", "--subject", "id", "--block", "run")


@pytest.mark.parametrize("command", ["compare", "recover"])
def test_what_cannot_be_fitted_is_refused_before_the_first_fit(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fitted(*_: Any, **__: Any) -> None:
        raise AssertionError("a model was fitted")

    monkeypatch.setattr("astonish.people.analysis.models.fit", fitted)
    words = (command, _people(tmp_path), *PREDICTIONS, "--learner", "delta", "--learner", "message-passing")
    sentence = (
        "MessagePassing cannot go on from someone's answer; give a response that is not anchored (--free-running)"
    )
    assert _refused(*words, "--out", tmp_path / "o").startswith(sentence)


def test_first_responses_that_are_not_explained_are_said(tmp_path: Path) -> None:
    words = ("fit", _people(tmp_path), *PREDICTIONS, "--learner", "delta", "--starts", "1", "--out", tmp_path / "o")
    sentence = "the learner starts from the first response of each block, which is therefore not explained (4 in all)"
    done = _command(*words)
    assert sentence in done.stderr
    assert sentence in (tmp_path / "o" / "report.html").read_text()
    assert pd.read_csv(tmp_path / "o" / "participants.csv")["responses"].tolist() == [28, 28]
    assert sentence not in _command(*words, "--free-running").stderr


# First beliefs, and the reference of SMiLe

COIN = ("--outcome", "x", "--out")


def test_what_is_set_is_what_is_printed(tmp_path: Path) -> None:
    path, out = _written(tmp_path, _table(x=[0, 1, 1])), tmp_path / "o.csv"
    done = _command("surprise", path, *COIN, out, "--learner", "leaky", "--set", "ones=1", "--set", "zeros=3")
    assert "prior=BetaBelief(ones=1.0, zeros=3.0))" in done.stderr
    assert pd.read_csv(out)["prediction"][0] == 0.25  # ones / (ones + zeros)
    words = ("--learner", "leaky", "--family", "beta-interval", "--set", "ones=2")
    assert (
        "prior=BetaIntervalBelief(ones=2.0, zeros=1.0, low=0.0, high=1.0))"
        in _command("surprise", path, *COIN, out, *words).stderr
    )
    labels = _written(tmp_path, _table(x=["a", "b", "c"]), "labels.csv")
    new = _command("surprise", labels, *COIN, out, "--learner", "leaky", "--set", "alpha=2")
    assert "prior=DirichletBelief(alpha=[2.0, 2.0, 2.0]))" in new.stderr
    found = pd.read_csv(out)
    with pytest.warns(DeprecationWarning, match=r"Dirichlet.prior\(seen=...\) is now alpha=..., which is 1 more"):
        old = choose("leaky", read_trials(labels, Columns("x")), {"seen": 1.0})
    pd.testing.assert_frame_equal(regressors(old.learner, read_trials(labels, Columns("x"))), found)


def test_smile_says_between_which_estimates_it_stays_and_its_reference_can_be_set(tmp_path: Path) -> None:
    path, out = _written(tmp_path, pd.DataFrame({"x": [0] + [1] * 400})), tmp_path / "o.csv"
    said = "  SMiLe's estimates stay between 0.333 and 0.667, whatever m is, since it never remembers more than one out"
    done = _command("surprise", path, *COIN, out)
    caution = next(line for line in done.stderr.splitlines() if line.startswith(said))
    assert pd.read_csv(out)["estimate"].between(1 / 3, 2 / 3).all()
    assert pd.read_csv(out)["estimate"].iloc[-1] > 0.66
    advised = caution.split("; ")[1].split(" (")[0].split()
    assert advised == ["--set", "reference.ones=0.1", "--set", "reference.zeros=0.1"]
    assert "lets them go from 0.083 to 0.92, or give another learner, such as varsmile" in caution
    done = _command("surprise", path, *COIN, out, *advised)
    assert done.exit_code == 0, done.output
    assert "reference=BetaBelief(ones=0.1, zeros=0.1)" in done.stderr
    assert "stay between" not in done.stderr
    assert pd.read_csv(out)["estimate"].iloc[-1] == pytest.approx(1.1 / 1.2, abs=0.005)
    for learner, word in (("varsmile", "m=0.1"), ("leaky", "keep=0.99"), ("message-passing", "hazard=0.01")):
        _command("surprise", path, *COIN, out, "--learner", learner, "--set", word)
        assert pd.read_csv(out)["estimate"].iloc[-1] > 0.95


@pytest.mark.parametrize(
    ("learner", "cautious"),
    [
        (Smile(Beta()), True),
        (Smile(Beta(), prior=Beta().prior(ones=90, zeros=10)), False),  # which takes long to forget
        (Smile(Beta(), reference=Beta().prior(ones=0.4, zeros=0.4)), True),
        (Smile(Beta(), reference=Beta().prior(ones=0.05, zeros=0.05)), False),
        (Smile(BetaInterval(0.1, 0.9)), True),
        (Smile(Gaussian()), False),
        (Smile(Dirichlet(2)), False),
        (Bayes(Beta()), False),
    ],
)
def test_who_is_told_about_estimates_that_stay_in_the_middle(learner: Any, cautious: bool) -> None:
    assert bool(learner.caution()) == cautious
    if cautious:
        low, high = map(float, re.findall(r"between (\S+) and (\S+),", learner.caution())[0])
        for m in (0.01, 100.0):
            for xs, end in (([0] * 300, low), ([1] * 300, high)):
                found = run(replace(learner, m=m), xs).estimate
                assert found[-1] == pytest.approx(end, abs=0.02)
                assert (np.min(found) > low - 0.001) & (np.max(found) < high + 0.001)


def test_the_caution_reaches_the_report(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    table = pd.DataFrame({"x": rng.integers(2, size=40), "b": rng.uniform(size=40)})
    words = (
        "fit",
        _written(tmp_path, table),
        "--outcome",
        "x",
        "--response",
        "b",
        "--responded",
        "after",
        "--starts",
        "1",
    )
    done = _command(*words, "--out", tmp_path / "o")
    assert done.exit_code == 0, done.output
    for text in (done.stderr, (tmp_path / "o" / "report.html").read_text().replace("&#x27;", "'")):
        assert "SMiLe's estimates stay between 0.333 and 0.667" in text


# Anything at all


@settings(max_examples=300, deadline=None)
@given(
    cells=st.lists(st.tuples(*[st.text(max_size=6)] * 2), max_size=12),
    mark=st.sampled_from([",", ";", "\t"]),
    end=st.sampled_from(["\n", "\r\n", "\r"]),
    encoding=st.sampled_from(["utf-8", "utf-16", "cp1252"]),
)
@example(cells=[('"', "1"), ("2", "3")], mark=",", end="\n", encoding="utf-8")
@example(cells=[("1,5", "1.5"), ("#", "2"), ("-999", "1e999")], mark=";", end="\n", encoding="utf-8")
def test_no_text_makes_the_reader_fail(
    cells: Any, mark: str, end: str, encoding: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("any") / "trials.csv"
    text = end.join([f"x{mark}b", *(mark.join(row) for row in cells), ""])
    path.write_bytes(text.encode(encoding, "replace"))
    for columns in (Columns("x"), Columns("x", "b"), Columns("x", response="b"), Columns("x", trial="b")):
        try:
            trials = read_trials(path, columns, responds_before=True if columns.response else None)
        except ValueError:
            continue
        assert trials.preview()
        assert np.isfinite(trials.outcomes).all()


@settings(max_examples=200, deadline=None)
@given(
    numbers=st.lists(st.one_of(st.none(), st.integers(-9999, 9999), st.floats(-1e6, 1e6)), min_size=3, max_size=20),
    decimal=st.sampled_from([",", "."]),
)
def test_numbers_are_read_as_they_were_meant(
    numbers: Any, decimal: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("numbers") / "trials.csv"
    path.write_text("\n".join(["x;y", *(f"{'' if x is None else x};0".replace(".", decimal) for x in numbers), ""]))
    if sum(x is not None for x in numbers) < 3:
        return
    trials = read_trials(path, Columns("x"), kind="continuous", missing=[], decimal=decimal)
    meant = [NAN if x is None else float(x) for x in numbers]
    np.testing.assert_array_equal(np.where(trials.observed, trials.outcomes, NAN)[0], meant)


def test_ends_of_ranges_are_checked() -> None:
    table = _table(x=PAID, b=[1.5, 2.5])
    for name in ("response_range", "response_scale"):
        ends = (3, 1) if name == "response_range" else (3, 3)
        with pytest.raises(ValueError, match=rf"{name} = \(3, {ends[1]}\) is not allowed; give a pair \(low, high\)"):
            _read(table, **{name: ends})
        with pytest.raises(ValueError, match="are about responses; name the column of the response"):
            _read(table, response=None, **{name: (1, 3)})
    with pytest.raises(ValueError, match=r"decimal = ';' is not allowed; give ',' or '.'"):
        _read(table, decimal=";")

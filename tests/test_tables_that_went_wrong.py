"""Tables that were once read wrongly without a word: each is now read as it was meant, or asked about."""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings, strategies as st

from astonish import Bayes, Beta, BetaInterval, Dirichlet, Gaussian, Smile, run
from astonish.learners import Delta
from astonish.people.fit import Estimate, Model, Readout, fit, plan_trials, simulate_responses
from astonish.people.fit.likelihood import participant_data
from astonish.people.recovery.simulation import repeated
from astonish.people.tables import Columns, Rejected, Trials, read_trials
from astonish.people.tables.regressors import regressors
from shell import done, refused

LONG, NAN = 24, np.nan
PAID = [0.0, 12.5, 3.0, 7.5, 10.0]
RATINGS = [1, 2, 3, 4, 5, 6, 7]
Table = dict[str, Any] | pd.DataFrame | str | bytes
Read = Callable[..., Trials]


def _table(**columns: Any) -> pd.DataFrame:
    """A table whose columns are repeated up to the same length."""
    return pd.DataFrame({name: [values[k % len(values)] for k in range(LONG)] for name, values in columns.items()})


def _written(tmp_path: Path, table: Table, name: str = "trials.csv") -> Path:
    path = tmp_path / name
    table = _table(**table) if isinstance(table, dict) else table
    if isinstance(table, pd.DataFrame):
        table.to_csv(path, index=False)
    else:
        path.write_bytes(table if isinstance(table, bytes) else table.encode())
    return path


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """Read a table, or text that is written to a file first; responses, unless said otherwise, are in column b."""

    def read(source: Table, outcome: str = "x", **how: Any) -> Trials:
        table = _table(**source) if isinstance(source, dict) else source
        named = {"subject", "block", "trial", "choice", "second_response"} & how.keys()
        columns = {name: how.pop(name) for name in named}
        usual = "b" if isinstance(table, pd.DataFrame) and "b" in table and "choice" not in columns else None
        response = how.pop("response", usual)
        asked = {"responds_before": False} if response else {}
        path = table if isinstance(table, pd.DataFrame) else _written(tmp_path, table)
        return read_trials(path, Columns(outcome, response=response, **columns), **asked, **how)

    return read


# What is asked, in words between which others may stand


CONTRADICTING = "x;y\n2,041;a\n0,418;b\n1.5;c\n"
TWO_MEANINGS = "id;x\na;1,234\na;2,345\na;3,456\n"
POINTS = "id;x\na;987\na;1.234\na;1.102\na;876\n"
OTHERS = "y;x\n2,5;1.234\n1,5;2.345\n0,5;3.456\n"
ORDER = {"x": np.arange(24) + 0.5}
CHOICE = {"response_kind": "choice"}
QUESTIONS: list[tuple[Any, Any, dict[str, Any], str]] = [
    (PAID, RATINGS, {}, "b are few whole numbers (1, 2, 3, 4, 5, 6, 7): numbers, or choices? Give response_kind="),
    (PAID, [1, 2, 3, 4], {}, "response_kind='continuous' or 'choice' (--response-kind continuous, or choice)"),
    (PAID, [*range(11)], {}, "b says which option was taken, and x what it paid, give Columns('x', choice='b')"),
    (PAID, [1, 0], {}, "--choice b --reward x"),
    (PAID, [37, 39], {}, "few whole numbers (37, 39)"),  # codes of keys
    ([0, 1], RATINGS, {}, "how probable x is, from 1 to 7, give response_scale=(1, 7) (--response-scale 1 7)"),
    ([0, 1], [1, 2], {}, "few whole numbers (1, 2): numbers, or choices"),
    (["yes", "no"], [0, 1], {}, "few whole numbers (0, 1)"),
    (PAID, ["left", "right"], {}, "b are choices ('left', 'right'), but the outcomes x are numbers: what was chosen?"),
    ([0, 1], ["left", "right"], {}, "choices 'left', 'right' are none of the outcomes 0, 1; ... --choice b --reward x"),
    (["yes", "no"], ["left", "right"], {}, "are none of the outcomes 'no', 'yes'; ... --choice b --reward x"),
    # Two options and a reward, as toolboxes for reinforcement learning have them
    ([-1, 1, 1], [1, 2], {}, "are few whole numbers (1, 2): numbers, or choices? ... --choice b --reward x"),
    ([-1, 1, 1], [1, 2], CHOICE, "choices 2 are none of the outcomes -1, 1; ... --choice b --reward x"),
    ([-1, 1, 1], [3, 4], CHOICE, "choices 3, 4 are none of the outcomes -1, 1; ... --choice b --reward x"),
    # Ranges, scales and what is missing
    (["a", "b"], ["a", "b"], {"response_range": (1, 4)}, "range = (1, 4) (--range) is for numbers, but b holds text"),
    (PAID, ["much"], {"response_kind": "continuous"}, "none of the responses ... first ... (row 0) because b = 'much'"),
    (PAID, [0.5, 11.5, -99], {}, "--missing -99), or response_range=(0.5, 11.5) (--range 0.5 11.5); else"),
    ([0, 1, 1], [1, 0, -1], {}, "b = -1 stands ... from 0 to 1: ... -1), or response_range=(0, 1) (--range 0 1); else"),
    (PAID, [1.5, 2.5], {"response_range": (3, 1)}, "response_range = (3, 1) is not allowed; give a pair (low, high)"),
    (PAID, [1.5, 2.5], {"response_scale": (3, 3)}, "response_scale = (3, 3) is not allowed; give a pair (low, high)"),
    (PAID, None, {"response_range": (1, 3)}, "are about responses; name the column of the response"),
    (PAID, None, {"response_scale": (1, 3)}, "are about responses; name the column of the response"),
    # Columns, labels and marks
    (PAID, None, {"response": "x"}, "x cannot be two things, such as outcome and response; name two columns"),
    (PAID, [1.5, 2.5], {"second_response": "b"}, "b cannot be two things"),
    ([1, 2, 3], None, {"kind": "binary"}, "x holds 1, 2, 3, which are not two outcomes; give kind='categorical'"),
    ([0, 1], ["l", "L", "r"], {"choice": "b"}, "'L' and 'l'? Then list ... as options (--options)"),
    (["Yes", "no", "yes", "No"], None, {}, "does x mean the same by 'No' and 'no'? Then list ... as labels (--label)"),
    (PAID, None, {"decimal": ";"}, "decimal = ';' is not allowed; give ',' or '.'"),
    # Marks in numbers
    (TWO_MEANINGS, None, {}, "is x = '1,234' the number 1.234, or 1234? Give decimal=',' (--decimal ,) for the first"),
    (OTHERS, None, {}, "other columns have decimal commas: is x = '1.234' the number 1234? Then give"),
    (POINTS, None, {}, "is x = '1.234' the number 1234, since '987' is there, too? Then give decimal=',' ... else"),
    (
        CONTRADICTING,
        None,
        {},
        "x = '0,418' fits decimal commas only, but '1.5' fits decimal points only: which are right",
    ),
    ("x;y;z\n1,234;0,5;0.5\n2,345;1,5;1.5\n", None, {}, "is x = '1,234' the number 1.234, or 1234"),
]  # fmt: skip


def _asks(question: str) -> Any:
    return pytest.raises(ValueError, match=".*".join(map(re.escape, question.split(" ... "))))


@pytest.mark.parametrize(("outcomes", "responses", "options", "question"), QUESTIONS)
def test_what_a_guess_might_get_wrong_is_asked(
    read: Read, outcomes: Any, responses: Any, options: Any, question: str
) -> None:
    columns = {"x": outcomes} | ({} if responses is None else {"b": responses})
    with _asks(question) as asked:
        read(outcomes if isinstance(outcomes, str) else columns, **options)
    assert "probable" not in str(asked.value) or "probable" in question


# What is read: (columns or text, options, what is known of the trials, for the first participant)


NUMBERS = "a;3,5;0,125\na;2;1,5\na;1.234,5;2,5\n"
COMMAS, THOUSANDS = "file: decimal commas in ", "file: marks between thousands in x"
SAME_TRIAL = "note: trial is that of the row before {}: is there one row for each trial?"
COMES_BACK = "note: task comes back to the same value once: beliefs start anew each time"
TASKS = pd.DataFrame({"task": [1, 1, 2, 2, 1, 1], "trial": range(6), "x": np.arange(6) + 0.5})
MARKED = pd.DataFrame({"t": ["10", "9", "", "8", "1"], "x": [4.5, 3.5, 9.0, 2.5, 1.5], "new": [0, 1, 0, 0, 1]})
RUNS = pd.DataFrame({"run": [1, 0] * 4, "trial": np.repeat([1, 2, 3, 4], 2), "x": np.arange(8.0) + 0.5})
RAGGED = """id,x,b
a,1.5,"two
lines"
a,2.5
# a remark, of two cells
a,3.5,c

a,4.5,d,5
a,5.5,e
,,
a,6.5,f,


"""
READ: list[tuple[Table, dict[str, Any], dict[str, Any]]] = [
    # Kinds that are clear, or given
    ({"x": [0, 1, 1], "b": [0, 1]}, {}, {"kind": "binary", "response_kind": "choice"}),
    ({"x": [0, 1, 1], "b": [0, 0.25, 1]}, {}, {"kind": "binary", "response_kind": "continuous"}),
    ({"x": [10, 200, 299], "b": [0, 20, 300, 40]}, {}, {"kind": "continuous", "response_kind": "continuous"}),
    ({"x": PAID, "b": [*range(12)]}, {}, {"kind": "continuous", "response_kind": "continuous"}),
    ({"x": PAID, "b": [1.0, 2.5, 3.0]}, {}, {"kind": "continuous", "response_kind": "continuous"}),
    ({"x": PAID, "b": [4, 4, 4]}, {}, {"kind": "continuous", "response_kind": "continuous"}),
    ({"x": ["a", "b", "c"], "b": ["b", "a"]}, {}, {"kind": "categorical", "guessed": ("kind", "response_kind")}),
    ({"x": PAID, "b": RATINGS}, {"response_kind": "continuous"}, {"responses": RATINGS, "guessed": ("kind",)}),
    ({"x": PAID, "b": RATINGS}, CHOICE, {"labels": tuple(RATINGS), "guessed": ("kind",)}),
    ({"x": ["yes", "no"], "b": ["no", "yes"]}, {"labels": ("yes", "no")}, {"outcomes": [0, 1], "responses": [1, 0]}),
    ({"x": ["Yes", "no", "yes", "No"]}, {"labels": ["no", "yes"]}, {"outcomes": [1, 0, 1, 0], "rejected": ()}),
    ({"x": ["a", "A", "b"]}, {"labels": ["a", "A", "b"]}, {"outcomes": [0, 1, 2]}),
    ({"x": [0, 1], "c": ["l", "L", "r"]}, {"choice": "c", "options": ["l", "r"]}, {"choices": [0, 0, 1]}),
    ({"x": [0, 100]}, {}, {"kind": "continuous"}),
    ({"x": [0, 100]}, {"kind": "binary"}, {"labels": (0, 100), "outcomes": [0, 1]}),
    ({"x": ["+", "\u2212"]}, {}, {"labels": ("+", "\u2212")}),
    ("x\nTRUE\nFALSE\nTRUE\n", {}, {"outcomes": [1, 0, 1]}),
    ("x\nTRUE\nFALSE\nTRUE\n", {"labels": ["FALSE", "TRUE"]}, {"outcomes": [1, 0, 1]}),
    ("x\nTRUE\nFALSE\nTRUE\n", {"labels": ["TRUE", "FALSE"]}, {"outcomes": [0, 1, 0]}),
    ("x\na\nc\nb\na\n", {"labels": ("c", "a")}, {"rejected": (Rejected(4, "x = 'b' is none of 'c', 'a'"),)}),
    ("x\n0\n1\n2\n1\n", {"kind": "binary"}, {"rejected": (Rejected(4, "x = 2 is none of 0, 1"),)}),
    # Scales and ranges
    ({"x": [0, 1], "b": RATINGS}, {"response_scale": (1, 7)}, {"responses": np.arange(7) / 6, "another_scale": ""}),
    ({"x": [0, 1], "b": RATINGS}, {"response_scale": (7, 1)}, {"responses": 1 - np.arange(7) / 6, "another_scale": ""}),
    ({"x": [30, 290], "b": [0.1, 0.9, 0.4]}, {"response_scale": (0, 1 / 300)}, {"responses": [30, 270, 120]}),
    ({"x": [100.0, 140], "b": [1.5, 40]}, {"response_scale": (0, 1)}, {"responses": [1.5, 40], "another_scale": ""}),
    (
        {"x": [1, 2, 3, 4], "b": [1, 4, 9, 2]},  # 9 for no answer
        {"kind": "categorical", "response_kind": "choice", "response_range": (1, 4)},
        {"labels": (1, 2, 3, 4), "responses": [0, 3, NAN, 1], "rejected": ()},
    ),
    (
        {"x": ["yes", "no"], "b": [*["no", "yes"] * 11, "oops", "no"]},
        {},
        {"kind": "binary", "unread": (Rejected(22, "b = 'oops' is none of 'no', 'yes'"),), "observed": [True] * 24},
    ),
    # What only looks as if it were missing, and what is
    *(
        ({"x": values}, {}, {"observed": [True] * 24})
        for values in (
            *([1, 2, 7, 9], [1, 3, 9], [50, 99, 0, 12], [900, 999, 950], [-9, -12, -7, 30], [99, 99, 99], [-1, 0, 1]),
            *([-1, 1], [-1.5, *range(12), -1]),
        )
    ),
    ({"x": ["hit", "miss", "lost"]}, {}, {"kind": "categorical"}),
    ({"x": ["reward", "none"]}, {}, {"labels": ("none", "reward")}),
    ({"x": ["1.5", "none", "?"]}, {"missing": ["none", "?"]}, {"kind": "continuous", "observed": [1, 0, 0]}),
    ({"x": PAID, "b": [0.5, 11.5, -99]}, {"response_range": (0, 20)}, {"responses": [0.5, 11.5, NAN]}),
    ({"x": PAID, "b": [0.5, 11.5, -99]}, {"missing": [-99]}, {"responses": [0.5, 11.5, NAN], "unread": ()}),
    ({"x": [0, 1, 1], "b": [1, 0, -1]}, {"missing": [-1]}, {"response_kind": "choice", "responses": [1, 0, NAN]}),
    ({"x": [-1, 0, 1], "b": [1, 0, -1]}, {"response_kind": "continuous"}, {"unread": ()}),  # of which it is one
    # The order of trials
    (MARKED, {"block": "new", "trial": "t"}, {"outcomes": [1.5, 2.5, 3.5, 4.5], "starts": [1, 0, 1, 0]}),
    (MARKED, {"block": "new", "trial": "t"}, {"rejected": (Rejected(2, "t is empty"),)}),
    (MARKED.assign(t=[10, 9, np.inf, 8, 1]), {"trial": "t"}, {"rejected": (Rejected(2, "t = inf is infinite"),)}),
    ("x,at\n2.5,09:30\n1.5,08:15\n3.5,10:00\n", {"trial": "at"}, {"outcomes": [1.5, 2.5, 3.5]}),
    ({"trial": range(24), **ORDER}, {}, {"notes": ()}),
    ({"trial": [1, 2, 2, *range(3, 24)], **ORDER}, {}, {"notes": (SAME_TRIAL.format("once"),)}),
    ({"trial": np.repeat(range(12), 2), **ORDER}, {}, {"notes": (SAME_TRIAL.format("12 times"),)}),
    ({"trial": np.repeat(range(5), 5), **ORDER}, {}, {"notes": ()}),
    (TASKS, {"block": "task"}, {"starts": [1, 0, 1, 0, 1, 0], "notes": (COMES_BACK,)}),
    (TASKS, {"block": "task", "trial": "trial"}, {"starts": [1, 0, 1, 0, 1, 0], "notes": (COMES_BACK,)}),
    (RUNS, {"block": "run", "trial": "trial"}, {"outcomes": [1.5, 3.5, 5.5, 7.5, 0.5, 2.5, 4.5, 6.5]}),
    (RUNS, {"block": "run", "trial": "trial"}, {"starts": [1, 0, 0, 0, 1, 0, 0, 0]}),  # ids, no marks of first trials
    # Decimal marks
    ("id;x;b\n" + NUMBERS, {}, {"outcomes": [3.5, 2, 1234.5], "notes": (COMMAS + "x, b", THOUSANDS)}),
    ("id;x\na;3,5\na;-2,25\na;+1,0e2\n", {}, {"outcomes": [3.5, -2.25, 100], "notes": (COMMAS + "x",)}),
    ('id,x\na,"1,234.5"\na,12\na,"2,000,000"\n', {}, {"outcomes": [1234.5, 12, 2e6], "notes": (THOUSANDS,)}),
    ("id\tx\na\t1 234,5\na\t1,5\na\t2\n", {}, {"outcomes": [1234.5, 1.5, 2], "notes": (COMMAS + "x", THOUSANDS)}),
    ("id;x\na;1'234.5\na;1.5\na;2\n", {}, {"outcomes": [1234.5, 1.5, 2], "notes": (THOUSANDS,)}),
    ("id;x\na;0,125\na;1,234\na;2,500\n", {}, {"outcomes": [0.125, 1.234, 2.5], "notes": (COMMAS + "x",)}),
    ("y;x\n2,5;1,234\n1,5;2,345\n0,5;3,456\n", {}, {"outcomes": [1.234, 2.345, 3.456], "notes": (COMMAS + "y, x",)}),
    (TWO_MEANINGS, {"decimal": ","}, {"outcomes": [1.234, 2.345, 3.456], "notes": (COMMAS + "x",)}),
    (TWO_MEANINGS, {"decimal": "."}, {"outcomes": [1234, 2345, 3456], "notes": (THOUSANDS,)}),
    (OTHERS, {"decimal": ","}, {"outcomes": [1234, 2345, 3456], "notes": (COMMAS + "y", THOUSANDS)}),
    ("y;x\n2,5;1.25\n1,5;2.345\n0,5;3.5\n", {}, {"outcomes": [1.25, 2.345, 3.5]}),  # each column in its own way
    (POINTS, {"decimal": ","}, {"outcomes": [987, 1234, 1102, 876], "notes": (THOUSANDS,)}),
    (POINTS, {"decimal": "."}, {"outcomes": [987, 1.234, 1.102, 876], "notes": ()}),
    (POINTS + "a;1.234.567\n", {}, {"outcomes": [987, 1234, 1102, 876, 1234567], "notes": (THOUSANDS,)}),
    ("x\n100\n1.234\n1.25\n", {}, {"outcomes": [100, 1.234, 1.25]}),
    ("x\n100.000\n1.234\n2.345\n", {}, {"outcomes": [100, 1.234, 2.345]}),
    ("x\n100\n0.234\n1.234\n", {}, {"outcomes": [100, 0.234, 1.234]}),
    (CONTRADICTING, {"decimal": ","}, {"outcomes": [2.041, 0.418, 1.5]}),
    ("x;y\n\u22121,5;a\n2,5;b\n\u22120,25;c\n", {}, {"outcomes": [-1.5, 2.5, -0.25]}),
    ("x\n\u22121.234\n2.5\n\u22123\n", {}, {"outcomes": [-1.234, 2.5, -3]}),
    ({"x": ["1,234", "2,345"], "y": ["0,5", "1,5"]}, {}, {"outcomes": [1.234, 2.345]}),
    ({"x": [1.5, 2.5], "y": ["0,5", "1.5"]}, {}, {"column y": ["0,5", "1.5"]}),
    (pd.DataFrame({"x": [1.5, 2.5, 3.5], 1: ["1,5", "2,5", "3,5"]}), {}, {"column 1": [1.5, 2.5, 3.5]}),
    # Rows, names and comments
    (
        RAGGED,
        {},
        {
            "outcomes": [1.5, 3.5, 5.5, 6.5],
            "column b": ["two\nlines", "c", "e", "f"],
            "rejected": (
                Rejected(4, "the line has 2 cells, but there are 3 columns"),
                Rejected(5, "the line is a comment, since it begins with #"),
                Rejected(7, "the line is empty"),
                Rejected(8, "the line has 4 cells, but there are 3 columns"),
                Rejected(10, "the line is empty"),
            ),
        },
    ),
    (
        "id,x\na,yes\na,no\na,yes\nid,x\nb,no\nb,yes\nb,no\n",  # two files in one
        {"subject": "id"},
        {
            "kind": "binary",
            "subjects": ("a", "b"),
            "excluded": {},
            "rejected": (Rejected(5, "the line has the names of the columns again"),),
        },
    ),
    ("x;y\n1,5;a\noops;b\n2,5;c\n3,5;d\n", {}, {"rejected": (Rejected(3, "x = 'oops' is not a number"),)}),
    ('x,y\n1,"two\nlines"\n2,\noops,\n3,\n\n\n', {}, {"rejected": (Rejected(5, "x = 'oops' is not a number"),)}),
    ("# x,b\n1.5,2\n2.5,3\n3.5,4\n", {}, {"notes": ("file: the names of the columns are in a comment, line 1",)}),
    ("id,x\n#1,1.5\n#1,2.5\n#1,3.5\n", {"subject": "id"}, {"subjects": ("#1",)}),
]  # fmt: skip


@pytest.mark.parametrize(("source", "options", "expected"), READ)
def test_a_table_is_read_as_it_was_meant(read: Read, source: Table, options: Any, expected: dict[str, Any]) -> None:
    trials = read(source, **options)
    for name, values in expected.items():
        if name.startswith("column "):
            column = {str(label): label for label in trials.frame}[name.removeprefix("column ")]
            assert trials.frame[column].tolist()[: len(values)] == values
        elif isinstance(actual := getattr(trials, name), np.ndarray):
            np.testing.assert_allclose(actual[0, : len(values)], values, rtol=1e-15)
        else:
            assert actual == values


# Responses: numbers or choices, and on which scale?


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
def test_a_choice_that_is_rewarded_may_look_like_a_prediction(
    read: Read, outcome: str, response: str, asked: bool
) -> None:
    table = {outcome: [0, 1, 1], response: [1, 0]}
    if asked:
        question = rf"does {response} predict {outcome}, or is it a choice .*--response-kind choice.*--reward {outcome}"
        with pytest.raises(ValueError, match=question):
            read(table, outcome, response=response)
    else:
        assert read(table, outcome, response=response).response_kind == "choice"
    assert read(table, outcome, response=response, response_kind="choice").response_kind == "choice"


ESTIMATES = Model(Delta(0.3, start=0.5), Estimate(noise=0.1))
TENTHS = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.2]


@pytest.mark.parametrize(
    ("outcomes", "responses", "question"),
    [
        ([0, 1], [*range(0, 101, 4)], r"b are from 0 to 92, .* is 0 the probability 0, and 100 the probability 1\? .*"
         r"response_scale=\(0, 100\) \(--response-scale 0 100\); if they are no est"),
        ([0, 1], [0.5, 1.01], r"from 0.5 to 1.01, but estimates are probabilities, from 0 to 1"),
        ([0.1, 0.9, 0.4], [10.5, 95, 40], r"b are from 10.5 to 95, but estimates are like the outcomes x, from 0.1"),
        ([30, 290, 120], [0.1, 0.9, 0.4], r"from 0.1 to 0.9, but .* from 30 to 290; .*\(--response-scale LOW HIGH\)"),
        ([100.0, 140, 120], [1.5, 40, 20], "from 1.5 to 40, but .* from 100 to 140"),
        ([-1, 1], [-0.5, 0.25], r"--response-scale -1 1\); if they estimate the mean of -1 and 1, give kind='cont"),
        ([0, 1], TENTHS, r"scale 0 1\), without the 2 of 24 that"),
        ([0, 1], [*range(0, 101, 5), 150], r"from 0 to 150, .*scale 0 100\), without the 1 of 24 that are outside; if"),
        ([0, 1], [0.0, 1.0, 0.5], "^$"),
        ([30, 290, 120], [45.5, 200, 160], "^$"),
        ([30, 290, 120, 150], [139.5, 140.5, 138.5], "^$"),  # of people who have seen that the mean stays
        ([0.0, 1.0, 10.0], [0.5, -85.0, 3.0], "^$"),  # up to ten times as widely spread
        ([5, 5, 5], [0.5, 100, 4], "^$"),  # which tell nothing about a scale
    ],
)  # fmt: skip
def test_responses_on_another_scale_than_the_estimate_are_asked_about(
    read: Read, outcomes: Any, responses: Any, question: str
) -> None:
    assert re.search(question, read({"x": outcomes, "b": responses}).another_scale)


def test_responses_on_another_scale_are_no_estimates_but_may_be_readouts(read: Read) -> None:
    trials = read({"x": [0, 1], "b": [0.5, 1.01]})
    with _asks(trials.another_scale):
        fit(ESTIMATES, trials, ["learning_rate"])
    participant_data(Model(Delta(0.3), Readout()), trials)  # reaction times have a scale of their own


@pytest.mark.parametrize("far", [1e3, 1e6, -1e9])
@pytest.mark.parametrize("biased", [0.0, 12.0])
def test_one_outcome_far_out_is_no_other_scale(read: Read, far: float, biased: float) -> None:
    for seed in range(10):
        outcomes = np.random.default_rng(seed).normal(100, 10, 12)
        table = pd.DataFrame({"x": np.append(outcomes, far), "b": np.append(outcomes[::-1], 100.0) + biased})
        assert read(table).another_scale == ""
        assert "if they are on another scale" in read(table.assign(b=table["b"] / 100)).another_scale


def test_a_scale_takes_percentages_to_probabilities(read: Read) -> None:
    trials = read({"x": [0, 1], "b": [0, 25, 50, 100, 110, 30]}, response_scale=(0, 100))
    assert trials.responses[0, :4].tolist() == [0, 0.25, 0.5, 1]
    assert trials.unread[0] == Rejected(4, "b = 110 is outside the scale from 0 to 100")
    assert np.isnan(trials.responses[0, 4])
    assert trials.outcomes[0, 4] == 0
    assert trials.observed[0, 4]
    assert "response b: continuous, from 0 to 1 (0 means 0, 100 means 1); given after" in trials.preview()
    fitted = fit(ESTIMATES, trials, ["learning_rate"], starts=1)
    explained = fitted.data.scored[0]
    expected = fitted.trial_table()["expected_response"][explained]
    np.testing.assert_allclose(expected, 100 * fitted.outputs.expected[0][explained])
    simulated = simulate_responses(fitted.model, trials)
    assert np.isnan(simulated.responses[0, 4])
    np.testing.assert_allclose(simulated.frame["b"], 100 * simulated.responses[0])


def test_commands_ask_and_take_the_answers(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    columns = {"x": rng.integers(2, size=60), "slider": rng.integers(101, size=60), "r": rng.integers(1, 8, 60)}
    path, out = _written(tmp_path, pd.DataFrame(columns)), ("--out", tmp_path / "out")
    words = ("fit", path, "--outcome x --responded after --learner delta --starts 1", *out, "--response")
    assert "(--response-scale 0 100)" in refused(*words, "slider")
    assert "(--response-scale 1 7)" in refused(*words, "r")
    assert "(--response-scale 1 7)" in refused(*words, "r --response-kind continuous")
    sentence = refused(*words, "r --response-kind choice --range 0 1")
    assert "2 choices, but" not in sentence  # the range leaves choices of 1 alone
    for column, low, high in (("slider", 0, 100), ("r", 1, 7)):
        said = done(*words, f"{column} --response-scale {low} {high}").stderr
        assert f"({low} means 0, {high} means 1)" in said


def test_planned_and_simulated_responses_are_not_asked_about() -> None:
    plan = plan_trials([[100.0, 120.0, 140.0] * 5], responds_before=False)  # whose responses hold a place only
    model = Model(Delta(0.3, start=100.0), Estimate(noise=500.0))
    wild = simulate_responses(model, plan)
    assert fit(model, wild, ["learning_rate"], starts=1).values.shape == (1, 1)


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
def test_two_outcomes_are_binary_and_what_is_1_is_said(read: Read, values: Any, labels: Any, said: str) -> None:
    trials = read({"x": values})
    assert (trials.kind, trials.labels) == ("binary", labels)
    assert trials.preview().splitlines()[1].startswith(f"outcome x: binary (guessed), {said}")
    assert trials.outcomes[0].tolist() == [labels.index(value) for value in trials.frame["x"]]
    table = regressors(Bayes(Beta()), trials)
    np.testing.assert_allclose(table["estimate"], run(Bayes(Beta()), trials.outcomes[0]).estimate)
    np.testing.assert_allclose(table["prediction_error"], trials.outcomes[0] - table["prediction"])


def test_which_of_two_outcomes_is_1_may_be_decided(tmp_path: Path) -> None:
    path = _written(tmp_path, {"x": ["yes", "no", "no"]})
    words = "--outcome x --label yes --label no --learner bayes --out"
    said = done("surprise", path, words, tmp_path / "o.csv").stderr
    assert "outcome x: binary (guessed), 1 stands for 'no', 0 for 'yes'; none missing" in said
    assert pd.read_csv(tmp_path / "o.csv")["estimate"].tolist()[:2] == pytest.approx([1 / 3, 1 / 2])


def test_predictions_in_labels_are_fitted(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    names = np.array(["loss", "win"])
    table = pd.DataFrame({"outcome": names[rng.integers(2, size=80)], "prediction": names[rng.integers(2, size=80)]})
    words = "--outcome outcome --response prediction --responded before --learner delta --starts 1 --out"
    coded = table.replace({"loss": 0, "win": 1}).infer_objects()
    for name, source in (("o", table), ("p", coded)):
        done("fit", _written(tmp_path, source), words, tmp_path / name)
    assert set(pd.read_csv(tmp_path / "o" / "trials.csv")["expected_response"]) <= {"loss", "win"}
    pd.testing.assert_frame_equal(*(pd.read_csv(tmp_path / name / "participants.csv") for name in "op"))


def test_numbers_that_may_be_labels_are_said(read: Read) -> None:
    note = "note: the outcomes are only {}; if these are labels, give kind={kind!r} (--kind {kind})"
    for values, kind in (([0, 100], "binary"), ([1, 2, 3, 4], "categorical")):
        assert note.format(str(values)[1:-1], kind=kind) in read({"x": values}).preview().splitlines()
    assert "; if -1 means missing, give missing=[-1] (--missing -1)" in read({"x": [-1, 0, 1]}).preview()


# The order of trials


# Two people, two blocks each, of which trials are numbered anew
ROWS = [(who, block, trial, 100 * block + trial + 0.5) for who in "ab" for block in (1, 2) for trial in range(1, 13)]
NUMBERED = pd.DataFrame(ROWS, columns=["who", "block", "trial", "x"])
SHUFFLED = NUMBERED.sample(frac=1, random_state=0, ignore_index=True)
NAMES = ["trial", "Trial", "trial_number", "trialNo", "exp.trial.index", "trials.thisN", "Trial#", "trial_count"]


@pytest.mark.parametrize("name", NAMES)
def test_a_column_called_trial_that_is_not_in_order_is_asked_about(read: Read, name: str) -> None:
    with _asks(f"{name} falls from ... in row ... are the rows out of order? Give trial='{name}' (--trial {name})"):
        read_trials(SHUFFLED.rename(columns={"trial": name}), Columns("x", "who", "block"))
    with _asks(f"{name} falls from 24 to 1 in row 12: are the rows out of order"):  # a second half before the first
        read(pd.DataFrame({name: [*range(13, 25), *range(1, 13)], **ORDER}))


def test_trials_are_ordered_by_a_column() -> None:
    trials = read_trials(SHUFFLED, Columns("x", "who", "block", trial="trial"))
    np.testing.assert_array_equal(trials.outcomes, [NUMBERED["x"][:24]] * 2)
    np.testing.assert_array_equal(np.flatnonzero(trials.starts[0]), [0, 12])
    np.testing.assert_array_equal(trials.frame["x"].to_numpy()[trials.rows], trials.outcomes)
    pd.testing.assert_frame_equal(trials.frame, SHUFFLED)  # whose rows stay where they are
    assert trials.preview().startswith("participants: 2 (by who), of 24 trials in 2 blocks by block, ordered by trial")
    question = r"trial = 1 is there twice in a block, in rows \d+ and \d+; name the column of the block \(block=, --bl"
    with pytest.raises(ValueError, match=question):
        read_trials(NUMBERED.sort_values(["trial", "block"], ignore_index=True), Columns("x", "who", trial="trial"))


def test_names_of_trials_are_ordered_by_the_numbers_in_them(read: Read) -> None:
    table = pd.DataFrame({"trial": [f"T{k}" for k in range(1, 25)], **ORDER})
    shuffled = table.sample(frac=1, random_state=0, ignore_index=True)
    with _asks("trial falls from T ... to T ... in row ... are the rows out of order?"):
        read(shuffled)
    np.testing.assert_array_equal(read(shuffled, trial="trial").outcomes[0], table["x"])
    assert read(table).notes == ()


def test_marks_of_first_trials_are_marks_also_for_those_whose_first_trial_is_not_marked() -> None:
    marks = [1, 0, 0] * 2 + [0, 0, 1, 0, 0]
    table = pd.DataFrame({"id": ["a"] * 6 + ["b"] * 5, "new": marks, "x": np.arange(11) + 0.5})
    trials = read_trials(table, Columns("x", "id", block="new"))
    assert [np.flatnonzero(row).tolist() for row in trials.starts] == [[0, 3], [0, 2]]


def test_participants_that_were_not_named_are_said() -> None:
    table = NUMBERED.rename(columns={"who": "subject_id"})
    said = "note: all rows are taken for one participant: or does subject_id name 2 (--subject subject_id)?"
    assert read_trials(table, Columns("x", block="block")).notes[0] == said
    assert read_trials(table, Columns("x", "subject_id", "block")).notes == ()
    own = table.assign(subject_id=range(len(table)))  # which numbers rows
    assert not any("--subject subject_id" in note for note in read_trials(own, Columns("x", block="block")).notes)


def test_trials_that_start_again_are_said_but_not_refused() -> None:
    said = (
        "note: trial starts again at 1 2 times within a block: is there a column of blocks (--block), or of "
        "participants (--subject)?"
    )
    assert said in read_trials(NUMBERED, Columns("x", "who")).notes
    for table in (NUMBERED, NUMBERED.assign(trial_type=[3, 1] * 24)):
        assert read_trials(table, Columns("x", "who", "block")).notes == ()


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
def test_numbers_such_as_minus_999_are_asked_about(read: Read, values: Any, mark: str) -> None:
    table = _table(x=values)
    text = table.to_csv(index=False)
    with _asks(
        f"x = {mark} stands apart from all other values, ... missing=[{mark}] (--missing {mark}); else missing=[]"
    ):
        read(text)
    trials = read(text, missing=[mark])
    assert (~trials.observed).sum() == (table["x"] == int(mark)).sum()
    assert str(int(trials.frame["x"].iloc[values.index(int(mark))])) == mark  # as it was written
    assert read(text, missing=[]).observed.all()


def test_commands_ask_about_missing_numbers(tmp_path: Path) -> None:
    words = "surprise", _written(tmp_path, {"x": [0.2, 0.9, -999, 0.4]}), "--outcome x --out", tmp_path / "o.csv"
    assert "--missing -999" in refused(*words)
    assert "; 6 missing" in done(*words, "--missing -999 --missing none").stderr


@pytest.mark.parametrize("word", ["timeout", "No response", "-", "missing"])
def test_words_that_say_that_something_is_missing_are_asked_about(read: Read, word: str) -> None:
    table = {"x": ["win", "loss", word]}
    with _asks(f"does x = {word!r} mean that x is missing? Then give missing=[{word!r}] (--missing {word!r}); else "):
        read(table)
    trials = read(table, missing=[word])
    assert (trials.kind, trials.labels, (~trials.observed).sum()) == ("binary", ("loss", "win"), 8)
    assert read(table, missing=[]).labels == tuple(sorted(["win", "loss", word]))
    with _asks(f"does b = '{word}' mean that b is missing"):
        read({"x": ["left", "right"], "b": ["right", word, "left"]})


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
def test_what_may_be_no_choice_is_asked_about(read: Read, choices: Any, rewards: Any, none: str) -> None:
    table = {"x": rewards, "c": choices}
    every = read(table, choice="c", missing=[]).options
    if not none:
        assert read(table, choice="c").options == every
        return
    options = [str(option) for option in every or () if str(option) != none]
    question = f"is c = {none} an option? It looks as if it were none: give options={options} (--options"
    with _asks(question):
        read(table, choice="c")
    trials = read(table, choice="c", options=options)
    assert [str(option) for option in trials.options or ()] == options
    assert trials.unread[0].reason.startswith("c = ")
    assert read(table, choice="c", options=every).options == every


# Text files: (text, options, outcomes, what is said of it)


def test_commands_take_the_decimal_mark(tmp_path: Path) -> None:
    path, out = _written(tmp_path, TWO_MEANINGS), tmp_path / "o.csv"
    said = done("surprise", path, "--outcome x --decimal , --out", out).stderr
    assert "file: decimal commas in x" in said.splitlines()
    assert pd.read_csv(out)["x"].tolist() == [1.234, 2.345, 3.456]


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
def test_one_odd_cell_multiplies_no_column(odd: str, meant: float | None, read: Read) -> None:
    for seed in range(20):
        texts, numbers = _texts(seed, ".3f", seed % 3 - 1.0)
        frame = pd.DataFrame({"x": [*texts, odd, "n.a."]})
        table: Any = frame if seed > 3 else frame.to_csv(index=False)
        if meant is None:
            with pytest.raises(ValueError, match=r"x = .*decimal=',' \(--decimal ,\).* decimal='\.' \(--decimal \.\)"):
                read(table)
            assert read(table, decimal=".").outcomes[0, :12].tolist() == numbers
        else:
            assert read(table).outcomes[0].tolist() == [*numbers, *([] if np.isnan(meant) else [meant])]


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
def test_tables_in_one_notation_are_read_or_asked_about(read: Read, form: str, marks: str, asked: bool) -> None:
    for seed in range(20):
        texts, numbers = _texts(seed, form, 1100.0 if "_" in form else 1.0)
        table = pd.DataFrame({"x": [text.translate(str.maketrans("._", marks)) for text in texts] + ["n.a."]})
        if asked:
            with pytest.raises(ValueError, match=r"is x = .* the number .*, or .*\? Give decimal=','"):
                read(table)
        else:
            assert read(table).outcomes[0].tolist() == numbers
        assert read(table, decimal=marks[0]).outcomes[0].tolist() == numbers


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
def test_text_is_read_whatever_it_was_saved_by(read: Read, content: Any, said: tuple[str, ...]) -> None:
    trials = read(content)
    assert trials.outcomes.tolist() == [[1.5, 2.5, 3.5]]
    assert trials.frame["note"].fillna("").tolist() == ["Zürich", "", "é"]
    assert (trials.notes, trials.rejected) == (said, ())
    assert list(trials.frame) == ["id", "x", "note"]


def test_columns_of_the_same_name_are_refused_if_they_are_needed(read: Read) -> None:
    text = "x,b,x,note,note\n1,1,4,a,b\n2,5,5,a,b\n3,9,6,a,b\n"
    with pytest.raises(ValueError, match="there are several columns 'x'; give each a name of its own"):
        read(text)
    trials = read(text, "b")
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
        read_trials(path, Columns("x"))
    pd.DataFrame([[1.5, 2, 3], [2.5, 3, 4], [3.5, 4, 5]], columns=["x", "y", "y"]).to_excel(path, index=False)
    trials = read_trials(path, Columns("x"))
    assert list(trials.frame) == ["x", "y", "y.1"]
    assert trials.notes == ("file: sheet 'Sheet1'", "file: there are several columns 'y'; the second is now y.1")
    with pytest.raises(ValueError, match="there are several columns 'y'; give each a name of its own"):
        read_trials(path, Columns("y"))


# Columns of the user's


def test_columns_of_the_table_are_never_overwritten(read: Read, tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    table = pd.DataFrame({"x": rng.normal(size=40), "b": rng.normal(size=40)})
    table = table.assign(log_likelihood="mine", participant="x")
    words = "--outcome x --response b --responded after --learner delta --starts 1 --out"
    said = done("fit", _written(tmp_path, table), words, tmp_path / "o").stderr
    assert "the table has log_likelihood already: in trials.csv, what the fit adds has a number behind" in said
    results = pd.read_csv(tmp_path / "o" / "trials.csv")
    assert set(results["log_likelihood"]) == {"mine"}
    assert np.isfinite(results["log_likelihood_2"]).all()
    trials = read(table)
    again = repeated(trials, 3)
    assert set(again.frame["participant"]) == {"x"}
    assert again.columns.subject == "simulated_participant"
    assert again.frame["simulated_participant"].unique().tolist() == ["1", "2", "3"]
    assert trials.frame.columns.tolist() == table.columns.tolist()


def test_simulated_responses_do_not_stand_beside_real_ones(read: Read) -> None:
    table = pd.DataFrame({"who": ["a"] * 20 + ["b"] * 2, "x": np.arange(22.0), "b": np.arange(22.0) + 0.5})
    simulated = simulate_responses(Model(Delta(0.5), Estimate(noise=1.0)), read(table, subject="who"))
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


PREDICTIONS = "--outcome x --response b --responded before --subject id --block run --learner delta"


@pytest.mark.parametrize("command", ["compare", "recover"])
def test_what_cannot_be_fitted_is_refused_before_the_first_fit(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fitted(*_: Any, **__: Any) -> None:
        raise AssertionError("a model was fitted")

    monkeypatch.setattr("astonish.people.analysis.models.fit", fitted)
    words = command, _people(tmp_path), PREDICTIONS, "--learner message-passing --out", tmp_path / "o"
    reason = "MessagePassing cannot go on from someone's answer"
    advice = "give a response that is not anchored (--free-running)"
    assert refused(*words).startswith(f"astonish: {reason}; {advice}")


def test_first_responses_that_are_not_explained_are_said(tmp_path: Path) -> None:
    words = "fit", _people(tmp_path), PREDICTIONS, "--starts 1 --out", tmp_path / "o"
    sentence = "the learner starts from the first response of each block, which is therefore not explained (4 in all)"
    assert sentence in done(*words).stderr
    assert sentence in (tmp_path / "o" / "report.html").read_text()
    assert pd.read_csv(tmp_path / "o" / "participants.csv")["responses"].tolist() == [28, 28]
    assert sentence not in done(*words, "--free-running").stderr


# First beliefs, and the reference of SMiLe


def test_what_is_set_is_what_is_printed(tmp_path: Path) -> None:
    out = tmp_path / "o.csv"
    coins, labels = _written(tmp_path, {"x": [0, 1, 1]}), _written(tmp_path, {"x": ["a", "b", "c"]}, "labels.csv")
    words = "--outcome x --learner leaky --out", out, "--set"
    assert "prior=BetaBelief(ones=1.0, zeros=3.0))" in done("surprise", coins, *words, "ones=1 --set zeros=3").stderr
    assert pd.read_csv(out)["prediction"][0] == 0.25  # ones / (ones + zeros)
    said = done("surprise", coins, *words, "ones=2 --family beta-interval").stderr
    assert "prior=BetaIntervalBelief(ones=2.0, zeros=1.0, low=0.0, high=1.0))" in said
    assert "prior=DirichletBelief(alpha=[2.0, 2.0, 2.0]))" in done("surprise", labels, *words, "alpha=2").stderr


def test_smile_says_between_which_estimates_it_stays_and_its_reference_can_be_set(tmp_path: Path) -> None:
    path, out = _written(tmp_path, pd.DataFrame({"x": [0] + [1] * 400})), tmp_path / "o.csv"
    words = "surprise", path, "--outcome x --out", out
    said = "  SMiLe's estimates stay between 0.333 and 0.667, whatever m is, since it never remembers more than one out"
    caution = next(line for line in done(*words).stderr.splitlines() if line.startswith(said))
    assert pd.read_csv(out)["estimate"].between(1 / 3, 2 / 3).all()
    assert pd.read_csv(out)["estimate"].iloc[-1] > 0.66
    advised = caution.split("; ")[1].split(" (")[0].split()
    assert advised == ["--set", "reference.ones=0.1", "--set", "reference.zeros=0.1"]
    assert "lets them go from 0.083 to 0.92, or give another learner, such as varsmile" in caution
    said = done(*words, *advised).stderr
    assert "reference=BetaBelief(ones=0.1, zeros=0.1)" in said
    assert "stay between" not in said
    assert pd.read_csv(out)["estimate"].iloc[-1] == pytest.approx(1.1 / 1.2, abs=0.005)
    for learner, word in (("varsmile", "m=0.1"), ("leaky", "keep=0.99"), ("message-passing", "hazard=0.01")):
        done(*words, "--learner", learner, "--set", word)
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
                estimates = run(replace(learner, m=m), xs).estimate
                assert estimates[-1] == pytest.approx(end, abs=0.02)
                assert (np.min(estimates) > low - 0.001) & (np.max(estimates) < high + 0.001)


def test_the_caution_reaches_the_report(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    path = _written(tmp_path, pd.DataFrame({"x": rng.integers(2, size=40), "b": rng.uniform(size=40)}))
    words = "--outcome x --response b --responded after --starts 1 --out"
    for text in (
        done("fit", path, words, tmp_path / "o").stderr,
        (tmp_path / "o" / "report.html").read_text().replace("&#x27;", "'"),
    ):
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
@example(numbers=[0.40658900447024465, 0.1 + 0.2, 1e-300, 2.2250738585072014e-308], decimal=".")
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

"""Tables of trials, read as they were meant; nothing is left out without a word."""

import gzip
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from astonish.people.tables import Columns, Rejected, read_trials
from published_data import published_data

NAN = np.nan
SMALL = """who,session,trial,x,y,odd
a,1,1,0.5,0.4,0
b,1,1,3.5,,0
a,1,2,1.5,0.6,1
a,2,1,,0.7,0
b,1,2,4.5,0.1,
a,2,2,2.5,NA,0
b,2,1,5.5,0.2,0
"""
ALL = Columns("x", subject="who", block="session", response="y", ignore=("odd",))


def _file(tmp_path: Path, text: str, name: str = "trials.csv") -> Path:
    path = tmp_path / name
    path.write_text(text)
    return path


def _same(found: Any, expected: Any) -> None:
    np.testing.assert_array_equal(found, expected)


def test_rows_become_series_in_the_order_of_each_participants_trials(tmp_path: Path) -> None:
    trials = read_trials(_file(tmp_path, SMALL), ALL, responds_before=False)
    assert trials.subjects == ("a", "b")
    _same(trials.outcomes, [[0.5, 1.5, 0.0, 2.5], [3.5, 4.5, 5.5, 0.0]])
    _same(trials.observed, [[True, True, False, True], [True, True, True, False]])
    _same(trials.starts, [[True, False, True, False], [True, False, True, False]])
    _same(trials.rows, [[0, 2, 3, 5], [1, 4, 6, -1]])
    _same(trials.responses, [[0.4, 0.6, 0.7, NAN], [NAN, 0.1, 0.2, NAN]])
    _same(trials.scored, [[True, False, True, False], [False, True, True, False]])
    assert trials.outcomes.dtype == np.float64
    assert trials.rows.dtype == np.intp
    assert (trials.kind, trials.response_kind, trials.labels) == ("continuous", "continuous", None)
    assert not trials.responds_before
    assert (trials.rejected, trials.excluded, trials.given) == ((), {}, {})
    pd.testing.assert_frame_equal(trials.frame, pd.read_csv(tmp_path / "trials.csv"))


def test_what_follows_a_marked_outcome_is_not_to_be_explained() -> None:
    table = pd.DataFrame({
        "who": list("aaaaabbbb"),
        "block": [1, 1, 1, 2, 2, 1, 1, 1, 1],
        "x": np.arange(9.0),
        "y": [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, NAN, 0.8, 0.9],
        "catch": [1, 0, 1, 0, 0, 1, 0, 0, 1],
    })  # fmt: skip
    columns = Columns("x", "who", "block", "y", ("catch",))
    after = read_trials(table, columns, responds_before=False)
    _same(after.scored, [[False, True, False, True, True], [False, False, True, False, False]])
    before = read_trials(table, columns, responds_before=True)  # the first of a block follows nothing
    _same(before.scored, [[True, False, True, True, True], [True, False, True, True, False]])


def test_the_preview_says_how_everything_was_understood(tmp_path: Path) -> None:
    text = SMALL + "c,1,1,7,0.2,0\nc,1,2,oops,0.2,0\n,1,3,7,0.2,0\n"
    trials = read_trials(_file(tmp_path, text), ALL, responds_before=False)
    assert trials.preview().splitlines() == [
        "participants: 2 (by who), of 3 to 4 trials in 2 blocks by session",
        "outcome x: continuous (guessed), from 0.5 to 5.5; 1 missing",
        "response y: continuous (guessed), from 0.1 to 0.7; given after the outcome of its trial; 2 missing, "
        "1 known but not to be explained (odd)",
        "rejected rows: 2",
        "  line 10: x = 'oops' is not a number",
        "  line 11: who is empty",
        "excluded participants: 1",
        "  c: 1 outcome, fewer than 3",
    ]


@pytest.mark.parametrize("kind", ["csv", "csv.gz", "tsv", "semicolons", "bom", "parquet", "frame"])
def test_every_kind_of_file_is_read_alike(kind: str, tmp_path: Path) -> None:
    expected = read_trials(_file(tmp_path, SMALL), ALL, responds_before=True)
    frame = pd.read_csv(tmp_path / "trials.csv")
    source: Any = tmp_path / f"again.{kind}"
    if kind == "csv.gz":
        source.write_bytes(gzip.compress(SMALL.encode()))
    elif kind == "parquet":
        if find_spec("pyarrow") is None:
            pytest.skip("Parquet needs pyarrow, which is not installed")
        frame.to_parquet(source)
    elif kind == "frame":
        source = frame.set_index("trial", drop=False)
    else:
        mark = {"tsv": "\t", "semicolons": ";"}.get(kind, ",")
        source = source.with_suffix(".tsv" if kind == "tsv" else ".csv")
        source.write_bytes((b"\xef\xbb\xbf" * (kind == "bom")) + SMALL.replace(",", mark).encode())
    found = read_trials(source, ALL, responds_before=True)
    for part in ("outcomes", "observed", "starts", "rows", "responses", "scored"):
        _same(getattr(found, part), getattr(expected, part))
    pd.testing.assert_frame_equal(found.frame, expected.frame)


@pytest.mark.parametrize(
    ("reader", "name", "package", "extra"),
    [("read_parquet", "trials.parquet", "pyarrow", "parquet"), ("ExcelFile", "trials.xlsx", "openpyxl", "excel")],
)
def test_files_that_need_an_extra_say_so(
    reader: str, name: str, package: str, extra: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(*_: Any, **__: Any) -> None:
        raise ImportError(package)

    monkeypatch.setattr(pd, reader, missing)
    sentence = rf"needs {package}, which is not installed; pip install 'astonish\[{extra}\]', or give a .csv"
    with pytest.raises(ValueError, match=sentence):
        read_trials(_file(tmp_path, "", name), ALL, responds_before=True)


@pytest.mark.parametrize(
    ("blocks", "starts"),
    [
        ([1, 0, 0, 1, 0, 0], [1, 0, 0, 1, 0, 0]),  # first trials marked
        ([1, 1, 1, 0, 0, 0], [1, 0, 0, 1, 0, 0]),  # ids, though 0 and 1
        ([0, 0, 1, 1, 0, 0], [1, 0, 1, 0, 1, 0]),
        ([0, 1, 0, 0, 0, 0], [1, 1, 0, 0, 0, 0]),  # marked, though the first trial of all is not
        (["A", "A", "B", "B", "A", "A"], [1, 0, 1, 0, 1, 0]),
        ([True, False, False, False, True, False], [1, 0, 0, 0, 1, 0]),
        ([0.5, 0.5, 0.5, 0.5, 0.5, 0.5], [1, 0, 0, 0, 0, 0]),
    ],
)
def test_blocks_are_ids_or_marks_of_first_trials(blocks: list[Any], starts: list[int]) -> None:
    table = pd.DataFrame({"x": [1.0, 2, 3, 4, 5, 6], "block": blocks})
    _same(read_trials(table, Columns("x", block="block")).starts, [np.array(starts, bool)])


def test_a_block_whose_marked_trial_is_rejected_still_begins() -> None:
    table = pd.DataFrame({"x": ["1", "2", "3", "oops", "5", "6"], "new": [1, 0, 0, 1, 0, 0]})
    trials = read_trials(table, Columns("x", block="new"))
    _same(trials.outcomes, [[1, 2, 3, 5, 6]])
    _same(trials.starts, [[True, False, False, True, False]])


DATES = tuple(f"2020-01-0{day} 00:00:00" for day in (1, 2, 3))


def _x(*values: Any) -> pd.DataFrame:
    return pd.DataFrame({"x": list(values)})


@pytest.mark.parametrize(
    ("values", "options", "kind", "labels", "expected"),
    [
        ([0, 1, None, 1], {}, "binary", (0, 1), [0, 1, None, 1]),
        ([True, False, False], {}, "binary", (0, 1), [1, 0, 0]),
        ([0.0, 0.0, 0.0], {}, "binary", (0, 1), [0, 0, 0]),
        ([0, 1, 2], {}, "continuous", None, [0, 1, 2]),
        ([0, 1, 1], {"kind": "continuous"}, "continuous", None, [0, 1, 1]),
        ([0, 1, 2, 1], {"kind": "binary"}, "binary", (0, 1), [0, 1, 1]),  # 2 is rejected
        (["b", "a", " b", None, "c"], {}, "categorical", ("a", "b", "c"), [1, 0, 1, None, 2]),
        (["1", "a", 2, "01", "2.0"], {"kind": "categorical"}, "categorical", (1, 2, "01", "a"), [0, 3, 1, 2, 1]),
        ([10, 2.0, None, 10], {"kind": "categorical"}, "categorical", (2, 10), [1, 0, None, 1]),
        (["tails", "heads", "tails"], {"labels": ("tails", "heads")}, "binary", ("tails", "heads"), [0, 1, 0]),
        ([1, 2, 1], {"labels": ("2", "1")}, "binary", (2, 1), [1, 0, 1]),
        (["a", "c", "b", "a"], {"labels": ("c", "a")}, "binary", ("c", "a"), [1, 0, 1]),  # b is rejected
        # All kinds of columns that pandas knows
        (pd.array([1, None, 3, 7], "Int64"), {}, "continuous", None, [1, None, 3, 7]),
        (pd.array([True, None, False, True], "boolean"), {}, "binary", (0, 1), [1, None, 0, 1]),
        ([True, None, False, True], {}, "binary", (0, 1), [1, None, 0, 1]),
        (pd.array(["b", None, "a", "b"], "string"), {}, "binary", ("a", "b"), [1, None, 0, 1]),
        (pd.array(["b", None, "a", "c"], "string"), {}, "categorical", ("a", "b", "c"), [1, None, 0, 2]),
        (pd.Categorical(["b", None, "a", "c"]), {}, "categorical", ("a", "b", "c"), [1, None, 0, 2]),
        (pd.to_datetime(["2020-01-02", None, "2020-01-01", "2020-01-03"]), {}, "categorical", DATES, [1, None, 0, 2]),
        ([[2], None, [1], [3]], {}, "categorical", ("[1]", "[2]", "[3]"), [1, None, 0, 2]),
        ([1.5, pd.NA, 2, 3], {}, "continuous", None, [1.5, None, 2, 3]),
    ],
)  # fmt: skip
def test_the_kind_of_outcome_is_guessed_or_given(
    values: Any, options: Any, kind: str, labels: Any, expected: list[Any]
) -> None:
    trials = read_trials(pd.DataFrame({"x": values}), Columns("x"), **options)
    assert trials.kind == kind
    assert trials.labels == labels
    assert ("kind" in trials.guessed) == ("kind" not in options)
    _same(trials.observed, [[value is not None for value in expected]])
    _same(trials.outcomes, [[value or 0 for value in expected]])
    assert trials.outcomes.dtype == (np.float64 if kind == "continuous" else np.int32)


def test_pairs_of_columns_are_transitions() -> None:
    table = pd.DataFrame({"here": [3, 5, 3, None], "there": [5, 3, 7, 3], "cue": list("uvwu")})
    trials = read_trials(table, Columns(("here", "there")))
    contexts, outcomes = trials.outcomes
    assert (trials.kind, trials.labels) == ("transitions", (3, 5, 7))
    _same(contexts, [[0, 1, 0, 0]])
    _same(outcomes, [[1, 0, 2, 0]])
    _same(trials.observed, [[True, True, True, False]])
    contexts, outcomes = read_trials(table, Columns(("cue", "there"))).outcomes  # cues are not among the outcomes
    _same(contexts, [[0, 1, 2, 0]])
    _same(outcomes, [[1, 0, 2, 0]])
    assert contexts.dtype == outcomes.dtype == np.int32
    assert "outcome here to there: transitions (guessed), one of 3, 5, 7; 1 missing" in trials.preview()


def test_choices_are_indices_of_the_same_labels() -> None:
    table = pd.DataFrame({"x": list("abab"), "y": ["b", None, "c", "a"], "n": [1.5, 2.5, 3.5, 4.5], "go": [1, 0, 1, 1]})
    trials = read_trials(table, Columns("x", response="y"), responds_before=True)
    assert (trials.response_kind, trials.labels) == ("choice", ("a", "b", "c"))
    _same(trials.responses, [[1, NAN, 2, 0]])
    trials = read_trials(table, Columns("n", response="go"), responds_before=True, response_kind="choice")
    assert (trials.kind, trials.response_kind, trials.labels) == ("continuous", "choice", (0, 1))
    trials = read_trials(table, Columns("n", response="go"), responds_before=True, response_kind="continuous")
    assert (trials.response_kind, trials.labels) == ("continuous", None)
    _same(trials.outcomes, [[1.5, 2.5, 3.5, 4.5]])


def test_given_values_come_trial_by_trial() -> None:
    table = pd.DataFrame({"who": list("aaaabbb"), "x": np.arange(7.0), "sigma": [1, 2, None, 4, 5, 6, 7]})
    trials = read_trials(table, Columns("x", subject="who", given={"noise": "sigma"}))
    _same(trials.given["noise"], [[1, 2, 4], [5, 6, 7]])
    assert trials.rejected == (Rejected(2, "sigma is empty"),)
    longer = read_trials(table.drop(index=6), Columns("x", subject="who", given={"noise": "x"}))
    assert longer.excluded == {"b": "2 outcomes, fewer than 3"}


# What is left out


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("a,1,3,oops,0.4,0", "x = 'oops' is not a number"),
        ("a,1,3,1e999,0.4,0", "x = inf is infinite"),
        ("a,1,3,-inf,0.4,0", "x = -inf is infinite"),
        (",1,3,1.0,0.5,0", "who is empty"),
        ("a,,3,1.0,0.5,0", "session is empty"),
        ("a,inf,3,1.0,0.5,0", "session = inf is infinite"),
        (",,,,,", "the line is empty"),
        ("", "the line is empty"),
        ("b,2,1,5.5,0.2,0", "the row is there twice, with trial the same"),
    ],
)
def test_a_bad_row_is_rejected_with_its_line(line: str, reason: str, tmp_path: Path) -> None:
    path = _file(tmp_path, SMALL + line + "\nb,2,2,6.5,0.9,0\n")
    trials = read_trials(path, ALL, responds_before=False, response_range=(0, 1))
    (rejected,) = trials.rejected
    assert rejected.line == 9
    assert rejected.reason.replace("'1e999'", "inf").replace("'-inf'", "-inf") == reason
    _same(trials.outcomes, [[0.5, 1.5, 0.0, 2.5], [3.5, 4.5, 5.5, 6.5]])
    assert len(trials.frame) == 8


@pytest.mark.parametrize(
    ("cell", "reason"),
    [
        ("high", "y = 'high' is not a number"),
        ("1e999", "y = inf is infinite"),
        ("1.5", "y = 1.5 is outside the range from 0 to 1"),
        ("-0.5", "y = -0.5 is outside the range from 0 to 1"),
    ],
)
def test_a_bad_response_is_missing_but_its_outcome_was_seen(cell: str, reason: str, tmp_path: Path) -> None:
    path = _file(tmp_path, SMALL + f"a,2,3,1.0,{cell},0\nb,2,2,6.5,0.9,0\n")
    trials = read_trials(path, ALL, responds_before=False, response_range=(0, 1))
    assert trials.rejected == ()
    assert [(line, why.replace("'1e999'", "inf")) for line, why in trials.unread] == [(9, reason)]
    _same(trials.outcomes, [[0.5, 1.5, 0.0, 2.5, 1.0], [3.5, 4.5, 5.5, 6.5, 0.0]])
    assert np.isnan(trials.responses[0, 4])
    assert not trials.scored[0, 4]
    assert trials.observed[0, 4]
    assert str(trials.frame["y"].iloc[7]) in (cell, "inf")  # as it was written
    assert trials.preview().splitlines()[-2:] == ["responses not read: 1", f"  line 9: {trials.unread[0].reason}"]


def test_outcomes_may_repeat_where_nothing_counts_the_trials() -> None:
    plain = pd.DataFrame({"x": [1.0, 1.0, 1.0, 2.0], "trial_type": [1, 1, 1, 1]})
    assert read_trials(plain, Columns("x")).rejected == ()
    assert read_trials(plain.assign(trial=1), Columns("x")).rejected == ()  # which does not count
    counted = plain.assign(trial=[1, 2, 2, 3])
    assert read_trials(counted, Columns("x")).rejected[0].line == 2
    assert read_trials(counted.assign(y=[1, 2, 3, 4]), Columns("x")).rejected == ()


def test_all_participants_keep_their_own_trials_when_numbers_are_names(tmp_path: Path) -> None:
    rows = "".join(f"{who},{x}\n" for x in (1.5, 2, 3) for who in ("007", "08", "10"))
    trials = read_trials(_file(tmp_path, "id,x\n" + rows), Columns("x", subject="id"))
    assert trials.subjects == ("007", "08", "10")
    assert trials.frame["id"].tolist()[:3] == ["007", "08", "10"]
    trials = read_trials(pd.DataFrame({"id": [1.0, 1.0, None, 1.0], "x": [1.5, 2, 3, 4]}), Columns("x", subject="id"))
    assert trials.subjects == ("1",)


def test_data_that_say_little_are_noted() -> None:
    table = pd.DataFrame({"who": list("aaabbb"), "x": [2.5, 2.5, 2.5, 1, 2, 3], "y": [1, 2, 3, 0.3, 0.3, 0.3]})
    lines = read_trials(table, Columns("x", subject="who", response="y"), responds_before=True).preview().splitlines()
    assert "note: all outcomes are equal for a" in lines
    assert "note: all responses are equal for b" in lines


def test_some_participants_alone(tmp_path: Path) -> None:
    trials = read_trials(_file(tmp_path, SMALL), ALL, responds_before=False)
    alone = trials.only(["b"])
    assert alone.subjects == ("b",)
    _same(alone.outcomes, [[3.5, 4.5, 5.5]])
    _same(alone.rows, [[1, 4, 6]])
    assert alone.frame is trials.frame
    assert trials.only(["b", "a"]).outcomes.shape == (2, 4)
    with pytest.raises(ValueError, match="there is no participant 'z'; give some of a, b"):
        trials.only(["z"])


def test_rows_of_a_data_frame_are_called_rows() -> None:
    lines = read_trials(_x(1, "oops", 2, 3), Columns("x")).preview().splitlines()
    assert "  row 1: x = 'oops' is not a number" in lines
    with pytest.raises(ValueError, match=r"all 2 rows were rejected, the first of them \(row 0\) because x = 'a'"):
        read_trials(_x("a", "b"), Columns("x"), kind="continuous")
    with pytest.raises(ValueError, match="no participant has 3 outcomes"):
        read_trials(pd.DataFrame({"a": list("uvw"), "b": [None] * 3}), Columns(("a", "b")))


# What is refused


BEFORE = {"responds_before": True}


@pytest.mark.parametrize(
    ("columns", "options", "sentence"),
    [
        (Columns("y", response="y"), {}, "'y' given before or after .* responds_before=True for .*--responded"),
        (Columns("outcom"), {}, r"there is no column 'outcom'; known are who, session, trial, x, y, odd"),
        (Columns("x", subject="Wo"), {}, r"there is no column 'Wo'; did you mean 'who'\? Known are who, ses"),
        (Columns("x", block="sesion"), {}, "did you mean 'session'"),
        (Columns("x", response="Y"), BEFORE, "did you mean 'y'"),
        (Columns("x", response="y", ignore=("od",)), BEFORE, "did you mean 'odd'"),
        (Columns("x", given={"noise": "sigma"}), {}, "there is no column 'sigma'"),
        (Columns("x", ignore=("odd",)), {}, "name the column of the response"),
        (Columns("x"), {"kind": "normal"}, "kind = 'normal' is not allowed; give one of continuous, binary"),
        (Columns("x"), {"kind": "transitions"}, "kind = 'transitions' does not fit; give a pair"),
        (Columns(("who", "x")), {"kind": "binary"}, "kind = 'binary' does not fit"),
        (Columns("x"), {"response_kind": "choice"}, "no response was named"),
        (Columns("x", response="y"), BEFORE | {"response_kind": "no"}, "response_kind = 'no' is not allowed"),
        (Columns("who"), {"kind": "continuous"}, r"all 7 rows were rejected, the first.*\(line 2\) because who = 'a'"),
        (Columns("who", response="odd"), BEFORE | {"response_kind": "choice"}, "choices 0, 1 are none of the outcomes"),
        (Columns("x", subject="x"), {}, "no participant has 3 outcomes or more; give more trials"),
        (Columns("y"), {"kind": "binary", "labels": ["a", "q", "z"]}, "'a', 'q', 'z', which are not two outcomes"),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_refused(columns: Columns, options: Any, sentence: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=sentence):
        read_trials(_file(tmp_path, SMALL), columns, **options)


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("trials.ods", b"", "trials.ods' is of an unknown kind; give a file that ends in .csv"),
        ("trials.xlsx", b"", "trials.xlsx' could not be read as a spreadsheet .*; give a file that ends in .csv"),
        ("trials.xls", b"", "trials.xls' is a spreadsheet of before 2007; save it as .xlsx or .csv"),
        ("trials.csv", b"", "could not be read: it is empty"),
        *(
            ("trials.csv", text, "could not be read: it is empty")
            for text in (b"\n \n", b"#", b"#\n", b"# \n\n", b'#"\n#')
        ),
        ("trials.csv", b"x\n", "the table has no rows"),
        ("trials.csv", b"x,y\n1,2,3\n1,2,3\n", "most rows have 3 cells, but the first line has 2 names; give each"),
        ("trials.csv", b"x\n1\x00\n", "it holds NUL characters, as text in UTF-16 does if it is not marked"),
        ("trials.csv", b"\xff\xfex\n1", "its first bytes say that it is text in UTF-16, which it is not"),
        ("trials.csv", b'x,y\n1,2\n3,"4\n5,6\n', "the cell in quotes that begins in line 3 has no end"),
        ("trials.csv.gz", b"no gzip", "could not be read"),
        ("trials.csv", b"x\n1\n2\n", "no participant has 3 outcomes or more"),
        ("trials.csv", b"x\nNA\nNA\nNA\n", "no participant has 3 outcomes or more"),
    ],
)
def test_files_that_cannot_be_read_are_explained(name: str, content: bytes, sentence: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match=sentence):
        read_trials(tmp_path / name, Columns("x"))


def test_a_file_that_is_not_there() -> None:
    with pytest.raises(ValueError, match=r"there is no file 'nowhere\.csv'; give a file that ends in"):
        read_trials("nowhere.csv", Columns("x"))
    with pytest.raises(ValueError, match="got list; give a file"):
        read_trials([1, 2, 3], Columns("x"))
    doubled = pd.DataFrame([[1, 2]], columns=["x", "x"])
    with pytest.raises(ValueError, match="several columns 'x'"):
        read_trials(doubled, Columns("x"))


# People


HELICOPTER, needs_helicopter = published_data("helicopter", "data of people")
ADA_LEARN, needs_ada_learn = published_data("ada_learn", "data of people")


@needs_helicopter
def test_the_helicopter_task_is_read() -> None:
    columns = Columns("x_t", "subj_num", "new_block", "b_t", ("v_t",), {"noise": "sigma"})
    trials = read_trials(HELICOPTER / "exp1.csv.gz", columns, responds_before=True)
    table = pd.read_csv(HELICOPTER / "exp1.csv.gz")
    assert len(trials) == 129
    assert trials.rejected == ()
    assert trials.starts.sum() == table["new_block"].sum()
    after_a_catch_trial = (table["v_t"].shift(fill_value=0) == 1) & (table["new_block"] == 0)
    assert trials.scored.sum() == (~after_a_catch_trial).sum()
    there = trials.rows >= 0
    for part, column in ((trials.outcomes, "x_t"), (trials.responses, "b_t"), (trials.given["noise"], "sigma")):
        _same(part[there], table[column].to_numpy()[trials.rows[there]])
    _same(np.sort(trials.rows[there]), np.arange(len(table)))


@needs_ada_learn
@pytest.mark.parametrize(("task", "kind", "blocks"), [("pos", "continuous", 6), ("prob", "binary", 15)])
def test_the_tasks_of_ada_learn_are_read(task: str, kind: str, blocks: int) -> None:
    path = ADA_LEARN / f"main_ada-{task}.csv.gz"
    trials = read_trials(path, Columns("outcome", "run", "session", "estimate"), responds_before=False)
    assert (len(trials), trials.kind, trials.response_kind) == (96, kind, "continuous")
    assert trials.rejected == ()
    assert trials.outcomes.shape == (96, blocks * 75)
    assert set(trials.starts.sum(axis=1)) == {blocks}
    assert trials.starts[:, ::75].all()
    np.testing.assert_allclose(
        trials.responses.ravel(), pd.read_csv(path)["estimate"], rtol=1e-14
    )  # older pandas round

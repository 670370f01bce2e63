"""Does `astonish surprise` write what it says, as a table or as a BIDS folder, and explain what is wrong?"""

import json
import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import astonish
from astonish import Delta
from astonish.cli.app import progress
from astonish.people.tables import Columns, read_trials
from astonish.people.tables.regressors import write_bids
from shell import done, refused, run

VALIDATOR = "bids-validator-deno"
TABLE = """id,run,onset,length,x,r
s_1,1,0.5,0.1,1.5,up
s_1,1,1.5,0.1,2.5,up
s_1,1,2.5,0.1,,down
s_1,2,0.5,0.2,9.5,up
s_1,2,1.5,,8.5,down
02,1,0.5,0.1,3.5,up
02,1,1.5,0.1,oops,up
02,1,2.5,0.1,5.5,down
02,1,3.5,0.1,6.5,up
"""
DELTA = "--learner delta --set learning_rate=0.5 --set start=0"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "trials.csv"
    path.write_text(TABLE)
    return path


def _expected() -> Any:
    blocks = [1.5, 2.5, None], [9.5, 8.5], [3.5, 5.5, 6.5]
    return np.concatenate([astonish.run(Delta(0.5), block).surprise for block in blocks])


PEOPLE = "--outcome x --subject id --block run"
NEW = ["surprise", "learning_rate", "prediction", "estimate", "prediction_error"]


@pytest.mark.parametrize("kind", ["csv", "tsv", "parquet"])
def test_the_table_is_written_row_for_row(kind: str, file: Path, tmp_path: Path) -> None:
    if kind == "parquet" and find_spec("pyarrow") is None:
        pytest.skip("Parquet needs pyarrow, which is not installed")
    out = tmp_path / "new" / f"out.{kind}"
    result = done("surprise", file, PEOPLE, DELTA, "--out", out)
    assert result.stdout == f"5 columns for 8 trials of 2 participants: {out}\n"
    marks = {"csv": ",", "tsv": "\t"}
    found = pd.read_csv(out, sep=marks[kind], dtype={"id": str}) if kind in marks else pd.read_parquet(out)
    assert list(found.columns) == ["id", "run", "onset", "length", "x", "r", *NEW]
    assert found["id"].tolist() == ["s_1"] * 5 + ["02"] * 3
    assert found["x"].dtype == np.float64
    np.testing.assert_allclose(found["surprise"], _expected(), rtol=1e-15)
    assert [path.name for path in out.parent.iterdir()] == [out.name]


def test_parquet_without_pyarrow_is_explained(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: Any, **__: Any) -> None:
        raise ImportError("pyarrow")

    monkeypatch.setattr(pd.DataFrame, "to_parquet", missing)
    out = tmp_path / "new" / "out.parquet"
    assert refused("surprise", file, PEOPLE, DELTA, "--out", out) == (
        f"astonish: {out} needs pyarrow, which is not installed; pip install 'astonish[parquet]', or give a .csv"
    )
    assert list(out.parent.iterdir()) == []


def test_how_it_was_understood_is_said_before_the_work(file: Path, tmp_path: Path) -> None:
    result = run("surprise", file, PEOPLE, "--learner delta --out", tmp_path / "o.csv")
    assert result.stderr.splitlines() == [
        "participants: 2 (by id), of 3 to 5 trials in 1 to 2 blocks by run",
        "outcome x: continuous (guessed), from 1.5 to 9.5; 1 missing",
        "rejected rows: 1",
        "  line 8: x = 'oops' is not a number",
        "learner: Delta(learning_rate=0.1, start=5.5), where nothing else was set:",
        "  start = 5.5, the middle of the range of outcomes",
    ]


def test_a_gap_in_what_a_column_gives_costs_that_row(file: Path, tmp_path: Path) -> None:
    words = "--outcome x --learner nassar2012 --per-trial noise=length"
    result = done("surprise", file, words, "--out", tmp_path / "o.csv")
    assert "  line 6: length is empty" in result.stderr.splitlines()
    assert len(pd.read_csv(tmp_path / "o.csv")) == 7


def test_contexts_of_transitions_are_learned_together_or_apart(tmp_path: Path) -> None:
    table = pd.DataFrame({"x": [0, 1, 0, 0, 1, 0], "y": [1, 0, 0, 1, 0, 1]})
    table.to_csv(tmp_path / "t.csv", index=False)
    words = "--outcome x --outcome y --kind transitions --learner leaky --set keep=0.5"
    found = {}
    for asked in ("", "--contexts together", "--contexts apart"):
        result = done("surprise", tmp_path / "t.csv", words, asked, "--out", tmp_path / "o.csv")
        found[asked] = result.stderr, pd.read_csv(tmp_path / "o.csv")["surprise"].tolist()
    usual, together, apart = found.values()
    said = "  contexts together: all of them are forgotten, or thought to change, at every sample"
    assert said in usual[0].splitlines()
    assert "contexts together" not in together[0]
    assert "learner: PerContext(learner=Leaky(" in apart[0]
    assert usual[1] == together[1]
    assert usual[1][:2] == apart[1][:2] == pytest.approx([np.log(2)] * 2)
    assert usual[1][2] == pytest.approx(-np.log(1 / 2.5))  # the step from 0 to 1 counts half, after one trial elsewhere
    assert apart[1][2] == pytest.approx(-np.log(1 / 3))
    assert usual[1][4] == pytest.approx(-np.log(1.25 / 2.25))  # that from 1 to 0 a quarter, after two
    assert apart[1][4] == pytest.approx(-np.log(2 / 3))


def test_all_options_reach_the_learner(tmp_path: Path) -> None:
    table = pd.DataFrame({"x": list("abcab"), "y": list("bcabc"), "m": 0.5, "surprise": 1.0})
    table.to_csv(tmp_path / "t.csv", index=False)
    words = "--outcome x --outcome y --kind transitions --learner smile --per-trial m=m"
    words += " --label a --label b --label c --label d --measure shannon --measure shannon_with_change --hazard 0.1"
    result = done("surprise", tmp_path / "t.csv", words, "--prefix my_ --out", tmp_path / "o.csv")
    assert "learner: PerContext(learner=Smile(family=Dirichlet(size=4)" in result.stderr
    found = pd.read_csv(tmp_path / "o.csv")
    assert found["my_shannon"].tolist()[:3] == pytest.approx([np.log(4)] * 3)
    assert {"my_shannon_with_change", "my_estimate_d", "my_uncertainty_a"} < set(found.columns)


def test_a_sign_of_life_on_a_terminal(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    with progress("counting", counted=False):
        pass
    assert capfd.readouterr().err == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with progress("counting", counted=False):
        pass
    assert "counting" in capfd.readouterr().err


# BIDS


def _bids(file: Path, out: Path, *words: str) -> tuple[Any, ...]:
    return "surprise", file, PEOPLE, "--duration length --task 'hide & seek'", DELTA, "--bids --out", out, *words


def test_bids_has_a_file_of_events_for_each_participant_and_run(file: Path, tmp_path: Path) -> None:
    out = tmp_path / "bids"
    done(*_bids(file, out))
    names = [f"sub-s1/beh/sub-s1_task-hideseek_run-{run}_events.tsv" for run in (1, 2)]
    names += ["sub-02/beh/sub-02_task-hideseek_events.tsv"]
    others = ["README.md", "dataset_description.json", "task-hideseek_events.json"]
    assert {str(path.relative_to(out)) for path in out.rglob("*") if path.is_file()} == {*names, *others}
    lines = (out / names[0]).read_text().splitlines()
    assert lines[0].split("\t")[:4] == ["onset", "duration", "id", "run"]
    assert lines[3].split("\t") == ["2.5", "0.1", "s_1", "1", "n/a", "down", *["n/a"] * 5]
    assert (out / names[1]).read_text().splitlines()[2].split("\t")[1] == "n/a"
    tables = [pd.read_csv(out / name, sep="\t") for name in names]
    np.testing.assert_allclose(pd.concat(tables)["surprise"], _expected(), rtol=1e-15)
    about = json.loads((out / "task-hideseek_events.json").read_text())
    assert set(lines[0].split("\t")) < set(about)
    assert about["prediction_error"]["Description"] == "outcome minus prediction"
    done(*_bids(file, out))  # over what was written before


@pytest.mark.parametrize("datatype", ["beh", "func", "eeg", "meg"])
def test_bids_is_valid(datatype: str, file: Path, tmp_path: Path) -> None:
    beside = Path(sys.executable).parent
    program = shutil.which(VALIDATOR, path=os.pathsep.join((str(beside), os.environ.get("PATH", ""))))
    if program is None:
        pytest.skip(f"{VALIDATOR} is not installed; it is among the development dependencies")
    done(*_bids(file, tmp_path / "bids", "--bids-datatype", datatype))
    assert (tmp_path / "bids" / "sub-02" / datatype / "sub-02_task-hideseek_events.tsv").is_file()
    about = json.loads((tmp_path / "bids" / "dataset_description.json").read_text())
    assert (about["DatasetType"], about["GeneratedBy"][0]["Name"]) == ("derivative", "astonish")
    checked = subprocess.run([program, tmp_path / "bids", "--json"], capture_output=True, text=True, check=False)
    issues = json.loads(checked.stdout)["issues"]["issues"]
    assert {issue["code"] for issue in issues} <= {"TOO_FEW_AUTHORS", "README_FILE_SMALL"}  # which only they know
    assert checked.returncode == 0
    for events in (tmp_path / "bids").rglob("*_events.tsv"):
        events.write_text(events.read_text().replace("onset", "begin"))
    checked = subprocess.run([program, tmp_path / "bids"], capture_output=True, text=True, check=False)
    assert checked.returncode != 0  # so that the test can fail


def test_bids_does_not_know_other_datatypes(file: Path, tmp_path: Path) -> None:
    trials = read_trials(file, Columns("x"))
    with pytest.raises(ValueError, match="there is no datatype 'pet'; known are beh, func, eeg, meg"):
        write_bids(tmp_path / "b", trials.frame, trials, {}, "task", datatype="pet")


def test_bids_leaves_the_data_of_others_alone(file: Path, tmp_path: Path) -> None:
    out = tmp_path / "theirs"
    out.mkdir()
    (out / "dataset_description.json").write_text('{"Name": "years of work"}')
    assert refused(*_bids(file, out)) == f"astonish: {out} holds a data set of others; give a new folder"
    assert [path.name for path in out.iterdir()] == ["dataset_description.json"]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("--onset start", "there is no column 'start'; name the column of the onset in seconds with --onset"),
        ("--duration soon", "there is no column 'soon'; name the column of the duration in seconds with --dur"),
        ("--onset r", "r = 'up' is not a number; give seconds"),
        ("--onset x", "x is empty in row 2 (counted from 0); give every trial an onset"),
        ("--onset run", "there is another column 'onset'; rename it, or use it as --onset"),
        ("--onset length", "length is empty in row 4"),
        ("--task '?'", "task '?' has neither letters nor digits"),
    ],
)
def test_bids_needs_times(words: str, sentence: str, file: Path, tmp_path: Path) -> None:
    assert refused(*_bids(file, tmp_path / "bids", words)).startswith(f"astonish: {sentence}")
    assert not (tmp_path / "bids").exists()


def test_bids_durations_may_be_one_number_but_not_negative(file: Path, tmp_path: Path) -> None:
    done(*_bids(file, tmp_path / "a", "--duration 0.25"))
    found = pd.read_csv(tmp_path / "a" / "sub-02" / "beh" / "sub-02_task-hideseek_events.tsv", sep="\t")
    assert set(found["duration"]) == {0.25}
    assert "length" in found
    file.write_text(TABLE.replace("3.5,0.1", "3.5,-0.1"))
    assert "length = -0.1 is negative; give seconds" in refused(*_bids(file, tmp_path / "b"))


def test_bids_tells_participants_apart(file: Path, tmp_path: Path) -> None:
    file.write_text(TABLE.replace("02,", "s-1,"))
    sentence = refused(*_bids(file, tmp_path / "bids"))
    assert sentence.endswith("participants 's_1' and 's-1' would both be sub-s1; rename one")


# What is wrong, in one sentence


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("--outcome xx", "there is no column 'xx'; did you mean 'x'? Known are id, run, onset, length, x, r"),
        ("--outcome x --outcome r --outcome id", "--outcome was given 3 times; give it once, or twice"),
        ("--outcome x --out o.xlsx", "--out o.xlsx is of an unknown kind; give a file that ends in .csv, .tsv"),
    ],
)
def test_what_makes_no_sense_is_refused(
    words: str, sentence: str, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert refused("surprise", file, words).startswith(f"astonish: {sentence}")
    assert [path.name for path in tmp_path.iterdir()] == ["trials.csv"]


def test_the_table_itself_is_not_written_over(file: Path) -> None:
    result = run("surprise", file, "--outcome x --out", file)
    assert result.stderr == f"astonish: --out {file} is the table itself; give another file\n"
    assert file.read_text() == TABLE


def test_a_file_that_is_not_there_or_cannot_be_written(file: Path, tmp_path: Path) -> None:
    sentence = refused("surprise", tmp_path / "none.csv", "--outcome x")
    assert sentence.startswith(f"astonish: there is no file '{tmp_path / 'none.csv'}'; give a file that ends in")
    result = run("surprise", file, "--outcome x", DELTA, "--out", file / "out.csv")
    assert result.exit_code == 1
    assert result.stderr.splitlines()[-1] == (
        f"astonish: {file} is a file where a folder is needed; give another file with --out"
    )


def test_nothing_is_half_written_when_it_is_stopped(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("astonish.people.analysis.report.write_separated", stop)
    result = run("surprise", file, "--outcome x", DELTA, "--out", tmp_path / "out" / "o.csv")
    assert result.exit_code == 130
    assert result.stderr.splitlines()[-1] == "astonish: stopped; every file that was written is complete"
    assert list((tmp_path / "out").iterdir()) == []


@pytest.mark.parametrize(
    ("words", "printed"),
    [
        ("--help", "recover"),
        *((f"{command} --help", "--learner") for command in ("surprise", "fit", "compare", "watch")),
        ("cite pearce-hall", "{pearce1980,"),
    ],
)
def test_help_and_citations_come_without_the_libraries(words: str, printed: str) -> None:
    program = f"""
import sys
from astonish.cli.app import app
try:
    app({words.split()})
except SystemExit as end:
    assert end.code == 0
print(sorted({{"jax", "numpy", "matplotlib", "pandas", "scipy"}} & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert printed in done.stdout
    assert done.stdout.splitlines()[-1] == "[]"


def test_a_package_that_is_missing(file: Path, tmp_path: Path) -> None:
    (tmp_path / "pandas.py").write_text("raise ModuleNotFoundError('No module named pandas', name='pandas')")
    program = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); from astonish.cli.app import main; main()"
    command = [sys.executable, "-c", program, "surprise", str(file), "--outcome", "x"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    sentence = "astonish: tables need pandas, which is not installed; pip install 'astonish[frames]'\n"
    assert (done.returncode, done.stdout, done.stderr) == (1, "", sentence)

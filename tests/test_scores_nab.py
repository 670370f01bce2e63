"""Is the rule of the Numenta Anomaly Benchmark what it is said to be, and are published scores reproduced?

Tests of the published corpus read it from the folder that the environment variable ASTONISH_DATA names (or from
../shared/data), and are skipped where it is not there.
"""

import gzip
import json
import math
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.scores import detectors
from benchmarks.scores.__main__ import app
from benchmarks.scores.nab import PROFILES, NabSeries, best_scores, read_corpus, row_values, scores_at
from typer.testing import CliRunner

ROOT = Path(__file__).resolve().parents[1]
DATA = Path(os.environ.get("ASTONISH_DATA", ROOT.parent / "shared" / "data")) / "nab"
needs_corpus = pytest.mark.skipif(
    not DATA.is_dir(), reason=f"no corpus in {DATA}; name a folder that has nab/ by ASTONISH_DATA"
)
FIRST = 2 / (1 + math.exp(-5.0)) - 1  # the sigmoid at the first row of a window


def series(rows: int, *windows: tuple[int, int]) -> NabSeries:
    times = np.datetime64("2020-01-01T00:00:00") + np.arange(rows) * np.timedelta64(300, "s")
    return NabSeries(times, np.zeros(rows), windows)


def score(one: NabSeries, *detections: int) -> dict[str, float]:
    """The scores at a threshold that just these rows reach."""
    marks = np.zeros(len(one.values))
    marks[list(detections)] = 1.0
    return {name: found.score for name, found in scores_at({"a": one}, {"a": marks}, 1.0).items()}


def inside(row: int, first: int, last: int) -> float:
    y = -(last - row + 1) / (last - first + 1)
    return (2 / (1 + math.exp(5 * y)) - 1) / FIRST


def outside(row: int, first: int, last: int) -> float:
    y = (row - last) / (last - first)
    return 2 / (1 + math.exp(5 * y)) - 1


@pytest.mark.parametrize(
    ("detections", "worth", "of"),  # worth: of all detections, where a window that is missed is worth -1
    [
        ((40,), 1.0, "the first row of the window, which is perfect"),
        ((), -1.0, "none"),
        ((59,), inside(59, 40, 59), "a late one, which is worth less"),
        ((45, 46, 59), inside(45, 40, 59), "several in the window, of which only the earliest counts"),
        ((30, 40), 1 - 0.11, "one before any window, which costs in full"),
        ((30, 31, 32, 40), 1 - 0.33, "three outside, each of which costs"),
        ((40, 60), 1 + 0.11 * outside(60, 40, 59), "one just behind the window, which costs little"),
        ((40, 59 + 57), 1 + 0.11 * outside(59 + 57, 40, 59), "one further behind"),
        ((40, 59 + 58), 1 - 0.11, "one far behind, which costs in full"),
    ],
)
def test_scores_by_hand(detections: tuple[int, ...], worth: float, of: str) -> None:
    assert score(series(200, (40, 59)), *detections)["standard"] == pytest.approx(100 * (worth + 1) / 2, abs=1e-9)


def test_profiles_weigh_misses_and_false_alarms_differently() -> None:
    one = series(100, (40, 59))
    assert score(one, 40) == pytest.approx(dict.fromkeys(PROFILES, 100.0))
    assert score(one) == dict.fromkeys(PROFILES, 0.0)
    assert score(one, 59)["reward_low_FN_rate"] == pytest.approx(100 * (inside(59, 40, 59) + 2) / 3)
    assert score(one, 30, 40)["reward_low_FP_rate"] == pytest.approx(100 * (2 - 0.22) / 2)
    assert score(one, 30, 40)["reward_low_FN_rate"] == pytest.approx(100 * (3 - 0.11) / 3)


def test_the_first_rows_are_not_scored() -> None:
    one = series(100, (10, 29), (60, 79))
    assert one.probation == 15
    assert score(one, 5, 10, 14) == dict.fromkeys(PROFILES, 0.0)
    assert score(one, 15)["standard"] == pytest.approx(100 * (1 + inside(15, 10, 29)) / 4)
    assert series(10_000).probation == 750


def test_behind_several_windows_the_last_one_counts() -> None:
    one = series(200, (40, 59), (100, 139))
    worth, window = row_values(one)
    assert window[[39, 40, 59, 60, 99, 100, 139, 140]].tolist() == [-1, 0, 0, -1, -1, 1, 1, -1]
    assert worth[70] == pytest.approx(outside(70, 40, 59))
    assert worth[150] == pytest.approx(outside(150, 100, 139))
    assert score(one, 40)["standard"] == pytest.approx(50.0)


def test_one_threshold_for_all_series() -> None:
    corpus = {"a": series(100, (40, 59)), "b": series(100, (40, 59))}
    marks = {"a": np.zeros(100), "b": np.zeros(100)}
    marks["a"][40], marks["b"][40], marks["b"][20] = 0.9, 0.5, 0.7
    found = best_scores(corpus, marks)["standard"]
    assert found.threshold == 0.5  # the false alarm is worth less than the second window
    assert found.score == pytest.approx(100 * (4 - 0.11) / 4)


@pytest.mark.parametrize(
    ("rest", "first", "second", "expected"),
    [(0.0, 0.5, 0.5, 94.5), (0.0, 0.5, 0.6, 100.0), (math.nan, math.nan, 1.0, 100.0)],
    ids=["equal scores are detections together", "others are not", "missing ones are none"],
)
def test_the_threshold_is_the_lowest_score_of_a_detection(
    rest: float, first: float, second: float, expected: float
) -> None:
    marks = np.full(100, rest)
    marks[[20, 40]] = first, second
    assert best_scores({"a": series(100, (40, 59))}, {"a": marks})["standard"].score == pytest.approx(expected)


def test_the_best_threshold_is_that_of_an_exhaustive_search() -> None:
    rng = np.random.default_rng(5)
    corpus = {"a": series(300, (80, 109), (200, 239)), "b": series(200, (100, 129)), "c": series(150)}
    marks = {name: rng.integers(0, 40, len(one.values)) / 40 for name, one in corpus.items()}
    found = best_scores(corpus, marks)
    for name in PROFILES:
        tried = [scores_at(corpus, marks, t)[name].score for t in np.unique(np.concatenate(list(marks.values())))]
        assert found[name].score == pytest.approx(max(*tried, 0.0))


def test_scores_of_another_length_are_refused() -> None:
    with pytest.raises(ValueError, match=r"a has 100 rows, but scores of shape \(99,\); give one per row"):
        best_scores({"a": series(100, (40, 59))}, {"a": np.zeros(99)})


def write_corpus(folder: Path, header: str = "file,timestamp,value") -> None:
    """Two series of 400 rows: noise with an outlier in a window, and noise alone."""
    rng = np.random.default_rng(3)
    times = np.datetime64("2020-01-01T00:00:00") + np.arange(400) * np.timedelta64(3600, "s")
    lines = [header]
    for name in ("a.csv", "b.csv"):
        values = rng.normal(size=400)
        if name == "a.csv":
            values[300] = 15.0
        lines += [f"{name},{str(t).replace('T', ' ')},{x}" for t, x in zip(times, values, strict=True)]
    with gzip.open(folder / "series.csv.gz", "wt") as file:
        file.write("\n".join(lines) + "\n")
    ends = [f"{str(times[row]).replace('T', ' ')}.000000" for row in (295, 334)]
    (folder / "windows.json").write_text(json.dumps({"a.csv": [ends], "b.csv": []}))


def answer(*words: Any) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["nab", *map(str, words)])
    return result.exit_code, result.output


def test_the_command_scores_detectors_of_all_sorts(tmp_path: Path) -> None:
    write_corpus(tmp_path)
    (tmp_path / "published_scores.json").write_text(
        json.dumps({"somebody": dict(zip(PROFILES, (1.0, 2.0, 3.0), strict=True))})
    )
    (tmp_path / "mine_of_nab.py").write_text(
        "import numpy as np\ndef size(series):\n    return np.abs(series.values)\ntable = {}\n"
    )
    named = ("monitor", "windowed-gaussian", "smile", f"{tmp_path / 'mine_of_nab.py'}:size")
    code, text = answer("--data", tmp_path, *(word for name in named for word in ("--detector", name)))
    rows = {line.split()[0]: line.split()[1:] for line in text.splitlines()[1:]}
    assert code == 0
    assert float(rows["monitor"][0]) > 80
    assert rows["null"][:3] == ["0.00", "0.00", "0.00"]
    assert float(rows["always"][0]) < 0
    assert rows["somebody"] == ["(published)", "1.00", "2.00", "3.00"]
    corpus = read_corpus(tmp_path)
    own = best_scores(corpus, {name: np.abs(one.values) for name, one in corpus.items()})["standard"].score
    assert rows[named[-1]][0] == f"{own:.2f}"


def test_rivers_detectors_are_scored_by_name(tmp_path: Path) -> None:
    pytest.importorskip("river")
    write_corpus(tmp_path)
    corpus = read_corpus(tmp_path)
    for name in ("river:GaussianScorer", "river:HalfSpaceTrees"):
        assert best_scores(corpus, detectors.scores_of(name, corpus))["standard"].score >= 0
    assert set(detectors.scores_of("river:PageHinkley", corpus)["b.csv"]) <= {0.0, 1.0}
    with pytest.raises(ValueError, match=r"no detector 'ADWINN' of river; did you mean 'ADWIN'"):
        detectors.scores_of("river:ADWINN", corpus)


def test_what_cannot_be_scored_is_refused_in_a_sentence(tmp_path: Path) -> None:
    assert answer("--data", tmp_path) == (
        2,
        f"astonish: {tmp_path} has no series.csv.gz; give a folder with series.csv.gz and windows.json\n",
    )
    write_corpus(tmp_path, header="name,when,value")
    assert "the columns of series.csv.gz are ['name', 'when', 'value']" in answer("--data", tmp_path)[1]
    write_corpus(tmp_path)
    code, text = answer("--data", tmp_path, "--detector", "monitr")
    assert (code, "there is no detector 'monitr'; did you mean 'monitor'?" in text) == (2, True)
    (tmp_path / "windows.json").write_text(json.dumps({"c.csv": []}))
    assert "windows.json names 'c.csv', which series.csv.gz does not have" in answer("--data", tmp_path)[1]
    (tmp_path / "windows.json").write_text(json.dumps({"a.csv": [["1990-01-01 00:00:00", "1990-01-02 00:00:00"]]}))
    assert "no row of a.csv is from 1990-01-01T00:00:00 to 1990-01-02T00:00:00" in answer("--data", tmp_path)[1]


@pytest.fixture(scope="module")
def corpus() -> dict[str, NabSeries]:
    return read_corpus(DATA)


@pytest.fixture(scope="module")
def published() -> dict[str, dict[str, float]]:
    return json.loads((DATA / "published_scores.json").read_text())  # type: ignore[no-any-return]


@needs_corpus
def test_the_corpus_is_whole(corpus: dict[str, NabSeries]) -> None:
    assert len(corpus) == 58
    assert sum(len(one.windows) for one in corpus.values()) == 116


@needs_corpus
@pytest.mark.parametrize(("name", "theirs"), [("null", "null"), ("windowed-gaussian", "windowedGaussian")])
def test_published_scores_are_reproduced(name: str, theirs: str, corpus: Any, published: Any) -> None:
    found = best_scores(corpus, detectors.scores_of(name, corpus))
    assert {each: found[each].score for each in PROFILES} == pytest.approx(published[theirs], abs=5e-5)


@needs_corpus
def test_the_table_of_the_documentation_is_what_the_command_prints(corpus: Any, published: Any) -> None:
    lines = (ROOT / "docs" / "streams.md").read_text().splitlines()
    table = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    written = {row[0]: [float(cell) for cell in row[1:4]] for row in table if len(row) == 5 and row[3][-1:].isdigit()}
    theirs = {f"*published:* {name}": list(scores.values()) for name, scores in published.items()}
    assert {name for name in written if name.startswith("*")} == set(theirs)
    for name in theirs:
        by_profile = published[name.removeprefix("*published:* ")]
        assert written[name] == pytest.approx([by_profile[each] for each in PROFILES], abs=0.0051)
    found = best_scores(corpus, detectors.scores_of("monitor", corpus))
    assert found["standard"].score >= 60
    # The last digits of compiled code, which differ between machines, may move a sample over a threshold.
    assert written["monitor"] == pytest.approx([found[each].score for each in PROFILES], abs=1.0)

"""Checks covering and F1 against cases computed by hand, and what is refused of folders of annotated series."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.scores import changepoints
from benchmarks.scores.__main__ import app
from benchmarks.scores.changepoints import covering, f1, learner, offline, online, read_folder, standardised
from typer.testing import CliRunner

from astonish.changes import Detector

SEVERAL = {"a": [20], "b": [23, 60], "c": []}  # index 0 always counts, in annotations and among what is found


@pytest.mark.parametrize(
    ("annotations", "found", "precision", "recalls"),
    [
        # Of 0, 22, 64, 90 the union 0, 20, 23, 60 is served by 0, 22, none that is left, 64.
        (SEVERAL, [22, 64, 90], 3 / 4, [2 / 2, 3 / 3, 1]),
        (SEVERAL, [22, 66], 2 / 3, [2 / 2, 2 / 3, 1]),  # 66 is too far from 60
        (SEVERAL, [], 1.0, [1 / 2, 1 / 3, 1]),
        ({"a": []}, [], 1.0, [1]),
        ({"a": [4]}, [0, 4], 1.0, [1]),
        ({"a": [4]}, [5], 1.0, [1]),  # 4 takes 5, since 0 is taken by then
        ({"a": [3]}, [], 1.0, [1 / 2]),  # 0 takes 0, nothing is left for 3
        ({"a": [20, 22]}, [21], 1.0, [2 / 3]),  # which serves once
        ({"a": [12, 20]}, [16, 21], 1.0, [1]),  # 20 takes 21, which is nearer than 16; that is left for 12
        ({"a": [20]}, [15, 21], 2 / 3, [1]),
    ],
)
def test_f1_by_hand(annotations: Any, found: list[int], precision: float, recalls: list[float]) -> None:
    recall = sum(recalls) / len(recalls)
    assert f1(annotations, found, margin=5) == pytest.approx(2 * precision * recall / (precision + recall))


def test_covering_by_hand_with_several_annotators() -> None:
    """Ten samples, found {4}: segments of 4 and 6.

    a: {5} has segments of 5 and 5: overlaps 4/5 and 5/6: (5 * 4/5 + 5 * 5/6) / 10 = 49/60.
    b: none: the best overlap of all ten is 6/10. Mean: (49/60 + 36/60) / 2 = 85/120.
    """
    assert covering({"a": [5]}, [4], 10) == pytest.approx(49 / 60)
    assert covering({"b": []}, [4], 10) == pytest.approx(0.6)
    assert covering({"a": [5], "b": []}, [4], 10) == pytest.approx(85 / 120)
    assert covering({"a": [5], "b": []}, [0, 4], 10) == pytest.approx(85 / 120)
    assert covering({"a": [2, 7]}, [2, 7], 10) == 1.0


def _folder(path: Path, annotations: Any, **series: Any) -> Path:
    (path / "annotations.json").write_text(annotations if isinstance(annotations, str) else json.dumps(annotations))
    for name, content in series.items():
        below = path / "datasets" / name
        below.mkdir(parents=True)
        (below / f"{name}.json").write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def _numbers(*columns: list[Any]) -> dict[str, Any]:
    return {"n_obs": len(columns[0]), "time": {}, "series": [{"label": "V", "raw": raw} for raw in columns]}


STEP = [0.1, -0.2, 0.3, 0.0, -0.1, 0.2] * 8 + [None] + [5.1, 4.8, 5.3, 5.0, 4.9, 5.2] * 8


def test_the_command_prints_both_measures_and_names_what_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(changepoints, "RATE", 0.01)  # for which fewer samples are simulated
    annotations = {"step": {"1": [49], "2": []}, "gone": {"1": [3]}, "wide": {"1": [3]}}
    folder = _folder(tmp_path, annotations, step=_numbers(STEP), wide=_numbers([1, 2, 3, 4], [1, 2, 3, 4]))
    answer = CliRunner().invoke(app, ["changepoints", "--data", str(folder)])
    assert answer.exit_code == 0, answer.output
    assert "gone is left out: it has annotations but no file" in answer.stderr
    assert "wide is left out: its samples have 2 numbers each, and one is needed" in answer.stderr
    rows = {line.split()[0]: line.split()[1:] for line in answer.stdout.splitlines()}
    whole = (49 / 97) ** 2 + (48 / 97) ** 2  # of annotator 1, whom one segment of all covers so far
    exact = (1 + 49 / 97) / 2  # for change_points, which finds 49
    expected = [(whole + 1) / 2, exact, exact, 2 * 0.75 / 1.75, 1.0, 1.0]
    assert rows["step"] == ["97", *(f"{each:.3f}" for each in expected)]
    assert rows["mean"] == rows["step"][1:]


def test_online_dates_a_change_by_the_samples_up_to_the_alarm() -> None:
    xs = standardised(np.array([np.nan if x is None else x for x in STEP]))
    detector = Detector.simulated(learner(50), 0.01, within=20, burn_in=20)
    alarms = np.flatnonzero(detector.alarms(xs))
    assert offline(xs) == [49]
    assert online(detector, xs) == [49]
    assert online(detector, xs[: alarms[0] + 1]) == [49]
    assert online(detector, xs[: alarms[0]]) == []


@pytest.mark.parametrize(
    ("annotations", "series", "sentence"),
    [
        ("{", {}, r"annotations.json is no JSON \(.*; give one in UTF-8"),
        ([], {}, r"annotations.json is '\[\]'; give {\"series\": {\"annotator\": \[indices\]}}"),
        ({"a": [3]}, {}, r"the annotations of 'a' are '\[3\]'; give"),
        ({"a": {"1": [2.5]}}, {}, r"annotator '1' of 'a' gave '\[2.5\]'; give"),
        ({"a": {"1": [3]}}, {}, r"no series of single numbers with annotations; give NAME.json"),
        ({"a": {"1": [3]}}, {"a": "nothing"}, r"a.json is no JSON"),
        ({"a": {"1": [3]}}, {"a": {"raw": [1]}}, r"a.json has no list of series; give {\"series\": \[{\"raw\""),
        ({"a": {"1": [3]}}, {"a": _numbers(["x"])}, r"a series of .*a.json has no list of numbers called raw"),
        (
            {"a": {"1": [3]}},
            {"a": _numbers([1, 2], [1])},
            r"the series of .*a.json have \[2, 1\] samples; give one length",
        ),
        (
            {"a": {"1": [3]}},
            {"a": _numbers([1, 2, 3])},
            r"saw a change at 3 in 'a', which has 3 samples; give .* 0 to 2",
        ),
    ],
)
def test_malformed_folders_are_refused_in_a_sentence(
    tmp_path: Path, annotations: Any, series: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(ValueError, match=sentence):
        read_folder(_folder(tmp_path, annotations, **series))


def test_a_folder_without_annotations_is_refused_by_the_command(tmp_path: Path) -> None:
    answer = CliRunner().invoke(app, ["changepoints", "--data", str(tmp_path)])
    assert answer.exit_code == 2
    assert "annotations.json is not there; give the folder that has it" in answer.stderr

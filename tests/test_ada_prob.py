"""How well are people's estimates of a probability predicted? As published, and as a plain cross-validation finds.

The data is not part of the project: tests that need it are skipped where it is not there (see `published_data`).
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize_scalar
from typer.testing import CliRunner
from validation import ada_prob
from validation.ada_prob import ENTRIES, FILE, UNIT, app, as_text, errors, table

from astonish.people.tables import read_trials
from oracles import delta_rule
from published_data import published_data

pytestmark = pytest.mark.computes

DATA, needs_data = published_data("ada_learn", "data of people")
BY_LABEL = {entry.label: entry for entry in ENTRIES}
Predict = Callable[[float, Any], Any]


def _delta(rate: float, outcomes: Any) -> Any:
    return delta_rule(rate, outcomes, start=0.5)


def _observer(hazard: float, outcomes: Any) -> Any:
    """The mean of a belief on a fine grid from 0.1 to 0.9, whose probability may change before each outcome."""
    points = 400
    theta = 0.1 + 0.8 * (np.arange(points) + 0.5) / points
    belief, found = np.full(points, 1 / points), []
    for x in outcomes:
        belief = ((1 - hazard) * belief + hazard / points) * (theta if x else 1 - theta)
        belief /= belief.sum()
        found.append(belief @ theta)
    return np.array(found)


def _cross_validated(predict: Predict, own: pd.DataFrame) -> float:
    """The mean squared error of one person's answers in each session, at what is best in the others."""
    sessions = [(part.outcome.to_numpy(), part.estimate.to_numpy()) for _, part in own.groupby("session")]

    def of(session: int, at: float) -> float:
        outcomes, answers = sessions[session]
        return float(((predict(at, outcomes) - answers) ** 2).mean())

    found = []
    for left in range(len(sessions)):
        rest = [k for k in range(len(sessions)) if k != left]
        best = minimize_scalar(
            lambda at: sum(of(k, at) for k in rest),  # noqa: B023
            bounds=(0, 1),
            method="bounded",
            options={"xatol": 1e-9},
        )
        found.append(of(left, best.x))
    return float(np.mean(found))


def _invented(people: int, sessions: int, steps: int) -> pd.DataFrame:
    """People who follow the delta rule at different rates, with noise, and a probability that changes once."""
    rng = np.random.default_rng(3)
    rows = []
    for who in range(people):
        for session in range(sessions):
            probabilities = np.repeat(rng.uniform(0.1, 0.9, 2), steps // 2)
            outcomes = rng.binomial(1, probabilities)
            answers = _delta(0.1 + 0.1 * who, outcomes) + 0.05 * rng.standard_normal(steps)
            rows += [(f"r{who}", session, x, b) for x, b in zip(outcomes, answers, strict=True)]
    return pd.DataFrame(rows, columns=["run", "session", "outcome", "estimate"])


@pytest.mark.parametrize(
    ("label", "predict"),
    [("delta rule", _delta), ("message passing, 0.1 to 0.9", _observer)],
    ids=["delta", "observer"],
)
def test_errors_are_those_of_a_plain_cross_validation(label: str, predict: Predict) -> None:
    people = _invented(2, 3, 20)
    found = errors(BY_LABEL[label], read_trials(people, ada_prob.COLUMNS, kind="binary", responds_before=False))
    expected = [_cross_validated(predict, own) for _, own in people.groupby("run")]
    assert found.run.tolist() == ["r0", "r1"]
    assert found.mse.tolist() == pytest.approx(expected, rel=5e-4 if BY_LABEL[label].tried else 1e-4)


def test_the_table_has_the_published_errors_beside_ours() -> None:
    each = {"delta rule": np.array([0.016, 0.018]), "SMiLe": np.array([0.02, 0.03])}
    found = table(each)
    assert found.ours.tolist() == pytest.approx([17, 25])
    assert found.published["delta rule"] == 16.726
    assert np.isnan(found.published["SMiLe"])
    assert found.relative["delta rule"] == pytest.approx(17 / 16.726 - 1)
    assert found.difference.tolist() == pytest.approx([0, 8])
    assert found.difference_se["SMiLe"] == pytest.approx(4)
    assert found.best.tolist() == [2, 0]
    text = as_text(found, ENTRIES)
    assert "+8.000 ± 4.000" in text
    assert text.endswith("delta rule within 1% of the published error: NO")


def test_the_command_keeps_what_is_done(tmp_path: Path) -> None:
    _invented(3, 2, 16).to_csv(tmp_path / FILE, index=False)
    words = ["--data", str(tmp_path), "--out", str(tmp_path / "out"), "--learner", "leaky integration"]
    result = CliRunner().invoke(app, [*words, "--people", "2"])
    assert result.exit_code == 0, result.output
    file = tmp_path / "out" / "delta-rule-2.csv"
    assert len(pd.read_csv(file)) == 2
    pd.DataFrame({"run": ["r0", "r1"], "mse": [0.5, 0.7]}).to_csv(file, index=False)
    result = CliRunner().invoke(app, [*words, "--people", "2"])
    assert f"{0.6 * UNIT:.3f}" in result.output
    assert "leaky integration" in result.output
    assert "did you mean 'SMiLe'?" in CliRunner().invoke(app, [*words[:2], "--learner", "smile"]).output


@needs_data
@pytest.mark.parametrize("label", ["delta rule", pytest.param("volatile Kalman filter", marks=pytest.mark.published)])
def test_errors_on_all_people_are_the_published_ones(label: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With one start for each search, which is enough for that."""
    monkeypatch.setattr(ada_prob, "STARTS", 1)
    entry = BY_LABEL[label]
    assert entry.published is not None
    found = errors(entry, ada_prob.read(DATA))
    assert len(found) == 96
    assert UNIT * found.mse.mean() == pytest.approx(entry.published, rel=0.01)


@needs_data
@pytest.mark.published
def test_some_people_are_predicted_as_by_a_plain_cross_validation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ada_prob, "STARTS", 1)
    people = pd.read_csv(DATA / FILE).query("session < 4")
    people = people[people.run.isin(["r001", "r002"])]
    trials = read_trials(people, ada_prob.COLUMNS, kind="binary", responds_before=False)
    expected = [_cross_validated(_observer, own) for _, own in people.groupby("run")]
    entry = BY_LABEL["message passing, 0.1 to 0.9"]
    assert errors(entry._replace(tried=()), trials).mse.tolist() == pytest.approx(expected, rel=1e-4)  # searched for
    assert errors(entry, trials).mse.tolist() == pytest.approx(expected, rel=5e-4)

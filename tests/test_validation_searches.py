"""Do the tables of docs/searches.md come from the command that it names, and would that find something better?"""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner
from validation import ada_prob, cbm_rl, searches, squires1976
from validation.searches import CASES, TASKS, TITLES, Looked, looked, looked_lines, squared_errors, trials_of

from astonish import Delta
from astonish.people.fit import Estimate, Model, fit
from oracles import delta_rule

PAGE = (Path(__file__).resolve().parents[1] / "docs" / "searches.md").read_text()


def _people(before: bool) -> pd.DataFrame:
    """Two people with the same outcomes in two blocks of different lengths, who follow the delta rule from 0.5."""
    rng, rows = np.random.default_rng(5), []
    blocks = [rng.uniform(size=steps) for steps in (30, 25)]
    for who, rate in (("a", 0.2), ("b", 0.6)):
        for block, outcomes in enumerate(blocks):
            said = _estimates(rate, outcomes, before) + 0.05 * rng.standard_normal(len(outcomes))
            rows += [(who, block, x, b) for x, b in zip(outcomes, said, strict=True)]
    return pd.DataFrame(rows, columns=["who", "block", "outcome", "estimate"])


def _estimates(rate: float, outcomes: Any, before: bool) -> Any:
    after = delta_rule(rate, outcomes, start=0.5)
    return np.append(0.5, after[:-1]) if before else after


@pytest.mark.parametrize("before", [False, True])
def test_squared_errors_are_those_of_a_delta_rule_written_out(before: bool) -> None:
    table, rates = _people(before), np.array([0.1, 0.7])
    found = squared_errors(Delta(0.3, start=0.5), "learning_rate", rates, table, before)
    assert list(zip(found["who"], found["block"], found["count"], strict=True)) == [
        ("a", 0, 30), ("a", 1, 25), ("b", 0, 30), ("b", 1, 25)
    ]  # fmt: skip
    for row, (_, part) in enumerate(table.groupby(["who", "block"])):
        for k, rate in enumerate(rates):
            off = part["estimate"] - _estimates(rate, part["outcome"], before)
            assert found[f"at {k}"][row] == pytest.approx((off**2).sum(), rel=1e-9)


@pytest.mark.parametrize("before", [False, True])
def test_the_grid_finds_what_a_fit_has_missed_and_nothing_else(before: bool) -> None:
    table, task = _people(before), TASKS["position"]._replace(before=before)
    model = Model(Delta(0.3, start=0.5), Estimate(0.1, anchored=False))
    parts = [trials_of(each, task) for each in (table, searches.by_block(table))]
    good = [fit(model, part, ["learning_rate", "response.noise"], starts=3) for part in parts]
    off = [replace(good[0], unconstrained=good[0].unconstrained + np.array([[0.5, 0.0], [0.0, 0.0]])), good[1]]
    found = looked("position: delta rule", {10: good, 3: off}, table, 301)
    assert found.fits == 6
    assert found.better[10] == []
    (line,) = found.better[3]
    assert line.startswith("a: ")


def test_the_table_counts_and_names_what_was_missed() -> None:
    lines = list(looked_lines([Looked("simulated: HGF, choices", "51 x 51", 40, {10: [], 3: ["person 7"]})]))
    assert lines[1].split() == ["simulated:", "HGF,", "choices", "51", "x", "51", "40", "0", "1"]
    assert lines[2:] == ["  simulated: HGF, choices, 3 starts, person 7"]
    assert lines[0] in PAGE


@pytest.mark.parametrize(("name", "steps"), [("choices", 25), ("estimates", 10)])
def test_errors_with_few_trials_are_those_of_the_page(name: str, steps: int) -> None:
    row = re.search(rf"^  {TITLES[name]} +{steps} +(\d.*)$", PAGE, re.MULTILINE)
    assert row
    people, *shown = map(float, row[1].split())
    found = [searches.recovered(CASES[name], 400, steps, priors) for priors in searches.METHODS.values()]
    assert [each[0] for each in found] == [people] * 2
    assert [each[1][k] for k in range(2) for each in found] == pytest.approx(shown[:4], abs=0.03)
    assert [each[2] for each in found] == pytest.approx(shown[4:], abs=1)


@pytest.mark.parametrize(
    ("program", "file"),
    [
        (ada_prob, "main_ada-prob.csv.gz"),
        (cbm_rl, "choices.csv.gz"),
        (searches, "ada_learn/main_ada-pos.csv.gz"),
        (squires1976, "p300_by_pattern.csv"),
    ],
    ids=lambda it: getattr(it, "__name__", ""),
)
def test_what_is_needed_is_said(program: Any, file: str, tmp_path: Path) -> None:
    for words in ([], ["--data", str(tmp_path)]):
        result = CliRunner().invoke(program.app, words)
        assert result.exit_code == 2
        assert f"{program.__name__.rpartition('.')[2]} needs a folder with {file}" in result.stderr

"""Is novelty minus the logarithm of how often a state has been met? The oracle counts in plain Python."""

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest

from astonish import Dirichlet, Leaky, Smile, run
from astonish.people.tables import Columns, read_trials
from astonish.people.tables.facts import choose
from astonish.people.tables.regressors import describe, regressors
from astonish.theory.novelty import novelty

STATES = np.random.default_rng(12).integers(0, 5, 80).tolist()


def counted(states: list[int], size: int, keep: float = 1.0) -> list[float]:
    """From all that came before, anew for every trial."""
    found = []
    for t, state in enumerate(states):
        weight = [keep ** (t - 1 - s) for s in range(t)]
        met = sum(w for w, other in zip(weight, states, strict=False) if other == state)
        found.append(-math.log((met + 1) / (sum(weight) + size)))
    return found


@pytest.mark.parametrize("keep", [1.0, 0.9, 0.0])
def test_it_counts_leakily(keep: float) -> None:
    np.testing.assert_allclose(novelty(STATES, 5, keep), counted(STATES, 5, keep), rtol=1e-12)


def test_it_is_what_someone_is_surprised_by_who_expects_frequencies() -> None:
    np.testing.assert_allclose(novelty(STATES, 5), run(Leaky(Dirichlet(5), 1.0), STATES).surprise, rtol=1e-9)


def test_a_missing_state_is_not_counted() -> None:
    with_gap = novelty([*STATES[:7], None, *STATES[7:]], 5)
    assert np.isnan(with_gap[7])
    np.testing.assert_array_equal(np.delete(with_gap, 7), novelty(STATES, 5))


def test_what_is_announced_is_novel_but_no_surprise() -> None:
    """State 2 comes seldom, but always after state 1, and never otherwise."""
    rooms = [0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2] * 10
    table = pd.DataFrame({"here": rooms[:-1], "there": rooms[1:]})
    trials = read_trials(table, Columns(("here", "there")), kind="transitions")
    found = regressors(choose("bayes", trials).learner, trials, ["surprise", "novelty"]).tail(11)
    rare = found[found["there"] == 2]
    assert (rare["novelty"] > 2).all()
    assert (rare["surprise"] < 0.5).all()


@pytest.mark.parametrize("measures", ["novelty", ["novelty"], ["novelty", "shannon"], ["all", "novelty"]])
def test_it_is_a_column_beside_the_surprise_and_starts_anew_in_each_block(measures: Any) -> None:
    table = pd.DataFrame({"state": STATES, "who": ["a"] * 40 + ["b"] * 40, "run": ([1] * 15 + [2] * 25) * 2})
    trials = read_trials(table, Columns("state", "who", "run"), kind="categorical")
    found = regressors(Smile(Dirichlet(5)), trials, measures)
    expected = [value for _, block in table.groupby(["who", "run"]) for value in counted(block["state"].tolist(), 5)]
    np.testing.assert_allclose(found["novelty"], expected, rtol=1e-12)
    assert ("shannon" in found) == (measures not in ("novelty", ["novelty"]))
    assert describe("novelty") == "minus the logarithm of how often the outcome had been met before"


def test_coins_have_it_too_and_numbers_have_none() -> None:
    table = pd.DataFrame({"coin": [0, 1, None, 1, 0, 0], "x": [0.3, 1.2, 3.0, -2.0, 0.7, 0.1]})
    coins = read_trials(table, Columns("coin"))
    found = regressors(choose("smile", coins).learner, coins, ["novelty"])["novelty"]
    np.testing.assert_allclose(found.dropna(), counted([0, 1, 1, 0, 0], 2), rtol=1e-12)
    numbers = read_trials(table, Columns("x"))
    with pytest.raises(ValueError, match="novelty is of outcomes that can be met again"):
        regressors(choose("smile", numbers).learner, numbers, ["novelty"])
    angles = read_trials(table, Columns("x"), kind="circular")
    with pytest.raises(ValueError, match="novelty is of outcomes that can be met again"):
        regressors(choose("smile", angles).learner, angles, ["novelty"])


@pytest.mark.parametrize(
    ("states", "size", "keep", "message"),
    [
        ([0, 5], 5, 1.0, "give a whole number from 0 to 4"),
        ([0], 0, 1.0, "size = 0 is not allowed"),
        ([0], 2, 1.1, "keep = 1.1 is not allowed"),
    ],
)
def test_what_makes_no_sense_is_refused(states: Any, size: int, keep: float, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        novelty(states, size, keep)

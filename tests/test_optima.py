"""Is there anything better than what a fit reports? Dense grids over all allowed values, and finer ones, say not."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from validation.searches import CASES, better_elsewhere, lowest_on_grids, simulated

from astonish import Beta, MessagePassing
from astonish.people.fit import Estimate, Fit, Model, fit
from astonish.people.fit.likelihood import Losses
from astonish.people.fit.space import LIMIT
from astonish.people.tables import Columns, read_trials
from published_data import published_data

pytestmark = pytest.mark.computes

DATA, needs_data = published_data("ada_learn", "data of people")


@pytest.mark.parametrize(
    ("name", "people", "seed", "priors"),
    [
        ("choices", 500, 3, None),
        ("SMiLe", 50, 3, None),
        pytest.param("SMiLe", 500, 3, None, marks=pytest.mark.hostile),
        pytest.param("VarSMiLe", 500, 3, None, marks=pytest.mark.hostile),
        ("choices", 60, 4, "usual"),
    ],
)
def test_a_dense_grid_never_beats_the_optimum(name: str, people: int, seed: int, priors: Any) -> None:
    """Of the greatest likelihood, or a posteriori; ever finer grids about its bottoms find nothing lower by 1e-3."""
    case = CASES[name]
    found = fit(case.model, simulated(case, people, 25, seed=seed), case.free, starts=3, priors=priors)
    assert len(found.values) > 0.96 * people
    assert better_elsewhere(found, lowest_on_grids(found, case.places)) == []
    if priors:
        assert (found.starts_at_optimum == 3).mean() > 0.8
    else:
        assert found.converged.all()


def test_a_delta_rule_written_out_never_beats_the_optimum_of_500_people() -> None:
    """At each rate of a dense grid the best noise is the root of the mean squared error."""
    case = CASES["estimates"]
    found = fit(case.model, simulated(case, 500, 25, seed=3), case.free, starts=3)
    assert len(found.values) == 500
    assert found.converged.all()
    grid = np.tile(np.linspace(-LIMIT, LIMIT, 3001)[:, None], 500)
    best = np.take_along_axis(grid, _delta_losses(found, grid).argmin(0)[None], 0)
    lowest = _delta_losses(found, best + np.linspace(-0.01, 0.01, 1001)[:, None]).min(0)
    np.testing.assert_allclose(-found.log_likelihood, lowest, atol=1e-3)


def _delta_losses(found: Fit, logits: Any) -> Any:
    """Of estimates by a delta rule from 0, at the best noise. logits: of learning rates, a column for each person."""
    rates, estimate, squares = expit(logits), np.zeros(logits.shape), np.zeros(logits.shape)
    outcomes, responses = np.asarray(found.trials.outcomes), np.asarray(found.trials.responses)
    for x, said in zip(outcomes.T, responses.T, strict=True):
        estimate = estimate + rates * (x - estimate)
        squares += (said - estimate) ** 2
    count = responses.shape[1]
    return 0.5 * count * (np.log(2 * np.pi * squares / count) + 1)


def test_the_grid_would_find_what_is_missed() -> None:
    case = CASES["choices"]
    found = fit(case.model, simulated(case, 6, 25, seed=3), case.free, starts=1)
    off = found.unconstrained + np.array([[0.0, 0.0]] * 5 + [[0.0, 0.5]])
    elsewhere = replace(found, unconstrained=off)
    (failure,) = better_elsewhere(elsewhere, lowest_on_grids(elsewhere, case.places))
    assert failure.startswith("6: ")


@needs_data
def test_searches_with_message_passing_end() -> None:
    """Of people's probability estimates, in sessions of 75 trials; and the likelihood is that of all hypotheses."""
    people = pd.read_csv(DATA / "main_ada-prob.csv.gz")
    people = people[people.run.isin(sorted(people.run.unique())[:10]) & (people.session < 5)]
    columns = Columns("outcome", subject="run", block="session", response="estimate")
    trials = read_trials(people, columns, kind="binary", responds_before=False)
    free = ["hazard", "response.noise"]
    found = fit(Model(MessagePassing(Beta()), Estimate(0.1, anchored=False)), trials, free, starts=3)
    assert found.converged.all()
    exact = Model(MessagePassing(Beta(), hypotheses=76), Estimate(0.1, anchored=False))
    losses = Losses(exact, found.data, found.space, False, found.prior, 10)
    off = found.log_likelihood + losses(found.unconstrained, np.arange(10))[0]
    np.testing.assert_allclose(off / found.responses, 0.0, atol=0.01)

"""Is there anything better than what a fit reports? Dense grids over all allowed values, and finer ones, say not."""

import os
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

from astonish import Beta, Delta, Gaussian, MessagePassing, Smile, VarSmile
from astonish.fit import Estimate, Fit, Model, Softmax, fit, plan_trials, simulate_responses
from astonish.fit.objective import Losses
from astonish.fit.space import LIMIT, Space
from astonish.fit.usual import usual
from astonish.trials import Columns, Trials, read_trials

pytestmark = pytest.mark.computes

DATA = Path(os.environ.get("ASTONISH_DATA", Path(__file__).resolve().parents[2] / "shared" / "data")) / "ada_learn"
needs_data = pytest.mark.skipif(
    not DATA.is_dir(), reason=f"no data of people in {DATA}; name a folder that has ada_learn/ by ASTONISH_DATA"
)


class Case(NamedTuple):
    """Simulated people with few trials. kind: of the outcomes. places: of a grid, along each parameter."""

    model: Any
    free: tuple[str, ...]
    kind: str
    places: int = 51


CASES = {
    "choices": Case(Model(Delta(0.3, start=0.5), Softmax(3.0)), ("learning_rate", "beta"), "binary"),
    "estimates": Case(
        Model(Delta(0.3), Estimate(noise=1.0, anchored=False)), ("learning_rate", "response.noise"), "continuous"
    ),
    "SMiLe": Case(Model(Smile(Gaussian(2.0)), Estimate(noise=1.0)), ("m",), "continuous", 301),
    "VarSMiLe": Case(
        Model(VarSmile(Gaussian(2.0)), Estimate(noise=1.0, anchored=False)), ("m",), "continuous", 301
    ),  # in one of these people, a second bottom is narrow and far from the usual range
}


def simulated(case: Case, people: int, steps: int, seed: int) -> Trials:
    """People whose parameters lie anywhere in the usual ranges, in a world that jumps now and then."""
    rng, choices = np.random.default_rng(seed), case.model.response.kind == "choice"
    last = np.maximum.accumulate(np.where(rng.random((people, steps)) < 0.1, np.arange(steps), 0), axis=1)
    chance = np.take_along_axis(rng.uniform(0.1, 0.9, (people, steps)), last, 1)
    outcomes = (
        rng.random((people, steps)) < chance
        if case.kind == "binary"
        else 20 * chance + rng.normal(size=(people, steps))
    )
    planned = plan_trials(
        outcomes.astype(int if case.kind == "binary" else float),
        responds_before=choices,
        response_kind="choice" if choices else "continuous",
        kind=case.kind,
    )
    space = Space.of(case.model, case.free)
    low, high = usual(space, planned)
    values = space.constrained(low + (high - low) * rng.random((people, len(space))))
    return simulate_responses(case.model, planned, dict(zip(space.names, values.T, strict=True)), seed=seed)


def better_elsewhere(found: Fit, places: int) -> list[str]:
    """Where a dense grid over all allowed values, and ever finer ones about its bottoms, find a loss lower by 1e-3."""
    ours, lowest = -found.log_likelihood + _penalty(found), lowest_on_grids(found, places)
    missed = np.flatnonzero(lowest < ours - 1e-3)
    return [f"{found.trials.subjects[who]}: {ours[who]:.5f}, but {lowest[who]:.5f}" for who in missed]


def lowest_on_grids(found: Fit, places: int) -> Any:
    """The least loss of each participant."""
    space, people = found.space, np.arange(len(found.values))
    losses = Losses(found.model, found.data, space, found.trials.responds_before, found.prior, 256)
    limit = np.where(np.isfinite(space.limit), space.limit, LIMIT)
    axes = [np.linspace(-each, each, places) for each in limit]
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), -1).reshape(-1, len(space))
    heights = (losses(grid, np.full(len(grid), who))[0].reshape([places] * len(space)) for who in people)
    bottoms = [_bottoms(each)[:2] for each in heights]
    whose = np.repeat(people, [len(own) for own in bottoms])
    refined = _refined(losses, whose, grid[np.concatenate(bottoms)], limit, 2 * limit / (places - 1))
    return np.array([refined[whose == who].min() for who in people])


def _penalty(found: Fit) -> Any:
    mean, precision = found.prior
    return 0.5 * (precision * (found.unconstrained - mean) ** 2).sum(1)


def _bottoms(heights: Any) -> Any:
    """Where a grid is no higher than its neighbours, from the deepest on."""
    low = np.ones(heights.shape, bool)
    for axis in range(heights.ndim):
        along, kept = np.moveaxis(heights, axis, 0), np.moveaxis(low, axis, 0)
        kept[1:] &= along[1:] <= along[:-1]
        kept[:-1] &= along[:-1] <= along[1:]
    places = np.flatnonzero(low)
    return places[np.argsort(heights.ravel()[places])]


def _refined(losses: Losses, whose: Any, x: Any, limit: Any, width: Any) -> Any:
    """The least loss on small grids about each row, which follow its best point, and are finer if that is near."""
    sides = [np.linspace(-1, 1, 7)] * x.shape[1]
    steps = np.stack(np.meshgrid(*sides, indexing="ij"), -1).reshape(-1, x.shape[1])
    width = np.tile(width, (len(x), 1))
    for _ in range(25):
        around = np.clip(x[:, None] + width[:, None] * steps, -limit, limit)
        heights = losses(around.reshape(-1, x.shape[1]), np.repeat(whose, len(steps)))[0].reshape(len(x), -1)
        last, x = x, np.take_along_axis(around, heights.argmin(1)[:, None, None], 1)[:, 0]
        width[(np.abs(x - last) < 0.9 * width).all(1)] *= 0.5
    return heights.min(1)


@pytest.mark.parametrize("name", ["choices", "SMiLe", "VarSMiLe"])
def test_a_dense_grid_never_beats_the_optimum_of_500_people(name: str) -> None:
    case = CASES[name]
    found = fit(case.model, simulated(case, 500, 25, seed=3), case.free, starts=3)
    assert len(found.values) > 480
    assert found.converged.all()
    assert better_elsewhere(found, case.places) == []


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
    (failure,) = better_elsewhere(replace(found, unconstrained=off), case.places)
    assert failure.startswith("6: ")


def test_maximum_a_posteriori_is_not_beaten_either() -> None:
    case = CASES["choices"]
    found = fit(case.model, simulated(case, 60, 25, seed=4), case.free, starts=3, priors="usual")
    assert better_elsewhere(found, case.places) == []
    assert (found.agreed == 3).mean() > 0.8


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

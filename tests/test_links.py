"""The figure "links": are its errors those of loops written out here, and do the numbers decide its claims?"""

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest
from pandas import DataFrame, concat
from scipy import optimize, special

from astonish.beliefs import Dirichlet
from astonish.learners import Smile
from astonish.paper import figure3
from astonish.paper.figure import FAILS, HOLDS, IN_PART, RunSettings, Tables
from astonish.paper.variants import (
    FIGURE_LINKS,
    LINKS,
    LOGARITHM,
    PAPER,
    SLOW,
    STEP,
    THRESHOLDS,
    Linked,
    M,
    linked,
)
from astonish.worlds.maze import A, B, maze, walk

RUN = RunSettings(2, quick=True)
FORMULAS: dict[str, Callable[[float, Any], Any]] = {
    "paper": lambda m, s: m * s / (1 + m * s),
    "exponential": lambda m, s: 1 - np.exp(-m * s),
    "linear": lambda m, s: np.minimum(m * s, 1),
    "logarithm": lambda m, s: np.log(1 + m * s) / (1 + np.log(1 + m * s)),
    "step": lambda threshold, s: (s > threshold) * 1.0,
}


@pytest.fixture(scope="module")
def numbers() -> Tables:
    return FIGURE_LINKS.compute(RUN)


@pytest.mark.parametrize("link", LINKS)
def test_links_are_those_of_the_caption(link: str) -> None:
    surprises = np.array([0.0, 0.3, 1.0, 9.0, 200.0])
    found = [float(linked(link, 0.5)(surprise)) for surprise in surprises]
    assert found == pytest.approx(FORMULAS[link](0.5, surprises))
    assert (np.diff(found) >= 0).all()
    assert found[0] == 0


def rows(table: DataFrame, link: str, value: float, measure: str) -> Any:
    found = table[(table.link == link) & (table.value == value) & (table.measure == measure)]
    return found.sort_values("episode").error.to_numpy()


@pytest.mark.parametrize(("link", "value"), [(link, 1.0 if link == STEP else 0.05) for link in LINKS])
def test_errors_at_jumps_are_those_of_a_loop(numbers: Tables, link: str, value: float) -> None:
    """For a belief as wide as the noise, gamma is the root of the share of the largest bound (eq. 10)."""
    task = figure3.episodes(RUN, 0.066)
    estimate, off, rates = np.zeros(len(task.samples)), [], []
    for x, truth in zip(task.samples.T, task.truth.T, strict=True):
        gamma = np.sqrt(FORMULAS[link](value, (x - estimate) ** 2 / 32))
        estimate = estimate + gamma * (x - estimate)
        off.append(estimate - truth)
        rates.append(gamma)
    for measure, each in (("squared", np.square(off)), ("absolute", np.abs(off))):
        np.testing.assert_allclose(rows(numbers["jumps"], link, value, measure), each.mean(axis=0), rtol=1e-6)
    table = numbers["gamma_jumps"]
    [found] = table[(table.link == link) & (table.value == value)].gamma
    assert found == pytest.approx(np.mean(rates), rel=1e-6)


@pytest.mark.parametrize("threshold", THRESHOLDS[:1] + THRESHOLDS[-1:])
def test_a_step_in_the_maze_knows_nothing_or_the_last_move(numbers: Tables, threshold: float) -> None:
    """A low threshold is passed by every move that differs from the last one in the room, a high one by none."""
    world = maze(A, B)
    walks = walk(world, 600, [[RUN.seed, 78, k] for k in range(2)])
    rooms, choices = (np.asarray(each) for each in walks.choices)
    apart = ~np.eye(16, dtype=bool)
    truth = np.asarray(world.transitions)[:, apart].reshape(-1, 16, 15)
    expected = []
    for k in range(2):
        probabilities, errors = np.tile(np.full(15, 1 / 15), (16, 1)), []
        for room, choice, environment in zip(rooms[k], choices[k], walks.environment[k], strict=True):
            if threshold < 1:
                probabilities[room] = np.arange(15) == choice
            errors.append(((probabilities - truth[environment]) ** 2).sum() / 256)
        expected.append(np.mean(errors[150:]))
    np.testing.assert_allclose(rows(numbers["maze"], STEP, threshold, "maze"), expected, rtol=1e-9)


def divergence(a: Any, b: Any) -> float:
    """Of one Dirichlet distribution from another."""
    norms = special.gammaln(a.sum()) - special.gammaln(a).sum() - special.gammaln(b.sum()) + special.gammaln(b).sum()
    return norms + (a - b) @ (special.digamma(a) - special.digamma(a.sum()))


@pytest.mark.parametrize("link", LINKS[:-1])
def test_gamma_meets_the_bound_of_the_link(link: str) -> None:
    old, scaled = np.array([3.0, 1.5, 1.0]), np.array([1.0, 1.0, 2.0])
    bound = FORMULAS[link](0.4, divergence(old, scaled)) * divergence(scaled, old)
    gamma = optimize.brentq(lambda g: divergence((1 - g) * old + g * scaled, old) - bound, 0, 1, xtol=1e-14)
    family = Dirichlet(3)
    belief, info = jax.jit(Linked.step)(Linked(family, linked(link, 0.4)), family.prior(alpha=old), 2)
    assert float(info.learning_rate) == pytest.approx(gamma, rel=1e-9)
    assert np.asarray(belief.alpha) == pytest.approx((1 - gamma) * old + gamma * scaled)
    if link == PAPER:
        assert float(Smile(family, 0.4).step(family.prior(alpha=old), 2)[1].learning_rate) == pytest.approx(gamma)


# Verdicts, from tables written by hand


def table(measure: str, **errors: float) -> DataFrame:
    """Ten episodes whose errors differ a little, for the paper's link at two values of m and each other link at one."""
    usual = {PAPER: 1.0, "slow": 3.0, "exponential": 1.05, "linear": 0.95, LOGARITHM: 1.0, STEP: 2.0} | errors
    made = []
    for name, error in usual.items():
        link, value = (PAPER, SLOW) if name == "slow" else (name, 1.0 if name == STEP else M)
        each = error + 0.001 * np.cos(np.arange(10) + len(name))
        made += [(k, link, value, measure, e) for k, e in enumerate(each)]
    return DataFrame(made, columns=["episode", "link", "value", "measure", "error"])


def judged(partial: float = 0.0, gamma: float = 0.01, jumps: Any = (), maze: Any = ()) -> list[str]:
    """The verdicts with these errors, this share of partial gammas under the step, and this gamma of the slow link."""
    errors = [table(measure, **dict(jumps)) for measure in ("squared", "absolute")]
    tables: Tables = {"jumps": concat(errors, ignore_index=True), "maze": table("maze", **dict(maze))}
    for task in ("jumps", "maze"):
        columns = {"link": [PAPER, PAPER, STEP], "value": [SLOW, M, 1.0], "partial": [1.0, 1.0, partial]}
        tables[f"gamma_{task}"] = DataFrame({**columns, "gamma": [gamma, 0.2, 0.3], "task": task})
    return [claim.verdict for claim in FIGURE_LINKS.claims(tables)]


OTHER = {"exponential": 1.2, "linear": 0.8, "logarithm": 3.0}
BETTER = {"step": 0.9, "slow": 0.9}


@pytest.mark.parametrize(
    ("changes", "claim", "verdict"),
    [
        ({"maze": {"exponential": 1.2}}, 0, IN_PART),
        ({"maze": {"exponential": 0.8}}, 0, IN_PART),  # too good differs too
        ({"jumps": OTHER, "maze": OTHER}, 0, FAILS),
        ({"partial": 0.1}, 1, IN_PART),
        ({"gamma": 0.2}, 1, IN_PART),
        ({"partial": 0.1, "gamma": 0.2}, 1, FAILS),
        ({"maze": {"step": 0.9}}, 2, IN_PART),
        ({"maze": {"slow": 1.0}}, 2, IN_PART),  # undecided
        ({"jumps": BETTER, "maze": BETTER}, 2, FAILS),
    ],
)
def test_the_numbers_decide_the_verdicts(changes: dict[str, Any], claim: int, verdict: str) -> None:
    assert judged() == [HOLDS, HOLDS, HOLDS]
    assert judged(**changes)[claim] == verdict

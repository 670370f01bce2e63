"""Checks other formulas and choices than the paper's: errors by loops written out here, verdicts by their numbers."""

from collections.abc import Callable
from functools import cache
from itertools import product
from typing import Any

import jax
import numpy as np
import pytest
from pandas import DataFrame, concat
from scipy import optimize

from astonish import Nassar2010, Stream, run
from astonish.beliefs import Dirichlet
from astonish.learners import Smile
from astonish.paper import figure3, maze_learners as agents, variants
from astonish.paper.figure import FAILS, HOLDS, IN_PART, RunSettings, Tables
from astonish.paper.variants import LINKS, LOGARITHM, PAPER, SLOW, STEP, Linked, M, linked
from astonish.theory.surprise import confidence_corrected
from astonish.worlds.maze import A, B, maze, walk
from oracles import dirichlet_divergence, recursion

# Readings of the formulas


def test_norms_agree_with_singular_values() -> None:
    off = np.random.default_rng(1).normal(size=(7, 16, 16))
    found = variants.norms(off)
    for k, matrix in enumerate(off):
        values = np.linalg.svd(matrix, compute_uv=False)
        expected = [np.sum(values**2), values[0] ** 2, values[0], np.sqrt(np.sum(values**2))]
        np.testing.assert_allclose([norm[k] for norm in found.values()], np.array(expected) / 256, rtol=1e-12)
    np.testing.assert_allclose(found[variants.SQUARES], np.square(off).mean((1, 2)), rtol=1e-12)


def test_first_steps_are_those_of_a_plain_loop() -> None:
    rng = np.random.default_rng(2)
    off = rng.normal(size=(3, 40, 16, 16)) * np.linspace(0.1, 0.01, 40)[:, None, None]
    in_a = rng.random((3, 40)) < 0.5
    table = variants.first_steps(off, in_a).set_index(["norm", "episode"])["first"]
    for k in range(3):
        for name in variants.NORMS:
            first = np.nan
            for step in range(40):
                if in_a[k, step] and variants.norms(off[k, step])[name] < 0.002:
                    first = step + 1
                    break
            np.testing.assert_equal(table[name, k], first)


@pytest.mark.parametrize(("logarithm", "unit"), [("natural", 1.0), ("base 2", np.log(2))])
def test_gamma_straight_from_surprise_in_either_unit(logarithm: str, unit: float) -> None:
    outcomes = [(0, 3), (0, 3), (0, 7)]
    history = run(variants.smile_as_read("direct", logarithm), outcomes)
    family, alpha = Dirichlet(15), np.ones(15)
    for k, (_, x) in enumerate(outcomes):
        surprise = float(confidence_corrected(family, family.prior(alpha=alpha), x)) / unit
        gamma = 0.1 * surprise / (1 + 0.1 * surprise)
        assert history.learning_rate[k] == pytest.approx(gamma, rel=1e-9)
        alpha = (1 - gamma) * alpha + gamma * (1 + np.eye(15)[x])


@cache
def _walks() -> agents.MazeWalks:
    return agents.walks_of(RunSettings(3, quick=True), 2)


def test_matrices_of_online_em_have_its_errors() -> None:
    errors = agents.signals_of_em(_walks(), seed=5).errors
    for episode in range(2):
        found = agents.matrices_of_em(_walks(), episode, 5 + episode)
        squares = np.square(found - _walks().truth[episode, 0]).mean((1, 2))
        np.testing.assert_allclose(squares, errors[episode, :, 0], rtol=1e-12)


def _table(soon: dict[str, int], em: float) -> DataFrame:
    """Walks that are accurate after so many steps by each norm, under every reading, and online EM after so many."""
    parts: list[Any] = []
    for norm in variants.NORMS:
        rows = DataFrame({"norm": norm, "episode": range(10), "start": "A", "first": float(soon.get(norm, 5000))})
        for reading in product(*variants.READINGS.values()):
            parts.append(rows.assign(learner="SMiLe", **dict(zip(variants.READINGS, reading, strict=True))))
        parts.append(rows.assign(learner="online EM", first=em))
    return concat(parts)


@pytest.mark.parametrize(
    ("soon", "em", "verdicts"),
    [
        ({variants.SPECTRAL: 250}, 2500.0, [HOLDS, IN_PART]),
        ({variants.SPECTRAL: 250}, 500.0, [IN_PART, IN_PART]),
        ({}, 2500.0, [FAILS, IN_PART]),
        ({variants.SPECTRAL: 250, variants.SQUARES: 250}, 2500.0, [HOLDS, IN_PART]),
    ],
)
def test_verdicts_on_readings_follow_the_numbers(soon: dict[str, int], em: float, verdicts: list[str]) -> None:
    found = variants.readings_claims({"readings": _table(soon, em)})
    assert [claim.verdict for claim in found] == verdicts
    assert all(claim.ours for claim in found)


# Links between surprise and bound

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
    return variants.FIGURE_LINKS.compute(RUN)


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
    off, rates = recursion(task, lambda error: np.sqrt(FORMULAS[link](value, error**2 / 32)))
    for measure, each in (("squared", np.square(off)), ("absolute", np.abs(off))):
        np.testing.assert_allclose(rows(numbers["jumps"], link, value, measure), each.mean(axis=1), rtol=1e-6)
    table = numbers["gamma_jumps"]
    [found] = table[(table.link == link) & (table.value == value)].gamma
    assert found == pytest.approx(np.mean(rates), rel=1e-6)


@pytest.mark.parametrize("threshold", variants.THRESHOLDS[:1] + variants.THRESHOLDS[-1:])
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


@pytest.mark.parametrize("link", LINKS[:-1])
def test_gamma_meets_the_bound_of_the_link(link: str) -> None:
    old, scaled = np.array([3.0, 1.5, 1.0]), np.array([1.0, 1.0, 2.0])
    bound = FORMULAS[link](0.4, dirichlet_divergence(old, scaled)) * dirichlet_divergence(scaled, old)
    gamma = optimize.brentq(lambda g: dirichlet_divergence((1 - g) * old + g * scaled, old) - bound, 0, 1, xtol=1e-14)
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
    return [claim.verdict for claim in variants.FIGURE_LINKS.claims(tables)]


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


# Choices that the paper leaves open

SAMPLES = [1.0, -3.0, 12.0, 30.0, 18.0]


def test_no_jump_outside_the_range() -> None:
    usual, other = (run(kind(4.0, 0.1, -20.0, 20.0), SAMPLES) for kind in (Nassar2010, variants.NoJumpOutside))
    np.testing.assert_array_equal(other.estimate[:3], usual.estimate[:3])  # the same inside
    stream = Stream(Nassar2010(4.0, 0.1, -20.0, 20.0))
    for x in SAMPLES[:3]:
        stream.update(x)
    assert other.learning_rate[3] == pytest.approx(1 / (float(stream.state.length) + 1), rel=1e-6)  # as without a jump
    assert usual.learning_rate[3] > other.learning_rate[3]


def test_the_first_sample_is_the_first_estimate() -> None:
    found = run(variants.FirstSampleCounts(4.0, 0.1, -20.0, 20.0), SAMPLES)
    assert found.estimate[0] == pytest.approx(SAMPLES[0], rel=1e-2)


def test_errors_before_a_sample_are_those_of_the_estimate_before_it() -> None:
    settings = RunSettings(2, quick=True)
    table = figure3.errors_at_hazards(settings, hazards=(0.1,), before=True)["errors"]
    task = figure3.episodes(settings, 0.1)
    found = table[(table.learner == figure3.SMILE) & (table.episode == 3)].iloc[0]
    estimates = run(figure3.smile(), task.samples[3]).estimate
    off = estimates[:-1] - task.truth[3, 1:]
    assert found.squared == pytest.approx(np.square(off).mean(), rel=1e-9)


def _rows(*verdicts: tuple[str, str, str]) -> DataFrame:
    """Rows of one choice: the other choice, and the verdict before and after."""
    rows = [("rate", "eta", "1", other, "7", "Fig. 7", "It is so.", before, after) for other, before, after in verdicts]
    return DataFrame(rows, columns=variants.COLUMNS)


@pytest.mark.parametrize(
    ("rows", "verdict", "words"),
    [
        ([("2", HOLDS, HOLDS), ("3", HOLDS, HOLDS)], HOLDS, "2: none of 1 verdicts changes"),
        ([("2", HOLDS, HOLDS), ("3", HOLDS, FAILS)], IN_PART, "(holds, then does not hold as stated)"),
        ([("2", IN_PART, HOLDS), ("3", HOLDS, FAILS)], FAILS, "2: 1 of 1 verdicts change: “It is so.”"),
    ],
)
def test_a_verdict_that_depends_on_a_choice_is_named(
    rows: list[tuple[str, str, str]], verdict: str, words: str
) -> None:
    [claim] = variants.choices_claims({"verdicts": _rows(*rows)})
    assert claim.verdict == verdict
    assert words in claim.measured
    assert claim.ours


def test_every_choice_names_figure_and_alternative() -> None:
    abouts = [choice.about for choice in variants.CHOICES]
    assert len(set(abouts)) == len(abouts)
    assert all(choice.others and choice.ours for choice in variants.CHOICES)

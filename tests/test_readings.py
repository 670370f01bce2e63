"""Are other readings of the paper's formulas computed as they are named, and do the verdicts follow the numbers?"""

from functools import cache
from typing import Any

import numpy as np
import pytest
from pandas import DataFrame, concat

from astonish import Dirichlet, run
from astonish.paper import maze_learners as agents, variants as readings
from astonish.paper.figure import FAILS, HOLDS, IN_PART, RunSettings
from astonish.theory.surprise import confidence_corrected


def test_norms_agree_with_singular_values() -> None:
    off = np.random.default_rng(1).normal(size=(7, 16, 16))
    found = readings.norms(off)
    for k, matrix in enumerate(off):
        values = np.linalg.svd(matrix, compute_uv=False)
        expected = [np.sum(values**2), values[0] ** 2, values[0], np.sqrt(np.sum(values**2))]
        np.testing.assert_allclose([norm[k] for norm in found.values()], np.array(expected) / 256, rtol=1e-12)
    np.testing.assert_allclose(found[readings.SQUARES], np.square(off).mean((1, 2)), rtol=1e-12)


def test_first_steps_are_those_of_a_plain_loop() -> None:
    rng = np.random.default_rng(2)
    off = rng.normal(size=(3, 40, 16, 16)) * np.linspace(0.1, 0.01, 40)[:, None, None]
    in_a = rng.random((3, 40)) < 0.5
    table = readings.first_steps(off, in_a).set_index(["norm", "episode"])["first"]
    for walk in range(3):
        for name in readings.NORMS:
            first = np.nan
            for step in range(40):
                if in_a[walk, step] and readings.norms(off[walk, step])[name] < 0.002:
                    first = step + 1
                    break
            np.testing.assert_equal(table[name, walk], first)


@pytest.mark.parametrize(("logarithm", "unit"), [("natural", 1.0), ("base 2", np.log(2))])
def test_gamma_straight_from_surprise_in_either_unit(logarithm: str, unit: float) -> None:
    outcomes = [(0, 3), (0, 3), (0, 7)]
    history = run(readings.smile_as_read("direct", logarithm), outcomes)
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
    for norm in readings.NORMS:
        rows = DataFrame({"norm": norm, "episode": range(10), "start": "A", "first": float(soon.get(norm, 5000))})
        for gamma in readings.READINGS["gamma"]:
            for logarithm in readings.READINGS["logarithm"]:
                for estimate in readings.READINGS["estimate"]:
                    named = {"gamma": gamma, "logarithm": logarithm, "estimate": estimate}
                    parts.append(rows.assign(learner="SMiLe", **named))
        parts.append(rows.assign(learner="online EM", first=em))
    return concat(parts)


@pytest.mark.parametrize(
    ("soon", "em", "verdicts"),
    [
        ({readings.SPECTRAL: 250}, 2500.0, [HOLDS, IN_PART]),
        ({readings.SPECTRAL: 250}, 500.0, [IN_PART, IN_PART]),
        ({}, 2500.0, [FAILS, IN_PART]),
        ({readings.SPECTRAL: 250, readings.SQUARES: 250}, 2500.0, [HOLDS, IN_PART]),
    ],
)
def test_verdicts_follow_the_numbers(soon: dict[str, int], em: float, verdicts: list[str]) -> None:
    found = readings.readings_claims({"readings": _table(soon, em)})
    assert [claim.verdict for claim in found] == verdicts
    assert all(claim.ours for claim in found)

"""Checks the figures "ceiling", "drift" and "cost": errors by recursions written out here, operations by hand.

Claims are decided by the numbers.
"""

from collections.abc import Callable
from itertools import count
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from pandas import DataFrame

from astonish.core import special
from astonish.learners import Delta, Nassar2010
from astonish.paper import figure3, smile_limits
from astonish.paper.figure import FAILS, HOLDS, IN_PART, RunSettings, Tables
from astonish.paper.smile_limits import BEST, DRIFTS, LAST, NAIVE, NASSAR, SMILE, STEADY, WALK, drifting, operations
from oracles import NassarRate, recursion, smile_rate


def test_the_ceiling_is_never_passed_and_costs_what_it_should() -> None:
    numbers = smile_limits.FIGURE_CEILING.compute(RunSettings(seed=4, quick=True))
    samples = numbers["samples"]
    assert samples[samples.start <= 1].samples.max() <= 1 + 1e-12
    fixed = numbers["errors"].query("learner == 'fixed' and gamma >= 0.1")
    for gamma, part in fixed.groupby("gamma"):
        expected = gamma / (2 - gamma) * 0.75 / 16
        assert part.error.mean() == pytest.approx(expected, abs=4 * part.error.sem() + 0.02 * expected)


# A mean that drifts

RUN = RunSettings(3)
NOISE = 4.0


@pytest.fixture(scope="module")
def numbers() -> Tables:
    return smile_limits.FIGURE_DRIFT.compute(RUN)


@pytest.mark.parametrize("learner", [SMILE, NAIVE, LAST, NASSAR])
@pytest.mark.parametrize(("kind", "drift"), [(WALK, 0.1), (STEADY, 0.3)])
def test_errors_are_those_of_the_recursions(numbers: Tables, kind: str, drift: float, learner: str) -> None:
    table = numbers["errors"]
    rows = table[(table.kind == kind) & (table.drift == drift) & (table.learner == learner)].sort_values("episode")
    samples_seen = count(2)  # the prior of naive Bayes counts as one
    rules = {SMILE: smile_rate, NASSAR: NassarRate(0.066), LAST: lambda _: 1.0, NAIVE: lambda _: 1 / next(samples_seen)}
    off, rates = recursion(smile_limits.drifting_episodes(RUN, kind, drift), rules[learner])
    np.testing.assert_allclose(rows.squared, (off**2).mean(axis=1), rtol=1e-7)
    np.testing.assert_allclose(rows.absolute, abs(off).mean(axis=1), rtol=1e-7)
    if learner == SMILE:
        np.testing.assert_allclose(rows.gamma, rates.mean(axis=1), rtol=1e-7)


@pytest.mark.parametrize("drift", DRIFTS[1:])  # at the slowest, 1000 steps are not yet the long run
def test_the_best_fixed_rate_of_a_random_walk_is_the_gain_of_kalman(numbers: Tables, drift: float) -> None:
    """In the long run the best rate K solves K^2 = drift^2 (1 - K), and the squared error is K noise^2."""
    gain = (np.sqrt(drift**4 + 4 * drift**2) - drift**2) / 2
    table = numbers["errors"]
    best = table[(table.kind == WALK) & (table.drift == drift) & (table.learner == BEST)]
    assert smile_limits.best_rates(numbers["fixed"], WALK).iloc[DRIFTS.index(drift)] == pytest.approx(gain, rel=0.4)
    assert best.squared.mean() == pytest.approx(gain * NOISE**2, rel=0.15)


def test_a_steady_drift_leaves_every_fixed_rate_behind(numbers: Tables) -> None:
    """In the long run by (1 - rate) / rate steps, beside the noise of a fading average."""
    fixed = numbers["fixed"]
    some = fixed[(fixed.kind == STEADY) & (fixed.drift == 0.1) & (fixed.rate > 0.1)]
    lag = 0.1 * NOISE * (1 - some.rate) / some.rate
    np.testing.assert_allclose(some.squared, lag**2 + some.rate / (2 - some.rate) * NOISE**2, rtol=0.03)
    np.testing.assert_array_equal(some.rate, smile_limits.RATES[smile_limits.RATES > 0.1])


def test_the_world_drifts_as_told() -> None:
    walk, steady = (drifting(4000, 5, kind, 0.5) for kind in (WALK, STEADY))
    assert np.diff(walk.truth).std() == pytest.approx(2.0, rel=0.05)
    assert abs(np.diff(walk.truth).mean()) < 0.1
    np.testing.assert_allclose(np.diff(steady.truth), 2.0)
    np.testing.assert_allclose(walk.samples - walk.truth, steady.samples - steady.truth, atol=1e-9)
    assert (walk.samples - walk.truth).std() == pytest.approx(NOISE, rel=0.05)


def test_verdicts(numbers: Tables) -> None:
    """Naive Bayes is better where the mean hardly moves, and the last sample where it runs away."""
    suitable, adjusts, near = smile_limits.FIGURE_DRIFT.claims(numbers)
    assert [suitable.verdict, adjusts.verdict, near.verdict] == [IN_PART, HOLDS, FAILS]
    assert near.ours
    means = numbers["errors"].groupby(["kind", "drift", "learner"])[["squared", "absolute"]].mean()
    better = sum(
        int((means.loc[(kind, drift, SMILE)] < means.loc[(kind, drift, other)]).sum())
        for kind in (WALK, STEADY)
        for drift in DRIFTS
        for other in (NAIVE, LAST)
    )
    assert f"{better} of 40 cases" in suitable.why


def scaled(learner: str, factor: float, column: str = "") -> Callable[[DataFrame], DataFrame]:
    """The same with other errors, or another gamma, of one learner."""

    def change(table: DataFrame) -> DataFrame:
        table = table.copy()
        columns = [column] if column else ["squared", "absolute"]
        table.loc[table.learner == learner, columns] *= factor
        return table

    return change


@pytest.mark.parametrize(
    ("claim", "change", "verdict"),
    [
        (0, scaled(SMILE, 1e-3), HOLDS),
        (0, scaled(SMILE, 1e9), FAILS),
        (1, scaled(SMILE, -1.0, "gamma"), FAILS),
        (1, lambda table: table[table.kind == WALK].pipe(lambda t: table.assign(gamma=t.gamma).fillna(0.5)), IN_PART),
        (2, scaled(BEST, 1e3), HOLDS),
        (2, lambda table: scaled(BEST, 1e3)(table).where(table.kind == WALK, table), IN_PART),
    ],
)
def test_claims_follow_the_numbers(
    numbers: Tables, claim: int, change: Callable[[DataFrame], DataFrame], verdict: str
) -> None:
    assert smile_limits.FIGURE_DRIFT.claims(numbers | {"errors": change(numbers["errors"])})[claim].verdict == verdict


# Operations per step


@pytest.mark.parametrize(
    ("function", "inputs", "expected"),
    [
        (lambda x: x * x + 1, (np.ones(3),), 6),
        (lambda a, b: a @ b, (np.ones((2, 3)), np.ones((3, 4))), 2 * 2 * 3 * 4),
        (lambda x: x.sum(), (np.ones((4, 5)),), 20),
        (lambda x: jnp.reshape(x, (2, 2)).T, (np.ones(4),), 0),
        (special.log_gamma, (np.ones(5),), 5),
        (jax.jit(lambda x: jnp.exp(x) + x), (np.ones(2),), 4),
    ],
)
def test_operations_are_counted_as_by_hand(function: Any, inputs: tuple[Any, ...], expected: int) -> None:
    assert operations(function, *inputs) == expected


def test_special_functions_can_be_counted_by_what_they_are_made_of() -> None:
    assert operations(special.log_gamma, np.ones(1), elementary=True) > 30


@pytest.mark.parametrize("times", [0, 1, 7])
def test_a_loop_counts_as_often_as_it_runs(times: int) -> None:
    def halved(n: Any) -> Any:
        return jax.lax.while_loop(lambda at: at[0] > 0, lambda at: (at[0] - 1, at[1] * 0.5), (n, 1.0))

    assert operations(halved, times) == 3 * times  # a comparison, a difference and a product


@pytest.mark.parametrize("branch", [0, 1])
def test_only_the_branch_that_is_taken_counts(branch: int) -> None:
    def chosen(k: Any, x: Any) -> Any:
        return jax.lax.switch(k, [lambda x: x + 1, lambda x: x * x * x + 1], x)

    taken = operations(chosen, branch, np.ones(4)) - operations(chosen, 0, np.ones(4))
    assert taken == (8 if branch else 0)


def test_steps_are_averaged_and_numbers_counted() -> None:
    assert smile_limits.per_step(Delta(0.5), np.ones(4)) == smile_limits.per_step(Delta(0.5), np.ones(1))
    assert smile_limits.numbers_kept(Nassar2010(1.0, 0.1, -1.0, 1.0)) == 2


def test_the_closed_form_is_the_papers() -> None:
    surprise = 0.1 * 9 / (2 * 16)
    gamma = np.sqrt(surprise / (1 + surprise))
    assert figure3.closed_form(1.0, 4.0) == pytest.approx((gamma, 4 * gamma + 1 - gamma), rel=1e-12)
    assert operations(figure3.closed_form, 1.0, 4.0) == 10


def _table(**changed: float) -> DataFrame:
    rows = [
        ("maze", "online EM", 2, 1000.0, 500), ("maze", "online EM", 4, 4e3, 900), ("maze", "online EM", 8, 9e4, 2000),
        ("maze", "SMiLe", 1, changed.get("smile", 100.0), 240), ("maze", "naive Bayes", 1, 50.0, 240),
        *(("Gaussian", "exact", n, 50.0 * n, 3 * n) for n in smile_limits.HYPOTHESES),
        ("Gaussian", "Nassar 2010", 1, 50.0, 2), ("Gaussian", "SMiLe", 1, 800.0, 2),
        ("Gaussian", "SMiLe, closed form", 1, changed.get("closed", 10.0), 1),
    ]  # fmt: skip
    table = DataFrame(rows, columns=["task", "learner", "size", "operations", "numbers_kept"])
    grows = changed.get("grows", 1.0)
    em = table.learner == "online EM"
    table.loc[em, "operations"] = 1000 * (table.operations[em] / 1000) ** grows
    return table.assign(elementary=table.operations * changed.get("elementary", 1.0))


@pytest.mark.parametrize(
    ("changed", "verdicts"),
    [
        ({}, [HOLDS, HOLDS, HOLDS]),
        ({"grows": 0.0}, [FAILS, HOLDS, HOLDS]),
        ({"elementary": 20.0}, [HOLDS, IN_PART, HOLDS]),
        ({"smile": 2000.0}, [HOLDS, IN_PART, HOLDS]),
        ({"closed": 400.0}, [HOLDS, HOLDS, FAILS]),
    ],
)
def test_verdicts_follow_the_numbers(changed: dict[str, float], verdicts: list[str]) -> None:
    found = smile_limits.cost_claims({"operations": _table(**changed)})
    assert [claim.verdict for claim in found] == verdicts

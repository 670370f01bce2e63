"""Is a masked sample missing wherever a series is read, and does everything work whatever JAX's own settings say?

Programs that were compiled under one setting would hide what another does to them, so the first answers are those of
a JAX that has compiled nothing yet and complains of every NaN and infinity.
"""

from collections.abc import Callable
from contextlib import ExitStack
from functools import cache
from typing import Any

import jax
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from astonish import Detector, History, Stream, beliefs, change_points, compare, learners, run, run_many, scan
from astonish.online.bank import Bank
from astonish.online.measures import measure
from astonish.people.fit import Estimate, Model, fit
from astonish.people.fit.likelihood import participant_data
from astonish.people.recovery import plan_trials, simulate_responses
from astonish.people.tables import Columns, read_trials
from astonish.people.tables.regressors import regressors
from families import LEARNER, columns, half_way, normal_at

pytestmark = pytest.mark.single  # as users have it
XS = [4.0, None, 2.0, 2.0]
MASKED = np.ma.array([4.0, 99.0, 2.0, 2.0], mask=[False, True, False, False])
DELTA = learners.Delta(0.5)
HYPOTHESES = learners.MessagePassing(beliefs.Gaussian(), hypotheses=2)
PARTICLES = learners.ParticleFilter(beliefs.Gaussian(), particles=4, seed=3)
ROOMS = [(0, 1), (1, 2), None, (2, 0)]


def streamed(xs: Any) -> Any:
    stream = Stream(DELTA)
    return [stream.update(x) for x in xs], stream.state


def banked(xs: Any) -> Any:
    bank = Bank(DELTA, 5)
    return bank.update([1, 2, 1, 1], xs), bank.estimate([1, 2, 3]), bank.state(1)


def in_a_table(xs: Any) -> Any:
    frame = pd.DataFrame({"key": np.ones(4, int), "x": pd.array(xs, dtype="Float64")})
    tables = frame, pa.Table.from_pandas(frame), pl.from_pandas(frame)
    return [np.asarray(Bank(DELTA, 2).update_table(table, "key", "x")["estimate"]) for table in tables]


def detected(xs: Any) -> Any:
    detector = Detector(DELTA, threshold=1.5, burn_in=0, cooldown=0)
    return [detector.update(x) for x in xs], detector.alarms(xs)


def compared(xs: Any) -> Any:
    table = compare({"delta": DELTA}, xs, [3.0] * 4, [0, 0, 1, 0]).table
    return table.drop(columns="microseconds").to_numpy()


def in_trials(xs: Any) -> Any:
    frame = pd.DataFrame({"x": pd.array(xs, dtype="Float64"), "r": pd.array(xs, dtype="Float64")})
    trials = read_trials(frame, Columns("x", response="r"), responds_before=False, response_kind="continuous")
    data = participant_data(Model(DELTA, Estimate()), trials)
    return data, regressors(DELTA, trials)[["estimate", "surprise"]].to_numpy(float)


READERS: dict[str, Callable[[Any], Any]] = {
    "run": lambda xs: run(DELTA, xs),
    "run_many": lambda xs: run_many(DELTA, [xs, xs]),
    "Stream": streamed,
    "Bank": banked,
    "tables": in_a_table,
    "Detector": detected,
    "measure": lambda xs: measure(learners.Leaky(beliefs.Gaussian()), xs, hazard=0.1).to_numpy(),
    "change_points": lambda xs: change_points(HYPOTHESES, xs),
    "compare": compared,
    "trials": in_trials,
}


def simulated() -> Any:
    detector = Detector.simulated(learners.Kalman(), false_alarm_rate=0.05, burn_in=3)
    return detector.threshold, [detector.update(x) for x in XS]


def fitted() -> Any:
    xs = [[1.0, 2.0, 0.5, 1.5, 3.0, 2.0, 1.0, 0.0]]
    model = Model(DELTA, Estimate(noise=0.1, anchored=False))
    trials = simulate_responses(model, plan_trials(xs, responds_before=False), seed=5)
    return trials.responses, fit(model, trials, ["learning_rate"], starts=1).values


OTHERS: dict[str, Callable[[], Any]] = {
    "SMiLe": lambda: run(learners.Smile(beliefs.Gaussian()), XS),
    "vectors": lambda: run(learners.Bayes(beliefs.Regression(2)), [([1.0, 2.0], 3.0), None, ([0.0, 1.0], 1.0)]),
    "labels": lambda: run(learners.Leaky(beliefs.Dirichlet(3)), [0, 1, None, 2]),
    "contexts": lambda: run(learners.PerContext(DELTA, 3), ROOMS),
    "a grid": lambda: run(learners.Bayes(beliefs.Grid(np.linspace(-2, 2, 9), normal_at)), XS),
    "a rate of one's own": lambda: run(learners.Modulated(beliefs.Beta(), half_way), [1, None, 0]),
    "particles": lambda: run(PARTICLES, XS),
    "environments": lambda: run(learners.OnlineEM(3, frozen=1, seed=2), ROOMS),
    "Detector.simulated": simulated,
    "fit": fitted,
}
ENTRY_POINTS: dict[str, Callable[[], Any]] = {
    **{name: lambda answer=answer: answer(XS) for name, answer in READERS.items()},
    **OTHERS,
}
SETTINGS: dict[str, list[tuple[Any, Any]]] = {
    "strict types": [(jax.numpy_dtype_promotion, "strict")],
    "strict ranks": [(jax.numpy_rank_promotion, "raise")],
    "strict types and ranks": [(jax.numpy_dtype_promotion, "strict"), (jax.numpy_rank_promotion, "raise")],
    "other random bits": [(jax.threefry_partitionable, False)],
    "another generator": [(jax.default_prng_impl, "rbg")],
    "matrix products": [(jax.default_matmul_precision, "bfloat16")],
    "double precision": [(jax.enable_x64, True)],
}


def numbers(answer: Any) -> list[Any]:
    """All the numbers of an answer, one array after the other."""
    if isinstance(answer, History):
        return numbers({name: part for name, part in vars(answer).items() if name != "learner"})
    if isinstance(answer, list):
        return [array for each in answer for array in numbers(each)]
    return [np.asarray(leaf) for leaf in jax.tree.leaves(answer)]


def answer_or_error(name: str) -> Any:
    try:
        return numbers(ENTRY_POINTS[name]())
    except Exception as error:
        return error


usual_answer = cache(answer_or_error)


@pytest.fixture(scope="module")
def first_answers() -> dict[str, Any]:
    """What a JAX that has compiled nothing yet answers while it complains of every NaN and infinity."""
    jax.clear_caches()
    with jax.debug_nans(True), jax.debug_infs(True):
        return {name: answer_or_error(name) for name in ENTRY_POINTS}


@pytest.mark.parametrize("name", ENTRY_POINTS)
def test_nan_and_infinity_may_be_watched_for(name: str, first_answers: dict[str, Any]) -> None:
    np.testing.assert_equal(first_answers[name], usual_answer(name))


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=list(SETTINGS))
@pytest.mark.parametrize("name", ENTRY_POINTS)
def test_settings_change_nothing(name: str, settings: list[tuple[Any, Any]], first_answers: dict[str, Any]) -> None:
    with ExitStack() as stack:
        for setting, value in settings:
            stack.enter_context(setting(value))
        answer = answer_or_error(name)
    np.testing.assert_equal(answer, usual_answer(name))


@pytest.mark.parametrize("name", ["run", "run_many", "Stream", "Detector"])
def test_all_works_without_compilation(name: str) -> None:
    with jax.disable_jit():
        answer = numbers(ENTRY_POINTS[name]())
    for one, other in zip(answer, usual_answer(name), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)


TRACED = ("smile_beta", "smile_poisson", "smile_regression", "message_passing_gaussian", "particles_gaussian")


@pytest.mark.parametrize("name", [*TRACED, "nassar_2012", "pearce_hall", "kalman", "online_em", "per_context"])
def test_learners_may_be_traced_under_strict_settings(name: str) -> None:
    """In people's own programs the settings are theirs; the series is only traced, not computed."""
    case = LEARNER[name]
    with jax.enable_x64(True), jax.numpy_dtype_promotion("strict"), jax.numpy_rank_promotion("raise"):
        jax.eval_shape(scan, case.learner, columns(case.samples))


@pytest.mark.parametrize("answer", READERS.values(), ids=list(READERS))
def test_masked_samples_are_missing(answer: Callable[[Any], Any], first_answers: dict[str, Any]) -> None:
    np.testing.assert_equal(numbers(answer(MASKED)), numbers(answer(XS)))

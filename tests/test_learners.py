"""Checks what every learner promises: one loop for all, gaps that change nothing, gradients, long runs."""

import pickle
from dataclasses import replace
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from astonish import (
    Bayes,
    Beta,
    Delta,
    Dirichlet,
    Exponential,
    Gaussian,
    History,
    Leaky,
    MessagePassing,
    Nassar2010,
    NormalGamma,
    OnlineEM,
    ParticleFilter,
    PerContext,
    Poisson,
    Regression,
    Smile,
    Stream,
    VarSmile,
    finite,
    rule,
    run,
    scan,
    surprise,
)
from families import CONTEXTS, LEARNER, LEARNERS, NUMBERS, LearnerCase, columns

Case = LearnerCase
every = pytest.mark.parametrize("case", LEARNERS, ids=[c.name for c in LEARNERS])
KINDS = (
    "smile_gaussian",
    "smile_dirichlet",
    "bayes_regression",
    "leaky_normal_gamma",
    "smile_grid",
    "varsmile_gaussian",
    "message_passing_gaussian",
    "particles_gaussian",
    "delta",
    "per_context",
)
one_of_each_kind = pytest.mark.parametrize("case", [LEARNER[name] for name in KINDS], ids=KINDS)
_scan = jax.jit(scan)
_side_by_side = jax.jit(jax.vmap(scan, in_axes=(None, 0)))


@cache
def _history(name: str) -> History:
    return run(LEARNER[name].learner, LEARNER[name].samples)


def _answers(history: Any) -> tuple[Any, ...]:
    return history.estimate, history.surprise, history.rate, history.state, history.change


def _agree(a: Any, b: Any, rtol: float = 1e-9, atol: float = 1e-12) -> None:
    """Up to what rounding, which differs from one compiled program to another, does to a small gamma."""
    jax.tree.map(lambda x, y: np.testing.assert_allclose(x, y, rtol=rtol, atol=atol), a, b)


@every
def test_many_side_by_side_agree_with_one_by_one(case: Case) -> None:
    there, back = columns(case.samples), columns(case.samples[::-1])
    both = _side_by_side(case.learner, jax.tree.map(lambda a, b: np.stack([a, b]), there, back))
    _agree(jax.tree.map(lambda leaf: leaf[0], tuple(both)), _answers(_history(case.name)))
    _agree(jax.tree.map(lambda leaf: leaf[1], tuple(both)), _answers(run(case.learner, case.samples[::-1])))


@every
def test_stream_and_run_agree(case: Case) -> None:
    history, stream = _history(case.name), Stream(case.learner)
    steps = [stream.update(x) for x in case.samples]
    _agree(np.array([s.estimate for s in steps]), history.estimate)
    _agree(np.array([[s.surprise, s.rate] for s in steps]), np.stack([history.surprise, history.rate], 1))
    _agree(stream.state, history.state)
    _agree(np.asarray(stream.estimate), history.estimate[-1])


@one_of_each_kind
def test_going_on_from_a_state_equals_one_long_run(case: Case) -> None:
    whole, gap = _history(case.name), [None] * 6
    first = run(case.learner, case.samples[:6] + gap)
    second = run(case.learner, gap + case.samples[6:], first.state)
    _agree(second.state, whole.state)
    _agree(np.concatenate([first.rate[:6], second.rate[6:]]), whole.rate)
    stream = Stream(case.learner, first.state)
    assert stream.update(case.samples[6]).rate == pytest.approx(whole.rate[6], rel=1e-9)


@every
def test_rate_lies_between_zero_and_one_and_surprise_is_a_number(case: Case) -> None:
    history = _history(case.name)
    assert ((history.rate >= 0) & (history.rate <= 1)).all()
    assert np.isfinite(history.surprise).all()
    assert np.isfinite(history.estimate).all()


@every
def test_a_learner_survives_pickling_and_prints_itself(case: Case) -> None:
    again = pickle.loads(pickle.dumps(case.learner))
    assert repr(again) == repr(case.learner)
    assert repr(case.learner).startswith(type(case.learner).__name__ + "(")
    assert "Traced" not in repr(case.learner)
    _agree(_answers(run(again, case.samples)), _answers(_history(case.name)), rtol=0, atol=0)


@every
def test_missing_samples_change_nothing(case: Case) -> None:
    whole = _history(case.name)
    gapped = run(case.learner, [x for sample in case.samples[:6] for x in (None, sample)])
    _agree(gapped.estimate[1::2], whole.estimate[:6])
    _agree(gapped.rate[1::2], whole.rate[:6])
    assert np.isnan(gapped.surprise[::2]).all()
    assert (gapped.rate[::2] == 0).all()
    assert gapped.observed.tolist() == [False, True] * 6
    np.testing.assert_array_equal(gapped.estimate[2::2], gapped.estimate[1:-1:2])


@every
def test_a_stream_of_missing_samples_stays_where_it_is(case: Case) -> None:
    stream = Stream(case.learner)
    before, estimate = stream.state, stream.estimate
    step = stream.update(None)
    jax.tree.map(np.testing.assert_array_equal, stream.state, before)
    np.testing.assert_array_equal(step.estimate, estimate)
    assert np.isnan(step.surprise)
    assert step.rate == 0


FITTED = [  # without particles, which jump: who goes on is drawn, so an estimate has no slope in their parameters
    ("smile_gaussian", "m"),
    ("smile_dirichlet", "m"),
    ("leaky_gaussian", "keep"),
    ("leaky_exponential", "keep"),
    ("varsmile_gaussian", "m"),
    ("varsmile_dirichlet", "m"),
    ("varsmile_regression", "m"),
    ("message_passing_gaussian", "hazard"),
    ("message_passing_normal_gamma", "hazard"),
    ("delta", "rate"),
    ("delta", "start"),
    ("nassar_2010", "hazard"),
    ("nassar_2010", "likelihood_weight"),
    ("nassar_2010", "noise"),
    ("nassar_2012", "noise"),
    ("nassar_2012", "hazard"),
    ("nassar_2012", "low"),
    ("nassar_2012", "start"),
    ("nassar_2012", "uncertainty"),
    ("nassar_2012", "surprise_sensitivity"),
    ("nassar_2012", "uncertainty_underestimation"),
    ("nassar_2012_from_the_middle", "high"),
    ("nassar_gaussian_2010", "noise"),
    ("nassar_gaussian_2010", "hazard"),
    ("nassar_gaussian_2012", "noise"),
    ("nassar_gaussian_2012", "hazard"),
    ("nassar_gaussian_2012", "mean"),
    ("nassar_gaussian_2012", "std"),
    ("pearce_hall", "salience"),
    ("pearce_hall", "renewal"),
    ("pearce_hall", "start"),
    ("pearce_hall", "associability"),
    ("pearce_hall", "scale"),
    ("kalman", "noise"),
    ("kalman", "drift"),
    ("kalman", "mean"),
    ("kalman", "std"),
    ("online_em", "rate"),
    ("online_em", "switch"),
]


def _total(value: Any, learner: Any, name: str, xs: Any, observed: Any) -> Any:
    trace = scan(replace(learner, **{name: value}), xs, None, observed)
    weight = jnp.cos(jnp.arange(trace.estimate.size)).reshape(trace.estimate.shape)
    return (weight * trace.estimate).sum() + trace.rate.sum()


_total_of = jax.jit(_total, static_argnums=2)
_slope_of = jax.jit(jax.grad(_total), static_argnums=2)


@pytest.mark.parametrize(("which", "name"), FITTED)
def test_gradient_in_a_parameter_agrees_with_finite_differences(which: str, name: str) -> None:
    rest = LEARNER[which].learner, name, columns(LEARNER[which].samples), np.ones(12, bool)
    at, h = 0.7, 1e-5
    difference = (_total_of(at + h, *rest) - _total_of(at - h, *rest)) / (2 * h)
    np.testing.assert_allclose(_slope_of(at, *rest), difference, rtol=2e-5, atol=1e-7)


NAN_PROOF = [
    ("smile_gaussian", "m"),
    ("leaky_gaussian", "keep"),
    ("varsmile_gaussian", "m"),
    ("message_passing_gaussian", "hazard"),
    ("delta", "rate"),
]


@pytest.mark.parametrize(("which", "name"), NAN_PROOF)
def test_a_nan_at_a_missing_sample_does_not_poison_gradients(which: str, name: str) -> None:
    learner, xs = LEARNER[which].learner, np.array(NUMBERS)
    observed = np.arange(len(xs)) != 4
    clean = _slope_of(0.7, learner, name, xs, observed)
    poisoned = _slope_of(0.7, learner, name, np.where(observed, xs, np.nan), observed)
    assert np.isfinite(clean)
    assert clean == poisoned


MAPPED = [
    ("smile_dirichlet", "m"),
    ("leaky_gaussian", "keep"),
    ("varsmile_exponential", "m"),
    ("message_passing_normal_gamma", "hazard"),
    ("particles_poisson", "hazard"),
    ("delta", "rate"),
]


@pytest.mark.parametrize(("which", "name"), MAPPED)
def test_many_parameter_values_are_traced_once_and_mapped_at_will(which: str, name: str) -> None:
    learner, xs = LEARNER[which].learner, columns(LEARNER[which].samples)
    loop = jax.jit(lambda value: scan(replace(learner, **{name: value}), xs).estimate)
    values = np.linspace(0.05, 0.95, 7)
    one_by_one = np.stack([loop(value) for value in values])
    assert loop._cache_size() == 1
    _agree(jax.vmap(loop)(values), one_by_one)


def test_all_parameters_of_a_learner_and_its_family_are_leaves() -> None:
    loop = jax.jit(lambda learner: scan(learner, np.array(NUMBERS)))
    for m in (0.1, 0.2, 3.0):
        for noise in (0.5, 2.0):
            loop(Smile(Gaussian(noise), m))
    assert loop._cache_size() == 1


def _million(learner: Any, xs: Any) -> None:
    trace = _scan(learner, xs)
    assert len(trace.rate) == 1_000_000
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(trace))
    assert ((trace.rate >= 0) & (trace.rate <= 1)).all()


def test_a_million_numbers() -> None:
    rng = np.random.default_rng(11)
    _million(Smile(Gaussian(noise=1.0)), rng.normal(size=1_000_000) + 10 * (np.arange(1_000_000) // 1000 % 7))


def test_a_million_outcomes() -> None:
    rng = np.random.default_rng(12)
    _million(Smile(Dirichlet(3)), rng.choice(3, size=1_000_000, p=[0.9, 0.09, 0.01]))


def test_a_million_numbers_for_nassar() -> None:
    rng = np.random.default_rng(14)
    _million(Nassar2010(noise=1.0), rng.normal(size=1_000_000) + 10 * (np.arange(1_000_000) // 1000 % 2))


@pytest.mark.parametrize(
    "learner",
    [
        VarSmile(Gaussian(1.0)),
        MessagePassing(Gaussian(1.0), 0.001, hypotheses=10),
        ParticleFilter(Gaussian(1.0), 0.001, particles=10),
    ],
    ids=lambda learner: type(learner).__name__,
)
def test_a_million_numbers_in_a_world_that_changes(learner: Any) -> None:
    rng = np.random.default_rng(16)
    _million(learner, rng.normal(size=1_000_000) + 10 * (np.arange(1_000_000) // 1000 % 7))


def test_a_million_moves() -> None:
    rooms = np.random.default_rng(15).integers(0, 3, 1_000_001)
    _million(OnlineEM(3, rate=0.01), (rooms[:-1], rooms[1:]))


def test_a_million_counts() -> None:
    counts = np.random.default_rng(13).poisson(4.0, size=1_000_000)
    _million(Bayes(Poisson()), counts)
    posterior = _scan(Bayes(Poisson()), counts).state.belief
    assert float(posterior.mean) == pytest.approx((1 + counts.sum()) / 1_000_001, rel=1e-9)


def test_a_million_samples_that_teach_nothing_leave_the_belief_where_it_was() -> None:
    family = Gaussian(noise=0.3)
    learner = Smile(family, 0.0, family.prior(1e8))
    last = _scan(learner, np.full(1_000_000, 1e8)).state
    assert abs(float(last.mean) - 1e8) < 1e-3 * 0.3
    assert float(last.precision) == pytest.approx(1 / 0.09, rel=1e-9)


def test_per_context_equals_separate_learners() -> None:
    learner = PerContext(Smile(Dirichlet(4)), 3)
    together = run(learner, CONTEXTS)
    for context in range(3):
        where = [t for t, (c, _) in enumerate(CONTEXTS) if c == context]
        alone = run(Smile(Dirichlet(4)), [CONTEXTS[t][1] for t in where])
        _agree(together.estimate[where], alone.estimate)
        _agree(together.surprise[where], alone.surprise)
        _agree(learner.estimates(together.state)[context], alone.estimate[-1])


def test_per_context_is_algorithm_2() -> None:
    """The paper's maze learner: a table of concentrations, of which each transition changes one row."""
    rng = np.random.default_rng(14)
    rooms, nexts = rng.integers(16, size=60), rng.integers(15, size=60)
    family, table = Dirichlet(15), np.ones((16, 15))
    update = jax.jit(rule.smile)
    for room, to in zip(rooms, nexts, strict=True):
        gamma = float(update(family, family.prior(table[room] - 1), to, 0.1).gamma)
        table[room] = (1 - gamma) * table[room] + gamma * (1 + np.eye(15)[to])
    history = run(PerContext(Smile(family, 0.1), 16), (rooms, nexts))
    _agree(history.state.table.alpha, table)


def test_missing_context_or_sample_changes_no_row() -> None:
    learner = PerContext(Delta(0.5), 2)
    history = run(learner, [(0, 1.0), (1, None), (None, 3.0), None, (1, 2.0)])
    assert history.observed.tolist() == [True, False, False, False, True]
    assert history.state.table.tolist() == [0.5, 1.0]
    assert history.estimate.tolist() == [0.5, 0.5, 0.5, 0.5, 1.0]


def test_without_readiness_nothing_is_learned_and_with_endless_readiness_only_the_last_sample_counts() -> None:
    for case in LEARNERS[:10]:
        stubborn = run(replace(case.learner, m=0.0), case.samples)
        assert (stubborn.rate == 0).all()
        _agree(stubborn.state, jax.tree.map(np.asarray, case.learner.init()), rtol=1e-12, atol=1e-12)
        eager = run(replace(case.learner, m=1e200), case.samples)
        assert eager.rate[np.flatnonzero(eager.surprise > 1e-9)] == pytest.approx(1.0)


def test_bayes_is_leaky_that_forgets_nothing() -> None:
    for family, xs in [(Gaussian(2.0), NUMBERS), (Exponential(), [0.3, 2.0, 1.0]), (NormalGamma(), NUMBERS)]:
        exact, leaky = run(Bayes(family), xs), run(Leaky(family, 1.0), xs)
        _agree((exact.estimate, exact.surprise, exact.rate), (leaky.estimate, leaky.surprise, leaky.rate))


def test_bayes_is_exact() -> None:
    pairs = LEARNER["bayes_regression"].samples
    features, y = columns(pairs)
    weights = np.linalg.solve(features.T @ features + np.eye(2), features.T @ y)
    np.testing.assert_allclose(run(Bayes(Regression(2)), pairs).estimate[-1], weights, rtol=1e-10)
    outcomes = [1, 1, 0, 1]
    assert run(Bayes(Beta()), outcomes).estimate[-1] == pytest.approx(4 / 6)
    models = finite([[0.9, 0.1], [0.5, 0.5]])
    weight = 0.1**3 * 0.9 / (0.1**3 * 0.9 + 0.5**4)
    exact = [0.9 * weight + 0.5 * (1 - weight), 0.1 * weight + 0.5 * (1 - weight)]
    assert run(Bayes(models), outcomes).estimate[-1] == pytest.approx(exact)


def test_leaky_keeps_a_geometric_memory() -> None:
    outcomes, keep = np.array([0, 2, 2, 1, 0, 2]), 0.6
    seen = sum(keep ** (len(outcomes) - 1 - t) * np.eye(3)[x] for t, x in enumerate(outcomes))
    history = run(Leaky(Dirichlet(3), keep), outcomes)
    np.testing.assert_allclose(history.state.belief.alpha, 1 + seen, rtol=1e-12)
    np.testing.assert_allclose(history.rate[-1], 1 / sum(keep**t for t in range(len(outcomes))), rtol=1e-12)


def test_delta_is_an_exponential_average() -> None:
    xs, rate = np.array(NUMBERS), 0.3
    weights = rate * (1 - rate) ** np.arange(len(xs))[::-1]
    history = run(Delta(rate, start=1.0), xs)
    assert history.estimate[-1] == pytest.approx(weights @ xs + (1 - rate) ** len(xs))
    assert history.surprise[0] == pytest.approx(abs(xs[0] - 1.0))


def test_modulated_moves_by_the_rate_its_function_gives() -> None:
    learner = LEARNER["modulated_gaussian"].learner
    history = run(learner, NUMBERS)
    np.testing.assert_allclose(history.rate, history.surprise / (5 + history.surprise), rtol=1e-12)
    mean = 0.0
    for rate, x, estimate in zip(history.rate, NUMBERS, history.estimate, strict=True):
        mean += rate * (x - mean)  # belief and likelihood are equally wide, so gamma is the learning rate
        assert estimate == pytest.approx(mean)


def test_the_surprise_of_smile_is_the_confidence_corrected_one() -> None:
    family = Dirichlet(3)
    history = run(Smile(family), [0, 0, 1])
    belief = run(Smile(family), [0, 0]).state
    exact = surprise.confidence_corrected(family, belief, 1)
    assert history.surprise[2] == pytest.approx(float(exact), rel=1e-10)

"""Checks what every learner promises: one loop for all, gaps that change nothing, gradients, long runs."""

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
    run,
    scan,
)
from astonish.core.numbers import Domain, as_double, pytree_dataclass
from astonish.core.parameters import parameter
from astonish.core.samples import read_series
from astonish.testing import check_learner, learner_checks
from astonish.testing.checks import derivative, differentiable
from astonish.theory import rule, surprise
from families import CONTEXTS, LEARNER, LEARNERS, NUMBERS, LearnerCase, agree, columns

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


@cache
def _history(name: str) -> History:
    return run(LEARNER[name].learner, LEARNER[name].samples)


def _agree(a: Any, b: Any, rtol: float = 1e-9, atol: float = 1e-12) -> None:
    """Up to what rounding, which differs from one compiled program to another, does to a small gamma."""
    jax.tree.map(lambda x, y: np.testing.assert_allclose(x, y, rtol=rtol, atol=atol), a, b)


@pytest.mark.parametrize("check", learner_checks(), ids=lambda check: check.__name__)
@every
def test_every_learner_keeps_its_promises(case: Case, check: Any) -> None:
    check(case.learner, case.samples)


@one_of_each_kind
def test_going_on_from_a_state_equals_one_long_run(case: Case) -> None:
    whole, gap = _history(case.name), [None] * 6
    first = run(case.learner, case.samples[:6] + gap)
    second = run(case.learner, gap + case.samples[6:], first.state)
    _agree(second.state, whole.state)
    _agree(np.concatenate([first.learning_rate[:6], second.learning_rate[6:]]), whole.learning_rate)
    stream = Stream(case.learner, first.state)
    assert stream.update(case.samples[6]).learning_rate == pytest.approx(whole.learning_rate[6], rel=1e-9)


FITTED = {  # without particles, which jump: who goes on is drawn, so an estimate has no slope in their parameters
    "smile_gaussian": "m",
    "smile_dirichlet": "m",
    "leaky_gaussian": "keep",
    "leaky_exponential": "keep",
    "varsmile_gaussian": "m",
    "varsmile_dirichlet": "m",
    "varsmile_regression": "m",
    "message_passing_gaussian": "hazard",
    "message_passing_normal_gamma": "hazard",
    "delta": "learning_rate start",
    "nassar_2010": "hazard likelihood_weight noise",
    "nassar_2012": "noise hazard low start first_uncertainty surprise_sensitivity uncertainty_underestimation",
    "nassar_2012_from_the_middle": "high",
    "nassar_gaussian_2010": "noise hazard",
    "nassar_gaussian_2012": "noise hazard mean std",
    "pearce_hall": "salience renewal start associability scale",
    "kalman": "noise drift mean std",
    "volatile_kalman": "noise volatility_rate drift start",
    "binary_volatile_kalman": "volatility_rate v0 omega",
    "two_rate": "learning_rate_positive learning_rate_negative start",
    "sutton_on_coins": "meta_rate start first_rate first_trace scale",
    "reversal": "hazard good bad",
    "dynamic_belief": "alpha",
    "online_em": "learning_rate switch",
    "hgf": "omega2 omega3 kappa mu2 pi2 mu3 pi3",
    "hgf_two_levels": "omega2 mu2 pi2",
    "hgf_classic": "omega2 omega3 kappa mu2 pi2 mu3 pi3",
    "hgf_continuous": "noise omega1 omega2 kappa mean std mu2 pi2",
    "delta_mixture_gaussian": "hazard longest",
}


def _total(learner: Any, samples: Any) -> float:
    """What `astonish.testing` differentiates: a number that depends on all that a learner answers."""
    history = run(learner, samples)
    weights = np.cos(np.arange(history.estimate.size)).reshape(history.estimate.shape)
    return float((weights * history.estimate).sum() + history.learning_rate.sum())


def _slope(learner: Any, name: str, xs: Any, observed: Any) -> float:
    """The derivative of the total by a parameter, by the program with which the contract has checked the learner."""
    learner = as_double(learner)
    names = differentiable(learner)
    return float(derivative(names)(learner, xs, observed, np.eye(len(names))[names.index(name)]))


@pytest.mark.parametrize(("which", "name"), [(which, name) for which in FITTED for name in FITTED[which].split()])
def test_gradient_in_a_parameter_agrees_with_finite_differences(which: str, name: str) -> None:
    case, at, h = LEARNER[which], 1.7 if name == "longest" else 0.7, 1e-5
    more, less = (_total(replace(case.learner, **{name: value}), case.samples) for value in (at + h, at - h))
    slope = _slope(replace(case.learner, **{name: at}), name, *read_series(case.learner.samples, case.samples))
    np.testing.assert_allclose(slope, (more - less) / (2 * h), rtol=2e-5, atol=1e-7)


NAN_PROOF = [
    ("smile_gaussian", "m"),
    ("leaky_gaussian", "keep"),
    ("varsmile_gaussian", "m"),
    ("message_passing_gaussian", "hazard"),
    ("delta", "learning_rate"),
]


@pytest.mark.parametrize(("which", "name"), NAN_PROOF)
def test_a_nan_at_a_missing_sample_does_not_poison_gradients(which: str, name: str) -> None:
    case = LEARNER[which]
    xs, observed = read_series(case.learner.samples, case.samples)
    observed[4] = False
    learner = replace(case.learner, **{name: 0.7})
    clean, poisoned = (_slope(learner, name, at, observed) for at in (xs, np.where(observed, xs, np.nan)))
    assert np.isfinite(clean)
    assert clean == poisoned


MAPPED = [
    ("smile_dirichlet", "m"),
    ("leaky_gaussian", "keep"),
    ("varsmile_exponential", "m"),
    ("message_passing_normal_gamma", "hazard"),
    ("particles_poisson", "hazard"),
    ("delta", "learning_rate"),
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


RNG = np.random.default_rng(11)
JUMPS = RNG.normal(size=100_000) + 10 * (np.arange(100_000) // 1000 % 7)
ROOMS = RNG.integers(0, 3, 100_001)
COUNTS = RNG.poisson(4.0, size=100_000)
MILLIONS = [
    (Smile(Gaussian(noise=1.0)), JUMPS),
    (Smile(Dirichlet(3)), RNG.choice(3, size=100_000, p=[0.9, 0.09, 0.01])),
    (Nassar2010(noise=1.0), JUMPS % 20),
    (VarSmile(Gaussian(1.0)), JUMPS),
    (MessagePassing(Gaussian(1.0), 0.001, hypotheses=10), JUMPS),
    (ParticleFilter(Gaussian(1.0), 0.001, particles=10), JUMPS),
    (OnlineEM(3, learning_rate=0.01), (ROOMS[:-1], ROOMS[1:])),
    (Bayes(Poisson()), COUNTS),
]


@pytest.mark.parametrize(("learner", "xs"), MILLIONS, ids=lambda case: type(case).__name__)
def test_a_hundred_thousand_samples(learner: Any, xs: Any) -> None:
    trace = _scan(learner, xs)
    assert len(trace.learning_rate) == 100_000
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(trace))
    assert ((trace.learning_rate >= 0) & (trace.learning_rate <= 1)).all()
    if xs is COUNTS:
        assert float(trace.state.belief.mean) == pytest.approx((1 + COUNTS.sum()) / 100_001, rel=1e-9)


def test_a_hundred_thousand_samples_that_teach_nothing_leave_the_belief_where_it_was() -> None:
    family = Gaussian(noise=0.3)
    learner = Smile(family, 0.0, family.prior(1e8))
    last = _scan(learner, np.full(100_000, 1e8)).state
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
        gamma = float(update(family, family.prior(alpha=table[room]), to, 0.1).gamma)
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
        assert (stubborn.learning_rate == 0).all()
        _agree(stubborn.state, jax.tree.map(np.asarray, case.learner.init()), rtol=1e-12, atol=1e-12)
        eager = run(replace(case.learner, m=1e200), case.samples)
        assert eager.learning_rate[np.flatnonzero(eager.surprise > 1e-9)] == pytest.approx(1.0)


def test_bayes_is_leaky_that_forgets_nothing() -> None:
    for family, xs in [(Gaussian(2.0), NUMBERS), (Exponential(), [0.3, 2.0, 1.0]), (NormalGamma(), NUMBERS)]:
        agree(run(Bayes(family), xs), run(Leaky(family, 1.0), xs), atol=1e-12)


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
    np.testing.assert_allclose(history.learning_rate[-1], 1 / sum(keep**t for t in range(len(outcomes))), rtol=1e-12)


def test_delta_is_an_exponential_average() -> None:
    xs, rate = np.array(NUMBERS), 0.3
    weights = rate * (1 - rate) ** np.arange(len(xs))[::-1]
    history = run(Delta(rate, start=1.0), xs)
    assert history.estimate[-1] == pytest.approx(weights @ xs + (1 - rate) ** len(xs))
    assert history.surprise[0] == pytest.approx(abs(xs[0] - 1.0))


def test_modulated_moves_by_the_rate_its_function_gives() -> None:
    learner = LEARNER["modulated_gaussian"].learner
    history = run(learner, NUMBERS)
    np.testing.assert_allclose(history.learning_rate, history.surprise / (5 + history.surprise), rtol=1e-12)
    mean = 0.0
    for rate, x, estimate in zip(history.learning_rate, NUMBERS, history.estimate, strict=True):
        mean += rate * (x - mean)  # belief and likelihood are equally wide, so gamma is the learning rate
        assert estimate == pytest.approx(mean)


def test_the_surprise_of_smile_is_the_confidence_corrected_one() -> None:
    family = Dirichlet(3)
    history = run(Smile(family), [0, 0, 1])
    belief = run(Smile(family), [0, 0]).state
    exact = surprise.confidence_corrected(family, belief, 1)
    assert history.surprise[2] == pytest.approx(float(exact), rel=1e-10)


def test_a_learner_that_breaks_its_promises_is_told_which() -> None:
    @pytree_dataclass
    class Broken(Delta):
        """A delta rule that learns too fast, without a word about how fast, and forgets what it was told."""

        speed: Any = parameter(1.0, Domain(0.0, 1.0), (-1.0, 0.5), "how fast it learns")

        def step(self, state: Any, x: Any) -> Any:
            new, info = super().step(state, x)
            return new, info._replace(surprise=jnp.log(info.surprise - 1e9), learning_rate=info.learning_rate + 1)

        def with_estimate(self, state: Any, value: Any) -> Any:
            return state

        def uncertainty(self, state: Any) -> Any:
            return -jnp.ones(())

        def simulate(self, rng: Any, steps: int) -> Any:
            return ["no number"] * steps

    broken = {
        "parameters_are_described": "Broken's speed is usually from -1 to 0.5, but has to be a finite number from 0",
        "learning_rates_are_shares": "Broken gives a learning_rate of .*, which is not from 0 to 1",
        "surprise_and_estimate_are_finite": "Broken gives a surprise of .*nan",
        "pickling_and_printing": "Broken cannot be pickled .*; define all parts at the top of a module",
        "uncertainty_is_not_negative": "Broken gives an uncertainty of -1",
        "with_estimate_gives_the_estimate": "Broken.with_estimate gives a state with another estimate",
        "simulated_samples_are_allowed": "Broken.simulate draws samples that it does not take: .*'no number'",
    }
    checks = {check.__name__: check for check in learner_checks()}
    for name, sentence in broken.items():
        with pytest.raises(AssertionError, match=sentence):
            checks[name](Broken(0.3), NUMBERS)


def test_a_step_that_changes_the_form_of_the_state_is_named() -> None:
    @pytree_dataclass
    class Growing(Delta):
        """A delta rule whose state becomes a vector."""

        def step(self, state: Any, x: Any) -> Any:
            new, info = super().step(state, x)
            return jnp.stack([new, new]), info

    with pytest.raises(AssertionError, match=r"Growing makes \{'': 'float64\[2\]'\} of a state \{'': 'float64\[\]'\}"):
        check_learner(Growing(0.3), NUMBERS)

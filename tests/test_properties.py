"""Looks for finite input, however extreme, from which any learner makes something that is not a number."""

from collections.abc import Callable
from functools import partial
from itertools import product
from typing import Any

import jax
import numpy as np
import pytest
from hypothesis import example, given, settings, strategies as st

from astonish import Steps, beliefs, learners, scan
from families import POINTS, normal_at

LENGTH = 6
MODELS = [[0.9, 0.1, 0.0], [0.2, 0.5, 0.3], [0.0, 0.0, 1.0]]
_scan = jax.jit(scan)
thorough = settings(deadline=None, derandomize=True, max_examples=60)


def _bold(surprise: Any) -> Any:
    """A gamma of one's own that is safe at any surprise."""
    return 1 - 1 / (1 + surprise)


def _numbers(most: float) -> st.SearchStrategy[float]:
    """Ordinary numbers, huge ones, tiny ones, and zero."""
    return st.one_of(st.floats(-most, most), st.floats(-10, 10), st.sampled_from([0.0, most, -most, 1.0, 1e-30]))


def _positive(low: float, high: float) -> st.SearchStrategy[float]:
    exponents = st.floats(np.log10(low), np.log10(high))
    return st.one_of(exponents.map(lambda e: float(np.clip(10.0**e, low, high))), st.sampled_from([low, high, 1.0]))


def _series(values: st.SearchStrategy[Any]) -> st.SearchStrategy[list[Any]]:
    return st.lists(values, min_size=LENGTH, max_size=LENGTH)


COUNTS = st.one_of(st.integers(0, 20), st.integers(0, 10**15), st.just(10**15)).map(float)
READINESS = st.one_of(st.just(0.0), _positive(1e-300, 1e300), st.just(0.1))
READINESS32 = st.one_of(st.just(0.0), _positive(1e-37, 1e37), st.just(0.1))


def _sane(trace: Steps, finite_surprise: bool = True) -> None:
    assert not np.isnan(trace.estimate).any()
    assert not np.isnan(trace.surprise).any()
    assert not np.isnan(trace.learning_rate).any()
    assert ((trace.learning_rate >= 0) & (trace.learning_rate <= 1)).all()
    assert trace.change_probability is None or ((trace.change_probability >= 0) & (trace.change_probability <= 1)).all()
    if finite_surprise:
        assert np.isfinite(trace.surprise).all()


def _probability(m: float) -> float:
    """A probability that may be almost, but not quite, 0 or 1."""
    return float(np.clip(m / (1 + m), 1e-300, 1 - 1e-16))


Make = Callable[[float], Any]
ON_ANY_FAMILY: dict[str, Callable[[Any, float], Any]] = {
    "smile": lambda family, m: learners.Smile(
        family, m, reference=None if family.proper_likelihood else family.prior()
    ),
    "bayes": lambda family, _: learners.Bayes(family),
    "leaky": lambda family, m: learners.Leaky(family, m / (1 + m)),
    "varsmile": lambda family, m: learners.VarSmile(family, m),
    "message_passing": lambda family, m: learners.MessagePassing(family, _probability(m), hypotheses=4),
    "particles": lambda family, m: learners.ParticleFilter(family, _probability(m), particles=5),
    "delta_mixture": lambda family, m: learners.DeltaMixture(family, _probability(m)),
}


def _on(**families: Any) -> dict[str, Make]:
    """Every learner that runs on any family, on each of these."""
    pairs = product(ON_ANY_FAMILY.items(), families.items())
    return {f"{learner}_{name}": partial(make, family) for (learner, make), (name, family) in pairs}


FIRM = beliefs.DirichletBelief(np.array([1e12, 1e-3, 1e6]))
ON_COUNTS, ON_WAITS = _on(poisson=beliefs.Poisson()), _on(exponential=beliefs.Exponential())
ON_OUTCOMES: dict[str, Make] = _on(dirichlet=beliefs.Dirichlet(3), finite=beliefs.finite(MODELS)) | {
    "smile_firm": lambda m: learners.Smile(beliefs.Dirichlet(3), m, FIRM),
    "varsmile_firm": lambda m: learners.VarSmile(beliefs.Dirichlet(3), m, FIRM),
    "delta_mixture_of_long_runs": lambda m: learners.DeltaMixture(
        beliefs.finite(MODELS), _probability(m), longest=1 + m
    ),
}
ON_NUMBERS: dict[str, Make] = _on(
    gaussian=beliefs.Gaussian(1.0), normal_gamma=beliefs.NormalGamma(), grid=beliefs.Grid(POINTS, normal_at)
) | {
    "modulated": lambda _: learners.Modulated(beliefs.Gaussian(1.0), _bold),
    "message_passing_of_many": lambda m: learners.MessagePassing(beliefs.NormalGamma(), _probability(m), hypotheses=8),
    "message_passing_of_one": lambda m: learners.MessagePassing(beliefs.Gaussian(1e-3), _probability(m), hypotheses=1),
    "delta_mixture_of_long_runs": lambda m: learners.DeltaMixture(
        beliefs.Gaussian(1.0), _probability(m), longest=1 + m
    ),
    "delta_mixture_of_few": lambda m: learners.DeltaMixture(beliefs.NormalGamma(), _probability(m), nodes=4),
    "delta": lambda m: learners.Delta(m / (1 + m)),
    "nassar": lambda m: learners.Nassar2010(1.0, 0.5 * (m + 1e-3) / (1 + m), likelihood_weight=m),
    "nassar_2012": lambda m: learners.Nassar2012(1.0, 0.5 * (m + 1e-3) / (1 + m), surprise_sensitivity=m),
    "nassar_2012_timid": lambda m: learners.Nassar2012(1e-3, start=0.3, uncertainty_underestimation=m),
    "nassar_2012_bold": lambda m: learners.Nassar2012(1e3, first_uncertainty=0.9, uncertainty_underestimation=-m),
    "nassar_gaussian_2010": lambda m: learners.NassarGaussian2010(1.0, 0.5 * (m + 1e-3) / (1 + m), std=3.0),
    "nassar_gaussian_2012": lambda m: learners.NassarGaussian2012(0.1, 0.5 * (m + 1e-3) / (1 + m)),
    "pearce_hall": lambda m: learners.PearceHall(m / (1 + m), 1 / (1 + m), scale=m + 1e-3),
    "kalman": lambda m: learners.Kalman(1.0, drift=m / (1 + m)),
    "volatile_kalman": lambda m: learners.VolatileKalman(1.0, m / (1 + m), drift=m / (1 + m)),
    "volatile_kalman_eager": lambda m: learners.VolatileKalman(1.0, 1.0, drift=1 / (1 + m)),
    "two_rate": lambda m: learners.TwoRate(m / (1 + m), 1 / (1 + m)),
    "sutton": lambda m: learners.SuttonK1(m, first_rate=_probability(m), first_trace=0.0),
    "sutton_of_fine_scale": lambda m: learners.SuttonK1(1.0, start=m / (1 + m), scale=1e-3),
    "stochasticity_volatility": lambda m: learners.StochasticityVolatility(m / (1 + m), 1 / (1 + m), particles=5),
    "noise_unknown": lambda m: learners.StochasticityVolatility(m / (1 + m), 0.0, noise=m + 1e-3, particles=5),
}

ON_COINS: dict[str, Make] = {
    "volatile_kalman": lambda m: learners.BinaryVolatileKalman(m / (1 + m), m / (1 + m), m + 1e-30),
    "volatile_kalman_eager": lambda m: learners.BinaryVolatileKalman(1.0, m, 1 / (m + 1e-30)),
    "reversal": lambda m: learners.ReversalHMM(_probability(m), 0.7, 0.4),
    "reversal_of_sure_outcomes": lambda m: learners.ReversalHMM(0.1, _probability(m), 1e-30),
    "dynamic_belief": lambda m: learners.DynamicBelief(beliefs.Beta(), _probability(m), hypotheses=4),
}
ON_PAIRS = {name: partial(ON_ANY_FAMILY[name], beliefs.Regression(2)) for name in ("smile", "bayes", "varsmile")}
FEATURES = _numbers(1e8) | st.sampled_from([1e-8, 1e-110, 1e-150, 1e-300])


def _check(make: Make, xs: Any, m: float, observed: Any = None) -> None:
    _sane(_scan(make(m), np.array(xs), None, observed))


def _promise(makes: dict[str, Make], xs: Any, m: Any, check: Any, *examples: Any) -> Any:
    """A test of all these learners on any such series."""

    @pytest.mark.parametrize("name", makes)
    @given(xs=xs, m=m)
    @thorough
    def test(name: str, xs: Any, m: float) -> None:
        check(makes[name], xs, m)

    for series, readiness in examples:
        test = example(xs=series, m=readiness)(test)
    return test


test_any_numbers = _promise(ON_NUMBERS, _series(_numbers(1e150)), READINESS, _check)
test_any_counts = _promise(ON_COUNTS, _series(COUNTS), READINESS, _check)
test_any_waits = _promise(
    ON_WAITS, _series(_positive(1e-100, 1e150)), READINESS, _check,
    ([1e-44, 1e-284, 1e-310, 1e-309, *[0.5] * (LENGTH - 4)], 0.1), ([5e-324] * LENGTH, 0.1),
)  # fmt: skip
test_any_outcomes = _promise(ON_OUTCOMES, _series(st.integers(0, 2)), READINESS, _check)
test_any_coins = _promise(ON_COINS, _series(st.integers(0, 1)), READINESS, _check)


@pytest.mark.parametrize("name", ON_PAIRS)
@given(features=_series(st.tuples(FEATURES, FEATURES)), ys=_series(_numbers(1e100)), m=READINESS)
@example(features=[(0.0, 1e-110)] * LENGTH, ys=[1e94] * LENGTH, m=0.1)
@example(features=[(1e-194, 1e-150)] * LENGTH, ys=[1e64] * LENGTH, m=0.1)
@thorough
def test_any_regression(name: str, features: list[tuple[float, float]], ys: list[float], m: float) -> None:
    _sane(_scan(ON_PAIRS[name](m), (np.array(features), np.array(ys)), None, None))


MOVES = _series(st.tuples(st.integers(0, 2), st.integers(0, 2)))


def _moves(xs: list[tuple[int, int]], m: float, real: Any) -> None:
    learner = learners.OnlineEM(
        3, 2, learning_rate=real(m / (1 + m)), switch=real(0.5 * (m + 1e-3) / (1 + m)), frozen=2
    )
    _sane(_scan(learner, tuple(np.array(xs, np.int32).T)))


@given(xs=MOVES, m=READINESS)
@thorough
def test_any_moves(xs: list[tuple[int, int]], m: float) -> None:
    _moves(xs, m, np.float64)


@pytest.mark.single
@given(xs=MOVES, m=READINESS32)
@thorough
def test_any_moves_in_single_precision(xs: list[tuple[int, int]], m: float) -> None:
    _moves(xs, m, np.float32)


@given(xs=_series(st.integers(0, 2999)), m=READINESS)
@thorough
def test_thousands_of_categories(xs: list[int], m: float) -> None:
    _check(lambda m: learners.Smile(beliefs.Dirichlet(3000), m), xs, m)


@given(alpha=st.lists(_positive(1e-6, 1e15), min_size=4, max_size=4), x=st.integers(0, 3), m=READINESS)
@thorough
def test_any_concentrations(alpha: list[float], x: int, m: float) -> None:
    _check(lambda m: learners.Smile(beliefs.Dirichlet(4), m, beliefs.DirichletBelief(np.array(alpha))), [x] * LENGTH, m)


@given(mean=_numbers(1e150), std=_positive(1e-70, 1e70), noise=_positive(1e-70, 1e70), x=_numbers(1e80), m=READINESS)
@thorough
def test_any_gaussian(mean: float, std: float, noise: float, x: float, m: float) -> None:
    family = beliefs.Gaussian(noise)
    trace = _scan(learners.Smile(family, m, family.prior(mean, std)), np.full(LENGTH, x))
    _sane(trace, finite_surprise=False)


@given(xs=_series(_numbers(1e150)), seen=_series(st.booleans()), m=READINESS)
@thorough
def test_gaps_anywhere(xs: list[float], seen: list[bool], m: float) -> None:
    trace = _scan(learners.Smile(beliefs.Gaussian(1.0), m), np.where(seen, xs, np.nan), None, np.array(seen))
    np.testing.assert_array_equal(np.isnan(trace.surprise), np.logical_not(seen))
    assert not np.isnan(trace.estimate).any()
    assert (np.asarray(trace.learning_rate)[np.logical_not(seen)] == 0).all()


def _single(tree: Any) -> Any:
    """Floating-point leaves in single precision."""

    def convert(leaf: Any) -> Any:
        leaf = np.asarray(leaf)
        return leaf.astype(np.float32) if leaf.dtype.kind == "f" else leaf

    return jax.tree.map(convert, tree)


def _check_single(make: Make, xs: Any, m: float) -> None:
    trace = _scan(_single(make(m)), np.array(xs, np.float32 if isinstance(xs[0], float) else np.int32))
    assert trace.learning_rate.dtype == np.float32
    _sane(trace, finite_surprise=False)


def _single_promise(makes: dict[str, Make], xs: Any, *examples: Any) -> Any:
    return pytest.mark.single(_promise(makes, xs, READINESS32, _check_single, *examples))


test_any_numbers_in_single_precision = _single_promise(ON_NUMBERS, _series(_numbers(1e18)))
test_any_counts_in_single_precision = _single_promise(
    ON_COUNTS, _series(COUNTS), ([0.0, 0.0, 0.0, 0.0, 16.0, 268435448.0], 0.0)
)  # what was computed twice differed
test_any_waits_in_single_precision = _single_promise(ON_WAITS, _series(_positive(1e-18, 1e18)))
test_any_outcomes_in_single_precision = _single_promise(ON_OUTCOMES, _series(st.integers(0, 2)))
test_any_coins_in_single_precision = _single_promise(ON_COINS, _series(st.integers(0, 1)))


@given(ones=st.integers(0, LENGTH), m=READINESS)
@thorough
def test_a_run_of_coins(ones: int, m: float) -> None:
    _check(lambda m: learners.Smile(beliefs.Beta(), m), [1] * ones + [0] * (LENGTH - ones), m)

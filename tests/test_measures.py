"""Checks every measure of surprise, on every family, against SciPy's distributions, sums and quadrature."""

from dataclasses import replace
from functools import cache
from itertools import pairwise
from typing import Any

import jax
import mpmath as mp
import numpy as np
import pandas as pd
import pytest
from scipy import integrate, special, stats

import astonish
from astonish import (
    Bayes,
    Beta,
    Delta,
    Dirichlet,
    Exponential,
    Gaussian,
    Grid,
    Leaky,
    Modulated,
    Nassar2010,
    NormalGamma,
    OnlineEM,
    PerContext,
    Poisson,
    Smile,
    Stream,
    VarSmile,
    finite,
    measure,
    run,
)
from astonish.beliefs import (
    BetaBelief,
    DirichletBelief,
    GammaBelief,
    GaussianBelief,
    NormalGammaBelief,
)
from astonish.core.numbers import pytree_dataclass
from astonish.models.registry import LEARNERS
from astonish.online import measures
from astonish.online.measures import COLUMNS
from families import (
    CASE,
    CONTEXTS,
    DISCRETE,
    FAMILIES,
    IN_PARTS,
    NUMBERS,
    SERIES,
    FamilyCase,
    half_way,
    log_probability,
    posterior,
    predicted,
)
from laboratory import by_numpy, expfam, predictive, surprise

Case = FamilyCase
HAZARD = 0.15
NAMES = ("dirichlet", "finite", "grid")  # outcomes that are names, or a likelihood that expects nothing
WITHOUT_FLAT = ("normal_gamma", "regression", "rows")
every = pytest.mark.parametrize("case", FAMILIES, ids=[c.name for c in FAMILIES])


def _cases(wanted: Any) -> Any:
    chosen = [c for c in FAMILIES if wanted(c.name)]
    return pytest.mark.parametrize("case", chosen, ids=[c.name for c in chosen])


def _expected(case: Case, b: Any, x: Any) -> Any:
    return b.mean if case.name == "gaussian_vector" else predicted(case, b, x).mean()


def _gap(case: Case, a: Any, b: Any, x: Any) -> float:
    """D between two predictions: a sum over all samples, or a mesh of them, or quadrature over quantiles."""
    p, q = predicted(case, a, x), predicted(case, b, x)
    if case.name in DISCRETE:
        all_samples = np.arange(
            {"dirichlet": 5, "beta": 2, "poisson": 600, "finite": 3, "rows": 2, "beta_interval": 2}[case.name]
        )
        return float(p.pmf(all_samples) @ (p.logpmf(all_samples) - q.logpmf(all_samples)))
    if case.name == "von_mises":
        mesh = np.arange(720) / 2
        return float(np.exp(p.logpdf(mesh)) @ (p.logpdf(mesh) - q.logpdf(mesh)) / 2)
    if case.name == "gaussian_vector":
        mesh = np.stack(np.meshgrid(*[np.linspace(-14, 14, 281)] * 2), -1)
        return float((p.pdf(mesh) * (p.logpdf(mesh) - q.logpdf(mesh))).sum() * 0.1**2)

    def at(u: float) -> float:
        return p.logpdf(p.ppf(u)) - q.logpdf(p.ppf(u))

    ends = [0.0, 1e-6, 0.01, 0.5, 0.99, 1 - 1e-6, 1.0]
    return sum(integrate.quad(at, *pair, epsabs=1e-11, limit=200)[0] for pair in pairwise(ends))


@cache
def _bayes(name: str, number: int) -> Any:
    """The posterior of a case's belief, by the library, in NumPy's arrays."""
    case = CASE[name]
    return jax.tree.map(np.asarray, expfam.bayes(case.family, case.belief, case.samples[number]))


@every
def test_shannon_with_and_without_a_probability_of_change(case: Case) -> None:
    prior = case.family.prior()
    for x in case.samples:
        stay, change = log_probability(case, case.belief, x), log_probability(case, prior, x)
        np.testing.assert_allclose(surprise.shannon(case.family, case.belief, x), -stay, rtol=1e-10)
        for hazard in (0.0, HAZARD, 1.0):
            mixed = -np.log((1 - hazard) * np.exp(stay) + hazard * np.exp(change))
            for given in ((), (prior,)):
                got = surprise.shannon(case.family, case.belief, x, hazard, *given)
                np.testing.assert_allclose(got, mixed, rtol=1e-9)


@every
def test_bayes_factor(case: Case) -> None:
    prior = case.family.prior()
    assert float(surprise.bayes_factor(case.family, prior, case.samples[0])) == 0.0
    for x in case.samples:
        stay, change = log_probability(case, case.belief, x), log_probability(case, prior, x)
        got = surprise.bayes_factor(case.family, case.belief, x)
        np.testing.assert_allclose(got, change - stay, rtol=1e-8, atol=1e-11)
        probability = HAZARD * np.exp(change) / (HAZARD * np.exp(change) + (1 - HAZARD) * np.exp(stay))
        np.testing.assert_allclose(special.expit(special.logit(HAZARD) + got), probability, rtol=1e-8)


@_cases(lambda name: name in DISCRETE)
def test_state_prediction_error(case: Case) -> None:
    for x in case.samples:
        p, fresh = (np.exp(log_probability(case, belief, x)) for belief in (case.belief, case.family.prior()))
        got = surprise.state_prediction_error(case.family, case.belief, x)
        np.testing.assert_allclose(got, 1 - p, rtol=1e-9)
        got = surprise.state_prediction_error(case.family, case.belief, x, HAZARD)
        np.testing.assert_allclose(got, 1 - (1 - HAZARD) * p - HAZARD * fresh, rtol=1e-9)


@_cases(lambda name: name not in (*NAMES, "von_mises"))
def test_errors(case: Case) -> None:
    prior = Exponential().prior(3.0) if case.name == "exponential" else case.family.prior()
    for x in case.samples:
        seen = x[1] if case.name in IN_PARTS else x
        stay, change = _expected(case, case.belief, x), _expected(case, prior, x)
        for hazard, expected in [(None, stay), (0.0, stay), (HAZARD, (1 - HAZARD) * stay + HAZARD * change)]:
            arguments = case.family, case.belief, x, hazard, prior
            length = np.sqrt(np.sum((seen - expected) ** 2))
            np.testing.assert_allclose(surprise.absolute_error(*arguments), length, rtol=1e-10)
            np.testing.assert_allclose(surprise.squared_error(*arguments), length**2, rtol=1e-10)


@every
def test_measures_that_a_family_does_not_have_are_refused(case: Case) -> None:
    now, name = (case.family, case.belief, case.samples[0]), type(case.family).__name__
    if case.name not in DISCRETE:
        with pytest.raises(ValueError, match=f"{name}'s samples have densities.*use shannon"):
            surprise.state_prediction_error(*now)
    for error in (surprise.absolute_error, surprise.squared_error) if case.name in NAMES else ():
        with pytest.raises(ValueError, match=f"{name} does not say which number to expect"):
            error(*now)


def test_a_wait_whose_expectation_is_infinite_is_infinitely_off() -> None:
    family, seen = Exponential(), GammaBelief(np.float64(3.0), np.float64(4.0))
    assert surprise.absolute_error(family, family.prior(), 1.0) == np.inf
    assert surprise.absolute_error(family, seen, 1.0, 0.1) == np.inf
    assert surprise.absolute_error(family, seen, 1.0, 0.0) == 1.0
    assert surprise.absolute_error(family, family.prior(), 1.0, 1.0, seen) == 1.0


@_cases(lambda name: name != "grid")
def test_postdictive_agrees_with_sums_and_quadrature(case: Case) -> None:
    for x in case.samples:
        got = float(surprise.postdictive(case.family, case.belief, x))
        exact = _gap(case, case.belief, posterior(case, case.belief, x), x)
        np.testing.assert_allclose(got, exact, rtol=1e-6, atol=1e-10)


_apart = by_numpy(lambda family, *at: family.predictive_divergence(*at))


@_cases(lambda name: name not in ("grid", "finite"))
def test_predictions_of_any_two_beliefs_can_be_compared(case: Case) -> None:
    prior = jax.tree.map(np.asarray, case.family.prior())
    x = case.samples[1]
    for a, b in [(case.belief, prior), (prior, case.belief)]:
        got = float(_apart(case.family, a, b, x))
        np.testing.assert_allclose(got, _gap(case, a, b, x), rtol=1e-6)
        assert float(_apart(case.family, a, a, x)) == pytest.approx(0, abs=1e-14)


def test_a_grid_over_numbers_has_no_postdictive_surprise_and_one_over_outcomes_has() -> None:
    case = CASE["grid"]
    with pytest.raises(ValueError, match=r"Grid cannot go through all samples.*or use bayesian"):
        surprise.postdictive(case.family, case.belief, 0.3)
    open_ended = replace(case.family, domain=Poisson().samples)
    with pytest.raises(ValueError, match="give it a domain of whole numbers with two ends"):
        surprise.postdictive(open_ended, case.belief, 3)
    assert surprise.postdictive(finite([[0.9, 0.1], [0.5, 0.5]]), finite([[0.9, 0.1], [0.5, 0.5]]).prior(), 0) > 0


def _waits(shape: Any, time: Any, x: Any) -> Any:
    """D between predicted waits before and after one, by partial integration and Gauss's series.

    E ln(1 + wait / u) for waits of shape k and scale t = ratio u is 2F1(1, k; k + 1; 1 - 1 / ratio) / k.
    """
    k, t, u = shape, time, time + x
    return mp.log(k / (k + 1)) + mp.log(u / t) - (k + 1) / k + (k + 2) * mp.hyp2f1(1, k, k + 1, 1 - u / t) / k


def _counts(shape: Any, time: Any, x: Any) -> Any:
    """D between predicted counts before and after one: a sum."""

    def log_p(k: Any, t: Any, count: int) -> Any:
        ways = mp.loggamma(count + k) - mp.loggamma(k) - mp.loggamma(count + 1)
        return ways + k * mp.log(t / (1 + t)) - count * mp.log(1 + t)

    pairs = [(log_p(shape, time, n), log_p(shape + x, time + 1, n)) for n in range(400 if time < 1 else 150)]
    return mp.fsum(mp.exp(p) * (p - q) for p, q in pairs)


VAGUE_AND_FIRM = [
    *((Exponential(), _waits, *at) for at in ((1, 1, 1e-3), (1, 1, 50), (0.1, 1, 3), (0.1, 1, 1e4), (0.01, 1, 5),
                                              (1e3, 1e3, 2), (1e6, 2e6, 0.3), (2, 1, 1e40))),
    *((Poisson(), _counts, *at) for at in ((1, 1, 40), (0.1, 0.1, 3), (0.001, 1, 3), (3e6, 1e6, 5), (2e5, 1e5, 0),
                                           (9, 4, 3000))),
]  # fmt: skip


@pytest.mark.parametrize(("family", "exactly", "shape", "time", "x"), VAGUE_AND_FIRM)
def test_samples_predicted_by_vague_and_firm_beliefs(
    family: Any, exactly: Any, shape: float, time: float, x: float
) -> None:
    with mp.workdps(60 if exactly is _waits else 30):
        exact = exactly(mp.mpf(shape), mp.mpf(time), mp.mpf(x))
    got = surprise.postdictive(family, GammaBelief(np.float64(shape), np.float64(time)), np.float64(x))
    np.testing.assert_allclose(float(got), float(exact), rtol=1e-9, atol=1e-14 if exactly is _waits else 2e-15)


@pytest.mark.parametrize(
    ("freedom", "gap", "after", "scale"),
    [(2, 25, 3, 30), (1, 0, 2, 0.7), (2e6, 1e-6, 2e6 + 1, 1 + 1e-7), (0.5, 1, 1, 2)],
)
def test_normal_samples_predicted_by_vague_and_firm_beliefs(
    freedom: float, gap: float, after: float, scale: float
) -> None:
    def log_p(z: Any, freedom: Any, scale: Any) -> Any:
        size = mp.loggamma((freedom + 1) / 2) - mp.loggamma(freedom / 2) - mp.log(freedom * mp.pi) / 2 - mp.log(scale)
        return size - (freedom + 1) / 2 * mp.log1p((z / scale) ** 2 / freedom)

    with mp.workdps(30):
        k, n, d, s = map(mp.mpf, (freedom, after, gap, scale))

        def integrand(w: Any) -> Any:
            z, here = mp.sinh(w), log_p(mp.sinh(w), k, mp.mpf(1))
            return mp.exp(here) * mp.cosh(w) * (here - log_p(z - d, n, s))

        exact = mp.quad(integrand, [-150, -30, -6, -2, 0, 2, 3.5, 6, 30, 150])
    got = predictive.student(
        np.float64(gap), (np.float64(freedom), np.float64(1)), (np.float64(after), np.float64(scale))
    )
    np.testing.assert_allclose(float(got), float(exact), rtol=1e-8, atol=1e-15)


def _random_beliefs(rng: Any, count: int) -> dict[str, tuple[Any, Any, Any]]:
    """Families with many beliefs, vague and firm, and samples, likely and not."""
    wide = [np.exp(rng.uniform(-2, 8, count)) for _ in range(6)]
    far = rng.normal(size=count) * wide[5]
    return {
        "gaussian": (Gaussian(2.0), GaussianBelief(far, wide[0]), far[::-1]),
        "beta": (Beta(), BetaBelief(wide[0], wide[1]), rng.integers(0, 2, count)),
        "dirichlet": (Dirichlet(3), DirichletBelief(np.stack(wide[:3], 1)), rng.integers(0, 3, count)),
        "poisson": (Poisson(), GammaBelief(wide[0], wide[1]), np.floor(wide[2])),
        "exponential": (Exponential(), GammaBelief(wide[0], wide[1]), wide[2]),
        "normal_gamma": (NormalGamma(), NormalGammaBelief(far, *wide[:3]), far[::-1]),
    }


RANDOM = _random_beliefs(np.random.default_rng(11), 2000)


@pytest.mark.parametrize("name", RANDOM)
def test_there_is_never_less_to_learn_about_the_world_than_about_the_next_sample(name: str) -> None:
    family, beliefs, xs = RANDOM[name]
    postdictive, bayesian = (
        by_numpy(jax.vmap(measure, (None, 0, 0)))(family, beliefs, xs)
        for measure in (surprise.postdictive, surprise.bayesian)
    )
    assert np.isfinite(postdictive).all()
    assert (postdictive >= 0).all()
    assert (postdictive <= bayesian * (1 + 1e-7) + 1e-11).all()
    assert (postdictive > 0).mean() > 0.95


@every
def test_free_energy_is_least_and_equal_to_shannon_after_bayes_rule(case: Case) -> None:
    x, family, belief = case.samples[2], case.family, case.belief
    shannon = float(surprise.shannon(family, belief, x))
    assert float(surprise.free_energy(family, belief, _bayes(case.name, 2), x)) == pytest.approx(shannon, abs=1e-12)
    for after in (belief, jax.tree.map(np.asarray, family.prior()), _bayes(case.name, 0)):
        got = float(surprise.free_energy(family, belief, after, x))
        assert got > shannon
        complexity = expfam.divergence(family, after, belief)  # the other way to split a free energy
        np.testing.assert_allclose(got, complexity - expfam.mean_log_likelihood(family, after, x), rtol=1e-8)


def test_free_energy_of_separate_models_by_hand() -> None:
    models, before, after = np.array([[0.9, 0.1], [0.5, 0.5]]), np.array([0.4, 0.6]), np.array([0.7, 0.3])
    family = finite(models)
    exact = after @ np.log(after / (before * models[:, 1]))
    got = surprise.free_energy(family, family.prior(before), family.prior(after), 1)
    np.testing.assert_allclose(float(got), exact, rtol=1e-12)


GRADIENTS = [name for name in CASE if name not in ("dirichlet", "beta", "finite", "grid", "poisson")]


@pytest.mark.parametrize("name", [*GRADIENTS, "poisson"])
def test_derivatives_of_postdictive_surprise_agree_with_finite_differences(name: str) -> None:
    case = CASE[name]

    def value(h: float) -> Any:
        belief = jax.tree.map(lambda leaf: leaf * (1 + h), case.belief)
        return surprise.postdictive(case.family, belief, case.samples[2])

    slope = by_numpy(lambda h: jax.jvp(value, (h,), (1.0,))[1])(0.0)
    np.testing.assert_allclose(slope, (value(1e-5) - value(-1e-5)) / 2e-5, rtol=1e-5)


@pytest.mark.single
@every
def test_measures_are_numbers_in_single_precision(case: Case) -> None:
    def single(leaf: Any) -> Any:
        return np.asarray(leaf, np.float32) if np.asarray(leaf).dtype.kind == "f" else leaf

    family, belief, x = jax.tree.map(single, (case.family, case.belief, case.samples[2]))
    measures = [surprise.shannon(family, belief, x, HAZARD), surprise.bayes_factor(family, belief, x)]  # prior: float64
    if case.name != "grid":
        measures.append(surprise.postdictive(family, belief, x))
    assert all(value.dtype == np.float32 and np.isfinite(value) for value in measures)


def _measured(name: str, xs: list[Any], family: Any = None, prior: Any = None) -> pd.DataFrame:
    """All measures of a series, filled up to 13 samples by missing ones."""
    case = CASE[name]
    family = case.family if family is None else family
    learner = Smile(family, 0.1, family.prior() if prior is None else prior, case.reference)
    series = measures._measured_series.__wrapped__
    with pytest.MonkeyPatch.context() as patch:  # below, some tables are compiled
        patch.setattr(measures, "_measured_series", lambda *at: by_numpy(series)(*at[:-1], None))
        return measure(learner, [*xs, *[None] * (13 - len(xs))], hazard=HAZARD)


@cache
def _table(name: str) -> pd.DataFrame:
    """All measures of a series with a gap in it."""
    return _measured(name, [*SERIES[name][:8], None, *SERIES[name][8:]])


@every
def test_the_table_has_a_row_per_sample_and_a_column_per_measure_that_applies(case: Case) -> None:
    table, missing = _table(case.name), np.arange(13) == 8
    absent = {"state_prediction_error"} if case.name not in DISCRETE else set()
    absent |= {"absolute_error", "squared_error"} if case.name in NAMES else set()
    absent |= {f"{name}_with_change" for name in absent}
    absent |= {"postdictive"} if case.name == "grid" else set()
    absent |= {"confidence_corrected"} if case.name in WITHOUT_FLAT else set()
    assert list(table.columns) == [name for name in COLUMNS if name not in absent]
    np.testing.assert_array_equal(np.isnan(table.to_numpy()), np.repeat(missing[:, None], table.shape[1], 1))
    whole = _measured(case.name, SERIES[case.name])
    assert whole.iloc[12].isna().all()
    pd.testing.assert_frame_equal(table[~missing].reset_index(drop=True), whole[:12], check_exact=True)


@every
def test_the_table_agrees_with_what_is_known_of_its_columns(case: Case) -> None:
    table = _table(case.name).drop(index=8).reset_index(drop=True)
    np.testing.assert_allclose(table["raw"], table["bayesian"] + table["shannon"], rtol=1e-7, atol=1e-9)
    assert (table["free_energy"] >= table["shannon"] - 1e-9).all()
    reported = run(Smile(case.family, reference=case.reference), SERIES[case.name]).surprise
    own = "confidence_corrected" if case.reference is None else "confidence_corrected_reference"
    np.testing.assert_allclose(table[own], reported, rtol=1e-7, atol=1e-9)
    assert table["bayes_factor"][0] == pytest.approx(0, abs=1e-12)
    assert table["confidence_corrected_reference"][0] == pytest.approx(table["bayesian"][0], rel=1e-7)  # of the prior
    mixed = -np.logaddexp(np.log1p(-HAZARD), np.log(HAZARD) + table["bayes_factor"]) + table["shannon"]
    np.testing.assert_allclose(table["shannon_with_change"], mixed, rtol=1e-7, atol=1e-9)


def _by_hand(learner: Any, xs: Any, names: Any) -> pd.DataFrame:
    """The same table from the states of a stream, one measure at a time."""
    stream, rows = Stream(learner), []
    family, prior = learner.family, learner.belief(stream.state)
    for x in xs:
        before = learner.belief(stream.state)
        stream.update(x)
        row = {}
        for name in names:
            measure, arguments = getattr(surprise, name.partition("_with_")[0].removesuffix("_reference")), [before, x]
            if name.endswith("_with_change"):
                arguments += [HAZARD, prior]
            elif name in ("bayes_factor", "confidence_corrected_reference"):
                arguments.append(prior)
            elif name == "free_energy":
                arguments.insert(1, learner.belief(stream.state))
            row[name] = measure(family, *arguments)
        rows.append(row)
    return pd.DataFrame(rows).astype(float)


MEAN, RATE = GaussianBelief(np.float64(0.5), np.float64(0.2)), GammaBelief(np.float64(3.0), np.float64(1.5))
BELIEVERS = [
    (Smile(Poisson(), 0.5, RATE), [2.0, 0.0, 9.0], "confidence_corrected"),
    (Modulated(Gaussian(), half_way, MEAN), [0.4, -1.0, 6.0], "confidence_corrected"),
    (VarSmile(Gaussian(), 0.1, MEAN), [0.4, -1.0, 6.0], "bayes_factor"),
    (Bayes(Gaussian(), MEAN), [0.4, -1.0, 6.0], "shannon"),
    (Leaky(Gaussian(), 0.7, MEAN), [0.4, -1.0, 6.0], "shannon"),
]


@pytest.mark.parametrize(("learner", "xs", "own"), BELIEVERS, ids=[type(b[0]).__name__ for b in BELIEVERS])
def test_the_table_is_a_compiled_loop_over_the_states_of_a_stream(learner: Any, xs: Any, own: str) -> None:
    table = measure(learner, xs, HAZARD)
    pd.testing.assert_frame_equal(table, _by_hand(learner, xs, table.columns), rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(table[own], run(learner, xs).surprise, rtol=1e-8, atol=1e-10)  # what it reports itself
    assert learner.surprise_measure == own
    pd.testing.assert_frame_equal(measure(learner, xs, names=[own]), table[[own]], rtol=1e-9)
    fell_short = table["free_energy"] - table["shannon"]
    assert (fell_short.abs() < 1e-12).all() if isinstance(learner, Bayes) else (fell_short > 1e-6).any()


def test_a_reference_of_the_learners_own_takes_the_place_of_its_prior() -> None:
    learner = Smile(Gaussian(), 0.1, MEAN, reference=GaussianBelief(np.float64(-2.0), np.float64(0.01)))
    table = measure(learner, [0.4, -1.0, 6.0])
    np.testing.assert_allclose(table["confidence_corrected_reference"], run(learner, [0.4, -1.0, 6.0]).surprise)
    assert (table["confidence_corrected_reference"] - table["confidence_corrected"]).abs().min() > 1e-3


def test_in_contexts_each_has_a_table_of_its_own() -> None:
    together = measure(PerContext(Smile(Dirichlet(4)), 3), [*CONTEXTS, None], hazard=0.1)
    assert together.iloc[12].isna().all()
    for context in range(3):
        mine = [c == context for c, _ in CONTEXTS]
        alone = measure(Smile(Dirichlet(4)), [x if c == context else None for c, x in CONTEXTS], hazard=0.1)
        pd.testing.assert_frame_equal(together[:12][mine], alone[mine], rtol=1e-8, atol=1e-10)


FAR: dict[str, list[Any]] = {
    "gaussian": [1e150, -1e150, 0.0, 1e-30, 1e150],
    "normal_gamma": [1e150, -1e150, 0.0, 1e-30, 1e150],
    "gaussian_vector": [[1e150, -1e150], [0.0, 0.0], [1e-30, 1.0], [-1e150, 1e150]],
    "regression": [([1.0, -0.5], 1e150), ([1.0, 2.0], -1e150), ([1.0, 1.0], 0.0)],
    "grid": [1e150, -1e150, 0.0],
    "poisson": [1e15, 0, 3, 1e15],
    "exponential": [1e150, 1e-100, 1.0, 1e150],
    "von_mises": [1e150, -1e150, 0.0, 180.0],
}


@pytest.mark.parametrize("name", FAR)
def test_far_outliers_are_finite_surprises(name: str) -> None:
    prior = Exponential().prior(2.0, 2.0) if name == "exponential" else None  # from which a wait can be expected
    table = _measured(name, FAR[name], prior=prior)
    assert np.isfinite(table[: len(FAR[name])].to_numpy()).all()


def test_the_impossible_is_a_finite_surprise() -> None:
    models = [[1.0, 0.0, 0.0], [0.0, 0.5, 0.5], [0.0, 1.0, 0.0], [0.5, 0.5, 0.0]]
    table = _measured("finite", [0, 2, 0, 1], finite(models))
    assert np.isfinite(table[:4].to_numpy()).all()
    assert table["shannon"][1] > 1e100


@pytest.mark.parametrize("learner", [Delta(), Nassar2010(), OnlineEM(3), PerContext(Delta(), 2)])
def test_learners_without_a_belief_are_refused(learner: Any) -> None:
    name = type(learner.learner if isinstance(learner, PerContext) else learner).__name__
    with pytest.raises(
        ValueError, match=f"{name}.*does not hold a single belief.*give a learner that does, such as Smile"
    ):
        measure(learner, [0.0])


@pytree_dataclass
class Remembering(Bayes):
    """Bayes' rule, and how far each sample moved the mean."""

    def quantities(self, state: Any, new: Any, x: Any) -> dict[str, Any]:
        return {"moved": new.belief.mean - state.belief.mean}


def test_quantities_of_a_learner_come_after_the_measures() -> None:
    plain, more = measure(Bayes(Gaussian()), NUMBERS), measure(Remembering(Gaussian()), NUMBERS)
    assert list(more) == [*plain, "moved"]
    np.testing.assert_allclose(more[list(plain)], plain, rtol=1e-9)
    np.testing.assert_allclose(more["moved"].cumsum(), run(Bayes(Gaussian()), NUMBERS).estimate, rtol=1e-9)


def test_series_are_read_as_run_reads_them() -> None:
    expected = measure(Smile(Gaussian()), NUMBERS)
    assert not any(name.endswith("_with_change") for name in expected)
    for xs in (np.array(NUMBERS), pd.Series(NUMBERS), tuple(NUMBERS)):
        pd.testing.assert_frame_equal(measure(Smile(Gaussian()), xs), expected, check_exact=True)
    for wrong, message in [([], "the series is empty"), ([0.1, "a"], "holds 'a'"), ([np.inf], "sample 0.*is inf")]:
        with pytest.raises(ValueError, match=message):
            measure(Smile(Gaussian()), wrong)
    with pytest.raises(ValueError, match="pass a proper belief as reference="):
        measure(Smile(NormalGamma()), NUMBERS)
    for hazard in (-0.1, 1.5, float("nan")):
        with pytest.raises(ValueError, match=f"hazard = {hazard:g} is not allowed; give a finite number from 0 to 1"):
            measure(Smile(Gaussian()), NUMBERS, hazard=hazard)


@pytest.mark.single
def test_the_table_is_in_double_precision_whatever_the_setting() -> None:
    table = astonish.measure(Bayes(Gaussian()), [0.1, 0.3])
    exact = -stats.norm(0.05, np.sqrt(1.5)).logpdf(0.3)
    assert table["shannon"][1] == pytest.approx(exact, rel=1e-13)


def test_a_grid_of_whole_numbers_has_probabilities() -> None:
    rates = np.array([0.5, 2.0, 8.0])

    def log_poisson(x: Any, rates: Any) -> Any:
        return x * np.log(rates) - rates - jax.scipy.special.gammaln(x + 1.0)

    family = Grid(rates, log_poisson, width=1.0, domain=Poisson().samples)
    got = surprise.state_prediction_error(family, family.prior(), 3.0)
    np.testing.assert_allclose(got, 1 - stats.poisson(rates).pmf(3).mean(), rtol=1e-9)


def test_what_learners_report_is_what_is_named() -> None:
    assert Smile(NormalGamma(), reference=NormalGamma().prior()).surprise_measure == "confidence_corrected_reference"
    assert PerContext(Delta(), 3).surprise_measure == "absolute_error"
    history = run(astonish.Kalman(noise=2.0, drift=1.0, std=3.0), [1.0, 4.0])
    assert history.learner.surprise_measure == "shannon"
    assert history.surprise[0] == pytest.approx(-stats.norm.logpdf(1.0, 0.0, np.sqrt(4.0 + 1.0 + 9.0)))
    assert {
        kind.surprise_measure for kind in LEARNERS.classes().values() if isinstance(kind.surprise_measure, str)
    } <= {*COLUMNS}
    with pytest.raises(ValueError, match="Leaky has no measure 'joy' here; those that apply: shannon, "):
        measure(Leaky(Gaussian()), [1.0], names=["joy"])

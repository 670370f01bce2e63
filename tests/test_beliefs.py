"""Checks what every family of beliefs promises, against SciPy's distributions, quadrature and finite differences."""

import ast
import re
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import integrate, special, stats

from astonish import (
    Beta,
    BetaInterval,
    Dirichlet,
    Exponential,
    Gaussian,
    NormalGamma,
    Poisson,
    Regression,
    VonMises,
    theory,
)
from astonish.beliefs import DirichletBelief, GaussianBelief
from astonish.core.numbers import Domain, pytree_dataclass
from astonish.core.parameters import parameter
from astonish.models import registry as catalogue
from astonish.testing import check_family, family_checks
from astonish.testing.checks import bayes_of, divergence_of, target_of
from astonish.theory import rule
from families import FAMILIES, FamilyCase
from laboratory import by_numpy, expfam, rule as uncompiled, surprise

Case = FamilyCase
every = pytest.mark.parametrize("case", FAMILIES, ids=[c.name for c in FAMILIES])
SOME = ("gaussian", "beta", "dirichlet", "poisson")  # second derivatives take long to compile
some = pytest.mark.parametrize(
    "case", [c for c in FAMILIES if c.name in SOME], ids=[c.name for c in FAMILIES if c.name in SOME]
)


def _beliefs(case: Case) -> list[Any]:
    """Three beliefs of the family, none equal to another."""
    posterior = bayes_of(case.family, case.belief, case.samples[2])
    return [case.belief, target_of(case.family, case.samples[0], case.reference), posterior]


def _gamma_divergence(k: Any, t: Any, n: Any, u: Any) -> Any:
    shapes = (k - n) * special.digamma(k) - special.gammaln(k) + special.gammaln(n)
    return shapes + n * np.log(t / u) + k * (u - t) / t


def _normal_divergence(a: Any, b: Any) -> Any:
    gap = np.subtract(b.mean, a.mean)
    ratio = np.asarray(b.precision) @ np.linalg.inv(a.precision)
    return 0.5 * (np.trace(ratio) - len(gap) - np.linalg.slogdet(ratio)[1] + gap @ b.precision @ gap)


def _dirichlet_divergence(a: Any, b: Any) -> Any:
    norms = special.gammaln(a.sum()) - special.gammaln(b.sum()) - (special.gammaln(a) - special.gammaln(b)).sum()
    return norms + (a - b) @ (special.digamma(a) - special.digamma(a.sum()))


def _normal_gamma_divergence(a: Any, b: Any) -> Any:
    ratio = b.weight / a.weight
    means = 0.5 * (ratio - 1 - np.log(ratio) + b.weight * (a.mean - b.mean) ** 2 * a.shape / a.scale)
    return means + _gamma_divergence(a.shape, a.scale, b.shape, b.scale)


def _line_divergence(a: Any, b: Any) -> Any:
    """By quadrature over the parameter, from SciPy's densities."""
    low, middle, high = a.ppf([1e-15, 0.5, 1 - 1e-15])

    def integrand(theta: float) -> float:
        return a.pdf(theta) * (a.logpdf(theta) - b.logpdf(theta))

    return sum(integrate.quad(integrand, *ends, epsrel=1e-11, limit=400)[0] for ends in [(low, middle), (middle, high)])


class _BetaInterval:
    """SciPy's beta distribution, cut to an interval."""

    def __init__(self, b: Any) -> None:
        self.whole, self.ends = stats.beta(b.ones, b.zeros), (float(b.low), float(b.high))
        self.below, above = self.whole.cdf(self.ends)
        self.mass = above - self.below

    def pdf(self, theta: Any) -> Any:
        return self.whole.pdf(theta) / self.mass

    def logpdf(self, theta: Any) -> Any:
        return self.whole.logpdf(theta) - np.log(self.mass)

    def ppf(self, share: Any) -> Any:
        return self.whole.ppf(self.below + self.mass * np.asarray(share))

    def entropy(self) -> Any:
        return -integrate.quad(lambda theta: self.pdf(theta) * self.logpdf(theta), *self.ends, epsrel=1e-11)[0]


def _frozen(name: str, b: Any) -> Any:
    """SciPy's distribution over the parameter."""
    if name in ("gaussian_vector", "regression"):
        return stats.multivariate_normal(b.mean, np.linalg.inv(b.precision))
    return {
        "gaussian": lambda: stats.norm(b.mean, b.precision**-0.5),
        "dirichlet": lambda: stats.dirichlet(np.asarray(b.alpha)),
        "beta": lambda: stats.beta(b.ones, b.zeros),
        "beta_interval": lambda: _BetaInterval(b),
        "poisson": lambda: stats.gamma(b.shape, scale=1 / b.time),
        "exponential": lambda: stats.gamma(b.shape, scale=1 / b.time),
        "von_mises": lambda: stats.vonmises(
            np.hypot(b.cosine, b.sine), np.degrees(np.arctan2(b.sine, b.cosine)), 180 / np.pi
        ),
    }[name]()


def _each_row(b: Any) -> Any:
    return [stats.beta(*counts) for counts in zip(b.rows.ones, b.rows.zeros, strict=True)]


def _divergence(name: str, a: Any, b: Any) -> Any:
    if name in ("gaussian_vector", "regression"):
        return _normal_divergence(a, b)
    if name in ("finite", "grid"):
        return special.rel_entr(np.asarray(a.weights), np.asarray(b.weights)).sum()
    if name == "dirichlet":
        return _dirichlet_divergence(np.asarray(a.alpha), np.asarray(b.alpha))
    if name == "normal_gamma":
        return _normal_gamma_divergence(a, b)
    if name == "rows":
        return sum(_line_divergence(*rows) for rows in zip(_each_row(a), _each_row(b), strict=True))
    return _line_divergence(_frozen(name, a), _frozen(name, b))


def _entropy(name: str, b: Any) -> Any:
    if name == "finite":
        return stats.entropy(np.asarray(b.weights))
    if name == "grid":
        density = np.asarray(b.weights) / np.exp(b.log_width)
        return -np.trapezoid(special.xlogy(density, density), np.asarray(b.points))
    if name == "normal_gamma":
        tau = stats.gamma(b.shape, scale=1 / b.scale)
        mean_log_tau = special.digamma(b.shape) - np.log(b.scale)
        return tau.entropy() + 0.5 * (np.log(2 * np.pi * np.e / b.weight) - mean_log_tau)
    if name == "rows":
        return sum(row.entropy() for row in _each_row(b))
    return _frozen(name, b).entropy()


SAMPLE_SPACE = {  # all samples, or a fine mesh of them, and the measure of each
    "gaussian": (np.linspace(-30, 30, 6001), 0.01),
    "gaussian_vector": (np.stack(np.meshgrid(*[np.linspace(-9, 9, 361)] * 2), -1).reshape(-1, 2), 0.05**2),
    "dirichlet": (np.arange(5), 1.0),
    "beta": (np.arange(2), 1.0),
    "beta_interval": (np.arange(2), 1.0),
    "poisson": (np.arange(200), 1.0),
    "exponential": (np.exp(np.linspace(-40, 20, 60_001)), None),
    "finite": (np.arange(3), 1.0),
    "grid": (np.linspace(-20, 20, 4001), 0.01),
    "von_mises": (np.arange(360.0), 1.0),
    "normal_gamma": (np.sinh(np.linspace(-12, 12, 24_001)), None),
    "rows": ((np.ones(2, int), np.arange(2)), 1.0),
    "regression": ((np.tile([1.0, 0.5], (6001, 1)), np.linspace(-30, 30, 6001)), 0.01),
}


@pytest.mark.parametrize("check", family_checks(), ids=lambda check: check.__name__)
@every
def test_every_family_keeps_its_promises(case: Case, check: Any) -> None:
    check(case.family, case.samples, case.belief, case.reference)


@every
def test_divergence_agrees_with_an_independent_formula(case: Case) -> None:
    beliefs = _beliefs(case)
    for a, b in [(a, b) for a in beliefs for b in beliefs if a is not b]:
        got = divergence_of(case.family, a, b)
        assert got > 0
        np.testing.assert_allclose(got, _divergence(case.name, a, b), rtol=1e-8)


@every
def test_entropy_agrees_with_scipy(case: Case) -> None:
    for belief in _beliefs(case):
        np.testing.assert_allclose(expfam.entropy(case.family, belief), _entropy(case.name, belief), rtol=1e-9)
        np.testing.assert_allclose(surprise.commitment(case.family, belief), -_entropy(case.name, belief), rtol=1e-9)


@every
def test_predictive_probabilities_add_up_to_one(case: Case) -> None:
    xs, measure = SAMPLE_SPACE[case.name]
    p = np.exp(by_numpy(jax.vmap(theory.expfam.log_evidence, (None, None, 0)))(case.family, case.belief, xs))
    total = np.trapezoid(p, xs) if measure is None else p.sum() * measure
    assert total == pytest.approx(1, abs=1e-5)


@every
def test_flatness_and_a_sample_make_the_likelihood(case: Case) -> None:
    flat, likelihood = case.family.flat(), case.family.likelihood(case.samples[0])
    one = expfam.blend(case.family, flat, 1, likelihood, 1)
    same = expfam.blend(case.family, likelihood, 1, flat, 1)
    proper = case.reference is None
    for belief in (one, same) if proper else ():
        assert float(expfam.divergence(case.family, belief, likelihood)) == pytest.approx(0, abs=1e-14)


def _both(family: Any, belief: Any, x: Any, m: Any, reference: Any) -> Any:
    update = rule.smile(family, belief, x, m, reference)
    return jnp.stack([update.surprise, update.gamma])


def _gamma(family: Any, belief: Any, x: Any, m: Any, reference: Any) -> Any:
    return rule.smile(family, belief, x, m, reference).gamma


_value = by_numpy(_both)
_slopes = by_numpy(jax.jacrev(_both, argnums=(1, 3)))
_curvature = by_numpy(jax.grad(jax.grad(_gamma, argnums=3), argnums=3))


def _outlier(case: Case, belief: Any, m: float) -> tuple[Any, ...]:
    """The arguments of the functions above, with floating-point leaves in the belief."""
    return case.family, belief, case.samples[2], m, case.reference


def _direction(belief: Any) -> Any:
    """A way in which a belief can change: a matrix of precisions stays symmetric."""
    rng = np.random.default_rng(4)

    def one(leaf: Any) -> Any:
        change = 0.1 * rng.normal(size=np.shape(leaf))
        return change + change.T if np.shape(leaf) == (2, 2) else change

    return jax.tree.map(one, belief)


@every
def test_gradient_in_the_belief_agrees_with_finite_differences(case: Case) -> None:
    towards = _direction(case.belief)
    gradient, _ = _slopes(*_outlier(case, case.belief, 0.1))
    slope = sum(
        np.tensordot(g, way, np.ndim(way)) for g, way in zip(*map(jax.tree.leaves, (gradient, towards)), strict=True)
    )

    def moved(h: float) -> Any:
        return _value(*_outlier(case, jax.tree.map(lambda leaf, way: leaf + h * way, case.belief, towards), 0.1))

    np.testing.assert_allclose(slope, (moved(1e-4) - moved(-1e-4)) / 2e-4, rtol=2e-5, atol=1e-7)


@every
def test_gradient_in_m_agrees_with_finite_differences(case: Case) -> None:
    def value(m: float) -> Any:
        return _value(*_outlier(case, case.belief, m))

    _, slope = _slopes(*_outlier(case, case.belief, 0.1))
    assert slope[1] > 0
    np.testing.assert_allclose(slope, (value(0.1001) - value(0.0999)) / 2e-4, rtol=1e-4)


@some
def test_second_derivative_of_gamma_in_m_agrees_with_finite_differences(case: Case) -> None:
    def slope(m: float) -> Any:
        return _slopes(*_outlier(case, case.belief, m))[1][1]

    curvature = _curvature(*_outlier(case, case.belief, 0.1))
    np.testing.assert_allclose(curvature, (slope(0.1001) - slope(0.0999)) / 2e-4, rtol=1e-3)


@every
def test_derivatives_are_finite_where_nothing_is_learned(case: Case) -> None:
    at_target = jax.tree.map(np.asarray, expfam.scaled_likelihood(case.family, case.samples[2], case.reference))
    for belief, m in [(case.belief, 0.0), (at_target, 0.1), (at_target, 0.0)]:
        assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(_slopes(*_outlier(case, belief, m))))
        if case.name in SOME:
            assert np.isfinite(_curvature(*_outlier(case, belief, m)))


@every
def test_what_xla_compiles_agrees_with_numpy(case: Case) -> None:
    arguments = _outlier(case, case.belief, 0.1)
    np.testing.assert_allclose(jax.jit(_both)(*arguments), _value(*arguments), rtol=1e-12)


@every
def test_gamma_meets_the_bound(case: Case) -> None:
    for x in case.samples:
        update = uncompiled.smile(case.family, case.belief, x, 0.1, case.reference)
        got = _divergence(case.name, update.belief, case.belief)
        np.testing.assert_allclose(got, update.bound, rtol=1e-6)


def test_a_regression_without_features_predicts_noise_alone() -> None:
    family = Regression(2, noise=0.7)
    found = expfam.log_evidence(family, family.prior(), (np.zeros(2), 1.3))
    assert float(found) == pytest.approx(stats.norm(0, 0.7).logpdf(1.3), rel=1e-12)


def test_gradient_where_belief_and_target_almost_coincide() -> None:
    """As they do when a prediction comes true: how the new belief moves with the old is no rounding error."""

    def of_gaussian(apart: Any) -> Any:
        belief = GaussianBelief(jnp.asarray(31.0), (25 * (1 - apart)) ** -2.0)
        return 1e3 * rule.smile(Gaussian(25.0), belief, 31.0, 0.06).belief.precision

    def of_dirichlet(apart: Any) -> Any:
        belief = DirichletBelief(jnp.array([1.0, 2.0, 1.0]) + apart * jnp.array([1.0, -1.0, 0.5]))
        return rule.smile(Dirichlet(3), belief, 1, 0.1).belief.alpha[0]

    for new in (of_gaussian, of_dirichlet):
        value_and_slope = jax.jit(jax.value_and_grad(new))
        limit = (value_and_slope(2e-3)[0] - value_and_slope(1e-3)[0]) / 1e-3
        slopes = [float(value_and_slope(apart)[1]) for apart in (1e-4, 1e-5, 1e-6, 1e-8, 1e-10, 1e-12)]
        assert slopes == pytest.approx([float(limit)] * 6, rel=0.01)


def test_a_belief_and_a_reference_are_found_where_none_are_given() -> None:
    for case in FAMILIES:
        check_family(case.family, case.samples)


def test_a_family_that_breaks_its_promises_is_told_which() -> None:
    @pytree_dataclass
    class Broken(Gaussian):
        """A Gaussian family with a wrong normalisation, and without a word about its noise."""

        noise: Any = parameter(1.0, Domain(), (3.0, 2.0))

        def log_base(self, x: Any) -> Any:
            return super().log_base(x) + 0.1

        def sample(self, belief: Any, rng: Any) -> Any:
            return belief.mean + 3 * belief.std

        def with_mean(self, belief: Any, mean: Any) -> Any:
            return belief

    broken = {
        "parameters_are_described": "Broken's noise does not say what it means",
        "predictions_sum_to_one": "the probabilities that Broken predicts do not sum to 1",
        "draws_are_allowed": "Broken.sample draws .* on average, where 0.7 is to be expected",
        "with_mean_gives_the_mean": "Broken.with_mean gives another mean",
    }
    checks = {check.__name__: check for check in family_checks()}
    for name, sentence in broken.items():
        with pytest.raises(AssertionError, match=sentence):
            checks[name](Broken(1.5), [0.3, -1.2, 4.0], FAMILIES[0].belief)


PRIORS: dict[str, tuple[Any, dict[str, Any]]] = {
    "beta": (Beta(), {"ones": 3.5, "zeros": 0.25}),
    "beta_interval": (BetaInterval(0.1, 0.9), {"ones": 3.5, "zeros": 1.25}),
    "dirichlet": (Dirichlet(3), {"alpha": [1.0, 0.5, 7.0]}),
    "gaussian": (Gaussian(3.0), {"mean": 1.5, "std": 0.7}),
    "poisson": (Poisson(), {"rate": 2.5, "time": 0.3}),
    "exponential": (Exponential(), {"rate": 2.5, "time": 0.3}),
    "normal_gamma": (NormalGamma(), {"mean": -1.5, "noise": 0.7, "weight": 2.0, "shape": 1.5}),
    "von_mises": (VonMises(period=360.0), {"mean": -30.0, "certainty": 2.5}),
}


@pytest.mark.parametrize("name", PRIORS)
def test_a_belief_prints_what_its_prior_was_given(name: str) -> None:
    family, given = PRIORS[name]
    assert set(given) == set(family.prior_parameters)
    printed = repr(family.prior(**given))
    words = dict(re.findall(r"(\w+)=(\[[^]]*\]|[^,)]*)", printed.partition("(")[2]))
    for word, value in given.items():
        assert np.asarray(ast.literal_eval(words[word])) == pytest.approx(np.asarray(value), rel=1e-14)
    known = {known.name for known in catalogue.FAMILIES.classes().values() if known.prior_parameters}
    assert known == {type(family).name for family, _ in PRIORS.values()}


def test_a_belief_that_is_traced_or_empty_prints_itself() -> None:
    said = []
    jax.jit(lambda belief: said.append(repr(belief)))(Beta().prior())
    assert said[0].startswith("BetaBelief(ones=")
    assert repr(jax.tree.map(lambda _: None, Beta().prior())) == "BetaBelief(ones=None, zeros=None)"
    assert repr(Dirichlet(100).prior()) == "DirichletBelief(alpha=(numbers of shape (100,)))"


def test_a_flat_beta_belief_is_that_of_scipy() -> None:
    assert Beta().prior() == Beta().flat() == (1.0, 1.0)
    for family in (Beta(), BetaInterval(0.1, 0.9), Dirichlet(2)):
        with pytest.raises(TypeError):
            family.prior(8.0)  # which meant something else before

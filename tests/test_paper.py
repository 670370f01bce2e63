"""Checks every equation and every worked example of Faraji, Preuschoff & Gerstner (2018) against independent oracles.

The oracle for most of them is the definition itself, by quadrature: a belief is the vector of its log-densities (from
SciPy) at the nodes of a trapezoidal rule, or at the models of a finite set, and every integral is a sum over nodes.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest
from numpy.typing import ArrayLike, NDArray
from scipy import integrate, optimize, special, stats

from astonish.beliefs import Beta, Dirichlet, DirichletBelief, Exponential, Gaussian, Poisson, finite
from astonish.learners import Modulated, OnlineEM, PerContext, Smile
from astonish.learners.base import scan
from astonish.theory import expfam, rule, surprise
from oracles import dirichlet_divergence, normal_divergence

Vector = NDArray[np.float64]

GAMMAS = (0.05, 0.3, 0.8)
MODELS = np.array(
    [[0.7, 0.1, 0.1, 0.1], [0.2, 0.5, 0.2, 0.1], [0.25, 0.25, 0.25, 0.25], [0.05, 0.05, 0.3, 0.6], [0.1, 0.2, 0.6, 0.1]]
)
OPINION = np.array([0.45, 0.3, 0.15, 0.04, 0.06])

compiled_scan = jax.jit(scan)
compiled_gamma = jax.jit(jax.vmap(rule.gamma_from_bound, (None, None, None, 0)))


@dataclass(frozen=True)
class Case:
    """A belief twice: the arguments from which the library makes it, and its log-density at the nodes."""

    family: Callable[[], Any]
    prior: dict[str, Any]
    xs: tuple[float, ...]
    widths: Vector
    opinion: Vector
    log_likelihood: Callable[[float], Vector]
    log_density: Callable[[Any], Vector]  # of a belief of the library, at the nodes
    entropy: float  # of the opinion, by SciPy

    @property
    def x(self) -> float:
        return self.xs[0]

    def ours(self) -> tuple[Any, Any]:
        """The library's family and belief."""
        family = self.family()
        return family, family.prior(**self.prior)

    def gammas(self, *bounds: float) -> Vector:
        """The library's gamma at these bounds, at most 40: always as many at once, so that it is compiled once."""
        padded = np.append(np.array(bounds, float), np.zeros(40 - len(bounds)))
        return np.asarray(compiled_gamma(*self.ours(), self.x, padded))[: len(bounds)]

    def average(self, log_density: Vector, values: Vector) -> float:
        return float(self.widths @ (np.exp(log_density) * values))

    def normalised(self, log_kernel: Vector) -> Vector:
        return log_kernel - special.logsumexp(log_kernel, b=self.widths)

    def divergence(self, a: Vector, b: Vector) -> float:
        return self.average(a, a - b)

    def scaled(self, x: float | None = None) -> Vector:
        return self.normalised(self.log_likelihood(self.x if x is None else x))

    def smile(self, gamma: float, opinion: Vector | None = None, x: float | None = None) -> Vector:
        """q_gamma of eq. 6."""
        opinion, x = self.opinion if opinion is None else opinion, self.x if x is None else x
        return self.normalised(gamma * self.log_likelihood(x) + (1 - gamma) * opinion)

    def variance(self, log_density: Vector) -> float:
        """The variance of ln p/pi that eqs. 26 and 27 speak of."""
        ratio = self.log_likelihood(self.x) - self.opinion
        return self.average(log_density, (ratio - self.average(log_density, ratio)) ** 2)


def gaussian_case() -> Case:
    mu, width = np.linspace(-40, 40, 3201), 0.025
    return Case(
        lambda: Gaussian(noise=1.5),
        {"mean": 1.0, "std": 2.0},
        (-2.3, 1.1, 0.4, 7.0, 6.5),
        np.full(mu.shape, width),
        stats.norm(1.0, 2.0).logpdf(mu),
        lambda x: stats.norm(mu, 1.5).logpdf(x),
        lambda b: stats.norm(float(b.mean), float(b.precision) ** -0.5).logpdf(mu),
        float(stats.norm(1.0, 2.0).entropy()),
    )


def beta_case() -> Case:
    t, step = np.linspace(-34, 34, 681, retstep=True)
    theta = special.expit(t)
    return Case(
        Beta,
        {"ones": 3.5, "zeros": 2.0},
        (0, 1, 1, 0, 0),
        step * theta * special.expit(-t),
        stats.beta(3.5, 2.0).logpdf(theta),
        lambda x: np.asarray(stats.bernoulli.logpmf(x, theta)),
        lambda b: stats.beta(float(b.ones), float(b.zeros)).logpdf(theta),
        float(stats.beta(3.5, 2.0).entropy()),
    )


def dirichlet_case() -> Case:
    side, step = np.linspace(-34, 34, 171, retstep=True)
    t, u = (axis.ravel() for axis in np.meshgrid(side, side))
    theta = np.stack([special.expit(t), special.expit(-t) * special.expit(u), special.expit(-t) * special.expit(-u)])
    return Case(
        lambda: Dirichlet(3),
        {"alpha": [4.0, 1.5, 1.0]},
        (2, 0, 0, 1, 2),
        step**2 * theta[0] * special.expit(-t) ** 2 * special.expit(u) * special.expit(-u),
        stats.dirichlet([4.0, 1.5, 1.0]).logpdf(theta),
        lambda x: np.log(theta[int(x)]),
        lambda b: stats.dirichlet(np.asarray(b.alpha)).logpdf(theta),
        float(stats.dirichlet([4.0, 1.5, 1.0]).entropy()),
    )


def gamma_case(family: Callable[[], Any], xs: tuple[float, ...], log_p: Callable[[float, Vector], Vector]) -> Case:
    t, step = np.linspace(-36, 6.5, 2126, retstep=True)
    rate = np.exp(t)
    return Case(
        family,
        {"rate": 3.0, "time": 2.0},
        xs,
        step * rate,
        stats.gamma(6.0, scale=0.5).logpdf(rate),
        lambda x: log_p(x, rate),
        lambda b: stats.gamma(float(b.shape), scale=1 / float(b.time)).logpdf(rate),
        float(stats.gamma(6.0, scale=0.5).entropy()),
    )


def finite_case() -> Case:
    return Case(
        lambda: finite(MODELS),
        {"weights": OPINION},
        (3, 0, 1, 2, 3),
        np.ones(len(MODELS)),
        np.log(OPINION),
        lambda x: np.log(MODELS[:, int(x)]),
        lambda b: np.log(np.asarray(b.weights)),
        float(stats.entropy(OPINION)),
    )


CASES = {
    "gaussian": gaussian_case(),
    "beta": beta_case(),
    "dirichlet": dirichlet_case(),
    "poisson": gamma_case(Poisson, (9, 2, 3, 0, 1), lambda x, r: stats.poisson.logpmf(x, r)),
    "exponential": gamma_case(Exponential, (1.7, 0.2, 0.3, 0.9, 0.1), lambda x, r: stats.expon.logpdf(x, scale=1 / r)),
    "finite": finite_case(),
}
FINITE = CASES["finite"]


@pytest.fixture(params=CASES)
def case(request: pytest.FixtureRequest) -> Case:
    return CASES[request.param]


def near(value: ArrayLike, rel: float = 1e-9) -> Any:
    return pytest.approx(np.asarray(value), rel=rel, abs=1e-10)


def assert_same_density(case: Case, belief: Any, expected: Vector, tolerance: float = 1e-9) -> None:
    """The total variation distance between a belief of the library and a vector of log-densities vanishes."""
    difference = case.widths @ np.abs(np.exp(case.log_density(belief)) - np.exp(expected))
    assert difference < tolerance


def solve_gamma(spent: Callable[[float], float], bound: float) -> float:
    """The gamma in (0, 1) at which an increasing divergence meets the bound."""
    return float(optimize.brentq(lambda g: spent(g) - bound, 0.0, 1.0, xtol=1e-15, rtol=1e-14))


def test_the_oracle_itself(case: Case) -> None:
    """The nodes integrate the opinion to one, and their entropy is SciPy's."""
    assert case.average(case.opinion, np.ones_like(case.opinion)) == near(1.0)
    assert -case.average(case.opinion, case.opinion) == near(case.entropy)
    assert_same_density(case, case.ours()[1], case.opinion)


# Section 2.1: surprise


def test_eq_01_commitment(case: Case) -> None:
    """Commitment is minus the entropy of the belief."""
    assert surprise.commitment(*case.ours()) == near(-case.entropy)


def test_eq_02_confidence_corrected_surprise(case: Case) -> None:
    """S_cc is the divergence of the belief from the scaled likelihood."""
    family, belief = case.ours()
    for x in case.xs:
        ours = surprise.confidence_corrected(family, belief, x)
        assert ours == near(case.divergence(case.opinion, case.scaled(x)))


def test_eq_02_flat_dirichlet_is_still_surprised() -> None:
    """A flat belief about 15 rooms has S_cc = 0.5435 and B_max = 0.3898, in mpmath's arithmetic."""
    family = Dirichlet(15)
    expected = mpmath.digamma(15) - mpmath.digamma(1) - mpmath.log(15)
    most = mpmath.log(15) + mpmath.digamma(2) - mpmath.digamma(16)
    assert round(float(expected), 4) == 0.5435
    assert round(float(most), 4) == 0.3898
    assert surprise.confidence_corrected(family, family.prior(), 3) == near(float(expected))
    assert rule.bound_max(family, family.prior(), 3) == near(float(most))


# A worked example of section 2.1 (calculated in section 4.5); candidates are counted from 1. See Fig. 1, too

COLLEAGUES = {"A": (0.75, 0.25, 0.0, 0.0), "B": (0.0, 0.25, 0.75, 0.0), "C": (0.25, 0.25, 0.25, 0.25)}
EPSILON = 0.06
ODDS = (1 - EPSILON) / (EPSILON / 3)


def ceo_surprise(colleague: str, candidate: int) -> float:
    family = finite(np.where(np.eye(4) == 1, 1 - EPSILON, EPSILON / 3))
    belief = family.prior(np.array(COLLEAGUES[colleague]))
    return float(surprise.confidence_corrected(family, belief, candidate - 1))


def test_eq_19_ceo_a_more_surprised_than_c() -> None:
    """Eqs. 16 to 19: who thinks a candidate less likely, or is more committed, is the more surprised, by as much."""
    assert ceo_surprise("B", 1) - ceo_surprise("A", 1) == near(0.75 * np.log(ODDS))
    assert ceo_surprise("A", 2) - ceo_surprise("A", 1) == near(0.5 * np.log(ODDS))
    assert ceo_surprise("A", 2) - ceo_surprise("C", 2) == near(0.75 * np.log(3))


# Sections 2.2 and 2.3: the SMiLe rule


def test_eq_03_smile_is_plausible(case: Case) -> None:
    """Under the SMiLe rule no sample surprises more the second time, whatever gamma."""
    family, belief = case.ours()
    for gamma in (0.0, *GAMMAS, 1.0):  # 0: exactly as surprising
        again = case.divergence(case.smile(gamma), case.scaled())
        assert gamma == 0 or again < case.divergence(case.opinion, case.scaled())
        assert bool(rule.is_plausible(family, belief, rule.step(family, belief, case.x, gamma), case.x))


def test_eq_03_plausible_changes_of_belief() -> None:
    """A change is plausible exactly if the sample is then no more surprising than before."""
    rng = np.random.default_rng(7)
    pairs = rng.dirichlet(np.ones(5), (200, 2))
    family = finite(MODELS)
    is_plausible = jax.jit(lambda before, after: rule.is_plausible(family, before, after, FINITE.x))
    ours = [bool(is_plausible(family.prior(before), family.prior(after))) for before, after in pairs]
    scaled = np.exp(FINITE.scaled())
    expected = np.array([stats.entropy(after, scaled) <= stats.entropy(before, scaled) for before, after in pairs])
    assert 50 < expected.sum() < 150
    assert ours == expected.tolist()


def test_eq_04_impact(case: Case) -> None:
    """The impact of a sample is the surprise before less the surprise after."""
    family, belief = case.ours()
    after = rule.step(family, belief, case.xs[1], 0.4)
    q = case.smile(0.4, x=case.xs[1])
    expected = case.divergence(case.opinion, case.scaled()) - case.divergence(q, case.scaled())
    assert rule.impact(family, belief, after, case.x) == near(expected)


def test_eq_05_constrained_minimiser() -> None:
    """SciPy's minimiser of the constrained problem ends at q_gamma."""
    family, belief = FINITE.ours()
    scaled = np.exp(FINITE.scaled())
    bound = 0.4 * stats.entropy(scaled, OPINION)
    constraints = (
        {"type": "eq", "fun": lambda q: q.sum() - 1},
        {"type": "ineq", "fun": lambda q: bound - special.rel_entr(q, OPINION).sum()},
    )
    options = {"ftol": 1e-14, "maxiter": 500}
    found = optimize.minimize(
        lambda q: special.rel_entr(q, scaled).sum(),
        OPINION,
        bounds=[(1e-9, 1)] * 5,
        constraints=constraints,
        options=options,
    )
    gamma = FINITE.gammas(bound)[0]
    assert np.asarray(rule.step(family, belief, FINITE.x, gamma).weights) == pytest.approx(found.x, abs=1e-5)


@pytest.mark.parametrize("gamma", [0.0, *GAMMAS, 1.0])
def test_eq_06_smile_rule(case: Case, gamma: float) -> None:
    """The new belief is proportional to likelihood^gamma belief^(1 - gamma)."""
    assert_same_density(case, rule.step(*case.ours(), case.x, gamma), case.smile(gamma))


@pytest.mark.parametrize("m", [0.01, 0.1, 3.0])
def test_eq_07_bound(case: Case, m: float) -> None:
    """The bound is m S / (1 + m S) of the largest one."""
    family, belief = case.ours()
    s, most = case.divergence(case.opinion, case.scaled()), case.divergence(case.scaled(), case.opinion)
    assert rule.bound_max(family, belief, case.x) == near(most)
    assert rule.bound(family, belief, case.x, m) == near(m * s / (1 + m * s) * most)
    assert rule.granted(s, m) == near(m * s / (1 + m * s))


@pytest.mark.parametrize("gamma", GAMMAS)
def test_eq_08_impact_from_change_of_belief(case: Case, gamma: float) -> None:
    """The impact follows from the change of belief in both directions."""
    family, belief = case.ours()
    after = rule.step(family, belief, case.x, gamma)
    expected = case.divergence(case.opinion, case.scaled()) - case.divergence(case.smile(gamma), case.scaled())
    assert rule.impact_of_change(family, belief, after, gamma) == near(expected)
    assert rule.impact(family, belief, after, case.x) == near(expected)


def test_limiting_cases_of_the_bound(case: Case) -> None:
    """(i) Without a bound, or with m = 0, the belief stays; (ii) from B_max on only the scaled likelihood is left."""
    family, belief = case.ours()
    nothing, all_of_it = (rule.smile(family, belief, case.x, m) for m in (0.0, 1e12))
    most = case.divergence(case.scaled(), case.opinion)
    assert nothing.gamma == 0
    assert case.gammas(0.0, 1.001 * most, 100 * most).tolist() == [0, 1, 1]
    assert case.gammas(most)[0] == near(1.0)
    assert_same_density(case, nothing.belief, case.opinion)
    assert_same_density(case, all_of_it.belief, case.scaled())


@pytest.mark.parametrize("share", [1e-4, 0.1, 0.5, 0.95])
def test_limiting_case_in_between(case: Case, share: float) -> None:
    """(iii) In between, gamma solves D[q_gamma || belief] = B."""
    family, belief = case.ours()
    bound = share * case.divergence(case.scaled(), case.opinion)
    gamma = solve_gamma(lambda g: case.divergence(case.smile(g), case.opinion), bound)
    assert case.gammas(bound)[0] == pytest.approx(gamma, rel=1e-7)
    assert rule.bound_from_gamma(family, belief, case.x, gamma) == near(bound, 1e-7)


def followed(case: Case, gamma_of: Callable[[float, Vector, float], float]) -> tuple[Vector, Vector]:
    """Surprise (before the update, note 1) and gamma of each sample, by the loop over nodes; and the last opinion.

    gamma_of: of the surprise, the opinion and the sample.
    """
    opinion, steps = case.opinion, []
    for x in case.xs:
        s = case.divergence(opinion, case.scaled(x))
        gamma = gamma_of(s, opinion, x)
        opinion = case.smile(gamma, opinion, x)
        steps.append((s, gamma))
    return np.array(steps), opinion


def test_algorithm_1_series(case: Case) -> None:
    """The whole loop over a series agrees with the loop over nodes."""

    def gamma_of(s: float, old: Vector, x: float) -> float:
        bound = 0.1 * s / (1 + 0.1 * s) * case.divergence(case.scaled(x), old)
        return solve_gamma(lambda g: case.divergence(case.smile(g, old, x), old), bound)

    family, belief = case.ours()
    trace = scan(Smile(family, 0.1, belief), jnp.asarray(case.xs))
    steps, opinion = followed(case, gamma_of)
    assert np.stack([trace.surprise, trace.learning_rate], 1) == near(steps, 1e-7)
    assert_same_density(case, trace.state, opinion, 1e-7)


def test_note_2_own_function_of_surprise(case: Case) -> None:
    """Steps (ii) and (iii) can be replaced by any increasing function of surprise."""
    family, belief = case.ours()
    trace = scan(Modulated(family, lambda s: s / (5 + s), belief), jnp.asarray(case.xs))
    steps, opinion = followed(case, lambda s, *_: s / (5 + s))
    assert np.stack([trace.surprise, trace.learning_rate], 1) == near(steps)
    assert_same_density(case, trace.state, opinion)


# Section 2.4: the two tasks


def test_eq_09_gaussian_delta_rule() -> None:
    """With a belief as wide as the noise, the mean moves by gamma of the way and the width stays."""
    family = Gaussian(noise=4.0)
    for gamma in GAMMAS:
        after = rule.step(family, family.prior(mean=3.0), -5.0, gamma)
        assert after.mean == near(gamma * -5.0 + (1 - gamma) * 3.0)
        assert after.std == near(4.0)


@pytest.mark.parametrize("m", [0.01, 0.1, 5.0])
def test_eq_10_gaussian_gamma(m: float) -> None:
    """Then gamma is the root of m S / (1 + m S), and S half the squared error in units of noise."""
    xs = np.random.default_rng(7).normal(0, 8, 100)
    trace = scan(Smile(Gaussian(noise=4.0), m), jnp.asarray(xs))
    mean, expected = 0.0, []
    for x in xs:
        s = (x - mean) ** 2 / (2 * 4.0**2)
        gamma = np.sqrt(m * s / (1 + m * s))
        mean = gamma * x + (1 - gamma) * mean
        expected.append((s, gamma, mean))
    assert np.stack([trace.surprise, trace.learning_rate, trace.estimate], 1) == near(expected, 1e-7)


def walk(steps: int) -> list[tuple[int, int]]:
    """Transitions (room, which of the 15 others) of a random walk through the 4 x 4 torus."""
    rng, room, transitions = np.random.default_rng(7), 0, []
    for row, column in np.array([(0, 1), (0, 3), (1, 0), (3, 0)])[rng.integers(4, size=steps)]:
        target = (room // 4 + row) % 4 * 4 + (room + column) % 4
        transitions.append((room, target - (target > room)))
        room = target
    return transitions


def maze_step(alpha: Vector, k: int, m: float) -> tuple[float, float, Vector]:
    """Surprise, gamma and new parameters by lines (i) to (iv) of Algorithm 2."""
    b = np.eye(len(alpha))[k] + 1  # of the scaled likelihood
    s = dirichlet_divergence(alpha, b)
    bound = m * s / (1 + m * s) * dirichlet_divergence(b, alpha)
    gamma = solve_gamma(lambda g: dirichlet_divergence(g * b + (1 - g) * alpha, alpha), bound)
    return s, gamma, (1 - gamma) * alpha + gamma * b


def test_algorithm_2_maze() -> None:
    """A learner per room goes through the maze as the pseudo-code says, room by room."""
    transitions = walk(150)
    rooms, ks = np.array(transitions).T
    trace = scan(PerContext(Smile(Dirichlet(15), 0.1), 16), (jnp.asarray(rooms), jnp.asarray(ks)))
    alpha, expected = np.ones((16, 15)), []
    for room, k in transitions:
        s, gamma, alpha[room] = maze_step(alpha[room], k, 0.1)
        expected.append((s, gamma))
    assert np.stack([trace.surprise, trace.learning_rate], 1) == near(expected, 1e-7)
    assert np.asarray(trace.state.table.alpha) == near(alpha, 1e-7)


@pytest.mark.parametrize(("k", "s", "gamma"), [(0, 0.393, 0.179), (14, 0.743, 0.225)])
def test_maze_surprises_mildly(k: int, s: float, gamma: float) -> None:
    """Who has settled on four doors is surprised by 0.393 at one of them, and by 0.743 elsewhere."""
    alpha = 1 + np.where(np.arange(15) < 4, 0.25, 0.0)
    expected = maze_step(alpha, k, 0.1)
    assert expected[:2] == pytest.approx((s, gamma), abs=5e-4)
    update = rule.smile(Dirichlet(15), DirichletBelief(jnp.asarray(alpha)), k, 0.1)
    assert (float(update.surprise), float(update.gamma)) == pytest.approx(expected[:2], rel=1e-8)


SIZES: dict[str, tuple[Callable[[], Any], dict[str, float], Callable[[Any], Any], float]] = {
    "dirichlet": (lambda: Dirichlet(15), {}, lambda b: (b.alpha - 1).sum(-1), 0.0),
    "beta": (Beta, {}, lambda b: b.ones + b.zeros - 2, 0.0),
    "gaussian": (lambda: Gaussian(noise=2.0), {"std": 1e3}, lambda b: b.precision * 4, 4e-6),
    "poisson": (Poisson, {"rate": 10.0, "time": 0.1}, lambda b: b.time, 0.1),
    "beyond one": (Poisson, {"rate": 3.0, "time": 8.0}, lambda b: b.time, 8.0),
}


@pytest.mark.parametrize("name", SIZES)
def test_ceiling_on_effective_sample_size(name: str) -> None:
    """Sample size obeys nu' = (1 - gamma) nu + gamma: from a flat start a belief is never worth more than one."""
    make, prior, size, start = SIZES[name]
    family = make()
    xs = np.random.default_rng(7).integers(0, 2, 100)
    learner = Smile(family, 0.1, family.prior(**prior))
    state, nu, sizes, expected = learner.init(), start, [], []
    for part in xs.reshape(20, 5):
        trace = compiled_scan(learner, jnp.asarray(part), state)
        state = trace.state
        for gamma in np.asarray(trace.learning_rate):
            nu = (1 - gamma) * nu + gamma
        sizes.append(float(size(state)))
        expected.append(nu)
    assert sizes == near(expected)
    assert (np.array(sizes) <= 1 + 1e-12).all() or start > 1
    assert abs(sizes[-1] - 1) < abs(start - 1)


# Sections 4.1 to 4.4: what surprise is made of


def test_eq_11_scaled_likelihood_is_the_posterior_under_a_flat_prior(case: Case) -> None:
    """The scaled likelihood is the likelihood divided by its integral, and what Bayes' rule makes of flatness."""
    family, _ = case.ours()
    for x in case.xs:
        assert_same_density(case, expfam.scaled_likelihood(family, x), case.scaled(x))
        assert_same_density(case, expfam.bayes(family, family.flat(), x), case.scaled(x))


def test_eq_12_surprise_from_raw_surprise_and_entropy(case: Case) -> None:
    """S_cc = raw surprise + ln ||p|| - entropy."""
    likelihood = case.log_likelihood(case.x)
    expected = -case.average(case.opinion, likelihood) + np.log(case.widths @ np.exp(likelihood)) - case.entropy
    assert surprise.confidence_corrected(*case.ours(), case.x) == near(expected)


def test_eq_13_raw_surprise(case: Case) -> None:
    """Raw surprise is the belief's average of -ln p(x | theta)."""
    for x in case.xs:
        assert surprise.raw(*case.ours(), x) == near(-case.average(case.opinion, case.log_likelihood(x)))


def test_eq_14_bayes_rule(case: Case) -> None:
    """The posterior is proportional to likelihood times belief."""
    for x in case.xs:
        posterior = case.normalised(case.log_likelihood(x) + case.opinion)
        assert_same_density(case, expfam.bayes(*case.ours(), x), posterior)


def test_eq_15_raw_is_bayesian_plus_shannon(case: Case) -> None:
    """Raw surprise = Bayesian surprise + Shannon surprise, and each is what its definition says."""
    family, belief = case.ours()
    likelihood = case.log_likelihood(case.x)
    posterior = case.normalised(likelihood + case.opinion)
    shannon = -np.log(case.average(case.opinion, np.exp(likelihood)))
    bayesian = case.divergence(case.opinion, posterior)
    assert surprise.shannon(family, belief, case.x) == near(shannon)
    assert surprise.bayesian(family, belief, case.x) == near(bayesian)
    assert surprise.bayesian_reverse(family, belief, case.x) == near(case.divergence(posterior, case.opinion))
    assert surprise.raw(family, belief, case.x) == near(bayesian + shannon)


# Sections 4.6 to 4.9: the derivation, on a finite set of models


def lagrangian(q: Vector, penalty: float, bound: float) -> Any:
    """Eq. 20, first line, for one belief or for many; `penalty` is the paper's 1 / lambda."""
    return stats.entropy(q, np.exp(FINITE.scaled()), axis=-1) - penalty * (bound - stats.entropy(q, OPINION, axis=-1))


def optimum(share: float = 0.4) -> tuple[float, float, float, Vector]:
    """The library's solution: bound, gamma, 1 / lambda = 1 / gamma - 1, and q_gamma."""
    family, belief = FINITE.ours()
    bound = share * float(stats.entropy(np.exp(FINITE.scaled()), OPINION))
    gamma = float(FINITE.gammas(bound)[0])
    q = np.asarray(rule.step(family, belief, FINITE.x, gamma).weights)
    return bound, gamma, 1 / gamma - 1, q


def test_eq_20_lagrangian() -> None:
    """Surprise and divergence of the library make the Lagrangian that is written out as an average."""
    family, belief = FINITE.ours()
    likelihood = MODELS[:, int(FINITE.x)]
    for q in np.random.default_rng(7).dirichlet(np.ones(5), 5):
        spent = expfam.divergence(family, family.prior(q), belief)
        ours = surprise.confidence_corrected(family, family.prior(q), FINITE.x) - 2.5 * (0.3 - spent)
        written_out = q @ (-np.log(likelihood) + np.log(q) + 2.5 * np.log(q / OPINION)) - 2.5 * 0.3
        assert ours == near(written_out + np.log(likelihood.sum()))
        assert ours == near(lagrangian(q, 2.5, 0.3))


@pytest.mark.parametrize("share", [0.1, 0.4, 0.9])
def test_eq_22_and_28_stationarity_and_minimum(share: float) -> None:
    """At q_gamma the derivative is alike for all models, but for normalisation, and the minimum is eq. 28's."""
    bound, gamma, penalty, q = optimum(share)
    likelihood = MODELS[:, int(FINITE.x)]
    slope = -np.log(likelihood) + 1 + np.log(q) + penalty * (1 + np.log(q / OPINION))
    assert np.ptp(slope) < 1e-9
    z = (likelihood**gamma * OPINION ** (1 - gamma)).sum()
    assert lagrangian(q, penalty, bound) == near(-np.log(z) / gamma - penalty * bound + np.log(likelihood.sum()))


@pytest.mark.parametrize("share", [0.1, 0.4, 0.9])
def test_eq_23_gamma_from_the_multiplier(share: float) -> None:
    """The library's gamma is lambda / (lambda + 1), where lambda is found by maximising the dual problem."""
    bound, gamma, _, _ = optimum(share)
    likelihood = MODELS[:, int(FINITE.x)]

    def minus_dual(log_lambda: float) -> float:
        p = np.exp(-log_lambda)
        kernel = likelihood ** (1 / (1 + p)) * OPINION ** (p / (1 + p))
        return float((1 + p) * np.log(kernel.sum()) + p * bound)

    found = np.exp(optimize.minimize_scalar(minus_dual, bracket=(-2.0, 2.0), tol=1e-12).x)
    assert gamma == pytest.approx(found / (found + 1), abs=1e-6)


@pytest.mark.parametrize("gamma", GAMMAS)
def test_eq_24_derivative_of_the_new_belief(gamma: float) -> None:
    """dq/dgamma = q (ln p/pi - <ln p/pi>), which integrates to zero (eq. 25)."""
    family, belief = FINITE.ours()
    _, slope = jax.jvp(lambda g: rule.step(family, belief, FINITE.x, g).weights, (jnp.asarray(gamma),), (jnp.ones(()),))
    q, ratio = np.exp(FINITE.smile(gamma)), FINITE.log_likelihood(FINITE.x) - FINITE.opinion
    assert np.asarray(slope) == near(q * (ratio - q @ ratio))
    assert float(slope.sum()) == pytest.approx(0, abs=1e-14)


def test_eq_26_derivative_of_the_bound(case: Case) -> None:
    """D[q_gamma || belief] grows with gamma at the rate gamma var[ln p/pi]."""
    family, belief = case.ours()
    slope = jax.jit(jax.grad(lambda g: rule.bound_from_gamma(family, belief, case.x, g)))
    for gamma in GAMMAS:
        assert slope(gamma) == near(gamma * case.variance(case.smile(gamma)))


def test_eq_27_derivative_of_the_impact(case: Case) -> None:
    """The impact grows with gamma at the rate (1 - gamma) var[ln p/pi]."""
    family, belief = case.ours()
    slope = jax.jit(jax.grad(lambda g: rule.impact(family, belief, rule.step(family, belief, case.x, g), case.x)))
    for gamma in GAMMAS:
        assert slope(gamma) == near((1 - gamma) * case.variance(case.smile(gamma)))


def test_eq_29_excess_of_the_lagrangian() -> None:
    """Any other belief raises the Lagrangian by D[q || q_gamma] / gamma."""
    bound, gamma, penalty, best = optimum()
    family = finite(MODELS)
    for q in np.random.default_rng(7).dirichlet(np.ones(5), 20):
        excess = lagrangian(q, penalty, bound) - lagrangian(best, penalty, bound)
        assert expfam.divergence(family, family.prior(q), family.prior(best)) / gamma == near(excess)


# Sections 4.10 and 4.11: Gaussian and Dirichlet beliefs


@pytest.mark.parametrize("gamma", GAMMAS)
def test_eq_31_gaussian_smile_rule(gamma: float) -> None:
    """The product of powers of two Gaussians of different width is the Gaussian of section 4.10."""
    noise, mean, std, x = 1.5, 1.0, 2.0, -2.3
    family = Gaussian(noise)
    after = rule.step(family, family.prior(mean, std), x, gamma)
    noise2, std2 = noise**2 / gamma, std**2 / (1 - gamma)
    w = std2 / (noise2 + std2)
    assert after.mean == near(w * x + (1 - w) * mean)
    assert after.std == near((1 / noise2 + 1 / std2) ** -0.5)


@pytest.mark.parametrize("x", [-30.0, 2.0, 2.5, 1e3])
def test_eq_32_gaussian_surprise(x: float) -> None:
    """With a belief as wide as the noise, S_cc is half the squared error in units of noise."""
    family = Gaussian(noise=4.0)
    assert surprise.confidence_corrected(family, family.prior(2.0), x) == near((x - 2.0) ** 2 / 32)


def test_eq_33_divergence_of_normals() -> None:
    """D of two normals agrees with the closed form and with SciPy's quadrature of the definition."""
    family = Gaussian()
    for a1, b1, a2, b2 in ((0.0, 1.0, 0.5, 2.0), (3.0, 0.4, 2.0, 0.9), (-1.0, 2.0, 1.0, 1.5)):
        p, q = stats.norm(a1, b1), stats.norm(a2, b2)
        ends = (a1 - 12 * b1, a1 + 12 * b1)
        by_quadrature, _ = integrate.quad(lambda t, p=p, q=q: p.pdf(t) * (p.logpdf(t) - q.logpdf(t)), *ends)
        ours = expfam.divergence(family, family.prior(a1, b1), family.prior(a2, b2))
        assert ours == near(by_quadrature)
        assert ours == near(normal_divergence(a1, b1, a2, b2))


@pytest.mark.parametrize("gamma", [0.0, *GAMMAS, 1.0])
def test_eq_34_dirichlet_smile_rule(gamma: float) -> None:
    """The new parameters are (1 - gamma) alpha + gamma (1 + [this is where it went])."""
    alpha = np.random.default_rng(7).uniform(1, 5, 15)
    after = rule.step(Dirichlet(15), DirichletBelief(jnp.asarray(alpha)), 4, gamma)
    expected = (1 - gamma) * alpha + gamma
    expected[4] += gamma
    assert np.asarray(after.alpha) == near(expected)


def test_section_4_11_estimate_of_transitions() -> None:
    """The estimated transition probability is the mode of the belief, and uniform before the first transition."""
    seen = np.random.default_rng(7).uniform(0, 2, 15)
    family = Dirichlet(15)
    assert np.asarray(family.prior(alpha=1 + seen).mode) == near(seen / seen.sum())
    assert np.asarray(family.prior().mode) == near(np.full(15, 1 / 15))


# Section 4.12: online EM. The oracle is a sum over all paths that environments can take, probabilities being held fixed

VISITED = np.array([0, 2, 1, 1, 0, 2, 0, 1])
EM = OnlineEM(
    rooms=3, environments=2, learning_rate=0.2, switch=0.3, frozen=len(VISITED)
)  # so long are probabilities held fixed
EM_MOVES = np.random.default_rng(7).dirichlet(np.ones(3), (2, 3))
EM_SWITCHES = np.array([[0.7, 0.3], [0.3, 0.7]])


def paths_after(steps: int) -> tuple[NDArray[np.int64], Vector, float]:
    """All paths of environments, one more than steps; how likely each is given the rooms; how likely the rooms are."""
    paths = np.array(list(product(range(2), repeat=steps + 1)))
    probabilities = np.full(len(paths), 0.5)
    for t in range(steps):
        before, now = paths[:, t], paths[:, t + 1]
        probabilities *= EM_SWITCHES[before, now] * EM_MOVES[now, VISITED[t], VISITED[t + 1]]
    return paths, probabilities / probabilities.sum(), float(probabilities.sum())


def phi_after(steps: int) -> Vector:
    """What phi means: how often, with a memory that fades, (i, j, s, s') happened, and that one now is in h."""
    paths, probabilities, _ = paths_after(steps)
    phi = np.zeros((2, 2, 3, 3, 2))
    for t in range(steps):
        weight = EM.learning_rate * (1 - EM.learning_rate) ** (steps - 1 - t)
        np.add.at(phi, (paths[:, t], paths[:, t + 1], VISITED[t], VISITED[t + 1], paths[:, -1]), weight * probabilities)
    return phi


def em_after(steps: int, learner: OnlineEM = EM) -> Any:
    """The library's trace."""
    empty = jax.tree.map(lambda leaf: np.zeros(leaf.shape, leaf.dtype), jax.eval_shape(learner.init))
    start = empty._replace(where=np.full(2, 0.5), first=EM_MOVES)
    return compiled_scan(learner, (VISITED[:steps], VISITED[1 : steps + 1]), start)


@pytest.mark.parametrize("steps", [1, 2, 7])
def test_eq_35_probability_of_each_environment(steps: int) -> None:
    """The share of the paths that end in an environment is its q."""
    paths, probabilities, _ = paths_after(steps)
    expected = [probabilities[paths[:, -1] == environment].sum() for environment in range(2)]
    assert np.asarray(em_after(steps).state.where) == near(expected)


def test_eq_36_what_a_move_says_about_environments() -> None:
    """gamma[l, h] is P(from l to h | all rooms) / P(in l | rooms before), and its denominator makes the surprise."""
    paths_before, before, rooms_before = paths_after(6)
    paths, probabilities, rooms = paths_after(7)
    q = np.array([before[paths_before[:, -1] == m].sum() for m in range(2)])
    both = np.array(
        [[probabilities[(paths[:, -2] == m) & (paths[:, -1] == h)].sum() for h in range(2)] for m in range(2)]
    )
    only_new = em_after(6).state._replace(switches=np.zeros((2, 2, 2)))  # of which the step then leaves rate q gamma
    after, info = jax.jit(EM.step)(only_new, (VISITED[6], VISITED[7]))
    assert np.asarray(after.switches.sum(0)) / (EM.learning_rate * q[:, None]) == near(both / q[:, None])
    assert info.surprise == near(-np.log(rooms / rooms_before))


@pytest.mark.parametrize("steps", [1, 2, 7])
def test_eq_37_statistics(steps: int) -> None:
    """The library keeps two sums of phi: over rooms, and over the environment before."""
    state, phi = em_after(steps).state, phi_after(steps)
    assert np.asarray(state.switches) == near(np.einsum("ijsuh->hij", phi))
    assert np.asarray(state.moves) == near(np.einsum("ijsuh->hjsu", phi))


def test_eq_38_probabilities_of_switches_and_moves() -> None:
    """Both are shares of phi, as soon as they are no longer held fixed."""
    learner, phi = replace(EM, frozen=7), phi_after(7)
    before, now = em_after(6, learner).state, em_after(7, learner).state
    switches, moves = np.einsum("ijsuh->ij", phi), np.einsum("ijsuh->jsu", phi)
    assert np.asarray(learner.switches(before)) == near(EM_SWITCHES)
    assert np.asarray(learner.switches(now)) == near(switches / switches.sum(-1, keepdims=True))
    assert np.asarray(learner.moves(before)) == near(EM_MOVES)
    assert np.asarray(learner.moves(now)) == near(moves / moves.sum(-1, keepdims=True))

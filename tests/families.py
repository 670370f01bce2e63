"""Lists every family of beliefs and every learner, each with samples, for the tests of what all of them promise."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from scipy import special, stats

from astonish import (
    HGF,
    Bayes,
    Behrens2007,
    Beta,
    BetaInterval,
    BinaryVolatileKalman,
    ClassicHGF,
    ContinuousHGF,
    Delta,
    DeltaCircular,
    DeltaMixture,
    Dirichlet,
    DynamicBelief,
    Exponential,
    Gaussian,
    GaussianVector,
    Grid,
    Kalman,
    Leaky,
    MessagePassing,
    Modulated,
    Monitor,
    Nassar2010,
    Nassar2012,
    NassarCircular,
    NassarGaussian2010,
    NassarGaussian2012,
    NoLearning,
    NormalGamma,
    OnlineEM,
    ParticleFilter,
    PearceHall,
    PerContext,
    PerOption,
    Poisson,
    Regression,
    ReversalHMM,
    Rows,
    Smile,
    StochasticityVolatility,
    SuttonK1,
    TwoLevelHGF,
    TwoRate,
    VarSmile,
    VolatileKalman,
    VonMises,
    finite,
)
from astonish.beliefs import (
    BetaBelief,
    DirichletBelief,
    GammaBelief,
    GaussianBelief,
    NormalGammaBelief,
    RowsBelief,
    VectorBelief,
    VonMisesBelief,
)


class FamilyCase(NamedTuple):
    """A family with valid samples, a belief that is not its prior, and a reference where it needs one."""

    name: str
    family: Any
    samples: list[Any]
    belief: Any
    reference: Any = None


class LearnerCase(NamedTuple):
    """A learner with a series of valid samples, an outlier among them."""

    name: str
    learner: Any
    samples: list[Any]


def normal_at(x: Any, points: Any) -> Any:
    """Log-likelihood of each mean, for normal samples with standard deviation 0.8."""
    return -0.5 * jnp.square((x - points) / 0.8) - np.log(0.8 * np.sqrt(2 * np.pi))


def half_way(surprise: Array) -> Array:
    """A learning rate of one's own: 1/2 at a surprise of 5 nats."""
    return surprise / (5 + surprise)


POINTS = np.linspace(-5.0, 5.0, 81)
INTERVAL = BetaInterval(0.1, 0.6)
WEIGHTS = np.exp(-0.5 * (POINTS - 0.4) ** 2)
COVARIANCE = np.array([[1.0, 0.3], [0.3, 0.5]])
PRECISION = np.array([[3.0, -0.7], [-0.7, 2.0]])
MODELS = [[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [1 / 3, 1 / 3, 1 / 3], [0.05, 0.15, 0.8]]

with jax.enable_x64(True):
    FAMILIES = [
        FamilyCase("gaussian", Gaussian(noise=1.5), [0.3, -1.2, 4.0], GaussianBelief(np.float64(0.7), np.float64(2.5))),
        FamilyCase(
            "gaussian_vector",
            GaussianVector(COVARIANCE),
            [np.array([0.2, -0.4]), np.array([1.5, 0.3]), np.array([-3.0, 2.0])],
            VectorBelief(np.array([0.5, -0.3]), PRECISION),
        ),
        FamilyCase("dirichlet", Dirichlet(5), [0, 3, 4], DirichletBelief(np.array([0.4, 1.0, 7.0, 2.5, 30.0]))),
        FamilyCase("beta", Beta(), [0, 1, 1], BetaBelief(np.float64(2.5), np.float64(7.0))),
        FamilyCase("poisson", Poisson(), [0, 2, 17], GammaBelief(np.float64(6.5), np.float64(2.2))),
        FamilyCase("exponential", Exponential(), [0.1, 1.0, 9.0], GammaBelief(np.float64(4.5), np.float64(2.2))),
        FamilyCase("finite", finite(MODELS), [0, 1, 2], finite(MODELS).prior([0.5, 0.1, 0.3, 0.1])),
        FamilyCase("grid", Grid(POINTS, normal_at), [0.3, -1.2, 2.5], Grid(POINTS, normal_at).prior(WEIGHTS)),
        FamilyCase(
            "normal_gamma",
            NormalGamma(),
            [0.3, -1.2, 4.0],
            NormalGammaBelief(*map(np.float64, (0.7, 3.0, 4.0, 2.5))),
            NormalGamma().prior(),
        ),
        FamilyCase(
            "regression",
            Regression(2, noise=0.7),
            [(np.array([1.0, 0.5]), 0.3), (np.array([1.0, -2.0]), 1.0), (np.array([1.0, 3.0]), -2.0)],
            VectorBelief(np.array([0.5, -0.3]), PRECISION),
            Regression(2, noise=0.7).prior(),
        ),
        FamilyCase(
            "von_mises",
            VonMises(3.0, period=360.0),
            [20.0, -70.0, 900.0],
            VonMisesBelief(*map(np.float64, (1.5, -0.7, 360.0))),
        ),
        FamilyCase(
            "rows",
            Rows(Beta(), 2),
            [(0, 1), (1, 1), (0, 0)],
            RowsBelief(BetaBelief(np.array([2.5, 4.0]), np.array([7.0, 1.5])), np.float64(0)),
            Rows(Beta(), 2).prior(),
        ),
        FamilyCase("beta_interval", INTERVAL, [0, 1, 1], INTERVAL.prior(ones=3.5, zeros=8.0)),
    ]

DISCRETE = ("dirichlet", "beta", "poisson", "finite", "rows", "beta_interval")
IN_PARTS = ("regression", "rows")  # samples of which only the second part is predicted
CASE = {case.name: case for case in FAMILIES}

NUMBERS = [0.3, -0.5, 0.1, 0.8, -0.2, 0.4, 12.0, 11.0, 12.5, 0.2, -0.1, 0.6]
VECTORS = [np.array([x, 0.5 - x]) for x in NUMBERS]
COUNTS = [3, 2, 4, 3, 0, 5, 40, 38, 2, 3, 1, 4]
WAITS = [0.5, 1.2, 0.3, 0.9, 2.0, 0.1, 90.0, 70.0, 0.4, 1e-3, 0.8, 1.1]
OUTCOMES = [0, 0, 1, 0, 0, 0, 2, 2, 0, 1, 0, 2]
COINS = [1, 1, 1, 1, 1, 0, 1, 0, 0, 0, 0, 1]
PAIRS = [(np.array([1.0, 0.3 * k - 1.5]), x) for k, x in enumerate(NUMBERS)]
ANGLES = [0.3, -0.5, 0.1, 6.8, -0.2, 0.4, 3.1, -3.1, 3.0, 0.2, -0.1, 100.0]
DEGREES = [57.3 * x for x in ANGLES]
STEPS = [(k // 2 % 2, x) for k, x in enumerate(COINS)]
CONTEXTS = [((2 * k + k // 4) % 3, (k + k // 5) % 4) for k in range(12)]
CHOICES = [(k * k % 3, x) for k, x in enumerate(NUMBERS)]
SHOWN = [(k, np.array([x, 0.5 - x, 2.0]), np.array([1, 0, i % 2])) for i, (k, x) in enumerate(CHOICES)]
SERIES = {
    "gaussian": NUMBERS,
    "gaussian_vector": VECTORS,
    "dirichlet": OUTCOMES,
    "beta": COINS,
    "beta_interval": COINS,
    "poisson": COUNTS,
    "exponential": WAITS,
    "finite": OUTCOMES,
    "grid": NUMBERS,
    "normal_gamma": NUMBERS,
    "regression": PAIRS,
    "von_mises": DEGREES,
    "rows": STEPS,
}

LEARNERS = [
    *(LearnerCase(f"smile_{c.name}", Smile(c.family, reference=c.reference), SERIES[c.name]) for c in FAMILIES),
    LearnerCase("smile_with_prior", Smile(Gaussian(2.0), 0.5, GaussianBelief(np.float64(1), np.float64(9))), NUMBERS),
    LearnerCase("modulated_gaussian", Modulated(Gaussian(1.0), half_way), NUMBERS),
    LearnerCase("bayes_gaussian", Bayes(Gaussian(1.0)), NUMBERS),
    LearnerCase("bayes_regression", Bayes(Regression(2)), PAIRS),
    LearnerCase("leaky_gaussian", Leaky(Gaussian(1.0), 0.8), NUMBERS),
    LearnerCase("leaky_dirichlet", Leaky(Dirichlet(3)), OUTCOMES),
    LearnerCase("leaky_exponential", Leaky(Exponential(), 0.7), WAITS),
    LearnerCase("leaky_rows", Leaky(Rows(Beta(), 2), 0.8), STEPS),
    LearnerCase("leaky_normal_gamma", Leaky(NormalGamma()), NUMBERS),
    LearnerCase("varsmile_gaussian", VarSmile(Gaussian(1.5), 0.3), NUMBERS),
    LearnerCase("varsmile_dirichlet", VarSmile(Dirichlet(3)), OUTCOMES),
    LearnerCase("varsmile_exponential", VarSmile(Exponential(), 0.5, Exponential().prior(2.0, 3.0)), WAITS),
    LearnerCase("varsmile_rows", VarSmile(Rows(Beta(), 2), 0.3), STEPS),
    LearnerCase("varsmile_regression", VarSmile(Regression(2)), PAIRS),
    LearnerCase("message_passing_gaussian", MessagePassing(Gaussian(1.5), 0.2, hypotheses=5), NUMBERS),
    LearnerCase("message_passing_normal_gamma", MessagePassing(NormalGamma()), NUMBERS),
    LearnerCase("message_passing_beta_interval", MessagePassing(BetaInterval(0.1, 0.9), 0.05, hypotheses=6), COINS),
    LearnerCase("message_passing_regression", MessagePassing(Regression(2), 0.05, hypotheses=4), PAIRS),
    LearnerCase("message_passing_rows", MessagePassing(Rows(Dirichlet(4), 3), hypotheses=5), CONTEXTS),
    LearnerCase("particles_gaussian", ParticleFilter(Gaussian(1.5), 0.2, particles=7, seed=3), NUMBERS),
    LearnerCase("particles_poisson", ParticleFilter(Poisson()), COUNTS),
    LearnerCase("particles_vector", ParticleFilter(GaussianVector(COVARIANCE), particles=5), VECTORS),
    LearnerCase("varsmile_von_mises", VarSmile(VonMises(period=360.0), 0.3), DEGREES),
    LearnerCase("message_passing_von_mises", MessagePassing(VonMises(20.0), 0.2, hypotheses=5), ANGLES),
    LearnerCase("delta", Delta(0.3, start=1.0), NUMBERS),
    LearnerCase("no_learning", NoLearning(1.5), NUMBERS),
    LearnerCase("nassar_2010", Nassar2010(1.5, hazard=0.2, likelihood_weight=0.7), NUMBERS),
    LearnerCase("nassar_2012", Nassar2012(1.5, 0.2, start=1.0, surprise_sensitivity=0.7), NUMBERS),
    LearnerCase("nassar_2012_from_the_middle", Nassar2012(1.5, uncertainty_underestimation=0.5), NUMBERS),
    LearnerCase("nassar_gaussian_2010", NassarGaussian2010(1.5, 0.2, mean=0.5, std=3.0), NUMBERS),
    LearnerCase("nassar_gaussian_2012", NassarGaussian2012(1.5, 0.2, mean=0.5, std=3.0), NUMBERS),
    LearnerCase("delta_circular", DeltaCircular(0.3, start=400.0, period=360.0), DEGREES),
    LearnerCase("nassar_circular", NassarCircular(20.0, 0.2, surprise_sensitivity=0.7), ANGLES),
    LearnerCase("pearce_hall", PearceHall(0.8, 0.4, start=1.0, scale=3.0), NUMBERS),
    LearnerCase("kalman", Kalman(1.5, drift=0.5, mean=1.0, std=2.0), NUMBERS),
    LearnerCase("volatile_kalman", VolatileKalman(1.5, 0.3, drift=0.5, start=1.0), NUMBERS),
    LearnerCase("binary_volatile_kalman", BinaryVolatileKalman(0.3, 0.2, 0.4), COINS),
    LearnerCase("two_rate", TwoRate(0.3, 0.6, start=1.0), NUMBERS),
    LearnerCase("sutton_on_coins", SuttonK1(3.0, start=0.5), COINS),
    LearnerCase("reversal", ReversalHMM(0.2, 0.7, 0.4), COINS),
    LearnerCase("dynamic_belief", DynamicBelief(Beta(), 0.7), COINS),
    LearnerCase("hgf", HGF(-2.0, -3.0, kappa=1.2, mu2=0.3, pi2=0.8, mu3=0.5, pi3=2.0), COINS),
    LearnerCase("hgf_two_levels", TwoLevelHGF(-1.0, mu2=-0.5, pi2=2.0), COINS),
    LearnerCase("hgf_classic", ClassicHGF(-2.0, -4.0, kappa=0.9), COINS),
    LearnerCase("hgf_continuous", ContinuousHGF(1.5, -2.0, -2.5, 0.8, mean=1.0, std=2.0, mu2=0.4, pi2=1.5), NUMBERS),
    LearnerCase("delta_mixture_gaussian", DeltaMixture(Gaussian(1.5), 0.2, longest=8.0), NUMBERS),
    LearnerCase("delta_mixture_beta", DeltaMixture(Beta(), nodes=4), COINS),
    LearnerCase(
        "stochasticity_volatility",
        StochasticityVolatility(0.2, 0.3, noise=1.5, drift=0.5, mean=1.0, std=2.0, particles=7, seed=3),
        NUMBERS,
    ),
    LearnerCase("behrens_2007", Behrens2007(probabilities=6, volatilities=4, changes=3), COINS),
    LearnerCase("monitor", Monitor(6.0, 0.01, 0.02, harmonics=1, lags=2), NUMBERS),
    LearnerCase("online_em", OnlineEM(4, 3, learning_rate=0.05, frozen=5, seed=7), CONTEXTS),
    LearnerCase("per_context", PerContext(Smile(Dirichlet(4)), 3), CONTEXTS),
    LearnerCase("per_option", PerOption(Smile(Gaussian(1.5)), 3), CHOICES),
    LearnerCase("per_option_with_decay", PerOption(TwoRate(0.3, 0.6, start=1.0), 3, decay=0.2), CHOICES),
    LearnerCase("per_option_shown", PerOption(Delta(0.3), 3, decay=0.2, counterfactual=True), SHOWN),
]
LEARNER = {case.name: case for case in LEARNERS}


def columns(samples: list[Any]) -> Any:
    """Samples as `scan` takes them: stacked along the first axis, every part by itself."""
    return jax.tree.map(lambda *parts: np.stack(parts), *samples)


def agree(ours: Any, theirs: Any = None, *, rtol: float = 1e-9, atol: float = 0.0, **expected: Any) -> None:
    """A history has these answers; or the estimates, surprises and learning rates of another one."""
    if theirs is not None:
        expected |= {name: getattr(theirs, name) for name in ("estimate", "surprise", "learning_rate")}
    for name, values in expected.items():
        np.testing.assert_allclose(getattr(ours, name), values, rtol=rtol, atol=atol, err_msg=name)


# Conjugate inference written out, with SciPy's distributions


def _weights(belief: Any) -> Any:
    return special.softmax(np.asarray(belief.log_density) + np.asarray(belief.log_width))


class _Mixture:
    """What the grid in the list predicts: normal distributions with standard deviation 0.8 about its points."""

    def __init__(self, belief: Any) -> None:
        self.weights, self.normals = _weights(belief), stats.norm(np.asarray(belief.points), 0.8)

    def logpdf(self, x: float) -> Any:
        return np.log(self.weights @ self.normals.pdf(x))


class _Angle:
    """What the von Mises belief in the list predicts, in degrees."""

    def __init__(self, belief: Any) -> None:
        self.vector = complex(belief.cosine, belief.sine)

    def logpdf(self, x: Any) -> Any:
        both = np.abs(self.vector + 3.0 * np.exp(1j * np.radians(x)))
        return np.log(special.i0(both) / special.i0(abs(self.vector)) / special.i0(3.0) / 360)


def predicted(case: FamilyCase, b: Any, x: Any) -> Any:
    """SciPy's distribution of the next sample."""
    family = case.family
    return {
        "gaussian": lambda: stats.norm(b.mean, np.hypot(1.5, b.precision**-0.5)),
        "gaussian_vector": lambda: stats.multivariate_normal(b.mean, family.noise + np.linalg.inv(b.precision)),
        "dirichlet": lambda: stats.rv_discrete(values=(np.arange(5), np.asarray(b.alpha) / np.sum(b.alpha))),
        "beta": lambda: stats.betabinom(1, b.ones, b.zeros),
        "rows": lambda: stats.betabinom(1, b.rows.ones[x[0]], b.rows.zeros[x[0]]),
        "beta_interval": lambda: stats.bernoulli(mean_between(b)),
        "poisson": lambda: stats.nbinom(b.shape, b.time / (1 + b.time)),
        "exponential": lambda: stats.lomax(b.shape, scale=b.time),
        "finite": lambda: stats.rv_discrete(values=(np.arange(3), _weights(b) @ np.asarray(family.points))),
        "grid": lambda: _Mixture(b),
        "von_mises": lambda: _Angle(b),
        "normal_gamma": lambda: stats.t(2 * b.shape, b.mean, np.sqrt(b.scale * (1 + 1 / b.weight) / b.shape)),
        "regression": lambda: stats.norm(x[0] @ b.mean, np.sqrt(0.49 + x[0] @ np.linalg.inv(b.precision) @ x[0])),
    }[case.name]()


def mean_between(b: Any) -> Any:
    """Of a beta distribution that is cut at two ends."""
    ends = np.array([b.low, b.high])
    whole, moment = (np.diff(special.betainc(b.ones + more, b.zeros, ends))[0] for more in (0, 1))
    return b.ones / (b.ones + b.zeros) * moment / whole


def log_probability(case: FamilyCase, b: Any, x: Any) -> float:
    distribution, at = predicted(case, b, x), x[1] if case.name in IN_PARTS else x
    return float(distribution.logpmf(at) if case.name in DISCRETE else distribution.logpdf(at))


def _normal_posterior(b: Any, precision: Any, pull: Any) -> VectorBelief:
    total = np.asarray(b.precision) + precision
    return VectorBelief(np.linalg.solve(total, b.precision @ b.mean + pull), total)


def _beta_posterior(b: Any, weight: Any, x: Any) -> BetaBelief:
    return BetaBelief(b.ones + weight * x, b.zeros + weight * (1 - x))


def posterior(case: FamilyCase, b: Any, x: Any) -> Any:
    """Bayes' rule, written out for each family."""
    if case.name == "regression":
        return _normal_posterior(b, np.outer(x[0], x[0]) / 0.49, x[0] * x[1] / 0.49)
    if case.name == "gaussian_vector":
        return _normal_posterior(b, np.linalg.inv(case.family.noise), np.linalg.solve(case.family.noise, x))
    if case.name == "von_mises":
        return VonMisesBelief(b.cosine + 3 * np.cos(np.radians(x)), b.sine + 3 * np.sin(np.radians(x)), b.period)
    return {
        "gaussian": lambda: GaussianBelief(
            (b.precision * b.mean + x / 2.25) / (b.precision + 1 / 2.25), b.precision + 1 / 2.25
        ),
        "dirichlet": lambda: DirichletBelief(np.asarray(b.alpha) + (np.arange(5) == x)),
        "beta": lambda: BetaBelief(b.ones + x, b.zeros + 1 - x),
        "rows": lambda: RowsBelief(_beta_posterior(b.rows, (np.arange(2) == x[0]) * 1.0, x[1]), x[0]),
        "beta_interval": lambda: b._replace(ones=b.ones + x, zeros=b.zeros + 1 - x),
        "poisson": lambda: GammaBelief(b.shape + x, b.time + 1),
        "exponential": lambda: GammaBelief(b.shape + 1, b.time + x),
        "finite": lambda: b._replace(log_density=b.log_density + np.log(np.asarray(b.points)[:, x])),
        "grid": lambda: b._replace(log_density=b.log_density + stats.norm.logpdf(x, np.asarray(b.points), 0.8)),
        "normal_gamma": lambda: NormalGammaBelief(
            (b.weight * b.mean + x) / (b.weight + 1),
            b.weight + 1,
            b.shape + 0.5,
            b.scale + 0.5 * b.weight / (b.weight + 1) * (x - b.mean) ** 2,
        ),
    }[case.name]()

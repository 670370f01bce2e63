"""Is what cannot be right refused where it comes in, in a sentence that quotes it and says what would work?"""

import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import astonish
from astonish import (
    Bayes,
    Beta,
    Delta,
    Dirichlet,
    Exponential,
    Gaussian,
    GaussianVector,
    Grid,
    Kalman,
    Leaky,
    MessagePassing,
    Modulated,
    Nassar2010,
    Nassar2012,
    NormalGamma,
    OnlineEM,
    ParticleFilter,
    PearceHall,
    PerContext,
    Poisson,
    Regression,
    Smile,
    VarSmile,
    finite,
    run,
)
from astonish.beliefs import (
    BetaBelief,
    BetaInterval,
    DirichletBelief,
    GammaBelief,
    GaussianBelief,
    GridBelief,
    VectorBelief,
)
from astonish.core.numbers import Domain, as_double
from astonish.core.parameters import check_values, read_state
from astonish.core.samples import read_one
from astonish.learners import Evidence
from astonish.learners.base import check
from astonish.learners.nassar import RelativeVariance, RunLength
from astonish.learners.pearce_hall import Attention
from astonish.people.fit import Estimate, Model, fit
from astonish.people.tables import Columns, read_trials
from astonish.theory import rule
from astonish.worlds.gaussian_jumps import gaussian_jumps

NAN, INF, HUGE = float("nan"), float("inf"), 10**400
EYE, POINTS = np.eye(2), np.array([0.0, 1.0, 2.0])
ODD, INDEFINITE = np.array([[1.0, 0.5], [0.0, 1.0]]), np.array([[1.0, 2.0], [2.0, 1.0]])
START = GaussianBelief(np.float64(0.0), np.float64(1.0))
VECTOR = VectorBelief(np.zeros(2), EYE)
NORMAL_GAMMA = NormalGamma().prior()
POSITIVE, NOT_NEGATIVE = "give a finite number above 0", "give a finite number of at least 0"
FINITE, WHOLE = "give a finite number", "give a whole number"
SHARE, BETWEEN = "give a finite number from 0 to 1", "give a finite number between 0 and 1"
MATRIX = "give a symmetric positive definite matrix"
NO_PRECISION = "is not allowed; give a symmetric matrix without negative eigenvalues"


def normal(x: Any, points: Any) -> Any:
    return -0.5 * jnp.square(x - points)


def state_of(learner: Any, **numbers: Any) -> Callable[[], Any]:
    """The learner's start, with other numbers in it."""
    return lambda: read_state(learner, as_double(learner.init())._replace(**numbers))


# What gives a learner or a family, the advice, and values that are outside of the domains of its parameters
OUTSIDE: list[tuple[Any, str, dict[str, list[float]]]] = [
    (partial(VarSmile, Gaussian()), NOT_NEGATIVE, {"m": [INF]}),
    (partial(Leaky, Gaussian()), SHARE, {"keep": [1.5]}),
    (partial(MessagePassing, Gaussian()), BETWEEN, {"hazard": [0]}),
    (partial(ParticleFilter, Gaussian()), BETWEEN, {"hazard": [1]}),
    (partial(ParticleFilter, Gaussian()), WHOLE, {"seed": [-1]}),
    (partial(MessagePassing, Gaussian()), WHOLE, {"hypotheses": [0]}),
    (Gaussian, POSITIVE, {"noise": [0.0]}),
    (partial(Regression, 2), POSITIVE, {"noise": [-1.0]}),
    (Dirichlet, f"{WHOLE} of at least 2", {"size": [1]}),
    (Delta, SHARE, {"learning_rate": [-0.1, 1.5]}),
    (Delta, FINITE, {"start": [NAN, INF]}),
    (Kalman, NOT_NEGATIVE, {"drift": [-1]}),
    (Kalman, POSITIVE, {"noise": [0.0], "std": [0.0]}),
    (Kalman, FINITE, {"mean": [NAN]}),
    (PearceHall, SHARE, {"salience": [2], "associability": [2.0], "renewal": [-0.1]}),
    (PearceHall, POSITIVE, {"scale": [0]}),
    (astonish.NassarGaussian2012, POSITIVE, {"std": [0]}),
    (Nassar2010, POSITIVE, {"noise": [0.0]}),
    (Nassar2010, BETWEEN, {"hazard": [0.0, 1.0]}),
    (Nassar2010, NOT_NEGATIVE, {"likelihood_weight": [-0.1]}),
    (Nassar2012, POSITIVE, {"noise": [-1.0]}),
    (Nassar2012, BETWEEN, {"hazard": [1.0], "first_uncertainty": [0.0, 1]}),
    (Nassar2012, FINITE, {"start": [NAN], "uncertainty_underestimation": [INF]}),
    (Nassar2012, NOT_NEGATIVE, {"surprise_sensitivity": [-0.1]}),
    (astonish.HGF, NOT_NEGATIVE, {"kappa": [-1.0]}),
    (astonish.HGF, POSITIVE, {"pi3": [0.0]}),
    (astonish.TwoLevelHGF, FINITE, {"omega2": [INF]}),
    (astonish.ContinuousHGF, POSITIVE, {"noise": [0.0]}),
    (astonish.VolatileKalman, POSITIVE, {"noise": [0.0]}),
    (astonish.VolatileKalman, SHARE, {"volatility_rate": [1.1]}),
    (astonish.BinaryVolatileKalman, NOT_NEGATIVE, {"v0": [-0.1]}),
    (astonish.BinaryVolatileKalman, POSITIVE, {"omega": [0.0]}),
    (astonish.TwoRate, SHARE, {"learning_rate_negative": [1.5]}),
    (astonish.SuttonK1, BETWEEN, {"first_rate": [1.0]}),
    (astonish.ReversalHMM, BETWEEN, {"hazard": [0.0], "good": [1.0], "bad": [0.0]}),
    (partial(PerContext, Delta()), f"{WHOLE} of at least 1", {"contexts": [0]}),
    (astonish.Behrens2007, f"{WHOLE} of at least 2", {"probabilities": [1]}),
    (OnlineEM, f"{WHOLE} of at least 2", {"rooms": [1]}),
    (partial(OnlineEM, 3), f"{WHOLE} of at least 2", {"environments": [1]}),
    (partial(OnlineEM, 3), BETWEEN, {"switch": [0]}),
    (partial(OnlineEM, 3), SHARE, {"learning_rate": [1.5]}),
    (partial(OnlineEM, 3), f"{WHOLE} of at least 0", {"frozen": [-1, 2.5], "seed": [0.5]}),
]
ONE_BY_ONE = [
    (make, name, value, advice) for make, advice, some in OUTSIDE for name, values in some.items() for value in values
]


@pytest.mark.parametrize(("make", "name", "value", "advice"), ONE_BY_ONE)
def test_a_parameter_outside_of_its_domain_is_refused(make: Any, name: str, value: float, advice: str) -> None:
    kind = getattr(make, "func", make).__name__
    with pytest.raises(ValueError, match=re.escape(f"{kind}'s {name} = {value:g} is not allowed; {advice}")):
        make(**{name: value})


REFUSED: list[tuple[Callable[[], Any], str]] = [
    # parameters of learners, whatever their type
    (lambda: Smile(Gaussian(), m=-1), f"Smile's m = -1 is not allowed; {NOT_NEGATIVE}"),
    (lambda: Smile(Gaussian(), m=np.float32(-1)), f"m = -1 is not allowed; {NOT_NEGATIVE}"),
    (lambda: Smile(Gaussian(), m=np.array(-1.0)), f"m = -1 is not allowed; {NOT_NEGATIVE}"),
    (lambda: Smile(Gaussian(), m=jnp.asarray(-1.0)), f"m = -1 is not allowed; {NOT_NEGATIVE}"),
    (lambda: Smile(Gaussian(), m=jnp.asarray(-1)), f"m = -1 is not allowed; {NOT_NEGATIVE}"),
    (lambda: Smile(Gaussian(), m=NAN), f"m = nan is not allowed; {NOT_NEGATIVE}"),
    (lambda: Smile(Gaussian(), m=np.ma.masked), f"m = nan is not allowed; {NOT_NEGATIVE}"),
    (lambda: Smile(Gaussian(), m=None), f"Smile's m is None; {NOT_NEGATIVE}"),
    (lambda: Smile(Gaussian(), m="1"), f"m holds '1', which is not a number; {NOT_NEGATIVE}"),
    (lambda: Smile(Gaussian(), m=1j), f"m holds 1j, which is not a number; {NOT_NEGATIVE}"),
    (lambda: check(Smile(Gaussian(), m=[0.1])), f"m has shape (1,); {NOT_NEGATIVE}"),
    (lambda: check(Smile(Gaussian(), m=np.ones(2))), f"m has shape (2,); {NOT_NEGATIVE}"),
    (lambda: check(Smile(Gaussian(), m=jnp.ones(2))), f"m has shape (2,); {NOT_NEGATIVE}"),
    (lambda: check(jax.tree.map(lambda _: -1.0, Smile(Gaussian()))), f"m = -1 is not allowed; {NOT_NEGATIVE}"),
    # ends of a range
    (lambda: BetaInterval(0.9, 0.1), "low = 0.9 and high = 0.1 leave no room for a probability; give low below high"),
    (lambda: Nassar2010(low=3, high=2), "low = 3 and high = 2 leave no room for the mean"),
    (lambda: Nassar2012(low=1.0, high=1.0), "low = 1 and high = 1 leave no room for the mean"),
    (lambda: Nassar2010(low=jnp.asarray(3.0), high=np.float32(2)), "low = 3 and high = 2 leave no room"),
    (lambda: Nassar2010(low=np.array([0.0, 5.0]), high=2.0), "low = 5 and high = 2 leave no room"),
    (lambda: Nassar2010(low=NAN), "low = nan and high = 20 leave no room for the mean; give low below high"),
    (lambda: Nassar2010(low="a"), "low holds 'a', which is not a number"),
    (lambda: replace(Nassar2010(), low=30), "low = 30 and high = 20 leave no room for the mean"),
    (
        lambda: check(jax.tree.map(lambda x: abs(x) + 0.05 * (x == 0.1), Nassar2010())),
        "low = 20 and high = 20 leave no room for the mean",
    ),
    (lambda: Domain(3, 2), "no number from low = 3 to high = 2; give low below high"),
    (lambda: Domain(NAN), "no number from low = nan to high = inf; give low below high"),
    (lambda: Domain(0, 1, inside=2), f"inside = 2 is not allowed; {SHARE}"),
    (lambda: gaussian_jumps(5, 1, low=3, high=2), f"high - low = -1 is not allowed; {POSITIVE}"),
    (lambda: Estimate(low=3, high=2), f"high - low = -1 is not allowed; {NOT_NEGATIVE}"),
    # sizes and other whole numbers
    (lambda: Smile(Dirichlet(2.5)), "size = 2.5 is not allowed; give a whole number"),
    (lambda: Smile(Dirichlet("3")), "size holds '3', which is not a number"),
    (lambda: check(Smile(Dirichlet(np.array([3])))), "size has shape (1,); give a whole number"),
    (lambda: check(Smile(Dirichlet(10**12))), "size = 1e+12 is too large; give at most 2.14748e+09"),
    (lambda: check(MessagePassing(Gaussian(), hypotheses=10**15)), "= 1e+15 is too large; give"),
    (lambda: check(ParticleFilter(Gaussian(), particles=10**25)), "= 1e+25 is too large"),
    (lambda: check(PerContext(Delta(), 10**15)), "contexts = 1e+15 is too large; give at most"),
    (lambda: check(OnlineEM(10**12)), "rooms = 1e+12 is too large; give at most"),
    (lambda: check(ParticleFilter(Gaussian(), seed=2**63)), "seed = 9.22337e+18 is too large; give at"),
    (lambda: check(OnlineEM(3, seed=2**70)), "seed = 1.18059e+21 is too large; give at most"),
    (lambda: Gaussian(HUGE), "noise holds about 1e400, which is too large; give numbers below 1e308"),
    (lambda: Gaussian(-HUGE), "noise holds about -1e400, which is too large; give numbers"),
    (lambda: Delta(start=HUGE), "start holds about 1e400, which is too large"),
    (lambda: Gaussian().prior(HUGE), "mean holds about 1e400, which is too large"),
    (lambda: read_one(Domain(), HUGE), "about 1e400, which is too large; give numbers below 1e308"),
    (lambda: read_one(Domain(0, whole=True), HUGE), "about 1e400, which is too large"),
    (lambda: check(Smile(Gaussian(1e-200))), f"precision = inf is not allowed; {POSITIVE}"),
    (lambda: check(Bayes(Gaussian(1e200))), f"precision = 0 is not allowed; {POSITIVE}"),
    # what a learner is made of
    (lambda: check(3), "3 is no learner; give one that is derived from astonish.learners.base.Learner"),
    (lambda: run(Smile, [1.0]), "Smile'> is no learner; give Smile(Gaussian())"),
    (lambda: run("smile", [1.0]), "'smile' is no learner; give learners.Smile(beliefs.Gaussian())"),
    (lambda: run("rw", [1.0]), "'rw' is no learner; give learners.Delta()"),
    (lambda: run("smil", [1.0]), "'smil' is no learner; did you mean 'smile'? Give one such as learners.Delta()"),
    (lambda: run("zebra", [1.0]), "'zebra' is no learner; give one such as learners.Delta()"),
    (lambda: Smile(None), "None is no family of beliefs; give one, such as Gaussian()"),
    (lambda: Bayes(Gaussian), "Gaussian'> is no family of beliefs; give one, such as Gaussian()"),
    (lambda: VarSmile(Delta()), "is no family of beliefs; give one, such as Gaussian()"),
    (lambda: Modulated(1.0, normal), "1.0 is no family of beliefs; give one, such as Gaussian()"),
    (lambda: check(PerContext(3, 2)), "3 is no learner; give one that is derived from"),
    (
        lambda: check(PerContext(Smile(Gaussian(), prior=Beta().prior()), 2)),
        "Smile's prior is BetaBelief(ones, zeros); give GaussianBelief(mean, precision)",
    ),
    (lambda: Modulated(Gaussian(), 0.3), "gamma = 0.3 is no function; give one from surprise"),
    (
        lambda: check(Modulated(Gaussian(), lambda s: s / s)),
        "at a surprise of 0, gamma = nan is not allowed; give a finite number",
    ),
    (lambda: check(Modulated(Gaussian(), lambda s: jnp.sqrt(5 - s))), "at a surprise of 10, gamma = nan"),
    (lambda: check(Modulated(Gaussian(), lambda _: jnp.ones(2))), "gamma gives an array of shape (2,)"),
    # a covariance
    (lambda: GaussianVector(ODD), f"noise = [[1. 0.5] [0. 1. ]] is not allowed; {MATRIX}"),
    (lambda: GaussianVector(INDEFINITE.tolist()), f"noise = [[1. 2.] [2. 1.]] is not allowed; {MATRIX}"),
    (lambda: GaussianVector(jnp.asarray(INDEFINITE)), f"noise = [[1. 2.] [2. 1.]] is not allowed; {MATRIX}"),
    (lambda: GaussianVector(np.ones((2, 2))), f"is not allowed; {MATRIX}"),
    (lambda: GaussianVector(-EYE), f"is not allowed; {MATRIX}"),
    (lambda: GaussianVector(NAN * EYE), f"is not allowed; {MATRIX}"),
    (lambda: GaussianVector(np.ones(2)), f"noise = [1. 1.] is not allowed; {MATRIX}"),
    (lambda: GaussianVector(2.0), f"noise = 2.0 is not allowed; {MATRIX}"),
    (lambda: GaussianVector(np.ones((2, 3))), f"is not allowed; {MATRIX}"),
    (lambda: GaussianVector("eye"), "noise holds 'eye', which is not a number"),
    (lambda: check(jax.tree.map(lambda leaf: -leaf, Bayes(GaussianVector(EYE)))), f"is not allowed; {MATRIX}"),
    (
        lambda: GaussianVector(EYE).prior(covariance=np.array([[1.0, 0.5], [0.2, 1.0]])),
        f"covariance = [[1. 0.5] [0.2 1. ]] is not allowed; {MATRIX}",
    ),
    (lambda: GaussianVector(EYE).prior(covariance=-jnp.eye(2)), f"is not allowed; {MATRIX}"),
    (lambda: GaussianVector(EYE).prior(covariance=np.eye(3)), "covariance has shape (3, 3); give one of shape (2, 2)"),
    # grids and models
    (lambda: Grid(np.array([0.0, 2.0, 1.0]), normal), "points 2 and 1 do not go up; give numbers"),
    (lambda: Grid(jnp.array([1.0, 0.0]), normal), "points 1 and 0 do not go up; give numbers"),
    (lambda: Grid([0.0, 0.0, 1.0], normal), "points 0 and 0 do not go up; give numbers from"),
    (lambda: Grid(np.zeros(1), normal), "points = [0.] are too few; give at least two"),
    (lambda: Grid(0.5, normal), "points = 0.5 are too few; give at least two"),
    (lambda: Grid([0.0, NAN], normal), "points = nan is not allowed; give a finite number"),
    (lambda: Grid(EYE, lambda _, p: p[:, 0]), "points have shape (2, 2); give numbers, or a width"),
    (lambda: Grid(["a", "b"], normal), "points holds 'a', which is not a number"),
    (lambda: check(Smile(Grid(POINTS, normal, width=-1.0))), f"width = -1 is not allowed; {POSITIVE}"),
    (lambda: check(Smile(Grid(POINTS, normal, width=jnp.zeros(3)))), f"width = 0 is not allowed; {POSITIVE}"),
    (lambda: Grid(POINTS, normal, width=np.ones(2)).prior(), "width has shape (2,); give one number, or 3"),
    (lambda: Grid(POINTS, 3), "log_likelihood = 3 is no function; give one of x and points"),
    (lambda: check(Smile(Grid(POINTS, lambda x, _: x))), "log_likelihood gives an array of shape ()"),
    (lambda: check(Smile(Grid(POINTS, lambda _, p: p[1:]))), "shape (2,); give a number for each of the 3"),
    (
        lambda: check(Smile(Grid(POINTS, lambda _, p: jnp.log(-1 - p)))),
        "gives nan for the sample 0.0; give finite numbers",
    ),
    (
        lambda: check(Smile(Grid(POINTS, lambda _, p: (1 + p) / 0.0))),
        "gives inf for the sample 0.0; give finite numbers",
    ),
    (lambda: Grid(POINTS, normal, domain=3), "domain = 3 is not allowed; give a Domain, or a tuple"),
    (lambda: Grid(POINTS, normal).prior([1, -1, 0]), f"weights = -1 is not allowed; {NOT_NEGATIVE}"),
    (lambda: Grid(POINTS, normal).prior(-jnp.ones(3)), f"weights = -1 is not allowed; {NOT_NEGATIVE}"),
    (lambda: Grid(POINTS, normal).prior([0, 0, 0]), "weights = [0. 0. 0.] are all 0; give at least one"),
    (lambda: Grid(POINTS, normal).prior([1, 1]), "weights have shape (2,); give one for each of 3 points"),
    (lambda: finite([[1.5, -0.5], [0.5, 0.5]]), f"models = 1.5 is not allowed; {SHARE}"),
    (lambda: finite(jnp.array([[1.5, -0.5], [0.5, 0.5]])), f"models = 1.5 is not allowed; {SHARE}"),
    (lambda: finite([[0.5, 0.5], [0.5, 0.4]]), "model 1 sum to 0.9; give numbers that sum to 1"),
    (lambda: finite([[50, 50], [90, 10]]), f"models = 50 is not allowed; {SHARE}"),
    (lambda: finite([0.5, 0.5]), "models have shape (2,); give a row of probabilities for each model"),
    (lambda: finite([[0.5, 0.5]]), "are too few; give at least two"),
    # first beliefs from numbers
    (lambda: Gaussian().prior(std=-1), f"std = -1 is not allowed; {POSITIVE}"),
    (lambda: Gaussian().prior(std=jnp.asarray(-1.0)), f"std = -1 is not allowed; {POSITIVE}"),
    (lambda: Gaussian().prior(mean=NAN), "mean = nan is not allowed; give a finite number"),
    (lambda: NormalGamma().prior(mean="a"), "mean holds 'a', which is not a number"),
    (lambda: NormalGamma().prior(weight=0), f"weight = 0 is not allowed; {POSITIVE}"),
    (lambda: Poisson().prior(rate=0), f"rate = 0 is not allowed; {POSITIVE}"),
    (lambda: Exponential().prior(time=jnp.zeros(())), f"time = 0 is not allowed; {POSITIVE}"),
    (lambda: Beta().prior(ones=0), f"ones = 0 is not allowed; {POSITIVE}"),
    (lambda: Dirichlet(3).prior(alpha=[1, 2]), "alpha has shape (2,); give one number, or 3 of them"),
    (lambda: Regression(2).prior([1, 2, 3]), "mean has shape (3,); give one number, or 2 of them"),
    (lambda: GaussianVector(EYE).prior([1, 2, 3]), "mean has shape (3,); give one number, or 2"),
    # priors
    (
        lambda: check(Smile(Dirichlet(3), prior=START)),
        "prior is GaussianBelief(mean, precision); give DirichletBelief(alpha), such as Dirichlet(size=3).prior()",
    ),
    (
        lambda: check(Smile(NormalGamma(), reference=START)),
        "reference is GaussianBelief(mean, precision); give NormalGammaBelief(mean, weight, shape, scale), such as",
    ),
    (
        lambda: check(Bayes(Dirichlet(3), prior=Dirichlet(5).prior())),
        "Bayes's prior.alpha has shape (5,); give shape (3,), as in Dirichlet(size=3).prior()",
    ),
    (lambda: check(Bayes(Gaussian(), Gaussian().prior([1, 2]))), "prior.mean has shape (2,); give shape ()"),
    (lambda: check(Bayes(Gaussian(), prior=1.0)), "prior is 1.0; give GaussianBelief(mean, precision)"),
    (lambda: check(Smile(Gaussian(), prior=GaussianBelief(0, -1))), f"prior.precision = -1 is not allowed; {POSITIVE}"),
    (lambda: check(Smile(Gaussian(), prior=GaussianBelief(0, jnp.asarray(-1.0)))), f"= -1 is not allowed; {POSITIVE}"),
    (lambda: check(Bayes(Gaussian(), prior=GaussianBelief(0, INF))), "prior.precision = inf is not allowed"),
    (lambda: check(Smile(Gaussian(), prior=Gaussian().flat())), f"precision = 0 is not allowed; {POSITIVE}"),
    (lambda: check(Leaky(Dirichlet(2), prior=DirichletBelief([1, -1]))), f"alpha = -1 is not allowed; {POSITIVE}"),
    (lambda: check(Leaky(Beta(), prior=BetaBelief(1, 0))), f"prior.zeros = 0 is not allowed; {POSITIVE}"),
    (lambda: check(Bayes(Poisson(), prior=GammaBelief(-1, 1))), f"prior.shape = -1 is not allowed; {POSITIVE}"),
    (lambda: check(Bayes(Exponential(), prior=Exponential().flat())), f"prior.time = 0 is not allowed; {POSITIVE}"),
    (
        lambda: check(Bayes(NormalGamma(), NORMAL_GAMMA._replace(scale=-1.0))),
        f"prior.scale = -1 is not allowed; {POSITIVE}",
    ),
    (
        lambda: check(Bayes(Regression(2), VECTOR._replace(precision=ODD))),
        f"precision = [[1. 0.5] [0. 1. ]] {NO_PRECISION}",
    ),
    (lambda: check(Bayes(GaussianVector(EYE), VECTOR._replace(precision=INDEFINITE))), NO_PRECISION),
    (
        lambda: check_values("prior", GridBelief(NAN * POINTS, POINTS, POINTS)),
        "prior.log_density = nan is not allowed; give a finite number",
    ),
    # states to go on from
    (
        lambda: run(Smile(Gaussian()), [1.0], Beta().prior()),
        "state is BetaBelief(ones, zeros); give GaussianBelief(mean, precision), such as that of a History of Smile",
    ),
    (
        lambda: run(Bayes(Gaussian()), [1.0], START),
        "state is GaussianBelief(mean, precision); give Evidence(belief.mean, belief.precision, samples), such as",
    ),
    (
        lambda: read_state(Bayes(Gaussian()), Evidence(Beta().prior(), np.float64(0))),
        "state is Evidence(belief.ones, belief.zeros, samples); give Evidence(belief.mean, belief.precision, samples)",
    ),
    (lambda: read_state(Smile(Gaussian()), (1.0,)), "state is tuple(0); give GaussianBelief(mean, prec"),
    (lambda: read_state(Smile(Dirichlet(3)), Dirichlet(2).prior()), "state.alpha has shape (2,)"),
    (lambda: read_state(Delta(), np.ones(2)), "state has shape (2,); give shape ()"),
    (lambda: read_state(Delta(), NAN), "state = nan is not allowed; give a finite number"),
    (lambda: run(Kalman(), [1.0], GaussianBelief(0.0, -1.0)), f"state.precision = -1 is not allowed; {POSITIVE}"),
    (lambda: run(Kalman(), [1.0], GaussianBelief(NAN, 1.0)), "state.mean = nan is not allowed; give a finite"),
    (state_of(Bayes(Gaussian()), samples=-1.0), f"state.samples = -1 is not allowed; {NOT_NEGATIVE}"),
    (
        state_of(Bayes(Gaussian()), belief=GaussianBelief(0.0, NAN)),
        "state.belief.precision = nan is not allowed; give a finite number",
    ),
    (lambda: read_state(Nassar2010(), RunLength(0.0, 0.0)), f"state.length = 0 is not allowed; {POSITIVE}"),
    (lambda: read_state(Nassar2012(), RelativeVariance(0.0, -1.0)), "state.variance = -1 is not allowed"),
    (lambda: read_state(PearceHall(), Attention(0.0, NAN)), "state.associability = nan is not allowed"),
    (
        state_of(MessagePassing(Gaussian(), hypotheses=2), weights=np.array([2.0, -1.0])),
        "state.weights = -1 is not allowed",
    ),
    (
        state_of(ParticleFilter(Gaussian(), particles=2), ages=np.array([0.5, 1.0])),
        "state.ages = 0.5 is not allowed; give a whole number of at least 0",
    ),
    (
        state_of(ParticleFilter(Gaussian(), particles=2), beliefs=GaussianBelief(np.zeros(2), np.array([1.0, -1.0]))),
        f"state.beliefs.precision = -1 is not allowed; {POSITIVE}",
    ),
    (state_of(OnlineEM(3), room=np.array(-1)), "state.room = -1 is not allowed; give a whole number"),
    (
        state_of(PerContext(Smile(Beta()), 2), table=BetaBelief(np.ones(2), -np.ones(2))),
        f"state.table.zeros = -1 is not allowed; {POSITIVE}",
    ),
    # the rule by itself
    (lambda: rule.step(Gaussian(), START, 1.0, 2.0), f"gamma = 2 is not allowed; {SHARE}"),
    (lambda: rule.step(Gaussian(), START, 1.0, jnp.asarray(-0.5)), f"gamma = -0.5 is not allowed; {SHARE}"),
    (lambda: rule.step(Gaussian(), START, 1.0, NAN), f"gamma = nan is not allowed; {SHARE}"),
    (lambda: rule.bound_from_gamma(Gaussian(), START, 1.0, 2), f"gamma = 2 is not allowed; {SHARE}"),
    (lambda: rule.impact_of_change(Gaussian(), START, START, 2), f"gamma = 2 is not allowed; {SHARE}"),
    (lambda: rule.granted(1.0, -1.0), f"m = -1 is not allowed; {NOT_NEGATIVE}"),
    (lambda: rule.granted(1.0, jnp.asarray(NAN)), f"m = nan is not allowed; {NOT_NEGATIVE}"),
]


@pytest.mark.parametrize(("attempt", "sentence"), REFUSED)
def test_what_cannot_be_right_is_refused(attempt: Callable[[], Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=re.escape(sentence)):
        attempt()


def test_a_fit_refuses_a_prior_of_another_family() -> None:
    from pandas import DataFrame

    table = DataFrame({"x": [0.0, 1.0, 2.0, 1.0], "r": [0.0, 1.0, 1.5, 1.0]})
    trials = read_trials(table, Columns("x", response="r"), responds_before=False)
    with pytest.raises(ValueError, match="prior is BetaBelief"):
        fit(Model(Smile(Gaussian(), prior=Beta().prior()), Estimate()), trials, ["m"])


def test_a_likelihood_is_tried_only_where_samples_of_its_domain_may_come() -> None:
    """By itself a grid may be asked about any sample, as about labels where no domain was given."""
    grid = Grid(np.array([[0.9, 0.1], [0.5, 0.5]]), lambda x, models: jnp.log(models[:, x]), width=1.0)
    assert grid.likelihood(1).weights.tolist() == pytest.approx([1 / 6, 5 / 6])


def test_what_is_not_known_yet_is_not_checked() -> None:
    """Under jit, vmap and grad the values are yet to come, whatever they are given to."""

    def made(x: Any) -> Any:
        matrix = x * jnp.eye(2)
        GaussianVector(matrix).prior(covariance=matrix)
        finite(x * jnp.ones((2, 2)) / 2).prior(x * jnp.ones(2))
        Grid(x * jnp.arange(3.0), normal, width=x).prior()
        Nassar2010(x, low=-x, high=x)
        belief = Smile(Gaussian(x), m=x, prior=Gaussian(x).prior(x, x)).init()
        return rule.step(Gaussian(x), belief, x, x).mean + rule.granted(x, x)

    jax.eval_shape(made, -1.0)
    jax.eval_shape(jax.grad(made), -1.0)
    jax.eval_shape(jax.vmap(made), -jnp.ones(3))


def scaled(scale: Any, surprise: Any) -> Any:
    return scale * surprise


_step = jax.jit(lambda learner, x: learner.step(learner.init(), x)[1])


@pytest.mark.parametrize(("scale", "rate"), [(0.25, 0.5), (0.0, 0.0), (1.0, 1.0), (-1.0, 0.0), (0.5, 1.0)])
def test_a_learning_rate_of_ones_own_is_cut_at_0_and_1(scale: float, rate: float) -> None:
    """The surprise is 2 nats: half the square of 2, since belief and likelihood are equally wide."""
    info = _step(Modulated(Gaussian(), jax.tree_util.Partial(scaled, scale)), 2.0)
    assert info.surprise == pytest.approx(2.0, rel=1e-12)
    assert info.learning_rate == pytest.approx(rate, abs=1e-12)

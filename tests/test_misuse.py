"""Is what cannot be right refused where it comes in, in a sentence that quotes it and says what would work?"""

import re
from collections.abc import Callable
from dataclasses import replace
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
    GaussianVector,
    Grid,
    Kalman,
    Leaky,
    MessagePassing,
    Modulated,
    Nassar2010,
    Nassar2012,
    NassarGaussian2012,
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
START = GaussianBelief(np.float64(0.0), np.float64(1.0))
VECTOR = VectorBelief(np.zeros(2), EYE)
NORMAL_GAMMA = NormalGamma().prior()
POSITIVE, NOT_NEGATIVE = "give a finite number above 0", "give a finite number of at least 0"
SHARE = "give a finite number from 0 to 1"
MATRIX = "give a symmetric positive definite matrix"


def normal(x: Any, points: Any) -> Any:
    return -0.5 * jnp.square(x - points)


def state_of(learner: Any, **numbers: Any) -> Callable[[], Any]:
    """The learner's start, with other numbers in it."""
    return lambda: read_state(learner, as_double(learner.init())._replace(**numbers))


REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    # parameters of learners, whatever their type
    "m negative": (lambda: check(Smile(Gaussian(), m=-1)), f"Smile's m = -1 is not allowed; {NOT_NEGATIVE}"),
    "m of NumPy": (lambda: check(Smile(Gaussian(), m=np.float32(-1))), f"m = -1 is not allowed; {NOT_NEGATIVE}"),
    "m a NumPy array": (lambda: check(Smile(Gaussian(), m=np.array(-1.0))), f"m = -1 is not allowed; {NOT_NEGATIVE}"),
    "m of JAX": (lambda: check(Smile(Gaussian(), m=jnp.asarray(-1.0))), f"m = -1 is not allowed; {NOT_NEGATIVE}"),
    "m a JAX integer": (lambda: check(Smile(Gaussian(), m=jnp.asarray(-1))), f"m = -1 is not allowed; {NOT_NEGATIVE}"),
    "m NaN": (lambda: check(Smile(Gaussian(), m=NAN)), f"m = nan is not allowed; {NOT_NEGATIVE}"),
    "m infinite": (lambda: check(VarSmile(Gaussian(), m=INF)), f"m = inf is not allowed; {NOT_NEGATIVE}"),
    "m masked": (lambda: check(Smile(Gaussian(), m=np.ma.masked)), f"m = nan is not allowed; {NOT_NEGATIVE}"),
    "m left out": (lambda: check(Smile(Gaussian(), m=None)), f"Smile's m is None; {NOT_NEGATIVE}"),
    "m text": (lambda: check(Smile(Gaussian(), m="1")), "m holds '1', which is not a number; give numbers"),
    "m complex": (lambda: check(Smile(Gaussian(), m=1j)), "m holds 1j, which is not a number; give numbers"),
    "m a list": (lambda: check(Smile(Gaussian(), m=[0.1])), f"m has shape (1,); {NOT_NEGATIVE}"),
    "m an array": (lambda: check(Smile(Gaussian(), m=np.ones(2))), f"m has shape (2,); {NOT_NEGATIVE}"),
    "m of JAX, an array": (lambda: check(Smile(Gaussian(), m=jnp.ones(2))), f"m has shape (2,); {NOT_NEGATIVE}"),
    "m put in by JAX": (
        lambda: check(jax.tree.map(lambda _: -1.0, Smile(Gaussian()))),
        f"m = -1 is not allowed; {NOT_NEGATIVE}",
    ),
    "keep above 1": (lambda: check(Leaky(Gaussian(), 1.5)), f"Leaky's keep = 1.5 is not allowed; {SHARE}"),
    "learning rate negative": (lambda: check(Delta(-0.1)), f"Delta's learning_rate = -0.1 is not allowed; {SHARE}"),
    "start NaN": (lambda: check(Delta(start=NAN)), "start = nan is not allowed; give a finite number"),
    "hazard 0": (
        lambda: check(MessagePassing(Gaussian(), 0)),
        "hazard = 0 is not allowed; give a finite number between",
    ),
    "hazard 1": (
        lambda: check(ParticleFilter(Gaussian(), 1)),
        "hazard = 1 is not allowed; give a finite number between",
    ),
    "drift negative": (lambda: check(Kalman(drift=-1)), f"Kalman's drift = -1 is not allowed; {NOT_NEGATIVE}"),
    "std 0": (lambda: check(NassarGaussian2012(std=0)), f"std = 0 is not allowed; {POSITIVE}"),
    "salience above 1": (lambda: check(PearceHall(salience=2)), f"salience = 2 is not allowed; {SHARE}"),
    "scale 0": (lambda: check(PearceHall(scale=0)), f"scale = 0 is not allowed; {POSITIVE}"),
    "first uncertainty 1": (lambda: check(Nassar2012(first_uncertainty=1)), "first_uncertainty = 1 is not allowed"),
    "switch 0": (lambda: check(OnlineEM(3, switch=0)), "switch = 0 is not allowed; give a finite number between"),
    # ends of a range
    "low above high": (lambda: Nassar2010(low=3, high=2), "low = 3 and high = 2 leave no room for the mean"),
    "low at high": (lambda: Nassar2012(low=1.0, high=1.0), "low = 1 and high = 1 leave no room for the mean"),
    "low of JAX": (lambda: Nassar2010(low=jnp.asarray(3.0), high=np.float32(2)), "low = 3 and high = 2 leave no room"),
    "low an array": (lambda: Nassar2010(low=np.array([0.0, 5.0]), high=2.0), "low = 5 and high = 2 leave no room"),
    "low NaN": (lambda: Nassar2010(low=NAN), "low = nan and high = 20 leave no room for the mean; give low below high"),
    "low text": (lambda: Nassar2010(low="a"), "low holds 'a', which is not a number"),
    "low replaced": (lambda: replace(Nassar2010(), low=30), "low = 30 and high = 20 leave no room for the mean"),
    "low put in by JAX": (
        lambda: check(jax.tree.map(lambda x: abs(x) + 0.05 * (x == 0.1), Nassar2010())),
        "low = 20 and high = 20 leave no room for the mean",
    ),
    "a domain upside down": (lambda: Domain(3, 2), "no number from low = 3 to high = 2; give low below high"),
    "a domain of NaN": (lambda: Domain(NAN), "no number from low = nan to high = inf; give low below high"),
    "a domain's stand-in": (lambda: Domain(0, 1, inside=2), f"inside = 2 is not allowed; {SHARE}"),
    "a task upside down": (lambda: gaussian_jumps(5, 1, low=3, high=2), f"high - low = -1 is not allowed; {POSITIVE}"),
    "responses upside down": (lambda: Estimate(low=3, high=2), f"high - low = -1 is not allowed; {NOT_NEGATIVE}"),
    # sizes and other whole numbers
    "size 1": (lambda: check(Smile(Dirichlet(1))), "family.size = 1 is not allowed; give a whole number of at least 2"),
    "size with a half": (lambda: check(Smile(Dirichlet(2.5))), "size = 2.5 is not allowed; give a whole number"),
    "size text": (lambda: check(Smile(Dirichlet("3"))), "size holds '3', which is not a number"),
    "size an array": (lambda: check(Smile(Dirichlet(np.array([3])))), "size has shape (1,); give a whole number"),
    "size too large": (lambda: check(Smile(Dirichlet(10**12))), "size = 1e+12 is too large; give at most 2.14748e+09"),
    "hypotheses too many": (lambda: check(MessagePassing(Gaussian(), hypotheses=10**15)), "= 1e+15 is too large; give"),
    "hypotheses 0": (
        lambda: check(MessagePassing(Gaussian(), hypotheses=0)),
        "= 0 is not allowed; give a whole number",
    ),
    "particles beyond counting": (lambda: check(ParticleFilter(Gaussian(), particles=10**25)), "= 1e+25 is too large"),
    "contexts too many": (lambda: check(PerContext(Delta(), 10**15)), "contexts = 1e+15 is too large; give at most"),
    "rooms too many": (lambda: check(OnlineEM(10**12)), "rooms = 1e+12 is too large; give at most"),
    "seed negative": (
        lambda: check(ParticleFilter(Gaussian(), seed=-1)),
        "seed = -1 is not allowed; give a whole number",
    ),
    "seed with a half": (lambda: check(OnlineEM(3, seed=0.5)), "seed = 0.5 is not allowed; give a whole number"),
    "seed too large": (
        lambda: check(ParticleFilter(Gaussian(), seed=2**63)),
        "seed = 9.22337e+18 is too large; give at",
    ),
    "seed far too large": (lambda: check(OnlineEM(3, seed=2**70)), "seed = 1.18059e+21 is too large; give at most"),
    "noise too large": (
        lambda: Gaussian(HUGE),
        "noise holds about 1e400, which is too large; give numbers below 1e308",
    ),
    "noise too large, negative": (
        lambda: Gaussian(-HUGE),
        "noise holds about -1e400, which is too large; give numbers",
    ),
    "start too large": (lambda: Delta(start=HUGE), "start holds about 1e400, which is too large"),
    "prior too large": (lambda: Gaussian().prior(HUGE), "mean holds about 1e400, which is too large"),
    "a sample too large": (
        lambda: read_one(Domain(), HUGE),
        "about 1e400, which is too large; give numbers below 1e308",
    ),
    "a count too large": (lambda: read_one(Domain(0, whole=True), HUGE), "about 1e400, which is too large"),
    "noise too small to square": (
        lambda: check(Smile(Gaussian(1e-200))),
        f"precision = inf is not allowed; {POSITIVE}",
    ),
    "noise too large to square": (lambda: check(Bayes(Gaussian(1e200))), f"precision = 0 is not allowed; {POSITIVE}"),
    # what a learner is made of
    "no learner": (lambda: check(3), "3 is no learner; give one that is derived from astonish.learners.base.Learner"),
    "a class": (lambda: check(Smile), "Smile'> is no learner; give one that is derived from"),
    "no family": (lambda: Smile(None), "None is no family of beliefs; give one, such as Gaussian()"),
    "a class of families": (
        lambda: Bayes(Gaussian),
        "Gaussian'> is no family of beliefs; give one, such as Gaussian()",
    ),
    "a learner as family": (lambda: VarSmile(Delta()), "is no family of beliefs; give one, such as Gaussian()"),
    "a number as family": (lambda: Modulated(1.0, normal), "1.0 is no family of beliefs; give one, such as Gaussian()"),
    "a number in each context": (lambda: check(PerContext(3, 2)), "3 is no learner; give one that is derived from"),
    "a bad learner in each context": (
        lambda: check(PerContext(Smile(Gaussian(), prior=Beta().prior()), 2)),
        "Smile's prior is BetaBelief(ones, zeros); give GaussianBelief(mean, precision)",
    ),
    "gamma no function": (lambda: Modulated(Gaussian(), 0.3), "gamma = 0.3 is no function; give one from surprise"),
    "gamma NaN": (
        lambda: check(Modulated(Gaussian(), lambda s: s / s)),
        "at a surprise of 0, gamma = nan is not allowed; give a finite number",
    ),
    "gamma NaN later": (
        lambda: check(Modulated(Gaussian(), lambda s: jnp.sqrt(5 - s))),
        "at a surprise of 10, gamma = nan",
    ),
    "gamma of several": (
        lambda: check(Modulated(Gaussian(), lambda _: jnp.ones(2))),
        "gamma gives an array of shape (2,)",
    ),
    # a covariance
    "covariance lopsided": (
        lambda: GaussianVector(np.array([[1.0, 0.5], [0.0, 1.0]])),
        f"noise = [[1. 0.5] [0. 1. ]] is not allowed; {MATRIX}",
    ),
    "covariance indefinite": (
        lambda: GaussianVector([[1.0, 2.0], [2.0, 1.0]]),
        f"noise = [[1. 2.] [2. 1.]] is not allowed; {MATRIX}",
    ),
    "covariance of JAX": (
        lambda: GaussianVector(jnp.array([[1.0, 2.0], [2.0, 1.0]])),
        f"noise = [[1. 2.] [2. 1.]] is not allowed; {MATRIX}",
    ),
    "covariance singular": (lambda: GaussianVector(np.ones((2, 2))), f"is not allowed; {MATRIX}"),
    "covariance negative": (lambda: GaussianVector(-EYE), f"is not allowed; {MATRIX}"),
    "covariance NaN": (lambda: GaussianVector(NAN * EYE), f"is not allowed; {MATRIX}"),
    "covariance a row": (lambda: GaussianVector(np.ones(2)), f"noise = [1. 1.] is not allowed; {MATRIX}"),
    "covariance a number": (lambda: GaussianVector(2.0), f"noise = 2.0 is not allowed; {MATRIX}"),
    "covariance oblong": (lambda: GaussianVector(np.ones((2, 3))), f"is not allowed; {MATRIX}"),
    "covariance text": (lambda: GaussianVector("eye"), "noise holds 'eye', which is not a number"),
    "covariance put in by JAX": (
        lambda: check(jax.tree.map(lambda leaf: -leaf, Bayes(GaussianVector(EYE)))),
        f"is not allowed; {MATRIX}",
    ),
    "first covariance lopsided": (
        lambda: GaussianVector(EYE).prior(covariance=np.array([[1.0, 0.5], [0.2, 1.0]])),
        f"covariance = [[1. 0.5] [0.2 1. ]] is not allowed; {MATRIX}",
    ),
    "first covariance of JAX": (lambda: GaussianVector(EYE).prior(covariance=-jnp.eye(2)), f"is not allowed; {MATRIX}"),
    "first covariance too large": (
        lambda: GaussianVector(EYE).prior(covariance=np.eye(3)),
        "covariance has shape (3, 3); give one of shape (2, 2)",
    ),
    # grids and models
    "points not sorted": (
        lambda: Grid(np.array([0.0, 2.0, 1.0]), normal),
        "points 2 and 1 do not go up; give numbers",
    ),
    "points of JAX not sorted": (
        lambda: Grid(jnp.array([1.0, 0.0]), normal),
        "points 1 and 0 do not go up; give numbers",
    ),
    "points twice": (lambda: Grid([0.0, 0.0, 1.0], normal), "points 0 and 0 do not go up; give numbers from"),
    "points alone": (lambda: Grid(np.zeros(1), normal), "points = [0.] are too few; give at least two"),
    "points a number": (lambda: Grid(0.5, normal), "points = 0.5 are too few; give at least two"),
    "points NaN": (lambda: Grid([0.0, NAN], normal), "points = nan is not allowed; give a finite number"),
    "points in a table": (
        lambda: Grid(EYE, lambda _, p: p[:, 0]),
        "points have shape (2, 2); give numbers, or a width",
    ),
    "points text": (lambda: Grid(["a", "b"], normal), "points holds 'a', which is not a number"),
    "width negative": (
        lambda: check(Smile(Grid(POINTS, normal, width=-1.0))),
        f"width = -1 is not allowed; {POSITIVE}",
    ),
    "width of JAX": (
        lambda: check(Smile(Grid(POINTS, normal, width=jnp.zeros(3)))),
        f"width = 0 is not allowed; {POSITIVE}",
    ),
    "widths too few": (
        lambda: Grid(POINTS, normal, width=np.ones(2)).prior(),
        "width has shape (2,); give one number, or 3",
    ),
    "likelihood no function": (lambda: Grid(POINTS, 3), "log_likelihood = 3 is no function; give one of x and points"),
    "likelihood one number": (
        lambda: check(Smile(Grid(POINTS, lambda x, _: x))),
        "log_likelihood gives an array of shape ()",
    ),
    "likelihood of other points": (
        lambda: check(Smile(Grid(POINTS, lambda _, p: p[1:]))),
        "shape (2,); give a number for each of the 3",
    ),
    "likelihood NaN": (
        lambda: check(Smile(Grid(POINTS, lambda _, p: jnp.log(-1 - p)))),
        "gives nan for the sample 0.0; give finite numbers",
    ),
    "likelihood infinite": (
        lambda: check(Smile(Grid(POINTS, lambda _, p: (1 + p) / 0.0))),
        "gives inf for the sample 0.0; give finite numbers",
    ),
    "domain a number": (lambda: Grid(POINTS, normal, domain=3), "domain = 3 is not allowed; give a Domain, or a tuple"),
    "weights negative": (
        lambda: Grid(POINTS, normal).prior([1, -1, 0]),
        f"weights = -1 is not allowed; {NOT_NEGATIVE}",
    ),
    "weights of JAX": (
        lambda: Grid(POINTS, normal).prior(-jnp.ones(3)),
        f"weights = -1 is not allowed; {NOT_NEGATIVE}",
    ),
    "weights all 0": (
        lambda: Grid(POINTS, normal).prior([0, 0, 0]),
        "weights = [0. 0. 0.] are all 0; give at least one",
    ),
    "weights too few": (
        lambda: Grid(POINTS, normal).prior([1, 1]),
        "weights have shape (2,); give one for each of 3 points",
    ),
    "models above 1": (lambda: finite([[1.5, -0.5], [0.5, 0.5]]), f"models = 1.5 is not allowed; {SHARE}"),
    "models of JAX": (lambda: finite(jnp.array([[1.5, -0.5], [0.5, 0.5]])), f"models = 1.5 is not allowed; {SHARE}"),
    "models that do not sum to 1": (
        lambda: finite([[0.5, 0.5], [0.5, 0.4]]),
        "model 1 sum to 0.9; give numbers that sum to 1",
    ),
    "models in percent": (lambda: finite([[50, 50], [90, 10]]), f"models = 50 is not allowed; {SHARE}"),
    "models in a row": (
        lambda: finite([0.5, 0.5]),
        "models have shape (2,); give a row of probabilities for each model",
    ),
    "a model alone": (lambda: finite([[0.5, 0.5]]), "are too few; give at least two"),
    # first beliefs from numbers
    "std negative": (lambda: Gaussian().prior(std=-1), f"std = -1 is not allowed; {POSITIVE}"),
    "std of JAX": (lambda: Gaussian().prior(std=jnp.asarray(-1.0)), f"std = -1 is not allowed; {POSITIVE}"),
    "mean NaN": (lambda: Gaussian().prior(mean=NAN), "mean = nan is not allowed; give a finite number"),
    "mean text": (lambda: NormalGamma().prior(mean="a"), "mean holds 'a', which is not a number"),
    "weight 0": (lambda: NormalGamma().prior(weight=0), f"weight = 0 is not allowed; {POSITIVE}"),
    "rate 0": (lambda: Poisson().prior(rate=0), f"rate = 0 is not allowed; {POSITIVE}"),
    "time of JAX": (lambda: Exponential().prior(time=jnp.zeros(())), f"time = 0 is not allowed; {POSITIVE}"),
    "no ones": (lambda: Beta().prior(ones=0), f"ones = 0 is not allowed; {POSITIVE}"),
    "alpha for others": (
        lambda: Dirichlet(3).prior(alpha=[1, 2]),
        "alpha has shape (2,); give one number, or 3 of them",
    ),
    "weights for others": (
        lambda: Regression(2).prior([1, 2, 3]),
        "mean has shape (3,); give one number, or 2 of them",
    ),
    "mean for others": (lambda: GaussianVector(EYE).prior([1, 2, 3]), "mean has shape (3,); give one number, or 2"),
    # priors
    "a prior of another family": (
        lambda: check(Smile(Dirichlet(3), prior=START)),
        "prior is GaussianBelief(mean, precision); give DirichletBelief(alpha), such as Dirichlet(size=3).prior()",
    ),
    "a reference of another family": (
        lambda: check(Smile(NormalGamma(), reference=START)),
        "reference is GaussianBelief(mean, precision); give NormalGammaBelief(mean, weight, shape, scale), such as",
    ),
    "a prior of another size": (
        lambda: check(Bayes(Dirichlet(3), prior=Dirichlet(5).prior())),
        "Bayes's prior.alpha has shape (5,); give shape (3,), as in Dirichlet(size=3).prior()",
    ),
    "many priors": (
        lambda: check(Bayes(Gaussian(), Gaussian().prior([1, 2]))),
        "prior.mean has shape (2,); give shape ()",
    ),
    "a number as prior": (
        lambda: check(Bayes(Gaussian(), prior=1.0)),
        "prior is 1.0; give GaussianBelief(mean, precision)",
    ),
    "precision negative": (
        lambda: check(Smile(Gaussian(), prior=GaussianBelief(0, -1))),
        f"prior.precision = -1 is not allowed; {POSITIVE}",
    ),
    "precision of JAX": (
        lambda: check(Smile(Gaussian(), prior=GaussianBelief(0, jnp.asarray(-1.0)))),
        f"= -1 is not allowed; {POSITIVE}",
    ),
    "precision infinite": (
        lambda: check(Bayes(Gaussian(), prior=GaussianBelief(0, INF))),
        "prior.precision = inf is not allowed",
    ),
    "a flat prior": (
        lambda: check(Smile(Gaussian(), prior=Gaussian().flat())),
        f"precision = 0 is not allowed; {POSITIVE}",
    ),
    "alpha negative": (
        lambda: check(Leaky(Dirichlet(2), prior=DirichletBelief([1, -1]))),
        f"alpha = -1 is not allowed; {POSITIVE}",
    ),
    "zeros 0": (lambda: check(Leaky(Beta(), prior=BetaBelief(1, 0))), f"prior.zeros = 0 is not allowed; {POSITIVE}"),
    "shape negative": (
        lambda: check(Bayes(Poisson(), prior=GammaBelief(-1, 1))),
        f"prior.shape = -1 is not allowed; {POSITIVE}",
    ),
    "time 0": (
        lambda: check(Bayes(Exponential(), prior=Exponential().flat())),
        f"prior.time = 0 is not allowed; {POSITIVE}",
    ),
    "noise below 0": (
        lambda: check(Bayes(NormalGamma(), prior=NORMAL_GAMMA._replace(scale=-1.0))),
        f"prior.scale = -1 is not allowed; {POSITIVE}",
    ),
    "precision lopsided": (
        lambda: check(Bayes(Regression(2), prior=VECTOR._replace(precision=np.array([[1.0, 0.5], [0.0, 1.0]])))),
        "precision = [[1. 0.5] [0. 1. ]] is not allowed; give a symmetric matrix without negative eigenvalues",
    ),
    "precision indefinite": (
        lambda: check(Bayes(GaussianVector(EYE), prior=VECTOR._replace(precision=np.array([[1.0, 2.0], [2.0, 1.0]])))),
        "is not allowed; give a symmetric matrix without negative eigenvalues",
    ),
    "density NaN": (
        lambda: check_values("prior", GridBelief(NAN * POINTS, POINTS, POINTS)),
        "prior.log_density = nan is not allowed; give a finite number",
    ),
    # states to go on from
    "a state of another family": (
        lambda: run(Smile(Gaussian()), [1.0], Beta().prior()),
        "state is BetaBelief(ones, zeros); give GaussianBelief(mean, precision), such as that of a History of Smile",
    ),
    "a state of another learner": (
        lambda: run(Bayes(Gaussian()), [1.0], START),
        "state is GaussianBelief(mean, precision); give Evidence(belief.mean, belief.precision, samples), such as",
    ),
    "a belief of another family in a state": (
        lambda: read_state(Bayes(Gaussian()), Evidence(Beta().prior(), np.float64(0))),
        "state is Evidence(belief.ones, belief.zeros, samples); give Evidence(belief.mean, belief.precision, samples)",
    ),
    "a tuple as state": (
        lambda: read_state(Smile(Gaussian()), (1.0,)),
        "state is tuple(0); give GaussianBelief(mean, prec",
    ),
    "a state of another size": (
        lambda: read_state(Smile(Dirichlet(3)), Dirichlet(2).prior()),
        "state.alpha has shape (2,)",
    ),
    "a state of several numbers": (lambda: read_state(Delta(), np.ones(2)), "state has shape (2,); give shape ()"),
    "a state without a number": (lambda: read_state(Delta(), NAN), "state = nan is not allowed; give a finite number"),
    "a state's precision": (
        lambda: run(Kalman(), [1.0], GaussianBelief(0.0, -1.0)),
        f"state.precision = -1 is not allowed; {POSITIVE}",
    ),
    "a state's mean": (
        lambda: run(Kalman(), [1.0], GaussianBelief(NAN, 1.0)),
        "state.mean = nan is not allowed; give a finite",
    ),
    "a state's samples": (
        state_of(Bayes(Gaussian()), samples=-1.0),
        f"state.samples = -1 is not allowed; {NOT_NEGATIVE}",
    ),
    "a belief in a state": (
        state_of(Bayes(Gaussian()), belief=GaussianBelief(0.0, NAN)),
        "state.belief.precision = nan is not allowed; give a finite number",
    ),
    "a run length": (
        lambda: read_state(Nassar2010(), RunLength(0.0, 0.0)),
        f"state.length = 0 is not allowed; {POSITIVE}",
    ),
    "a variance": (lambda: read_state(Nassar2012(), RelativeVariance(0.0, -1.0)), "state.variance = -1 is not allowed"),
    "an associability": (
        lambda: read_state(PearceHall(), Attention(0.0, NAN)),
        "state.associability = nan is not allowed",
    ),
    "a weight": (
        state_of(MessagePassing(Gaussian(), hypotheses=2), weights=np.array([2.0, -1.0])),
        "state.weights = -1 is not allowed",
    ),
    "an age": (
        state_of(ParticleFilter(Gaussian(), particles=2), ages=np.array([0.5, 1.0])),
        "state.ages = 0.5 is not allowed; give a whole number of at least 0",
    ),
    "a belief of many": (
        state_of(ParticleFilter(Gaussian(), particles=2), beliefs=GaussianBelief(np.zeros(2), np.array([1.0, -1.0]))),
        f"state.beliefs.precision = -1 is not allowed; {POSITIVE}",
    ),
    "a room": (state_of(OnlineEM(3), room=np.array(-1)), "state.room = -1 is not allowed; give a whole number"),
    "a count of a context": (
        state_of(PerContext(Smile(Beta()), 2), table=BetaBelief(np.ones(2), -np.ones(2))),
        f"state.table.zeros = -1 is not allowed; {POSITIVE}",
    ),
    # the rule by itself
    "gamma above 1": (lambda: rule.step(Gaussian(), START, 1.0, 2.0), f"gamma = 2 is not allowed; {SHARE}"),
    "gamma of JAX": (
        lambda: rule.step(Gaussian(), START, 1.0, jnp.asarray(-0.5)),
        f"gamma = -0.5 is not allowed; {SHARE}",
    ),
    "gamma not a number": (lambda: rule.step(Gaussian(), START, 1.0, NAN), f"gamma = nan is not allowed; {SHARE}"),
    "gamma to a bound": (
        lambda: rule.bound_from_gamma(Gaussian(), START, 1.0, 2),
        f"gamma = 2 is not allowed; {SHARE}",
    ),
    "gamma to an impact": (
        lambda: rule.impact_of_change(Gaussian(), START, START, 2),
        f"gamma = 2 is not allowed; {SHARE}",
    ),
    "readiness negative": (lambda: rule.granted(1.0, -1.0), f"m = -1 is not allowed; {NOT_NEGATIVE}"),
    "readiness of JAX": (lambda: rule.granted(1.0, jnp.asarray(NAN)), f"m = nan is not allowed; {NOT_NEGATIVE}"),
}


@pytest.mark.parametrize("case", REFUSED.values(), ids=list(REFUSED))
def test_what_cannot_be_right_is_refused(case: tuple[Callable[[], Any], str]) -> None:
    attempt, sentence = case
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

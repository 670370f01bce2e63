"""How fast does the world change now? The hierarchical Gaussian filter (Mathys et al. 2011, 2014).

A hidden number takes a normal step before every outcome. The logarithm of that step's variance is, up to `kappa` and
`omega`, another hidden number, one level above, which takes normal steps of its own. Both are followed by normal
beliefs, of which the state holds means (mu) and variances (sigma); the papers' precisions (pi) are 1 / sigma.
"""

import math
from typing import Annotated, Any, ClassVar, NamedTuple, Protocol

import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.random import Generator

from astonish.core.names import OutcomeKind
from astonish.core.numbers import FINITE, NOT_NEGATIVE, POSITIVE, Domain, FloatArray, Number, floats
from astonish.core.parameters import MEAN, NOISE, STD, Parameter
from astonish.core.special import log
from astonish.learners.base import BinaryLearner, Learner, StepInfo

_LARGEST_EXPONENT = 80.0  # variances beyond exp(80) or below exp(-80) make no difference, and their squares are numbers
_LARGEST_ERROR = 1e75  # whose fourth power is a number
_ENHANCED_LOG_ODDS = math.log(999.0)  # keeps predictions from .001 to .999
_CLASSIC_LOG_ODDS = 40.0  # beyond which a probability cannot be told from 0 or 1
_LEAST_ANSWER = 1e-12  # an answer closer to 0 or 1 than this has no log odds
_LOG_TWO_PI = math.log(2 * math.pi)

_MU = Parameter(Domain(), (-2.0, 2.0), "", 0.0)
_PI = Parameter(POSITIVE, (0.1, 10.0), "", 1.0)
_OMEGA = Parameter(Domain(), (-6.0, 0.0), "")
_KAPPA = Parameter(Domain(0.0), (0.5, 1.5), "how strongly the highest level drives the steps of the one below", 1.0)
_OF_LEVEL_2 = {
    "delta1": "outcome minus prediction",
    "epsilon2": "precision-weighted prediction error of level 2: psi2 times delta1, by which mu2 moves",
    "m1": "predicted probability of a 1",
    "mu2": "mean of the belief about the log odds of a 1, after the outcome",
    "pi2": "precision of that belief, after the outcome",
    "pihat2": "precision of that belief, before the outcome",
    "psi2": "learning rate of level 2: the weight of delta1 in mu2",
    "shannon": "minus the logarithm of the predicted probability of the outcome",
    "volatility": "variance of the step that the log odds are believed to have taken before the outcome",
}
_OF_LEVEL_3 = {
    "delta2": "prediction error of level 2 about the size of its step",
    "epsilon3": "precision-weighted prediction error of level 3: psi3 times delta2",
    "mu3": "mean of the belief about the log-volatility, after the outcome",
    "pi3": "precision of that belief, after the outcome",
    "psi3": "precision weight of level 3: the precision expected of level 2 over that of level 3",
}


class LevelUpdate(NamedTuple):
    """What an outcome does to a level that wanders.

    step_variance: of the step before the outcome. expected_variance: of the belief after that step. mean, variance: of
    the belief after the outcome. moved: the difference of the means. surprise: Shannon's.
    """

    step_variance: Array
    expected_variance: Array
    mean: Array
    variance: Array
    moved: Array
    surprise: Array

    def quantities(self, level: int) -> dict[str, Array]:
        """What there is to know of this level, by the papers' names."""
        return {
            f"epsilon{level}": self.moved,
            f"mu{level}": self.mean,
            f"pi{level}": 1 / self.variance,
            f"pihat{level}": 1 / self.expected_variance,
            "shannon": self.surprise,
            "volatility": self.step_variance,
        }

    def quantities_above(self, level: int, mean: Array, variance: Array) -> dict[str, Array]:
        """The same of the level above, with this mean and variance after the outcome, and the error it learns from."""
        error, weight = _volatility_error(self), 1 / self.expected_variance * variance
        own = {f"epsilon{level}": weight * error, f"mu{level}": mean, f"pi{level}": 1 / variance, f"psi{level}": weight}
        return own | {f"delta{level - 1}": error}


class TwoLevels(NamedTuple):
    """A belief about log odds."""

    mu2: Annotated[Array, FINITE]
    sigma2: Annotated[Array, POSITIVE]


class ThreeLevels(NamedTuple):
    """A belief about log odds, and one about how fast they change."""

    mu2: Annotated[Array, FINITE]
    sigma2: Annotated[Array, POSITIVE]
    mu3: Annotated[Array, FINITE]
    sigma3: Annotated[Array, POSITIVE]


class ClassicLevels(NamedTuple):
    """The same, and at how many outcomes the update of level 3 gave no positive precision."""

    mu2: Annotated[Array, FINITE]
    sigma2: Annotated[Array, POSITIVE]
    mu3: Annotated[Array, FINITE]
    sigma3: Annotated[Array, POSITIVE]
    violations: Annotated[Array, NOT_NEGATIVE]


class ContinuousLevels(NamedTuple):
    """A belief about the mean of numbers, and one about how fast it changes."""

    mu1: Annotated[Array, FINITE]
    sigma1: Annotated[Array, POSITIVE]
    mu2: Annotated[Array, FINITE]
    sigma2: Annotated[Array, POSITIVE]


class BinaryFilter(BinaryLearner, Protocol):
    """A learner whose state holds a normal belief, `mu2` and `sigma2`, about the log odds of a 1.

    Its estimate is the probability of a 1 that it predicts, its learning rate that of this probability, and its
    surprise Shannon's. largest_log_odds: predictions are kept within these odds, from .001 to .999 by default.
    """

    mu2: Number
    pi2: Number
    free: ClassVar[tuple[str, ...]] = ("omega2",)
    largest_log_odds: ClassVar[float] = _ENHANCED_LOG_ODDS

    def estimate(self, state: Any) -> Array:
        return self._probabilities(state.mu2)[0]

    def uncertainty(self, state: Any) -> Array:
        one, zero = self._probabilities(state.mu2)
        return one * zero * jnp.sqrt(state.sigma2)

    def step_variance(self, state: Any) -> Array:
        one, zero = self._probabilities(state.mu2)
        return jnp.square(one * zero) * self._log_odds_step(state)

    def _log_odds_step(self, state: Any) -> Array:
        """The variance of the step that the log odds are believed to take before the next outcome."""
        ...

    def with_estimate(self, state: Any, value: Any) -> Any:
        least = max(1 / (1 + math.exp(self.largest_log_odds)), _LEAST_ANSWER)
        probability = jnp.clip(value, least, 1 - least)
        return state._replace(mu2=jnp.log(probability) - jnp.log1p(-probability))

    def simulate(self, rng: Generator, steps: int) -> Any:
        log_odds = rng.normal(self.mu2, np.asarray(self.pi2) ** -0.5)
        return rng.binomial(1, 0.5 * (1 + np.tanh(0.5 * log_odds)), steps)

    def _probabilities(self, log_odds: Array) -> tuple[Array, Array]:
        """The predicted probabilities of a 1 and of a 0, each with all its digits."""
        odds = jnp.exp(jnp.clip(log_odds, -self.largest_log_odds, self.largest_log_odds))
        zero = 1 / (1 + odds)
        return odds * zero, zero

    def _follow(self, state: Any, x: Number) -> LevelUpdate:
        """Update level 2 by an outcome."""
        one, zero = self._probabilities(state.mu2)
        step_variance = self._log_odds_step(state)
        expected = state.sigma2 + step_variance
        new = expected / (1 + expected * (one * zero))
        moved = jnp.where(x == 1, zero, -one) * new
        return LevelUpdate(step_variance, expected, state.mu2 + moved, new, moved, -log(jnp.where(x == 1, one, zero)))

    def _info(self, mean: Array, below: LevelUpdate, x: Number) -> StepInfo:
        """Surprise and learning rate: the share by which the probability of the other outcome has shrunk."""
        missed, still_missed = (jnp.where(x == 1, *self._probabilities(mu)[::-1]) for mu in (mean, below.mean))
        return StepInfo(below.surprise, jnp.clip(1 - still_missed / missed, 0.0, 1.0))

    def quantities(self, state: Any, new: Any, x: Number) -> dict[str, Array]:
        below, (one, _) = self._follow(state, x), self._probabilities(state.mu2)
        return {"delta1": x - one, "m1": one, "psi2": below.variance, **below.quantities(2)}


class TwoLevelHGF(BinaryFilter):
    """Follows the log odds of a 1, which take a normal step of variance exp(omega2) before every outcome."""

    omega2: Number = _OMEGA.field(default=-4.0, about="logarithm of the variance of the steps of the log odds")
    mu2: Number = _MU.field(about="mean of the first belief about the log odds")
    pi2: Number = _PI.field(about="precision of the first belief about the log odds")
    name: ClassVar[str] = "hgf2"
    meanings: ClassVar[dict[str, str]] = _OF_LEVEL_2

    def init(self) -> TwoLevels:
        return TwoLevels(*floats(self.mu2, 1 / jnp.asarray(self.pi2)))

    def step(self, state: TwoLevels, x: Number) -> tuple[TwoLevels, StepInfo]:
        below = self._follow(state, x)
        return TwoLevels(below.mean, below.variance), self._info(state.mu2, below, x)

    def _log_odds_step(self, state: TwoLevels) -> Array:
        return _exp(self.omega2)


class HGF(BinaryFilter):
    """Follows the log odds of a 1, and how fast they change: three levels, with the enhanced update of the third.

    Before every outcome the log odds take a normal step of variance exp(kappa mu3 + omega2), and the log-volatility
    one of variance exp(omega3). The enhanced update cannot leave its domain; `ClassicHGF` has the original one.
    """

    omega2: Number = _OMEGA.field(default=-2.5, about="constant part of the log-volatility of the log odds")
    omega3: Number = _OMEGA.field(
        default=-6.0, usual=(-8.0, -2.0), about="logarithm of the variance of the steps of the log-volatility"
    )
    kappa: Number = _KAPPA.field()
    mu2: Number = _MU.field(about="mean of the first belief about the log odds")
    pi2: Number = _PI.field(about="precision of the first belief about the log odds")
    mu3: Number = _MU.field(default=1.0, about="mean of the first belief about the log-volatility")
    pi3: Number = _PI.field(about="precision of the first belief about the log-volatility")
    name: ClassVar[str] = "hgf"
    meanings: ClassVar[dict[str, str]] = _OF_LEVEL_2 | _OF_LEVEL_3

    def init(self) -> Any:
        return ThreeLevels(*floats(self.mu2, 1 / jnp.asarray(self.pi2), self.mu3, 1 / jnp.asarray(self.pi3)))

    def step(self, state: Any, x: Number) -> tuple[Any, StepInfo]:
        below = self._follow(state, x)
        above = _enhanced(below, state.sigma2, state.mu3, state.sigma3, self.kappa, self.omega2, self.omega3)
        return ThreeLevels(below.mean, below.variance, *above), self._info(state.mu2, below, x)

    def quantities(self, state: Any, new: Any, x: Number) -> dict[str, Array]:
        above = self._follow(state, x).quantities_above(3, new.mu3, new.sigma3)
        return BinaryFilter.quantities(self, state, new, x) | above

    def _log_odds_step(self, state: Any) -> Array:
        return _exp(self.kappa * state.mu3 + self.omega2)


class ClassicHGF(HGF):
    """The three-level filter with the update of the third level as first published, which can leave its domain.

    Where that update gives a precision of 0 or less, level 3 stays as it was, and the state counts it: `violations`.
    What follows is then not the filter any more, which `History.problem` and `astonish surprise` say.
    """

    name: ClassVar[str] = "hgf-classic"
    largest_log_odds: ClassVar[float] = _CLASSIC_LOG_ODDS
    meanings: ClassVar[dict[str, str]] = {
        **HGF.meanings,
        "violations": "at how many outcomes up to this one the update of level 3 gave no positive precision",
    }

    def init(self) -> ClassicLevels:
        start = HGF.init(self)
        return ClassicLevels(**start._asdict(), violations=jnp.zeros_like(start.mu2))

    def step(self, state: ClassicLevels, x: Number) -> tuple[ClassicLevels, StepInfo]:
        below = self._follow(state, x)
        expected = state.sigma3 + _exp(self.omega3)
        share, error = below.step_variance / below.expected_variance, _volatility_error(below)
        gained = 0.5 * jnp.square(self.kappa) * share * (share + (2 * share - 1) * error)
        grown = 1 + expected * gained  # the new precision over the expected one
        valid = grown > 0
        variance = expected / jnp.where(valid, grown, 1.0)
        mu3 = jnp.where(valid, state.mu3 + 0.5 * self.kappa * share * error * variance, state.mu3)
        sigma3 = jnp.where(valid, variance, state.sigma3)
        violations = state.violations + jnp.where(valid, 0.0, 1.0)
        new = ClassicLevels(below.mean, below.variance, mu3, sigma3, violations)
        return new, self._info(state.mu2, below, x)

    def quantities(self, state: ClassicLevels, new: ClassicLevels, x: Number) -> dict[str, Array]:
        return HGF.quantities(self, state, new, x) | {"violations": new.violations}

    def failures(self, state: ClassicLevels) -> Array:
        return state.violations


class ContinuousHGF(Learner):
    """Follows the mean of numbers, and how fast it changes: two levels, with the enhanced update of the second.

    Before every sample the mean takes a normal step of variance exp(kappa mu2 + omega1), and the log-volatility one of
    variance exp(omega2). It reports Shannon's surprise; its learning rate is the share of the error by which the
    estimate moves. mean, std: the belief about the mean before the first step.
    """

    noise: Number = NOISE.field()
    omega1: Number = _OMEGA.field(default=-3.0, about="constant part of the log-volatility of the mean")
    omega2: Number = _OMEGA.field(
        default=-3.0, usual=(-8.0, -2.0), about="logarithm of the variance of the steps of the log-volatility"
    )
    kappa: Number = _KAPPA.field()
    mean: Number = MEAN.field()
    std: Number = STD.field(default=1.0)
    mu2: Number = _MU.field(about="mean of the first belief about the log-volatility")
    pi2: Number = _PI.field(about="precision of the first belief about the log-volatility")
    name: ClassVar[str] = "hgf-continuous"
    surprise_measure: ClassVar[str] = "shannon"
    takes: ClassVar[tuple[str, ...]] = (OutcomeKind.CONTINUOUS,)
    free: ClassVar[tuple[str, ...]] = ("omega1",)
    samples: ClassVar[Domain] = Domain()
    meanings: ClassVar[dict[str, str]] = {
        "delta1": "prediction error of level 1 about the size of its step",
        "epsilon1": "precision-weighted prediction error of level 1, by which mu1 moves",
        "epsilon2": "precision-weighted prediction error of level 2: psi2 times delta1",
        "mu1": "mean of the belief about the mean, after the outcome",
        "mu2": "mean of the belief about the log-volatility, after the outcome",
        "pi1": "precision of the belief about the mean, after the outcome",
        "pi2": "precision of the belief about the log-volatility, after the outcome",
        "pihat1": "precision of the belief about the mean, before the outcome",
        "psi1": "learning rate of level 1: the weight of the prediction error in mu1",
        "psi2": "precision weight of level 2: the precision expected of level 1 over that of level 2",
        "shannon": "minus the logarithm of the predicted density of the outcome",
        "volatility": "variance of the step that the mean is believed to have taken before the outcome",
    }

    def init(self) -> ContinuousLevels:
        return ContinuousLevels(*floats(self.mean, jnp.square(self.std), self.mu2, 1 / jnp.asarray(self.pi2)))

    def step(self, state: ContinuousLevels, x: Number) -> tuple[ContinuousLevels, StepInfo]:
        below, gain = self._follow(state, x)
        above = _enhanced(below, state.sigma1, state.mu2, state.sigma2, self.kappa, self.omega1, self.omega2)
        return ContinuousLevels(below.mean, below.variance, *above), StepInfo(below.surprise, gain)

    def estimate(self, state: ContinuousLevels) -> Array:
        return state.mu1

    def uncertainty(self, state: ContinuousLevels) -> Array:
        return jnp.sqrt(state.sigma1)

    def step_variance(self, state: ContinuousLevels) -> Array:
        return _exp(self.kappa * state.mu2 + self.omega1)

    def with_estimate(self, state: ContinuousLevels, value: Any) -> ContinuousLevels:
        return state._replace(mu1=value)

    def simulate(self, rng: Generator, steps: int) -> FloatArray:
        return rng.normal(rng.normal(self.mean, self.std), self.noise, steps)

    def quantities(self, state: ContinuousLevels, new: ContinuousLevels, x: Number) -> dict[str, Array]:
        below, gain = self._follow(state, x)
        return {"psi1": gain, **below.quantities(1), **below.quantities_above(2, new.mu2, new.sigma2)}

    def _follow(self, state: ContinuousLevels, x: Number) -> tuple[LevelUpdate, Array]:
        """Level 1 at a sample, and its learning rate."""
        step_variance, noise = self.step_variance(state), jnp.square(self.noise)
        expected = state.sigma1 + step_variance
        precision = 1 / (expected + noise)  # of the prediction
        gain, error = expected * precision, x - state.mu1
        cut = jnp.clip(error, -_LARGEST_ERROR, _LARGEST_ERROR)
        surprise = 0.5 * (_LOG_TWO_PI - log(precision) + cut * cut * precision)
        below = LevelUpdate(step_variance, expected, state.mu1 + gain * error, gain * noise, gain * cut, surprise)
        return below, gain


def _exp(x: Number) -> Array:
    """The exponential, kept where its powers are numbers."""
    return jnp.exp(jnp.clip(x, -_LARGEST_EXPONENT, _LARGEST_EXPONENT))


def _volatility_error(below: LevelUpdate) -> Array:
    """By how much the level below moved more than expected, squared and relative."""
    return (below.variance + below.moved * below.moved) / below.expected_variance - 1


def _enhanced(
    below: LevelUpdate, before: Array, mean: Array, variance: Array, kappa: Number, omega: Number, omega_above: Number
) -> tuple[Array, Array]:
    """Mean and variance of the level above a level that wanders, after an outcome: the enhanced update.

    before: the variance of the level below before its step. mean, variance: of the level above, before the outcome.
    """
    expected = variance + _exp(omega_above)
    share = below.step_variance / below.expected_variance
    mean = mean + 0.5 * kappa * share * _volatility_error(below) * expected
    step_variance = _exp(kappa * mean + omega)
    precision = 1 / (before + step_variance)
    share, rest = step_variance * precision, (step_variance - before) * precision
    error = (below.variance + below.moved * below.moved) * precision - 1
    gained = jnp.maximum(0.5 * jnp.square(kappa) * share * (share + rest * error), 0.0)
    return mean, expected / (1 + expected * gained)

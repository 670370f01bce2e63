"""What would samples look like if a learner's model were right and nothing ever changed?

A parameter is drawn from the learner's prior, and then all samples of a series given that parameter.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from astonish.beliefs import Beta, Dirichlet, Exponential, Gaussian, GaussianVector, NormalGamma, Poisson
from astonish.learner import Learner
from astonish.learners import (
    Bayes,
    Kalman,
    Leaky,
    MessagePassing,
    Modulated,
    Nassar2010,
    Nassar2012,
    NassarGaussian2010,
    NassarGaussian2012,
    ParticleFilter,
    Smile,
    VarSmile,
)

Draw = Callable[[Any, Any, int, np.random.Generator], Any]  # family, prior, how many samples: one series

_BELIEVERS = (Bayes, Leaky, MessagePassing, Modulated, ParticleFilter, Smile, VarSmile)
_NORMAL = (Kalman, NassarGaussian2010, NassarGaussian2012)
_UNIFORM = (Nassar2010, Nassar2012)


def quiet_series(learner: Learner, steps: int, rng: np.random.Generator) -> Any:
    """A series of samples from the learner's own world, in which nothing changes.

    >>> from astonish import Beta, Bayes
    >>> quiet_series(Bayes(Beta()), 5, np.random.default_rng(3)).tolist()
    [1, 0, 0, 0, 0]
    """
    if isinstance(learner, _UNIFORM):
        return rng.normal(rng.uniform(learner.low, learner.high), learner.noise, steps)
    if isinstance(learner, _NORMAL):
        family = Gaussian(learner.noise)
        return _gaussian(family, family.prior(learner.mean, learner.std), steps, rng)
    if not isinstance(learner, _BELIEVERS) or type(learner.family) not in _DRAWS:
        of = f" of {type(learner.family).__name__}" if isinstance(learner, _BELIEVERS) else ""
        raise ValueError(
            f"{type(learner).__name__}{of} does not say how samples come about, so none can be drawn; "
            "give a stretch of samples in which nothing changes to Detector.calibrated"
        )
    prior = learner.family.prior() if learner.prior is None else learner.prior
    return _DRAWS[type(learner.family)](learner.family, prior, steps, rng)


def _gaussian(family: Gaussian, prior: Any, steps: int, rng: np.random.Generator) -> Any:
    return rng.normal(rng.normal(prior.mean, prior.precision**-0.5), family.noise, steps)


def _vector(family: GaussianVector, prior: Any, steps: int, rng: np.random.Generator) -> Any:
    mean = rng.multivariate_normal(prior.mean, np.linalg.inv(prior.precision))
    return rng.multivariate_normal(mean, np.asarray(family.noise), steps)


def _normal_gamma(_: NormalGamma, prior: Any, steps: int, rng: np.random.Generator) -> Any:
    noise = rng.gamma(prior.shape, 1 / prior.scale) ** -0.5
    return rng.normal(rng.normal(prior.mean, noise / prior.weight**0.5), noise, steps)


def _dirichlet(family: Dirichlet, prior: Any, steps: int, rng: np.random.Generator) -> Any:
    return rng.choice(family.size, steps, p=rng.dirichlet(prior.alpha))


def _beta(_: Beta, prior: Any, steps: int, rng: np.random.Generator) -> Any:
    return rng.binomial(1, rng.beta(prior.ones, prior.zeros), steps)


def _poisson(_: Poisson, prior: Any, steps: int, rng: np.random.Generator) -> Any:
    return rng.poisson(rng.gamma(prior.shape, 1 / prior.time), steps)


def _exponential(_: Exponential, prior: Any, steps: int, rng: np.random.Generator) -> Any:
    return rng.exponential(1 / rng.gamma(prior.shape, 1 / prior.time), steps)


_DRAWS: dict[type, Draw] = {
    Gaussian: _gaussian,
    GaussianVector: _vector,
    NormalGamma: _normal_gamma,
    Dirichlet: _dirichlet,
    Beta: _beta,
    Poisson: _poisson,
    Exponential: _exponential,
}

"""Which of our learners are those of Liakoni et al. (2021), in their Gaussian task?

There the mean is drawn anew from N(0, 1) with probability `hazard` before each sample, and a sample is the mean plus
noise of standard deviation `sigma`. Where conventions differ, docs/liakoni2021.md says how they translate.
"""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, NamedTuple

from astonish import Gaussian, Leaky, MessagePassing, ParticleFilter, Smile, VarSmile
from astonish.learners.base import Learner
from astonish.learners.nassar_gaussian import NassarGaussian2010, NassarGaussian2012
from astonish.theory.expfam import Belief
from validation.liakoni2021.published import EXACT


class Case(NamedTuple):
    """A world, and what a learner is given: its parameter, and the seed of its own chance. Of many, arrays."""

    sigma: Any
    hazard: Any
    parameter: Any
    seed: Any

    @property
    def family(self) -> Gaussian:
        return Gaussian(self.sigma)

    @property
    def prior(self) -> Belief:
        """What means are drawn from."""
        return self.family.prior(mean=0.0, std=1.0)

    @property
    def no_prior(self) -> Belief:
        """So wide that it is lost in rounding."""
        return self.family.prior(mean=0.0, std=1e8)


Make = Callable[[Case], Learner]
LEARNERS: Mapping[str, Make] = {
    "MP10": lambda at: MessagePassing(at.family, at.hazard, at.prior, hypotheses=10, merge=False),
    "pf20": lambda at: ParticleFilter(at.family, at.hazard, at.prior, particles=20, seed=at.seed),
    "Nas12*": lambda at: NassarGaussian2012(at.sigma, at.parameter, mean=0.0, std=1.0),
    "Nas10*": lambda at: NassarGaussian2010(at.sigma, at.parameter, mean=0.0, std=1.0),
    "VarSMiLe": lambda at: VarSmile(at.family, at.parameter, at.prior),
    "SMiLe": lambda at: Smile(at.family, at.parameter, at.prior),
    "leaky": lambda at: Leaky(at.family, at.parameter, at.no_prior),
}


def maker(learner: str, sigma: float) -> Make:
    """How a learner is made for worlds with this noise."""
    return exact(enough(sigma)) if learner == EXACT else LEARNERS[learner]


def enough(sigma: float) -> int:
    """So many hypotheses about the last change that the error is that of all of them, to 0.1 standard errors.

    The noisier the samples, the longer it stays uncertain when the mean has changed.

    >>> [enough(sigma) for sigma in (0.1, 1.0, 5.0)]
    [50, 100, 400]
    """
    return int(min(max(100 * sigma, 50), 400))


@cache
def exact(hypotheses: int) -> Make:
    """Exact Bayes, were it not for the number of its hypotheses."""
    return lambda at: MessagePassing(at.family, at.hazard, at.prior, hypotheses=hypotheses, merge=False)

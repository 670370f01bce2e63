"""The delta rules of Nassar et al. for a mean that jumps to where a Gaussian prior says.

Nas10* and Nas12* of Liakoni, Modirshanechi, Gerstner & Brea (2021). The exact belief after a sample has two parts, one
if the mean has stayed and one if it has jumped just before; both learners make one Gaussian of them.
"""

from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from astonish.beliefs import Gaussian, GaussianBelief
from astonish.core.numbers import Number, limits
from astonish.core.parameters import HAZARD, MEAN, NOISE, STD
from astonish.learners.base import StepInfo
from astonish.learners.kalman import GaussianFilter
from astonish.learners.nassar import log_odds, mixture_surprise
from astonish.theory.expfam import bayes, log_evidence


class Fork(NamedTuple):
    """What to believe after a sample if the mean has stayed, what if it has jumped, and how probable each is."""

    stay: GaussianBelief
    jump: GaussianBelief
    stayed: Array
    jumped: Array

    @property
    def mean(self) -> Array:
        return self.stayed * self.stay.mean + self.jumped * self.jump.mean


class GaussianJumps(GaussianFilter):
    """What both learners share: the world in which they learn."""

    noise: Number = NOISE.field()
    hazard: Number = HAZARD.field()
    mean: Number = MEAN.field(about="mean of the values to which it jumps")
    std: Number = STD.field(default=1.0, about="standard deviation of these values")
    free: ClassVar[tuple[str, ...]] = ("hazard",)

    def _fork(self, state: GaussianBelief, x: Number) -> tuple[Fork, StepInfo]:
        """The exact belief after a sample in its two parts, and what the observer wants to know."""
        family, prior = Gaussian(self.noise), self.init()
        stay, jump = log_evidence(family, state, x), log_evidence(family, prior, x)
        odds = jump - stay + log_odds(self.hazard)
        jumped = jax.nn.sigmoid(odds)
        rate = (1 - jumped) * self._gain(state) + jumped * self._gain(prior)
        fork = Fork(bayes(family, state, x), bayes(family, prior, x), jax.nn.sigmoid(-odds), jumped)
        return fork, StepInfo(mixture_surprise(stay, jump, self.hazard), rate, jumped)

    def _gain(self, belief: GaussianBelief) -> Array:
        """The weight that Bayes' rule gives to a sample."""
        return 1 / (1 + belief.precision * jnp.square(self.noise))


class NassarGaussian2010(GaussianJumps):
    """Nas10*: of its two beliefs it averages the precisions, that is, the numbers of samples they rest on.

    The mean jumps with probability `hazard` before each sample, to a value from a normal distribution with this `mean`
    and `std`. It reports Shannon's surprise; its learning rate is the weight of the new sample.
    """

    name: ClassVar[str] = "nassar-gaussian2010"

    def step(self, state: GaussianBelief, x: Number) -> tuple[GaussianBelief, StepInfo]:
        fork, info = self._fork(state, x)
        precision = fork.stayed * fork.stay.precision + fork.jumped * fork.jump.precision
        return GaussianBelief(fork.mean, precision), info


class NassarGaussian2012(GaussianJumps):
    """Nas12*: the mean and the variance of its belief are those of the two parts together.

    Otherwise as `NassarGaussian2010`. A sample that may or may not follow a jump leaves the parts apart, and the
    learner uncertain.
    """

    name: ClassVar[str] = "nassar-gaussian2012"

    def step(self, state: GaussianBelief, x: Number) -> tuple[GaussianBelief, StepInfo]:
        fork, info = self._fork(state, x)
        within = fork.stayed / fork.stay.precision + fork.jumped / fork.jump.precision
        most = 0.1 * limits(within).max ** 0.5  # whose square is still a number
        gap = jnp.clip(fork.stay.mean - fork.jump.mean, -most, most)
        return GaussianBelief(fork.mean, 1 / (within + fork.stayed * fork.jumped * gap**2)), info

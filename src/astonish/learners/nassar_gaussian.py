"""The delta rules of Nassar et al. for a mean that jumps to where a Gaussian prior says.

Nas10* and Nas12* of Liakoni, Modirshanechi, Gerstner & Brea (2021). The exact belief after a sample has two parts, one
if the mean has stayed and one if it has jumped just before; both learners make one Gaussian of them.
"""

from typing import ClassVar

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


class GaussianJumps(GaussianFilter):
    """What both learners share: the world in which they learn, and all of a step but how sure they are after it."""

    noise: Number = NOISE.field()
    hazard: Number = HAZARD.field()
    mean: Number = MEAN.field(about="mean of the values to which it jumps")
    std: Number = STD.field(default=1.0, about="standard deviation of these values")
    free: ClassVar[tuple[str, ...]] = ("hazard",)

    def step(self, state: GaussianBelief, x: Number) -> tuple[GaussianBelief, StepInfo]:
        family, prior = Gaussian(self.noise), self.init()
        if_stayed, if_jumped = log_evidence(family, state, x), log_evidence(family, prior, x)
        odds = if_jumped - if_stayed + log_odds(self.hazard)
        jumped, stayed = jax.nn.sigmoid(odds), jax.nn.sigmoid(-odds)
        gain, first_gain = (1 / (1 + belief.precision * jnp.square(self.noise)) for belief in (state, prior))
        info = StepInfo(
            mixture_surprise(if_stayed, if_jumped, self.hazard), (1 - jumped) * gain + jumped * first_gain, jumped
        )
        stay, jump = bayes(family, state, x), bayes(family, prior, x)
        mean = stayed * stay.mean + jumped * jump.mean
        return GaussianBelief(mean, self._precision(stay, stayed, jump, jumped)), info

    def _precision(self, stay: GaussianBelief, stayed: Array, jump: GaussianBelief, jumped: Array) -> Array:
        """The precision of one belief in place of two, each with its probability."""
        raise NotImplementedError


class NassarGaussian2010(GaussianJumps):
    """Nas10*: of its two beliefs it averages the precisions, that is, the numbers of samples they rest on.

    The mean jumps with probability `hazard` before each sample, to a value from a normal distribution with this `mean`
    and `std`. It reports Shannon's surprise; its learning rate is the weight of the new sample.
    """

    name: ClassVar[str] = "nassar-gaussian2010"

    def _precision(self, stay: GaussianBelief, stayed: Array, jump: GaussianBelief, jumped: Array) -> Array:
        return stayed * stay.precision + jumped * jump.precision


class NassarGaussian2012(GaussianJumps):
    """Nas12*: the mean and the variance of its belief are those of the two parts together.

    Otherwise as `NassarGaussian2010`. A sample that may or may not follow a jump leaves the parts apart, and the
    learner uncertain.
    """

    name: ClassVar[str] = "nassar-gaussian2012"

    def _precision(self, stay: GaussianBelief, stayed: Array, jump: GaussianBelief, jumped: Array) -> Array:
        within = stayed / stay.precision + jumped / jump.precision
        most = 0.1 * limits(within).max ** 0.5  # whose square is still a number
        gap = jnp.clip(stay.mean - jump.mean, -most, most)
        return 1 / (within + stayed * jumped * gap**2)

"""The delta rules of Nassar et al. for a mean that jumps to where a Gaussian prior says.

Nas10* and Nas12* of Liakoni, Modirshanechi, Gerstner & Brea (2021). The exact belief after a sample has two parts, one
if the mean has stayed and one if it has jumped just before; both learners make one Gaussian of them.
"""

from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from astonish.beliefs import Gaussian, GaussianBelief
from astonish.config import config
from astonish.domain import POSITIVE, Domain, parameter
from astonish.expfam import bayes, log_evidence
from astonish.learner import Info
from astonish.learners.nassar import CHANCE, log_odds, mixture_surprise
from astonish.precision import Number, limits


class Fork(NamedTuple):
    """What to believe after a sample if the mean has stayed, what if it has jumped, and how probable each is."""

    stay: GaussianBelief
    jump: GaussianBelief
    stayed: Array
    jumped: Array

    @property
    def mean(self) -> Array:
        return self.stayed * self.stay.mean + self.jumped * self.jump.mean


@config
class NassarGaussian2010:
    """Nas10*: of its two beliefs it averages the precisions, that is, the numbers of samples they rest on.

    The mean jumps with chance `hazard` before each sample, to a value from a normal distribution with this `mean` and
    `std`. It reports Shannon's surprise; its rate is the weight of the new sample in its estimate.
    """

    noise: Number = parameter(default=1.0, domain=POSITIVE)
    hazard: Number = parameter(default=0.1, domain=CHANCE)
    mean: Number = parameter(default=0.0, domain=Domain())
    std: Number = parameter(default=1.0, domain=POSITIVE)
    samples: ClassVar[Domain] = Domain()

    def init(self) -> GaussianBelief:
        return Gaussian(self.noise).prior(self.mean, self.std)

    def step(self, state: GaussianBelief, x: Number) -> tuple[GaussianBelief, Info]:
        fork, info = _fork(Gaussian(self.noise), self.init(), state, x, self.hazard)
        precision = fork.stayed * fork.stay.precision + fork.jumped * fork.jump.precision
        return GaussianBelief(fork.mean, precision), info

    def estimate(self, state: GaussianBelief) -> Array:
        return state.mean


@config
class NassarGaussian2012:
    """Nas12*: the mean and the variance of its belief are those of the two parts together.

    Otherwise as `NassarGaussian2010`. A sample that may or may not follow a jump leaves the parts apart, and the
    learner uncertain.
    """

    noise: Number = parameter(default=1.0, domain=POSITIVE)
    hazard: Number = parameter(default=0.1, domain=CHANCE)
    mean: Number = parameter(default=0.0, domain=Domain())
    std: Number = parameter(default=1.0, domain=POSITIVE)
    samples: ClassVar[Domain] = Domain()

    def init(self) -> GaussianBelief:
        return Gaussian(self.noise).prior(self.mean, self.std)

    def step(self, state: GaussianBelief, x: Number) -> tuple[GaussianBelief, Info]:
        fork, info = _fork(Gaussian(self.noise), self.init(), state, x, self.hazard)
        within = fork.stayed / fork.stay.precision + fork.jumped / fork.jump.precision
        furthest = 0.1 * limits(within).max ** 0.5  # whose square is still a number
        gap = jnp.clip(fork.stay.mean - fork.jump.mean, -furthest, furthest)
        return GaussianBelief(fork.mean, 1 / (within + fork.stayed * fork.jumped * gap**2)), info

    def estimate(self, state: GaussianBelief) -> Array:
        return state.mean


def _fork(
    family: Gaussian, prior: GaussianBelief, state: GaussianBelief, x: Number, hazard: Number
) -> tuple[Fork, Info]:
    """The exact belief in its two parts, and what the observer wants to know."""
    stay, jump = log_evidence(family, state, x), log_evidence(family, prior, x)
    odds = jump - stay + log_odds(hazard)
    jumped = jax.nn.sigmoid(odds)
    rate = (1 - jumped) * _gain(family, state) + jumped * _gain(family, prior)
    fork = Fork(bayes(family, state, x), bayes(family, prior, x), jax.nn.sigmoid(-odds), jumped)
    return fork, Info(mixture_surprise(stay, jump, hazard), rate, jumped)


def _gain(family: Gaussian, belief: GaussianBelief) -> Array:
    """The weight that Bayes' rule gives to a sample."""
    return 1 / (1 + belief.precision * jnp.square(family.noise))

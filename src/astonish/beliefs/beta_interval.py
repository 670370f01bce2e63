"""How likely is a 1, if that probability is known to lie between two ends? A truncated beta distribution.

The kernel is that of a beta belief, `theta^ones (1 - theta)^zeros`, from `low` to `high`, and zero elsewhere. It is
integrated by quadrature over the part of the interval in which it is not negligible: to about twelve digits for any
number of samples, and to seven if an end of the interval is 0 or 1, for which `Beta` is exact.
"""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.random import Generator

from astonish import predictive
from astonish.checks import check_ends
from astonish.config import config
from astonish.domain import NOT_NEGATIVE, PROBABILITY, Domain, Numbers, Parameter, parameter
from astonish.expfam import MeanFamily
from astonish.kinds import OutcomeKind
from astonish.precision import Number, limits, number
from astonish.special import log

_NEGLIGIBLE = 30.0  # the kernel is cut where it is exp(-30) times its largest value
_DRAWN_FROM = 10_001  # so many values of the probability


def _nodes(count: int) -> tuple[Numbers, Numbers]:
    """Nodes and weights of quadrature from 0 to 1: those of Gauss and Legendre, moved towards both ends.

    They are moved because the logarithms in the kernel, and in its derivatives, are steep where an end is near 0 or 1.
    """
    at, weights = np.polynomial.legendre.leggauss(count)
    return 0.5 + at * (3 - at * at) / 4, weights * 0.75 * (1 - at * at)


_NODES, _WEIGHTS = _nodes(48)


class BetaIntervalBelief(NamedTuple):
    """How often 1 and 0 have, in effect, been seen, and the ends between which the probability of a 1 lies."""

    ones: Annotated[Array, NOT_NEGATIVE]
    zeros: Annotated[Array, NOT_NEGATIVE]
    low: Annotated[Array, PROBABILITY]
    high: Annotated[Array, PROBABILITY]

    @property
    def mean(self) -> Array:
        theta, mass, _ = _quadrature(self)
        return _total(mass * theta) / _total(mass)

    @property
    def mode(self) -> Array:
        """Where the density is largest; the lower end as long as nothing has been seen."""
        seen = self.ones + self.zeros
        return jnp.clip(self.ones / jnp.maximum(seen, limits(seen).tiny), self.low, self.high)

    @property
    def std(self) -> Array:
        theta, mass, _ = _quadrature(self)
        return jnp.sqrt(_total(mass * jnp.square(theta - self.mean[..., None])) / _total(mass))


@config
class BetaInterval(MeanFamily):
    """How likely is a 1, if outcomes `x` are 0 or 1, and that probability is known to lie between `low` and `high`?

    For the whole interval from 0 to 1, `Beta` is the same and faster.

    >>> round(float(BetaInterval(0.1, 0.9).prior(ones=1000.0).mean), 3)
    0.899
    """

    low: Number = parameter(0.0, PROBABILITY, (0.0, 0.3), "the smallest that the probability of a 1 can be")
    high: Number = parameter(1.0, PROBABILITY, (0.7, 1.0), "the largest that the probability of a 1 can be")
    name: ClassVar[str] = "beta-interval"
    takes: ClassVar[tuple[str, ...]] = (OutcomeKind.BINARY,)
    samples: ClassVar[Domain] = Domain(0, 1, whole=True)
    prior_parameters: ClassVar[Mapping[str, Parameter]] = {
        "ones": Parameter(NOT_NEGATIVE, (0.0, 10.0), "observations of 1 that come first", 0.0),
        "zeros": Parameter(NOT_NEGATIVE, (0.0, 10.0), "observations of 0 that come first", 0.0),
    }

    def __post_init__(self) -> None:
        check_ends(self.low, self.high, "a probability")

    @property
    def support(self) -> Domain:  # type: ignore[override]  # which depends on the parameters
        return Domain(float(self.low), float(self.high), open=True)

    def prior(self, ones: Number = 0.0, zeros: Number = 0.0) -> BetaIntervalBelief:
        """A belief worth so many observations of 1 and of 0."""
        ends = number(self.low), number(self.high)
        return BetaIntervalBelief(number(ones, "ones", NOT_NEGATIVE), number(zeros, "zeros", NOT_NEGATIVE), *ends)

    def flat(self) -> BetaIntervalBelief:
        return self.prior()

    def likelihood(self, x: Number) -> BetaIntervalBelief:
        return self.prior(x, 1 - jnp.asarray(x))

    def blend(
        self, a: BetaIntervalBelief, u: Number, b: BetaIntervalBelief, v: Number
    ) -> tuple[BetaIntervalBelief, Number]:
        return a._replace(ones=u * a.ones + v * b.ones, zeros=u * a.zeros + v * b.zeros), 0.0

    def log_partition(self, belief: BetaIntervalBelief) -> Array:
        _, mass, log_scale = _quadrature(belief)
        return log_scale + log(_total(mass))

    def predictive_divergence(self, a: BetaIntervalBelief, b: BetaIntervalBelief, x: Number) -> Array:
        before, after = (log(jnp.stack([belief.mean, 1 - belief.mean])) for belief in (a, b))
        return predictive.outcomes(before, after)

    def density(self, belief: BetaIntervalBelief, grid: Any) -> Array:
        inside = (grid >= belief.low) & (grid <= belief.high)
        theta = jnp.where(inside, grid, belief.mode)
        return jnp.where(inside, jnp.exp(_log_kernel(belief, theta, 1 - theta) - self.log_partition(belief)), 0.0)

    def sample(self, belief: BetaIntervalBelief, rng: Generator) -> Any:
        low, high = _relevant_part(belief)
        theta = np.linspace(low, high, _DRAWN_FROM)
        density = np.asarray(self.density(belief, theta))
        below = np.append(0.0, np.cumsum(density[1:] + density[:-1]))
        return np.interp(rng.uniform(0.0, below[-1]), below, theta)

    def sample_outcome(self, theta: float, rng: Generator, steps: int) -> Any:
        return rng.binomial(1, theta, steps)


def _quadrature(belief: BetaIntervalBelief) -> tuple[Array, Array, Array]:
    """Probabilities, the kernel's mass about each, and the logarithm of the factor that is left out of these masses."""
    low, high = (end[..., None] for end in _relevant_part(belief))
    nodes, back, weights = (jnp.asarray(part, low.dtype) for part in (_NODES, _NODES[::-1], _WEIGHTS))
    theta, rest = low + (high - low) * nodes, (1 - high) + (high - low) * back
    mode = belief.mode[..., None]
    top = jax.lax.stop_gradient(_log_kernel(belief, mode, 1 - mode))
    mass = (high - low) * weights * jnp.exp(_log_kernel(belief, theta, rest) - top)
    return theta, mass, top[..., 0]


def _total(mass: Array) -> Array:
    return mass @ jnp.ones(mass.shape[-1], mass.dtype)  # a product, since the compiler adds up one by one


def _log_kernel(belief: BetaIntervalBelief, theta: Array, rest: Array) -> Array:
    """At probabilities `theta = 1 - rest`."""
    log_one, log_zero = (log(jnp.maximum(chance, limits(chance).tiny)) for chance in (theta, rest))
    return belief.ones[..., None] * log_one + belief.zeros[..., None] * log_zero


def _relevant_part(belief: BetaIntervalBelief) -> tuple[Array, Array]:
    """The ends of the part of the interval outside of which the kernel is negligible.

    With theta = sin^2(angle), the second derivative of the log-kernel by the angle is nowhere above -2 (sqrt(ones) +
    sqrt(zeros))^2. Together with its slope at the mode, which is not 0 at an end of the interval, this says how far
    the angle may go from the mode. It moves theta, and the roots of theta and 1 - theta, at most as far as itself.
    The ends that follow are not differentiated: no mass is lost there.
    """
    at = jax.lax.stop_gradient(jax.tree.map(lambda part: jnp.asarray(part, jnp.result_type(float, part)), belief))
    mode, tiny = at.mode, limits(at.mode).tiny
    root, other_root = jnp.sqrt(jnp.maximum(mode, tiny)), jnp.sqrt(jnp.maximum(1 - mode, tiny))
    slope = 2 * jnp.abs(at.ones * other_root / root - at.zeros * root / other_root)
    bend = jnp.square(jnp.sqrt(at.ones) + jnp.sqrt(at.zeros))
    reach = 2 * _NEGLIGIBLE / jnp.maximum(slope + jnp.sqrt(slope * slope + 4 * bend * _NEGLIGIBLE), 1.0)
    low = jnp.maximum(_square(root - reach), jnp.maximum(mode - reach, 1 - _square(other_root + reach)))
    high = jnp.minimum(_square(root + reach), jnp.minimum(mode + reach, 1 - _square(other_root - reach)))
    return jnp.where(low > at.low, low, belief.low), jnp.where(high < at.high, high, belief.high)


def _square(root: Array) -> Array:
    return jnp.square(jnp.maximum(root, 0.0))

"""How likely is a 1, if that probability is known to lie between two ends? A truncated beta distribution.

The kernel is that of a beta belief, `theta^(ones - 1) (1 - theta)^(zeros - 1)`, from `low` to `high`, and zero
elsewhere. It is integrated by quadrature over the part of the interval in which it is not negligible: to about twelve
digits for any number of samples, and to seven if an end of the interval is 0 or 1, for which `Beta` is exact.
"""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.random import Generator

from astonish.beliefs.dirichlet import Beta
from astonish.core.names import OutcomeKind
from astonish.core.numbers import PROBABILITY, Domain, Number, limits, number
from astonish.core.parameters import Parameter, check_ends, parameter
from astonish.core.special import log
from astonish.theory import predictive
from astonish.theory.expfam import MeanFamily, printed

_AT_LEAST_1 = Domain(1.0)  # with less, the density would be infinite at 0 or 1
_NEGLIGIBLE = 30.0  # the kernel is cut where it is exp(-30) times its largest value
_DRAWN_FROM = 10_001  # so many values of the probability
# Quadrature from 0 to 1 by Gauss and Legendre, its nodes moved towards both ends: the logarithms in the kernel, and in
# its derivatives, are steep where an end is near 0 or 1.
_LEGENDRE, _LEGENDRE_WEIGHTS = np.polynomial.legendre.leggauss(48)
_NODES = 0.5 + _LEGENDRE * (3 - _LEGENDRE * _LEGENDRE) / 4
_WEIGHTS = _LEGENDRE_WEIGHTS * 0.75 * (1 - _LEGENDRE * _LEGENDRE)


class BetaIntervalBelief(NamedTuple):
    """A beta distribution (see `BetaBelief`) between the ends `low` and `high`, outside of which it is 0."""

    ones: Annotated[Array, _AT_LEAST_1]
    zeros: Annotated[Array, _AT_LEAST_1]
    low: Annotated[Array, PROBABILITY]
    high: Annotated[Array, PROBABILITY]

    def __repr__(self) -> str:
        return printed(self, lambda exact: exact._asdict())

    @property
    def seen(self) -> tuple[Array, Array]:
        """How often 1 and 0 have, in effect, been seen."""
        return self.ones - 1, self.zeros - 1

    @property
    def mean(self) -> Array:
        theta, mass, _ = _quadrature(self)
        return _total(mass * theta) / _total(mass)

    @property
    def mode(self) -> Array:
        """Where the density is largest; the lower end as long as nothing has been seen."""
        ones, zeros = self.seen
        return jnp.clip(ones / jnp.maximum(ones + zeros, limits(ones).tiny), self.low, self.high)

    @property
    def std(self) -> Array:
        theta, mass, _ = _quadrature(self)
        return jnp.sqrt(_total(mass * jnp.square(theta - self.mean[..., None])) / _total(mass))


class BetaInterval(MeanFamily):
    """How likely is a 1, if outcomes `x` are 0 or 1, and that probability is known to lie between `low` and `high`?

    For the whole interval from 0 to 1, `Beta` is the same and faster.

    >>> round(float(BetaInterval(0.1, 0.9).prior(ones=1001.0).mean), 3)
    0.899
    """

    low: Number = parameter(0.0, PROBABILITY, (0.0, 0.3), "the smallest that the probability of a 1 can be")
    high: Number = parameter(1.0, PROBABILITY, (0.7, 1.0), "the largest that the probability of a 1 can be")
    name: ClassVar[str] = "beta-interval"
    takes: ClassVar[tuple[str, ...]] = (OutcomeKind.BINARY,)
    samples: ClassVar[Domain] = Domain(0, 1, whole=True)
    prior_parameters: ClassVar[Mapping[str, Parameter]] = {
        word: known._replace(domain=_AT_LEAST_1) for word, known in Beta.prior_parameters.items()
    }

    def __post_init__(self) -> None:
        check_ends(self.low, self.high, "a probability")

    @property
    def support(self) -> Domain:  # type: ignore[override]  # which depends on the parameters
        return Domain(float(self.low), float(self.high), open=True)

    def prior(self, *, ones: Number = 1.0, zeros: Number = 1.0) -> BetaIntervalBelief:
        """The beta distribution with these parameters between the two ends: 1 and 1 if nothing has been seen."""
        ends = number(self.low), number(self.high)
        return BetaIntervalBelief(number(ones, "ones", _AT_LEAST_1), number(zeros, "zeros", _AT_LEAST_1), *ends)

    def flat(self) -> BetaIntervalBelief:
        return self.prior()

    def likelihood(self, x: Number) -> BetaIntervalBelief:
        x = jnp.asarray(x)
        return self.prior()._replace(ones=number(1 + x), zeros=number(2 - x))

    def blend(
        self, a: BetaIntervalBelief, u: Number, b: BetaIntervalBelief, v: Number
    ) -> tuple[BetaIntervalBelief, Number]:
        ones, zeros = (1 + u * old + v * new for old, new in zip(a.seen, b.seen, strict=True))
        return a._replace(ones=ones, zeros=zeros), 0.0

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
    log_one, log_zero = (log(jnp.maximum(probability, limits(probability).tiny)) for probability in (theta, rest))
    ones, zeros = belief.seen
    return ones[..., None] * log_one + zeros[..., None] * log_zero


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
    ones, zeros = at.seen
    slope = 2 * jnp.abs(ones * other_root / root - zeros * root / other_root)
    bend = jnp.square(jnp.sqrt(ones) + jnp.sqrt(zeros))
    reach = 2 * _NEGLIGIBLE / jnp.maximum(slope + jnp.sqrt(slope * slope + 4 * bend * _NEGLIGIBLE), 1.0)
    low = jnp.maximum(_square(root - reach), jnp.maximum(mode - reach, 1 - _square(other_root + reach)))
    high = jnp.minimum(_square(root + reach), jnp.minimum(mode + reach, 1 - _square(other_root - reach)))
    return jnp.where(low > at.low, low, belief.low), jnp.where(high < at.high, high, belief.high)


def _square(root: Array) -> Array:
    return jnp.square(jnp.maximum(root, 0.0))

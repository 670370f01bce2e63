"""Von Mises beliefs: in which direction is the mean of angles whose concentration is known?

Mardia & El-Atoum (1976). The kernel is `exp(vector . direction - (sqrt(1 + k^2) - 1))`, where the direction is a unit
vector and `k`, the length of the vector, is the concentration of the belief. Products of powers are sums of vectors.
The second term, which does not depend on the direction, keeps numbers small where beliefs are firm, and everything
smooth where `k = 0`.
"""

import math
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.random import Generator

from astonish.core.names import OutcomeKind
from astonish.core.numbers import FINITE, NOT_NEGATIVE, POSITIVE, Domain, FloatArray, Number, limits, namespace, number
from astonish.core.parameters import CONCENTRATION, PERIOD, Parameter
from astonish.core.special import log, log_bessel_ratio, log_i0_less, log_von_mises, wrapped
from astonish.theory import predictive
from astonish.theory.expfam import Family, log_evidence, printed

_WHOLE = 2 * math.pi


class VonMisesBelief(NamedTuple):
    """A von Mises distribution over the unknown direction.

    cosine, sine: those of the mean direction, times the concentration. period: the whole circle in units of angles.
    """

    cosine: Annotated[Array, FINITE]
    sine: Annotated[Array, FINITE]
    period: Annotated[Array, POSITIVE]

    def __repr__(self) -> str:
        def values(exact: VonMisesBelief) -> dict[str, Any]:
            angle = exact.period / _WHOLE * np.arctan2(exact.sine, exact.cosine)
            return {"mean": angle, "certainty": np.hypot(exact.cosine, exact.sine)}

        return printed(self, values)

    @property
    def concentration(self) -> Array:
        least = 1e8 * limits(self.cosine).tiny  # which cannot be told from 0, but whose root has a direction
        return jnp.sqrt(jnp.maximum(_square(self), least))

    @property
    def mean(self) -> Array:
        """The mean direction, above minus half a period and up to half a period; 0 if all are equally likely."""
        return _angle(self.cosine, self.sine, self.period)

    @property
    def mode(self) -> Array:
        return self.mean

    @property
    def std(self) -> Array:
        """The circular standard deviation, sqrt(-2 ln R) radians: at most 8.5, where R cannot be told from 0."""
        return _deviation(-jnp.expm1(_log_resultant(self)), self.period)


class VonMises(Family):
    """In which direction is the mean of angles `x` that have a von Mises distribution with this `concentration`?

    Angles are in radians unless `period`, the whole circle, says otherwise: 360 for degrees.

    >>> round(float(VonMises(period=360.0).prior(mean=370.0, certainty=2.0).mean), 3)
    10.0
    """

    concentration: Number = CONCENTRATION.field()
    period: Number = PERIOD.field()
    name: ClassVar[str] = "von-mises"
    takes: ClassVar[tuple[str, ...]] = (OutcomeKind.CIRCULAR,)
    samples: ClassVar[Domain] = Domain()
    usual_samples: ClassVar[tuple[float, float]] = (-math.pi, math.pi)
    prior_parameters: ClassVar[Mapping[str, Parameter]] = {
        "mean": Parameter(Domain(), (-math.pi, math.pi), "mean direction of the first belief", 0.0),
        "certainty": Parameter(NOT_NEGATIVE, (0.0, 10.0), "concentration of the first belief; 0 for no opinion", 0.0),
    }

    def prior(self, mean: Number = 0.0, certainty: Number = 0.0) -> VonMisesBelief:
        """A belief with this mean direction and this concentration."""
        certainty = number(certainty, "certainty", NOT_NEGATIVE)
        return self._belief(number(mean, "mean", FINITE), certainty)

    def flat(self) -> VonMisesBelief:
        return VonMisesBelief(jnp.zeros(()), jnp.zeros(()), jnp.asarray(number(self.period)))

    def likelihood(self, x: Number) -> VonMisesBelief:
        return self._belief(number(x), number(self.concentration))

    def blend(self, a: VonMisesBelief, u: Number, b: VonMisesBelief, v: Number) -> tuple[VonMisesBelief, Array]:
        """The misfit is `u r(a) + v r(b) - r(a^u b^v)` for `r = sqrt(1 + k^2) - 1`, ordered such that nothing cancels.

        `r + 1` is the length of a vector with a third component of 1. The square of the sum less the square of the last
        length is divided by the sum of both.
        """
        cosine, sine = u * a.cosine + v * b.cosine, u * a.sine + v * b.sine
        blended = VonMisesBelief(cosine, sine, jnp.asarray(self.period, jnp.result_type(float, cosine)))
        of_a, of_b, of_both = (jnp.sqrt(1 + _square(belief)) for belief in (a, b, blended))
        per = 1 / (of_a * of_b)
        x, y, dx, dy = a.cosine / of_a, a.sine / of_a, (b.cosine - a.cosine), (b.sine - a.sine)
        cosine, sine = (x * b.cosine + y * b.sine) / of_b, (x * dy - y * dx) / of_b
        dx, dy = dx * per, dy * per
        alike = (dx * dx + dy * dy + sine * sine) / (1 + per + jnp.maximum(cosine, 0.0))
        apart = jnp.where(cosine < 0, 1 - per - cosine, alike)  # 1 less the cosine between the vectors
        total, more = u * of_a + v * of_b + of_both, u + v - 1
        return blended, more * ((u + v + 1) / total - 1) + 2 * u * v * apart * (of_a * (of_b / total))

    def log_partition(self, belief: VonMisesBelief) -> Array:
        return log(self.period) + log_i0_less(_square(belief))

    def log_base(self, x: Number) -> Array:
        return -log(self.period) - log_i0_less(jnp.square(self.concentration))

    def error(self, belief: VonMisesBelief, x: Number) -> Array:
        """The way from the mean direction to the sample, at most half the circle."""
        return wrapped(x - belief.mean, self.period)

    def mixture_mean(self, beliefs: VonMisesBelief, weights: Array) -> Array:
        """The direction of the mean vector."""
        per_length = weights * jnp.exp(_log_resultant(beliefs)) / beliefs.concentration
        return _angle(per_length @ beliefs.cosine, per_length @ beliefs.sine, jnp.asarray(self.period))

    def mixture_std(self, beliefs: VonMisesBelief, weights: Array) -> Array:
        """The circular standard deviation, from how much the mean vector is shorter than 1."""
        off = jnp.pi / self.period * (beliefs.mean - self.mixture_mean(beliefs, weights))
        log_resultant = _log_resultant(beliefs)
        short = -jnp.expm1(log_resultant) + 2 * jnp.exp(log_resultant) * jnp.square(jnp.sin(off))
        return _deviation(weights @ short, jnp.asarray(self.period))

    def predicted_std(self, belief: VonMisesBelief, x: Number) -> Array:
        """The circular one: the mean vector is as long as those of direction and of noise about it, multiplied."""
        length = jnp.exp(_log_resultant(belief) + _log_resultant(self.likelihood(x)))
        return _deviation(1 - length, jnp.asarray(self.period))

    def predictive_divergence(self, a: VonMisesBelief, b: VonMisesBelief, x: Number) -> Array:
        width = jnp.sqrt(-2 * (_log_resultant(a) + _log_resultant(self.likelihood(x))))  # of what `a` predicts
        angles, weights = predictive.circle(width)
        xs = a.mean + self.period / _WHOLE * angles
        before, after = (jax.vmap(lambda x, own=own: log_evidence(self, own, x))(xs) for own in (a, b))
        mass = jnp.exp(before) * (self.period / _WHOLE * weights)
        return jnp.maximum(mass @ (before - after), 0.0)

    def density(self, belief: VonMisesBelief, grid: Any) -> Array:
        off = _WHOLE / self.period * (grid - belief.mean)
        return _WHOLE / self.period * jnp.exp(log_von_mises(off, belief.concentration))

    def with_mean(self, belief: VonMisesBelief, mean: Any) -> VonMisesBelief:
        return self._belief(mean, belief.concentration)

    def sample(self, belief: VonMisesBelief, rng: Generator) -> Any:
        unit = float(self.period) / _WHOLE
        return unit * rng.vonmises(float(belief.mean / unit), float(belief.concentration))

    def sample_outcome(self, theta: float, rng: Generator, steps: int) -> FloatArray:
        unit = float(self.period) / _WHOLE
        return unit * rng.vonmises(theta / unit, float(self.concentration), steps)

    def _belief(self, mean: Any, concentration: Any) -> VonMisesBelief:
        period = number(self.period)
        angle = _WHOLE / period * wrapped(mean, period)
        numbers = namespace(angle, concentration)
        period = period + numbers.zeros_like(angle)  # as many as there are directions
        return VonMisesBelief(concentration * numbers.cos(angle), concentration * numbers.sin(angle), period)


def _square(belief: VonMisesBelief) -> Array:
    """The square of the concentration, cut lest it overflow."""
    most = 1e-2 * limits(belief.cosine).max ** 0.5
    cosine, sine = jnp.clip(belief.cosine, -most, most), jnp.clip(belief.sine, -most, most)
    return cosine * cosine + sine * sine


def _angle(cosine: Array, sine: Array, period: Array) -> Array:
    """The direction of a vector; 0, with derivatives of 0, if it has none."""
    size = jax.lax.stop_gradient(jnp.maximum(jnp.abs(cosine), jnp.abs(sine)))
    some = size > limits(cosine).tiny ** 0.5
    size = jnp.where(some, size, 1.0)
    angle = jnp.arctan2(jnp.where(some, sine / size, 0.0), jnp.where(some, cosine / size, 1.0))
    return wrapped(period / _WHOLE * angle, period)


def _log_resultant(belief: VonMisesBelief) -> Array:
    """The logarithm of the length of the mean of unit vectors; at least that of the smallest share."""
    return log_bessel_ratio(jnp.maximum(_square(belief), jnp.square(2 * limits(belief.cosine).eps)))


def _deviation(short: Array, period: Array) -> Array:
    """The circular standard deviation, from how much the mean of unit vectors is shorter than 1."""
    return period / _WHOLE * jnp.sqrt(-2 * jnp.log1p(-jnp.minimum(short, 1 - limits(short).eps)))

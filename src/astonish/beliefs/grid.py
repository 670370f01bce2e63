"""Beliefs over finitely many models: which of them made the sample?

`Grid` takes any likelihood at all, for separate models or for a continuous parameter by quadrature; `finite` is the
grid of models of categorical outcomes. A weight of exactly zero stays zero under Bayes' rule. It is kept as a
log-weight so low that its exponential vanishes: a divergence that is infinite comes out astronomically large, not NaN.
"""

from collections.abc import Callable
from dataclasses import field
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.random import Generator

from astonish import predictive
from astonish.config import config
from astonish.domain import POSITIVE, Domain
from astonish.expfam import Family, log_evidence
from astonish.precision import Number, limits, namespace, number
from astonish.refusal import cannot_simulate
from astonish.special import log


class GridBelief(NamedTuple):
    """The log-density at each point, the points, and the log-width of the cell that each stands for."""

    log_density: Array
    points: Array
    log_width: Array

    @property
    def weights(self) -> Array:
        """The probability of each point."""
        return jax.nn.softmax(self.log_density + self.log_width)

    @property
    def mean(self) -> Array:
        return self.weights @ self.points

    @property
    def mode(self) -> Array:
        return self.points[jnp.argmax(self.log_density)]

    @property
    def std(self) -> Array:
        return jnp.sqrt(self.weights @ (self.points - self.mean) ** 2)


@config
class Grid(Family):
    """Which of these `points` is the parameter, if `log_likelihood(x, points)` is ln p(x | each of them)?

    width: the measure of each point: 1 for separate models; left out, that of the trapezoidal rule on a line.
    domain: which samples the likelihood takes.

    >>> coin = Grid(jnp.array([0.25, 0.75]), lambda x, p: jnp.log(jnp.where(x == 1, p, 1 - p)), width=1.0)
    >>> coin.likelihood(1).mode.item()
    0.75
    """

    points: Array
    log_likelihood: Callable[[Any, Array], Array] = field(metadata={"static": True})
    width: Number | None = None
    domain: Any = field(default=Domain(), metadata={"static": True})
    name: ClassVar[str] = "grid"

    @property
    def samples(self) -> Any:
        return self.domain

    def prior(self, weights: Number | None = None) -> GridBelief:
        """A belief with these probabilities of the points, or with a flat density."""
        if weights is None:
            return self.flat()
        return self._belief(_log_or_lowest(number(weights, "weights", Domain(0.0))) - self._log_width())

    def flat(self) -> GridBelief:
        return self._belief(jnp.zeros(len(self.points)))

    def likelihood(self, x: Any) -> GridBelief:
        return self._belief(self.log_likelihood(x, jnp.asarray(self.points)))

    def blend(self, a: GridBelief, u: Number, b: GridBelief, v: Number) -> tuple[GridBelief, Number]:
        mixed = u * a.log_density + v * b.log_density
        top = jax.lax.stop_gradient(jnp.max(mixed))  # so that what is kept does not drift as samples accumulate
        return self._belief(mixed - top), -top

    def log_partition(self, belief: GridBelief) -> Array:
        cells = belief.log_density + belief.log_width
        top = jax.lax.stop_gradient(jnp.max(cells))
        return top + log(jnp.exp(cells - top).sum())

    def predictive_divergence(self, a: GridBelief, b: GridBelief, x: Any) -> Array | None:
        """Known where the samples are whole numbers between two ends, so that one can go through all of them."""
        all_samples = self._all_samples()
        if all_samples is None:
            return None
        log_chances = jax.vmap(log_evidence, in_axes=(None, None, 0))
        return predictive.outcomes(log_chances(self, a, all_samples), log_chances(self, b, all_samples))

    def density(self, belief: GridBelief, grid: Any = None) -> Array:
        """At the points of the family, whatever the grid; for separate models, their weights."""
        return jnp.exp(belief.log_density - self.log_partition(belief))

    def sample(self, belief: GridBelief, rng: Generator) -> int:
        """The index of a point."""
        return int(rng.choice(len(self.points), p=np.asarray(belief.weights)))

    def sample_outcome(self, theta: int, rng: Generator, steps: int) -> Any:
        """Known where one can go through all samples: see `predictive_divergence`."""
        all_samples = self._all_samples()
        if all_samples is None:
            raise cannot_simulate(type(self).__name__)
        log_chances = jax.vmap(lambda x: self.log_likelihood(x, jnp.asarray(self.points))[theta])(all_samples)
        chances = np.exp(np.asarray(log_chances, np.float64))
        return rng.choice(np.asarray(all_samples), steps, p=chances / chances.sum())

    def _all_samples(self) -> Array | None:
        domain = self.domain
        if not isinstance(domain, Domain) or domain.shape or not domain.is_index or not domain.has_low:
            return None
        return jnp.arange(int(domain.low), int(domain.high) + 1)

    def _belief(self, log_density: Array) -> GridBelief:
        lowest = _lowest(log_density)
        kept = namespace(log_density).where(log_density > lowest, log_density, lowest)
        return GridBelief(kept, number(self.points), self._log_width())

    def _log_width(self) -> Array:
        points = number(self.points)
        if self.width is not None:
            return namespace(self.width).log(number(self.width, "width", POSITIVE)) + np.zeros(len(points))
        xp = namespace(points)
        half_gaps = xp.diff(points) / 2
        return xp.log(xp.append(half_gaps, 0) + xp.append(0, half_gaps))


def finite(models: Number) -> Grid:
    """Separate models of a categorical outcome: `models[k, x]` is p(outcome x | model k).

    >>> finite([[0.9, 0.1], [0.5, 0.5]]).prior([1.0, 0.0]).weights.tolist()
    [1.0, 0.0]
    """
    models = number(models)
    return Grid(models, _log_probability, width=1.0, domain=Domain(0, models.shape[1] - 1, whole=True))


def _log_probability(x: Number, models: Array) -> Array:
    return _log_or_lowest(models[:, x])


def _log_or_lowest(weights: Array) -> Array:
    xp = namespace(weights)
    return xp.where(weights > 0, xp.log(xp.where(weights > 0, weights, 1.0)), _lowest(weights))


def _lowest(like: Array) -> Array:
    return -(limits(like).max ** 0.48)

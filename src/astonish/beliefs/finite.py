"""Beliefs over finitely many models: which of them made the sample?

`Grid` takes any likelihood at all, for separate models or for a continuous parameter by quadrature; `finite` is the
grid of models of categorical outcomes. A weight of exactly zero stays zero under Bayes' rule. It is kept as a
log-weight so low that its exponential vanishes: a divergence that is infinite comes out astronomically large, not NaN.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from astonish.domain import Domain
from astonish.precision import Number, limits, number
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


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Grid:
    """A parameter known to be at (or near) one of `points`; `log_likelihood(x, points)` gives ln p(x | each of them).

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
    one_sample_is_enough: ClassVar[bool] = True

    @property
    def samples(self) -> Any:
        return self.domain

    def prior(self, weights: Number | None = None) -> GridBelief:
        """A belief with these probabilities of the points, or with a flat density."""
        flat = self.flat()
        return flat if weights is None else self._belief(_log_or_lowest(number(weights)) - flat.log_width)

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

    def log_base(self, x: Any) -> Array:
        return jnp.zeros(())

    def _belief(self, log_density: Array) -> GridBelief:
        points = jnp.asarray(self.points)
        half_gaps = jnp.diff(points) / 2 if self.width is None else 0
        width = jnp.append(half_gaps, 0) + jnp.append(0, half_gaps) if self.width is None else self.width
        log_width = jnp.broadcast_to(log(jnp.asarray(width)), points.shape[:1])
        lowest = _lowest(log_density)
        return GridBelief(jnp.where(log_density > lowest, log_density, lowest), points, log_width)


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
    return jnp.where(weights > 0, log(jnp.where(weights > 0, weights, 1.0)), _lowest(weights))


def _lowest(like: Array) -> Array:
    return -(limits(like).max ** 0.48)

"""Beliefs over finitely many models: which of them made the sample?

`Grid` takes any likelihood at all, for separate models or for a continuous parameter by quadrature; `finite` is the
grid of models of categorical outcomes. A weight of exactly zero stays zero under Bayes' rule. It is kept as a
log-weight so low that its exponential vanishes: a divergence that is infinite comes out astronomically large, not NaN.
"""

from collections.abc import Callable
from dataclasses import field
from typing import Annotated, Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.core import Tracer
from numpy.random import Generator

from astonish.core.numbers import (
    FINITE,
    NOT_NEGATIVE,
    POSITIVE,
    PROBABILITY,
    Domain,
    Number,
    double,
    limits,
    namespace,
    number,
    vector,
)
from astonish.core.programs import interpreted
from astonish.core.refusal import cannot_simulate
from astonish.core.special import log
from astonish.theory import predictive
from astonish.theory.expfam import Family, log_evidence, log_mass


class GridBelief(NamedTuple):
    """The log-density at each point, the points, and the log-width of the cell that each stands for."""

    log_density: Annotated[Array, FINITE]
    points: Annotated[Array, FINITE]
    log_width: Annotated[Array, FINITE]

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

    def __post_init__(self) -> None:
        object.__setattr__(self, "points", number(self.points, "points", FINITE))
        if np.ndim(self.points) == 0 or len(self.points) < 2:
            raise ValueError(f"points = {self.points} are too few; give at least two")
        if self.width is None and not isinstance(self.points, Tracer):  # they have to be on a line, and in order
            points = np.asarray(self.points)
            if points.ndim > 1:
                raise ValueError(f"points have shape {points.shape}; give numbers, or a width")
            at = int(np.argmin(np.diff(points)))
            if points[at] >= points[at + 1]:
                wrong = f"points {points[at]:g} and {points[at + 1]:g} do not go up"
                raise ValueError(f"{wrong}; give numbers from the smallest to the largest, or a width")
        if not callable(self.log_likelihood):
            raise ValueError(f"log_likelihood = {self.log_likelihood!r} is no function; give one of x and points")
        if not all(isinstance(part, Domain) for part in jax.tree.leaves(self.domain)):
            raise ValueError(f"domain = {self.domain!r} is not allowed; give a Domain, or a tuple of them")

    def check_parts(self) -> None:
        """Try the likelihood of a sample that may come; minus infinity, for what is impossible, is allowed."""
        if self.width is not None:
            number(self.width, "width", POSITIVE)
        with double():
            x = jax.tree.map(Domain.any_sample, self.domain)
            log_likelihood = _likelihood(self, x)
        if np.shape(log_likelihood) != (len(self.points),):
            wrong = f"log_likelihood gives an array of shape {np.shape(log_likelihood)}"
            raise ValueError(f"{wrong}; give a number for each of the {len(self.points)} points")
        if not isinstance(log_likelihood, Tracer) and (odd := ~(np.asarray(log_likelihood) < np.inf)).any():
            wrong = f"log_likelihood gives {np.asarray(log_likelihood)[odd][0]:g} for the sample {x}"
            raise ValueError(f"{wrong}; give finite numbers, or minus infinity where it is impossible")

    @property
    def samples(self) -> Any:
        return self.domain

    def prior(self, weights: Number | None = None) -> GridBelief:
        """A belief with these probabilities of the points, or with a flat density."""
        if weights is None:
            return self.flat()
        weights = number(weights, "weights", NOT_NEGATIVE)
        if np.shape(weights)[-1:] != (len(self.points),):
            raise ValueError(f"weights have shape {np.shape(weights)}; give one for each of {len(self.points)} points")
        if not isinstance(weights, Tracer) and not np.asarray(weights).any(axis=-1).all():
            raise ValueError(f"weights = {weights} are all 0; give at least one above 0")
        return self._belief(_log_or_lowest(weights) - self._log_width())

    def flat(self) -> GridBelief:
        return self._belief(namespace(self.points).zeros(len(self.points)))

    def likelihood(self, x: Any) -> GridBelief:
        return self._belief(self.log_likelihood(x, jnp.asarray(self.points)))

    def blend(self, a: GridBelief, u: Number, b: GridBelief, v: Number) -> tuple[GridBelief, Number]:
        mixed = u * a.log_density + v * b.log_density
        top = jax.lax.stop_gradient(jnp.max(mixed))  # so that what is kept does not drift as samples accumulate
        return self._belief(mixed - top), -top

    def log_mass_near(self, a: GridBelief, u: Number, b: GridBelief, v: Number) -> Array:
        return log_mass(self, _from_top(a), u, _from_top(b), v)

    def log_partition(self, belief: GridBelief) -> Array:
        cells = belief.log_density + belief.log_width
        top = jax.lax.stop_gradient(jnp.max(cells))
        return top + log(jnp.exp(cells - top).sum())

    def predictive_divergence(self, a: GridBelief, b: GridBelief, x: Any) -> Array | None:
        """Known where the samples are whole numbers between two ends, so that one can go through all of them."""
        all_samples = self._all_samples()
        if all_samples is None:
            return None
        log_probabilities = jax.vmap(log_evidence, in_axes=(None, None, 0))
        return predictive.outcomes(log_probabilities(self, a, all_samples), log_probabilities(self, b, all_samples))

    def density(self, belief: GridBelief, grid: Any = None) -> Array:
        """At the points of the family, whatever the grid; for separate models, their weights."""
        return jnp.exp(belief.log_density - self.log_partition(belief))

    def weights(self, belief: GridBelief) -> Array:
        return belief.weights

    def sample(self, belief: GridBelief, rng: Generator) -> int:
        """The index of a point."""
        return int(rng.choice(len(self.points), p=np.asarray(belief.weights)))

    def sample_outcome(self, theta: int, rng: Generator, steps: int) -> Any:
        """Known where one can go through all samples: see `predictive_divergence`."""
        all_samples = self._all_samples()
        if all_samples is None:
            raise cannot_simulate(type(self).__name__)
        log_probabilities = jax.vmap(lambda x: self.log_likelihood(x, jnp.asarray(self.points))[theta])(all_samples)
        probabilities = np.exp(np.asarray(log_probabilities, np.float64))
        return rng.choice(np.asarray(all_samples), steps, p=probabilities / probabilities.sum())

    def _all_samples(self) -> Array | None:
        domain = self.domain
        if not isinstance(domain, Domain) or domain.shape or not domain.is_index or not domain.has_low:
            return None
        return jnp.arange(int(domain.low), int(domain.high) + 1)

    def _belief(self, log_density: Array) -> GridBelief:
        lowest = _lowest(log_density)
        kept = namespace(log_density).where(log_density <= lowest, lowest, log_density)
        return GridBelief(kept, number(self.points), self._log_width())

    def _log_width(self) -> Array:
        points = number(self.points)
        if self.width is not None:
            log_width = namespace(self.width).log(number(self.width, "width", POSITIVE))
            return vector(log_width, len(points), "width")
        xp = namespace(points)
        half_gaps = xp.diff(points) / 2
        return xp.log(xp.append(half_gaps, 0) + xp.append(0, half_gaps))


def finite(models: Number) -> Grid:
    """Separate models of a categorical outcome: `models[k, x]` is p(outcome x | model k).

    >>> finite([[0.9, 0.1], [0.5, 0.5]]).prior([1.0, 0.0]).weights.tolist()
    [1.0, 0.0]
    """
    models = number(models, "models", PROBABILITY)
    if np.ndim(models) != 2:
        raise ValueError(f"models have shape {np.shape(models)}; give a row of probabilities for each model")
    sums = models.sum(axis=1)
    if not isinstance(models, Tracer) and not np.allclose(sums, 1.0):
        odd = int(np.argmax(np.abs(np.asarray(sums) - 1)))
        raise ValueError(f"the probabilities of model {odd} sum to {sums[odd]:g}; give numbers that sum to 1")
    return Grid(models, _log_probability, width=1.0, domain=Domain(0, models.shape[1] - 1, whole=True))


_likelihood = interpreted(lambda family, x: family.log_likelihood(x, jnp.asarray(family.points)))


def _log_probability(x: Number, models: Array) -> Array:
    return _log_or_lowest(models[:, x])


def _from_top(belief: GridBelief) -> GridBelief:
    """The same belief, its log-density measured from the largest."""
    return belief._replace(log_density=belief.log_density - jax.lax.stop_gradient(jnp.max(belief.log_density)))


def _log_or_lowest(weights: Array) -> Array:
    xp = namespace(weights)
    return xp.where(weights > 0, xp.log(xp.where(weights > 0, weights, 1.0)), _lowest(weights))


def _lowest(like: Array) -> Array:
    return -(limits(like).max ** 0.48)

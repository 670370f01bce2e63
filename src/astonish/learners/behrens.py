"""How likely is a 1, how fast does that change, and does the pace of change itself vary?

The Bayesian learner of Behrens, Woolrich, Walton & Rushworth (2007), which computes with all combinations of a grid of
values: of the probability of a 1, of its volatility, and of how much the volatility varies.
"""

from functools import cache
from typing import Annotated, Any, ClassVar, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.random import Generator

from astonish.core.numbers import COUNT, NOT_NEGATIVE, Domain, FloatArray, Number
from astonish.core.parameters import parameter
from astonish.core.special import log
from astonish.learners.base import BinaryLearner, StepInfo

_LOG_PRECISIONS = np.log(10_000.0), np.log(2.0)  # from the least volatile to the most volatile
_CHANGES = np.log(5e-4), np.log(20.0)


class JointGrid(NamedTuple):
    """How probable each combination is: by probability of a 1, volatility, and change of the volatility."""

    weights: Annotated[Array, NOT_NEGATIVE]


class Behrens2007(BinaryLearner):
    """Exact inference on a grid, for outcomes 0 and 1. Nothing has to be fitted: only the grid may be finer or coarser.

    Before each sample, the volatility v takes a normal step with standard deviation exp(k). Then the probability r of
    a 1 is drawn anew from the beta distribution whose mode is the last r and whose precision is exp(-v), that is
    Beta(1 + r exp(-v), 1 + (1 - r) exp(-v)). What varies is v and r; k is a constant that is learned as well. The
    grid is that of the authors: v from -ln 10,000 to -ln 2, k from ln 0.0005 to ln 20, and at first everything is
    equally probable. With `changes = 1` k is known: it is the middle of its range.

    It reports Shannon's surprise; its learning rate is the share of the error by which the expected r moves.
    """

    probabilities: int = parameter(
        25, Domain(2, whole=True), (10, 50), "how many values of the probability", static=True
    )
    volatilities: int = parameter(15, Domain(2, whole=True), (5, 45), "how many values of the volatility", static=True)
    changes: int = parameter(8, COUNT, (1, 50), "how many values of the volatility's own change", static=True)
    name: ClassVar[str] = "behrens2007"
    meanings: ClassVar[dict[str, str]] = {"volatility": "expected volatility v, a logarithm, after the outcome"}

    def init(self) -> JointGrid:
        shape = self.probabilities, self.volatilities, self.changes
        return JointGrid(jnp.full(shape, 1 / np.prod(shape), jnp.result_type(float)))

    def step(self, state: JointGrid, x: Number) -> tuple[JointGrid, StepInfo]:
        values, steps_of_v, steps_of_r = (
            jnp.asarray(table, state.weights.dtype)
            for table in _tables(self.probabilities, self.volatilities, self.changes)
        )
        walked = jnp.einsum("rvk,vwk->rwk", state.weights, steps_of_v)
        expected = jnp.einsum("rwk,rqw->qwk", walked, steps_of_r)
        probabilities = expected.sum((1, 2))
        mean = values @ probabilities
        variance = jnp.square(values - mean) @ probabilities
        likelihood = jnp.where(x == 1, values, 1 - values)
        joint = likelihood[:, None, None] * expected
        predicted = likelihood @ probabilities
        rate = jnp.clip(variance / (mean * (1 - mean)), 0.0, 1.0)
        return JointGrid(joint / joint.sum()), StepInfo(-log(predicted), rate)

    def estimate(self, state: JointGrid) -> Array:
        return state.weights.sum((-1, -2)) @ _probabilities(self.probabilities)

    def uncertainty(self, state: JointGrid) -> Array:
        off = _probabilities(self.probabilities) - self.estimate(state)
        return jnp.sqrt(state.weights.sum((-1, -2)) @ jnp.square(off))

    def quantities(self, state: JointGrid, new: JointGrid, x: Number) -> dict[str, Array]:
        return {"volatility": self.volatility(new)}

    def volatility(self, state: JointGrid) -> Array:
        """The expected volatility v, a logarithm."""
        return state.weights.sum((-3, -1)) @ _volatilities(self.volatilities)

    def simulate(self, rng: Generator, steps: int) -> Any:
        return rng.binomial(1, rng.choice(_probabilities(self.probabilities)), steps)


def _probabilities(count: int) -> FloatArray:
    return (np.arange(count) + 0.5) / count


def _volatilities(count: int) -> FloatArray:
    return -np.linspace(*_LOG_PRECISIONS, count)


@cache
def _tables(probabilities: int, volatilities: int, changes: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The values of r, p(next v | v, k) as [v, next v, k], and p(next r | r, next v) as [r, next r, next v]."""
    r, v = _probabilities(probabilities), _volatilities(volatilities)
    k = np.linspace(*_CHANGES, changes) if changes > 1 else np.array([0.5 * sum(_CHANGES)])
    steps = (v[:, None, None] - v[None, :, None]) / np.exp(k)
    precision = np.exp(-v)
    log_beta = precision * (r[:, None, None] * np.log(r)[:, None] + (1 - r)[:, None, None] * np.log1p(-r)[:, None])
    return r, _normalised(-0.5 * steps**2), _normalised(log_beta)


def _normalised(log_table: FloatArray) -> FloatArray:
    """Probabilities that sum to 1 along the second axis."""
    table = np.exp(log_table - log_table.max(1, keepdims=True))
    return table / table.sum(1, keepdims=True)

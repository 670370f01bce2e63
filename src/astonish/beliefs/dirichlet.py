"""Dirichlet and beta beliefs: which of several outcomes comes next?"""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jax.scipy.special import xlog1py, xlogy
from numpy.random import Generator

from astonish.core.names import OutcomeKind
from astonish.core.numbers import OPEN_PROBABILITY, POSITIVE, Domain, FloatArray, Number, limits, number, vector
from astonish.core.parameters import REQUIRED, Parameter, parameter
from astonish.core.special import log, log_gamma
from astonish.theory import predictive
from astonish.theory.expfam import Family, MeanFamily, linear, printed

_CERTAIN = 1e-3  # an answer closer to 0 or 1 than this is not the mean of a belief about a probability


class DirichletBelief(NamedTuple):
    """`alpha[k] - 1` is how often outcome `k` has, in effect, been seen."""

    alpha: Annotated[Array, POSITIVE]

    def __repr__(self) -> str:
        return printed(self, lambda exact: {"alpha": exact.alpha})

    @property
    def mean(self) -> Array:
        return self.alpha / self.alpha.sum(-1, keepdims=True)

    @property
    def mode(self) -> Array:
        """Where the density is largest (section 4.11); the same for all outcomes as long as none has been seen."""
        seen = jnp.maximum(self.alpha - 1, 0) + limits(self.alpha).eps
        total = seen @ jnp.ones(seen.shape[-1], seen.dtype)  # a product, since the compiler adds up one by one
        return seen * (1 / total)[..., None]

    @property
    def std(self) -> Array:
        return jnp.sqrt(self.mean * (1 - self.mean) / (1 + self.alpha.sum(-1, keepdims=True)))


class Dirichlet(Family):
    """How likely is each of the outcomes `x` in `0 .. size - 1` (section 4.11)?

    >>> Dirichlet(3).likelihood(1).alpha.tolist()
    [1.0, 2.0, 1.0]
    """

    size: int = parameter(REQUIRED, Domain(2, whole=True), (2, 20), "how many outcomes there are", static=True)
    name: ClassVar[str] = "dirichlet"
    search_steps: ClassVar[int] = 4
    takes: ClassVar[tuple[str, ...]] = (OutcomeKind.CATEGORICAL, OutcomeKind.TRANSITIONS)
    prior_parameters: ClassVar[Mapping[str, Parameter]] = {
        "alpha": Parameter(POSITIVE, (1.0, 11.0), "1, and one more for each observation that comes first", 1.0)
    }

    @property
    def samples(self) -> Domain:
        return Domain(0, self.size - 1, whole=True)

    def prior(self, *, alpha: Number = 1.0) -> DirichletBelief:
        """The belief with this `alpha`: one number, or one per outcome."""
        return DirichletBelief(vector(alpha, self.size, "alpha", POSITIVE))

    def flat(self) -> DirichletBelief:
        return DirichletBelief(jnp.ones(self.size))

    def likelihood(self, x: Number) -> DirichletBelief:
        return DirichletBelief(1 + jax.nn.one_hot(x, self.size))

    def log_partition(self, belief: DirichletBelief) -> Array:
        return self._log_partition(belief, belief.alpha.sum())

    def log_mass_near(self, a: DirichletBelief, u: Number, b: DirichletBelief, v: Number) -> Array:
        """Here all of it. The sum of a blend comes from those of both beliefs, which a search then adds up once."""
        total = u * a.alpha.sum() + v * b.alpha.sum() + (1 - u - v) * self.size
        return self._log_partition(linear(self.flat(), a, u, b, v)[0], total)

    def _log_partition(self, belief: DirichletBelief, total: Array) -> Array:
        return jax.lax.platform_dependent(belief.alpha, total, cpu=_all_at_once, default=_filled_up)

    def predictive_divergence(self, a: DirichletBelief, b: DirichletBelief, x: Number) -> Array:
        return predictive.outcomes(log(a.mean), log(b.mean))

    def weights(self, belief: DirichletBelief) -> Array:
        return belief.mean

    def sample(self, belief: DirichletBelief, rng: Generator) -> FloatArray:
        return rng.dirichlet(belief.alpha)

    def sample_outcome(self, theta: FloatArray, rng: Generator, steps: int) -> Any:
        return rng.choice(self.size, steps, p=theta)


def _all_at_once(alpha: Array, total: Array) -> Array:
    """The logarithm of the beta function: all gamma functions in one vector, as a processor computes them fastest."""
    signs = jnp.append(jnp.ones(len(alpha)), -1).astype(jnp.result_type(float, alpha))
    return log_gamma(jnp.append(alpha, total)) @ signs


def _filled_up(alpha: Array, total: Array) -> Array:
    """The same, from a vector that is not joined from two: joining would be another program for an accelerator."""
    at = jnp.arange(len(alpha) + 1)
    every = jnp.where(at < len(alpha), jnp.pad(alpha, (0, 1)), total)
    return log_gamma(every) @ jnp.where(at < len(alpha), 1.0, -1.0).astype(every.dtype)


class BetaBelief(NamedTuple):
    """`ones - 1` and `zeros - 1` are how often each outcome has, in effect, been seen."""

    ones: Annotated[Array, POSITIVE]
    zeros: Annotated[Array, POSITIVE]

    def __repr__(self) -> str:
        return printed(self, lambda exact: {"ones": exact.ones, "zeros": exact.zeros})

    @property
    def mean(self) -> Array:
        return self.ones / (self.ones + self.zeros)

    @property
    def mode(self) -> Array:
        return DirichletBelief(jnp.stack([self.ones, self.zeros])).mode[0]

    @property
    def std(self) -> Array:
        return jnp.sqrt(self.mean * (1 - self.mean) / (1 + self.ones + self.zeros))


class Beta(MeanFamily):
    """How likely is a 1, if outcomes `x` are 0 or 1?

    >>> Beta().prior(ones=9.0, zeros=1.0).mean.item()
    0.9
    """

    name: ClassVar[str] = "beta"
    takes: ClassVar[tuple[str, ...]] = (OutcomeKind.BINARY,)
    samples: ClassVar[Domain] = Domain(0, 1, whole=True)
    support: ClassVar[Domain | None] = OPEN_PROBABILITY
    prior_parameters: ClassVar[Mapping[str, Parameter]] = {
        "ones": Parameter(POSITIVE, (1.0, 11.0), "1, and one more for each observation of 1 that comes first", 1.0),
        "zeros": Parameter(POSITIVE, (1.0, 11.0), "1, and one more for each observation of 0 that comes first", 1.0),
    }

    def prior(self, *, ones: Number = 1.0, zeros: Number = 1.0) -> BetaBelief:
        """The beta distribution with these parameters: 1 and 1 if nothing has been seen."""
        return BetaBelief(number(ones, "ones", POSITIVE), number(zeros, "zeros", POSITIVE))

    def flat(self) -> BetaBelief:
        return self.prior()

    def likelihood(self, x: Number) -> BetaBelief:
        x = jnp.asarray(x)
        return BetaBelief(number(1 + x), number(2 - x))

    def log_partition(self, belief: BetaBelief) -> Array:
        log_gammas = log_gamma(jnp.stack([belief.ones, belief.zeros, belief.ones + belief.zeros]))
        return log_gammas[0] + log_gammas[1] - log_gammas[2]

    def predictive_divergence(self, a: BetaBelief, b: BetaBelief, x: Number) -> Array:
        probabilities = (jnp.stack([belief.ones, belief.zeros]) / (belief.ones + belief.zeros) for belief in (a, b))
        return predictive.outcomes(*map(log, probabilities))

    def density(self, belief: BetaBelief, grid: Any) -> Array:
        log_kernel = xlogy(belief.ones - 1, grid) + xlog1py(belief.zeros - 1, -grid)
        return jnp.exp(log_kernel - self.log_partition(belief))

    def with_mean(self, belief: BetaBelief, mean: Any) -> BetaBelief:
        mean, total = jnp.clip(mean, _CERTAIN, 1 - _CERTAIN), belief.ones + belief.zeros
        return BetaBelief(mean * total, (1 - mean) * total)

    def sample(self, belief: BetaBelief, rng: Generator) -> Any:
        return rng.beta(belief.ones, belief.zeros)

    def sample_outcome(self, theta: float, rng: Generator, steps: int) -> Any:
        return rng.binomial(1, theta, steps)

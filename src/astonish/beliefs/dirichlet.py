"""Dirichlet and beta beliefs: which of several outcomes comes next?"""

from dataclasses import field
from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from astonish import predictive
from astonish.config import config
from astonish.domain import Domain
from astonish.expfam import dtype_of, linear
from astonish.precision import Number, limits, number
from astonish.special import log, log_gamma

_SEEN = Domain(-1.0, open=True)


class DirichletBelief(NamedTuple):
    """`alpha[k] - 1` is how often outcome `k` has, in effect, been seen."""

    alpha: Array

    @property
    def mean(self) -> Array:
        return self.alpha / self.alpha.sum(-1, keepdims=True)

    @property
    def mode(self) -> Array:
        """Where the density is largest (section 4.11); all outcomes alike as long as none has been seen."""
        seen = jnp.maximum(self.alpha - 1, 0) + limits(self.alpha).eps
        total = seen @ jnp.ones(seen.shape[-1], seen.dtype)  # a product, since the compiler adds up one by one
        return seen * (1 / total)[..., None]

    @property
    def std(self) -> Array:
        return jnp.sqrt(self.mean * (1 - self.mean) / (1 + self.alpha.sum(-1, keepdims=True)))


@config
class Dirichlet:
    """Conjugate to a categorical outcome `x` in `0 .. size - 1` (section 4.11).

    >>> Dirichlet(3).likelihood(1).alpha.tolist()
    [1.0, 2.0, 1.0]
    """

    size: int = field(metadata={"static": True, "domain": Domain(2, whole=True)})
    one_sample_is_enough: ClassVar[bool] = True

    @property
    def samples(self) -> Domain:
        return Domain(0, self.size - 1, whole=True)

    def prior(self, seen: Number = 0.0) -> DirichletBelief:
        """A belief worth `seen` observations (above -1) of each outcome: one number, or one per outcome."""
        return DirichletBelief(number(seen, "seen", _SEEN) + np.ones(self.size))

    def flat(self) -> DirichletBelief:
        return DirichletBelief(jnp.ones(self.size))

    def likelihood(self, x: Number) -> DirichletBelief:
        return DirichletBelief(1 + jax.nn.one_hot(x, self.size))

    def blend(self, a: DirichletBelief, u: Number, b: DirichletBelief, v: Number) -> tuple[DirichletBelief, Number]:
        return linear(self.flat(), a, u, b, v)

    def log_partition(self, belief: DirichletBelief) -> Array:
        signs = jnp.append(jnp.ones(self.size), -1).astype(dtype_of(belief))
        return log_gamma(jnp.append(belief.alpha, belief.alpha.sum())) @ signs

    def log_base(self, x: Number) -> Array:
        return jnp.zeros(())

    def error(self, belief: DirichletBelief, x: Number) -> None:
        return None

    def predictive_divergence(self, a: DirichletBelief, b: DirichletBelief, x: Number) -> Array:
        return predictive.outcomes(log(a.mean), log(b.mean))


class BetaBelief(NamedTuple):
    """`ones - 1` and `zeros - 1` are how often each outcome has, in effect, been seen."""

    ones: Array
    zeros: Array

    @property
    def mean(self) -> Array:
        return self.ones / (self.ones + self.zeros)

    @property
    def mode(self) -> Array:
        return DirichletBelief(jnp.stack([self.ones, self.zeros])).mode[0]

    @property
    def std(self) -> Array:
        return jnp.sqrt(self.mean * (1 - self.mean) / (1 + self.ones + self.zeros))


@config
class Beta:
    """Conjugate to an outcome `x` that is 0 or 1: how likely is a 1?

    >>> Beta().prior(ones=8.0, zeros=0.0).mean.item()
    0.9
    """

    one_sample_is_enough: ClassVar[bool] = True
    samples: ClassVar[Domain] = Domain(0, 1, whole=True)

    def prior(self, ones: Number = 0.0, zeros: Number = 0.0) -> BetaBelief:
        """A belief worth so many (above -1) observations of 1 and of 0."""
        return BetaBelief(1 + number(ones, "ones", _SEEN), 1 + number(zeros, "zeros", _SEEN))

    def flat(self) -> BetaBelief:
        return self.prior()

    def likelihood(self, x: Number) -> BetaBelief:
        return self.prior(x, 1 - jnp.asarray(x))

    def blend(self, a: BetaBelief, u: Number, b: BetaBelief, v: Number) -> tuple[BetaBelief, Number]:
        return linear(self.flat(), a, u, b, v)

    def log_partition(self, belief: BetaBelief) -> Array:
        each = log_gamma(jnp.stack([belief.ones, belief.zeros, belief.ones + belief.zeros]))
        return each[0] + each[1] - each[2]

    def log_base(self, x: Number) -> Array:
        return jnp.zeros(())

    def error(self, belief: BetaBelief, x: Number) -> Array:
        return x - belief.mean

    def predictive_divergence(self, a: BetaBelief, b: BetaBelief, x: Number) -> Array:
        chances = (jnp.stack([belief.ones, belief.zeros]) / (belief.ones + belief.zeros) for belief in (a, b))
        return predictive.outcomes(*map(log, chances))

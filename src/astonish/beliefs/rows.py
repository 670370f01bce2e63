"""A belief for each of several contexts, as one belief: how likely is each step from one label to the next?

A sample is about one row alone, but a learner changes all of them: it forgets, or suspects a change, in all rows at
every sample, as the ideal observers of transition probabilities of Meyniel, Maheu & Dehaene (2016) do.
"""

from typing import Annotated, Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.random import Generator

from astonish.core.numbers import COUNT, Domain, Number, namespace
from astonish.core.parameters import REQUIRED, parameter
from astonish.theory.expfam import Belief, Family

_NOT_YET = -1.0


class RowsBelief(NamedTuple):
    """A belief for each context, stacked, and the context of the last sample: -1 as long as there was none."""

    rows: Belief
    context: Annotated[Array, Domain(_NOT_YET, whole=True)]

    @property
    def mean(self) -> Array:
        """In the context of the last sample."""
        return _row(self, self.context).mean

    @property
    def mode(self) -> Array:
        return _row(self, self.context).mode

    @property
    def std(self) -> Array:
        return _row(self, self.context).std


class Rows(Family):
    """A belief of the same `family` for each context. Samples are pairs (context, x), as those of `PerContext`.

    `Leaky(Rows(Dirichlet(3), 3))` forgets in all contexts together; in `PerContext(Leaky(Dirichlet(3)), 3)` only the
    context of a sample forgets. The mean is that in the context of the last sample. The learning rates of learners
    that count samples are shares in the evidence about all contexts.

    One sample says nothing about the other contexts, so the scaled likelihood is improper: give learners a `reference`.

    >>> from astonish import Beta, Leaky, run
    >>> run(Leaky(Rows(Beta(), 2), keep=0.5), [(0, 1), (1, 1), (0, 1)]).estimate.round(3).tolist()
    [0.667, 0.667, 0.692]
    """

    family: Family
    contexts: int = parameter(REQUIRED, COUNT, (2, 20), "how many contexts there are", static=True)
    proper_likelihood: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if Family not in type(self.family).__mro__:
            raise ValueError(f"{self.family!r} is no family of beliefs; give one, such as Beta()")

    def check_parts(self) -> None:
        self.family.check_parts()

    @property
    def samples(self) -> tuple[Domain, Any]:
        return Domain(0, self.contexts - 1, whole=True), self.family.samples

    def prior(self, *args: Any, **kwargs: Any) -> RowsBelief:
        """The same belief in each context, from what the prior of the family takes."""
        return self._everywhere(self.family.prior(*args, **kwargs), np.float64(_NOT_YET))

    def flat(self) -> RowsBelief:
        return self._everywhere(self.family.flat(), jnp.full((), _NOT_YET))

    def likelihood(self, x: tuple[Number, Any]) -> RowsBelief:
        here = jnp.arange(self.contexts) == jnp.asarray(x[0])

        def in_its_row(new: Any, flat: Any) -> Array:
            return jnp.where(here.reshape(-1, *[1] * jnp.ndim(new)), new, flat)

        rows = jax.tree.map(in_its_row, self.family.likelihood(x[1]), self.family.flat())
        return RowsBelief(rows, jnp.asarray(x[0]).astype(float))

    def blend(self, a: RowsBelief, u: Number, b: RowsBelief, v: Number) -> tuple[RowsBelief, Array]:
        """Row by row; the later sample is that of `b`, if it has seen one."""

        def blended(a: Belief, b: Belief) -> tuple[Belief, Array]:
            belief, misfit = self.family.blend(a, u, b, v)
            return belief, jnp.asarray(misfit)

        rows, misfits = jax.vmap(blended)(a.rows, b.rows)
        return RowsBelief(rows, jnp.where(b.context >= 0, b.context, a.context)), misfits.sum()

    def log_partition(self, belief: RowsBelief) -> Array:
        return jax.vmap(self.family.log_partition)(belief.rows).sum()

    def log_mass_near(self, a: RowsBelief, u: Number, b: RowsBelief, v: Number) -> Array:
        return jax.vmap(lambda a, b: self.family.log_mass_near(a, u, b, v))(a.rows, b.rows).sum()

    def log_base(self, x: tuple[Number, Any]) -> Array:
        return self.family.log_base(x[1])

    def error(self, belief: RowsBelief, x: tuple[Number, Any]) -> Array | None:
        return self.family.error(_row(belief, x[0]), x[1])

    def predicted_std(self, belief: RowsBelief, x: tuple[Number, Any]) -> Array | None:
        return self.family.predicted_std(_row(belief, x[0]), x[1])

    def predictive_divergence(self, a: RowsBelief, b: RowsBelief, x: tuple[Number, Any]) -> Array | None:
        return self.family.predictive_divergence(_row(a, x[0]), _row(b, x[0]), x[1])

    def in_context(self, belief: RowsBelief, x: tuple[Number, Any]) -> RowsBelief:
        return belief._replace(context=jnp.full_like(belief.context, x[0]))  # of one belief, or of many stacked

    def one_context(self, belief: RowsBelief, x: tuple[Number, Any]) -> tuple[Family, Belief, Any]:
        return self.family, _row(belief, x[0]), x[1]

    def context_of(self, x: tuple[Number, Any]) -> str:
        return f"in context {x[0]}"

    def sample(self, belief: RowsBelief, rng: Generator) -> list[Any]:
        """A value of the parameter in each context."""
        return [self.family.sample(_row(belief, context), rng) for context in range(self.contexts)]

    def sample_outcome(self, theta: list[Any], rng: Generator, steps: int) -> Any:
        """In contexts drawn at random, all with the same probability."""
        contexts = rng.integers(self.contexts, size=steps)
        return contexts, np.concatenate([self.family.sample_outcome(theta[context], rng, 1) for context in contexts])

    def _everywhere(self, belief: Belief, context: Any) -> RowsBelief:
        def repeat(leaf: Any) -> Any:
            return namespace(leaf).broadcast_to(leaf, (self.contexts, *np.shape(leaf)))

        return RowsBelief(jax.tree.map(repeat, belief), context)


def _row(belief: RowsBelief, context: Any) -> Belief:
    """The belief in a context; the first one if there was no sample yet."""
    at = jnp.maximum(jnp.asarray(context), 0).astype(jnp.int32)
    return jax.tree.map(lambda leaf: jnp.asarray(leaf)[at], belief.rows)

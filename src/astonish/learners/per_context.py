"""A copy of a learner for every context (the paper's Algorithm 2: a belief for every room)."""

from typing import Annotated, Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from astonish.core.numbers import COUNT, WHOLE, Domain
from astonish.core.parameters import REQUIRED, parameter
from astonish.learners.base import Learner, State, StepInfo, advance, check, repeated, rows_where

_SMALL = 1024  # numbers in a table


class PerContextState(NamedTuple):
    """One state per context, and the context seen last."""

    table: State
    context: Annotated[Array, WHOLE]


class PerContext(Learner):
    """Samples are pairs (context, x), and only the copy of that context learns.

    `PerContext(Smile(Dirichlet(15)), 16)` is the paper's Algorithm 2. The estimate is that of the context seen last;
    `estimates` gives all of them.
    """

    learner: Learner
    contexts: int = parameter(REQUIRED, COUNT, (2, 20), "how many contexts there are", static=True)

    def check_parts(self) -> None:
        check(self.learner)

    @property
    def surprise_measure(self) -> str:
        return self.learner.surprise_measure

    @property
    def samples(self) -> tuple[Domain, Any]:
        return Domain(0, self.contexts - 1, whole=True), self.learner.samples

    def init(self) -> PerContextState:
        return PerContextState(repeated(self.learner.init(), self.contexts), jnp.zeros((), jnp.int32))

    def step(self, state: PerContextState, x: Any) -> tuple[PerContextState, StepInfo]:
        return self.masked_step(state, x, None)

    def masked_step(self, state: PerContextState, x: Any, seen: Array | None) -> tuple[PerContextState, StepInfo]:
        context = jnp.asarray(x[0]).astype(jnp.int32)
        row, info = advance(self.learner, row_of(state.table, context), x[1], seen)
        table = jax.tree.map(lambda leaf, new: with_row(leaf, context, new), state.table, row)
        return PerContextState(table, context if seen is None else jnp.where(seen, context, state.context)), info

    def estimate(self, state: PerContextState) -> Any:
        return self.learner.estimate(row_of(state.table, state.context))

    def estimates(self, state: PerContextState) -> Any:
        """The estimates of all contexts."""
        return jax.vmap(self.learner.estimate)(state.table)

    def estimate_at(self, state: PerContextState, x: Any) -> Any:
        return self.learner.estimate_at(row_of(state.table, x[0]), x[1])

    def in_context(self, state: PerContextState, x: Any) -> tuple[Learner, State, Any]:
        return self.learner.in_context(row_of(state.table, x[0]), x[1])

    def context_of(self, x: Any) -> str:
        return f"in context {x[0]}"

    def belief(self, state: PerContextState) -> Any:
        """Those of all contexts, stacked."""
        return self.learner.belief(state.table)


def row_of(table: State, context: Any) -> State:
    """The part of a table of states that belongs to one context."""
    return jax.tree.map(lambda leaf: leaf[context], table)


def with_row(leaf: Array, context: Array, new: Array) -> Array:
    """The table with another row. A small one is written anew, which many series at once do faster than scattering."""
    if leaf.size > _SMALL:
        return leaf.at[context].set(new)
    here = jnp.arange(len(leaf), dtype=context.dtype) == context
    return rows_where(here, new, leaf)

"""What is a learner, and how does any of them go through a series of samples?"""

from collections.abc import Callable
from dataclasses import field
from typing import Any, NamedTuple, Protocol

import jax
import jax.numpy as jnp
from jax import Array

from astonish.config import config
from astonish.domain import Domain
from astonish.precision import Number

State = Any  # what a learner needs to know at the next step: arrays in some nesting


class Info(NamedTuple):
    """What only the observer of a step needs.

    surprise: how surprising the sample was, in the learner's own measure.
    rate: the weight of the new sample in what the learner now thinks (gamma, or a learning rate), from 0 to 1.
    change: how probable it is, now that the sample is known, that the world changed just before it; None for learners
    that do not ask.
    """

    surprise: Array
    rate: Array
    change: Array | None = None


class Learner(Protocol):
    """Anything that learns from samples one at a time: a frozen dataclass whose parameters are its leaves."""

    @property
    def samples(self) -> Any:
        """Which samples it takes: a `Domain`, or a tuple of them for samples of several parts."""

    def init(self) -> State:
        """The state before the first sample."""

    def step(self, state: State, x: Any) -> tuple[State, Info]:
        """The state after a sample."""

    def estimate(self, state: State) -> Any:
        """What the learner would answer if asked now."""


class Trace(NamedTuple):
    """A learner's way through a series: its estimate and `Info` after each sample, and the last state."""

    estimate: Any
    surprise: Array
    rate: Array
    state: State
    change: Array | None = None


def scan(
    learner: Learner,
    xs: Any,
    state: State | None = None,
    observed: Number | None = None,
    read: Callable[[State], Any] | None = None,
) -> Trace:
    """Run a learner over a series: the one loop for all of them, to be jitted, vmapped and differentiated at will.

    xs: samples along the first axis (of every part, where samples have several parts).
    state: where to go on from; the learner's own start when left out.
    observed: False where a sample is missing; it then changes nothing and has surprise NaN and rate 0.
    read: what to note of the state after each sample, in place of the learner's estimate.
    """
    note = learner.estimate if read is None else read

    def through(state: State, at: tuple[Any, Any]) -> tuple[State, tuple[Any, Info]]:
        new, info = advance(learner, state, *at)
        return new, (note(new), info)

    start = learner.init() if state is None else state
    last, (estimate, info) = jax.lax.scan(through, start, (xs, observed))
    return Trace(estimate, info.surprise, info.rate, last, info.change)


class PerContextState(NamedTuple):
    """One state per context, and the context seen last."""

    table: State
    context: Array


@config
class PerContext:
    """A copy of the learner for every context: samples are pairs (context, x), and only that context's copy learns.

    `PerContext(Smile(Dirichlet(15)), 16)` is the paper's Algorithm 2. The estimate is that of the context seen last;
    `estimates` gives all of them.
    """

    learner: Learner
    contexts: int = field(metadata={"static": True, "domain": Domain(1, whole=True)})

    @property
    def samples(self) -> tuple[Domain, Any]:
        return Domain(0, self.contexts - 1, whole=True), self.learner.samples

    def init(self) -> PerContextState:
        one = self.learner.init()
        table = jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (self.contexts, *jnp.shape(leaf))), one)
        return PerContextState(table, jnp.zeros((), jnp.int32))

    def step(self, state: PerContextState, x: tuple[Number, Any]) -> tuple[PerContextState, Info]:
        return self.step_if(state, x, None)

    def step_if(
        self, state: PerContextState, x: tuple[Number, Any], seen: Array | None
    ) -> tuple[PerContextState, Info]:
        """A step, or none where the sample is missing; either way only one row of the table is touched."""
        context = jnp.asarray(x[0]).astype(jnp.int32)
        row, info = advance(self.learner, self._row(state.table, context), x[1], seen)
        table = jax.tree.map(lambda leaf, new: leaf.at[context].set(new), state.table, row)
        return PerContextState(table, context if seen is None else jnp.where(seen, context, state.context)), info

    def estimate(self, state: PerContextState) -> Any:
        return self.learner.estimate(self._row(state.table, state.context))

    def estimates(self, state: PerContextState) -> Any:
        """The estimates of all contexts."""
        return jax.vmap(self.learner.estimate)(state.table)

    def _row(self, table: State, context: Array) -> State:
        return jax.tree.map(lambda leaf: leaf[context], table)


def advance(learner: Learner, state: State, x: Any, seen: Array | None = None) -> tuple[State, Info]:
    """One step of any learner; none where the sample was not seen."""
    if isinstance(learner, PerContext):  # choosing between whole tables would cost as much as there are contexts
        return learner.step_if(state, x, seen)
    if seen is None:
        return learner.step(state, x)
    filled = jax.tree.map(lambda d, leaf: jnp.where(seen, leaf, d.inside).astype(leaf.dtype), learner.samples, x)
    new, info = learner.step(state, filled)
    chosen = jax.tree.map(lambda new, old: jnp.where(seen, new, old), new, state)
    told = jax.tree.map(lambda number: jnp.where(seen, number, jnp.nan), info)
    return chosen, told._replace(rate=jnp.where(seen, info.rate, 0.0))

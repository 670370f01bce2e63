"""A copy of a learner for every option of a choice, where only the outcome of what was chosen is seen.

So people are modelled in bandits and in reversal learning. What was not chosen may be forgotten (Ito & Doya 2009), or
its outcome may be shown as well (Palminteri, Khamassi, Joffily & Coricelli 2015).
"""

from dataclasses import field
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from astonish.core.numbers import COUNT, PROBABILITY, Domain, Number, double
from astonish.core.parameters import REQUIRED, parameter
from astonish.learners.base import Learner, State, StepInfo, check, repeated
from astonish.learners.per_context import row_of, with_row


class PerOption(Learner):
    """Samples are pairs (option chosen, its outcome), and only the copy of that option learns.

    The estimates are those of all options, among which a response such as `Softmax` chooses.
    counterfactual: samples are (option chosen, outcomes of all options, 1 where an outcome was shown), and every option
    learns whose outcome was shown; that of the chosen one always is.

    >>> from astonish import Delta, run
    >>> run(PerOption(Delta(0.5), 2), [(1, 1.0), (0, 1.0), (1, -1.0)]).estimate.tolist()
    [[0.0, 0.5], [0.5, 0.5], [0.5, -0.25]]
    """

    learner: Learner
    options: int = parameter(REQUIRED, COUNT, (2, 10), "how many options there are", static=True)
    decay: Number | None = parameter(
        None,
        PROBABILITY,
        (0.01, 0.5),
        "share of the way back to the first estimate, for options whose outcome is unseen",
    )
    counterfactual: bool = field(default=False, kw_only=True, metadata={"static": True})

    def check_parts(self) -> None:
        check(self.learner)
        with double():
            shape = jax.eval_shape(lambda: self.learner.estimate(self.learner.init())).shape
            if shape:
                name = type(self.learner).__name__
                raise ValueError(
                    f"{name} estimates {shape[0]} numbers; give a learner that estimates one for an option"
                )
            if self.decay is not None:
                self.learner.with_estimate(self.learner.init(), jnp.zeros(()))  # refuses if it cannot

    @property
    def surprise_measure(self) -> str:
        return self.learner.surprise_measure

    @property
    def samples(self) -> tuple[Any, ...]:
        chosen, outcome = Domain(0, self.options - 1, whole=True), self.learner.samples
        if not self.counterfactual:
            return chosen, outcome
        every = Domain(outcome.low, outcome.high, outcome.whole, outcome.open, (self.options,), outcome.inside)
        return chosen, every, Domain(0, 1, whole=True, shape=(self.options,))

    def init(self) -> State:
        return repeated(self.learner.init(), self.options)

    def step(self, state: State, x: Any) -> tuple[State, StepInfo]:
        option = jnp.asarray(x[0]).astype(jnp.int32)
        seen = jnp.arange(self.options) == option
        if self.counterfactual:
            seen |= jnp.asarray(x[2]) > 0
            table, infos = jax.vmap(self.learner.masked_step)(state, jnp.asarray(x[1]), seen)
            info = row_of(infos, option)
        else:
            new, info = self.learner.step(row_of(state, option), x[1])
            table = jax.tree.map(lambda leaf, row: with_row(leaf, option, row), state, new)
        if (decay := self.decay) is None:
            return table, info
        first = self.learner.estimate(self.learner.init())

        def fade(state: State, seen: Array) -> State:
            faded = self.learner.with_estimate(state, (1 - decay) * self.learner.estimate(state) + decay * first)
            return jax.tree.map(lambda old, new: jnp.where(seen, old, new), state, faded)

        return jax.vmap(fade)(table, seen), info

    def estimate(self, state: State) -> Array:
        return jax.vmap(self.learner.estimate)(state)

    def estimate_at(self, state: State, x: Any) -> Array:
        """Those of all options: which of them is chosen depends on them all."""
        return self.estimate(state)

    def in_context(self, state: State, x: Any) -> tuple[Learner, State, Any]:
        outcome = x[1][x[0]] if self.counterfactual else x[1]
        return self.learner.in_context(row_of(state, x[0]), outcome)

    def context_of(self, x: Any) -> str:
        return f"for option {x[0]}"

    def belief(self, state: State) -> Any:
        """Those of all options, stacked."""
        return self.learner.belief(state)

    def uncertainty(self, state: State) -> Array | None:
        """Those of all options."""
        return jax.vmap(self.learner.uncertainty)(state)

    def failures(self, state: State) -> Array | None:
        counts = jax.vmap(self.learner.failures)(state)
        return None if counts is None else counts.sum()

"""Which number of a learner says that the world may have changed?"""

from dataclasses import field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from astonish.config import config
from astonish.domain import Domain
from astonish.learner import Info, Learner, State
from astonish.learners import MessagePassing, ParticleFilter
from astonish.precision import double

SIGNALS = ("change", "surprise", "rate")


@config
class Lately:
    """A learner whose `change` is the probability that the world changed within so many samples up to now."""

    learner: MessagePassing | ParticleFilter
    within: int = field(metadata={"static": True, "domain": Domain(1, whole=True)})

    @property
    def samples(self) -> Any:
        return self.learner.samples

    def init(self) -> State:
        return self.learner.init()

    def step(self, state: State, x: Any) -> tuple[State, Info]:
        new, info = self.learner.step(state, x)
        return new, info._replace(change=jnp.minimum(new.weights @ (new.ages <= self.within), 1.0))

    def estimate(self, state: State) -> Array:
        return self.learner.estimate(state)


def watched(learner: Learner, within: int) -> Learner:
    """The learner to watch for a change within so many samples."""
    Domain(1, whole=True).check("within", within)
    if within == 1:
        return learner
    if not isinstance(learner, MessagePassing | ParticleFilter):
        raise ValueError(
            f"within = {within} asks {type(learner).__name__} since when the world is as it is, which it does not "
            "know; give within = 1, or MessagePassing or ParticleFilter"
        )
    return Lately(learner, within)


def signal_of(learner: Learner, wanted: str | None) -> str:
    """Which of its numbers to watch: the one wanted, or the best that it gives."""
    with double():  # the learner is asked by a step that is not computed
        x = jax.tree.map(_any_sample, learner.samples)
        asks = jax.eval_shape(learner.step, learner.init(), x)[1].change is not None
    if wanted is None:
        return "change" if asks else "surprise"
    if wanted not in SIGNALS or (wanted == "change" and not asks):
        able = ", ".join(SIGNALS if asks else SIGNALS[1:])
        raise ValueError(f"{type(learner).__name__} gives no signal {wanted!r}; give one of {able}")
    return wanted


def _any_sample(domain: Domain) -> Any:
    return np.full(domain.shape, domain.inside, np.int32 if domain.is_index else np.float64)

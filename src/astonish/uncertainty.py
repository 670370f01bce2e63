"""How uncertain is a learner of what it estimates?"""

from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from astonish.learner import Learner, State
from astonish.learners import (
    Evidence,
    Hypotheses,
    Kalman,
    Nassar2010,
    Nassar2012,
    NassarGaussian2010,
    NassarGaussian2012,
    Particles,
)
from astonish.learners.message_passing import average
from astonish.surprises import holds_a_belief


def uncertainty(learner: Learner, state: State) -> Array | None:
    """The standard deviation of what is believed; None for learners that estimate without believing.

    >>> from astonish import Beta, Leaky
    >>> learner = Leaky(Beta())
    >>> round(float(uncertainty(learner, learner.init())), 4)  # of all chances alike: the root of 1/12
    0.2887
    """
    if isinstance(state, Hypotheses | Particles):
        return _of_a_mixture(state.weights, state.beliefs)
    if isinstance(learner, Nassar2010):
        return learner.noise / jnp.sqrt(state.length)
    if isinstance(learner, Nassar2012):
        return learner.noise * jnp.sqrt(state.variance)
    if isinstance(learner, Kalman | NassarGaussian2010 | NassarGaussian2012) or holds_a_belief(learner):
        return (state.belief if isinstance(state, Evidence) else state).std
    return None


def _of_a_mixture(weights: Array, beliefs: Any) -> Array:
    """The spread within each belief, and between them."""
    mean = average(weights, beliefs)

    def squares(belief: Any) -> Array:
        return jnp.square(belief.std) + jnp.square(belief.mean - mean)

    return jnp.sqrt(jnp.tensordot(weights, jax.vmap(squares)(beliefs), axes=1))

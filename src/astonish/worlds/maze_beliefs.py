"""Which probabilities of going from room to room does a learner believe in, and how far are they from the true ones?

They are the modes of its beliefs, that is the most probable values (the paper's section 4.11). The error in an
environment is the mean square of their differences from the true ones, over all pairs of rooms (the paper's Fig. 5C).
"""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from astonish.core.numbers import FloatArray, as_double, double
from astonish.core.programs import compiled
from astonish.core.samples import read_series
from astonish.learners import PerContext
from astonish.learners.base import Learner, scan
from astonish.online.measures import holds_a_belief


class Course(NamedTuple):
    """What a learner with one belief per room gave after each step of a walk.

    believed: the probabilities of going from each room to each other, `[step, room, other room]`.
    """

    believed: FloatArray
    surprise: FloatArray
    learning_rate: FloatArray


def follow(learner: PerContext, choices: Any) -> Course:
    """A learner goes the way of one walk. choices: each room, and which of the *other* rooms came next.

    >>> from astonish import Dirichlet, PerContext, Smile
    >>> follow(PerContext(Smile(Dirichlet(2)), 3), ([0, 1], [1, 0])).believed[-1].round(2).tolist()
    [[0.0, 1.0], [1.0, 0.0], [0.5, 0.5]]
    """
    samples, _ = read_series(learner.samples, tuple(choices))
    with double():
        trace = jax.device_get(_followed(as_double(learner), samples))
    return Course(trace.estimate, trace.surprise, trace.learning_rate)


def most_probable(learner: PerContext, state: Any) -> Array:
    """The probabilities that a learner believes in, `[room, other room]`, in a state (see `estimator`)."""
    beliefs = learner.belief(state)
    return learner.estimates(state) if beliefs is None else beliefs.mode


def estimator(learner: Learner) -> str:
    """Which probabilities those are: the "mode" of a belief, or the "mean" of learners that hold several for a room."""
    return "mode" if holds_a_belief(learner) else "mean"


def distance(believed: Any, truth: Any) -> Array:
    """The error of probabilities without staying (`others`): the mean square over all pairs of rooms."""
    squares = jnp.square(believed - truth)
    flat = squares.reshape(*squares.shape[:-2], -1)
    rooms = squares.shape[-2]
    return flat @ jnp.full(flat.shape[-1], 1 / rooms**2)  # a product, since the compiler adds up one by one


def current_error(believed: Any, transitions: Any, environment: Any) -> FloatArray:
    """The error after each step, in the environment of that step. transitions: those of the maze."""
    with double():
        return np.asarray(_distance(believed, others(transitions)[environment]))


def others(transitions: Any) -> Any:
    """Probabilities of going from room to room, without the impossible one of staying."""
    rooms = transitions.shape[-1]
    return transitions[..., ~np.eye(rooms, dtype=bool)].reshape(*transitions.shape[:-1], rooms - 1)


def spread(believed: Any) -> FloatArray:
    """The reverse of `others`."""
    rooms = believed.shape[-2]
    full = np.zeros((*believed.shape[:-1], rooms))
    full[..., ~np.eye(rooms, dtype=bool)] = believed.reshape(*believed.shape[:-2], -1)
    return full


_distance = compiled(distance)


@compiled
def _followed(learner: PerContext, choices: Any) -> Any:
    return scan(learner, choices, read=partial(most_probable, learner))

"""How well do the paper's learners know the maze, step by step?

The error of a learner in an environment is the mean square of the differences between its chances of going from room
to room and the true ones, over all 16 x 16 pairs of rooms (the paper's Fig. 5C).
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import NDArray

from astonish.beliefs import Dirichlet
from astonish.expfam import entropy
from astonish.learner import PerContext, PerContextState, scan
from astonish.learners import Bayes, Evidence, OnlineEM, Smile
from astonish.learners.online_em import Environments
from astonish.paper.study import Study
from astonish.precision import double
from astonish.run import OPTIONS
from astonish.tasks.maze import A, B, Walk, maze, walk

ROOMS = 16
M = 0.1  # the paper's readiness to change one's mind
EM_RATE = 0.001  # not in the paper; the figure "sweeps" shows how it was chosen
Floats = NDArray[np.float64]


class Signals(NamedTuple):
    """What there was to see in each walk (first axis) after each step (second).

    errors: in each environment (third axis). uncertainty: the learner's own.
    """

    surprise: Any
    rate: Any
    errors: Any
    uncertainty: Any


class Setting(NamedTuple):
    """Walks through the maze of the paper's drawings, and the chances there are, `[walk, environment]`."""

    walk: Walk
    truth: Floats


def setting(study: Study, episodes: int = 20) -> Setting:
    """Walks of 20000 steps, 200 on average before a switch, each environment visited as much as the other."""
    seeds = [[study.seed, episode] for episode in range(min(episodes, 3) if study.quick else episodes)]
    truth = maze(A, B).transitions
    return Setting(walk(maze(A, B), 5000 if study.quick else 20000, seeds), np.stack([truth] * len(seeds)))


def smile(m: float = M) -> PerContext:
    """Algorithm 2 of the paper."""
    return PerContext(Smile(Dirichlet(ROOMS - 1), m), ROOMS)


def naive() -> PerContext:
    """Bayes' rule, as if there were one environment."""
    return PerContext(Bayes(Dirichlet(ROOMS - 1)), ROOMS)


def others(transitions: Any) -> Any:
    """Chances of going from room to room, without the impossible one of staying."""
    apart = ~np.eye(ROOMS, dtype=bool)
    return transitions[..., apart].reshape(*transitions.shape[:-1], ROOMS - 1)


def spread(chances: Any) -> Floats:
    """The reverse of `others`."""
    full = np.zeros((*chances.shape[:-1], ROOMS))
    full[..., ~np.eye(ROOMS, dtype=bool)] = chances.reshape(*chances.shape[:-2], -1)
    return full


def watch(learner: PerContext, setting: Setting) -> Signals:
    """A learner with one belief per room goes the way of each walk; its uncertainty is the entropy of all beliefs."""
    with double():
        trace = jax.device_get(_watch(learner, setting.walk.choices, others(setting.truth)))
    return Signals(trace.surprise, trace.rate, *trace.estimate)


def errors(learner: PerContext, setting: Setting) -> Floats:
    """The errors alone, which is faster."""
    return np.asarray(errors_on_device(learner, setting))


def errors_on_device(learner: PerContext, setting: Setting) -> Array:
    """The same, left where they were computed."""
    with double():
        return _errors(learner, setting.walk.choices, others(setting.truth))


def matrices(learner: PerContext, walk: Walk) -> Floats:
    """The chances of going from room to room after each step."""
    with double():
        return spread(np.asarray(_chances(learner, walk.choices)))


def watch_em(setting: Setting, rate: float = EM_RATE, seed: Any = 0, frozen: int = 2000) -> Signals:
    """Online EM goes the way of each walk, from random chances; its uncertainty is the probability of being in A.

    seed: of the first walk, the others counting on; or one for each walk.
    Its environments have no names. Here A is called the one that is, at the end, more like A, so that both fit best.
    """
    return jax.device_get(em_on_device(setting, rate, seed, frozen))


def em_on_device(setting: Setting, rate: float = EM_RATE, seed: Any = 0, frozen: int = 2000) -> Signals:
    """The same, left where it was computed."""
    seeds = np.asarray(seed) + (np.arange(len(setting.truth)) if np.ndim(seed) == 0 else 0)
    with double():
        return _watch_em(seeds, rate, frozen, setting.walk.transitions, setting.truth)


def current(environment: Any, per_environment: Floats) -> Floats:
    """Of values for each environment (last axis), those for the one that the walk is in."""
    return np.take_along_axis(per_environment, environment[..., None], axis=-1)[..., 0]


def _beliefs(state: PerContextState) -> Any:
    return state.table.belief if isinstance(state.table, Evidence) else state.table


def _distance(chances: Array, truth: Array) -> Array:
    squares = jnp.square(chances - truth)
    flat = squares.reshape(*squares.shape[:-2], -1)
    return flat @ jnp.full(flat.shape[-1], 1 / ROOMS**2)  # a product, since the compiler adds up one by one


def _watch_one(learner: PerContext, samples: Any, truth: Array) -> Any:
    def read(state: PerContextState) -> tuple[Array, Array]:
        beliefs = _beliefs(state)
        return _distance(beliefs.mode, truth), jax.vmap(lambda b: entropy(Dirichlet(ROOMS - 1), b))(beliefs).sum()

    return scan(learner, samples, read=read)._replace(state=None)


def errors_of_one(learner: PerContext, samples: Any, truth: Array) -> Array:
    """The errors of one walk, to be compiled: samples are its choices, truth is without staying (`others`)."""
    return scan(learner, samples, read=lambda state: _distance(_beliefs(state).mode, truth)).estimate


def _chances_of_one(learner: PerContext, samples: Any) -> Any:
    return scan(learner, samples, read=lambda state: _beliefs(state).mode).estimate  # section 4.11


def _watch_em_one(seed: Array, rate: Array, frozen: Array, samples: Any, truth: Array) -> Signals:
    learner = OnlineEM(ROOMS, rate=rate, frozen=frozen, seed=seed)

    def read(state: Environments) -> tuple[Array, Array]:
        return _distance(learner.moves(state), truth[:, None]), state.where

    trace = scan(learner, samples, read=read)
    errors, where = trace.estimate  # [step, true environment, learner's environment], [step, learner's environment]
    (aa, ab), (ba, bb) = errors[-1]
    swapped = ab + ba < aa + bb
    named = jnp.diagonal(jnp.where(swapped, errors[..., ::-1], errors), axis1=1, axis2=2)
    return Signals(trace.surprise, trace.rate, named, jnp.where(swapped, where[:, 1], where[:, 0]))


_watch = jax.jit(jax.vmap(_watch_one, in_axes=(None, 0, 0)), compiler_options=OPTIONS)
_errors = jax.jit(jax.vmap(errors_of_one, in_axes=(None, 0, 0)), compiler_options=OPTIONS)
_chances = jax.jit(jax.vmap(_chances_of_one, in_axes=(None, 0)), compiler_options=OPTIONS)
_watch_em = jax.jit(jax.vmap(_watch_em_one, in_axes=(0, None, None, 0, 0)), compiler_options=OPTIONS)

"""How well do the paper's learners know the maze, step by step?

The error of a learner in an environment, and the probabilities that it believes in, are those of `tasks.maze_beliefs`.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from astonish.beliefs import Dirichlet
from astonish.core.numbers import BoolArray, FloatArray, double
from astonish.core.programs import compiled
from astonish.learners import Bayes, OnlineEM, PerContext, Smile
from astonish.learners.base import scan
from astonish.online.series import OPTIONS
from astonish.paper.figure import RunSettings
from astonish.theory.expfam import entropy
from astonish.worlds.maze import A, B, Walk, distance, maze, most_probable, others, spread, walk

ROOMS = 16
M = 0.1  # the paper's readiness to change one's mind
EM_RATE = 0.001  # not in the paper; the figure "sweeps" shows how it was chosen


class Signals(NamedTuple):
    """What a learner gave in each walk (first axis) after each step (second).

    errors: in each environment (third axis). uncertainty: the learner's own.
    """

    surprise: Any
    learning_rate: Any
    errors: Any
    uncertainty: Any


class EMSignals(NamedTuple):
    """What online EM gave in each walk after each step.

    errors, mixed: in each environment (third axis), of its probabilities for this environment, and of its probabilities
    for all environments, each weighted by the probability of being there. uncertainty: the probability of being in A.
    """

    surprise: Any
    errors: Any
    mixed: Any
    uncertainty: Any


class MazeWalks(NamedTuple):
    """Walks through the maze of the paper's drawings, and the probabilities there are, `[walk, environment]`."""

    walk: Walk
    truth: FloatArray


def walks_of(run: RunSettings, episodes: int = 20, thorough: int = 100) -> MazeWalks:
    """Walks of 20000 steps, 200 on average before a switch, each environment visited as much as the other."""
    number = min(episodes, 3) if run.quick else thorough if run.thorough else episodes
    seeds = [[run.seed, episode] for episode in range(number)]
    truth = maze(A, B).transitions
    return MazeWalks(walk(maze(A, B), 5000 if run.quick else 20000, seeds), np.stack([truth] * len(seeds)))


def smile(m: float = M) -> PerContext:
    """Algorithm 2 of the paper."""
    return PerContext(Smile(Dirichlet(ROOMS - 1), m), ROOMS)


def naive() -> PerContext:
    """Bayes' rule, as if there were one environment."""
    return PerContext(Bayes(Dirichlet(ROOMS - 1)), ROOMS)


def signals_of(learner: PerContext, where: MazeWalks) -> Signals:
    """A learner with one belief per room goes the way of each walk; its uncertainty is the entropy of all beliefs."""
    with double():
        return jax.device_get(_signals(learner, where.walk.choices, others(where.truth)))


def errors(learner: PerContext, where: MazeWalks) -> FloatArray:
    """The errors alone, which is faster."""
    return np.asarray(errors_on_device(learner, where))


def errors_on_device(learner: PerContext, where: MazeWalks) -> Array:
    """The same, left where they were computed."""
    with double():
        return _errors(learner, where.walk.choices, others(where.truth))


def matrices(learner: PerContext, walk: Walk) -> FloatArray:
    """The probabilities of going from room to room after each step."""
    with double():
        return spread(np.asarray(_probabilities(learner, walk.choices)))


class OnlineEMSettings(NamedTuple):
    """What online EM starts from; the paper states `switch` and `frozen` only.

    rate: eta. frozen: how long it only collects statistics. switch: the first probability of a switch (P0). first: the
    first probabilities of moves (T0), a key of `FIRST_PROBABILITIES`.
    """

    rate: float = EM_RATE
    frozen: int = 2000
    switch: float = 0.1
    first: str = "random"


OURS = OnlineEMSettings()


def signals_of_em(where: MazeWalks, seed: Any = 0, settings: OnlineEMSettings = OURS) -> EMSignals:
    """Online EM goes the way of each walk, from random probabilities; its uncertainty is the probability of being in A.

    seed: of the first walk, the others counting on; or one for each walk.
    Its environments have no names. Here A is called the one that is, at the end, more like A, so that both fit best.
    """
    with double():
        return jax.device_get(_signals_of_em(*_em_inputs(where, seed, settings)))


def errors_of_em_on_device(where: MazeWalks, seed: Any = 0, settings: OnlineEMSettings = OURS) -> Array:
    """The errors alone, left where they were computed."""
    with double():
        return _errors_of_em(*_em_inputs(where, seed, settings))


def matrices_of_em(where: MazeWalks, episode: int, seed: int) -> FloatArray:
    """The probabilities of going from room to room in A that online EM has found after each step of one walk."""
    first = FIRST_PROBABILITIES[OURS.first](np.array([seed]))[0]
    with double():
        found = np.asarray(_moves_of_em(first, tuple(part[episode] for part in where.walk.transitions)))
    squares = np.square(found[-1, None] - where.truth[episode, :, None]).sum((-2, -1))  # [true, learner's]
    swapped = squares[0, 1] + squares[1, 0] < squares[0, 0] + squares[1, 1]
    return found[:, int(swapped)]


@compiled
def _moves_of_em(first: Array, samples: Any) -> Array:
    learner = OnlineEM(ROOMS, learning_rate=OURS.rate, frozen=OURS.frozen, switch=OURS.switch)
    return scan(learner, samples, learner.init()._replace(first=first), read=learner.moves).estimate


def _em_inputs(where: MazeWalks, seed: Any, settings: OnlineEMSettings) -> tuple[Any, ...]:
    seeds = np.asarray(seed) + (np.arange(len(where.truth)) if np.ndim(seed) == 0 else 0)
    changed = settings.rate, settings.frozen, settings.switch
    return FIRST_PROBABILITIES[settings.first](seeds), *changed, where.walk.transitions, where.truth


@jax.jit
@jax.vmap
def _any_room(seed: Array) -> Array:
    """The learner's own start: probabilities drawn uniformly, those of staying in a room among them."""
    return OnlineEM(ROOMS, seed=seed).init().first


def _another_room(concentration: float, seeds: Any) -> FloatArray:
    """Random probabilities of going to the other rooms; the larger the concentration, the more equal they are."""
    rows = [np.random.default_rng([seed, 4]).dirichlet([concentration] * (ROOMS - 1), (2, ROOMS)) for seed in seeds]
    return spread(np.stack(rows))


FIRST_PROBABILITIES: dict[str, Callable[[Any], Any]] = {
    "random": _any_room,
    "random, without staying": partial(_another_room, 1.0),
    "nearly equal, without staying": partial(_another_room, 100.0),
}


def current(environment: Any, per_environment: FloatArray) -> FloatArray:
    """Of values for each environment (last axis), those for the one that the walk is in."""
    return np.take_along_axis(per_environment, environment[..., None], axis=-1)[..., 0]


def after_switches(walks: Walk, environment: int, later: int) -> BoolArray:
    """True in the steps that come so many after a switch to this environment, without another in between."""
    into = walks.switched & (walks.environment == environment)
    switches, found = np.cumsum(walks.switched, axis=1), np.zeros_like(into)
    found[:, later:] = into[:, :-later] & (switches[:, later:] == switches[:, :-later])
    return found


def _signals_of_one(learner: PerContext, samples: Any, truth: Array) -> Signals:
    def read(state: Any) -> tuple[Array, Array]:
        entropies = jax.vmap(lambda belief: entropy(Dirichlet(ROOMS - 1), belief))(learner.belief(state))
        return distance(most_probable(learner, state), truth), entropies.sum()

    trace = scan(learner, samples, read=read)
    return Signals(trace.surprise, trace.learning_rate, *trace.estimate)


def errors_of_one(learner: PerContext, samples: Any, truth: Array) -> Array:
    """The errors of one walk, to be compiled: samples are its choices, truth is without staying (`others`)."""
    return scan(learner, samples, read=lambda state: distance(most_probable(learner, state), truth)).estimate


def _probabilities_of_one(learner: PerContext, samples: Any) -> Any:
    return scan(learner, samples, read=lambda state: most_probable(learner, state)).estimate


def _signals_of_one_em(
    first: Array, rate: Array, frozen: Array, switch: Array, samples: Any, truth: Array
) -> EMSignals:
    learner = OnlineEM(ROOMS, learning_rate=rate, frozen=frozen, switch=switch)

    def read(state: Any) -> tuple[Array, Array, Array]:
        moves = learner.moves(state)
        mixture = jnp.tensordot(state.where, moves, 1)
        return distance(moves, truth[:, None]), distance(mixture, truth), state.where

    trace = scan(learner, samples, learner.init()._replace(first=first), read=read)
    errors, mixed, where = trace.estimate  # errors: [step, true environment, learner's environment]
    (aa, ab), (ba, bb) = errors[-1]
    swapped = ab + ba < aa + bb
    named = jnp.diagonal(jnp.where(swapped, errors[..., ::-1], errors), axis1=1, axis2=2)
    return EMSignals(trace.surprise, named, mixed, jnp.where(swapped, where[:, 1], where[:, 0]))


_signals = compiled(jax.vmap(_signals_of_one, in_axes=(None, 0, 0)), compiler_options=OPTIONS)
_errors = compiled(jax.vmap(errors_of_one, in_axes=(None, 0, 0)), compiler_options=OPTIONS)
_probabilities = compiled(jax.vmap(_probabilities_of_one, in_axes=(None, 0)), compiler_options=OPTIONS)
_EM_AXES = (0, None, None, None, 0, 0)
_signals_of_em = compiled(jax.vmap(_signals_of_one_em, in_axes=_EM_AXES), compiler_options=OPTIONS)
_errors_of_em = compiled(
    jax.vmap(lambda *inputs: _signals_of_one_em(*inputs).errors, in_axes=_EM_AXES), compiler_options=OPTIONS
)

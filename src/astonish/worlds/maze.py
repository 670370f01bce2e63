"""The maze: rooms on a torus, and two environments that arrange them differently (the paper's section 2.4, Fig. 4).

Rooms are numbered from 0; the paper counts from 1. Before each step the environment may switch; then one of the four
doors of the room opens at random, and leads to a room next to it.

The probabilities of going from room to room that a learner believes in are the modes of its beliefs, that is the most
probable values (the paper's section 4.11). Their error in an environment is the mean square of their differences from
the true ones, over all pairs of rooms (the paper's Fig. 5C).
"""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import NDArray

from astonish.core.numbers import COUNT, OPEN_PROBABILITY, PROBABILITY, Domain, FloatArray, as_double, double
from astonish.core.programs import compiled, loop
from astonish.core.samples import read_series
from astonish.learners import PerContext
from astonish.learners.base import scan

Rooms = NDArray[np.int32]

# The environments of the drawings; in A room 6 leads to 2, 10, 7 and 5, in B to 10, 1, 3 and 13 (counted from 1).
A: Rooms = np.arange(16, dtype=np.int32).reshape(4, 4)
B: Rooms = np.array([[8, 10, 15, 4], [13, 6, 3, 11], [14, 1, 9, 16], [2, 12, 5, 7]], np.int32) - 1


class Maze(NamedTuple):
    """Where the doors lead: `doors[environment, room, door]`, the doors being up, down, right, left.

    Several mazes may be stacked, along axes before these.
    """

    doors: Rooms

    @property
    def rooms(self) -> int:
        return self.doors.shape[-2]

    @property
    def transitions(self) -> NDArray[np.float64]:
        """The probability of each next room, `[environment, room, next room]`, the doors being equally likely."""
        return np.eye(self.rooms)[self.doors].mean(axis=-2)


class Walk(NamedTuple):
    """Walks through mazes, one per row.

    rooms: the room at the start and after each step. environment: that of each step.
    switched: whether the environment changed just before the step.
    """

    rooms: Rooms
    environment: Rooms
    switched: NDArray[np.bool_]

    @property
    def transitions(self) -> tuple[Rooms, Rooms]:
        """The samples of a learner of transitions: each room, and the one after it."""
        return self.rooms[..., :-1], self.rooms[..., 1:]

    @property
    def choices(self) -> tuple[Rooms, Rooms]:
        """The samples of a learner with one belief per room: each room, and which of the *other* rooms came next."""
        here, there = self.transitions
        return here, there - (there > here)


def maze(*arrangements: Any) -> Maze:
    """A maze from the arrangements of its rooms on a torus: rows of room numbers, one table per environment.

    >>> (maze(A, B).doors[:, 5] + 1).tolist()
    [[2, 10, 7, 5], [10, 1, 3, 13]]
    """
    environments = []
    for rooms in map(np.asarray, arrangements):
        if rooms.ndim != 2 or min(rooms.shape) < 2 or set(rooms.flat) != set(range(rooms.size)):
            advice = "give rooms 0, 1, 2, ... once each, in at least 2 rows and columns"
            raise ValueError(f"{rooms.tolist()} is no torus; {advice}")
        around = [np.roll(rooms, shift, axis) for shift, axis in ((1, 0), (-1, 0), (-1, 1), (1, 1))]
        doors = np.empty((rooms.size, 4), np.int32)
        doors[rooms.ravel()] = np.stack(around, axis=-1).reshape(-1, 4)
        environments.append(doors)
    return Maze(np.stack(environments))


def rearranged(seed: Any, rows: int = 4, columns: int = 4) -> Maze:
    """A maze of two environments: A in reading order, B the same rooms at random."""
    rooms = np.arange(rows * columns)
    shuffled = np.random.default_rng(seed).permutation(rooms)
    return maze(rooms.reshape(rows, columns), shuffled.reshape(rows, columns))


def probabilities_of_leaving(tau: float, psi: float) -> tuple[float, float]:
    """P(A to B) and P(B to A) for stays in A of `tau` steps on average, and a share `psi` of all time spent there.

    >>> probabilities_of_leaving(tau=200, psi=0.5)
    (0.005, 0.005)
    """
    Domain(1.0).check("tau", tau)
    OPEN_PROBABILITY.check("psi", psi)
    back = psi / (1 - psi) / tau
    if back > 1:
        short = f"tau = {tau:g} and psi = {psi:g} would need stays in B of {1 / back:.2g} steps"
        raise ValueError(f"{short}; give a tau of at least psi / (1 - psi) = {psi / (1 - psi):.3g}")
    return 1 / tau, back


def share_of_b(leave: NDArray[np.float64]) -> NDArray[np.float64]:
    """The share of all time spent in B, given the probabilities of leaving A and B; a half if neither is ever left."""
    total = leave.sum(axis=-1)
    return np.where(total > 0, leave[..., 0] / np.where(total > 0, total, 1.0), 0.5)


def walk(mazes: Maze, steps: int, seeds: Any, leave: Any = (0.005, 0.005)) -> Walk:
    """Walks of so many steps, one per seed, each the same whatever the others are.

    mazes: one for all, or one per seed (its arrays stacked). leave: the probabilities of leaving A and B, likewise. The
    start is a random room in a random environment, in B as often as it is in the long run (`share_of_b`).
    """
    steps = int(COUNT.check("steps", steps))
    seeds = np.atleast_1d(seeds)
    probabilities = _per_seed("leave", PROBABILITY.check("leave", leave), (len(seeds), 2))
    doors = _per_seed("doors", mazes.doors, (len(seeds), 2, *mazes.doors.shape[-2:]))
    draws = np.stack([np.random.default_rng(seed).random((steps + 1, 2), np.float32) for seed in seeds])
    leaving, in_b = probabilities.astype(np.float32), share_of_b(probabilities).astype(np.float32)
    rooms, environment = map(np.asarray, _walk(doors, leaving, in_b, draws))
    switched = np.diff(environment, axis=1, prepend=environment[:, :1]) != 0
    return Walk(rooms, environment, switched)


@compiled
@jax.vmap
def _walk(doors: Array, leave: Array, in_b: Array, draws: Array) -> tuple[Array, Array]:
    rooms, ways = doors.shape[1:]

    def move(at: tuple[Array, Array], draw: Array) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
        room, environment = at
        environment = jnp.where(draw[0] < leave[environment], 1 - environment, environment)
        room = doors[environment, room, (draw[1] * ways).astype(jnp.int32)]
        return (room, environment), (room, environment)

    start = (draws[0, 1] * rooms).astype(jnp.int32), (draws[0, 0] < in_b).astype(jnp.int32)
    _, (after, environment) = loop(move, start, draws[1:])
    return jnp.append(start[0], after), environment


def _per_seed(name: str, values: Any, shape: tuple[int, ...]) -> Any:
    """The same for all seeds, or what each was given."""
    if values.shape not in (shape[1:], shape):
        raise ValueError(f"{name} has shape {values.shape}; give {shape[1:]}, or {shape} for each seed its own")
    return np.broadcast_to(values, shape)


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
    """The probabilities that a learner believes in, `[room, other room]`, in a state.

    They are the mode of a belief, or the mean of learners that hold several for a room.
    """
    beliefs = learner.belief(state)
    return learner.estimates(state) if beliefs is None else beliefs.mode


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

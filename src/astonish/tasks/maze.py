"""The maze: rooms on a torus, and two environments that arrange them differently (the paper's section 2.4, Fig. 4).

Rooms are numbered from 0; the paper counts from 1. Before each step the environment may switch; then one of the four
doors of the room opens at random, and leads to a room next to it.
"""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import NDArray

from astonish.domain import Domain

Rooms = NDArray[np.int32]

# The environments of the drawings; in A room 6 leads to 2, 10, 7 and 5, in B to 10, 1, 3 and 13 (counted from 1).
A: Rooms = np.arange(16, dtype=np.int32).reshape(4, 4)
B: Rooms = np.array([[8, 10, 15, 4], [13, 6, 3, 11], [14, 1, 9, 16], [2, 12, 5, 7]], np.int32) - 1


class Maze(NamedTuple):
    """Where the doors lead: `doors[environment, room, door]`, the doors being up, down, right, left."""

    doors: Rooms

    @property
    def rooms(self) -> int:
        return self.doors.shape[1]

    @property
    def transitions(self) -> NDArray[np.float64]:
        """The chance of each next room, `[environment, room, next room]`."""
        return np.eye(self.rooms)[self.doors].mean(axis=2)


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
    return Maze(np.stack([_doors(np.asarray(rooms)) for rooms in arrangements]))


def rearranged(seed: int, rows: int = 4, columns: int = 4) -> Maze:
    """A maze of two environments: A in reading order, B the same rooms at random."""
    rooms = np.arange(rows * columns)
    shuffled = np.random.default_rng(seed).permutation(rooms)
    return maze(rooms.reshape(rows, columns), shuffled.reshape(rows, columns))


def chances_of_leaving(tau: float, psi: float) -> tuple[float, float]:
    """P(A to B) and P(B to A) for stays in A of `tau` steps on average, and a share `psi` of all time spent there.

    >>> chances_of_leaving(tau=200, psi=0.5)
    (0.005, 0.005)
    """
    Domain(1.0).check("tau", tau)
    Domain(0.0, 1.0, open=True).check("psi", psi)
    back = psi / (1 - psi) / tau
    if back > 1:
        raise ValueError(f"tau = {tau:g} and psi = {psi:g} would need stays in B of {1 / back:.2g} steps; give psi / (1 - psi) of at most tau")
    return 1 / tau, back


def walk(mazes: Maze, steps: int, seeds: Any, leave: Any = (0.005, 0.005)) -> Walk:
    """Walks of so many steps, one per seed, each the same whatever the others are.

    mazes: one for all, or one per seed (its arrays stacked). leave: the chances of leaving A and B, likewise. The
    start is a random room in a random environment: in A as often as the chances of leaving imply.
    """
    Domain(1, whole=True).check("steps", steps)
    seeds = np.atleast_1d(seeds)
    chances = np.broadcast_to(Domain(0.0, 1.0).check("leave", leave), (len(seeds), 2))
    doors = np.broadcast_to(mazes.doors, (len(seeds), *mazes.doors.shape[-3:]))
    draws = np.stack([np.random.default_rng(seed).random((steps + 1, 2), np.float32) for seed in seeds])
    rooms, environment = map(np.asarray, _walk(doors, chances.astype(np.float32), draws))
    switched = np.diff(environment, axis=1, prepend=environment[:, :1]) != 0
    return Walk(rooms, environment, switched)


@jax.jit
@partial(jax.vmap)
def _walk(doors: Array, leave: Array, draws: Array) -> tuple[Array, Array]:
    rooms, ways = doors.shape[1:]

    def move(at: tuple[Array, Array], draw: Array) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
        room, environment = at
        environment = jnp.where(draw[0] < leave[environment], 1 - environment, environment)
        room = doors[environment, room, (draw[1] * ways).astype(jnp.int32)]
        return (room, environment), (room, environment)

    in_b = leave[0] / jnp.maximum(leave.sum(), 1e-30)
    start = (draws[0, 1] * rooms).astype(jnp.int32), (draws[0, 0] < in_b).astype(jnp.int32)
    _, (after, environment) = jax.lax.scan(move, start, draws[1:])
    return jnp.append(start[0], after), environment


def _doors(rooms: Rooms) -> Rooms:
    """The neighbours of each room, by its number: up, down, right, left."""
    around = [np.roll(rooms, shift, axis) for shift, axis in ((1, 0), (-1, 0), (-1, 1), (1, 1))]
    doors = np.empty((rooms.size, 4), np.int32)
    doors[rooms.ravel()] = np.stack(around, axis=-1).reshape(-1, 4)
    return doors

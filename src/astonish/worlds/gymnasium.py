"""The maze as an environment for gymnasium, in which an agent chooses its way (`pip install 'astonish[worlds]'`).

The paper's agent does not choose: `env.action_space.sample()` opens a door at random, as `maze.walk` does. There is no
reward and no end; for a limit of time, put `gymnasium.wrappers.TimeLimit` around it.

Importing this module tells gymnasium of it, and so does its name in front of the environment's:
`gymnasium.make("astonish.worlds.gymnasium:astonish/Maze-v0")`.
"""

from typing import Any

import numpy as np

from astonish.core.numbers import PROBABILITY
from astonish.core.refusal import naming_extra
from astonish.worlds import maze as worlds

with naming_extra("this environment needs"):
    import gymnasium
    from gymnasium.spaces import Discrete

DRAWN = worlds.maze(worlds.A, worlds.B)
StepInfo = dict[str, Any]

gymnasium.register("astonish/Maze-v0", "astonish.worlds.gymnasium:MazeEnv")


class MazeEnv(gymnasium.Env[np.int64, np.int64]):
    """Observations are rooms, actions doors (0 up, 1 down, 2 right, 3 left); before each step the maze may switch.

    maze: of two environments. leave: the probabilities of leaving A and B. info has what the agent does not observe:
    the `environment` (0 is A, 1 is B) that the step was made in, and whether it had just `switched`.

    >>> env = MazeEnv()
    >>> room, info = env.reset(seed=2)
    >>> after, reward, terminated, truncated, info = env.step(env.action_space.sample())
    >>> int(after) in DRAWN.doors[info["environment"], room]
    True
    """

    metadata: dict[str, Any] = {"render_modes": ["ansi"], "render_fps": 4}  # noqa: RUF012 (so it is in gymnasium)

    def __init__(
        self, maze: worlds.Maze = DRAWN, leave: tuple[float, float] = (0.005, 0.005), render_mode: str | None = None
    ) -> None:
        if maze.doors.ndim != 3 or len(maze.doors) != 2:
            raise ValueError(f"the maze has doors of shape {maze.doors.shape}; give one maze of two environments")
        if render_mode not in (None, "ansi"):
            raise ValueError(f"render_mode = {render_mode!r} is not allowed; give None or 'ansi'")
        self.maze, self.render_mode = maze, render_mode
        self.leave = PROBABILITY.check("leave", leave)
        if self.leave.shape != (2,):
            raise ValueError(f"leave = {leave} is not allowed; give the probabilities of leaving A and B")
        self.observation_space = Discrete(maze.rooms)
        self.action_space = Discrete(maze.doors.shape[-1])
        self._room, self._environment = -1, 0  # nowhere, before the first reset

    def reset(self, *, seed: int | None = None, options: StepInfo | None = None) -> tuple[np.int64, StepInfo]:
        """A random room in a random environment, in B as often as it is in the long run."""
        super().reset(seed=seed)
        self._environment = int(self.np_random.random() < worlds.share_of_b(self.leave))
        self._room = int(self.np_random.integers(self.maze.rooms))
        return np.int64(self._room), {"environment": self._environment, "switched": False}

    def step(self, action: np.int64) -> tuple[np.int64, float, bool, bool, StepInfo]:
        """The environment may switch; then the agent goes through the door."""
        if self._room < 0:
            raise ValueError("the agent is nowhere yet; call reset() before the first step")
        if not self.action_space.contains(action):
            last = self.maze.doors.shape[-1] - 1
            raise ValueError(f"action = {action} is not a door; give a whole number from 0 to {last}")
        switched = bool(self.np_random.random() < self.leave[self._environment])
        self._environment ^= switched
        self._room = int(self.maze.doors[self._environment, self._room, action])
        return np.int64(self._room), 0.0, False, False, {"environment": self._environment, "switched": switched}

    def render(self) -> str | None:
        """The rooms as they are arranged now, room 0 in the first corner and the agent's in brackets."""
        if self.render_mode is None:
            return None
        doors = self.maze.doors[self._environment]
        rows = [_around(doors[:, 2], first) for first in _around(doors[:, 1], 0)]
        cells = [[f"[{room:2d}]" if room == self._room else f" {room:2d} " for room in row] for row in rows]
        return "\n".join(["AB"[self._environment], *map("".join, cells)])


def _around(door: worlds.Rooms, start: int) -> list[int]:
    """The rooms on the way round the torus, always through the same door."""
    way = [start]
    while (room := int(door[way[-1]])) != start:
        way.append(room)
    return way

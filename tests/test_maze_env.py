"""Is the maze for gymnasium a proper environment, and the same world as `walk`?"""

import subprocess
import sys
from typing import Any, NamedTuple

import gymnasium
import numpy as np
import pytest
from gymnasium.envs.registration import EnvSpec
from gymnasium.utils.env_checker import check_env
from numpy.typing import NDArray
from scipy import stats

from astonish.worlds.gymnasium import MazeEnv
from astonish.worlds.maze import A, B, Maze, maze, rearranged, walk

BOTH = maze(A, B)
LEAVE = (0.1, 0.05)


class Journey(NamedTuple):
    """Rooms, the first included, and of each step the environment and whether it had switched."""

    rooms: NDArray[np.int64]
    environment: NDArray[np.int64]
    switched: NDArray[np.bool_]


def _journey(env: Any, steps: int, seed: int) -> Journey:
    """What the paper's agent sees: a random door at every step."""
    env.action_space.seed(seed + 1000)  # the same one would draw the same numbers for doors and for switches
    room, info = env.reset(seed=seed)
    rooms, notes = [room], [(info["environment"], info["switched"])]
    for _ in range(steps):
        room, reward, terminated, truncated, info = env.step(env.action_space.sample())
        assert (reward, terminated, truncated) == (0, False, False)
        rooms.append(room)
        notes.append((info["environment"], info["switched"]))
    environment, switched = map(np.array, zip(*notes, strict=True))
    assert not switched[0]
    np.testing.assert_array_equal(environment[1:] != environment[:-1], switched[1:])
    return Journey(np.array(rooms), environment[1:], switched[1:])


@pytest.mark.parametrize("how", [{}, {"maze": rearranged(3, 3, 5)}, {"leave": (1.0, 0.0)}])
def test_gymnasium_finds_nothing_to_complain_about(how: dict[str, Any]) -> None:
    """Its warnings are errors here; made from a specification, it is drawn in every way it can be, too."""
    check_env(gymnasium.make(EnvSpec("Maze-v0", "astonish.worlds.gymnasium:MazeEnv", kwargs=how)).unwrapped)


def test_gymnasium_knows_it_by_its_name() -> None:
    env = gymnasium.make("astonish/Maze-v0", leave=LEAVE)
    check_env(env.unwrapped)
    assert isinstance(env.unwrapped, MazeEnv)
    assert env.unwrapped.leave.tolist() == list(LEAVE)
    assert env.spec is not None
    assert EnvSpec.from_json(env.spec.to_json()).make().observation_space == env.observation_space
    assert MazeEnv(rearranged(1, 3, 4)).observation_space == gymnasium.spaces.Discrete(12)


@pytest.mark.parametrize(
    ("program", "printed"),
    [
        ("import gymnasium; print(gymnasium.make('astonish.worlds.gymnasium:astonish/Maze-v0').action_space)", "Discr"),
        ("import sys, astonish.worlds.maze; print('gymnasium' in sys.modules)", "False"),
    ],
)
def test_its_name_says_where_it_is_from_and_gymnasium_is_loaded_on_request_only(program: str, printed: str) -> None:
    done = subprocess.run([sys.executable, "-c", program], check=False, capture_output=True, text=True)
    assert (done.stdout[: len(printed)], done.stderr) == (printed, "")


def test_the_agent_goes_through_the_door_it_wants() -> None:
    env = MazeEnv(leave=(0.5, 0.5))
    room, _ = env.reset(seed=4)
    seen = set()
    for action in np.random.default_rng(5).integers(4, size=2000):
        after, _, _, _, info = env.step(action)
        assert after == BOTH.doors[info["environment"], room, action]
        seen.add((info["environment"], int(room), int(action)))
        room = after
    assert len(seen) == 2 * 16 * 4


def _choices_of_doors(maze: Maze, here: Any, there: Any, environment: Any) -> NDArray[np.int64]:
    """How often each door of each room was taken, in each environment."""
    opened = (maze.doors[environment, here] == there[..., None]).argmax(axis=-1)
    counts = np.zeros((2, maze.rooms, 4), int)
    np.add.at(counts, (environment, here, opened), 1)
    return counts


def test_a_random_agent_sees_what_walk_shows() -> None:
    steps = 20_000
    journey, other = _journey(MazeEnv(leave=LEAVE), steps, seed=6), walk(BOTH, steps, 6, LEAVE)
    here, there = journey.rooms[:-1], journey.rooms[1:]
    assert (BOTH.transitions[journey.environment, here, there] > 0).all()
    counts = _choices_of_doors(BOTH, here, there, journey.environment)
    counts_of_walk = _choices_of_doors(BOTH, *other.transitions, other.environment)
    tables = zip(counts.reshape(-1, 4), counts_of_walk.reshape(-1, 4), strict=True)
    tests = [stats.chi2_contingency(pair).statistic for pair in tables]
    assert stats.chi2.sf(sum(tests), 3 * len(tests)) > 1e-4  # of each room, in each environment
    assert stats.chisquare(counts.sum(axis=(0, 1))).pvalue > 1e-4
    for which, probability in enumerate(LEAVE):
        before = journey.environment[:-1] == which
        left = journey.switched[1:][before].mean()
        assert abs(left - probability) < 4 * np.sqrt(probability * (1 - probability) / before.sum())


def test_it_starts_anywhere_and_in_b_as_often_as_it_is_there() -> None:
    env = MazeEnv(leave=(0.1, 0.3))
    starts = [env.reset(seed=seed) for seed in range(1600)]
    rooms, in_b = np.array([room for room, _ in starts]), np.array([info["environment"] for _, info in starts])
    assert stats.chisquare(np.bincount(rooms, minlength=16)).pvalue > 1e-4
    assert abs(in_b.mean() - 0.25) < 4 * np.sqrt(0.25 * 0.75 / len(in_b))


def test_the_same_seed_is_the_same_journey() -> None:
    one, again, other = (_journey(MazeEnv(leave=LEAVE), 300, seed) for seed in (7, 7, 8))
    for a, b in zip(one, again, strict=True):
        np.testing.assert_array_equal(a, b)
    assert (one.rooms != other.rooms).any()
    env = MazeEnv(leave=LEAVE)
    env.reset(seed=7)
    assert len({int(env.reset()[0]) for _ in range(50)}) > 5  # without a seed it goes on, and does not start over


def test_it_draws_the_rooms_and_the_agent() -> None:
    env = MazeEnv(leave=(0.5, 0.5), render_mode="ansi")
    env.reset(seed=3)
    drawn = set()
    for action in np.random.default_rng(9).integers(4, size=20):
        room, _, _, _, info = env.step(action)
        picture = env.render()
        assert picture is not None
        name, *rows = picture.splitlines()
        table = np.array([[int(cell.strip("[]")) for cell in row.replace("[ ", "[").split()] for row in rows])
        assert name == "AB"[info["environment"]]
        assert picture.count("[") == 1
        assert f"[{room:2d}]" in picture
        np.testing.assert_array_equal(maze(table).doors[0], BOTH.doors[info["environment"]])
        drawn.add(name)
    assert drawn == {"A", "B"}
    assert MazeEnv().render() is None


@pytest.mark.parametrize(
    ("how", "sentence"),
    [
        ({"leave": (0.1, -0.1)}, "leave = -0.1 is not allowed; give a finite number from 0 to 1"),
        ({"leave": 0.1}, "leave = 0.1 is not allowed; give the probabilities of leaving A and B"),
        ({"maze": maze(A)}, r"the maze has doors of shape \(1, 16, 4\); give one maze of two environments"),
        ({"render_mode": "human"}, "render_mode = 'human' is not allowed; give None or 'ansi'"),
    ],
)
def test_what_makes_no_sense_is_refused(how: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        MazeEnv(**how)


@pytest.mark.parametrize("action", [4, -1, 1.5])
def test_there_are_four_doors(action: Any) -> None:
    env = MazeEnv()
    with pytest.raises(ValueError, match=r"the agent is nowhere yet; call reset\(\) before the first step"):
        env.step(np.int64(0))
    env.reset(seed=1)
    with pytest.raises(ValueError, match=f"action = {action} is not a door; give a whole number from 0 to 3"):
        env.step(action)

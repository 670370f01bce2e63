"""Is the maze the paper's: a torus of rooms, two environments, and walks with the promised statistics?"""

from itertools import pairwise
from typing import Any

import jax
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from astonish.worlds.maze import A, B, Maze, Walk, maze, probabilities_of_leaving, rearranged, share_of_b, walk

BOTH = maze(A, B)
MAZES = {"drawn": BOTH, "rearranged": rearranged(3), "small": rearranged(4, 3, 3), "oblong": rearranged(5, 3, 7)}


@pytest.fixture(params=MAZES)
def some_maze(request: pytest.FixtureRequest) -> Maze:
    return MAZES[request.param]


# The rooms


def test_every_room_has_four_neighbours_and_every_door_leads_back(some_maze: Maze) -> None:
    back = [1, 0, 3, 2]  # up, down, right, left, reversed
    for doors in some_maze.doors:
        for room, ways in enumerate(doors):
            assert len({room, *ways}) == 5
            assert [doors[there, back[door]] for door, there in enumerate(ways)] == [room] * 4


def test_transitions_are_the_doors(some_maze: Maze) -> None:
    transitions = some_maze.transitions
    assert transitions.shape == (2, some_maze.rooms, some_maze.rooms)
    np.testing.assert_array_equal(transitions.sum(axis=-1), 1)
    np.testing.assert_array_equal(transitions, transitions.swapaxes(-1, -2))
    assert ((transitions > 0).sum(axis=(-1, -2)) == 4 * some_maze.rooms).all()
    assert set(transitions.flat) == {0.0, 0.25}


def test_up_down_right_and_left_on_a_torus() -> None:
    """Counted by hand in the table 0 1 2 / 3 4 5 / 6 7 8."""
    doors = maze(np.arange(9).reshape(3, 3)).doors[0]
    assert doors[4].tolist() == [1, 7, 5, 3]
    assert doors[0].tolist() == [6, 3, 1, 2]
    assert doors[8].tolist() == [5, 2, 6, 7]


def test_rearranged_mazes() -> None:
    mazes = [rearranged(seed) for seed in (1, 2, 1)]
    np.testing.assert_array_equal(mazes[0].doors, mazes[2].doors)
    np.testing.assert_array_equal(mazes[0].doors[0], BOTH.doors[0])
    assert (mazes[0].doors[1] != mazes[1].doors[1]).any()


@pytest.mark.parametrize("table", [[[1, 2], [3, 4]], [[0, 1], [1, 2]], [[0, 1, 2, 3]], [0, 1, 2, 3]])
def test_an_arrangement_must_hold_every_room_once(table: Any) -> None:
    with pytest.raises(ValueError, match="is no torus; give rooms 0, 1, 2, "):
        maze(table)


# The probabilities of leaving


@pytest.mark.parametrize("tau", [2.0, 10.0, 200.0])
@pytest.mark.parametrize("psi", [0.1, 0.5, 0.6])
def test_tau_and_psi_are_what_the_probabilities_mean(tau: float, psi: float) -> None:
    leave_a, leave_b = probabilities_of_leaving(tau, psi)
    assert 1 / leave_a == pytest.approx(tau)
    assert leave_b / (leave_a + leave_b) == pytest.approx(psi)
    assert 1 - share_of_b(np.array([leave_a, leave_b])) == pytest.approx(psi)
    at_the_ends = np.array([[0.0, 0.2], [0.2, 0.0], [0.0, 0.0], [1.0, 1.0]])
    assert share_of_b(at_the_ends).tolist() == [0.0, 1.0, 0.5, 0.5]


@pytest.mark.parametrize(
    ("tau", "psi", "sentence"),
    [
        (0.5, 0.5, "tau = 0.5 is not allowed; give a finite number of at least 1"),
        (10, 1, "psi = 1 is not allowed; give a finite number between 0 and 1, ends excluded"),
        (10, 0, "psi = 0 is not allowed"),
        (2, 0.9, "tau = 2 and psi = 0.9 would need stays in B of 0.22 steps; give a tau of at least .* = 9"),
    ],
)
def test_impossible_stays_are_refused(tau: float, psi: float, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        probabilities_of_leaving(tau, psi)


# Walks


def _stays(environment: NDArray[np.int32], which: int) -> NDArray[np.int64]:
    """How long each whole stay in one environment was: those cut off at either end of the walk do not count."""
    changes = np.flatnonzero(np.diff(environment)) + 1
    return np.array([b - a for a, b in pairwise(changes) if environment[a] == which], int)


def _within(values: Any, expected: float, errors: float = 4.0) -> bool:
    """Whether the mean lies within so many standard errors of what is expected."""
    values = np.asarray(values, float)
    return bool(abs(values.mean() - expected) < errors * values.std() / np.sqrt(values.size))


def test_walks_go_through_doors_of_the_environment_they_are_in(some_maze: Maze) -> None:
    w = walk(some_maze, 500, range(5), leave=(0.1, 0.2))
    here, there = w.transitions
    assert w.rooms.shape == (5, 501)
    assert w.environment.shape == w.switched.shape == (5, 500)
    for environment, a, b in zip(w.environment.flat, here.flat, there.flat, strict=True):
        assert b in some_maze.doors[environment, a]
    np.testing.assert_array_equal(here[:, 1:], there[:, :-1])


def test_switched_says_where_the_environment_changed() -> None:
    w = walk(BOTH, 300, range(3), leave=(0.1, 0.1))
    for environment, switched in zip(w.environment, w.switched, strict=True):
        assert [bool(s) for s in switched] == [False, *(a != b for a, b in pairwise(environment.tolist()))]
    assert w.switched.any()


@pytest.mark.parametrize("leave", [(0.05, 0.05), (0.02, 0.06), (0.3, 0.1), probabilities_of_leaving(20, 0.25)])
def test_stays_are_geometric_with_the_promised_means(leave: tuple[float, float]) -> None:
    w = walk(BOTH, 4000, range(40), leave)
    for which, probability in enumerate(leave):
        leaves = w.switched[:, 1:][w.environment[:, :-1] == which]
        assert _within(leaves, probability)
        stays = np.concatenate([_stays(environment, which) for environment in w.environment])
        assert stays.min() == 1
        assert _within(stays, 1 / probability)
        edges = stats.geom.ppf([0.2, 0.4, 0.6, 0.8], probability)
        expected = np.diff(stats.geom.cdf([0, *edges, np.inf], probability)) * len(stays)
        filled = expected > 0
        counts = np.histogram(stays, np.concatenate([[0], edges, [np.inf]]) + 0.5)[0]
        assert stats.chisquare(counts[filled], expected[filled]).pvalue > 1e-4


def test_the_share_of_time_in_a_is_psi_from_the_first_step_on() -> None:
    """Walks are independent, so their shares are; the start is drawn as the long run would have it.

    Where neither is ever left, either is a start.
    """
    leave = probabilities_of_leaving(20, 0.25)
    w = walk(BOTH, 1000, range(1000), leave)
    assert _within((w.environment == 0).mean(axis=1), 0.25)
    for step in (0, 10, 100):
        assert _within(w.environment[:, step] == 0, 0.25)
    assert _within(walk(BOTH, 1, range(2000), leave=(0, 0)).environment, 0.5)


def test_an_environment_that_is_never_left_and_one_that_is_left_at_once() -> None:
    stuck = walk(BOTH, 50, range(20), leave=(0.0, 0.0))
    assert not stuck.switched.any()
    assert (walk(BOTH, 50, range(20), leave=(0.0, 0.5)).environment == 0).all()
    assert walk(BOTH, 50, range(20), leave=(1.0, 1.0)).switched[:, 1:].all()


def test_doors_and_first_rooms_are_equally_likely() -> None:
    """The door opens whatever the environment has just done."""
    w = walk(BOTH, 2000, range(100), leave=(0.2, 0.2))
    here, there = w.transitions
    opened = (BOTH.doors[w.environment, here] == there[..., None]).argmax(axis=-1)
    assert stats.chisquare(np.bincount(opened.ravel(), minlength=4)).pvalue > 1e-4
    by_room = [np.bincount(opened[(here == room) & (w.environment == e)]) for room in range(16) for e in range(2)]
    assert stats.chi2_contingency(by_room).pvalue > 1e-4
    by_switch = [np.bincount(opened[w.switched == switched], minlength=4) for switched in (False, True)]
    assert stats.chi2_contingency(by_switch).pvalue > 1e-4
    assert stats.chisquare(np.bincount(walk(BOTH, 1, range(3200)).rooms[:, 0], minlength=16)).pvalue > 1e-4


def test_a_walk_depends_on_its_seed_alone() -> None:
    together, alone = walk(BOTH, 200, [7, 8, 9]), walk(BOTH, 200, 8)
    shuffled = walk(BOTH, 200, [9, 1, 8, 30, 7])
    for name in Walk._fields:
        np.testing.assert_array_equal(getattr(together, name)[1], getattr(alone, name)[0])
        np.testing.assert_array_equal(getattr(together, name)[[0, 1, 2]], getattr(shuffled, name)[[4, 2, 0]])
    assert (together.rooms[0] != together.rooms[1]).any()
    np.testing.assert_array_equal(walk(BOTH, 120, 8).rooms[0], alone.rooms[0, :121])  # a shorter walk is its beginning


@pytest.mark.single
def test_precision_changes_no_walk() -> None:
    single = walk(BOTH, 200, [7, 8])
    with jax.enable_x64(True):
        double = walk(BOTH, 200, [7, 8])
    for name in Walk._fields:
        np.testing.assert_array_equal(getattr(single, name), getattr(double, name))


def test_choices_are_transitions_without_staying() -> None:
    w = walk(BOTH, 300, range(4))
    here, choice = w.choices
    np.testing.assert_array_equal(here, w.transitions[0])
    assert choice.min() == 0
    assert choice.max() == 14
    for a, c, b in zip(here.flat, choice.flat, w.transitions[1].flat, strict=True):
        assert [room for room in range(16) if room != a][c] == b


def test_each_seed_may_have_its_maze_and_its_probabilities() -> None:
    mazes, leaves = [rearranged(seed) for seed in (4, 5, 6)], np.array([[0.1, 0.1], [0.3, 0.05], [0.0, 0.2]])
    stacked = Maze(np.stack([m.doors for m in mazes]))
    assert stacked.rooms == 16
    np.testing.assert_array_equal(stacked.transitions[1], mazes[1].transitions)
    together = walk(stacked, 100, [1, 2, 3], leaves)
    for i, (m, leave) in enumerate(zip(mazes, leaves, strict=True)):
        alone = walk(m, 100, i + 1, leave)
        for name in Walk._fields:
            np.testing.assert_array_equal(getattr(together, name)[i], getattr(alone, name)[0])


@pytest.mark.parametrize(
    ("mazes", "steps", "leave", "sentence"),
    [
        (BOTH, 0, (0.1, 0.1), "steps = 0 is not allowed; give a whole number of at least 1"),
        (BOTH, 2.5, (0.1, 0.1), "steps = 2.5 is not allowed"),
        (BOTH, 5, (0.1, 1.1), "leave = 1.1 is not allowed; give a finite number from 0 to 1"),
        (BOTH, 5, (0.1, 0.1, 0.1), r"leave has shape \(3,\); give \(2,\), or \(3, 2\) for each seed its own"),
        (BOTH, 5, [(0.1, 0.1)] * 2, r"leave has shape \(2, 2\); give"),
        (maze(A), 5, (0.1, 0.1), r"doors has shape \(1, 16, 4\); give \(2, 16, 4\), or \(3, 2, 16, 4\)"),
        (maze(A, B, A), 5, (0.1, 0.1), r"doors has shape \(3, 16, 4\); give \(2, 16, 4\)"),
        (Maze(np.stack([BOTH.doors] * 4)), 5, (0.1, 0.1), r"doors has shape \(4, 2, 16, 4\)"),
    ],
)
def test_walks_that_make_no_sense_are_refused(mazes: Maze, steps: Any, leave: Any, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        walk(mazes, steps, [1, 2, 3], leave)

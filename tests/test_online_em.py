"""Does online EM compute what the paper's section 4.12 says, and find the environments of mazes?"""

from dataclasses import replace
from itertools import permutations, product
from typing import Any

import jax
import numpy as np
import pytest
from numpy.typing import NDArray

from astonish import OnlineEM, Steps, run, scan
from astonish.learners.online_em import Environments
from astonish.worlds.maze import A, B, maze, walk

Array = NDArray[np.float64]
Series = tuple[NDArray[np.int64], NDArray[np.int64]]
NEVER = 10**6  # more samples than any series here has


def _random_moves(environments: int, rooms: int, seed: int) -> Array:
    return np.random.default_rng(seed).dirichlet(np.ones(rooms), (environments, rooms))


def _first_switches(learner: OnlineEM) -> Array:
    """The probability `switch` of leaving, shared by the other environments."""
    some = learner.environments
    return np.array(
        [[1 - learner.switch if i == j else learner.switch / (some - 1) for j in range(some)] for i in range(some)]
    )


def _start(learner: OnlineEM, moves: Array) -> Environments:
    """Nothing counted, every environment as likely, and these first probabilities of moves."""
    empty = jax.tree.map(lambda leaf: np.zeros(leaf.shape, leaf.dtype), jax.eval_shape(learner.init))
    return empty._replace(where=np.full(learner.environments, 1 / learner.environments), first=moves)


def _everything(learner: OnlineEM, xs: Series, state: Environments) -> Any:
    """Probabilities, switches and moves after each sample, then the trace itself."""
    trace = _scan(learner, xs, state)
    return *map(np.asarray, trace.estimate), trace


@jax.jit
def _scan(learner: OnlineEM, xs: Any, state: Environments) -> Steps:
    return scan(learner, xs, state, read=lambda now: (now.where, learner.switches(now), learner.moves(now)))


def _moves(learner: OnlineEM, state: Environments) -> Array:
    return np.asarray(jax.jit(OnlineEM.moves)(learner, state))


def _wander(moves: Array, switches: Array, steps: int, seed: int) -> Series:
    """A walk through any number of environments: before each step a switch, perhaps to where one is."""
    draws = np.random.default_rng(seed).random((steps, 2))
    to_environment, to_room = switches.cumsum(-1), moves.cumsum(-1)
    environment, rooms = 0, [0]
    for switch, move in draws:
        environment = min(int((to_environment[environment] < switch).sum()), len(switches) - 1)
        rooms.append(min(int((to_room[environment, rooms[-1]] < move).sum()), moves.shape[-1] - 1))
    return np.array(rooms[:-1]), np.array(rooms[1:])


def _named(found: Array, truth: Array) -> list[int]:
    """Which of the learner's environments is which: the order in which they fit best."""
    return list(min(permutations(range(len(truth))), key=lambda order: np.square(found[list(order)] - truth).sum()))


def _errors(found: Array, truth: Array) -> Array:
    """The mean square of the differences, in each environment."""
    return np.square(found - truth).mean(axis=(-1, -2))


# Knowing where one is


def _by_enumeration(moves: Array, switches: Array, xs: Series) -> tuple[Array, float]:
    """The probability of each environment at the end, and that of the rooms: a sum over all paths of environments."""
    here, there = xs
    some = len(switches)
    ending_in = np.zeros(some)
    for path in product(range(some), repeat=len(here) + 1):
        steps = zip(path, path[1:], here, there, strict=False)
        ending_in[path[-1]] += np.prod([switches[i, j] * moves[j, s, s2] for i, j, s, s2 in steps]) / some
    return ending_in / ending_in.sum(), float(ending_in.sum())


@pytest.mark.parametrize(("environments", "rooms", "steps"), [(2, 3, 8), (3, 3, 6), (2, 5, 7)])
def test_with_known_parameters_it_filters_exactly(environments: int, rooms: int, steps: int) -> None:
    learner = OnlineEM(rooms, environments, switch=0.23, frozen=NEVER)
    moves, switches = _random_moves(environments, rooms, seed=environments), _first_switches(learner)
    path = np.random.default_rng(rooms).integers(rooms, size=steps + 1)
    here, there = path[:-1], path[1:]
    where, _, _, trace = _everything(learner, (here, there), _start(learner, moves))
    for t in range(steps):
        expected, probability = _by_enumeration(moves, switches, (here[: t + 1], there[: t + 1]))
        np.testing.assert_allclose(where[t], expected, rtol=1e-12)
        assert float(trace.surprise[: t + 1].sum()) == pytest.approx(-np.log(probability), rel=1e-12)


def test_the_estimate_is_what_it_expects_from_the_room_left_last() -> None:
    learner = OnlineEM(4, 3, frozen=20, learning_rate=0.05, seed=3)
    history = run(learner, _wander(_random_moves(3, 4, 1), np.full((3, 3), 1 / 3), 60, seed=2))
    state = history.state
    moves = _moves(learner, state)
    assert int(state.room) == history.samples[0][-1]
    expected = sum(q * moves[e, int(state.room)] for e, q in enumerate(state.where))
    np.testing.assert_allclose(history.estimate[-1], expected, rtol=1e-12)
    assert history.estimate.sum(axis=-1) == pytest.approx(1)


# The whole algorithm


def _by_letter(moves: Array, switches: Array, xs: Series, rate: float, frozen: int) -> list[tuple[Array, Array, Array]]:
    """q, P and T after each sample by equations 35 to 38, index by index, with all of phi."""
    some, rooms, _ = moves.shape
    q, p, t = np.full(some, 1 / some), switches, moves
    phi = np.zeros((some, some, rooms, rooms, some))
    after = []
    for step, (s, s2) in enumerate(zip(*xs, strict=True), start=1):
        total = sum(q[m] * p[m, n] * t[n, s, s2] for m in range(some) for n in range(some))
        gamma = np.array([[p[m, h] * t[h, s, s2] / total for h in range(some)] for m in range(some)])
        old, phi = phi, np.zeros_like(phi)
        for h, m in product(range(some), repeat=2):
            delta = np.zeros(phi.shape[:-1])
            delta[m, h, s, s2] = 1
            phi[..., h] += gamma[m, h] * ((1 - rate) * old[..., m] + rate * q[m] * delta)
        q = np.array([sum(q[m] * gamma[m, h] for m in range(some)) for h in range(some)])
        if step >= frozen:
            p = phi.sum(axis=(2, 3, 4)) / phi.sum(axis=(1, 2, 3, 4))[:, None]
            t = phi.sum(axis=(0, 4)) / phi.sum(axis=(0, 3, 4))[:, :, None]
        after.append((q, p, t))
    return after


@pytest.mark.parametrize(
    ("environments", "rooms", "rate", "frozen"), [(2, 4, 0.01, 200), (3, 3, 0.03, 100), (2, 3, 0.2, 60)]
)
def test_it_is_the_papers_algorithm(environments: int, rooms: int, rate: float, frozen: int) -> None:
    learner = OnlineEM(rooms, environments, learning_rate=rate, switch=0.15, frozen=frozen)
    moves, first = _random_moves(environments, rooms, seed=11), _random_moves(environments, rooms, seed=12)
    xs = _wander(0.7 * moves + 0.3 / rooms, np.full((environments, environments), 1 / environments), 400, seed=13)
    assert len(set(zip(*(part[:frozen] for part in xs), strict=True))) == rooms**2  # every move is seen in time
    expected = _by_letter(first, _first_switches(learner), xs, rate, frozen)
    ours = _everything(learner, xs, _start(learner, first))[:3]
    for mine, theirs in zip(ours, zip(*expected, strict=True), strict=True):
        np.testing.assert_allclose(mine, np.stack(theirs), rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(ours[2][frozen - 2], first)
    assert np.abs(ours[2][frozen - 1] - first).max() > 0.1


def test_what_rests_on_nothing_keeps_its_first_probabilities() -> None:
    learner = OnlineEM(5, learning_rate=0.05, frozen=10, seed=4)
    state = run(learner, (np.arange(40) % 3, (np.arange(40) + 1) % 3)).state  # rooms 3 and 4 are never left
    moves = _moves(learner, state)
    np.testing.assert_array_equal(moves[:, 3:], state.first[:, 3:])
    np.testing.assert_allclose(moves[:, [0, 1, 2], [1, 2, 0]], 1, rtol=1e-12)


def test_a_move_never_seen_surprises_beyond_measure_but_finitely() -> None:
    learner = OnlineEM(3, learning_rate=0.05, frozen=10, seed=4)
    here, there = np.arange(40) % 3, (np.arange(40) + 1) % 3
    here[30:], there[30:] = [0, 2, 1, 0, 2, 1, 0, 2, 1, 0], [2, 1, 0, 2, 1, 0, 2, 1, 0, 2]
    history = run(learner, (here, there))
    assert history.surprise[29] < 1e-9
    assert history.surprise[30] == pytest.approx(-2 * np.log(np.finfo(float).eps))
    assert history.surprise[33] < 10  # it has now been seen
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves((history.state, history.estimate, history.surprise)))
    assert history.state.where.sum() == pytest.approx(1)


@pytest.mark.parametrize("rate", [0.0, 0.5, 1.0])
def test_what_was_long_ago_fades_without_trouble(rate: float) -> None:
    learner = OnlineEM(4, learning_rate=rate, frozen=4)
    path = np.concatenate([np.arange(40) % 4, np.arange(5000) % 2, np.arange(40) % 4])
    history = run(learner, (path[:-1], path[1:]))
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves((history.state, history.estimate, history.surprise)))
    assert _moves(learner, history.state).sum(-1) == pytest.approx(1)
    if rate == 0:
        np.testing.assert_array_equal(_moves(learner, history.state), history.state.first)


def test_probabilities_add_up_to_one_at_every_step() -> None:
    learner = OnlineEM(6, 3, learning_rate=0.1, frozen=5)
    xs = _wander(_random_moves(3, 6, 1), np.full((3, 3), 1 / 3), 60, seed=2)
    for probabilities in _everything(learner, xs, _start(learner, _random_moves(3, 6, 3)))[:3]:
        assert (probabilities >= 0).all()
        np.testing.assert_allclose(probabilities.sum(-1), 1, rtol=1e-12)


# Finding environments


def _after(learner: OnlineEM, xs: Series, seeds: Any) -> tuple[Array, Array]:
    """The moves and switches found at the end of several walks, by learners with different seeds."""

    def one(seed: Any, x: Any) -> tuple[Any, Any]:
        mine = replace(learner, seed=seed)
        state = scan(mine, x).state
        return mine.moves(state), mine.switches(state)

    moves, switches = jax.jit(jax.vmap(one))(np.asarray(seeds), xs)
    return np.asarray(moves), np.asarray(switches)


def test_it_finds_both_environments_of_the_maze() -> None:
    """After 20000 steps both errors are below .002, where that of taking A for B is above .02 (formula sheet)."""
    truth, seeds = maze(A, B).transitions, np.arange(4)
    assert _errors(truth[0], truth[1]) > 0.02
    moves, switches = _after(OnlineEM(16, learning_rate=0.001), walk(maze(A, B), 20_000, seeds).transitions, seeds)
    for found, p in zip(moves, switches, strict=True):
        order = _named(found, truth)
        assert (_errors(found[order], truth) < 0.002).all()
        assert all(0.005 / 3 < p[i, 1 - i] < 0.005 * 3 for i in range(2))  # from .1, on a memory of some five switches


def test_it_finds_three_environments_of_nine_rooms() -> None:
    rng = np.random.default_rng(1)
    truth = maze(*(rng.permutation(9).reshape(3, 3) for _ in range(3))).transitions
    apart = min(_errors(truth[i], truth[j]) for i, j in [(0, 1), (0, 2), (1, 2)])
    walks = [_wander(truth, np.where(np.eye(3) == 1, 0.99, 0.005), 40_000, seed) for seed in range(2)]
    moves, switches = _after(
        OnlineEM(9, 3, learning_rate=0.0005), tuple(map(np.stack, zip(*walks, strict=True))), range(2)
    )
    for found, p in zip(moves, switches, strict=True):
        assert (_errors(found[_named(found, truth)], truth) < 0.1 * apart).all()
        assert 0.01 / 3 < np.mean(1 - np.diag(p)) < 0.01 * 3


def test_it_recovers_the_parameters_of_two_rooms() -> None:
    """From a rough idea, for without one it may settle at a poorer explanation: that is EM's, not the code's."""
    truth = np.array([[[0.9, 0.1], [0.2, 0.8]], [[0.15, 0.85], [0.9, 0.1]]])
    switches = np.array([[0.98, 0.02], [0.03, 0.97]])
    learner = OnlineEM(2, learning_rate=0.0005)
    xs = _wander(truth, switches, 40_000, seed=5)
    _, found_switches, found, _ = _everything(learner, xs, _start(learner, 0.4 * truth + 0.3))
    np.testing.assert_allclose(found[-1], truth, atol=0.05)
    np.testing.assert_allclose(found_switches[-1], switches, atol=0.01)


def test_environments_have_no_order() -> None:
    learner, order = OnlineEM(4, 3, learning_rate=0.02, frozen=30), [2, 0, 1]
    first = _random_moves(3, 4, seed=21)
    xs = _wander(_random_moves(3, 4, seed=22), np.full((3, 3), 1 / 3), 200, seed=23)
    where, switches, moves, trace = _everything(learner, xs, _start(learner, first))
    where2, switches2, moves2, trace2 = _everything(learner, xs, _start(learner, first[order]))
    np.testing.assert_allclose(where2, where[:, order], rtol=1e-9)
    np.testing.assert_allclose(moves2, moves[:, order], rtol=1e-9, atol=1e-14)
    np.testing.assert_allclose(switches2, switches[:, order][:, :, order], rtol=1e-9)
    np.testing.assert_allclose(trace2.surprise, trace.surprise, rtol=1e-9)
    assert np.abs(where - where.mean(-1, keepdims=True)).max() > 0.1


def test_alike_at_first_means_alike_for_ever() -> None:
    """Nothing but their first probabilities tells environments apart; hence the random ones."""
    learner = OnlineEM(4, learning_rate=0.02, frozen=30)
    same = np.repeat(_random_moves(1, 4, seed=21), 2, axis=0)
    where, _, moves, _ = _everything(learner, _wander(_random_moves(2, 4, 1), np.eye(2), 100, 2), _start(learner, same))
    np.testing.assert_allclose(where, 0.5, rtol=1e-12)
    np.testing.assert_allclose(moves[:, 0], moves[:, 1], rtol=1e-12)


# Seeds, gaps, and what is refused


def test_seeds_differ_and_repeat() -> None:
    seeds = np.array([0, 1, 2, 2**32, 0])
    first = np.asarray(jax.vmap(lambda seed: OnlineEM(3, seed=seed).init().first)(seeds))
    assert len({row.tobytes() for row in first}) == 4
    np.testing.assert_array_equal(first[0], first[4])
    np.testing.assert_allclose(first.sum(-1), 1, rtol=1e-12)
    xs = _wander(_random_moves(2, 3, 1), np.eye(2), 50, 2)
    one, again, other = (run(OnlineEM(3, seed=seed, frozen=10), xs) for seed in (5, 5, 6))
    np.testing.assert_array_equal(one.surprise, again.surprise)
    assert np.abs(one.surprise - other.surprise).max() > 0.01


def test_missing_samples_teach_nothing() -> None:
    learner = OnlineEM(3, learning_rate=0.1, frozen=2)
    gaps = run(learner, [(0, 1), None, (1, 2), (2, None), (None, 1), (2, 0), (0, 2)])
    without = run(learner, [(0, 1), (1, 2), (2, 0), (0, 2)])
    assert gaps.observed.tolist() == [True, False, True, False, False, True, True]
    assert np.isnan(gaps.surprise[~gaps.observed]).all()
    assert (gaps.learning_rate[~gaps.observed] == 0).all()
    np.testing.assert_allclose(gaps.surprise[gaps.observed], without.surprise, rtol=1e-12)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-12), gaps.state, without.state)


@pytest.mark.parametrize("sample", [(0, 3), (3, 0), (-1, 0), (0, 1.5)])
def test_rooms_that_do_not_exist_are_refused(sample: tuple[float, float]) -> None:
    with pytest.raises(ValueError, match=r"sample 1 .* is not allowed; give a whole number from 0 to 2"):
        run(OnlineEM(3), [(0, 1), sample])

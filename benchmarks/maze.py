"""How fast is the paper's Algorithm 2, against a literal translation of it on the same transitions?"""

from functools import partial
from typing import Any

import jax
import numpy as np

import literal
from astonish import Dirichlet, PerContext, Smile, run, run_many, scan
from gaussian import compute
from timing import Target, at_least, at_most, best, best_each, show, size

OUTCOMES, CONTEXTS, M = 15, 16, 0.1
EPISODES, LENGTH, LONG = size((64, 2_000, 10_000), (2, 50, 200))
SOME = size(4, 1)  # of the episodes are run by the literal translation too, at the same cost per update
LEARNER = PerContext(Smile(Dirichlet(OUTCOMES), m=M), CONTEXTS)


def report() -> list[Target]:
    """Judged through `run_many` and `run`, all their reading and checking included."""
    rng = np.random.default_rng(1)
    many = [transitions(rng, LENGTH) for _ in range(EPISODES)]
    one = transitions(rng, LONG)
    apart = max(distance([one], [run(LEARNER, one)]), distance(many[:SOME], run_many(LEARNER, many)[:SOME]))
    ours_many, ours_one = best_each([lambda: run_many(LEARNER, many), lambda: run(LEARNER, one, engine="xla")])
    native = best(lambda: run(LEARNER, one))
    loop_many = compute(jax.vmap(scan, in_axes=(None, 0)), LEARNER, tuple(map(np.stack, zip(*many, strict=True))))
    theirs_many = EPISODES / SOME * sum(best(partial(by_letter, *episode), 2, 0.0) for episode in many[:SOME])
    theirs_one = best(partial(by_letter, *one), 3, 0.0)
    show(
        f"Maze: {OUTCOMES} outcomes, {CONTEXTS} contexts, m = {M}, float64; microseconds per update",
        ["", "astonish", "SciPy + brentq", "ratio"],
        [
            row(f"{EPISODES} episodes of {LENGTH} (run_many)", ours_many, theirs_many, EPISODES * LENGTH),
            row(f"{EPISODES} episodes of {LENGTH} (jit(vmap(scan)))", loop_many, theirs_many, EPISODES * LENGTH),
            row(f"one series of {LONG} (run, XLA)", ours_one, theirs_one, LONG),
            row(f"one series of {LONG} (run, native where it is installed)", native, theirs_one, LONG),
        ],
    )
    print(f"  largest difference between the two tables of alphas: {apart:.1e}")
    return [
        at_most("maze: same alphas as SciPy + brentq", 1e-8, apart, "apart", is_check=True),
        at_least(f"maze: {EPISODES} episodes side by side, run_many", 270, theirs_many / ours_many, "x faster"),
        at_most(f"maze: {EPISODES} episodes side by side, run_many", 0.6, ours_many / EPISODES / LENGTH * 1e6, "us"),
        at_least("maze: one series, run, XLA", 140, theirs_one / ours_one, "x faster"),
        at_most("maze: one series, run, XLA", 1.2, ours_one / LONG * 1e6, "us"),
    ]


def transitions(rng: np.random.Generator, length: int) -> tuple[Any, Any]:
    """Rooms entered at random, and what came next: every room has a few likely neighbours of its own."""
    edges = rng.dirichlet(np.full(OUTCOMES, 0.3), CONTEXTS).cumsum(axis=1)
    rooms = rng.integers(CONTEXTS, size=length)
    nexts = (edges[rooms] < rng.random((length, 1))).sum(axis=1)
    return rooms, nexts.clip(max=OUTCOMES - 1)


def by_letter(rooms: Any, nexts: Any) -> Any:
    return literal.maze(rooms, nexts, OUTCOMES, CONTEXTS, M)


def distance(series: list[Any], histories: list[Any]) -> float:
    """The largest difference of an alpha at the end."""
    pairs = zip(series, histories, strict=True)
    return max(float(np.abs(by_letter(*xs) - history.state.table.alpha).max()) for xs, history in pairs)


def row(name: str, ours: float, theirs: float, updates: int) -> list[str]:
    return [name, f"{ours / updates * 1e6:.2f}", f"{theirs / updates * 1e6:.1f}", f"{theirs / ours:.0f} x"]

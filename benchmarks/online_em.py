"""How fast is online EM, against a literal translation of the paper's equations on the same transitions?"""

from functools import cache, partial
from typing import Any

import jax
import numpy as np

import literal_em
from astonish import OnlineEM, run, run_many, scan
from astonish.core.numbers import double
from astonish.worlds.maze import A, B, maze, walk
from gaussian import compute
from timing import Target, at_least, at_most, best, best_each, show, size

ROOMS, RATE, FROZEN = 16, 0.001, size(500, 20)
SERIES, LENGTH, LONG = size((64, 2_000, 10_000), (2, 50, 200))
SOME = size(4, 1)  # of the series are run by the literal translation too, at the same cost per step
LEARNER = OnlineEM(ROOMS, learning_rate=RATE, frozen=FROZEN)


def report() -> list[Target]:
    """Judged by the compiled loop; `run_many` and `run`, which also keep an estimate per step, stand beside it."""
    many = walk(maze(A, B), LENGTH, range(SERIES), leave=(0.02, 0.02)).transitions
    one = tuple(column[0] for column in walk(maze(A, B), LONG, SERIES, leave=(0.02, 0.02)).transitions)
    series = list(zip(*many, strict=True))
    apart = max(distance(xs, history) for xs, history in zip(series[:SOME], run_many(LEARNER, series), strict=False))
    apart = max(apart, distance(one, run(LEARNER, one)))
    door_many, door_one = best_each([lambda: run_many(LEARNER, series), lambda: run(LEARNER, one)])
    loop_many = compute(jax.vmap(scan, in_axes=(None, 0)), LEARNER, many)
    loop_one = compute(scan, LEARNER, one)
    theirs_many = SERIES / SOME * sum(best(partial(by_letter, xs), 3, 0.0) for xs in series[:SOME])
    theirs_one = best(partial(by_letter, one), 3, 0.0)
    show(
        f"Online EM: {ROOMS} rooms, 2 environments, float64; microseconds per step",
        ["", "astonish", "NumPy", "ratio"],
        [
            row(f"{SERIES} series of {LENGTH} (run_many)", door_many, theirs_many, SERIES * LENGTH),
            row(f"{SERIES} series of {LENGTH} (jit(vmap(scan)))", loop_many, theirs_many, SERIES * LENGTH),
            row(f"one series of {LONG} (run)", door_one, theirs_one, LONG),
            row(f"one series of {LONG} (jit(scan))", loop_one, theirs_one, LONG),
        ],
    )
    print(f"  largest difference between the two q, P and T at the end: {apart:.1e}")
    return [
        at_most("online EM: same q, P and T as NumPy", 1e-9, apart, "apart", is_check=True),
        at_least(f"online EM: {SERIES} series side by side, jit(vmap(scan))", 20, theirs_many / loop_many, "x faster"),
        at_least("online EM: one series, jit(scan)", 20, theirs_one / loop_one, "x faster"),
    ]


@cache
def first() -> tuple[Any, Any]:
    """The probabilities of switches and moves with which the learner starts."""
    with double():
        start = LEARNER.init()
        return np.asarray(LEARNER.switches(start)), np.asarray(start.first)


def by_letter(xs: Any) -> Any:
    here, there = xs
    return literal_em.online_em(here, there, *first(), RATE, FROZEN)


def distance(xs: Any, history: Any) -> float:
    """The largest difference of a probability at the end."""
    with double():
        ours = history.state.where, LEARNER.switches(history.state), LEARNER.moves(history.state)
    pairs = zip(ours, by_letter(xs), strict=True)
    return max(float(np.abs(np.asarray(a) - b).max()) for a, b in pairs)


def row(name: str, ours: float, theirs: float, steps: int) -> list[str]:
    return [name, f"{ours / steps * 1e6:.2f}", f"{theirs / steps * 1e6:.1f}", f"{theirs / ours:.0f} x"]

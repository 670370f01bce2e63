"""How long does a piece of work take, and how is that told? Only the standard library, for the rivals use it too."""

import os
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, TypeVar

SMOKE = "SMOKE" in os.environ  # `make smoke` starts everything at its smallest size, to see that it runs
T = TypeVar("T")


class Target(NamedTuple):
    """What was hoped for, what was measured, and whether that is good enough.

    is_check: whether it is about what was computed, and so must be met at any size, and not about speed or memory.
    """

    name: str
    wanted: str
    measured: str
    met: bool
    is_check: bool = False


def size(full: T, smoke: T) -> T:
    """Return the size of a benchmark, or the smallest one that still runs all of its code."""
    return smoke if SMOKE else full


def best(work: Callable[[], Any], repeats: int = 5, seconds: float = 0.5) -> float:
    """The shortest of at least `repeats` runs, and of as many as fit into `seconds`, after one that does not count."""
    return best_each([work], repeats, seconds)[0]


def best_each(works: Sequence[Callable[[], Any]], repeats: int = 5, seconds: float = 0.5) -> list[float]:
    """`best` of several, taken in turns, so that a busy spell of the machine meets all of them alike."""
    if SMOKE:
        return [_timed(work) for work in works]
    for work in works:
        work()
    rounds: list[list[float]] = []
    while len(rounds) < repeats or sum(map(sum, rounds)) < seconds * len(works):
        rounds.append([_timed(work) for work in works])
    return [min(times) for times in zip(*rounds, strict=True)]


def _timed(work: Callable[[], Any]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def best_fresh(make: Callable[[], Callable[[Any], Any]], xs: Iterable[Any], repeats: int = 5) -> float:
    """The shortest time to feed all of `xs`, one by one, to what `make` makes; making it is not counted."""
    xs = list(xs)
    times = []
    for _ in range(size(repeats + 1, 1)):
        feed = make()
        start = time.perf_counter()
        for x in xs:
            feed(x)
        times.append(time.perf_counter() - start)
    return min(times[1:] or times)


def at_most(name: str, limit: float, measured: float, unit: str, is_check: bool = False) -> Target:
    """A target for a cost."""
    return Target(name, f"<= {limit:g} {unit}", f"{measured:.3g} {unit}", measured <= limit, is_check)


def at_least(name: str, limit: float, measured: float, unit: str) -> Target:
    """A target for a gain."""
    return Target(name, f">= {limit:g} {unit}", f"{measured:.3g} {unit}", measured >= limit)


def show(title: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table: the first column to the left, numbers to the right."""
    widths = [max(len(row[i]) for row in (header, *rows)) for i in range(len(header))]
    print(f"\n{title}")
    for row in (header, ["-" * width for width in widths], *rows):
        cells = [row[0].ljust(widths[0]), *(cell.rjust(w) for cell, w in zip(row[1:], widths[1:], strict=True))]
        print("  " + "  ".join(cells).rstrip(), flush=True)

"""How does the cost of a step grow with outcomes, contexts and length, and a stream's memory with its length?"""

import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from astonish import Dirichlet, PerContext, Smile, Stream, run
from environment import apart
from memory import after
from timing import Target, at_most, best_each, show, size

OUTCOMES, CONTEXTS = size(((2, 10, 100, 1_000), (1, 100, 10_000, 1_000_000)), ((2,) * 4, (2,) * 4))
LENGTHS = size((1_000, 10_000, 100_000), (2,) * 3)
SHORT, LONG = size((2_000, 12_000), (2, 3))  # two lengths whose difference leaves out all that is done once
UPDATES = size((10_000, 100_000), (2, 4))
FED = size(1_000, 2)  # samples to a stream of many contexts
Draw = Callable[[np.random.Generator, int], Any]  # that many samples


def report() -> list[Target]:
    return [*outcomes(), *contexts(), *lengths(), *memory("smile")]


def outcomes() -> list[Target]:
    """At most linear: ten times the outcomes, hardly more than ten times the cost."""
    costs = marginal([Smile(Dirichlet(size)) for size in OUTCOMES], [outcome_samples(size) for size in OUTCOMES])
    show(
        "Growth with outcomes: run(Smile(Dirichlet(outcomes))), what one more step costs",
        ["outcomes", "us per step", "relative", "ns per step and outcome"],
        [[*cells(n, c, costs), f"{c / n * 1e9:.1f}"] for n, c in zip(OUTCOMES, costs, strict=True)],
    )
    return [at_most("growth: a step with 1000 outcomes, not 100", 12, costs[3] / costs[2], "x")]


def contexts() -> list[Target]:
    """Flat: only one row of the table is touched, however many there are."""
    learners = [context_learner(n) for n in CONTEXTS]
    whole = marginal(learners, [context_samples(n, 0.0) for n in CONTEXTS], 20_000, 120_000)
    gaps = marginal(learners, [context_samples(n, 0.1) for n in CONTEXTS], 20_000, 120_000)
    single = [time / FED for time in best_each([one_by_one(n) for n in CONTEXTS])]
    show(
        "Growth with contexts: PerContext(Smile(Dirichlet(15)), contexts), what one more step costs",
        ["contexts", "run, us", "relative", "with gaps, us", "relative", "Stream.update, us", "relative"],
        [
            [f"{n:_}", *(text for costs in (whole, gaps, single) for text in cells(n, costs[i], costs)[1:])]
            for i, n in enumerate(CONTEXTS)
        ],
    )
    print("  contexts are drawn at random, so a table that outgrows the caches costs a miss or two per step")
    kinds = {"run": whole, "run with gaps": gaps, "Stream.update": single}
    return [at_most(f"growth: a step with 1e6 contexts, not 1: {k}", 2, c[-1] / c[0], "x") for k, c in kinds.items()]


def lengths() -> list[Target]:
    """Flat per step: twice the series, twice the time."""
    rng = np.random.default_rng(5)
    times = best_each([partial(run, Smile(Dirichlet(15)), rng.integers(15, size=n)) for n in LENGTHS])
    costs = [time / n for time, n in zip(times, LENGTHS, strict=True)]
    show(
        "Growth with length: run(Smile(Dirichlet(15))), all that is done once included",
        ["length", "us per step", "relative"],
        [cells(n, c, costs) for n, c in zip(LENGTHS, costs, strict=True)],
    )
    return [at_most("growth: a step in a series of 1e5, not 1e4", 1.25, costs[2] / costs[1], "x")]


def memory(learner: str) -> list[Target]:
    """Flat: a stream remembers its state only. Measured where the system tells."""
    if sys.platform != "linux":
        return []
    sizes = apart(after, learner, UPDATES, cores=1)
    show(
        f"Growth of a stream's memory: what the whole process holds with {learner}",
        ["updates", "MB"],
        [[f"{n:_}", f"{mb:.1f}"] for n, mb in zip(UPDATES, sizes, strict=True)],
    )
    return [
        at_most(f"growth: memory of a {learner} stream after 1e5 updates, not 1e4", 1, sizes[1] - sizes[0], "MB more")
    ]


def marginal(learners: list[Any], samples: list[Draw], short: int = SHORT, long: int = LONG) -> list[float]:
    """Seconds for one more step of `run`: the difference between two lengths, so that what is done once cancels."""
    rng = np.random.default_rng(4)
    pairs = list(zip(learners, samples, strict=True))
    times = best_each([partial(run, learner, draw(rng, n)) for n in (short, long) for learner, draw in pairs])
    shorter, longer = times[: len(pairs)], times[len(pairs) :]
    return [(b - a) / (long - short) for a, b in zip(shorter, longer, strict=True)]


def outcome_samples(outcomes: int) -> Draw:
    return lambda rng, n: rng.integers(outcomes, size=n)


def context_learner(contexts: int) -> PerContext:
    return PerContext(Smile(Dirichlet(15)), contexts)


def context_samples(contexts: int, missing: float) -> Draw:
    """Pairs of context and outcome, a part of them missing."""

    def draw(rng: np.random.Generator, n: int) -> Any:
        where = rng.random(n) < missing
        outcome = rng.integers(15, size=n)
        return rng.integers(contexts, size=n), np.where(where, np.nan, outcome) if missing else outcome

    return draw


def one_by_one(contexts: int) -> Callable[[], None]:
    """Feeds one stream the same samples whenever it is called; the table is made in the first call, not counted."""
    pairs = context_samples(contexts, 0.0)(np.random.default_rng(6), FED)
    xs = list(zip(*(column.tolist() for column in pairs), strict=True))
    stream = Stream(context_learner(contexts), engine="xla")  # which alone takes a million of them

    def feed() -> None:
        for x in xs:
            stream.update(x)

    return feed


def cells(n: int, cost: float, costs: list[float]) -> list[str]:
    return [f"{n:_}", f"{cost * 1e6:.2f}", f"{cost / costs[0]:.2f} x"]

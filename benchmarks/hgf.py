"""How fast is the hierarchical Gaussian filter, one series or many, against pyhgf's filter of the same numbers?

And how long does it take to fit it to everybody? In a process of its own, on all cores.
"""

import math
import time

import numpy as np
from pandas import DataFrame

from astonish import HGF, ContinuousHGF, run, run_many
from astonish.people.fit import Model, UnitSquare, fit, simulate_responses
from astonish.people.tables import Columns, read_trials
from environment import apart, ask
from gaussian import LENGTH, LONG, NATIVE, SERIES, jumps, row
from timing import Target, at_least, at_most, best, show, size

BINARY, CONTINUOUS = HGF(), ContinuousHGF(noise=1.0)
PEOPLE, TRIALS, STARTS = size((100, 320, 10), (2, 40, 2))


def report() -> list[Target]:
    """`run` and `run_many` with all their reading and checking; pyhgf has two levels of numbers, as ours has."""
    rng = np.random.default_rng(4)
    coins, numbers = rng.integers(0, 2, LONG), jumps(rng, LONG)
    many_coins, many = rng.integers(0, 2, (SERIES, LENGTH)), np.stack([jumps(rng, LENGTH) for _ in range(SERIES)])
    ours = {
        "binary native": best(lambda: run(BINARY, coins, engine="native")) / LONG if NATIVE else math.nan,
        "binary": best(lambda: run(BINARY, coins, engine="xla")) / LONG,
        "binary many": best(lambda: run_many(BINARY, list(many_coins))) / many.size,
        "native": best(lambda: run(CONTINUOUS, numbers, engine="native")) / LONG if NATIVE else math.nan,
        "xla": best(lambda: run(CONTINUOUS, numbers, engine="xla")) / LONG,
        "many": best(lambda: run_many(CONTINUOUS, list(many))) / many.size,
    }
    theirs = ask("hgf", one=numbers.tolist(), many=many.tolist())
    public = theirs.get("input_data")
    rows = [
        row(f"binary, three levels, 1 of {LONG}: run, native", ours["binary native"], None),
        row(f"binary, three levels, 1 of {LONG}: run, XLA", ours["binary"], None),
        row(f"binary, three levels, {SERIES} of {LENGTH}: run_many", ours["binary many"], None),
        row(f"numbers, two levels, 1 of {LONG}: run, native | input_data", ours["native"], public),
        row(f"numbers, two levels, 1 of {LONG}: run, XLA | input_data", ours["xla"], public),
        row(f"numbers, two levels, {SERIES} of {LENGTH}: run_many | input_data, one by one", ours["many"], public),
    ]
    show(
        "Hierarchical Gaussian filter in float64 against pyhgf's in float32; nanoseconds per sample",
        ["series: astonish through | pyhgf through", "astonish", "pyhgf", "ratio"],
        rows,
    )
    fastest = float(np.nanmin([ours["native"], ours["xla"]]))
    seconds = apart(fitted)
    print(f"  fit of {PEOPLE} people x {TRIALS} trials x {STARTS} starts, compilation included: {seconds:.1f} s")
    faster = [] if public is None else [at_least("HGF: numbers, against pyhgf", 1, public / fastest, "x")]
    return [
        at_most("HGF: three levels, one series, run, native", 100, ours["binary native"] * 1e9, "ns"),
        at_most(f"HGF: three levels, {SERIES} series side by side, run_many", 60, ours["binary many"] * 1e9, "ns"),
        at_most(f"HGF: fit of {PEOPLE} people, compilation included", 5, seconds, "s"),
        *faster,
    ]


def fitted() -> float:
    """Seconds to find omega2 and zeta of people who choose by the unit-square sigmoid, compilation included."""
    rng = np.random.default_rng(5)
    probabilities = np.repeat(rng.uniform(0.1, 0.9, (PEOPLE, TRIALS // 40)), 40, axis=1)
    table = DataFrame({
        "participant": np.repeat(np.arange(PEOPLE), TRIALS),
        "outcome": (rng.random(probabilities.shape) < probabilities).astype(int).ravel(),
        "choice": rng.integers(2, size=probabilities.size),
    })  # fmt: skip
    columns = Columns("outcome", subject="participant", response="choice")
    trials = read_trials(table, columns, kind="binary", response_kind="choice", responds_before=True)
    model = Model(BINARY, UnitSquare(zeta=3.0))
    people = simulate_responses(model, trials, {"omega2": rng.uniform(-4, -1, PEOPLE)})
    start = time.perf_counter()
    fit(model, people, ["omega2", "zeta"], starts=STARTS)
    return time.perf_counter() - start


if __name__ == "__main__":
    print(report())

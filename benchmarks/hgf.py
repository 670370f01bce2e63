"""How fast is the hierarchical Gaussian filter, one series or many, against pyhgf's filter of the same numbers?"""

import math

import numpy as np

from astonish import HGF, ContinuousHGF, run, run_many
from environment import ask
from gaussian import LENGTH, LONG, NATIVE, SERIES, jumps, row
from timing import Target, at_least, at_most, best, show

BINARY, CONTINUOUS = HGF(), ContinuousHGF(noise=1.0)


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
    faster = [] if public is None else [at_least("HGF: numbers, against pyhgf", 1, public / fastest, "x")]
    return [
        at_most("HGF: three levels, one series, run, native", 100, ours["binary native"] * 1e9, "ns"),
        at_most(f"HGF: three levels, {SERIES} series side by side, run_many", 60, ours["binary many"] * 1e9, "ns"),
        *faster,
    ]

"""How fast does a surprise-driven learner follow numbers, one series or many, against pyhgf on the same numbers?"""

import math
from importlib.util import find_spec
from typing import Any

import jax
import numpy as np

from astonish import Gaussian, Smile, run, run_many, scan
from astonish.core.numbers import as_double, double
from environment import ask
from timing import Target, at_most, best, show, size

SERIES, LENGTH, LONG = size((64, 2_000, 100_000), (2, 50, 200))
NATIVE = find_spec("llvmlite") is not None
LEARNER = Smile(Gaussian(noise=1.0))
OPTIONS = {"xla_cpu_prefer_vector_width": "512"}  # as `run` and `run_many` compile


def report() -> list[Target]:
    """`run` and `run_many` with all their reading and checking, and the compiled loop alone."""
    rng = np.random.default_rng(2)
    one, many = jumps(rng, LONG), np.stack([jumps(rng, LENGTH) for _ in range(SERIES)])
    ours = {
        "run_many": best(lambda: run_many(LEARNER, list(many))) / many.size,
        "many loop": compute(jax.vmap(scan, in_axes=(None, 0)), LEARNER, many) / many.size,
        "native": best(lambda: run(LEARNER, one, engine="native")) / one.size if NATIVE else math.nan,
        "run": best(lambda: run(LEARNER, one, engine="xla")) / one.size,
        "one loop": compute(scan, LEARNER, one) / one.size,
    }
    theirs = ask("hgf", one=one.tolist(), many=many.tolist())
    rows = [
        row(f"{SERIES} of {LENGTH}: run_many | input_data, one by one", ours["run_many"], theirs.get("input_data")),
        row(f"{SERIES} of {LENGTH}: jit(vmap(scan)), both", ours["many loop"], theirs.get("vmap")),
        row(f"1 of {LONG}: run, native | input_data", ours["native"], theirs.get("input_data")),
        row(f"1 of {LONG}: run, XLA | input_data", ours["run"], theirs.get("input_data")),
        row(f"1 of {LONG}: jit(scan), both", ours["one loop"], theirs.get("jit")),
    ]
    show(
        "Gaussian: Smile in float64 against pyhgf's two-level HGF in float32; nanoseconds per sample",
        ["series: astonish through | pyhgf through", "astonish", "pyhgf", "ratio"],
        rows,
    )
    if theirs:
        print(f"  finite among pyhgf's estimates: {theirs['finite']:.1%}")
    return [
        at_most("Gaussian: one series, run, native", 150, ours["native"] * 1e9, "ns"),
        at_most("Gaussian: one series, run, XLA", 200, ours["run"] * 1e9, "ns"),
        at_most(f"Gaussian: {SERIES} series side by side, run_many", 35, ours["run_many"] * 1e9, "ns"),
    ]


def compute(loop: Any, learner: Any, xs: Any) -> float:
    """Seconds for the compiled loop alone, in double precision."""
    with double():
        compiled, learner = jax.jit(loop, compiler_options=OPTIONS), as_double(learner)
        return best(lambda: jax.block_until_ready(compiled(learner, xs)))


def jumps(rng: np.random.Generator, length: int) -> Any:
    """Numbers with noise 1 around a mean that now and then jumps."""
    means = rng.normal(scale=3.0, size=length)
    last_jump = np.maximum.accumulate(np.where(rng.random(length) < 0.02, np.arange(length), 0))
    return means[last_jump] + rng.normal(size=length)


def row(name: str, ours: float, theirs: float | None) -> list[str]:
    cells = ["-", "-"] if theirs is None else [f"{theirs * 1e9:.1f}", f"{theirs / ours:.2f} x"]
    return [name, f"{ours * 1e9:.1f}", *cells]

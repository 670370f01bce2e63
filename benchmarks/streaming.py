"""What does one update of a stream cost, against river's drift detectors on the same numbers?"""

from typing import Any

import numpy as np

from astonish import Dirichlet, Gaussian, Smile, Stream
from environment import ask
from gaussian import jumps
from timing import Target, at_most, best_fresh, show

LENGTH = 3_000
GAUSSIAN, DIRICHLET = Smile(Gaussian(noise=1.0)), Smile(Dirichlet(15))


def report() -> list[Target]:
    """Plain Python numbers in, plain numbers out, one at a time."""
    rng = np.random.default_rng(3)
    numbers, outcomes = jumps(rng, LENGTH).tolist(), rng.integers(15, size=LENGTH).tolist()
    gaussian, dirichlet = cost(GAUSSIAN, numbers), cost(DIRICHLET, outcomes)
    theirs = ask("drift", Gaussian=numbers, Dirichlet=outcomes)
    show(
        f"Stream.update: {LENGTH} updates; microseconds per update",
        ["", "astonish", "river ADWIN", "ratio", "river KSWIN", "ratio"],
        [row("Gaussian", gaussian, theirs), row("Dirichlet", dirichlet, theirs)],
    )
    return [
        at_most("Stream.update: Gaussian", 15, gaussian * 1e6, "us"),
        at_most("Stream.update: Dirichlet(15)", 40, dirichlet * 1e6, "us"),
    ]


def cost(learner: Any, xs: list[Any]) -> float:
    """Seconds per update."""
    return best_fresh(lambda: Stream(learner).update, xs, repeats=10) / len(xs)


def row(name: str, ours: float, theirs: dict[str, float]) -> list[str]:
    cells = [name, f"{ours * 1e6:.1f}"]
    for detector in ("ADWIN", "KSWIN"):
        time = theirs.get(f"{detector} {name}")
        cells += ["-", "-"] if time is None else [f"{time * 1e6:.2f}", f"{time / ours:.3g} x"]
    return cells

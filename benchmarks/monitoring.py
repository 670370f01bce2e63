"""What does a sample cost a monitor, with 8 features, against river's drift detectors, and against message passing?

The monitor answers more than they do: an estimate, an interval, a calibrated tail probability and that of a change.
"""

from functools import partial
from typing import Any

import numpy as np

from astonish import Gaussian, MessagePassing, Monitor, Stream, run
from environment import ask
from gaussian import NATIVE
from timing import Target, at_most, best, best_fresh, show, size

LENGTH, FEW = size((50_000, 3_000), (50, 20))
RIVALS = ("ADWIN", "PageHinkley", "KSWIN")
LEARNERS: dict[str, Any] = {
    "Monitor, level alone": Monitor(),
    "Monitor, 8 features": Monitor(288.0, harmonics=3, lags=1),
    "message passing, Gaussian": MessagePassing(Gaussian(noise=1.0), hazard=0.001),
}


def report() -> list[Target]:
    """A series at once, and one number at a time."""
    xs = np.random.default_rng(5).normal(size=LENGTH)
    few = xs[:FEW].tolist()
    rows, costs = [], {}
    for name, learner in LEARNERS.items():
        for engine in ("native", "xla") if NATIVE else ("xla",):
            cost = costs[name, engine] = best(partial(run, learner, xs, engine=engine)) / LENGTH
            one = best_fresh(partial(_update, learner, engine), few) / FEW
            rows.append([f"{name}, {engine}", f"{cost * 1e6:.2f}", f"{one * 1e6:.2f}"])
    theirs = ask("drift", Gaussian=few)
    rows += [
        [f"river {rival}", "-", f"{theirs[f'{rival} Gaussian'] * 1e6:.2f}"]
        for rival in RIVALS
        if f"{rival} Gaussian" in theirs
    ]
    show("Monitors: microseconds per sample", ["", f"run, {LENGTH} samples", "update, one by one"], rows)
    if not NATIVE:
        return []
    return [at_most("Monitor with 8 features: run", 1, costs["Monitor, 8 features", "native"] * 1e6, "us")]


def _update(learner: Any, engine: str) -> Any:
    return Stream(learner, engine=engine).update


if __name__ == "__main__":
    report()

"""What does a step of a linear regression cost, in a series and one at a time, against river's on the same rows?"""

from functools import partial
from typing import Any

import numpy as np

from astonish import Regression, Smile, Stream, run
from environment import ask
from gaussian import NATIVE
from timing import Target, at_most, best, best_fresh, show, size

LENGTH = size(20_000, 50)
FAMILY = Regression(2)
LEARNER = Smile(FAMILY, reference=FAMILY.prior())


def report() -> list[Target]:
    """Two features, one of them constant."""
    rng = np.random.default_rng(4)
    features = np.column_stack([np.ones(LENGTH), rng.normal(size=LENGTH)])
    responses = features @ [1.0, 2.0] + rng.normal(size=LENGTH)
    pairs = list(zip(features[:2000], responses[:2000].tolist(), strict=True))
    theirs = ask("regression", features=features[:2000].tolist(), responses=responses[:2000].tolist())
    costs = {}
    for engine in ("native", "xla") if NATIVE else ("xla",):
        costs[f"run, {engine}"] = best(partial(run, LEARNER, (features, responses), engine=engine)) / LENGTH
        costs[f"Stream.update, {engine}"] = best_fresh(partial(_update, engine), pairs, 3) / len(pairs)
    rows = [[name, f"{cost * 1e6:.2f}"] for name, cost in (costs | theirs).items()]
    show("SMiLe on Regression(2), and river's linear regression; microseconds per row", ["", "us"], rows)
    return [at_most("Regression(2): a step in a series, XLA", 3, costs["run, xla"] * 1e6, "us")]


def _update(engine: str) -> Any:
    return Stream(LEARNER, engine=engine).update

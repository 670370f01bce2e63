"""How many updates a second, of a million keys, against a dictionary of river's running means? On all cores.

By itself (`python benchmarks/keyed.py`) it prints what it finds.
"""

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from astonish import Dirichlet, Gaussian, Smile, Stream
from astonish.online.bank import Bank
from environment import apart, ask
from timing import Target, at_least, at_most, show, size

KEYS, BATCH, BATCHES = size((1_000_000, 100_000, 20), (200, 100, 1))
FEW = size(20_000, 20)  # updates of a rival
Draw = Callable[[np.random.Generator, int], Any]
CASES: dict[str, tuple[Any, Draw, float]] = {
    "Gaussian": (Smile(Gaussian(noise=1.0)), lambda rng, size: rng.normal(size=size), 36.0),
    "Dirichlet(15)": (Smile(Dirichlet(15)), lambda rng, size: rng.integers(15, size=size), 2.5),
}


def report() -> list[Target]:
    """In a process of its own, on all cores, while this one stays on one."""
    return tell(apart(measure))


def measure() -> dict[str, Any]:
    """Updates a second, and memory as a multiple of the states."""
    found = {}
    for name, (learner, draw, _) in CASES.items():
        found[name] = _of(learner, draw, None) | {"xla": _of(learner, draw, "xla")["rate"]}
    return found


def _of(learner: Any, draw: Draw, engine: str | None) -> dict[str, float]:
    rng = np.random.default_rng(1)
    bank = Bank(learner, KEYS, engine=engine)
    for at in range(0, KEYS, BATCH):
        bank.update(_names(np.arange(at, at + BATCH)), draw(rng, BATCH))
    states = KEYS * sum(np.asarray(leaf).nbytes for leaf in bank.state(0))
    times = []
    for _ in range(BATCHES):
        keys, xs = _names(rng.integers(KEYS, size=BATCH)), draw(rng, BATCH)
        start = time.perf_counter()
        bank.update(keys, xs)
        times.append(time.perf_counter() - start)
    return {
        "rate": BATCH / float(np.median(times)),
        "memory": bank.nbytes / states,
        "streams": _streams(learner, draw(rng, FEW // 10)),
    }


def _names(keys: Any) -> Any:
    """Numbers as people have them: not 0, 1, 2, ..."""
    return keys * 7919


def _streams(learner: Any, xs: Any) -> float:
    """The same by a dictionary of streams."""
    streams = {key: Stream(learner) for key in range(100)}
    streams[0].update(xs[0])  # compiled
    start = time.perf_counter()
    for k, x in enumerate(xs.tolist()):
        streams[k % 100].update(x)
    return len(xs) / (time.perf_counter() - start)


def tell(found: dict[str, Any]) -> list[Target]:
    rng = np.random.default_rng(2)
    theirs = ask("means", keys=rng.integers(KEYS, size=FEW).tolist(), xs=rng.normal(size=FEW).tolist()).get("EWMean")
    rows, targets = [], []
    for name, (_, _, wanted) in CASES.items():
        one = found[name]
        ratio = "-" if theirs is None else f"{one['rate'] / theirs:.3g} x"
        rows.append([name, *(f"{one[k] / 1e6:.3g}" for k in ("rate", "xla", "streams")),
                     "-" if theirs is None else f"{theirs / 1e6:.3g}", ratio, f"{one['memory']:.2f}"])  # fmt: skip
        targets += [
            at_least(f"Bank: {name}, a million keys", wanted, one["rate"] / 1e6, "million updates/s"),
            at_most(f"Bank: {name}, memory", 3, one["memory"], "times the states"),
        ]
    show(
        f"Bank.update: {KEYS} keys in batches of {BATCH}; million updates per second, all cores",
        ["", "Bank", "Bank, XLA", "Streams in a dict", "river EWMean in a dict", "ratio", "memory / states"],
        rows,
    )
    return targets


if __name__ == "__main__":
    tell(measure())

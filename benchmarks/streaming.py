"""What does one update of a stream, or of a detector, cost, against river's drift detectors on the same numbers?"""

from functools import partial
from typing import Any

import numpy as np

from astonish import Detector, Dirichlet, Gaussian, Smile, Stream, usual_detector
from environment import ask
from gaussian import NATIVE, jumps
from timing import Target, at_least, at_most, best, best_fresh, show, size

LENGTH = size(3_000, 50)
RATE, QUIET = size((0.001, 20_000), (0.04, 500))  # of false alarms of the usual detectors; samples to set one by
GAUSSIAN, DIRICHLET = Smile(Gaussian(noise=1.0)), Smile(Dirichlet(15))
RIVALS = ("ADWIN", "PageHinkley", "KSWIN")


def report() -> list[Target]:
    return [*updates(), *usual()]


def usual() -> list[Target]:
    """Detectors by the kind of change, one update at a time and over a whole series; changepoint steps one by one."""
    rng = np.random.default_rng(4)
    numbers, coins, counts = rng.normal(size=LENGTH), rng.integers(2, size=LENGTH), rng.poisson(3.0, LENGTH)
    series = {"mean": numbers, "variance": numbers, "proportion": coins, "rate": counts}
    theirs = ask("drift", numbers=numbers.tolist(), coins=coins.tolist(), counts=counts.tolist())
    exact = ask("bocpd", hazard=0.001, numbers=[numbers.tolist()] * 2, counts=[counts.tolist()], lengths=[LENGTH])
    names = {"mean": "numbers", "variance": "numbers", "proportion": "coins", "rate": "counts"}
    kinds = [(kind, usual_detector(kind, false_alarm_rate=RATE)) for kind in list(series)[: size(None, 1)]]
    kinds.append(("mean, heavy tails", usual_detector("mean", rng.standard_t(3, QUIET), RATE, heavy_tails=True)))
    rows = []
    for kind, detector in kinds:
        key = kind.partition(",")[0]
        xs = series[key].astype(float)
        one = best_fresh(lambda detector=detector: detector.clone().update, xs.tolist(), 3) / LENGTH  # type: ignore[misc]
        whole = best(partial(detector.alarms, xs), 3) / LENGTH
        others = [theirs.get(f"{rival} {names[key]}") for rival in RIVALS] + [exact.get(names[key])]
        cells = ["-" if time is None else f"{time * 1e6:.2f}" for time in others]
        rows.append([f"usual_detector: {kind}", f"{one * 1e6:.2f}", f"{whole * 1e6:.2f}", *cells])
    header = ["", "update", "alarms(series)", *(f"river {rival}" for rival in RIVALS), "changepoint"]
    show(f"Drift detectors: {LENGTH} samples; microseconds per sample", header, rows)
    return []


def updates() -> list[Target]:
    """Plain Python numbers in, plain numbers out, one at a time; and many at once."""
    rng = np.random.default_rng(3)
    numbers, outcomes = jumps(rng, LENGTH).tolist(), rng.integers(15, size=LENGTH).tolist()
    theirs = ask("drift", Gaussian=numbers, Dirichlet=outcomes)
    rows, costs = [], {}
    for engine in ("native", "xla") if NATIVE else ("xla",):
        for name, learner, xs in (("Gaussian", GAUSSIAN, numbers), ("Dirichlet", DIRICHLET, outcomes)):
            for what, kind in (("Stream", Stream), ("Detector", partial(Detector, threshold=9.0))):
                make = partial(_update, kind, learner, engine)
                cost = costs[what, name, engine] = best_fresh(make, xs, repeats=10) / len(xs)
                rows.append(row(f"{what}.update, {name}, {engine}", name, cost, theirs))
            many = Stream(learner, engine=engine).update_many
            rows.append(row(f"Stream.update_many, {name}, {engine}", name, best(partial(many, xs)) / len(xs), theirs))
    header = ["", "astonish", *(cell for rival in RIVALS for cell in (f"river {rival}", "ratio"))]
    show(f"Streams: {LENGTH} updates; microseconds per update", header, rows)
    if not NATIVE:
        return []
    ours, other = costs["Stream", "Gaussian", "native"], theirs.get("PageHinkley Gaussian")
    targets = [
        at_most("Stream.update: Gaussian, native", 0.4, ours * 1e6, "us"),
        at_most("Stream.update: Dirichlet(15), native", 1.5, costs["Stream", "Dirichlet", "native"] * 1e6, "us"),
    ]
    against = (
        [] if other is None else [at_least("Stream.update against river's Page-Hinkley", 1, other / ours, "x faster")]
    )
    return targets + against


def _update(kind: Any, learner: Any, engine: str) -> Any:
    return kind(learner, engine=engine).update


def row(what: str, name: str, ours: float, theirs: dict[str, float]) -> list[str]:
    cells = [what, f"{ours * 1e6:.2f}"]
    for detector in RIVALS:
        time = theirs.get(f"{detector} {name}")
        cells += ["-", "-"] if time is None else [f"{time * 1e6:.2f}", f"{time / ours:.3g} x"]
    return cells

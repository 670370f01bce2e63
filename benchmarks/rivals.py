"""How long do other packages take for the same samples? Run by the interpreter of the rivals' environment.

Reads {"question": a function below, "what": its arguments} from standard input and writes its answer: seconds per
sample by name, or the alarms that detectors give.
"""

import json
import sys
import time
from collections.abc import Callable
from typing import Any

from timing import best, best_fresh


def hgf(one: list[float], many: list[list[float]]) -> dict[str, float]:
    """The two-level continuous filter of pyhgf, in its single precision: over one series, and many side by side.

    `input_data` is its public function. The whole loop inside `jax.jit`, which it leaves to its users, is faster
    and therefore timed too.
    """
    import jax
    import numpy as np

    model = _hgf_model()
    u, us = np.asarray(one), np.asarray(many)

    def public() -> None:
        model.input_data(u)
        jax.block_until_ready(model.node_trajectories)

    def loop(attributes: Any, u: Any) -> Any:
        ones = np.ones(len(u))
        inputs = ((u[:, None],), (ones.astype(int),), ones, None)
        return jax.lax.scan(model.scan_fn, attributes, inputs)[1]

    public_time = best(public)
    compiled = jax.jit(loop)
    batched = jax.jit(jax.vmap(loop, in_axes=(None, 0)))
    return {
        "input_data": public_time / u.size,
        "jit": best(lambda: jax.block_until_ready(compiled(model.attributes, u))) / u.size,
        "vmap": best(lambda: jax.block_until_ready(batched(model.attributes, us))) / us.size,
        "finite": float(np.isfinite(model.node_trajectories[1]["mean"]).mean()),
    }


def _hgf_model() -> Any:
    from pyhgf.model import HGF

    return HGF(
        n_levels=2,
        model_type="continuous",
        initial_mean={"1": 0.0, "2": 0.0},
        initial_precision={"1": 1.0, "2": 1.0},
        tonic_volatility={"1": -3.0, "2": -3.0},
    )


def drift(**series: list[float]) -> dict[str, float]:
    """River's drift detectors, fed one number at a time."""
    from river.drift import ADWIN, KSWIN, PageHinkley

    times = {}
    for name, xs in series.items():
        times[f"ADWIN {name}"] = best_fresh(lambda: ADWIN().update, xs) / len(xs)
        times[f"PageHinkley {name}"] = best_fresh(lambda: PageHinkley().update, xs) / len(xs)
        times[f"KSWIN {name}"] = best_fresh(lambda: KSWIN(seed=1).update, xs, repeats=2) / len(xs)
    return times


def regression(features: list[list[float]], responses: list[float]) -> dict[str, float]:
    """River's linear regression by gradient descent, fed one row at a time."""
    from river.linear_model import LinearRegression

    rows = [({"a": a, "b": b}, y) for (a, b), y in zip(features, responses, strict=True)]

    def make() -> Any:
        model = LinearRegression()
        return lambda row: model.learn_one(*row)

    return {"river LinearRegression.learn_one": best_fresh(make, rows, 3) / len(rows)}


def means(keys: list[int], xs: list[float]) -> dict[str, float]:
    """Updates a second of river's exponentially weighted means, one for each key."""
    from river.stats import EWMean

    known: dict[int, Any] = {}
    start = time.perf_counter()
    for key, x in zip(keys, xs, strict=True):
        if key not in known:
            known[key] = EWMean()
        known[key].update(x)
    return {"EWMean": len(xs) / (time.perf_counter() - start)}


def bocpd(
    hazard: float, numbers: list[list[float]], counts: list[list[int]], lengths: list[int]
) -> dict[str, float | list[float]]:
    """The Rust package `changepoint`, which keeps every run length and hands all of them over at every step.

    Seconds per step: over the first of the series of numbers, up to several lengths; over the others, and over series
    of counts. Its answer, the probabilities of run lengths, at the end of the second series.
    """
    from changepoint import Bocpd, NormalGamma, PoissonGamma

    def on_numbers() -> Any:
        return Bocpd(NormalGamma(0.0, 1.0, 2.0, 2.0), 1 / hazard).step

    def on_counts() -> Any:
        return Bocpd(PoissonGamma(1.0, 1.0), 1 / hazard).step

    step = on_numbers()
    probabilities = [step(x) for x in numbers[1]][-1]
    return {
        "numbers": sum(best_fresh(on_numbers, xs, 3) / len(xs) for xs in numbers[1:]) / len(numbers[1:]),
        "counts": sum(best_fresh(on_counts, map(int, xs), 3) / len(xs) for xs in counts) / len(counts),
        **{f"length {n}": best_fresh(on_numbers, numbers[0][:n], 2) / n for n in lengths},
        "probabilities": probabilities,
    }


def alarms(
    null: list[list[float]], worlds: dict[str, list[list[float]]], rate: float, burn_in: int
) -> dict[str, dict[str, list[list[int]]]]:
    """Where river's detectors give alarms, each tuned to at most `rate` of them per sample after `burn_in` in `null`.

    Tuned by bisection of the one parameter that stands for caution: few steps for KSWIN, which takes a third of a
    millisecond per sample. ADWIN looks at every sample, not at every 32nd. Page-Hinkley tolerates wandering by its
    default, or by half the noise of the samples, which is best for changes of one standard deviation.
    """
    from river.drift import ADWIN, KSWIN, PageHinkley

    detectors: list[tuple[str, Callable[[float], Any], float, float, int]] = [
        ("river ADWIN", lambda v: ADWIN(delta=v, clock=1), 1e-4, 0.9999, 12),
        ("river KSWIN", lambda v: KSWIN(alpha=v, seed=1), 4e-3, 4e-2, 4),
        ("river Page-Hinkley", lambda v: PageHinkley(threshold=1 / v), 1e-3, 0.2, 12),
        ("river Page-Hinkley, delta 2", lambda v: PageHinkley(threshold=1 / v, delta=2.0), 1e-3, 0.2, 12),
    ]
    answer = {}
    for name, make, low, high, steps in detectors:
        value = _tuned(make, null, rate, burn_in, low, high, steps)
        series = {"null": null, **worlds}
        answer[name] = {world: [_given(make(value), xs) for xs in many] for world, many in series.items()}
    return answer


def _tuned(
    make: Callable[[float], Any],
    null: list[list[float]],
    rate: float,
    burn_in: int,
    low: float,
    high: float,
    steps: int,
) -> float:
    """The most eager parameter that keeps to the rate of alarms, between two that do and do not."""
    for _ in range(steps):
        middle = (low * high) ** 0.5
        given = sum(at >= burn_in for xs in null for at in _given(make(middle), xs))
        keeps = given <= rate * sum(len(xs) - burn_in for xs in null)
        low, high = (middle, high) if keeps else (low, middle)
    return low


def _given(detector: Any, xs: list[float]) -> list[int]:
    """The places of all alarms."""
    places = []
    for at, x in enumerate(xs):
        detector.update(x)
        if detector.drift_detected:
            places.append(at)
    return places


if __name__ == "__main__":
    request = json.load(sys.stdin)
    questions = (hgf, drift, regression, alarms, bocpd, means)
    answer: Any = {function.__name__: function for function in questions}[request["question"]]
    print(json.dumps(answer(**request["what"])))

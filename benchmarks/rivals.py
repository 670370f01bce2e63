"""How long do other packages take for the same samples? Run by the interpreter of the rivals' environment.

Reads {"question": "hgf" or "drift", "what": its arguments} from standard input and writes seconds per sample by name.
"""

import json
import sys
from typing import Any

from timing import best, best_fresh


def hgf(one: list[float], many: list[list[float]]) -> dict[str, float]:
    """The two-level continuous filter of pyhgf, in its single precision: over one series, and many side by side.

    `input_data` is its own door. The whole loop inside `jax.jit`, which it leaves to its users, is faster and therefore
    timed too.
    """
    import jax
    import numpy as np

    model = _hgf_model()
    u, us = np.asarray(one), np.asarray(many)

    def door() -> None:
        model.input_data(u)
        jax.block_until_ready(model.node_trajectories)

    def loop(attributes: Any, u: Any) -> Any:
        ones = np.ones(len(u))
        inputs = ((u[:, None],), (ones.astype(int),), ones, None)
        return jax.lax.scan(model.scan_fn, attributes, inputs)[1]

    door_time = best(door)
    compiled = jax.jit(loop)
    batched = jax.jit(jax.vmap(loop, in_axes=(None, 0)))
    return {
        "input_data": door_time / u.size,
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
    from river.drift import ADWIN, KSWIN

    times = {}
    for name, xs in series.items():
        times[f"ADWIN {name}"] = best_fresh(lambda: ADWIN().update, xs) / len(xs)
        times[f"KSWIN {name}"] = best_fresh(lambda: KSWIN(seed=1).update, xs, repeats=2) / len(xs)
    return times


if __name__ == "__main__":
    request = json.load(sys.stdin)
    answer = hgf if request["question"] == "hgf" else drift
    print(json.dumps(answer(**request["what"])))

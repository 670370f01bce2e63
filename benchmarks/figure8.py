"""What does the largest simulation of the paper cost? 2000 walks of 20000 steps, three learners each.

By itself (`python benchmarks/figure8.py`) it prints what it finds on whatever JAX computes with: all cores of a
processor, or an accelerator.
"""

import os
import time
from typing import Any

import jax

from astonish.paper.figure import RunSettings
from astonish.paper.figure8 import FIGURE_8, LEARNERS, PSIS, TAUS, scenes
from environment import apart
from timing import SMOKE, Target, at_most, show

WALKS, STEPS = 20, 20_000


def report() -> list[Target]:
    """In a process of its own, on all cores, while this one stays on one."""
    return tell(apart(measure))


def measure() -> dict[str, Any]:
    """Seconds for all numbers of Figure 8, with compilation; on an accelerator also of each learner without it."""
    start = time.perf_counter()
    FIGURE_8.compute(RunSettings(quick=SMOKE))
    found: dict[str, Any] = {"device": _device(), "all": time.perf_counter() - start}
    if jax.default_backend() != "cpu":
        cells = [(tau, psi, episode) for tau in TAUS for psi in PSIS for episode in range(WALKS)]
        where = scenes(1, cells, STEPS)
        found["learners"] = {name: _seconds(lambda run=run: run(where, 0)) for name, run in LEARNERS.items()}
    return found


def _seconds(work: Any) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _device() -> str:
    device = jax.devices()[0]
    return f"{os.cpu_count()} cores" if device.platform == "cpu" else str(device.device_kind)


def tell(found: dict[str, Any]) -> list[Target]:
    """A table, and how it compares with what was hoped for."""
    steps = len(TAUS) * len(PSIS) * WALKS * STEPS * len(LEARNERS)
    rows = [["all, compilation, worlds and summaries included", f"{found['all']:.1f}"]]
    rows += [[f"{name}, compiled, with the way back from the device", f"{seconds:.1f}"]
             for name, seconds in found.get("learners", {}).items()]  # fmt: skip
    show(f"Figure 8: {steps / 1e6:.0f} million learner-steps on {found['device']}; seconds", ["", "seconds"], rows)
    return [at_most(f"Figure 8 on {found['device']}", 90, found["all"], "s")]


if __name__ == "__main__":
    tell(measure())

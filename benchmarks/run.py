"""How fast is astonish, against what, and how does its cost grow? `python benchmarks/run.py` prints all answers.

Everything is measured anew in this run, on one core. Nothing fails: the last table says which targets were met.
"""

import os
import platform
import sys
import time

import jax
import numpy as np

import astonish
import change_points
import detection
import figure8
import fits
import gaussian
import growth
import hgf
import imports
import keyed
import large_table
import maze
import monitoring
import online_em
import page
import posteriors
import regression
import spark
import streaming
from timing import Target, show

QUESTIONS = (
    maze,
    online_em,
    figure8,
    gaussian,
    hgf,
    regression,
    streaming,
    monitoring,
    keyed,
    spark,
    change_points,
    detection,
    fits,
    posteriors,
    large_table,
    growth,
    imports,
    page,
)


def main() -> None:
    core = pin()
    start = time.perf_counter()
    introduce(core)
    targets: list[Target] = []
    for question in QUESTIONS:
        targets += question.report()
    rows = [[t.name, t.wanted, t.measured, "yes" if t.met else "NO"] for t in targets]
    show("Targets", ["target", "wanted", "measured", "met"], rows)
    print(f"\n{time.perf_counter() - start:.0f} s in all")


def pin() -> str:
    """Keep this process, and those it starts, on one core, where the system can."""
    if sys.platform != "linux":
        return "any core"
    core = min(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {core})
    return f"core {core} of {os.cpu_count()}"


def introduce(core: str) -> None:
    """On what is measured, and whether others are busy there."""
    versions = f"astonish {astonish.__version__}, JAX {jax.__version__}, NumPy {np.__version__}"
    print(f"{versions}, Python {platform.python_version()}, {platform.machine()}, {core}")
    load = os.getloadavg()[0] if sys.platform != "win32" else 0.0
    busy = ": other programs keep it busy, so expect longer times than on a quiet one" if load > 0.5 else ""
    print(f"Load of the machine before: {load:.1f}{busy}")


if __name__ == "__main__":
    main()

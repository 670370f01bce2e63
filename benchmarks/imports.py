"""What does `import astonish` cost beyond the JAX it builds on?"""

import os
import subprocess
import sys
import tempfile

from timing import Target, at_most, show

PROGRAM = """
from time import perf_counter as now
start = now(); import jax
between = now(); import astonish
print(between - start, now() - between)
"""


def report() -> list[Target]:
    """Each in a new process, whose compiled modules are kept in a folder of their own that a first run fills."""
    with tempfile.TemporaryDirectory() as folder:
        keep = {"PYTHONPYCACHEPREFIX": folder, "PYTHONDONTWRITEBYTECODE": ""}
        times = [once(keep) for _ in range(6)][1:]
    jax, ours = (min(column) for column in zip(*times, strict=True))
    show(
        "Import: best of 5 new processes; seconds",
        ["", "s"],
        [["import jax", f"{jax:.3f}"], ["import astonish, after jax", f"{ours:.3f}"]],
    )
    return [at_most("import astonish beyond jax", 0.2, ours, "s")]


def once(settings: dict[str, str]) -> tuple[float, float]:
    """Seconds for JAX, and for astonish after it."""
    command = [sys.executable, "-c", PROGRAM]
    done = subprocess.run(command, env=os.environ | settings, capture_output=True, text=True, check=True)
    jax, ours = map(float, done.stdout.split())
    return jax, ours

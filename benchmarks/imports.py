"""What does `import astonish` cost beyond the JAX it builds on, and how long is it to the first update?"""

import os
import subprocess
import sys
import tempfile
from importlib.util import find_spec

from timing import Target, at_most, show

LIMITS = {"native": 0.5, "xla": 1.5}  # seconds to the first update
PROGRAM = """
from time import perf_counter as now
start = now(); import jax
between = now(); import astonish
print(between - start, now() - between)
"""
FIRST = """
import sys
from time import perf_counter as now
import jax, astonish
start = now()
astonish.Stream(astonish.Smile(astonish.Gaussian()), engine=sys.argv[1]).update(0.5)
print(now() - start)
"""


def report() -> list[Target]:
    """Each in a new process, whose compiled modules are kept in a folder of their own that a first run fills."""
    with tempfile.TemporaryDirectory() as folder:
        keep = {"PYTHONPYCACHEPREFIX": folder, "PYTHONDONTWRITEBYTECODE": ""}
        times = [once(keep, PROGRAM) for _ in range(6)][1:]
        firsts = {engine: min(once(keep, FIRST, engine)[0] for _ in range(4)) for engine in LIMITS if can(engine)}
    jax, ours = (min(column) for column in zip(*times, strict=True))
    rows = [["import jax", f"{jax:.3f}"], ["import astonish, after jax", f"{ours:.3f}"]]
    rows += [[f"first Stream.update after that, {engine}", f"{first:.3f}"] for engine, first in firsts.items()]
    show("Start: best of some new processes; seconds", ["", "s"], rows)
    return [
        at_most("import astonish beyond jax", 0.1, ours, "s"),
        *(
            at_most(f"first Stream.update, Gaussian, {name}", LIMITS[name], first, "s")
            for name, first in firsts.items()
        ),
    ]


def can(engine: str) -> bool:
    return engine != "native" or find_spec("llvmlite") is not None


def once(settings: dict[str, str], program: str, *words: str) -> list[float]:
    """The seconds that a new process prints."""
    command = [sys.executable, "-c", program, *words]
    done = subprocess.run(command, env=os.environ | settings, capture_output=True, text=True, check=True)
    return list(map(float, done.stdout.split()))

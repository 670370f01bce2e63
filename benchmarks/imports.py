"""What does `import astonish` cost beyond the JAX it builds on, and how long is it to the first update?"""

import io
import os
import subprocess
import sys
import tempfile
from contextlib import redirect_stdout
from importlib.util import find_spec

from timing import SMOKE, Target, at_most, show, size

LIMITS = {"native": 0.5, "xla": 1.5}  # seconds to the first update
PROGRAM = """
from time import perf_counter as now
start = now(); import jax
between = now(); import astonish
print(between - start, now() - between)
"""
FIRST = """
from time import perf_counter as now
import jax, astonish
start = now()
astonish.Stream(astonish.Smile(astonish.Gaussian()), engine=words[0]).update(0.5)
print(now() - start)
"""


def report() -> list[Target]:
    """Each in a new process, whose compiled modules are kept in a folder of their own that a first run fills."""
    with tempfile.TemporaryDirectory() as folder:
        keep = {"PYTHONPYCACHEPREFIX": folder, "PYTHONDONTWRITEBYTECODE": ""}
        times = [once(keep, PROGRAM) for _ in range(size(6, 2))][1:]
        firsts = {
            engine: min(once(keep, FIRST, engine)[0] for _ in range(size(4, 1))) for engine in LIMITS if can(engine)
        }
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
    """The seconds that a new process prints, or this one in a smoke run."""
    if SMOKE:
        with redirect_stdout(io.StringIO()) as printed:
            exec(program, {"words": words})
        return list(map(float, printed.getvalue().split()))
    command = [sys.executable, "-c", f"words = {words}\n{program}"]
    done = subprocess.run(command, env=os.environ | settings, capture_output=True, text=True, check=True)
    return list(map(float, done.stdout.split()))

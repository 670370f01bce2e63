"""How long do commands take for a table of two million rows, and how much memory? On two cores, on Linux.

By itself (`python benchmarks/large_table.py`) it prints what it finds.
"""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

from astonish.cli.app import app
from astonish.io.files import atomic_write, write_separated
from environment import on_cores
from timing import SMOKE, Target, at_most, show, size

PEOPLE, TRIALS, STARTS = size((2000, 1000, 3), (2, 50, 1))
COLUMNS = ("--outcome", "x", "--subject", "id", "--block", "block")
FIT = ("fit", *COLUMNS, "--response", "b", "--responded", "after", "--starts", str(STARTS))
FITS = {"fit, delta rule": (*FIT, "--learner", "delta"), "fit, SMiLe": (*FIT, "--learner", "smile")}
COMMANDS = {"surprise": ("surprise", *COLUMNS)} | size(FITS, {})  # in a smoke run, fits.py fits
# A process counts what its parent held when it was started, so a small one starts the command.
ALONE = """
import resource, subprocess, sys
status = subprocess.call(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
print(status, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""
SECONDS, GIGABYTES = {"surprise": 25.0, "fit, delta rule": 60.0, "fit, SMiLe": 60.0}, {"surprise": 1.2}


def report() -> list[Target]:
    """Each command in a process of its own, from its start to its end."""
    if sys.platform != "linux":
        return []
    with tempfile.TemporaryDirectory() as folder, on_cores(2):
        table = Path(folder) / "trials.csv"
        write(table)
        found = {name: measured(table, words, Path(folder) / "out") for name, words in COMMANDS.items()}
    rows = [[name, f"{seconds:.1f}", f"{gigabytes:.2f}"] for name, (seconds, gigabytes) in found.items()]
    show(f"{PEOPLE} people, {TRIALS} trials each; {STARTS} starts", ["astonish", "s", "GB at most"], rows)
    targets = [at_most(f"{PEOPLE * TRIALS} rows, {name}", SECONDS[name], found[name][0], "s") for name in COMMANDS]
    return targets + [at_most(f"memory of {name}", limit, found[name][1], "GB") for name, limit in GIGABYTES.items()]


def write(path: Path) -> None:
    """People who follow a mean that jumps, each at a rate of their own."""
    rng = np.random.default_rng(0)
    x = np.repeat(rng.normal(0, 10, (PEOPLE, TRIALS // 50)), 50, axis=1) + rng.normal(0, 4, (PEOPLE, TRIALS))
    rate, b = rng.uniform(0.1, 0.9, PEOPLE), np.zeros((PEOPLE, TRIALS))
    for t in range(TRIALS):
        b[:, t] = b[:, t - 1] + rate * (x[:, t] - b[:, t - 1]) + rng.normal(0, 1, PEOPLE)
    at = np.arange(1, TRIALS + 1)
    columns = {"id": np.repeat(np.arange(PEOPLE), TRIALS), "block": np.tile((at - 1) // 250, PEOPLE)}
    numbers = {"trial": np.tile(at, PEOPLE), "x": x.ravel().round(4), "b": b.ravel().round(4)}
    with atomic_write(path) as file:
        write_separated(pd.DataFrame(columns | numbers), file, ",")


def measured(table: Path, words: tuple[str, ...], out: Path) -> tuple[float, float]:
    """Seconds, and gigabytes at most; the latter not in a smoke run, which calls the command in this process."""
    target = out / "out.csv" if words[0] == "surprise" else out
    command = [words[0], str(table), *words[1:], "--out", str(target)]
    start = time.perf_counter()
    if SMOKE:
        app(command, standalone_mode=False)
        return time.perf_counter() - start, 0.0
    answer = subprocess.run(
        [sys.executable, "-c", ALONE, sys.executable, "-m", "astonish", *command],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    status, kilobytes = map(int, answer.split())
    if status:
        raise RuntimeError(f"{' '.join(command)} ended with {status}")
    return time.perf_counter() - start, kilobytes * 1024 / 1e9


if __name__ == "__main__":
    for target in report():
        print(f"{target.name}: {target.measured} (wanted {target.wanted}), {'met' if target.met else 'NOT met'}")

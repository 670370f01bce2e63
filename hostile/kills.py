"""Is anything lost or mixed up when a program is killed while it writes?"""

import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from itertools import count
from pathlib import Path

import numpy as np

from astonish import Bank, Bayes, Gaussian
from astonish.sweep import Study, run_study
from attack import Report

LEARNER, KEYS = Bayes(Gaussian(noise=1.0)), 2000


def _square(setting: Mapping[str, int]) -> dict[str, float]:
    time.sleep(0.01)
    return {"square": float(setting["x"] ** 2)}


def _study(settings: int) -> Study:
    return Study({f"x={x}": {"x": x} for x in range(settings)}, _square)


def attack(kills: int) -> Report:
    """Half of so many kills of a program that saves a bank again and again, half of one that runs a study."""
    rng, failures = random.Random(14), list[str]()
    settings = min(25 * kills, 400)
    with tempfile.TemporaryDirectory() as folder:
        bank, results = Path(folder) / "bank", Path(folder) / "results"
        seen = []
        for _ in range(kills // 2):
            _killed("save", bank, KEYS, rng.uniform(0.0, 0.5))
            if bank.exists():
                seen.append(_samples(bank, failures))
        if seen != sorted(set(seen)):
            failures.append(f"a saved bank had seen {seen} samples of each key, one after the other")
        finished = []
        for _ in range(kills - kills // 2):
            _killed("study", results, settings, rng.uniform(0.0, 0.3))
            finished.append(len(list(results.rglob("*.npz"))))
        if finished != sorted(finished) or len(set(finished)) < 2:
            failures.append(f"a study had {finished} results, one after the other")
        lines: list[str] = []
        found = run_study(_study(settings), results, say=lines.append)
        if found.failed or not found.table().equals(run_study(_study(settings)).table()):
            failures.append("a study that was killed on its way gave other results")
        failures += [line for line in lines if "damaged" in line]
    tried = "SIGKILL at a random time, of a program that saves a bank again and again, or that runs a study"
    happened = f"every file whole, nothing lost that was finished ({seen[-1]:,} saves, {finished[-1]} results)"
    return Report("Kills", tried, kills, happened, failures)


def _killed(what: str, path: Path, size: int, after: float) -> None:
    """Start this file as a program, and kill it so many seconds after the first line that it prints."""
    command = [sys.executable, __file__, what, str(path), str(size)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as program:
        assert program.stdout is not None
        program.stdout.readline()
        time.sleep(after)
        program.kill()


def _samples(path: Path, failures: list[str]) -> int:
    """How many samples each key of a saved bank has seen: all of them as many."""
    bank = Bank.load(path, LEARNER)
    counts = np.unique([round(LEARNER.belief(bank.state(key)).std ** -2) - 1 for key in (0, 1, KEYS // 2, KEYS - 1)])
    if len(bank) != KEYS or len(counts) != 1:
        failures.append(f"a saved bank had {len(bank)} keys, which had seen {counts.tolist()} samples")
    return int(counts[0])


def _save(path: Path, keys: int) -> None:
    bank = Bank.load(path, LEARNER) if path.exists() else Bank(LEARNER, keys)
    while True:
        bank.update(np.arange(keys), np.ones(keys))
        bank.save(path)
        print("saved", flush=True)


def _run(path: Path, settings: int) -> None:
    calls = count()  # the first is made before anything is computed

    def tell(_: float) -> None:
        if next(calls):
            print("one more", flush=True)

    run_study(_study(settings), path, progress=tell, say=lambda _: None)


if __name__ == "__main__":
    {"save": _save, "study": _run}[sys.argv[1]](Path(sys.argv[2]), int(sys.argv[3]))

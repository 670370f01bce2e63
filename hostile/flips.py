"""Is a file in which one bit is wrong refused, or else read as if it were right?"""

import io
import random
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import jax
import numpy as np

from astonish import Bank, Detector, Dirichlet, Gaussian, PerContext, Smile, Stream
from astonish.io.files import read, write
from attack import Report, flipped

LEARNER, LARGE = Smile(Gaussian(noise=1.0)), PerContext(Smile(Dirichlet(4)), 100)


def attack(times: int) -> Report:
    """So many flips in all, in the files of streams, banks, detectors and results."""
    rng, failures, refused = random.Random(14), [], 0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "file"
        targets = list(_files(path))
        for name, content, load in targets:
            path.write_bytes(content)
            right = load()
            for _ in range(times // len(targets)):
                spoiled, bit = flipped(content, rng)
                path.write_bytes(spoiled)
                try:
                    found = load()
                except ValueError:
                    refused += 1
                    continue
                except Exception as problem:
                    failures.append(f"{name}, bit {bit}: {type(problem).__name__}: {problem}")
                    continue
                if not _same(found, right):
                    failures.append(f"{name}, bit {bit}: it was read, as something else")
    done = times // len(targets) * len(targets)
    happened = f"{refused:,} refused in a sentence, the others read as they had been written"
    return Report(
        "Flipped bits", "a bit changed in the file of a stream, bank, detector or result", done, happened, failures
    )


def _files(path: Path) -> Any:
    """Files by name, with their bytes and a function that reads what is at the path."""
    for name, learner, x in (("stream", LEARNER, 2.0), ("large stream", LARGE, (3, 1))):
        stream = Stream(learner)
        stream.update(x)
        stream.save(path)
        yield name, path.read_bytes(), partial(_state, learner, path)
    for name, keys in (("bank of numbers", list(range(50))), ("bank of strings", [f"key {k}\0" for k in range(50)])):
        bank = Bank(LEARNER, 60)
        bank.update(keys, np.linspace(-3, 3, 50))
        yield name, bank.to_bytes(), partial(_bank, path)
    detector = Detector(LEARNER, threshold=3.0, burn_in=1)
    detector.update(0.5)
    detector.save(path)
    yield "detector", path.read_bytes(), partial(_detector, path)
    file = io.BytesIO()
    write(file, "result", {"error": np.arange(700.0), "count": np.array(3)}, {"name": "one"})
    yield "result", file.getvalue(), lambda: read(path, "result")


def _state(learner: Any, path: Path) -> Any:
    return Stream.load(path, learner).state


def _bank(path: Path) -> Any:
    return Bank.load(path, LEARNER).__reduce__()[1][3:]


def _detector(path: Path) -> Any:
    detector = Detector.load(path, LEARNER)
    return detector.threshold, detector.settings, detector._watch.now()


def _same(a: Any, b: Any) -> bool:
    ours, theirs = jax.tree.leaves(a), jax.tree.leaves(b)
    return len(ours) == len(theirs) and all(np.array_equal(x, y) for x, y in zip(ours, theirs, strict=True))

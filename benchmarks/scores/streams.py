"""Streams with known changes, to try drift detectors on: six kinds of change, four families of noise."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator

from astonish.core.numbers import BoolArray, FloatArray

KINDS = ("abrupt", "gradual", "incremental", "recurring", "variance", "rare")
STEPS, RARE_STEPS = 2000, 2500  # samples of a stream
FIRST, BETWEEN, JITTER = 300, 400, 100  # samples before the first change, between changes, and more at random
RAMP = 100  # samples that a gradual or incremental change takes
TOLERANCE = 100  # samples after the end of a change within which an alarm belongs to it


class Noise(NamedTuple):
    """Samples about a level. low, high: of levels; gap: how far a new level is from the old one at least.

    has_spread: whether the spread of samples can change and their level stay the same.
    """

    low: float
    high: float
    gap: float
    draw: Callable[[Generator, FloatArray, FloatArray], Any]
    has_spread: bool = False


NOISES = {
    "gaussian": Noise(-3.0, 3.0, 0.75, lambda rng, level, spread: rng.normal(level, spread), True),
    "student": Noise(
        -3.0, 3.0, 0.75, lambda rng, level, spread: level + spread * rng.standard_t(3, len(level)) / 3**0.5, True
    ),  # with 3 degrees of freedom, and a standard deviation of `spread`
    "bernoulli": Noise(0.1, 0.9, 0.3, lambda rng, level, _: rng.random(len(level)) < level),
    "poisson": Noise(1.0, 10.0, 2.0, lambda rng, level, _: rng.poisson(level)),
}


class LabelledStream(NamedTuple):
    """A stream, the index of the first sample of each change, and until when an alarm belongs to the change."""

    samples: FloatArray
    changes: tuple[int, ...]
    ends: tuple[int, ...]

    @property
    def changed(self) -> BoolArray:
        """True at the first sample of each change."""
        marks = np.zeros(len(self.samples), bool)
        marks[list(self.changes)] = True
        return marks


def settings() -> list[tuple[str, str]]:
    """All kinds of change with all noises in which they exist."""
    return [(kind, name) for kind in KINDS for name, noise in NOISES.items() if kind != "variance" or noise.has_spread]


def still(noise: str, seed: Any, steps: int = STEPS) -> FloatArray:
    """A stream in which nothing changes, at some level."""
    rng, how = np.random.default_rng(seed), NOISES[noise]
    level = np.full(steps, rng.uniform(how.low, how.high))
    return np.asarray(how.draw(rng, level, np.ones(steps)), float)


def stream(kind: str, noise: str, seed: Any) -> LabelledStream:
    """A stream with changes of this kind.

    abrupt: a new level. gradual: for a while, more and more samples are at the new level. incremental: the level moves
    to the new one step by step. recurring: abrupt, between two levels. variance: the standard deviation becomes twice
    what it was, or one again. rare: abrupt, once, late in the stream.

    >>> stream("abrupt", "gaussian", seed=1).changes
    (347, 751, 1175, 1595)
    """
    rng, how = np.random.default_rng(seed), NOISES[noise]
    changes = _places(kind, rng)
    steps = RARE_STEPS if kind == "rare" else STEPS
    old = levels = np.full(steps, rng.uniform(how.low, how.high))
    spread, before = np.ones(steps), [levels[0]]
    for k, at in enumerate(changes):
        if kind == "variance":
            spread[at:] = 2.0 if k % 2 == 0 else 1.0
            continue
        new = before[-2] if kind == "recurring" and k else _new_level(before[-1], how, rng)
        old, levels = levels, levels.copy()
        levels[at:] = new
        if kind in ("gradual", "incremental"):
            levels = _ramped(kind, old, levels, at, rng)
        before.append(new)
    last = RAMP if kind in ("gradual", "incremental") else 0
    samples = np.asarray(how.draw(rng, levels, spread), float)
    return LabelledStream(samples, changes, tuple(at + last + TOLERANCE for at in changes))


def _places(kind: str, rng: Generator) -> tuple[int, ...]:
    if kind == "rare":
        return (int(rng.integers(RARE_STEPS - 700, RARE_STEPS - 200)),)
    starts = range(FIRST, STEPS - JITTER - RAMP - TOLERANCE, BETWEEN)
    return tuple(start + int(rng.integers(JITTER)) for start in starts)


def _new_level(old: float, how: Noise, rng: Generator) -> float:
    while True:
        new = float(rng.uniform(how.low, how.high))
        if abs(new - old) >= how.gap:
            return new


def _ramped(kind: str, old: FloatArray, new: FloatArray, at: int, rng: Generator) -> FloatArray:
    """Levels that go over from the old to the new during a ramp."""
    share = np.clip((np.arange(len(old)) - at + 1) / RAMP, 0.0, 1.0)
    if kind == "gradual":
        share = (rng.random(len(old)) < share).astype(float)
    return (1 - share) * old + share * new

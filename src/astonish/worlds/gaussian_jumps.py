"""The Gaussian task: samples about a mean that jumps (Faraji, Preuschoff & Gerstner 2018, section 2.4)."""

import math
from typing import Any, NamedTuple

import numpy as np

from astonish.core.numbers import COUNT, OPEN_PROBABILITY, POSITIVE, BoolArray, FloatArray


class Episode(NamedTuple):
    """A series of samples, the mean behind each, and whether the mean was drawn again just before it.

    Of many episodes, each is a row.
    """

    samples: FloatArray
    truth: FloatArray
    changed: BoolArray


def gaussian_jumps(
    steps: int, seed: Any, hazard: float = 0.066, noise: float = 4.0, low: float = -20.0, high: float = 20.0
) -> Episode:
    """An episode in which the mean is redrawn uniformly from [low, high] with probability `hazard` before each sample.

    seed: a whole number, or several. The first mean is a fresh draw too, and counts as changed.

    >>> gaussian_jumps(steps=3, seed=1).truth.round(1).tolist()
    [17.9, 17.9, 17.9]
    """
    COUNT.check("steps", steps)
    OPEN_PROBABILITY.check("hazard", hazard)
    POSITIVE.check("noise", noise)
    POSITIVE.check("high - low", high - low)
    rng = np.random.default_rng(seed)
    changed = rng.random(steps) < hazard
    changed[0] = True
    means = rng.uniform(low, high, steps)
    truth = means[np.maximum.accumulate(np.where(changed, np.arange(steps), 0))]
    return Episode(truth + noise * rng.standard_normal(steps), truth, changed)


def many_gaussian_jumps(
    steps: int, seeds: Any, hazard: Any = 0.066, noise: float = 4.0, low: float = -20.0, high: float = 20.0
) -> Episode:
    """Episodes of so many steps, one per seed, each the same whatever the others are.

    hazard: one for all, or one per seed. The same seed at two hazards gives two episodes with the same noise, in which
    the jumps of the calmer one are among those of the other.

    >>> many_gaussian_jumps(steps=3, seeds=[1, 2]).truth.round(1).tolist()
    [[17.9, 17.9, 17.9], [-16.3, -16.3, -16.3]]
    """
    if len(seeds) == 0:
        raise ValueError("there are no seeds; give at least one")
    hazards = np.broadcast_to(hazard, len(seeds))
    made = [gaussian_jumps(steps, seed, h, noise, low, high) for seed, h in zip(seeds, hazards, strict=True)]
    return Episode(*map(np.stack, zip(*made, strict=True)))


def facts(hazard: float, noise: float, low: float, high: float) -> dict[str, float]:
    """The facts about such a world, by the names that parameters of learners refer to (`Parameter.fact`)."""
    places = {"low": low, "high": high, "middle": 0.5 * (low + high)}
    sizes = {"noise": noise, "drift": 0.1 * noise, "range": high - low, "spread": (high - low) / math.sqrt(12)}
    return {"hazard": hazard, **places, **sizes}

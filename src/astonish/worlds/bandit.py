"""Bandits: options that pay when they are chosen, and whose worth changes.

Reversal learning as in Hampton, Bossaerts & O'Doherty (2006) and many others; drifting payoffs of Daw, O'Doherty,
Dayan, Seymour & Dolan (2006); restless probabilities of Daw, Gershman, Seymour, Dayan & Dolan (2011).
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from astonish.core.numbers import COUNT, NOT_NEGATIVE, POSITIVE, PROBABILITY, BoolArray, FloatArray


class Bandit(NamedTuple):
    """What each option would pay on each trial (trials by options), what is to be expected of it, and when that jumped.

    Of many bandits, each is a row.
    """

    payoffs: FloatArray
    truth: FloatArray
    changed: BoolArray


def reversal(
    trials: int, seed: Any, probabilities: Sequence[float] = (0.8, 0.2), every: tuple[int, int] = (15, 25)
) -> Bandit:
    """Options that pay 1 with these probabilities, and 0 else; after some trials each gets that of the next option.

    every: the fewest and the most trials between two reversals, all numbers in between equally probable.

    >>> reversal(4, seed=1, probabilities=(1.0, 0.0), every=(2, 2)).payoffs.tolist()
    [[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]]
    """
    COUNT.check("trials", trials)
    COUNT.check("every", every)
    NOT_NEGATIVE.check("every[1] - every[0]", every[1] - every[0])
    levels = PROBABILITY.check("probabilities", probabilities)
    if levels.ndim != 1 or len(levels) < 2:
        raise ValueError(f"probabilities = {probabilities!r} is not allowed; give one for each of two or more options")
    rng = np.random.default_rng(seed)
    lengths = rng.integers(every[0], every[1] + 1, trials)
    changed = np.isin(np.arange(trials), np.cumsum(lengths))
    turns = np.cumsum(changed)
    truth = levels[(np.arange(len(levels)) + turns[:, None]) % len(levels)]
    return Bandit((rng.random(truth.shape) < truth).astype(np.float64), truth, changed)


def drifting(
    trials: int,
    seed: Any,
    options: int = 4,
    centre: float = 50.0,
    decay: float = 0.9836,
    drift: float = 2.8,
    noise: float = 4.0,
) -> Bandit:
    """Options whose mean payoffs go their own random ways, each drawn back to the centre (as in Daw et al. 2006).

    decay: how much of the distance from the centre is left after each trial. drift: standard deviation of a mean's
    steps. noise: that of payoffs about their mean.
    """
    COUNT.check("trials", trials)
    COUNT.check("options", options)
    PROBABILITY.check("decay", decay)
    NOT_NEGATIVE.check("drift", drift)
    NOT_NEGATIVE.check("noise", noise)
    rng = np.random.default_rng(seed)
    spread = drift / np.sqrt(1 - decay**2) if decay < 1 else drift  # that of means after many trials
    means = [centre + spread * rng.standard_normal(options)]
    for step in drift * rng.standard_normal((trials - 1, options)):
        means.append(centre + decay * (means[-1] - centre) + step)
    truth = np.array(means)
    return Bandit(truth + noise * rng.standard_normal(truth.shape), truth, np.zeros(trials, bool))


def restless(
    trials: int, seed: Any, options: int = 2, low: float = 0.25, high: float = 0.75, drift: float = 0.025
) -> Bandit:
    """Options that pay 1 or 0, with probabilities that go their own random ways between two ends that reflect them.

    drift: standard deviation of a probability's steps (0.025 in Daw et al. 2011).
    """
    COUNT.check("trials", trials)
    COUNT.check("options", options)
    PROBABILITY.check("low and high", [low, high])
    POSITIVE.check("high - low", high - low)
    NOT_NEGATIVE.check("drift", drift)
    rng = np.random.default_rng(seed)
    first = rng.uniform(low, high, (1, options))
    walk = np.cumsum(np.concatenate([first, drift * rng.standard_normal((trials - 1, options))]), axis=0)
    truth = high - np.abs((walk - low) % (2 * (high - low)) - (high - low))  # folded at both ends
    return Bandit((rng.random(truth.shape) < truth).astype(np.float64), truth, np.zeros(trials, bool))


def many(task: Callable[..., Bandit], trials: int, seeds: Sequence[Any], **settings: Any) -> Bandit:
    """Bandits of one task, one for each seed, each the same whatever the others are.

    >>> many(restless, 3, seeds=range(4)).payoffs.shape
    (4, 3, 2)
    """
    if not len(seeds):
        raise ValueError("there are no seeds; give at least one")
    return Bandit(*map(np.stack, zip(*(task(trials, seed, **settings) for seed in seeds), strict=True)))

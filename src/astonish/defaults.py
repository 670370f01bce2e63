"""What do the data suggest for a parameter that nobody has set?"""

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from astonish.table import Trials

SUGGESTED = ("noise", "mean", "start", "std", "scale", "drift", "low", "high")
_HALF = 0.6745  # half of a normal distribution is within so many standard deviations


class Default(NamedTuple):
    """A value for a parameter, and in words where it comes from."""

    value: float
    source: str


def suggested(word: str, trials: Trials, settings: Mapping[str, float]) -> Default:
    """A value for one of the `SUGGESTED` parameters of learners that follow numbers."""
    low, high = _range(trials)
    match word:
        case "noise":
            return _noise(trials)
        case "drift":
            return Default(
                0.1 * (settings["noise"] if "noise" in settings else _noise(trials).value), "a tenth of noise"
            )
        case "low":
            return Default(low, "the smallest outcome")
        case "high":
            return Default(high, "the largest outcome")
        case "std" | "scale" if low == high:
            raise ValueError(f"{word} cannot be told from outcomes that are all {low:g}; set {word}")
        case "std":
            return Default((high - low) / math.sqrt(12), "as of a mean anywhere in the range of outcomes")
        case "scale":
            return Default(high - low, "the range of outcomes")
    return Default(0.5 * (low + high), "the middle of the range of outcomes")


def _noise(trials: Trials) -> Default:
    if "noise" in trials.given:
        column = trials.columns.given["noise"]
        return Default(
            float(np.median(trials.given["noise"])), f"the median of {column}, which gives it trial by trial"
        )
    successive = trials.observed[:, 1:] & trials.observed[:, :-1] & ~trials.starts[:, 1:]
    steps = np.abs(np.diff(trials.outcomes))[successive]
    noise = float(np.median(steps)) / (_HALF * math.sqrt(2)) if len(steps) else 0.0
    if noise == 0:
        raise ValueError("noise cannot be told from outcomes that hardly differ from trial to trial; set noise")
    return Default(noise, "from the median difference of successive outcomes")


def _range(trials: Trials) -> tuple[float, float]:
    if trials.kind == "binary":
        return 0.0, 1.0
    seen = trials.outcomes[trials.observed]
    return float(seen.min()), float(seen.max())

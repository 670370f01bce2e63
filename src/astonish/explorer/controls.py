"""What can be set on the page, and within which limits?

The page builds its controls from these descriptions, and every request is checked against the same ones.
"""

import math
from base64 import b64encode
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

import numpy as np

from astonish.domain import Domain

Said = Mapping[str, Any]
Answer = dict[str, Any]


class Slider(NamedTuple):
    """A number to set: what it means, which values it may take, and where it starts.

    log: whether the slider moves through powers of ten.
    """

    label: str
    domain: Domain
    default: float
    step: float
    log: bool = False

    def described(self) -> Answer:
        """For the page."""
        return {
            "label": self.label,
            "low": self.domain.low,
            "high": self.domain.high,
            "default": self.default,
            "step": self.step,
            "log": self.log,
            "whole": self.domain.whole,
        }


def described(sliders: Mapping[str, Slider]) -> Answer:
    """Sliders by name, for the page."""
    return {name: slider.described() for name, slider in sliders.items()}


def known(said: Any, words: Collection[str]) -> Said:
    """What was said, if it is an object that speaks of these words only."""
    if not isinstance(said, dict):
        raise ValueError(f"the request is {_short(said)}; give an object with some of {', '.join(words)}")
    odd = next((word for word in said if word not in words), None)
    if odd is not None:
        raise ValueError(f"there is no {_short(odd)} to set; give some of {', '.join(words)}")
    return said


def numbers(said: Said, sliders: Mapping[str, Slider]) -> dict[str, float]:
    """The value of every slider, its default where nothing was said; or a refusal.

    >>> numbers({"m": 7}, {"m": Slider("readiness", Domain(0, 5), 1.0, 0.1)})
    Traceback (most recent call last):
    ValueError: m = 7 is not allowed; give a finite number from 0 to 5
    """
    return {name: one(name, said.get(name, slider.default), slider.domain) for name, slider in sliders.items()}


def one(name: str, value: Any, domain: Domain) -> float:
    """One number, a whole one where the domain says so; or a refusal."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{name} = {_short(value)} is not a number; give {domain}")
    try:
        checked = float(domain.check(name, float(value)))
    except OverflowError:
        raise ValueError(f"{name} is larger than numbers get; give {domain}") from None
    return int(checked) if domain.whole else checked


def one_of(name: str, value: Any, options: Collection[str]) -> str:
    """One of several words; or a refusal."""
    if not isinstance(value, str) or value not in options:
        raise ValueError(f"{name} = {_short(value)} is not known; give one of {', '.join(options)}")
    return value


def some_of(name: str, value: Any, options: Collection[str]) -> list[str]:
    """Some of several words, in their own order; or a refusal."""
    if not isinstance(value, list) or len(value) > len(options):
        raise ValueError(f"{name} = {_short(value)} is not a list; give some of {', '.join(options)}")
    wanted = {one_of(name, word, options) for word in value}
    return [word for word in options if word in wanted]


def several(name: str, value: Any, domain: Domain, least: int, most: int) -> list[float]:
    """A list of numbers; or a refusal."""
    if not isinstance(value, list) or not least <= len(value) <= most:
        raise ValueError(f"{name} = {_short(value)} is not allowed; give a list of {least} to {most} numbers")
    return [one(name, each, domain) for each in value]


def packed(values: Any) -> Answer:
    """Numbers as the page reads them: bytes of float64, row by row, in which NaN may stand."""
    array = np.ascontiguousarray(values, "<f8")
    return {"shape": array.shape, "f8": b64encode(array.tobytes()).decode()}


def told(value: Any) -> float | None:
    """A number for JSON, which has no infinity."""
    number = float(value)
    return number if math.isfinite(number) else None


def in_words(values: Mapping[str, float | None]) -> str:
    """Parameters by name, those that somebody else decides left out.

    >>> in_words({"m": 0.1, "std": None, "hypotheses": 20})
    'm 0.1, hypotheses 20'
    """
    return ", ".join(f"{word} {value:.4g}" for word, value in values.items() if value is not None)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."

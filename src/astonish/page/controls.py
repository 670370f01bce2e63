"""What can be set on the page, and within which limits?

The page builds its controls from these descriptions, and every request is checked against the same ones.
"""

import math
from base64 import b64encode
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple, Protocol

import numpy as np

from astonish.core.numbers import Domain
from astonish.core.parameters import Parameter

Json = dict[str, Any]
Values = dict[str, float]
_LARGEST = 1e12  # what a number on the page may be at most
_DECADES = 50.0  # the ratio of its ends from which a slider moves through powers of ten


class Tab(Protocol):
    """One tab of the page."""

    def controls(self) -> Json:
        """What can be set, for the page."""

    def answer(self, request: Any) -> Json:
        """What the page shows for a request; `python` in it is a script that computes the same."""


class Slider(NamedTuple):
    """A number to set: what it means, which values it may take, and where it starts.

    ends: of the slider, if they are not those of the domain. log: whether it moves through powers of ten.
    about: what it means in more words.
    """

    label: str
    domain: Domain
    default: float
    ends: tuple[float, float] | None = None
    log: bool = False
    about: str = ""

    def described(self) -> Json:
        """For the page. least, most: what may be typed; low, high: the ends of the slider."""
        least, most, whole = self.domain.low, self.domain.high, self.domain.whole
        low, high = self.ends or (least, most)
        step = 1 if whole else 0.01 if self.log else 10.0 ** math.floor(math.log10((high - low) / 50))
        limits = {"low": low, "high": high, "least": least, "most": most, "step": step, "whole": whole}
        return {"label": self.label, "about": self.about, "default": self.default, "log": self.log, **limits}


def described(sliders: Mapping[str, Slider]) -> Json:
    """Sliders by name, for the page."""
    return {name: slider.described() for name, slider in sliders.items()}


def slider_for(
    name: str,
    known: Parameter,
    between: tuple[float, float] = (0.0, 1.0),
    default: float | None = None,
    of: Collection[str] = (),
) -> Slider:
    """A slider for a parameter, over its usual values for outcomes between two numbers. of: what has the parameter."""
    domain, usual = limited(known.domain), known.usual_between(*between)
    start = known.default if default is None else default
    if start is None:
        start = float(np.clip(1.0, *(usual or (domain.low, domain.high))))
    margin = 0.01 * domain.open
    low, high = usual or (max(start - 1, known.domain.low + margin), min(start + 1, known.domain.high - margin))
    log = low > 0 and high / low >= _DECADES and not domain.whole
    label = f"{name}: {known.about.partition(';')[0]}" + (f" ({', '.join(of)})" if of else "")
    return Slider(label, domain, start, (low, high), log, known.about)


def limited(domain: Domain, most: float = _LARGEST) -> Domain:
    """The domain without numbers that are too large for a page, or too close to an end that is excluded."""
    low = 1 / most if domain.open and domain.low == 0 else max(domain.low, -most)
    return Domain(low, min(domain.high, most), domain.whole, domain.open)


def numbers(request: Any, sliders: Mapping[str, Slider], *others: str) -> tuple[Values, Json]:
    """The value of every slider, its default where nothing was given, and the other parts of the request; or a refusal.

    >>> numbers({"m": 7}, {"m": Slider("readiness", Domain(0, 5), 1.0)})
    Traceback (most recent call last):
    ValueError: m = 7 is not allowed; give a finite number from 0 to 5
    """
    asked = check_keys(request, (*sliders, *others))
    at = {name: one(name, asked.get(name, slider.default), slider.domain) for name, slider in sliders.items()}
    return at, {name: value for name, value in asked.items() if name in others}


def check_keys(request: Any, words: Collection[str]) -> Mapping[str, Any]:
    """The request, if it is an object with these keys only."""
    if not isinstance(request, dict):
        raise ValueError(f"the request is {_short(request)}; give an object with some of {', '.join(words)}")
    odd = next((word for word in request if word not in words), None)
    if odd is not None:
        raise ValueError(f"there is no {_short(odd)} to set; give some of {', '.join(words)}")
    return request


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


def listed(name: str, value: Any, most: int) -> list[Any]:
    """A list that is not too long; or a refusal."""
    if not isinstance(value, list) or len(value) > most:
        raise ValueError(f"{name} = {_short(value)} is not allowed; give a list of at most {most}")
    return value


def too_much(limit: str) -> str:
    """How a sentence ends that refuses a table which is beyond a limit."""
    return f"{limit}, which is the most that the page takes; use the command astonish surprise"


def packed(values: Any) -> Json:
    """Numbers as the page reads them: bytes of float64, row by row, in which NaN may stand."""
    array = np.ascontiguousarray(values, "<f8")
    return {"shape": array.shape, "f8": b64encode(array.tobytes()).decode()}


def json_number(value: Any) -> float | None:
    """A number for JSON, which has no infinity."""
    return float(value) if math.isfinite(value) else None


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."

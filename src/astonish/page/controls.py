"""What can be set on the page, within which limits, and how answers are sent.

The page builds its controls from these descriptions, and every request is checked against the same ones.
"""

import math
from base64 import b64encode
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import jax
import numpy as np

from astonish.core.numbers import Domain
from astonish.core.parameters import Parameter, declared
from astonish.core.programs import interpreted
from astonish.core.special import difference
from astonish.learners import Smile
from astonish.online.explanation import STAGES, Explanation
from astonish.online.measures import Moment, all_measures
from astonish.report.views import TERMS, number
from astonish.theory import expfam, rule
from astonish.theory.drawing import BARS, CURVES, POINTS
from astonish.theory.expfam import Belief, Family, bregman

Json = dict[str, Any]
Values = dict[str, float]
_LARGEST = 1e12  # what a number on the page may be at most
_DECADES = 50.0  # the ratio of its ends from which a slider moves through powers of ten


class Tab(Protocol):
    """One tab of the page."""

    def controls(self) -> Json:
        """Describe for the page what can be set."""

    def answer(self, request: Any) -> Json:
        """Compute what the page shows for a request; `python` in it is a script that computes the same."""


# ---- what can be set


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


def described(sliders: Mapping[str, Slider]) -> Json:
    """Describe sliders for the page, by name. least, most: what may be typed; low, high: the ends of the slider."""
    specs: Json = {}
    for name, (label, domain, default, ends, log, about) in sliders.items():
        low, high = ends or (domain.low, domain.high)
        step = 1 if domain.whole else 0.01 if log else 10.0 ** math.floor(math.log10((high - low) / 50))
        limits = {"low": low, "high": high, "least": domain.low, "most": domain.high, "whole": domain.whole}
        specs[name] = {"label": label, "about": about, "default": default, "log": log, "step": step, **limits}
    return specs


def slider_for(
    name: str,
    parameter: Parameter,
    between: tuple[float, float] = (0.0, 1.0),
    default: float | None = None,
    of: Collection[str] = (),
) -> Slider:
    """Make a slider for a parameter.

    Args:
        name: Of the parameter.
        parameter: What is known about it.
        between: Two numbers between which outcomes lie; the slider goes over the usual values for them.
        default: Where it starts; else at the default of the parameter.
        of: What has the parameter, for the label.
    """
    domain, usual = limited(parameter.domain), parameter.usual_between(*between)
    start = parameter.default if default is None else default
    if start is None:
        start = float(np.clip(1.0, *(usual or (domain.low, domain.high))))
    margin = 0.01 * domain.open
    nearby = (max(start - 1, parameter.domain.low + margin), min(start + 1, parameter.domain.high - margin))
    low, high = usual or nearby
    log = low > 0 and high / low >= _DECADES and not domain.whole
    label = f"{name}: {parameter.about}" + (f" ({', '.join(of)})" if of else "")
    return Slider(label, domain, start, (low, high), log)


def limited(domain: Domain, most: float = _LARGEST) -> Domain:
    """Leave out numbers that are too large for a page, or too close to an end that is excluded."""
    low = 1 / most if domain.open and domain.low == 0 else max(domain.low, -most)
    return Domain(low, min(domain.high, most), domain.whole, domain.open)


READINESS = slider_for("m", declared(Smile)["m"])


# ---- what is asked


def numbers(request: Any, sliders: Mapping[str, Slider], *others: str) -> tuple[Values, Json]:
    """Read the value of every slider, its default where nothing was given, and the other parts of the request.

    >>> numbers({"m": 7}, {"m": Slider("readiness", Domain(0, 5), 1.0)})
    Traceback (most recent call last):
    ValueError: m = 7 is not allowed; give a finite number from 0 to 5
    """
    asked = check_keys(request, (*sliders, *others))
    at = {name: one(name, asked.get(name, slider.default), slider.domain) for name, slider in sliders.items()}
    return at, {name: value for name, value in asked.items() if name in others}


def check_keys(request: Any, words: Collection[str]) -> Mapping[str, Any]:
    """Return the request, if it is an object with these keys only."""
    if not isinstance(request, dict):
        raise ValueError(f"the request is {_short(request)}; give an object with some of {', '.join(words)}")
    odd = next((word for word in request if word not in words), None)
    if odd is not None:
        raise ValueError(f"there is no {_short(odd)} to set; give some of {', '.join(words)}")
    return request


def one(name: str, value: Any, domain: Domain) -> float:
    """Return one number, a whole one where the domain says so; or refuse it."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{name} = {_short(value)} is not a number; give {domain}")
    try:
        checked = float(domain.check(name, float(value)))
    except OverflowError:
        raise ValueError(f"{name} is larger than numbers get; give {domain}") from None
    return int(checked) if domain.whole else checked


def one_of(name: str, value: Any, options: Collection[str]) -> str:
    """Return one of several words; or refuse it."""
    if not isinstance(value, str) or value not in options:
        raise ValueError(f"{name} = {_short(value)} is not known; give one of {', '.join(options)}")
    return value


def listed(name: str, value: Any, most: int) -> list[Any]:
    """Return a list that is not too long; or refuse it."""
    if not isinstance(value, list) or len(value) > most:
        raise ValueError(f"{name} = {_short(value)} is not allowed; give a list of at most {most}")
    return value


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


# ---- what is answered

GAMMAS: Any = np.linspace(0.0, 1.0, 101)


@interpreted
def updated(family: Family, belief: Belief, x: Any, m: Any) -> dict[str, Any]:
    """Update a belief by the SMiLe rule, and measure surprise; for each of `GAMMAS`, how far a step of this size goes.

    again: how surprising the observation would still be; spent: how far the belief moves.
    """
    update = rule.smile(family, belief, x, m)
    prior, scaled = family.prior(), expfam.scaled_likelihood(family, x)
    curve = jax.vmap(lambda gamma: expfam.log_mass_curve(family, belief, scaled, gamma))(GAMMAS)
    first, last = (jax.tree.map(lambda values, end=end: values[end], curve) for end in (0, -1))
    return {
        **update._asdict(),
        "beliefs": (belief, scaled, update.belief),
        "gammas": GAMMAS,
        "again": bregman(curve, last, 1 - GAMMAS),  # this and the next are read off one curve
        "spent": bregman(curve, first, -GAMMAS),
        "measures": all_measures(Moment(family, prior, prior, belief, update.belief, x), None),
    }


def packed(values: Any) -> Json:
    """Pack numbers as the page reads them: bytes of float64, row by row, in which NaN may stand."""
    array = np.ascontiguousarray(values, "<f8")
    return {"shape": array.shape, "f8": b64encode(array.tobytes()).decode()}


def json_number(value: Any) -> float | None:
    """Return a number for JSON, which has no infinity."""
    return float(value) if math.isfinite(value) else None


def explained(of: Explanation, length: int, names: Sequence[str] = ()) -> Json:
    """Describe the explanation of a sample for the page.

    path: how the belief, or else the estimate, goes from before to after. alone: what an observer believes who knows
    this sample alone. Points are pairs of a mean and a standard deviation, which is NaN where it is not known.

    Args:
        of: The explanation.
        length: How many samples there are.
        names: What bars stand for; else their numbers.
    """
    drawing, alone, x = of.drawing, None, None
    if drawing is not None:
        kind, heights = drawing.kind, drawing.heights
        label = {CURVES: "density", BARS: "probability" if drawing.probabilities else "mean", POINTS: "mean"}[kind]
        x = packed(drawing.at) if kind == CURVES else None
        if of.beliefs is not None and of.beliefs.target is not None:
            heights, alone = heights[:-1], packed(heights[-1])
    else:  # of a learner without a belief: its estimate, on the straight way from before to after
        before, after = np.asarray(of.estimate.before), np.asarray(of.estimate.after)
        shares = np.linspace(0.0, 1.0, STAGES)
        way = before + shares.reshape(-1, *[1] * before.ndim) * difference(after, before, of.learner.period)
        kind, label, heights = BARS, "estimate", way.reshape(STAGES, -1)
        if way.ndim == 1:
            first, last, _ = of.uncertainty or (np.nan, np.nan, None)
            kind, heights = POINTS, np.stack([way, first + shares * (last - first)], axis=1)
    bars = range(1, heights.shape[1] + 1) if kind == BARS else ()
    return {
        "at": of.at,
        "length": length,
        "sentence": of.sentence,
        "kind": kind,
        "label": label,
        "x": x or [str(name) for name in names or bars],
        "path": packed(heights),
        "alone": alone,
        "alone_label": "reference after this sample alone" if of.learner.reference is not None else "",
        "observation": None if of.place is None else json_number(of.place),
        **stack(of),
    }


def stack(of: Explanation) -> Json:
    """Describe the terms of the confidence-corrected surprise and their sum; None where it is not defined."""
    if of.terms is None or of.confidence_corrected is None:
        return {"terms": None, "total": None}
    total = of.confidence_corrected
    terms = [
        {"name": f"{TERMS[name]}: {number(value)}", "value": json_number(value)} for name, value in of.terms.items()
    ]
    return {"terms": terms, "total": {"name": f"S_cc: {number(total)} nats", "value": json_number(total)}}

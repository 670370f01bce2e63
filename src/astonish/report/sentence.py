"""How is the explanation of a trial said in a sentence, with its numbers?"""

import math
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from astonish.online.explanation import Explanation

MINUS = "\N{MINUS SIGN}"
MEASURES = {
    "confidence_corrected": "confidence-corrected surprise",
    "confidence_corrected_reference": "confidence-corrected surprise against its reference",
    "bayes_factor": "log Bayes factor",
    "shannon": "Shannon surprise",
    "absolute_error": "error",
}
TERMS = {
    "shannon": "Shannon surprise",
    "bayesian": "Bayesian surprise",
    "log_norm": "log norm of the likelihood",
    "commitment": "commitment (minus entropy)",
    "reference_evidence": "log probability under the reference",
    "reference_divergence": "divergence from the reference",
}
_MODULATING = ("confidence_corrected", "confidence_corrected_reference", "bayes_factor")  # from which gamma follows
_NEARLY = 0.999  # probabilities above it are not told apart
_SHOWN = 6  # numbers of a vector that are written out


def sentence(of: "Explanation") -> str:
    """What was expected, what was seen, how surprising it was, and how far the estimate moved."""
    if of.outcome is None:
        return f"Sample {of.at + 1} is missing, so nothing changes: the estimate stays {_numbers(of.estimate.before)}."
    where = f"{of.context}, " if of.context else ""
    text = f"{where}{_expected_and_seen(of)}: {', '.join(_consequences(of))}"
    return " ".join([f"{text[0].upper()}{text[1:]}.", *_notes(of)])


def number(value: float, decimals: int | None = None) -> str:
    """A number with so many decimals, or with two digits, but at least all before the decimal point.

    >>> number(-12.34), number(0.04567), number(-12.34, 1), number(0.0)
    ('−12', '0.046', '−12.3', '0')
    """
    if not math.isfinite(value):
        return "unknown" if math.isnan(value) else "∞" if value > 0 else f"{MINUS}∞"
    if value and not 1e-4 <= abs(value) < 1e9:
        return f"{value:.1e}".replace("-", MINUS)
    places = _decimals(value) if decimals is None else decimals
    text = f"{abs(value):.{places}f}"
    return MINUS + text if value < 0 and float(text) else text


def probability(value: float, decimals: int = 2) -> str:
    """A number from 0 to 1 with two decimals or more, without the zero before its point.

    >>> probability(0.876), probability(0.0213), probability(0.996), probability(0.99996), probability(1.0)
    ('.88', '.021', '.996', '>.999', '1')
    """
    if value in (0.0, 1.0) or not math.isfinite(value):
        return number(value, 0)
    if value > _NEARLY:
        return f">{_NEARLY:g}".replace("0", "", 1)
    places = max(2, _decimals(1 - value, 1) if value > 0.5 else _decimals(value), decimals)
    return number(value, places).removeprefix("0") if value >= 1e-4 else number(value)


def _decimals(value: float, digits: int = 2) -> int:
    """How many decimals show so many digits."""
    return max(0, digits - 1 - math.floor(math.log10(abs(value)))) if value else 0


def _expected_and_seen(of: "Explanation") -> str:
    seen = of.seen or (str(int(of.outcome)) if of.is_labelled else _numbers(of.outcome))
    if of.probability is not None:
        return f"expected {seen} with probability {probability(float(of.probability.before))} and saw it"
    if of.expected is None:
        return f"saw {seen}"
    spread = of.predicted_std
    largest = max((float(np.max(np.abs(part))) for part in _known(of)), default=0.0)
    places = _decimals(largest) if largest else None
    known = "" if spread is None else f" ± {_numbers(spread, places)}"
    if spread is None and of.uncertainty is not None:
        known = f" (the estimate is uncertain by {_numbers(of.uncertainty.before)})"
    return f"expected {_numbers(of.expected, places)}{known}, saw {of.seen or _numbers(of.outcome, places)}"


def _known(of: "Explanation") -> list[Any]:
    """The error and the standard deviation of the prediction, as far as they are finite."""
    parts = [None if of.error is None else of.error.before, of.predicted_std]
    return [part for part in parts if part is not None and np.isfinite(part).all()]


def _consequences(of: "Explanation") -> list[str]:
    """Surprise, learning rate and movement."""
    measure = of.learner.surprise_measure
    assert of.surprise is not None
    assert of.learning_rate is not None
    units = "" if measure == "absolute_error" else " nats" if measure else ""
    surprise = f"{MEASURES.get(measure, 'surprise in its own measure')} {number(of.surprise)}{units}"
    rate, change = probability(of.learning_rate), of.change_probability
    if measure in _MODULATING:
        also = " (its probability of a change)" if change is not None else ""
        gamma = f"gamma > {rate[1:]}" if rate.startswith(">") else f"gamma = {rate}"
        return [surprise, f"so {gamma}{also} and {_movement(of)}"]
    changes = [] if change is None else [f"probability of a change {probability(change)}"]
    return [surprise, *changes, f"learning rate {rate}", f"and {_movement(of)}"]


def _movement(of: "Explanation") -> str:
    if of.probability is not None and of.beliefs is not None:
        return f"its probability moves {_probabilities(*of.probability[:2])}"
    if of.probability is not None and np.ndim(of.estimate.after):
        return f"its estimate moves {_probabilities(*(each[of.outcome] for each in of.estimate[:2]))}"
    if of.probability is None and of.moved is not None and of.possible is not None:
        if of.moved == 0:
            return "the estimate does not move"
        places = _decimals(of.possible) if of.possible else None
        if of.moved < 0:
            return f"the estimate moves {number(-of.moved)} the other way"
        return f"the estimate moves {number(of.moved, places)} of {number(of.possible, places)}"
    if of.is_labelled and not np.ndim(of.estimate.after):
        return f"the estimate moves {_probabilities(*of.estimate[:2])}"
    return f"the estimate moves from {_numbers(of.estimate.before)} to {_numbers(of.estimate.after)}"


def _probabilities(before: Any, after: Any) -> str:
    """From one probability to another, with as many decimals as tell them apart, up to four."""
    first, last = float(before), float(after)
    decimals = min(4, _decimals(last - first, 1))
    return f"from {probability(first, decimals)} to {probability(last, decimals)}"


def _notes(of: "Explanation") -> list[str]:
    """What else there is to know about the paper's measure, S_cc."""
    name = type(of.learner).__name__
    if of.improper:
        why = f"one sample alone leaves the scaled likelihood of {of.improper} improper"
        return [f"Without a reference S_cc, the paper's surprise, is undefined: {why}."]
    if of.confidence_corrected is None or of.learner.surprise_measure.startswith("confidence_corrected"):
        return []
    return [f"S_cc, the paper's surprise, is {number(of.confidence_corrected)} nats; {name} does not use it."]


def _numbers(value: Any, decimals: int | None = None) -> str:
    """A number, or several in brackets."""
    parts = np.ravel(value).tolist()
    if np.ndim(value) == 0:
        return number(parts[0], decimals)
    more = ", ..." if len(parts) > _SHOWN else ""
    return f"({', '.join(number(part, decimals) for part in parts[:_SHOWN])}{more})"

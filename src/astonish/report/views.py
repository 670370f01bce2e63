"""Views of results: a history, past changes and the explanation of a trial as figures, and the latter as a sentence."""

import math
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from astonish.report.style import BLACK, BLUE, GREEN, ORANGE, PURPLE, SKY, VERMILLION, styled_figure
from astonish.theory.drawing import BARS, CURVES, Drawing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from astonish.changes.changepoints import ChangePosterior
    from astonish.online.explanation import Explanation
    from astonish.online.series import History

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
_TERM_COLOURS = dict(zip(TERMS, (SKY, ORANGE, "0.5", PURPLE, "0.5", PURPLE), strict=True))


# Figures


def plot_history(history: "History") -> "Figure":
    """Draw samples and estimates, surprise, and learning rate over time."""
    with styled_figure(3, sharex=True, figsize=(7, 5), height_ratios=(2, 1, 1)) as (figure, (top, middle, bottom)):
        steps = np.arange(1, len(history) + 1)
        estimate = history.estimate.reshape(len(history), -1)
        samples = jax.tree.leaves(history.samples)
        if len(samples) == 1 and samples[0].shape == history.estimate.shape:
            top.plot(steps, samples[0].reshape(len(history), -1), "o", ms=2.5, color="0.6", label="samples")
        top.plot(steps, estimate[:, :8], label=["estimate", *[None] * (min(estimate.shape[1], 8) - 1)])
        top.set_ylabel("estimate")
        top.legend(loc="best", ncols=2)
        middle.plot(steps, history.surprise, color=GREEN)
        middle.set_ylabel("surprise")
        bottom.plot(steps, history.learning_rate, color=PURPLE)
        bottom.set(ylabel="learning rate", ylim=(-0.02, 1.02), xlabel="sample")
    return figure


def plot_changes(posterior: "ChangePosterior") -> "Figure":
    """Draw the series, a line with its interval shaded for each change, and below it how probable a change is."""
    with styled_figure(2, sharex=True, figsize=(7, 4)) as (figure, (top, bottom)):
        places = np.arange(len(posterior.probability))
        for part in jax.tree.leaves(posterior.samples):
            top.plot(places, part.reshape(len(places), -1), "o", ms=2.5, color="0.6")
        for axes in (top, bottom):
            for place, low, high in zip(posterior.places, posterior.low, posterior.high, strict=True):
                axes.axvspan(low - 0.5, high + 0.5, color=ORANGE, alpha=0.3, lw=0)
                axes.axvline(place, color=ORANGE)
        top.set_ylabel("sample")
        bottom.vlines(places, 0.0, posterior.probability, color=BLUE)
        bottom.set(ylabel="probability of a change", ylim=(-0.02, 1.02), xlabel="index")
    return figure


def plot_explanation(of: "Explanation") -> "Figure":
    """Draw belief before, scaled likelihood and belief after; beside them the terms of S_cc, if it has any.

    Terms above zero are stacked upwards from zero and those below it downwards; a line marks their sum.
    """
    with styled_figure(1, 2, figsize=(7, 3), width_ratios=(3, 1)) as (figure, (left, right)):
        if of.drawing is not None:
            _draw_beliefs(left, of.drawing, of.beliefs is not None and of.beliefs.target is not None)
        else:  # a learner without a belief
            for place, (name, color) in enumerate((("before", BLUE), ("after", VERMILLION))):
                values = np.ravel(of.estimate[place])
                at = np.arange(len(values)) + 0.1 * place
                left.plot(at, values, "o", color=color, label=f"estimate {name}")
            left.set(ylabel="estimate", xticks=[])
        if of.place is not None:
            mark = left.axvline if of.drawing is not None and of.drawing.kind == CURVES else left.axhline
            mark(of.place, color=BLACK, lw=0.8, ls="-.", label="sample")
        left.legend(loc="best")
        if of.terms is None:
            right.remove()
        else:
            ends = {True: 0.0, False: 0.0}
            for name, value in of.terms.items():
                label = f"{TERMS[name]} {number(value)}"
                right.bar(0.0, value, 0.8, bottom=ends[value >= 0], color=_TERM_COLOURS[name], label=label)
                ends[value >= 0] += value
            total = of.confidence_corrected
            right.axhline(total, color=BLACK, lw=1.2, label=f"S_cc {number(total or 0.0)}")
            right.set(xticks=[], ylabel="nats", xlim=(-0.6, 0.6))
            right.legend(loc="upper left", bbox_to_anchor=(0.0, -0.05), fontsize=7)
        figure.suptitle(f"Sample {of.at + 1}", x=0.01, ha="left")
    return figure


def _draw_beliefs(axes: Any, drawing: Drawing, has_target: bool) -> None:
    rows = [("before", drawing.heights[0], BLUE, "-")]
    rows += [("after", drawing.heights[-2 if has_target else -1], VERMILLION, "--")]
    rows += [("scaled likelihood", drawing.heights[-1], GREEN, ":")] * has_target
    for place, (name, heights, color, dash) in enumerate(rows):
        if drawing.kind == CURVES:
            axes.plot(drawing.at, heights, color=color, ls=dash, label=name)
        elif drawing.kind == BARS:
            width = 0.8 / len(rows)
            axes.bar(drawing.at + (place - 1) * width, heights, width, color=color, label=name)
        else:
            axes.errorbar(place, heights[0], heights[1], fmt="o", color=color, label=name)
    words = {CURVES: ("parameter", "density"), BARS: ("", "probability" if drawing.probabilities else "mean")}
    label, height = words.get(drawing.kind, ("", "mean and standard deviation"))
    axes.set(xlabel=label, ylabel=height)


# The sentence


def sentence(of: "Explanation") -> str:
    """Say what was expected, what was seen, how surprising it was, and how far the estimate moved."""
    if of.outcome is None:
        return f"Sample {of.at + 1} is missing, so nothing changes: the estimate stays {_numbers(of.estimate.before)}."
    assert of.surprise is not None
    assert of.learning_rate is not None
    measure, change = of.learner.surprise_measure, of.change_probability
    units = "" if measure == "absolute_error" else " nats" if measure else ""
    surprise = f"{MEASURES.get(measure, 'surprise in its own measure')} {number(of.surprise)}{units}"
    rate = probability(of.learning_rate)
    if measure in _MODULATING:
        also = " (its probability of a change)" if change is not None else ""
        gamma = f"gamma > {rate[1:]}" if rate.startswith(">") else f"gamma = {rate}"
        consequences = f"{surprise}, so {gamma}{also} and {_movement(of)}"
    else:
        changes = "" if change is None else f"probability of a change {probability(change)}, "
        consequences = f"{surprise}, {changes}learning rate {rate}, and {_movement(of)}"
    text = f"{f'{of.context}, ' if of.context else ''}{_expected_and_seen(of)}: {consequences}"
    text = f"{text[0].upper()}{text[1:]}."
    if of.improper:
        why = f"one sample alone leaves the scaled likelihood of {of.improper} improper"
        return f"{text} Without a reference S_cc, the paper's surprise, is undefined: {why}."
    if of.confidence_corrected is None or measure.startswith("confidence_corrected"):
        return text
    name = type(of.learner).__name__
    return f"{text} S_cc, the paper's surprise, is {number(of.confidence_corrected)} nats; {name} does not use it."


def _expected_and_seen(of: "Explanation") -> str:
    seen = of.seen or (str(int(of.outcome)) if of.is_labelled else _numbers(of.outcome))
    if of.probability is not None:
        return f"expected {seen} with probability {probability(float(of.probability.before))} and saw it"
    if of.expected is None:
        return f"saw {seen}"
    # All numbers get the decimals of the largest of the error and the predicted standard deviation
    sizes = [None if of.error is None else of.error.before, of.predicted_std]
    sizes = [np.max(np.abs(size)) for size in sizes if size is not None and np.isfinite(size).all()]
    largest = float(max(sizes, default=0.0))
    places = _decimals(largest) if largest else None
    spread = "" if of.predicted_std is None else f" ± {_numbers(of.predicted_std, places)}"
    if of.predicted_std is None and of.uncertainty is not None:
        spread = f" (the estimate is uncertain by {_numbers(of.uncertainty.before)})"
    return f"expected {_numbers(of.expected, places)}{spread}, saw {of.seen or _numbers(of.outcome, places)}"


def _movement(of: "Explanation") -> str:
    if of.probability is not None and of.beliefs is not None:
        return f"its probability moves {_probabilities(*of.probability[:2])}"
    if of.probability is not None and np.ndim(of.estimate.after):
        return f"its estimate moves {_probabilities(*(part[of.outcome] for part in of.estimate[:2]))}"
    if of.probability is None and of.moved is not None and of.possible is not None:
        if of.moved == 0:
            return "the estimate does not move"
        if of.moved < 0:
            return f"the estimate moves {number(-of.moved)} the other way"
        places = _decimals(of.possible) if of.possible else None
        return f"the estimate moves {number(of.moved, places)} of {number(of.possible, places)}"
    if of.is_labelled and not np.ndim(of.estimate.after):
        return f"the estimate moves {_probabilities(*of.estimate[:2])}"
    return f"the estimate moves from {_numbers(of.estimate.before)} to {_numbers(of.estimate.after)}"


def _probabilities(before: Any, after: Any) -> str:
    """Write both probabilities of a move, with as many decimals as tell them apart, up to four."""
    first, last = float(before), float(after)
    decimals = min(4, _decimals(last - first, 1))
    return f"from {probability(first, decimals)} to {probability(last, decimals)}"


def _numbers(value: Any, decimals: int | None = None) -> str:
    """Write a number, or several in brackets."""
    parts = np.ravel(value).tolist()
    if np.ndim(value) == 0:
        return number(parts[0], decimals)
    more = ", ..." if len(parts) > _SHOWN else ""
    return f"({', '.join(number(part, decimals) for part in parts[:_SHOWN])}{more})"


def number(value: float, decimals: int | None = None) -> str:
    """Write a number with so many decimals, or with two digits, but at least all before the decimal point.

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
    """Write a number from 0 to 1 with two decimals or more, without the zero before its point.

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
    """Count the decimals that show so many digits."""
    return max(0, digits - 1 - math.floor(math.log10(abs(value)))) if value else 0

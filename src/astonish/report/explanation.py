"""What does the explanation of a trial look like?"""

from typing import TYPE_CHECKING, Any

import numpy as np

from astonish.core.refusal import naming_extra
from astonish.report.sentence import TERMS, number
from astonish.report.style import BLACK, BLUE, GREEN, ORANGE, PURPLE, SKY, STYLE, VERMILLION
from astonish.theory.drawing import BARS, CURVES, Drawing

with naming_extra("a plot needs"):
    import matplotlib as mpl
    import matplotlib.pyplot as plt
    from matplotlib.figure import Figure

if TYPE_CHECKING:
    from astonish.online.explanation import Explanation

_LOOKS = {"before": (BLUE, "-"), "after": (VERMILLION, "--"), "alone": (GREEN, ":")}
_NAMES = {"before": "before", "after": "after", "alone": "scaled likelihood"}
_TERMS = dict(zip(TERMS, (SKY, ORANGE, "0.5", PURPLE, "0.5", PURPLE), strict=True))


def plot_explanation(of: "Explanation") -> Figure:
    """Belief before, scaled likelihood and belief after on the left; on the right the terms of S_cc, if it has any.

    Terms above zero are stacked upwards from zero and those below it downwards; a line marks their sum.
    """
    with mpl.rc_context(STYLE):
        figure, (left, right) = plt.subplots(1, 2, figsize=(7, 3), width_ratios=(3, 1), layout="constrained")
        if of.drawing is None:
            _estimates(left, of)
        else:
            _beliefs(left, of.drawing, of.beliefs is not None and of.beliefs.target is not None)
            if of.place is not None:
                mark = left.axvline if of.drawing.kind == CURVES else left.axhline
                mark(of.place, color=BLACK, lw=0.8, ls="-.", label="sample")
        left.legend(loc="best")
        if of.terms is None:
            right.remove()
        else:
            _stack(right, of.terms, of.confidence_corrected)
        figure.suptitle(f"Sample {of.at + 1}", x=0.01, ha="left")
    return figure


def _beliefs(axes: Any, drawing: Drawing, has_target: bool) -> None:
    rows = {"before": drawing.heights[0], "after": drawing.heights[-2 if has_target else -1]}
    if has_target:
        rows["alone"] = drawing.heights[-1]
    for place, (name, heights) in enumerate(rows.items()):
        color, dash = _LOOKS[name]
        if drawing.kind == CURVES:
            axes.plot(drawing.at, heights, color=color, ls=dash, label=_NAMES[name])
        elif drawing.kind == BARS:
            width = 0.8 / len(rows)
            axes.bar(drawing.at + (place - 1) * width, heights, width, color=color, label=_NAMES[name])
        else:
            axes.errorbar(place, heights[0], heights[1], fmt="o", color=color, label=_NAMES[name])
    words = {CURVES: ("parameter", "density"), BARS: ("", "probability" if drawing.probabilities else "mean")}
    label, height = words.get(drawing.kind, ("", "mean and standard deviation"))
    axes.set(xlabel=label, ylabel=height)


def _estimates(axes: Any, of: "Explanation") -> None:
    """Of a learner without a belief: its estimate before and after, and the sample."""
    for place, (name, estimate) in enumerate(zip(("before", "after"), of.estimate[:2], strict=True)):
        values = np.ravel(estimate)
        axes.plot(np.arange(len(values)) + 0.1 * place, values, "o", color=_LOOKS[name][0], label=f"estimate {name}")
    if of.place is not None:
        axes.axhline(of.place, color=BLACK, lw=0.8, ls="-.", label="sample")
    axes.set(ylabel="estimate", xticks=[])


def _stack(axes: Any, terms: Any, total: float | None) -> None:
    ends = {True: 0.0, False: 0.0}
    for name, value in terms.items():
        label = f"{TERMS[name]} {number(value)}"
        axes.bar(0.0, value, 0.8, bottom=ends[value >= 0], color=_TERMS[name], label=label)
        ends[value >= 0] += value
    axes.axhline(total, color=BLACK, lw=1.2, label=f"S_cc {number(total or 0.0)}")
    axes.set(xticks=[], ylabel="nats", xlim=(-0.6, 0.6))
    axes.legend(loc="upper left", bbox_to_anchor=(0.0, -0.05), fontsize=7)

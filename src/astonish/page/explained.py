"""How is the explanation of a trial sent to the page?"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from astonish.core.special import difference
from astonish.online.explanation import STAGES, Explanation
from astonish.page.controls import Json, json_number, packed
from astonish.report.views import TERMS, number
from astonish.theory.drawing import BARS, CURVES, POINTS, Drawing


def explained(of: Explanation, length: int, names: Sequence[str] = ()) -> Json:
    """An explanation for the page. length: how many samples there are. names: what bars stand for; else their numbers.

    path: how the belief, or else the estimate, goes from before to after. alone: what an observer believes who knows
    this sample alone. Points are pairs of a mean and a standard deviation, which is NaN where it is not known.
    """
    drawing = of.drawing
    has_target = of.beliefs is not None and of.beliefs.target is not None
    drawn = _estimates(of) if drawing is None else _beliefs(drawing)
    bars = len(drawn["heights"][0]) if drawn["kind"] == BARS else 0
    path, alone = (drawn["heights"][:-1], drawn["heights"][-1]) if has_target else (drawn["heights"], None)
    return {
        "at": of.at,
        "length": length,
        "sentence": of.sentence,
        "kind": drawn["kind"],
        "label": drawn["label"],
        "x": drawn.get("x") or [str(name) for name in (names or range(1, bars + 1))],
        "path": packed(path),
        "alone": None if alone is None else packed(alone),
        "alone_label": "reference after this sample alone" if of.learner.reference is not None else "",
        "observation": None if of.place is None else json_number(of.place),
        **stack(of),
    }


def stack(of: Explanation) -> Json:
    """The terms of the confidence-corrected surprise, with their names and numbers; None where it is not defined."""
    if of.terms is None or of.confidence_corrected is None:
        return {"terms": None, "total": None}
    terms = [
        {"name": f"{TERMS[name]}: {number(value)}", "value": json_number(value)} for name, value in of.terms.items()
    ]
    total = of.confidence_corrected
    return {"terms": terms, "total": {"name": f"S_cc: {number(total)} nats", "value": json_number(total)}}


def _beliefs(drawing: Drawing) -> dict[str, Any]:
    labels = {CURVES: "density", BARS: "probability" if drawing.probabilities else "mean", POINTS: "mean"}
    x = packed(drawing.at) if drawing.kind == CURVES else None
    return {"kind": drawing.kind, "label": labels[drawing.kind], "x": x, "heights": drawing.heights}


def _estimates(of: Explanation) -> dict[str, Any]:
    """Of a learner without a belief: its estimate, on the straight way from before to after."""
    before, after = np.asarray(of.estimate.before), np.asarray(of.estimate.after)
    shares = np.linspace(0.0, 1.0, STAGES)
    way = before + shares.reshape(-1, *[1] * before.ndim) * difference(after, before, of.learner.period)
    if way.ndim > 1:
        return {"kind": BARS, "label": "estimate", "heights": way.reshape(STAGES, -1)}
    widths = np.full(STAGES, np.nan)
    if of.uncertainty is not None:
        widths = of.uncertainty.before + shares * (of.uncertainty.after - of.uncertainty.before)
    return {"kind": POINTS, "label": "estimate", "heights": np.stack([way, widths], axis=1)}

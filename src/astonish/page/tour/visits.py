"""Screen 8, Fig. 8: where is SMiLe better than naive Bayes after a switch, and where is it not?"""

from collections.abc import Mapping
from functools import cache
from typing import Any, ClassVar

import numpy as np

from astonish.page.controls import Json, Values
from astonish.page.tour.screen import STEPS, WALKS, Options, Screen, Shown, Words, mark, with_band

TAU = 100  # the average stay in A
SHARES = ("0.05", "0.25", "0.45", "0.65", "0.85", "0.95")  # some of those of the figure


class VisitsScreen(Screen):
    """The error 64 steps after a switch to A, of three learners, against how often A is visited."""

    name = "visits"
    title = "Where not to adapt is better"
    idea = (
        "64 steps after a switch to arrangement A: how well is A known? Naive Bayes learns the average of both "
        "arrangements, so it knows A well only if the agent is there most of the time. SMiLe learns A again each time."
    )
    claims = (
        "SMiLe adapts to the environment visited after a switch",
        "The error of naive Bayes is set by the share of time spent in A",
    )
    hint = "Let the agent spend nearly all of its time in A: the average of both arrangements is then close to A."
    breaking: ClassVar[Mapping[str, Any]] = {"psi": "0.95"}
    choices: ClassVar[Mapping[str, Options]] = {
        "psi": Options("share of time spent in A (psi)", {share: share for share in SHARES}, "0.05")
    }

    def show(self, at: Values, chosen: Words) -> Shown:
        from astonish.paper.claims import interval, verdict

        errors, psi = _errors(), float(chosen["psi"])
        at_psi = {name: each[SHARES.index(chosen["psi"])] for name, each in errors.items()}
        gap = interval(at_psi["naive Bayes"] - at_psi["SMiLe"])
        means = {name: float(np.nanmean(each)) for name, each in at_psi.items()}
        return Shown(_found(psi, means, gap), verdict([gap.low > 0]), [_curves(errors, psi)], _script())


@cache
def _errors() -> dict[str, Any]:
    """The error of each learner, for each share of time (rows) and walk; NaN if a walk has no such switch."""
    from astonish.paper.figure8 import LEARNERS, simulate

    cells = [[[TAU, float(psi), walk] for walk in range(WALKS)] for psi in SHARES]
    found = [simulate([{"seed": 1, "steps": STEPS, "cells": some}])[0]["error"] for some in cells]
    return {name: np.stack([each[k] for each in found]) for k, name in enumerate(LEARNERS)}


def _found(psi: float, means: dict[str, float], gap: Any) -> str:
    values = ", ".join(f"{name} {mean:.2g}" for name, mean in means.items())
    start = (
        f"If the agent spends {psi:.0%} of its time in A, the mean errors in {WALKS} walks of {STEPS} steps are "
        f"{values}. The error of naive Bayes minus that of SMiLe is {gap}"
    )
    if gap.low > 0:
        return f"{start}: SMiLe is better."
    return f"{start}: naive Bayes is better." if gap.high < 0 else f"{start}: there is no telling which is better."


def _curves(errors: dict[str, Any], psi: float) -> Json:
    from astonish.paper.claims import interval
    from astonish.paper.figure8 import LATER

    marks = []
    for look, (name, each) in enumerate(errors.items()):
        marks += with_band(name, look, [float(share) for share in SHARES], [interval(row) for row in each])
    marks.append(mark("rules", "chosen share", x=[psi], dash="dot", width=2))
    axis = {"label": "share of time spent in A", "range": [0, 1]}
    return {"label": f"error {LATER} steps after a switch to A", "zero": True, "x": axis, "marks": marks}


def _script() -> list[str]:
    return [
        "from astonish.paper.claims import interval",
        "from astonish.paper.figure8 import LEARNERS, simulate",
        "",
        f"for psi in {[float(share) for share in SHARES]}:",
        f"    cells = [[{TAU}, psi, walk] for walk in range({WALKS})]",
        f'    errors = simulate([{{"seed": 1, "steps": {STEPS}, "cells": cells}}])[0]["error"]',
        "    for name, walks in zip(LEARNERS, errors):",
        '        print(f"psi = {psi:g}, {name}: error {interval(walks)}")',
    ]

"""Screen 5, Fig. 3: does SMiLe follow a mean that jumps better than any fixed learning rate does?"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, ClassVar, NamedTuple

import jax
import numpy as np

from astonish.core.domain import Domain, FloatArray
from astonish.page.controls import Json, Slider, Values
from astonish.page.tour.screen import Options, Screen, Shown, Words, mark, with_band
from astonish.worlds.gaussian_jumps import Episode

STEPS = 120  # of the one episode that is drawn


class Scores(NamedTuple):
    """Errors in each of 50 episodes: fixed, of each rate (rows), and of SMiLe. estimate: SMiLe's in the first one."""

    task: Episode
    estimate: FloatArray
    fixed: dict[str, FloatArray]
    smile: dict[str, FloatArray]


class JumpsScreen(Screen):
    """SMiLe and all fixed learning rates in a Gaussian world."""

    name = "jumps"
    title = "Better than every fixed learning rate?"
    idea = (
        "Samples scatter around a mean that jumps. A fixed learning rate is too slow after a jump, or too restless "
        "between jumps. SMiLe learns fast when it is surprised, and does not know how often the mean jumps."
    )
    claims = ("SMiLe makes smaller errors than the best fixed rate",)
    hint = "Let the mean jump rarely (hazard 0.01), and measure the absolute error: the best fixed rate then wins."
    breaking: ClassVar[Mapping[str, Any]] = {"hazard": 0.01, "error": "absolute"}
    columns = 2
    sliders: ClassVar[Mapping[str, Slider]] = {
        "hazard": Slider("hazard: probability of a jump before each sample", Domain(0.002, 0.5), 0.066, log=True)
    }
    choices: ClassVar[Mapping[str, Options]] = {
        "error": Options("error", {"squared": "mean squared error", "absolute": "mean absolute error"}, "squared")
    }

    def show(self, at: Values, chosen: Words) -> Shown:
        from astonish.paper.claims import Interval, interval, verdict
        from astonish.paper.figure3 import RATES

        hazard, error = at["hazard"], chosen["error"]
        scores = _scores(hazard)
        fixed, ours = scores.fixed[error], scores.smile[error]
        best = int(fixed.mean(axis=1).argmin())
        saved = interval(fixed[best] - ours)
        bands: list[Interval] = [interval(each) for each in fixed]
        return Shown(
            _found(hazard, error, float(RATES[best]), interval(ours), saved),
            verdict([saved.low > 0]),
            [_episode(scores), _errors(error, bands, interval(ours))],
            _script(hazard, error),
        )


@lru_cache(maxsize=8)
def _scores(hazard: float) -> Scores:
    from astonish.paper.figure import RunSettings
    from astonish.paper.figure3 import RATES, episodes, follow, scores_of, scores_of_fixed, smile

    task = episodes(RunSettings(), hazard)
    trace = follow(smile(), task)
    fixed = jax.device_get(scores_of_fixed(RATES, task))
    return Scores(task, trace.estimate[0], fixed, scores_of(trace.estimate, task))


def _found(hazard: float, error: str, rate: float, ours: Any, saved: Any) -> str:
    start = (
        f"At a hazard of {hazard:g}, over 50 random seeds, SMiLe's mean {error} error is {ours} (95 % interval). The "
        f"error of the best fixed rate, {rate:.2f}, minus that of SMiLe is {saved}"
    )
    if saved.low > 0:
        return f"{start}: SMiLe is better."
    return (
        f"{start}: the best fixed rate is better."
        if saved.high < 0
        else f"{start}: there is no telling which is better."
    )


def _episode(scores: Scores) -> Json:
    x = np.arange(1.0, STEPS + 1)
    marks = [
        mark("dots", "samples", x=x, y=scores.task.samples[0, :STEPS], size=3, colour="quiet", opacity=0.7),
        mark("step", "true mean", x=x, y=scores.task.truth[0, :STEPS], colour="text", width=1.5),
        mark("line", "SMiLe", 0, x=x, y=scores.estimate[:STEPS], width=2.5),
    ]
    return {"label": "value", "x": {"label": "sample, first of 50 episodes"}, "marks": marks}


def _errors(error: str, bands: list[Any], ours: Any) -> Json:
    from astonish.paper.figure3 import RATES

    rates, some = RATES[1:], bands[1:]  # at a rate of 0 nothing is learned
    marks = [*with_band("fixed rate", 1, rates, some), *with_band("SMiLe", 0, rates[[0, -1]], [ours, ours])]
    most = 1.15 * max(some[-1].high, ours.high)
    axis = {"label": "fixed learning rate", "range": [0, 1]}
    return {"label": f"mean {error} error", "range": [0, most], "x": axis, "marks": marks}


def _script(hazard: float, error: str) -> list[str]:
    return [
        "from astonish.paper.claims import interval",
        "from astonish.paper.figure import RunSettings",
        "from astonish.paper.figure3 import RATES, episodes, follow, scores_of, scores_of_fixed, smile",
        "from astonish.core.precision import double",
        "",
        "with double():",
        f"    task = episodes(RunSettings(), {hazard!r})  # 50 of 1000 samples",
        f"    ours = scores_of(follow(smile(), task).estimate, task)[{error!r}]",
        f"    fixed = scores_of_fixed(RATES, task)[{error!r}]  # a row for each rate",
        "    best = fixed.mean(axis=1).argmin()",
        f'    print(f"SMiLe: mean {error} error {{interval(ours)}}")',
        '    print(f"best fixed rate {RATES[best]:g}, its error minus that of SMiLe {interval(fixed[best] - ours)}")',
    ]

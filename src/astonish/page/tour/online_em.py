"""Screen 7, Fig. 7: is a learner that knows how the world is built better than one that is only surprised?"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, ClassVar, NamedTuple

import numpy as np

from astonish.core.domain import Domain, declared
from astonish.learners import Smile
from astonish.page.controls import Json, Slider, Values, slider_for
from astonish.page.tour.screen import STEPS, WALKS, Screen, Shown, Words, mark, walks, with_band

BIN = 200  # steps over which the curves are averaged


class Errors(NamedTuple):
    """Of each walk: the error in the current environment, step by step, and the first step in A at which it is small.

    A walk in which it never is small counts as infinite.
    """

    each: Any
    first: Any


class OnlineEMScreen(Screen):
    """SMiLe against online EM, which knows that there are two environments."""

    name = "online-em"
    title = "Against a learner that knows more"
    idea = (
        "Online EM knows that there are two arrangements of the rooms, and learns both. SMiLe knows nothing of the "
        "kind. It learns faster at first; online EM is more accurate in the end. In the paper, online EM waits for "
        "2000 steps before it starts to learn."
    )
    claims = ("In the early phase SMiLe learns faster", "Online EM takes ten times longer than SMiLe")
    hint = "Let online EM learn from the first step on: most of its delay was the wait."
    breaking: ClassVar[Mapping[str, Any]] = {"frozen": 0}
    sliders: ClassVar[Mapping[str, Slider]] = {
        "frozen": Slider("steps in which online EM only collects statistics", Domain(0, 4000, whole=True), 2000),
        "m": slider_for("m", declared(Smile)["m"]),
    }

    def show(self, at: Values, chosen: Words) -> Shown:
        from astonish.paper.claims import interval, verdict
        from astonish.paper.sweeps import FROZEN

        ours, em, frozen = _of_smile(at["m"]), _of_online_em(int(at["frozen"])), at["frozen"] >= FROZEN
        slower = interval(em.each[:, :FROZEN].mean(1) - ours.each[:, :FROZEN].mean(1))
        return Shown(
            _found(ours, em, slower),
            verdict([slower.low > 0, frozen]),
            [_curves({"SMiLe": ours, "online EM": em})],
            _script(at["m"], int(at["frozen"])),
        )


@lru_cache(maxsize=8)
def _of_smile(m: float) -> Errors:
    from astonish.paper.agents import errors, smile

    return _errors(errors(smile(m), walks()))


@lru_cache(maxsize=8)
def _of_online_em(frozen: int) -> Errors:
    from astonish.paper.agents import OURS, errors_of_em_on_device

    found = errors_of_em_on_device(walks(), 1, OURS._replace(frozen=frozen))
    return _errors(np.asarray(found))


def _errors(errors: Any) -> Errors:
    from astonish.paper.agents import current
    from astonish.paper.sweeps import summary

    where = walks()
    return Errors(current(where.walk.environment, errors), summary(where, errors).first_in_a.fillna(np.inf))


def _found(ours: Errors, em: Errors, slower: Any) -> str:
    from astonish.paper.sweeps import ACCURATE, FROZEN

    start = (
        f"In the first {FROZEN} of {STEPS} steps, in {WALKS} walks, the error of online EM minus SMiLe's is {slower}"
    )
    who = (
        "SMiLe learns faster"
        if slower.low > 0
        else "online EM learns faster"
        if slower.high < 0
        else "neither is faster"
    )
    soon = "; ".join(f"{name} {_when(each.first)}" for name, each in (("SMiLe", ours), ("online EM", em)))
    return f"{start}: {who}. An error in A below {ACCURATE:g} is reached by {soon}."


def _when(first: Any) -> str:
    """In how many walks it is, and when in the median one."""
    middle, reached = float(np.median(first)), int(np.isfinite(first).sum())
    after = f" (median: step {middle:.0f})" if np.isfinite(middle) else ""
    return f"in {reached} of {len(first)} walks{after}"


def _curves(learners: dict[str, Errors]) -> Json:
    from astonish.paper.claims import interval
    from astonish.paper.sweeps import ACCURATE

    x, marks = np.arange(BIN / 2, STEPS, BIN), []
    for look, (name, found) in enumerate(learners.items()):
        binned = found.each.reshape(WALKS, -1, BIN).mean(2)
        marks += with_band(name, look, x, [interval(each) for each in binned.T])
    level = np.full(2, ACCURATE)
    marks.append(
        mark("line", f"{ACCURATE:g}", x=np.array([0.0, STEPS]), y=level, colour="quiet", dash="dot", width=1.5)
    )
    axis = {"label": "step", "range": [0, STEPS]}
    return {"label": "error in the current arrangement", "zero": True, "x": axis, "marks": marks}


def _script(m: float, frozen: int) -> list[str]:
    return [
        "import numpy as np",
        "from astonish.paper.agents import OURS, MazeWalks, current, errors, errors_of_em_on_device, smile",
        "from astonish.paper.claims import interval",
        "from astonish.worlds.maze import A, B, maze, walk",
        "",
        f"walks = walk(maze(A, B), {STEPS}, [[1, k] for k in range({WALKS})])",
        f"where = MazeWalks(walks, np.stack([maze(A, B).transitions] * {WALKS}))",
        f"ours = current(walks.environment, errors(smile({m!r}), where))",
        f"found = errors_of_em_on_device(where, 1, OURS._replace(frozen={frozen}))",
        "em = current(walks.environment, np.asarray(found))",
        'print(f"first 2000 steps: online EM minus SMiLe {interval((em - ours)[:, :2000].mean(1))}")',
        'print(f"last 2000 steps: online EM minus SMiLe {interval((em - ours)[:, -2000:].mean(1))}")',
    ]

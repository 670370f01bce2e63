"""Screen 6, Fig. 5: what happens in the learner when the rooms of a maze are rearranged?"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, ClassVar

from astonish.core.domain import declared
from astonish.learners import Smile
from astonish.page.controls import Json, Slider, Values, slider_for
from astonish.page.tour.screen import STEPS, WALKS, Screen, Shown, Words, mark, walks, with_band


class SwitchScreen(Screen):
    """Surprise and error around the switches of ten walks."""

    name = "switch"
    title = "When the world changes, surprise rises"
    idea = (
        "An agent walks through sixteen rooms and learns which room follows which. Now and then the rooms are "
        "rearranged. Nobody tells the agent: it is surprised, gives new steps more weight, and learns the rooms again."
    )
    claims = ("The error in the new environment falls quickly", "Surprise rises when the environment switches")
    hint = "Make the agent reluctant to change its mind (m = 0.001): it is surprised, and hardly learns."
    breaking: ClassVar[Mapping[str, Any]] = {"m": 0.001}
    sliders: ClassVar[Mapping[str, Slider]] = {"m": slider_for("m", declared(Smile)["m"])}

    def show(self, at: Values, chosen: Words) -> Shown:
        from astonish.paper.claims import interval, verdict

        table = _around(at["m"])
        rise = interval(_window(table, "surprise", 0, 20) - _window(table, "surprise", -50, 0))
        first, later = (_window(table, "error", *steps) for steps in ((0, 10), (60, 70)))
        left = interval(later / first)
        return Shown(
            _found(rise, left, interval(first), interval(later)),
            verdict([left.high < 0.5]),
            [_panel(table, "surprise", "surprise (nats)"), _panel(table, "error", "error", naive=True)],
            _script(at["m"]),
        )


@lru_cache(maxsize=8)
def _around(m: float) -> Any:
    """The signals of SMiLe around the switches of each walk."""
    from astonish.paper.agents import current, errors, naive, signals_of, smile
    from astonish.paper.figure5 import around_switches

    where = walks()
    control = current(where.walk.environment, errors(naive(), where))
    return around_switches(where.walk, signals_of(smile(m), where), control)


def _window(table: Any, signal: str, first: int, last: int) -> Any:
    """The mean of a signal over some steps from a switch on, in each walk."""
    return table[table.offset.between(first, last - 1)].groupby("episode")[signal].mean().to_numpy()


def _found(rise: Any, left: Any, first: Any, later: Any) -> str:
    change = f"rises by {rise} nats" if rise.low > 1e-9 else "does not rise"
    start = (
        f"In {WALKS} walks of {STEPS} steps, surprise {change} in the first 20 steps after a switch. The error falls "
        f"from {first.mean:.3g} at the switch to {later.mean:.3g} after 60 to 70 steps: {left.mean:.0%} of it is left"
    )
    return f"{start}." if left.high < 0.5 else f"{start}, so that it has not fallen by half."


def _panel(table: Any, signal: str, label: str, naive: bool = False) -> Json:
    from astonish.paper.claims import interval

    groups = table.groupby("offset")
    bands = {offset: interval(values) for offset, values in groups[signal]}
    marks = with_band("SMiLe", 0, list(bands), list(bands.values()))
    if naive:
        means = groups["naive"].mean()
        line = mark("line", "naive Bayes", 6, x=means.index.to_numpy(float), y=means.to_numpy(float), dash="dash")
        marks.append({**line, "width": 2})
    marks.append(mark("rules", "switch", x=[0]))
    axis = {} if signal == "surprise" else {"x": {"label": "steps since the switch"}}
    return {"label": label, "zero": naive, "marks": marks, **axis}


def _script(m: float) -> list[str]:
    return [
        "import numpy as np",
        "from astonish.paper.agents import MazeWalks, current, errors, naive, signals_of, smile",
        "from astonish.paper.figure5 import around_switches",
        "from astonish.worlds.maze import A, B, maze, walk",
        "",
        f"walks = walk(maze(A, B), {STEPS}, [[1, k] for k in range({WALKS})])",
        f"where = MazeWalks(walks, np.stack([maze(A, B).transitions] * {WALKS}))",
        "control = current(walks.environment, errors(naive(), where))",
        f"table = around_switches(walks, signals_of(smile({m!r}), where), control)",
        'means = table.groupby("offset")[["surprise", "error", "naive"]].mean()',
        "print(means.loc[[-1, 0, 10, 65, 149]])",
    ]

"""Screens 5 to 8 of the tour: the simulations of Figures 3, 5, 7 and 8, in which worlds change."""

from functools import cache, lru_cache
from typing import Any, NamedTuple

import jax
import numpy as np

from astonish.core.domain import Domain, FloatArray, declared
from astonish.learners import Smile
from astonish.page.controls import Slider, Values, slider_for
from astonish.page.tour.screen import Options, Screen, Shown, Words, mark, panel, with_band
from astonish.paper import figure3, figure8, maze_learners as agents
from astonish.paper.figure import RunSettings, interval, verdict
from astonish.paper.figure5 import around_switches
from astonish.paper.maze_learners import ACCURATE, FROZEN, summary
from astonish.worlds.gaussian_jumps import Episode
from astonish.worlds.maze import A, B, maze, walk

WALKS, STEPS = 10, 6000  # of every screen about the maze, so that they share what is compiled
READINESS = slider_for("m", declared(Smile)["m"])


def _better(difference: Any, better: str, worse: str, neither: str) -> str:
    """Choose what to say of an interval that is above 0, below it, or about it."""
    return better if difference.low > 0 else worse if difference.high < 0 else neither


@cache
def walks() -> agents.MazeWalks:
    """Walk through the paper's maze."""
    rooms = maze(A, B)
    walked = walk(rooms, STEPS, [[1, k] for k in range(WALKS)])
    return agents.MazeWalks(walked, np.stack([rooms.transitions] * WALKS))


# ---- 5, Fig. 3: does SMiLe follow a mean that jumps better than any fixed learning rate does?

DRAWN = 120  # steps of the one episode that is drawn


class Scores(NamedTuple):
    """Errors in each of 50 episodes: fixed, of each rate (rows), and of SMiLe. estimate: SMiLe's in the first one."""

    task: Episode
    estimate: FloatArray
    fixed: dict[str, FloatArray]
    smile: dict[str, FloatArray]


@lru_cache(maxsize=8)
def scores(hazard: float) -> Scores:
    """Score SMiLe and all fixed learning rates in a Gaussian world."""
    task = figure3.episodes(RunSettings(), hazard)
    trace = figure3.follow(figure3.smile(), task)
    fixed = jax.device_get(figure3.scores_of_fixed(figure3.RATES, task))
    return Scores(task, trace.estimate[0], fixed, figure3.scores_of(trace.estimate, task))


def _jumps(at: Values, chosen: Words) -> Shown:
    hazard, error, rates = at["hazard"], chosen["error"], figure3.RATES
    task, estimate, errors_of_fixed, errors_of_smile = scores(hazard)
    fixed, ours = errors_of_fixed[error], interval(errors_of_smile[error])
    best = int(fixed.mean(axis=1).argmin())
    saved = interval(fixed[best] - errors_of_smile[error])
    bands = [interval(errors) for errors in fixed[1:]]  # at a rate of 0 nothing is learned
    winner = _better(saved, "SMiLe is better", "the best fixed rate is better", "there is no telling which is better")
    found = (
        f"At a hazard of {hazard:g}, over 50 random seeds, SMiLe's mean {error} error is {ours} (95 % interval). The "
        f"error of the best fixed rate, {rates[best]:.2f}, minus that of SMiLe is {saved}: {winner}."
    )
    x = np.arange(1.0, DRAWN + 1)
    episode = [
        mark("dots", "samples", x=x, y=task.samples[0, :DRAWN], size=3, colour="quiet", opacity=0.7),
        mark("step", "true mean", x=x, y=task.truth[0, :DRAWN], colour="text", width=1.5),
        mark("line", "SMiLe", 0, x=x, y=estimate[:DRAWN], width=2.5),
    ]
    errors = [*with_band("fixed rate", 1, rates[1:], bands), *with_band("SMiLe", 0, rates[[1, -1]], [ours, ours])]
    most = 1.15 * max(bands[-1].high, ours.high)
    panels = [
        panel("value", episode, "sample, first of 50 episodes"),
        panel(f"mean {error} error", errors, "fixed learning rate", 1, range=[0, most]),
    ]
    script = f"""
        from astonish.paper.figure import interval
        from astonish.paper.figure import RunSettings
        from astonish.paper.figure3 import RATES, episodes, follow, scores_of, scores_of_fixed, smile
        from astonish.core.precision import double

        with double():
            task = episodes(RunSettings(), {hazard!r})  # 50 of 1000 samples
            ours = scores_of(follow(smile(), task).estimate, task)[{error!r}]
            fixed = scores_of_fixed(RATES, task)[{error!r}]  # a row for each rate
            best = fixed.mean(axis=1).argmin()
            print(f"SMiLe: mean {error} error {{interval(ours)}}")
            print(f"best fixed rate {{RATES[best]:g}}, its error minus that of SMiLe {{interval(fixed[best] - ours)}}")
        """
    return Shown(found, verdict([saved.low > 0]), panels, script)


JUMPS = Screen(
    name="jumps",
    title="Better than every fixed learning rate?",
    idea=(
        "Samples scatter around a mean that jumps. A fixed learning rate is too slow after a jump, or too restless "
        "between jumps. SMiLe learns fast when it is surprised, and does not know how often the mean jumps."
    ),
    claims=("jumps.best-rate",),
    show=_jumps,
    hint="Let the mean jump rarely (hazard 0.01), and measure the absolute error: the best fixed rate then wins.",
    breaking={"hazard": 0.01, "error": "absolute"},
    columns=2,
    sliders={"hazard": Slider("hazard: probability of a jump before each sample", Domain(0.002, 0.5), 0.066, log=True)},
    choices={
        "error": Options("error", {"squared": "mean squared error", "absolute": "mean absolute error"}, "squared")
    },
)


# ---- 6, Fig. 5: what happens in the learner when the rooms of a maze are rearranged?


@lru_cache(maxsize=8)
def _around(m: float) -> Any:
    """The signals of SMiLe around the switches of each walk."""
    where = walks()
    control = agents.current(where.walk.environment, agents.errors(agents.naive(), where))
    return around_switches(where.walk, agents.signals_of(agents.smile(m), where), control)


def _switch(at: Values, _: Words) -> Shown:
    table = _around(at["m"])

    def window(signal: str, first: int, last: int) -> Any:
        """The mean of a signal over some steps from a switch on, in each walk."""
        return table[table.offset.between(first, last - 1)].groupby("episode")[signal].mean().to_numpy()

    rise = interval(window("surprise", 0, 20) - window("surprise", -50, 0))
    first, later = window("error", 0, 10), window("error", 60, 70)
    left = interval(later / first)
    change = f"rises by {rise} nats" if rise.low > 1e-9 else "does not rise"
    found = (
        f"In {WALKS} walks of {STEPS} steps, surprise {change} in the first 20 steps after a switch. The error falls "
        f"from {interval(first).mean:.3g} at the switch to {interval(later).mean:.3g} after 60 to 70 steps: "
        f"{left.mean:.0%} of it is left"
    )
    found += "." if left.high < 0.5 else ", so that it has not fallen by half."
    by_offset, switch, lines = table.groupby("offset"), mark("rules", "switch", x=[0]), {}
    for signal in ("surprise", "error"):
        bands = {offset: interval(values) for offset, values in by_offset[signal]}
        lines[signal] = with_band("SMiLe", 0, list(bands), list(bands.values()))
    naive = by_offset["naive"].mean()
    x, y = naive.index.to_numpy(float), naive.to_numpy(float)
    lines["error"].append(mark("line", "naive Bayes", 6, x=x, y=y, dash="dash", width=2))
    panels = [
        panel("surprise (nats)", [*lines["surprise"], switch], zero=False),
        panel("error", [*lines["error"], switch], "steps since the switch", zero=True),
    ]
    script = f"""
        import numpy as np
        from astonish.paper.maze_learners import MazeWalks, current, errors, naive, signals_of, smile
        from astonish.paper.figure5 import around_switches
        from astonish.worlds.maze import A, B, maze, walk

        walks = walk(maze(A, B), {STEPS}, [[1, k] for k in range({WALKS})])
        where = MazeWalks(walks, np.stack([maze(A, B).transitions] * {WALKS}))
        control = current(walks.environment, errors(naive(), where))
        table = around_switches(walks, signals_of(smile({at["m"]!r}), where), control)
        means = table.groupby("offset")[["surprise", "error", "naive"]].mean()
        print(means.loc[[-1, 0, 10, 65, 149]])
        """
    return Shown(found, verdict([left.high < 0.5]), panels, script)


SWITCH = Screen(
    name="switch",
    title="When the world changes, surprise rises",
    idea=(
        "An agent walks through sixteen rooms and learns which room follows which. Now and then the rooms are "
        "rearranged. Nobody tells the agent: it is surprised, gives new steps more weight, and learns the rooms again."
    ),
    claims=("switch.error", "switch.surprise"),
    show=_switch,
    hint="Make the agent reluctant to change its mind (m = 0.001): it is surprised, and hardly learns.",
    breaking={"m": 0.001},
    sliders={"m": READINESS},
)


# ---- 7, Fig. 7: is a learner that knows how the world is built better than one that is only surprised?

BIN = 200  # steps over which the curves are averaged


class Errors(NamedTuple):
    """Of each walk: the error in the current environment, step by step, and the first step in A at which it is small.

    A walk in which it never is small counts as infinite.
    """

    each: Any
    first: Any

    @classmethod
    def of(cls, errors: Any) -> "Errors":
        where = walks()
        first = summary(where, errors).first_in_a.fillna(np.inf)
        return cls(agents.current(where.walk.environment, errors), first)

    def __str__(self) -> str:
        middle, reached = float(np.median(self.first)), int(np.isfinite(self.first).sum())
        after = f" (median: step {middle:.0f})" if np.isfinite(middle) else ""
        return f"in {reached} of {len(self.first)} walks{after}"


@lru_cache(maxsize=8)
def errors_of_smile(m: float) -> Errors:
    """Follow the walks by SMiLe."""
    return Errors.of(agents.errors(agents.smile(m), walks()))


@lru_cache(maxsize=8)
def errors_of_online_em(frozen: int) -> Errors:
    """Follow the walks by online EM, which only collects statistics in the first steps."""
    return Errors.of(np.asarray(agents.errors_of_em_on_device(walks(), 1, agents.OURS._replace(frozen=frozen))))


def _online_em(at: Values, _: Words) -> Shown:
    m, frozen = at["m"], int(at["frozen"])
    errors = {"SMiLe": errors_of_smile(m), "online EM": errors_of_online_em(frozen)}
    ours, em = errors.values()
    slower = interval(em.each[:, :FROZEN].mean(1) - ours.each[:, :FROZEN].mean(1))
    faster = _better(slower, "SMiLe learns faster", "online EM learns faster", "neither is faster")
    found = (
        f"In the first {FROZEN} of {STEPS} steps, in {WALKS} walks, the error of online EM minus SMiLe's is {slower}: "
        f"{faster}. An error in A below {ACCURATE:g} is reached by SMiLe {ours}; online EM {em}."
    )
    marks = []
    for look, (name, errors_of_one) in enumerate(errors.items()):
        binned = errors_of_one.each.reshape(WALKS, -1, BIN).mean(2)
        marks += with_band(name, look, np.arange(BIN / 2, STEPS, BIN), [interval(values) for values in binned.T])
    x, level = np.array([0.0, STEPS]), np.full(2, ACCURATE)
    marks.append(mark("line", f"{ACCURATE:g}", x=x, y=level, colour="quiet", dash="dot", width=1.5))
    picture = panel("error in the current arrangement", marks, "step", STEPS, zero=True)
    script = f"""
        import numpy as np
        from astonish.paper.maze_learners import OURS, MazeWalks, current, errors, errors_of_em_on_device, smile
        from astonish.paper.figure import interval
        from astonish.worlds.maze import A, B, maze, walk

        walks = walk(maze(A, B), {STEPS}, [[1, k] for k in range({WALKS})])
        where = MazeWalks(walks, np.stack([maze(A, B).transitions] * {WALKS}))
        ours = current(walks.environment, errors(smile({m!r}), where))
        found = errors_of_em_on_device(where, 1, OURS._replace(frozen={frozen}))
        em = current(walks.environment, np.asarray(found))
        print(f"first 2000 steps: online EM minus SMiLe {{interval((em - ours)[:, :2000].mean(1))}}")
        print(f"last 2000 steps: online EM minus SMiLe {{interval((em - ours)[:, -2000:].mean(1))}}")
        """
    return Shown(found, verdict([slower.low > 0, frozen >= FROZEN]), [picture], script)


ONLINE_EM = Screen(
    name="online-em",
    title="Against a learner that knows more",
    idea=(
        "Online EM knows that there are two arrangements of the rooms, and learns both. SMiLe knows nothing of the "
        "kind. It learns faster at first; online EM is more accurate in the end. In the paper, online EM waits for "
        "2000 steps before it starts to learn."
    ),
    claims=("em.early", "speed.ten-times"),
    show=_online_em,
    hint="Let online EM learn from the first step on: most of its delay was the wait.",
    breaking={"frozen": 0},
    sliders={
        "frozen": Slider("steps in which online EM only collects statistics", Domain(0, 4000, whole=True), 2000),
        "m": READINESS,
    },
)


# ---- 8, Fig. 8: where is SMiLe better than naive Bayes after a switch, and where is it not?

TAU = 100  # the average stay in A
SHARES = ("0.05", "0.25", "0.45", "0.65", "0.85", "0.95")  # some of those of the figure


@cache
def errors_after_switches() -> dict[str, Any]:
    """Compute the error of each learner, for each share of time (rows) and walk; NaN if a walk has no such switch."""
    cells = [[[TAU, float(psi), walk] for walk in range(WALKS)] for psi in SHARES]
    errors = [figure8.simulate([{"seed": 1, "steps": STEPS, "cells": some}])[0]["error"] for some in cells]
    return {name: np.stack([error[k] for error in errors]) for k, name in enumerate(figure8.LEARNERS)}


def _visits(_: Values, chosen: Words) -> Shown:
    errors, psi, shares = errors_after_switches(), float(chosen["psi"]), [float(share) for share in SHARES]
    at_psi = {name: values[SHARES.index(chosen["psi"])] for name, values in errors.items()}
    gap = interval(at_psi["naive Bayes"] - at_psi["SMiLe"])
    means = ", ".join(f"{name} {float(np.nanmean(values)):.2g}" for name, values in at_psi.items())
    winner = _better(gap, "SMiLe is better", "naive Bayes is better", "there is no telling which is better")
    found = (
        f"If the agent spends {psi:.0%} of its time in A, the mean errors in {WALKS} walks of {STEPS} steps are "
        f"{means}. The error of naive Bayes minus that of SMiLe is {gap}: {winner}."
    )
    marks = []
    for look, (name, values) in enumerate(errors.items()):
        marks += with_band(name, look, shares, [interval(row) for row in values])
    marks.append(mark("rules", "chosen share", x=[psi], dash="dot", width=2))
    label = f"error {figure8.LATER} steps after a switch to A"
    picture = panel(label, marks, "share of time spent in A", 1, zero=True)
    script = f"""
        from astonish.paper.figure import interval
        from astonish.paper.figure8 import LEARNERS, simulate

        for psi in {shares}:
            cells = [[{TAU}, psi, walk] for walk in range({WALKS})]
            errors = simulate([{{"seed": 1, "steps": {STEPS}, "cells": cells}}])[0]["error"]
            for name, walks in zip(LEARNERS, errors):
                print(f"psi = {{psi:g}}, {{name}}: error {{interval(walks)}}")
        """
    return Shown(found, verdict([gap.low > 0]), [picture], script)


VISITS = Screen(
    name="visits",
    title="Where not to adapt is better",
    idea=(
        "64 steps after a switch to arrangement A: how well is A known? Naive Bayes learns the average of both "
        "arrangements, so it knows A well only if the agent is there most of the time. SMiLe learns A again each time."
    ),
    claims=("visits.mixture", "visits.naive"),
    show=_visits,
    hint="Let the agent spend nearly all of its time in A: the average of both arrangements is then close to A.",
    breaking={"psi": "0.95"},
    choices={"psi": Options("share of time spent in A (psi)", {share: share for share in SHARES}, "0.05")},
)

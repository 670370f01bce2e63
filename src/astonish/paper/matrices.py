"""Figure 6: which chances of going from room to room has the learner found, 100 steps after a switch?"""

from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
from pandas import DataFrame

from astonish.paper.agents import ROOMS, Floats, Setting, matrices, naive, setting, smile
from astonish.paper.claims import Claim, interval, verdict
from astonish.paper.figure import Figure
from astonish.paper.study import Numbers, Study
from astonish.plot import STYLE
from astonish.tasks.maze import Walk

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

LATER = 100
LEARNERS = {"SMiLe": smile, "naive Bayes": naive}
CAPTION = (
    "Chances of going from each room (row) to each other (column). A, B: the true ones in either environment. C, D: "
    "those found by SMiLe (m = 0.1), averaged over the moments 100 steps after a switch to A (C) or to B (D), if the "
    "environment has stayed the same for so long; one walk of 20000 steps. E, F: likewise for naive Bayes, which "
    "finds nearly the same mixture of both environments either way."
)


def compute(study: Study) -> Numbers:
    """Matrices of one walk, and how far those of several walks are from the truth."""
    return study.tables(FIGURE_6.tables, lambda: _simulate(setting(study, episodes=10)))


def _simulate(where: Setting) -> Numbers:
    shown: list[DataFrame] = [_listed(f"true {e}", where.truth[0, k]) for k, e in enumerate("AB")]
    distances = []
    for episode in range(len(where.truth)):
        walk = where.walk.only(episode)
        mixture = _visit_weighted(walk, where.truth[episode])
        for name, learner in LEARNERS.items():
            found = matrices(learner(), walk)[0]
            for k, environment in enumerate("AB"):
                average = found[after_switches(walk, k, LATER)].mean(0)
                if episode == 0:
                    shown.append(_listed(f"{name} {environment}", average))
                truth = where.truth[episode]
                far = [np.square(average - t).mean() for t in (truth[k], truth[1 - k], truth.mean(0), mixture)]
                distances.append((episode, name, environment, *far))
    columns = ["episode", "learner", "environment", "to_own", "to_other", "to_half", "to_visited"]
    table = DataFrame(np.concatenate(shown), columns=["matrix", "room", "next", "chance"])
    return {
        "figure6_matrices": table.astype({"chance": float}),
        "figure6_distances": DataFrame(distances, columns=columns),
    }


def after_switches(walk: Walk, environment: int, later: int) -> Any:
    """The steps (counted from 0) that come so many after a switch to this environment, without another in between."""
    times = np.flatnonzero(walk.switched[0] & (walk.environment[0] == environment)) + later
    times = times[times < walk.switched.shape[1]]
    switches = np.cumsum(walk.switched[0])
    return times[switches[times] == switches[times - later]]


def _visit_weighted(walk: Walk, truth: Floats) -> Floats:
    """The mixture of environments in which each counts as often as the room was left in it."""
    here = walk.rooms[0, :-1]
    visits = np.stack([np.bincount(here[walk.environment[0] == k], minlength=ROOMS) for k in (0, 1)])
    weight: Floats = visits / visits.sum(0)
    return np.einsum("kr,krn->rn", weight, truth)


def _listed(name: str, matrix: Any) -> Any:
    room, after = np.indices(matrix.shape)
    return DataFrame({"matrix": name, "room": room.ravel() + 1, "next": after.ravel() + 1, "chance": matrix.ravel()})


def claims(numbers: Numbers) -> list[Claim]:
    """Whose matrices they resemble."""
    table = numbers["figure6_distances"].groupby(["learner", "episode"]).mean(numeric_only=True)
    ours, naives = table.loc["SMiLe"], table.loc["naive Bayes"]
    nearer = interval(ours.to_own / ours.to_other)
    half, visited, own = (interval(naives[name]) for name in ("to_half", "to_visited", "to_own"))
    return [
        Claim(
            "Figs. 6C, 6D",
            "100 steps after a switch SMiLe's matrix resembles that of the new environment.",
            "similar by eye",
            f"mean square distance to the new environment {interval(ours.to_own)}, to the other "
            f"{interval(ours.to_other)}",
            verdict([nearer.high < 0.5]),
            f"Averaged over switches, the distance to the new one is {nearer.mean:.0%} of that to the other; counted "
            "as "
            "holding below 50 %.",
        ),
        Claim(
            "Figs. 6E, 6F",
            "Naive Bayes converges to the mixture of both environments, weighted by visits: here the average of both.",
            "(T_A + T_B) / 2",
            f"mean square distance to the average {half}, to the mixture weighted by visits {visited}, to the current "
            f"environment {own}",
            verdict([half.high < 0.1 * own.mean, visited.high < 0.1 * own.mean]),
            "Counted as holding if it is ten times closer to the mixture than to the environment it is in.",
        ),
    ]


def draw(numbers: Numbers) -> "Drawing":
    """Six matrices on one scale."""
    import matplotlib.pyplot as plt

    table = numbers["figure6_matrices"]
    titles = {"true A": "true, A", "SMiLe A": "SMiLe, in A", "naive Bayes A": "naive Bayes, in A",
              "true B": "true, B", "SMiLe B": "SMiLe, in B", "naive Bayes B": "naive Bayes, in B"}  # fmt: skip
    with mpl.rc_context(STYLE | {"axes.spines.top": True, "axes.spines.right": True}):
        figure, axes = plt.subplots(2, 3, figsize=(7, 4.9), sharex=True, sharey=True, layout="constrained")
        for axis, letter, (name, title) in zip(axes.flat, "ACEBDF", titles.items(), strict=True):
            matrix = table[table.matrix == name].pivot(index="room", columns="next", values="chance")
            image = axis.imshow(matrix, vmin=0, vmax=0.27, cmap="cividis", extent=(0.5, 16.5, 16.5, 0.5))
            axis.set_title(letter, loc="left", fontweight="bold")
            axis.set_title(title)
            axis.set(xticks=[1, 6, 11, 16], yticks=[1, 6, 11, 16])
        figure.supxlabel("next room", fontsize=9)
        figure.supylabel("room", fontsize=9)
        figure.colorbar(image, ax=axes, label="chance of the transition", shrink=0.8)
    return figure


FIGURE_6 = Figure(
    "6", "True and found chances", CAPTION, ("figure6_matrices", "figure6_distances"), compute, draw, claims
)  # fmt: skip

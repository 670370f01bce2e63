"""Figure 6: the probabilities of going from room to room that learners believe in, 100 steps after a switch."""

from itertools import product

import matplotlib as mpl
import numpy as np
from pandas import DataFrame

from astonish.paper.figure import Claim, Drawing, Figure, RunSettings, Tables, interval, panels, verdict, wide
from astonish.paper.maze_learners import ROOMS, MazeWalks, after_switches, matrices, naive, smile, walks_of
from astonish.worlds.maze import Walk

LATER = 100
PASSAGES, POTENTIAL = 64, 240
LEARNERS = {"SMiLe": smile, "naive Bayes": naive}
CAPTION = (
    "Probabilities of going from each room (row) to each other (column). A, B: the true ones in either environment. "
    "C, D: those found by SMiLe (m = 0.1), averaged over the moments 100 steps after a switch to A (C) or to B (D), if "
    "the environment has stayed the same for so long; one walk of 20000 steps, and as many switches as the titles say. "
    "E, F: likewise for naive Bayes, which finds nearly the same mixture of both environments either way."
)


def simulate(run: RunSettings, later: int = LATER, where: MazeWalks | None = None) -> Tables:
    """Record matrices of one walk, and how far those of several walks are from the truth."""
    where = where or walks_of(run, episodes=10)
    averages = {f"true {environment}": where.truth[0, k] for k, environment in enumerate("AB")}
    distances, explored = [], []
    for episode, truth in enumerate(where.truth):
        walk = Walk._make(part[episode : episode + 1] for part in where.walk)
        here, there = (part[0] for part in walk.transitions)
        ways = here * ROOMS + there
        read = [after_switches(walk, k, later)[0] for k in (0, 1)]
        for environment, steps in zip("AB", map(np.flatnonzero, read), strict=True):
            seen = (len(set(ways[step - later + 1 : step + 1].tolist())) for step in steps)
            explored += [(episode, environment, step + 1, passages) for step, passages in zip(steps, seen, strict=True)]

        # The mixture of environments in which each counts as often as a room was left in it
        visits = np.stack([np.bincount(here[walk.environment[0] == k], minlength=ROOMS) for k in (0, 1)])
        mixture = np.einsum("kr,krn->rn", visits / visits.sum(0), truth)
        for name, learner in LEARNERS.items():
            believed = matrices(learner(), walk)[0]
            for k, environment in enumerate("AB"):
                average = believed[read[k]].mean(0)
                averages.setdefault(f"{name} {environment}", average)
                far = [np.square(average - t).mean() for t in (truth[k], truth[1 - k], truth.mean(0), mixture)]
                distances.append((episode, name, environment, *far))
    columns = ["episode", "learner", "environment", "to_own", "to_other", "to_half", "to_visited"]
    probabilities = [
        (name, *at, probability) for name, matrix in averages.items() for at, probability in np.ndenumerate(matrix)
    ]
    table = DataFrame(probabilities, columns=["matrix", "room", "next", "probability"])
    return {
        "matrices": table.assign(room=table.room + 1, next=table.next + 1),
        "distances": DataFrame(distances, columns=columns),
        "explored": DataFrame(explored, columns=["episode", "environment", "step", "passages"]),
    }


def claims(tables: Tables) -> list[Claim]:
    """Judge whose matrices they resemble."""
    table = tables["distances"].groupby(["learner", "episode"]).mean(numeric_only=True)
    ours, naives = table.loc["SMiLe"], table.loc["naive Bayes"]
    own, other = ours.to_own, ours.to_other
    nearer = interval(own / other)
    half, visited, current = (interval(naives[name]) for name in ("to_half", "to_visited", "to_own"))
    passages = interval(tables["explored"].groupby("episode").passages.mean())
    expected = PASSAGES * (1 - (1 - 1 / PASSAGES) ** LATER)
    return [
        Claim(
            "matrices.smile",
            "Figs. 6C, 6D",
            "100 steps after a switch SMiLe's matrix resembles that of the new environment.",
            "similar by eye",
            f"mean square distance to the new environment {interval(own)}, to the other {interval(other)}",
            verdict([nearer.high < 0.5]),
            f"Averaged over switches, the distance to the new one is {nearer.mean:.0%} of that to the other; counted "
            "as holding below 50 %.",
        ),
        Claim(
            "matrices.naive",
            "Figs. 6E, 6F",
            "Naive Bayes converges to the mixture of both environments, weighted by visits: here the average of both.",
            "(T_A + T_B) / 2",
            f"mean square distance to the average {half}, to the mixture weighted by visits {visited}, to the current "
            f"environment {current}",
            verdict([half.high < 0.1 * current.mean, visited.high < 0.1 * current.mean]),
            "Counted as holding if it is ten times closer to the mixture than to the environment it is in.",
        ),
        Claim(
            "matrices.explored",
            "section 2.4, maze",
            "100 steps explore only a fraction of the potential transitions.",
            f"of 64 in each environment, and 16 x 15 = {POTENTIAL} in all",
            f"{passages} different ones in 100 steps, which are {passages.mean / POTENTIAL:.0%} of {POTENTIAL}, and "
            f"{passages.mean / PASSAGES:.0%} of the {PASSAGES} that there are",
            verdict([passages.high < 0.5 * POTENTIAL]),
            f"Drawn at random, 100 of {PASSAGES} would show {expected:.1f} different ones. Counted as a fraction below "
            "a half.",
        ),
    ]


def draw(tables: Tables) -> Drawing:
    """Draw six matrices on one scale."""
    table, explored = tables["matrices"], tables["explored"]
    switches = explored[explored.episode == 0].environment.value_counts()
    with mpl.rc_context({"axes.spines.top": True, "axes.spines.right": True}):
        figure, axes = panels(2, 3, (7, 4.9), "ACEBDF", sharex=True, sharey=True)
        for axis, (environment, learner) in zip(axes.flat, product("AB", ("true", *LEARNERS)), strict=True):
            matrix = wide(table[table.matrix == f"{learner} {environment}"], "room", "next", "probability")
            image = axis.imshow(matrix, vmin=0, vmax=0.27, cmap="cividis", extent=(0.5, 16.5, 16.5, 0.5))
            title = f"{learner}, in {environment}\n{switches.get(environment, 0)} switches"
            axis.set_title(f"true, {environment}" if learner == "true" else title, fontsize=8)
            axis.set(xticks=[1, 6, 11, 16], yticks=[1, 6, 11, 16])
        figure.supxlabel("next room", fontsize=9)
        figure.supylabel("room", fontsize=9)
        figure.colorbar(image, ax=axes, label="probability of the transition", shrink=0.8)
    return figure


FIGURE_6 = Figure("6", "True and found probabilities", CAPTION, {"walks": simulate}, draw, claims)

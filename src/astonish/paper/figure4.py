"""Figure 4: the maze, and how long walks stay in an environment."""

from itertools import pairwise, product
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from pandas import DataFrame

from astonish.paper.figure import Claim, Drawing, Figure, RunSettings, Tables, interval, listed, verdict
from astonish.paper.maze_learners import walks_of
from astonish.report.style import BLUE, ORANGE, SKY
from astonish.worlds.maze import A, B, maze

ROOM = 6
DOORS = ("up", "down", "right", "left")
LEAVE, BEYOND = 0.005, (50, 200, 500)
CAPTION = (
    "The maze: the same 16 rooms in two arrangements, each on a torus (a door in an outer wall leads to the opposite "
    "side). In every step one of the four doors of the room opens with probability 1/4. Room 6 (dark) and the rooms it "
    "leads to (light) are marked. Before each step A becomes B with probability P(A to B), and B becomes A with "
    "P(B to A)."
)


def _rooms(_: RunSettings) -> DataFrame:
    """Where each room stands, and where its doors lead."""
    doors = maze(A, B).doors + 1
    rows = [
        (name, row, column, rooms[row, column] + 1, *doors[k, rooms[row, column]])
        for k, (name, rooms) in enumerate((("A", A), ("B", B)))
        for row, column in product(range(4), range(4))
    ]
    return DataFrame(rows, columns=["environment", "row", "column", "room", *DOORS])


def _stays(run: RunSettings) -> DataFrame:
    """How long each stay in an environment lasted that began and ended within a walk; and the share of time in A."""
    walks = walks_of(run).walk
    rows = []
    for episode, (environment, switched) in enumerate(zip(walks.environment, walks.switched, strict=True)):
        starts = np.flatnonzero(switched)
        share = (environment == 0).mean()
        rows += [(episode, "AB"[environment[a]], b - a, share) for a, b in pairwise(starts)]
    return DataFrame(rows, columns=["episode", "environment", "steps", "share_in_a"])


def claims(tables: Tables) -> list[Claim]:
    """Judge the arrangement of the rooms, and how long the walks stay."""
    rooms, stays = tables["rooms"], tables["stays"]
    doors = rooms[list(DOORS)].to_numpy()
    at = rooms.room == ROOM
    near = {name: sorted(doors[at & (rooms.environment == name)][0].tolist()) for name in "AB"}
    passages = [
        len({(r, d) for r, way in zip(part.room, doors[part.index], strict=True) for d in way})
        for _, part in rooms.groupby("environment")
    ]
    # Stays are geometric, which is what exponential is in steps
    lengths = {str(name): part.steps for name, part in stays.groupby("environment")}
    means = {name: interval(steps) for name, steps in lengths.items()}
    last = {name: [float((steps > q).mean()) for q in BEYOND] for name, steps in lengths.items()}
    expected = [float((1 - LEAVE) ** q) for q in BEYOND]
    off = max(np.abs(np.subtract(shares, expected)).max() for shares in last.values())
    share = interval(stays.groupby("episode").share_in_a.first())
    shares_of_stays = "; ".join(f"{name}: {listed(shares, '.3f')}" for name, shares in last.items())
    return [
        Claim(
            "maze.rooms",
            "Fig. 4",
            "Each environment has 64 passages; room 6 leads to other rooms in A than in B.",
            "64; 2, 5, 7, 10 in A; 1, 3, 10, 13 in B",
            f"{passages[0]}; {listed(near['A'])} in A; {listed(near['B'])} in B",
            verdict([len(set(passages)) == 1, near["A"] == [2, 5, 7, 10], near["B"] == [1, 3, 10, 13]]),
            "A is the torus in reading order; of B the paper gives the neighbours of room 6, the rest is our choice.",
        ),
        Claim(
            "maze.stays",
            "Fig. 4, caption",
            "Stays in an environment are exponentially distributed, with a mean of one over the probability of leaving "
            "it; the share of time spent in A is P(B to A) / (P(A to B) + P(B to A)).",
            f"{1 / LEAVE:g} steps on average at {LEAVE:g}; a half",
            f"mean stay in A {means['A']}, in B {means['B']} steps; share of stays longer than {listed(BEYOND, 'd')} "
            f"steps {shares_of_stays}, where the geometric distribution has {listed(expected, '.3f')}; share of time "
            f"in A {share}",
            verdict(
                [
                    all(abs(mean.mean * LEAVE - 1) < 0.1 for mean in means.values()),
                    off < 0.05,
                    abs(share.mean - 0.5) < 0.05,
                ]
            ),
            "In steps the distribution is the geometric one. Counted as holding within a tenth (the mean) and 0.05 "
            "(the shares): stays that a walk cuts short are left out, which shortens the mean by little.",
        ),
    ]


def draw(tables: Tables) -> Drawing:
    """Draw both environments side by side, and the probabilities of a switch between them."""
    figure, axes = plt.subplots(1, 2, figsize=(7, 3.2))
    figure.subplots_adjust(left=0.02, right=0.98, top=0.86, bottom=0.04, wspace=0.55)
    for axis, (name, part) in zip(axes, tables["rooms"].groupby("environment"), strict=True):
        near = set(part[part.room == ROOM].iloc[0][list(DOORS)])
        for row, column, room in part[["row", "column", "room"]].to_numpy().tolist():
            colour = ORANGE if room == ROOM else SKY if room in near else "white"
            axis.add_patch(mpl.patches.Rectangle((column, -row), 1, 1, fc=colour, ec="0.25", lw=1.2))
            axis.text(column + 0.5, -row + 0.5, str(room), ha="center", va="center", fontsize=11)
            for dx, dy in ((0, 0.5), (1, 0.5), (0.5, 0), (0.5, 1)):  # doors: gaps in the walls
                w, h = (0, 0.12) if dy == 0.5 else (0.12, 0)
                x, y = column + dx, -row + dy
                axis.plot([x - w, x + w], [y - h, y + h], lw=3.4, color="white", solid_capstyle="butt", zorder=3)
        axis.set(xlim=(-0.1, 4.1), ylim=(-3.1, 1.1), aspect="equal")
        axis.axis("off")
        axis.set_title(f"environment {name}", fontweight="bold")
    arrow: Any = {"arrowstyle": "-|>", "lw": 1.4, "connectionstyle": "arc3,rad=-0.25", "color": BLUE}
    for (start, end), height, text, up in (
        ((0.415, 0.585), 0.56, r"$P_{A\to B}$", 0.66),
        ((0.585, 0.415), 0.38, r"$P_{B\to A}$", 0.25),
    ):
        axes[0].annotate("", (end, height), (start, height), "figure fraction", "figure fraction", arrow)
        figure.text(0.5, up, text, ha="center", fontsize=11)
    return figure


FIGURE_4 = Figure("4", "The maze", CAPTION, {"rooms": _rooms, "stays": _stays}, draw, claims)

"""Figure 4: what does the maze look like?"""

from itertools import product
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
from pandas import DataFrame

from astonish.paper.claims import Claim, verdict
from astonish.paper.figure import Drawing, Figure, RunSettings, Tables, simulated
from astonish.report.style import BLUE, ORANGE, SKY
from astonish.tasks.maze import A, B, maze

ROOM = 6
CAPTION = (
    "The maze: the same 16 rooms in two arrangements, each on a torus (a door in an outer wall leads to the opposite "
    "side). In every step one of the four doors of the room opens with chance 1/4. Room 6 (dark) and the rooms it "
    "leads to (light) are marked. Before each step A becomes B with chance P(A to B), and B becomes A with P(B to A)."
)


def _rooms(_: RunSettings) -> DataFrame:
    """Where each room stands, and where its doors lead."""
    doors = maze(A, B).doors + 1
    rows = [
        (name, row, column, rooms[row, column] + 1, *doors[k, rooms[row, column]])
        for k, (name, rooms) in enumerate((("A", A), ("B", B)))
        for row, column in product(range(4), range(4))
    ]
    return DataFrame(rows, columns=["environment", "row", "column", "room", "up", "down", "right", "left"])


def claims(tables: Tables) -> list[Claim]:
    """The arrangement of the rooms."""
    table = tables["rooms"]
    doors = table[["up", "down", "right", "left"]].to_numpy()
    at = table.room == ROOM
    found = {name: sorted(doors[at & (table.environment == name)][0].tolist()) for name in "AB"}
    passages = {len({(r, d) for r, way in zip(part.room, doors[part.index], strict=True) for d in way})
                for _, part in table.groupby("environment")}  # fmt: skip
    return [
        Claim(
            "Fig. 4",
            "Each environment has 64 passages; room 6 leads to other rooms in A than in B.",
            "64; 2, 5, 7, 10 in A; 1, 3, 10, 13 in B",
            f"{passages.pop()}; {', '.join(map(str, found['A']))} in A; {', '.join(map(str, found['B']))} in B",
            verdict([not passages, found["A"] == [2, 5, 7, 10], found["B"] == [1, 3, 10, 13]]),
            "A is the torus in reading order; of B the paper gives the neighbours of room 6, the rest is our choice.",
        )
    ]


def draw(tables: Tables) -> Drawing:
    """Both environments side by side, and the chances of a switch between them."""
    table = tables["rooms"]
    figure, axes = plt.subplots(1, 2, figsize=(7, 3.2))
    figure.subplots_adjust(left=0.02, right=0.98, top=0.86, bottom=0.04, wspace=0.55)
    for axis, (name, part) in zip(axes, table.groupby("environment"), strict=True):
        _draw_rooms(axis, part)
        axis.set_title(f"environment {name}", fontweight="bold")
    arrow: Any = {"arrowstyle": "-|>", "lw": 1.4, "connectionstyle": "arc3,rad=-0.25", "color": BLUE}
    for (start, end), height, text, up in (
        ((0.415, 0.585), 0.56, r"$P_{A\to B}$", 0.66),
        ((0.585, 0.415), 0.38, r"$P_{B\to A}$", 0.25),
    ):
        axes[0].annotate("", (end, height), (start, height), "figure fraction", "figure fraction", arrow)
        figure.text(0.5, up, text, ha="center", fontsize=11)
    return figure


def _draw_rooms(axis: Any, part: DataFrame) -> None:
    near = set(part[part.room == ROOM].iloc[0][["up", "down", "right", "left"]])
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


FIGURE_4 = Figure("4", "The maze", CAPTION, simulated({"rooms": _rooms}), draw, claims)

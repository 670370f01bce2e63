"""What does the agreement look like?"""

from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from pandas import DataFrame

from astonish.paper.figure import Drawing, Tables
from astonish.report.style import BLACK, BLUE, GREEN, ORANGE, PURPLE, SKY, STYLE, VERMILLION, YELLOW
from validation.liakoni2021.comparison import FAR

LOOKS = {
    "exact Bayes": (BLACK, "o"),
    "MP10": (SKY, "s"),
    "pf20": (PURPLE, "^"),
    "Nas12*": (GREEN, "v"),
    "Nas10*": (YELLOW, "P"),
    "VarSMiLe": (BLUE, "D"),
    "SMiLe": (VERMILLION, "X"),
    "leaky": (ORANGE, "*"),
}


def draw(tables: Tables) -> Drawing:
    """A: our errors, on series of our own, against theirs; B: how far apart they are, learner by learner."""
    table = tables["comparison"]
    with mpl.rc_context(STYLE):
        figure, (left, right) = plt.subplots(1, 2, figsize=(7, 3.4), layout="constrained")
        _errors(left, table)
        _distances(right, table)
        for letter, panel in zip("AB", (left, right), strict=True):
            panel.set_title(letter, loc="left", fontweight="bold")
    return figure


def _errors(panel: Any, table: DataFrame) -> None:
    ends = np.array([table.theirs.min() / 1.5, table.theirs.max() * 1.5])
    panel.plot(ends, ends, color="0.6", lw=0.8)
    for learner, (colour, marker) in LOOKS.items():
        rows = table[table.learner == learner]
        panel.plot(rows.theirs, rows.ours, marker, ms=4, mew=0.8, mec=colour, mfc="none", label=learner)
    panel.set(xscale="log", yscale="log", xlim=ends, ylim=ends, aspect="equal")
    panel.set(xlabel="published mean squared error", ylabel="our mean squared error")
    panel.legend(fontsize=7, loc="upper left", handletextpad=0.1)


def _distances(panel: Any, table: DataFrame) -> None:
    """For each world a dot, darker the more often its mean changes, and a stroke on the same series as the authors'."""
    hazards = sorted(table.hazard.unique())
    shades = mpl.colormaps["viridis"](np.linspace(0.9, 0.0, len(hazards)))
    for k, (hazard, shade) in enumerate(zip(hazards, shades, strict=True)):
        rows = table[table.hazard == hazard]
        places = rows.learner.map(list(LOOKS).index) + 0.16 * (k - (len(hazards) - 1) / 2)
        panel.plot(rows.z, places, "o", ms=3.5, mew=0, color=shade, label=f"{hazard:g}")
        panel.plot(rows.z_same, places, "|", ms=5, mew=0.8, color=VERMILLION)
    panel.axvspan(-FAR, FAR, color="0.93", zorder=0)
    widest = max(4.0, 1.1 * np.abs(table[["z", "z_same"]].to_numpy()).max())
    panel.set(xlim=(-widest, widest), yticks=range(len(LOOKS)), yticklabels=list(LOOKS), ylim=(len(LOOKS) - 0.4, -0.6))
    panel.set_xlabel("ours minus published (standard errors)")
    panel.legend(title="hazard", fontsize=7, loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=4, handletextpad=0.0)

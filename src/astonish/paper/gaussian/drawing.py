"""What does following a jumping mean look like, and which errors does it leave?"""

from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from pandas import DataFrame

from astonish.paper.gaussian.numbers import BEST, ERRORS, HALF, HAZARDS, NASSAR, SMILE, WIDE
from astonish.paper.study import Numbers
from astonish.plot import BLACK, BLUE, GREEN, ORANGE, PURPLE, SKY, STYLE, VERMILLION

LOOKS = {BEST: (ORANGE, "s-"), HALF: (BLACK, "d:"), SMILE: (BLUE, "o-"), WIDE: (SKY, "x--"), NASSAR: (GREEN, "^-")}
UNITS = {"squared": "units²", "absolute": "units"}


def draw(numbers: Numbers) -> Figure:
    """A and B: one episode; C: fixed rates; D: all learners."""
    import matplotlib.pyplot as plt

    with mpl.rc_context(STYLE):
        figure = plt.figure(figsize=(7, 9), layout="constrained")
        panels = figure.subplot_mosaic(
            [["A", "A"], ["B", "B"], ["C squared", "C absolute"], ["D squared", "D absolute"]],
            height_ratios=(1.5, 0.8, 1.5, 1.5),
        )
        _episode(panels["A"], panels["B"], numbers["figure3_series"])
        for error in ERRORS:
            _fixed(panels[f"C {error}"], numbers["figure3_fixed"], error)
            _errors(panels[f"D {error}"], numbers["figure3_errors"], error)
            for row in "CD":
                panels[f"{row} {error}"].set_ylabel(f"mean {error} error ({UNITS[error]})")
        panels["C absolute"].legend(title="hazard $H$", loc="upper right", ncols=2)
        panels["D absolute"].legend(loc="lower right", fontsize=8)
        for name in ("A", "B", "C squared", "D squared"):
            panels[name].set_title(name[0], loc="left", fontweight="bold")
    return figure


def _episode(top: Any, bottom: Any, series: DataFrame) -> None:
    jumps = series.step[series.changed & (series.step > 1)]
    bottom.sharex(top)
    top.plot(series.step, series["sample"], "o", ms=2.5, color="0.65", label="samples")
    top.step(series.step, series.truth, "--", where="mid", color=VERMILLION, label="true mean")
    top.plot(series.step, series.estimate, color=BLUE, label="SMiLe's estimate")
    top.plot(jumps, np.full(len(jumps), 33.0), "v", ms=4, color=GREEN, label="jump")
    top.set(ylabel="position (units)", ylim=(-36, 36), xlim=(0, len(series) + 1))
    top.tick_params(labelbottom=False)
    top.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=4)
    bottom.plot(series.step, series.gamma, color=PURPLE)
    bottom.plot(jumps, np.full(len(jumps), 1.0), "v", ms=4, color=GREEN)
    bottom.set(ylabel=r"weight $\gamma$", ylim=(0, 1.05), xlabel="time step")


def _fixed(panel: Any, fixed: DataFrame, error: str) -> None:
    shades = mpl.colormaps["viridis"](np.linspace(0.0, 0.85, len(HAZARDS)))
    for k, (shade, hazard) in enumerate(zip(shades, HAZARDS, strict=True)):
        curve = fixed[fixed.hazard == hazard]
        barred = curve.iloc[1 + k :: 5]  # not all at the same rates, so that bars can be told apart
        panel.plot(curve.rate, curve[error], color=shade, label=f"{hazard:g}")
        panel.errorbar(barred.rate, barred[error], barred[f"{error}_std"], fmt="none", ecolor=shade, elinewidth=0.8)
        best = curve.rate.iloc[curve[error].argmin()]
        panel.plot(best, 0.0, "o", ms=5, color=shade, transform=panel.get_xaxis_transform(), clip_on=False, zorder=5)
    panel.set(xlabel=r"fixed rate $\gamma$", xlim=(0, 1), yscale="log")
    panel.yaxis.set_major_locator(mpl.ticker.LogLocator(subs=(1, 2, 5)))
    panel.yaxis.set_major_formatter("{x:g}")
    panel.minorticks_off()


def _errors(panel: Any, errors: DataFrame, error: str) -> None:
    for k, (learner, (colour, look)) in enumerate(LOOKS.items()):
        of_learner = errors[errors.learner == learner].groupby("hazard")[error]
        mean, std = of_learner.mean(), of_learner.std()
        shifted = mean.index + 0.001 * (k - 2)
        panel.errorbar(shifted, mean, std, fmt=look, ms=4, color=colour, elinewidth=0.8, label=learner)
    panel.set(xlabel="hazard $H$ (jumps per step)", xticks=HAZARDS, ylim=(0, None))

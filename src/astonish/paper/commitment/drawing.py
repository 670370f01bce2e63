"""What do two models look like that predict the same, and how does surprise fall on the way to a sample?"""

from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from pandas import DataFrame

from astonish.paper.commitment.numbers import SHOWN
from astonish.paper.examples.numbers import wide
from astonish.paper.study import Numbers
from astonish.plot import BLUE, GREEN, PURPLE, STYLE, VERMILLION

COLOURS = {"committed": BLUE, "open": VERMILLION}


def draw(numbers: Numbers) -> Figure:
    """The pair of models on the left; the way to the sample, and a pair of normal models, on the right."""
    import matplotlib.pyplot as plt

    with mpl.rc_context(STYLE):
        figure = plt.figure(figsize=(7.2, 4.8), layout="constrained")
        parts: Any = figure.subfigures(1, 2, width_ratios=(1.25, 1))
        _pair(parts[0], numbers)
        upper, lower = parts[1].subplots(2, 1)
        _landscape(upper, numbers["figure2_landscape"], numbers["figure2_bounds"])
        _normal(lower, numbers["figure2_normal"])
    return figure


def _pair(part: Any, numbers: Numbers) -> None:
    beliefs, predictions = numbers["figure2_beliefs"], numbers["figure2_predictions"]
    grid = part.add_gridspec(2, 2, width_ratios=(2.2, 1), height_ratios=(1, 2.6))
    main = part.add_subplot(grid[1, 0])
    top, side = part.add_subplot(grid[0, 0], sharex=main), part.add_subplot(grid[1, 1], sharey=main)
    for name, line in (("open", "-"), ("committed", "--")):
        plane = wide(numbers["figure2_joint"], "theta", "x", name)
        levels = plane.to_numpy().max() * np.array([0.1, 0.3, 0.6, 0.9])
        main.contour(plane.columns, plane.index, plane, levels, colors=COLOURS[name], linewidths=1, linestyles=line)
        top.plot(predictions.x, predictions[name], line, color=COLOURS[name])
        side.plot(beliefs[name], beliefs.theta, line, color=COLOURS[name])
    side.plot(beliefs.scaled, beliefs.theta, color=PURPLE)
    side.text(0.95, 0.97, r"$\hat{p}_X(\theta)$", color=PURPLE, transform=side.transAxes, ha="right", va="top")
    for axis in (main, top):
        axis.axvline(SHOWN, color=GREEN, ls=":")
    main.annotate("X", (SHOWN, -4.3), (4, 0), textcoords="offset points", color=GREEN, fontweight="bold")
    main.set(xlabel="data $x$", ylabel=r"parameter $\theta$", ylim=(-4.5, 4.5))
    top.set(ylabel="$Z(x)$", ylim=(0, None))
    side.set(xlabel=r"belief $\pi_n(\theta)$", xlim=(0, None))
    top.tick_params(labelbottom=False)
    side.tick_params(labelleft=False)
    top.set_title("A", loc="left", fontweight="bold", x=-0.25)
    _write_pair(part.add_subplot(grid[0, 1]), numbers["figure2_pair"])


def _write_pair(axis: Any, pair: DataFrame) -> None:
    """The numbers of the pair, in its colours."""
    shown: Any = pair[pair["sample"] == SHOWN].set_index("model")
    axis.text(0, 1, "at X, in nats:", va="top")
    for height, (name, colour) in zip((0.76, 0.34), COLOURS.items(), strict=True):
        row = shown.loc[name]
        text = f"{name}\n$S_{{raw}}$ {row.raw:.2f}, $S_{{cc}}$ {row.surprise:.2f}"
        axis.text(0, height, text, color=colour, va="top")
    axis.axis("off")


def _landscape(axis: Any, landscape: DataFrame, bounds: DataFrame) -> None:
    curve, rescaled = landscape["equal"], landscape["narrow"] / landscape["narrow"][0]
    axis.plot(landscape.gamma, rescaled * curve[0], color="0.65")
    axis.plot(landscape.gamma, curve, color="black")
    axis.text(0.27, 0.92 * curve[0], "narrower belief", color="0.45")
    axis.text(0.03, 0.06 * curve[0], "belief as wide\nas the noise")
    shown: Any = bounds[bounds.belief == "equal"].set_index("share")
    for share, colour, label in (
        (0.0, GREEN, "$B = 0$"),
        (0.5, BLUE, "$B = B_{max}/2$"),
        (1.0, VERMILLION, r"$B \geq B_{max}$"),
    ):
        row = shown.loc[share]
        axis.axvline(row.gamma, color=colour, ls="--", lw=1)
        axis.plot([row.gamma], [row.surprise], "o", color=colour, label=label, clip_on=False, zorder=3)
    axis.set(xlabel=r"step $\gamma$", ylabel=r"$S_{cc}(X; q_\gamma)$ (nats)", xlim=(0, 1), ylim=(0, None))
    axis.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=3, fontsize=8, handletextpad=0, columnspacing=0.8)
    axis.set_title("B", loc="left", fontweight="bold", x=-0.2)


def _normal(axis: Any, normal: DataFrame) -> None:
    for kind, colour, label in (("raw", "0.5", "$S_{raw}$"), ("surprise", BLUE, "$S_{cc}$")):
        axis.plot(normal["sample"], normal[f"{kind}_committed"] - normal[f"{kind}_open"], color=colour, label=label)
    axis.axhline(0, color="black", lw=0.8)
    axis.set(xlabel="sample $X$ (standard deviations of $Z$)", ylabel="committed minus open\n(nats)", xlim=(0, 3))
    axis.legend(loc="lower left")
    axis.set_title("C", loc="left", fontweight="bold", x=-0.2)

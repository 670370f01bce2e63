"""What do the beliefs look like, and how surprised is who?"""

from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from pandas import DataFrame

from astonish.paper.examples.numbers import DRIVERS, MANY, wide
from astonish.paper.study import Numbers
from astonish.plot import BLUE, GREEN, ORANGE, PURPLE, STYLE, VERMILLION


def draw(numbers: Numbers) -> Figure:
    """Election above, joke in the middle, parking lot below."""
    import matplotlib.pyplot as plt

    with mpl.rc_context(STYLE):
        figure = plt.figure(figsize=(7.2, 7.4), layout="constrained")
        parts: Any = figure.subfigures(3, 1, height_ratios=(3.5, 2, 1.9))
        _election(parts[0], numbers["figure1_models"], numbers["figure1_election"])
        _joke(parts[1], numbers["figure1_meanings"], numbers["figure1_joke"])
        _parking(parts[2].subplots(), numbers["figure1_parking"])
    return figure


def _election(part: Any, models: DataFrame, election: DataFrame) -> None:
    grid = part.add_gridspec(2, 4, width_ratios=(1, 1, 1, 1.25), height_ratios=(1.5, 1))
    axes = [part.add_subplot(grid[0, k]) for k in range(4)]
    for axis, (name, rows), colour in zip(axes, election.groupby("colleague"), (BLUE, ORANGE, GREEN), strict=False):
        axis.bar(rows.candidate, rows.weight, color=colour)
        axis.set(title=rf"belief $\pi^{name}$", xlabel=r"model $\theta_k$", xticks=rows.candidate, ylim=(0, 1))
        axis.tick_params(labelleft=axis is axes[0])
    axes[0].set_ylabel("weight")
    axes[0].set_title("A", loc="left", fontweight="bold", x=-0.42)
    _models(axes[3], wide(models, "model", "candidate", "probability"))
    _table(part.add_subplot(grid[1, :]), election)


def _models(axis: Any, chances: Any) -> None:
    axis.imshow(chances, cmap="Greys", vmin=0, vmax=2.5)
    for (row, column), chance in np.ndenumerate(chances):
        axis.text(column, row, f"{chance:.2g}", ha="center", va="center", fontsize=7)
    axis.set_xticks(range(4), chances.columns)
    axis.set_yticks(range(4), chances.index)
    axis.set(title=r"likelihood $p(X|\theta_k)$", xlabel="candidate $X$", ylabel=r"model $\theta_k$")


def _table(axis: Any, election: DataFrame) -> None:
    likely = np.exp(-wide(election, "colleague", "candidate", "shannon"))
    felt = wide(election, "colleague", "candidate", "surprise")
    cells = [[f"{p:.3f}" for p in likely.loc[n]] + [f"{felt.loc[n, k]:.2f}" for k in (1, 2)] for n in likely.index]
    titles = [*(f"$p(X={k})$" for k in likely.columns), "$S_{cc}(X=1)$", "$S_{cc}(X=2)$"]
    names = [f" {name} " for name in likely.index]
    table = axis.table(cells, rowLabels=names, colLabels=titles, cellLoc="center", bbox=(0.02, 0, 0.98, 1))
    table.auto_set_font_size(False)
    for (_, column), cell in table.get_celld().items():
        cell.set(edgecolor="0.7", linewidth=0.6)
        if column in (1, 5):
            cell.set_facecolor(mpl.colors.to_rgba(VERMILLION, 0.25))
    axis.axis("off")


def _joke(part: Any, meanings: DataFrame, joke: DataFrame) -> None:
    axes = part.subplots(1, 4, width_ratios=(1, 1, 1, 1.9))
    titles = (r"belief $\pi_0$", r"$\pi_1$: 'goldfish'", r"$\hat{p}_X$: 'guns'")
    for axis, title, (_, row), colour in zip(axes, titles, meanings.iterrows(), ("0.6", BLUE, PURPLE), strict=False):
        axis.bar(["con-\ntainer", "vehicle"], row[["container", "vehicle"]].astype(float), color=colour, width=0.6)
        axis.set(title=title, ylim=(0, 1))
        axis.tick_params(labelleft=axis is axes[0])
    axes[0].set_ylabel("weight")
    axes[0].set_title("B", loc="left", fontweight="bold", x=-0.42)
    _felt(axes[3], wide(joke, "belief", "word", "surprise"))


def _felt(axis: Any, felt: Any) -> None:
    """How surprising the words of the joke are."""
    names = [r"'goldfish' to $\pi_0$", r"'guns' to $\pi_0$", r"'guns' to $\pi_1$"]
    lengths = [felt.loc["before", "goldfish"], felt.loc["before", "guns"], felt.loc["after", "guns"]]
    axis.bar_label(axis.barh(names, lengths, color=["0.6", "0.6", BLUE], height=0.6), fmt="%.2f", padding=2)
    axis.set(xlabel="surprise $S_{cc}$ (nats)", xlim=(0, 1.25 * max(lengths)))
    axis.invert_yaxis()


def _parking(axis: Any, parking: DataFrame) -> None:
    some = parking[parking.kinds == MANY]
    names = ["cares only about a free slot", "undecided about cars", "used to the red car", "... which is there today"]
    places = np.arange(len(names))
    for shift, value, colour, label in (
        (-0.19, "shannon", "0.65", "Shannon surprise"),
        (0.19, "surprise", BLUE, "$S_{cc}$"),
    ):
        table = wide(some, "driver", "car", value).loc[list(DRIVERS)]
        lengths = np.abs([*table["green BMW"], table["red"].iloc[-1]])  # a zero may have come out as minus 1e-17
        bars = axis.barh(places + shift, lengths, 0.38, color=colour, label=label)
        axis.bar_label(bars, fmt="%.2f", padding=2, fontsize=8)
    axis.set_yticks(places, names)
    axis.set(xlabel="surprise at the car (nats)", xlim=(0, 1.15 * some.shannon.max()))
    axis.invert_yaxis()
    axis.set_title("C", loc="left", fontweight="bold", x=-0.32)
    axis.legend(loc="upper right")

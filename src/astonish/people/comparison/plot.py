"""What does a comparison of models of people look like?"""

from itertools import cycle, islice
from textwrap import wrap
from typing import Any

import numpy as np
from scipy.special import stdtrit

from astonish.core.refusal import naming_extra
from astonish.people.comparison.criteria import Selection
from astonish.report.style import STYLE

with naming_extra("a plot needs"):
    import matplotlib as mpl
    import matplotlib.pyplot as plt
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

_GOLDEN = 0.6180339887498949  # steps of this size spread dots evenly, however many there are
_PROTECTED: Any = {"marker": "D", "ms": 5, "ls": "", "mfc": "white", "color": "black"}


def plot_selection(found: Selection) -> Figure:
    """A: differences in BIC to the baseline. B: shares of people, and protected exceedance probabilities."""
    names = list(found.table.index)
    looks = list(islice(cycle(entry["color"] for entry in STYLE["axes.prop_cycle"]), len(names)))
    with mpl.rc_context(STYLE):
        figure, (left, right) = plt.subplots(
            1, 2, sharey=True, figsize=(7, 1.4 + 0.45 * len(names)), width_ratios=(3, 2), layout="constrained"
        )
        _differences(left, found, looks)
        _shares(right, found, looks)
        broken = ["\n".join(wrap(name.replace(":", ": ").replace(",", ", "), 22)) for name in names]
        left.set_yticks(range(len(names)), broken)
        left.set_ylim(len(names) - 0.5, -0.5)
        for axis, letter in ((left, "A"), (right, "B")):
            axis.set_title(letter, loc="left", fontweight="bold")
            axis.grid(axis="x", lw=0.3)
            axis.set_axisbelow(True)
        figure.legend(handles=_legend(), loc="outside upper center", ncols=4, fontsize=7)
    return figure


def _differences(axis: Any, found: Selection, looks: list[str]) -> None:
    """A dot for each participant, and the mean with a 95 % confidence interval."""
    axis.axvline(0, color="0.4", lw=0.8)
    for place, (name, colour) in enumerate(zip(found.table.index, looks, strict=True)):
        if name == found.baseline:
            continue
        apart = found.people.loc[found.people["model"] == name, "difference"].to_numpy()
        height = place + 0.5 * (np.arange(len(apart)) * _GOLDEN % 1 - 0.5)
        axis.plot(apart, height, "o", ms=3, mew=0, color=colour, alpha=0.5)
        mean, error = found.table["difference"][name], found.table["difference_se"][name]
        wide = error * stdtrit(max(len(apart) - 1, 1), 0.975)
        axis.errorbar(mean, place, xerr=np.nan_to_num(wide), fmt="D", ms=4, color="black", capsize=3, zorder=3)
    axis.set_xlabel(f"BIC relative to {found.baseline} (less is better)")


def _shares(axis: Any, found: Selection, looks: list[str]) -> None:
    table, places = found.table, range(len(found.table))
    axis.barh(places, table["share"], 0.6, color=looks, alpha=0.6)
    axis.errorbar(table["share"], places, xerr=table["share_std"], fmt="none", ecolor="0.2", capsize=2)
    axis.plot(table["protected"], places, **_PROTECTED, clip_on=False, zorder=3)
    axis.set(xlabel="probability", xlim=(0, 1.02))


def _legend() -> list[Any]:
    return [
        Line2D([], [], ls="", marker="o", ms=3, color="0.5", label="a participant"),
        Line2D([], [], ls="-", marker="D", ms=4, color="black", label="mean, 95 % interval"),
        Patch(color="0.7", label="share of people, sd"),
        Line2D([], [], **_PROTECTED, label="protected exceedance probability"),
    ]

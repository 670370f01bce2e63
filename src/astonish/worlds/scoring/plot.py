"""What does a comparison of learners look like?"""

from itertools import cycle
from typing import Any

import numpy as np

from astonish.core.refusal import naming_extra
from astonish.report.style import COLOURS, STYLE
from astonish.worlds.scoring.comparison import Comparison

with naming_extra("a plot needs"):
    import matplotlib as mpl
    import matplotlib.pyplot as plt
    from matplotlib.figure import Figure

_MARKERS = "osD^vP*X"  # so that learners differ in print without colours too


def plot_comparison(found: Comparison) -> Figure:
    """A: error after a change. B: error on the whole. C: calibration, where learners give it. D: cost."""
    panels = [_after_change, _errors, *([_reliability] if len(found.reliability) else []), _cost]
    colours = COLOURS
    looks = dict(zip(found.table.index, cycle(zip(colours, _MARKERS, strict=True)), strict=False))
    with mpl.rc_context(STYLE):
        shape = (2, 2) if len(panels) == 4 else (1, 3)
        figure, axes = plt.subplots(*shape, figsize=(7, 2.6 * shape[0]), layout="constrained", squeeze=False)
        for axis, panel, letter in zip(axes.flat, panels, "ABCD", strict=False):
            panel(axis, found, looks)
            axis.set_title(letter, loc="left", fontweight="bold")
        if len(panels) == 3:
            axes.flat[2].set_yticklabels([])  # they stand beside the panel before
        axes.flat[0].plot([], [], ":", color="0.3", lw=0.8, label="when all is quiet")
        figure.legend(*axes.flat[0].get_legend_handles_labels(), loc="outside upper center", ncols=4)
    return figure


def _after_change(axis: Any, found: Comparison, looks: Any) -> None:
    for name, (colour, marker) in looks.items():
        curve = found.after_change[found.after_change["learner"] == name]
        axis.plot(curve["sample"], curve["error"], color=colour, marker=marker, ms=3, label=name)
        low, high = curve["error"] - curve["error_se"], curve["error"] + curve["error_se"]
        axis.fill_between(curve["sample"], low, high, color=colour, alpha=0.2, lw=0)
        axis.axhline(curve["quiet_error"].iloc[0], color=colour, ls=":", lw=0.8)
    axis.set(xlabel="samples after a change", ylabel="mean absolute error", ylim=(0, None))


def _errors(axis: Any, found: Comparison, looks: Any) -> None:
    _dots(axis, found, looks, "squared_error", found.table["squared_error_se"])
    axis.set(xlabel="mean squared error", xlim=(0, None))


def _cost(axis: Any, found: Comparison, looks: Any) -> None:
    _dots(axis, found, looks, "microseconds", None)
    decades = np.log10([found.table["microseconds"].min() / 1.2, found.table["microseconds"].max() * 1.2])
    limits = (10 ** np.floor(decades[0]), 10 ** np.ceil(decades[1]))
    axis.set(xlabel="microseconds per sample", xscale="log", xlim=limits)


def _dots(axis: Any, found: Comparison, looks: Any, column: str, spread: Any) -> None:
    """A dot per learner, the first at the top, with a bar of one standard error to each side."""
    for place, (name, (colour, marker)) in enumerate(looks.items()):
        width = None if spread is None else np.nan_to_num(spread[name])
        axis.errorbar(found.table[column][name], place, xerr=width, color=colour, marker=marker, ms=5, capsize=2)
    axis.set_yticks(range(len(looks)), list(looks))
    axis.set_ylim(len(looks) - 0.5, -0.5)
    axis.grid(axis="x", lw=0.3)


def _reliability(axis: Any, found: Comparison, looks: Any) -> None:
    axis.plot([0, 1], [0, 1], color="0.6", lw=0.8, ls="--")
    for name in found.reliability["learner"].unique():
        rows, (colour, marker) = found.reliability[found.reliability["learner"] == name], looks[name]
        bars = {"yerr": rows["observed_se"], "elinewidth": 0.8}
        axis.errorbar(rows["predicted"], rows["observed"], **bars, color=colour, marker=marker, ms=3)
    axis.set(xlabel="probability of a change, as given", ylabel="share of changes", xlim=(0, 1), ylim=(0, 1))

"""What do recovered parameters and models look like?"""

from itertools import cycle
from typing import Any

import numpy as np

from astonish.core.refusal import naming_extra
from astonish.people.recovery.models import Confusion
from astonish.people.recovery.parameters import Recovery, TrialsNeeded
from astonish.report.style import BLUE, STYLE

with naming_extra("a plot needs"):
    import matplotlib as mpl
    import matplotlib.pyplot as plt
    from matplotlib.figure import Figure

_MARKERS = "osD^vP*X"
_ACROSS = 3  # panels in a row
_MARKS = 4  # labels on an axis, which are values of the parameter


def plot_recovery(found: Recovery) -> Figure:
    """A panel for each parameter: the values found over the true ones, with their 95 % intervals."""
    summary = found.summary()
    rows, columns = -(-len(summary) // _ACROSS), min(_ACROSS, len(summary))
    with mpl.rc_context(STYLE):
        size = (3.0 * columns, 3.2 * rows)
        figure, axes = plt.subplots(rows, columns, figsize=size, layout="constrained", squeeze=False)
        for k, axis in enumerate(axes.flat):
            if k < len(summary):
                _found_again(axis, found, k, summary.iloc[k])
            else:
                axis.set_axis_off()
    return figure


def _found_again(axis: Any, found: Recovery, k: int, row: Any) -> None:
    table = found.table()
    own = table[table["parameter"] == found.names[k]]
    space, inside = found.fit.space.only(k), found.inside()[:, k]
    columns = (own[name].to_numpy()[inside] for name in ("true", "found", "low", "high"))
    true, value, low, high = (space.unconstrained(values[:, None])[:, 0] for values in columns)
    bars = np.nan_to_num(np.abs([value - low, high - value]))  # below an upper bound, the ends change places
    axis.errorbar(true, value, yerr=bars, fmt="o", ms=2.5, color=BLUE, ecolor=BLUE, elinewidth=0.5, alpha=0.6)
    ends = _ends(np.concatenate([true, value]))
    axis.plot(ends, ends, color="0.3", lw=0.8, ls="--")
    marks = np.linspace(*ends, 2 * _MARKS + 1)[1::2]
    labels = [f"{mark:.2g}" for mark in space.constrained(marks[:, None])[:, 0]]
    axis.set_xticks(marks, labels)
    axis.set_yticks(marks, labels)
    axis.set(xlim=ends, ylim=ends)
    left_out = int(row["at_bound"] + row["not_told"])
    axis.set_title(
        f"{found.names[k]}: r = {row['correlation']:.2f}\n95 % interval: {100 * row['coverage']:.0f} %"
        + (f"; {left_out} not told" if left_out else "")
    )
    axis.set(xlabel="true", ylabel="found", aspect="equal")


def plot_confusion(found: Confusion, criterion: str) -> Figure:
    """Two heat maps: the model chosen given the true one, and the true one given the model chosen."""
    count = len(found.names)
    size = 1.1 + 0.55 * count
    panels = {"P(chosen | true)": found.matrix(criterion), "P(true | chosen)": found.inverse(criterion)}
    with mpl.rc_context(STYLE | {"axes.spines.left": False, "axes.spines.bottom": False}):
        figure, axes = plt.subplots(1, 2, figsize=(2 * size + 1.4, size + 0.6), sharey=True, layout="constrained")
        for axis, (title, matrix) in zip(axes, panels.items(), strict=True):
            image = axis.imshow(matrix, vmin=0, vmax=1, cmap="cividis")
            for i, j in np.ndindex(count, count):
                share = float(matrix.to_numpy()[i, j])
                text = "-" if np.isnan(share) else f"{share:.2f}"
                axis.text(j, i, text, ha="center", va="center", color="white" if share < 0.5 else "black")
            axis.set_xticks(range(count), list(found.names), rotation=45, ha="right", rotation_mode="anchor")
            axis.set_yticks(range(count), list(found.names))
            axis.tick_params(length=0)
            axis.set(title=title, xlabel=f"chosen by {criterion.upper()}")
        axes[0].set_ylabel("true")
        figure.colorbar(image, ax=list(axes), shrink=0.8)
    return figure


def plot_trials_needed(found: TrialsNeeded) -> Figure:
    """Correlation of true and found, and the median width of the interval, over the number of trials."""
    table = found.table()
    panels = {"correlation": "correlation of true and found", "width": "width of the 95 % interval"}
    with mpl.rc_context(STYLE):
        figure, axes = plt.subplots(1, 2, figsize=(7, 2.8), layout="constrained")
        for axis, (column, label) in zip(axes, panels.items(), strict=True):
            for (name, own), marker in zip(table.groupby("parameter", sort=False), cycle(_MARKERS), strict=False):
                axis.plot(own["trials"], own[column], marker=marker, ms=4, label=name)
            axis.set_xscale("log")
            axis.set_xticks(list(found.recoveries), [str(count) for count in found.recoveries])
            axis.minorticks_off()
            axis.set(xlabel="trials", ylabel=label)
            axis.grid(lw=0.3)
        axes[0].set_ylim(min(0.0, table["correlation"].min()), 1.02)
        axes[1].set_ylim(0, None)
        axes[0].legend(loc="lower right")
    return figure


def _ends(values: Any) -> tuple[float, float]:
    """A little more than what there is to be seen."""
    known = values[np.isfinite(values)]
    low, high = (known.min(), known.max()) if len(known) else (0.0, 1.0)
    room = 0.08 * max(high - low, 1e-3)
    return low - room, high + room

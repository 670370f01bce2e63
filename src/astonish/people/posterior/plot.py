"""Would people with such parameters behave as these did? What was simulated, and what was observed."""

from textwrap import wrap
from typing import Any

import numpy as np
from pandas import DataFrame, Series

from astonish.core.refusal import naming_extra
from astonish.report.style import BLUE, STYLE, VERMILLION

with naming_extra("a plot needs"):
    import matplotlib as mpl
    import matplotlib.pyplot as plt
    from matplotlib.figure import Figure

_ACROSS = 3  # panels in a row
_SURE = 0.025  # of simulations that exceed what was observed, or do not, at least so many if the model can do it
_MEANINGS = {  # if less, and if more is simulated than was observed
    "mean absolute update": ("the model moves too little", "the model moves too much"),
    "learning rate": ("the model follows errors too little", "the model follows errors too much"),
    "mean absolute error": ("the model is closer to outcomes than people", "the model errs more than people"),
    "share right": ("the model is right less often than people", "the model is right more often than people"),
    "share repeated": ("the model changes its choice too often", "the model repeats its choice too often"),
    "share repeated after an error": ("the model gives up too soon after an error", "the model gives up too late"),
    "mean reward": ("the model earns less than people", "the model earns more than people"),
    "share repeated after a reward above the mean": (
        "the model stays too rarely after good outcomes", "the model stays too often after good outcomes",
    ),
    "share repeated after a reward below the mean": (
        "the model stays too rarely after bad outcomes", "the model stays too often after bad outcomes",
    ),
    "mean": ("the model's responses are too small", "the model's responses are too large"),
    "standard deviation": ("the model's responses vary too little", "the model's responses vary too much"),
}  # fmt: skip


def interpretation(row: "Series[Any]") -> str:
    """A sentence about a statistic of all participants: a row of `Posterior.predictive` whose participant is empty."""
    numbers = (
        f"observed {row['observed']:.3g}, simulated {row['predicted']:.3g} ({row['low']:.3g} to {row['high']:.3g})"
    )
    if np.isnan(row["p"]):
        return f"{row['statistic']}: not observed"
    if _SURE <= row["p"] <= 1 - _SURE:
        return f"{row['statistic']}: the model does as people do ({numbers})"
    less, more = _MEANINGS.get(
        str(row["statistic"]), ("the model has too little of it", "the model has too much of it")
    )
    return f"{row['statistic']}: {more if row['p'] > 0.5 else less} ({numbers})"


def plot_predictive(checks: DataFrame) -> Figure:
    """A panel for each statistic: each participant's, simulated over observed, and the mean of all as a diamond."""
    names = list(dict.fromkeys(checks["statistic"]))
    rows, columns = -(-len(names) // _ACROSS), min(_ACROSS, len(names))
    with mpl.rc_context(STYLE):
        size = (2.7 * columns, 2.9 * rows)
        figure, axes = plt.subplots(rows, columns, figsize=size, layout="constrained", squeeze=False)
        for axis in list(axes.flat)[len(names) :]:
            axis.set_axis_off()
        for axis, name in zip(axes.flat, names, strict=False):
            _statistic(axis, checks[checks["statistic"] == name], name)
    return figure


def _statistic(axis: Any, table: DataFrame, name: str) -> None:
    for own, look in (
        (table[table["participant"] != ""], {"fmt": "o", "ms": 3, "color": BLUE, "alpha": 0.5, "elinewidth": 0.6}),
        (table[table["participant"] == ""], {"fmt": "D", "ms": 6, "color": VERMILLION, "mec": "black", "zorder": 3}),
    ):
        bars = np.abs([own["predicted"] - own["low"], own["high"] - own["predicted"]])
        axis.errorbar(own["observed"], own["predicted"], yerr=bars, **look)
    known = table[["observed", "predicted"]].to_numpy()
    known = known[np.isfinite(known)]
    ends = (known.min(), known.max()) if len(known) else (0.0, 1.0)
    axis.plot(ends, ends, color="0.4", lw=0.8, ls="--")
    axis.set(xlabel="observed", ylabel="simulated")
    axis.set_title("\n".join(wrap(name, 26)), fontsize=8)

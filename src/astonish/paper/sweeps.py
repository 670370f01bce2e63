"""Two numbers that decide what the maze shows: SMiLe's readiness m, and the rate of online EM (not in the paper)."""

from typing import Any

import numpy as np
from pandas import DataFrame, Series, concat

from astonish.core.numbers import FloatArray
from astonish.paper.agents import (
    EM_RATE,
    M,
    MazeWalks,
    OnlineEMSettings,
    current,
    errors,
    errors_of_em_on_device,
    smile,
    walks_of,
)
from astonish.paper.claims import Claim, Interval, median, verdict
from astonish.paper.figure import Drawing, Figure, RunSettings, Tables, simulated
from astonish.report.style import BLUE, VERMILLION

READINESS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
RATES = (0.0001, 0.0003, 0.001, 0.003, 0.01)
ACCURATE, SOON, TIMES = 0.002, 1000, 10  # the paper's marks
SMALL_M = 0.01  # at which SMiLe reaches them, and its error is smallest
FROZEN = 2000
CAPTION = (
    "What the choice of m (left, SMiLe) and of the learning rate (right, online EM) does in the maze; grey: 20 walks "
    "of 20000 steps, colour: their median. A, B: the first step at which the error in the current environment is below "
    "0.002 (numbers: in how many walks that happens; no median where most never get there). C, D: the error in the "
    "current environment, averaged over all steps after the first 2000, in which online EM does not learn yet. Dotted: "
    "the value used in the other figures; for online EM none is better by a tenth in D."
)


def _of_m(run: RunSettings) -> DataFrame:
    """One row per value of m and walk."""
    where = walks_of(run)
    return concat(summary(where, errors(smile(m), where)).assign(value=m) for m in READINESS)


def _of_rate(run: RunSettings) -> DataFrame:
    """One row per rate and walk."""
    where = walks_of(run)
    tables = []
    for rate in RATES:
        found = errors_of_em_on_device(where, run.seed, OnlineEMSettings(rate))
        tables.append(summary(where, np.asarray(found)).assign(value=rate))
    return concat(tables)


def summary(where: MazeWalks, errors: FloatArray) -> DataFrame:
    """Per walk: how soon the error in the current environment was small, and how small it was on average.

    first: the first step at which it was (NaN if never); first_in_a: the first in A. learned: the mean after 2000
    steps; late: that in the last quarter.
    """
    environment = where.walk.environment
    now, steps = current(environment, errors), environment.shape[1]
    columns = {"first": first_step(now < ACCURATE), "first_in_a": first_step((now < ACCURATE) & (environment == 0))}
    columns |= {"learned": now[:, FROZEN:].mean(1), "late": now[:, -steps // 4 :].mean(1)}
    return DataFrame({"episode": range(len(now)), **columns})


def first_step(good: Any) -> FloatArray:
    """The first step of each walk, counted from 1, at which it is good; NaN if it never is."""
    return np.where(good.any(1), good.argmax(1) + 1.0, np.nan)


def times_as_long(slow: Series, fast: Series) -> Interval:
    """How many times as long the slow one took in the median walk; who never got there took for ever.

    Walks in which neither got there are left out.
    """
    return median(slow.fillna(np.inf) / fast.fillna(np.inf))


def about_ten(ratio: Interval) -> bool:
    """Five to twenty."""
    return TIMES / 2 <= ratio.mean <= 2 * TIMES


def claims(tables: Tables) -> list[Claim]:
    """Where SMiLe is fast, and which rate of online EM is the best."""
    table = tables["m"]
    soon = (table[["first", "first_in_a"]] <= SOON).groupby(table.value).mean()
    best = table.groupby("value").learned.median().idxmin()
    rates = tables["rate"].groupby("value").learned.median()
    shares = (f"{row.first:.0%} ({row.first_in_a:.0%}) at m = {row.Index:g}" for row in soon.itertuples())
    return [
        Claim(
            "sweeps.m",
            "section 2.4, maze",
            "In whichever environment it is, SMiLe's error falls below 0.002 within 1000 steps in most walks at "
            "m = 0.01 and 0.03, and in few at the paper's 0.1 or more.",
            "-",
            "share of walks in which it does (in A, while it is there): " + ", ".join(shares),
            verdict([(soon["first"][[0.01, 0.03]] > 0.5).all(), (soon["first"][soon.index >= M] < 0.25).all()]),
            "A larger m gives the newest step too much weight for so small an error, a smaller one learns too slowly; "
            f"on average over the walk the error is smallest at m = {best:g}.",
            ours=True,
        ),
        Claim(
            "sweeps.rate",
            "section 4.12, which does not state the rate",
            f"No learning rate of online EM, of those a factor of three apart, is better than {EM_RATE:g} by a tenth.",
            "-",
            "median error after 2000 steps: " + ", ".join(f"{error:.3g} at {rate:g}" for rate, error in rates.items()),
            verdict([rates[EM_RATE] < 1.1 * rates.min()]),
            "It is the one that all other figures use; a larger one forgets too soon, a smaller one learns too late.",
            ours=True,
        ),
    ]


def draw(tables: Tables) -> Drawing:
    """Speed above, accuracy below; SMiLe left, online EM right."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(2, 2, figsize=(7, 5), sharex="col", sharey="row", layout="constrained")
    columns = (("m", M, "readiness m"), ("rate", EM_RATE, "learning rate of online EM"))
    for column, (name, used, label) in enumerate(columns):
        for row in (0, 1):
            axes[row, column].axvline(used, color="0.5", ls=":", lw=1)
            axes[row, column].set_title(("AC", "BD")[column][row], loc="left", fontweight="bold")
        _draw_medians(axes[0, column], tables[name], "first", VERMILLION)
        for value, part in tables[name].groupby("value")["first"]:
            axes[0, column].annotate(
                f"{part.notna().sum()}/{len(part)}", (value, 1), (0, -6), ("data", "axes fraction"),
                "offset points", ha="center", fontsize=7,
            )  # fmt: skip
        _draw_medians(axes[1, column], tables[name], "learned", BLUE)
        axes[1, column].set(xscale="log", xlabel=label)
    axes[0, 0].set(yscale="log", ylabel="first step with an\nerror below 0.002")
    axes[1, 0].set(yscale="log", ylabel="error (mean square)")
    axes[0, 0].set_title("SMiLe")
    axes[0, 1].set_title("online EM")
    return figure


def _draw_medians(axis: Any, table: DataFrame, column: str, colour: str) -> None:
    axis.plot(table.value, table[column], "o", ms=2.5, color="0.7", mec="none")
    medians = table[column].fillna(np.inf).groupby(table.value).median()  # never is later than any step
    axis.plot(medians.index, medians, "o-", ms=4, lw=1, color=colour)


SIMULATIONS = {"m": _of_m, "rate": _of_rate}
SWEEPS = Figure("sweeps", "Readiness m and the rate of online EM", CAPTION, simulated(SIMULATIONS), draw, claims)

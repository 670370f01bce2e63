"""Figure 8: how does what is known 64 steps after a switch depend on how long, and how often, A is visited?"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from pandas import DataFrame, concat

from astonish.domain import Numbers
from astonish.paper.agents import MazeWalks, after_switches, errors, errors_of_em_on_device, naive, smile
from astonish.paper.claims import Claim, interval, listed, verdict
from astonish.paper.figure import Drawing, Figure, RunSettings, Tables
from astonish.report.style import STYLE
from astonish.study.study import Batching, Result, Setting, Study
from astonish.tasks.maze import Maze, chances_of_leaving, rearranged, walk

LITTLE = 0.3
CAPTION = (
    "The error 64 steps after a switch from B to A (if the environment stays A for so long), over the average stay in "
    "A (tau) and the share of time spent in A (psi), for SMiLe (m = 0.1), online EM and naive Bayes: 20 walks of 20000 "
    "steps per cell, each with an arrangement B of its own; mean over walks of the mean over switches. All three "
    "panels share one scale."
)
TAUS = (25, 50, 75, 100, 150, 200, 250, 300, 400, 500)
PSIS = (0.05, 0.15, 0.25, 0.35, 0.45, 0.55, 0.65, 0.75, 0.85, 0.95)
Cell = tuple[int, float, int]  # of a walk: tau, psi, and which of several it is
LATER = 64
TOGETHER = 50  # walks in one compiled call: enough to fill a core, few enough for its cache
BYTES = 250  # that a step of a walk takes on an accelerator
LEARNERS: dict[str, Callable[[MazeWalks, Any], Numbers]] = {  # of online EM every walk has a seed
    "SMiLe": lambda where, _: errors(smile(), MazeWalks(where.walk, where.truth[:, :1])),
    "online EM": lambda where, seeds: np.asarray(errors_of_em_on_device(where, seeds)),
    "naive Bayes": lambda where, _: errors(naive(), MazeWalks(where.walk, where.truth[:, :1])),
}


def study_of(run: RunSettings) -> Study:
    """The study behind the figure; each setting is as many walks as fill a core."""
    psis, walks, steps = (PSIS[1::4], 2, 2500) if run.quick else (PSIS, 20, 20000)
    settings = {}
    for tau in TAUS:
        cells = [[tau, psi, episode] for psi in psis for episode in range(walks)]
        for part, at in enumerate(range(0, len(cells), TOGETHER)):
            some = cells[at : at + TOGETHER]
            settings[f"fig8/tau={tau}/{part}"] = {"seed": run.seed, "steps": steps, "cells": some}
    return of_cells(settings)


def of_cells(settings: Mapping[str, Setting]) -> Study:
    """The study of these settings."""
    batching = Batching(
        simulate, lambda part: part["steps"], lambda part: len(part["cells"]), lambda part: BYTES * part["steps"]
    )
    return Study(settings, _compute, _summarise, draw, batching)


def simulate(parts: Sequence[Setting]) -> list[Result]:
    """The errors after switches of all learners (first axis), on the same walks (second)."""
    sizes = [len(part["cells"]) for part in parts]
    cells = [cell for part in parts for cell in part["cells"]]
    where = scenes(np.repeat([part["seed"] for part in parts], sizes), cells, parts[0]["steps"])
    seeds = np.concatenate([np.arange(size) for size in sizes])
    read = after_switches(where.walk, 0, LATER)
    late = read & (np.arange(read.shape[1]) >= read.shape[1] // 2)
    found = [errors_of(where, seeds)[..., 0] for errors_of in LEARNERS.values()]
    columns = {"switches": read.sum(1)}
    columns |= {name: np.stack([_mean(each, at) for each in found]) for name, at in (("error", read), ("late", late))}
    split = {name: np.split(column, np.cumsum(sizes)[:-1], axis=-1) for name, column in columns.items()}
    return [{name: some[k] for name, some in split.items()} for k in range(len(parts))]


def _compute(part: Setting) -> Result:
    return simulate([part])[0]


def _summarise(known: Mapping[str, Result]) -> DataFrame:
    """A row for each cell and learner."""
    tables = []
    for part in known.values():
        table = DataFrame(part["cells"], columns=["tau", "psi", "episode"])
        for k, name in enumerate(LEARNERS):
            columns = {"switches": part["switches"], "error": part["error"][k], "late": part["late"][k]}
            tables.append(table.assign(learner=name, **columns))
    return concat(tables)


def scenes(seed: Any, cells: Sequence[Cell], steps: int) -> MazeWalks:
    """The walks, each in a maze of its own. seed: one for all, or one for each."""
    each = np.broadcast_to(seed, len(cells)).tolist()
    seeds = [[s, tau, round(100 * psi), episode] for s, (tau, psi, episode) in zip(each, cells, strict=True)]
    mazes = Maze(np.stack([rearranged(s).doors for s in seeds]))
    leave = [chances_of_leaving(tau, psi) for tau, psi, _ in cells]
    return MazeWalks(walk(mazes, steps, [[*s, 1] for s in seeds], leave), mazes.transitions)


def _mean(values: Numbers, where: Any) -> Numbers:
    """The mean in each row of the values there; NaN where there are none."""
    count = where.sum(1)
    return np.where(count > 0, np.where(where, values, 0).sum(1) / np.maximum(count, 1), np.nan)


def _tables(study: Study, results: Mapping[str, Result]) -> Tables:
    """One table per average stay: an error per share of time, walk and learner."""
    table = study.table(results)
    return {f"tau{tau}": table[table.tau == tau] for tau in TAUS}


def claims(tables: Tables) -> list[Claim]:
    """What each learner's error depends on."""
    table = concat(tables.values())
    ours, em, naives = (table[table.learner == name] for name in LEARNERS)
    by_smile, by_em, by_naive = _dependence(ours, "error"), _dependence(em, "late"), _dependence(naives, "error")
    mean, late = interval(ours.groupby("episode").error.mean()), interval(em.groupby("episode").late.mean())
    naive, means = naives.groupby("psi").error.mean(), em.groupby("psi").late.mean()
    gap = ours.groupby("psi").error.mean() - naive
    middle, wins = min(gap.index, key=lambda psi: abs(psi - 0.5)), listed(gap.index[gap < 0]) or "none"
    return [
        Claim(
            "Fig. 8A",
            "SMiLe's error after a switch depends little on how long and how often A is visited.",
            "low error throughout",
            f"mean {mean}; {by_smile}",
            verdict(value < LITTLE for value in by_smile),
            "It forgets the other environment at a rate of its own, whatever the switches do; counted as little below "
            "30 %.",
        ),
        Claim(
            "Fig. 8C",
            "The error of naive Bayes is set by the share of time spent in A, and falls with it; the stay does not "
            "matter.",
            "decreases with psi, whatever tau",
            f"{naive.iloc[0]:.3g} at psi = {naive.index[0]}, {naive.iloc[-1]:.3g} at {naive.index[-1]}; {by_naive}",
            verdict([by_naive.tau < LITTLE, by_naive.psi > LITTLE and (naive.diff().dropna() < 0).all()]),
            "It learns the mixture of both environments, at a distance of (1 - psi)^2 times theirs from A.",
        ),
        Claim(
            "Fig. 8B",
            "Once it has learned, online EM's error depends on neither how long nor how often A is visited.",
            "similar to SMiLe: low throughout",
            f"second half of the walks: mean {late}, from {means.max():.3g} at psi = {means.idxmax()} to "
            f"{means.min():.3g} at {means.idxmin()}; {by_em}",
            verdict(value < LITTLE for value in by_em),
            "Its statistics rest on about the last 1000 steps (one over the learning rate), of which those in A are a "
            "share psi: the less A is visited, the fewer samples it has; counted as little below 30 %.",
        ),
        Claim(
            "section 2.4, maze",
            "SMiLe adapts to the environment visited after a switch where naive Bayes cannot.",
            "lower error (Figs. 8A, 8C)",
            f"error of SMiLe minus that of naive Bayes: {gap.iloc[0]:.3g} at psi = {gap.index[0]}, {gap[middle]:.3g} "
            f"at {middle}, {gap.iloc[-1]:.3g} at {gap.index[-1]}; SMiLe is better at psi = {wins}",
            verdict(gap < 0),
            "At m = 0.1 its own fluctuations are larger than the error of the mixture, unless A is visited seldom.",
        ),
    ]


class Dependence(NamedTuple):
    """How much an error varies with psi and with tau, each averaged over the other: standard deviation over mean."""

    psi: float
    tau: float

    def __str__(self) -> str:
        return f"varies by {self.psi:.0%} with psi, by {self.tau:.0%} with tau (standard deviation over mean)"


def _dependence(table: DataFrame, column: str) -> Dependence:
    cells = table.groupby(["tau", "psi"])[column].mean().unstack()
    return Dependence(*(means.std() / means.mean() for means in (cells.mean(axis=0), cells.mean(axis=1))))


def draw(table: DataFrame) -> Drawing:
    """Three maps on one scale, from all tables in one."""
    cells = {name: part.groupby(["tau", "psi"]).error.mean().unstack() for name, part in table.groupby("learner")}
    scale = mpl.colors.LogNorm(min(np.nanmin(c) for c in cells.values()), max(np.nanmax(c) for c in cells.values()))
    with mpl.rc_context(STYLE | {"axes.spines.top": True, "axes.spines.right": True}):
        figure, axes = plt.subplots(1, 3, figsize=(7.2, 2.8), sharey=True, layout="constrained")
        for axis, letter, name in zip(axes, "ABC", LEARNERS, strict=True):
            image = axis.imshow(cells[name], origin="lower", aspect="auto", cmap="viridis", norm=scale)
            axis.set_title(letter, loc="left", fontweight="bold")
            axis.set_title(name)
            axis.set(xticks=range(0, cells[name].shape[1], 2), xticklabels=cells[name].columns[::2])
        axes[0].set(yticks=range(len(cells["SMiLe"])), yticklabels=cells["SMiLe"].index)
        axes[0].set_ylabel(r"average stay in A, $\tau_A$ (steps)")
        axes[1].set_xlabel(r"share of time spent in A, $\psi_A$")
        figure.colorbar(image, ax=axes, label="error (mean square)")
    return figure


FIGURE_8 = Figure(
    "8", "Error after a switch", CAPTION, study_of, lambda tables: draw(concat(tables.values())), claims, _tables
)

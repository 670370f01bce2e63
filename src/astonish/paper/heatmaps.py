"""Figure 8: how does what is known 64 steps after a switch depend on how long, and how often, A is visited?"""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import matplotlib as mpl
import numpy as np
from pandas import DataFrame, concat

from astonish.paper.agents import Floats, Setting, errors, naive, smile, watch_em
from astonish.paper.claims import Claim, interval, verdict
from astonish.paper.figure import Figure
from astonish.paper.study import Numbers, Study
from astonish.plot import STYLE
from astonish.tasks.maze import Maze, Walk, chances_of_leaving, rearranged, walk

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

TAUS = (25, 50, 75, 100, 150, 200, 250, 300, 400, 500)
PSIS = (0.05, 0.15, 0.25, 0.35, 0.45, 0.55, 0.65, 0.75, 0.85, 0.95)
LATER = 64
LITTLE = 0.3
AT_ONCE = 50  # walks in one compiled call: enough to fill a core, few enough for its cache
LEARNERS: dict[str, Callable[[Setting], Floats]] = {
    "SMiLe": lambda where: errors(smile(), Setting(where.walk, where.truth[:, :1])),
    "online EM": lambda where: watch_em(where).errors,
    "naive Bayes": lambda where: errors(naive(), Setting(where.walk, where.truth[:, :1])),
}
CAPTION = (
    "The error 64 steps after a switch from B to A (if the environment stays A for so long), over the average stay in "
    "A "
    "(tau) and the share of time spent in A (psi), for SMiLe (m = 0.1), online EM and naive Bayes: 20 walks of 20000 "
    "steps per cell, each with an arrangement B of its own; mean over walks of the mean over switches. All three "
    "panels share one scale."
)


def compute(study: Study) -> Numbers:
    """One table per average stay: an error per share of time, walk and learner.

    A processor computes them one after the other, on all its cores; an accelerator, which is fast only when it has much
    to do, all at once.
    """
    groups = [(tau,) for tau in TAUS] if jax.default_backend() == "cpu" else [TAUS]
    tables: Numbers = {}
    for taus in groups:
        tables |= study.tables([_name(tau) for tau in taus], partial(_rows, study, taus))
    return tables


def _name(tau: int) -> str:
    return f"figure8_tau{tau}"


def _rows(study: Study, taus: tuple[int, ...]) -> Numbers:
    psis, walks, steps = (PSIS[1::4], 2, 2500) if study.quick else (PSIS, 20, 20000)
    cells = [Cell(tau, psi, episode) for tau in taus for psi in psis for episode in range(walks)]
    at_once = AT_ONCE if jax.default_backend() == "cpu" else len(cells)
    chunks = [cells[i : i + at_once] for i in range(0, len(cells), at_once)]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        table = concat(pool.map(lambda chunk: simulate(study.seed, chunk, steps), chunks))
    return {_name(tau): table[table.tau == tau] for tau in taus}


class Cell(NamedTuple):
    """One walk: its average stay in A, the share of time it spends there, and which of several it is."""

    tau: int
    psi: float
    episode: int


def simulate(seed: int, cells: list[Cell], steps: int) -> DataFrame:
    """The errors after switches of all learners, on the same walks."""
    where = scenes(seed, cells, steps)
    read = _after_switches(where.walk)
    return concat(_summed(cells, name, read, errors(where)[..., 0]) for name, errors in LEARNERS.items())


def scenes(seed: int, cells: list[Cell], steps: int) -> Setting:
    """The walks, each in a maze of its own."""
    seeds = [[seed, cell.tau, round(100 * cell.psi), cell.episode] for cell in cells]
    mazes = Maze(np.stack([rearranged(s).doors for s in seeds]))
    leave = [chances_of_leaving(cell.tau, cell.psi) for cell in cells]
    return Setting(walk(mazes, steps, [[*s, 1] for s in seeds], leave), mazes.transitions)


def _after_switches(walks: Walk) -> Any:
    """True in the steps that come 64 after a switch to A, without another in between."""
    into_a = walks.switched & (walks.environment == 0)
    switches = np.cumsum(walks.switched, axis=1)
    read = np.zeros_like(into_a)
    read[:, LATER:] = into_a[:, :-LATER] & (switches[:, LATER:] == switches[:, :-LATER])
    return read


def _summed(cells: list[Cell], learner: str, read: Any, errors: Floats) -> DataFrame:
    late = read & (np.arange(read.shape[1]) >= read.shape[1] // 2)
    table = DataFrame(cells, columns=Cell._fields).assign(learner=learner, switches=read.sum(1))
    return table.assign(error=_mean(errors, read), late=_mean(errors, late))


def _mean(values: Floats, where: Any) -> Floats:
    """The mean in each row of the values there; NaN where there are none."""
    count = where.sum(1)
    return np.where(count > 0, np.where(where, values, 0).sum(1) / np.maximum(count, 1), np.nan)


def claims(numbers: Numbers) -> list[Claim]:
    """What each learner's error depends on."""
    table = concat(numbers.values())
    ours, em, naives = (table[table.learner == name] for name in LEARNERS)
    return [_smile(ours), _naive(naives), _em(em), _better(ours, naives)]


def _smile(ours: DataFrame) -> Claim:
    depends = _dependence(ours, "error")
    return Claim(
        "Fig. 8A",
        "SMiLe's error after a switch depends little on how long and how often A is visited.",
        "low error throughout",
        f"mean {interval(_by_walk(ours, 'error'))}; {_told(depends)}",
        verdict(value < LITTLE for value in depends.values()),
        "It forgets the other environment at a rate of its own, whatever the switches do; counted as little below 30 "
        "%.",
    )


def _naive(naives: DataFrame) -> Claim:
    depends = _dependence(naives, "error")
    means = naives.groupby("psi").error.mean()
    return Claim(
        "Fig. 8C",
        "The error of naive Bayes is set by the share of time spent in A, and falls with it; the stay does not matter.",
        "decreases with psi, whatever tau",
        f"{means.iloc[0]:.3g} at psi = {means.index[0]}, {means.iloc[-1]:.3g} at {means.index[-1]}; {_told(depends)}",
        verdict([depends["tau"] < LITTLE, depends["psi"] > LITTLE and bool((means.diff().dropna() < 0).all())]),
        "It learns the mixture of both environments, at a distance of (1 - psi)^2 times theirs from A.",
    )


def _em(em: DataFrame) -> Claim:
    depends = _dependence(em, "late")
    means = em.groupby("psi").late.mean()
    return Claim(
        "Fig. 8B",
        "Once it has learned, online EM's error depends on neither how long nor how often A is visited.",
        "similar to SMiLe: low throughout",
        f"second half of the walks: mean {interval(_by_walk(em, 'late'))}, from {means.max():.3g} at psi = "
        f"{means.idxmax()} to {means.min():.3g} at {means.idxmin()}; {_told(depends)}",
        verdict(value < LITTLE for value in depends.values()),
        "Its statistics rest on about the last 1000 steps (one over the learning rate), of which those in A are a "
        "share "
        "psi: the less A is visited, the fewer samples it has; counted as little below 30 %.",
    )


def _better(ours: DataFrame, naives: DataFrame) -> Claim:
    gap = ours.groupby("psi").error.mean() - naives.groupby("psi").error.mean()
    wins = gap.index[gap < 0]
    middle = min(gap.index, key=lambda psi: abs(psi - 0.5))
    return Claim(
        "section 2.4, maze",
        "SMiLe adapts to the environment visited after a switch where naive Bayes cannot.",
        "lower error (Figs. 8A, 8C)",
        f"error of SMiLe minus that of naive Bayes: {gap.iloc[0]:.3g} at psi = {gap.index[0]}, {gap[middle]:.3g} at "
        f"{middle}, {gap.iloc[-1]:.3g} at {gap.index[-1]}; SMiLe is better at psi = "
        f"{', '.join(map(str, wins)) or 'none'}",
        verdict(gap < 0),
        "At m = 0.1 its own fluctuations are larger than the error of the mixture, unless A is visited seldom.",
    )


def _by_walk(table: DataFrame, column: str) -> Any:
    """One number per walk of a cell, averaged over cells."""
    return table.groupby("episode")[column].mean()


def _dependence(table: DataFrame, column: str) -> dict[str, float]:
    """How much the error varies with either variable, averaged over the other: standard deviation over mean."""
    cells = table.groupby(["tau", "psi"])[column].mean().unstack()
    by = {"psi": cells.mean(axis=0), "tau": cells.mean(axis=1)}
    return {name: float(means.std() / means.mean()) for name, means in by.items()}


def _told(depends: dict[str, float]) -> str:
    return f"varies by {depends['psi']:.0%} with psi, by {depends['tau']:.0%} with tau (standard deviation over mean)"


def draw(numbers: Numbers) -> "Drawing":
    """Three maps on one scale."""
    import matplotlib.pyplot as plt

    table = concat(numbers.values())
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
    "8",
    "Error after a switch",
    CAPTION,
    tuple(_name(tau) for tau in TAUS),
    compute,
    draw,
    claims,
)

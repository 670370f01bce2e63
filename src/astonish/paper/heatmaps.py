"""Figure 8: how does what is known 64 steps after a switch depend on how long, and how often, A is visited?"""

from functools import partial
from typing import TYPE_CHECKING, Any

import jax
import matplotlib as mpl
import numpy as np
from pandas import DataFrame, concat

from astonish.paper.claims import Claim, interval, verdict
from astonish.paper.figure import Figure
from astonish.paper.study import Numbers, Study
from astonish.paper.visits import LEARNERS, TAUS, sweep
from astonish.plot import STYLE
from astonish.sweep import run_sweep

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

LITTLE = 0.3
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
    table = run_sweep(sweep(study.seed, study.quick, taus)).table()
    return {_name(tau): table[table.tau == tau] for tau in taus}


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
    return draw_table(concat(numbers.values()))


def draw_table(table: DataFrame) -> "Drawing":
    """The same, from all numbers in one table."""
    import matplotlib.pyplot as plt

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

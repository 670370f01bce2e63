"""Figure 8: the error 64 steps after a switch, over how long, and how often, A is visited.

For `astonish sweep` there are studies of this figure on many machines, and of any learners in the maze of section 2.4.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array
from pandas import DataFrame, concat

from astonish.core.names import OutcomeKind
from astonish.core.numbers import COUNT, PROBABILITY, BoolArray, FloatArray
from astonish.learners import PerContext
from astonish.learners.base import Learner
from astonish.models.parameters import Outcomes, assemble, known_facts
from astonish.online.measures import check_holds_a_belief
from astonish.paper import maze_learners as agents
from astonish.paper.figure import Claim, Drawing, Figure, RunSettings, Tables, interval, letter_panels, listed, verdict
from astonish.paper.maze_learners import OURS, ROOMS, MazeWalks, OnlineEMSettings
from astonish.report.style import STYLE
from astonish.sweep.kinds import SEED, Options, World, checked_options, own_parameters, study_in
from astonish.sweep.study import Batching, Result, Setting, Study
from astonish.worlds.maze import A, B, Maze, maze, others, probabilities_of_leaving, rearranged, walk

LITTLE = 0.3
ANEW = "starts anew,"  # a learner that is told of each switch, and the number of visits that it imagines
CAPTION = (
    "The error 64 steps after a switch from B to A (if the environment stays A for so long), over the average stay in "
    "A (tau) and the share of time spent in A (psi), for SMiLe (m = 0.1), online EM and naive Bayes: 20 walks of 20000 "
    "steps per cell, each with an arrangement B of its own; mean over walks of the mean over switches. Above: one "
    "logarithmic scale; below: a linear one from 0 to 0.02. White lines on the scales: the error of equal "
    "probabilities for all rooms (upper), and that of a learner that is told of each switch and starts anew (lower)."
)
TAUS = (25, 50, 75, 100, 150, 200, 250, 300, 400, 500)
PSIS = (0.05, 0.15, 0.25, 0.35, 0.45, 0.55, 0.65, 0.75, 0.85, 0.95)
Cell = tuple[int, float, int]  # of a walk: tau, psi, and which of several it is
LATER = 64
OFTEN = 0.1  # the paper's limit on the probabilities of a switch (caption of Fig. 4)
EQUAL = float(np.square(others(maze(A, B).transitions[0]) - 1 / (ROOMS - 1)).sum()) / ROOMS**2  # for all rooms
PRIORS = (0.0, 0.01, 0.03, 0.1, 0.2, 0.5, 1.0)  # imagined visits of each room, of the learner that starts anew
LOW = 1.5
TOGETHER = 50  # walks in one compiled call: enough to fill a core, few enough for its cache
BYTES = 250  # that a step of a walk takes on an accelerator
LEARNERS: dict[str, Callable[[MazeWalks, Any, OnlineEMSettings], FloatArray]] = {  # of online EM every walk has a seed
    "SMiLe": lambda where, *_: agents.errors(agents.smile(), MazeWalks(where.walk, where.truth[:, :1])),
    "online EM": lambda where, seeds, settings: np.asarray(agents.errors_of_em_on_device(where, seeds, settings)),
    "naive Bayes": lambda where, *_: agents.errors(agents.naive(), MazeWalks(where.walk, where.truth[:, :1])),
}


def study_of(run: RunSettings) -> Study:
    """Describe the study behind the figure; each setting is as many walks as fill a core."""
    psis, walks, steps = (PSIS[1::4], 2, 2500) if run.quick else (PSIS, 20, 20000)
    settings = {}
    for tau in TAUS:
        cells = [[tau, psi, episode] for psi in psis for episode in range(walks)]
        for part, at in enumerate(range(0, len(cells), TOGETHER)):
            some = cells[at : at + TOGETHER]
            settings[f"fig8/tau={tau}/{part}"] = {"seed": run.seed, "steps": steps, "cells": some}
    return of_cells(settings)


def of_cells(settings: Mapping[str, Setting]) -> Study:
    """Describe the study of these settings."""
    batching = Batching(
        simulate, lambda part: part["steps"], lambda part: len(part["cells"]), lambda part: BYTES * part["steps"]
    )
    return Study(settings, lambda part: simulate([part])[0], _summarise, draw, batching)


def simulate(parts: Sequence[Setting]) -> list[Result]:
    """Compute the errors after switches of all learners (first axis), on the same walks (second).

    A setting may say when to read them (`later`) and what online EM starts from (`em`), all settings the same.
    """
    later, settings = parts[0].get("later", LATER), OURS._replace(**parts[0].get("em", {}))
    sizes = [len(part["cells"]) for part in parts]
    cells = [cell for part in parts for cell in part["cells"]]
    where = scenes(np.repeat([part["seed"] for part in parts], sizes), cells, parts[0]["steps"])
    seeds = np.concatenate([np.arange(size) for size in sizes])
    read = agents.after_switches(where.walk, 0, later)
    late = read & (np.arange(read.shape[1]) >= read.shape[1] // 2)
    by_learner = [errors_of(where, seeds, settings)[..., 0] for errors_of in LEARNERS.values()]
    columns = {"switches": read.sum(1), "anew": _errors_anew(where, read, later)}
    for name, at in (("error", read), ("late", late)):  # NaN where a walk has no such step
        columns[name] = np.stack([np.ma.array(e, mask=~at).mean(axis=1).filled(np.nan) for e in by_learner])
    split = {name: np.split(column, np.cumsum(sizes)[:-1], axis=-1) for name, column in columns.items()}
    return [{name: some[k] for name, some in split.items()} for k in range(len(parts))]


def _errors_anew(where: MazeWalks, read: BoolArray, later: int) -> FloatArray:
    """The mean error of a learner that forgets all at each switch, for each of `PRIORS` (first axis) and walk."""
    here, there = where.walk.choices
    errors = np.full((len(PRIORS), len(read)), np.nan)
    for episode, steps in enumerate(map(np.flatnonzero, read)):
        if len(steps):
            window = steps[:, None] + np.arange(-later, 1)  # since the switch, the first step in A included
            counts = np.zeros((len(steps), ROOMS, ROOMS - 1))
            np.add.at(counts, (np.arange(len(steps))[:, None], here[episode][window], there[episode][window]), 1)
            truth = others(where.truth[episode, 0])
            errors[:, episode] = [np.square(frequencies(counts, prior) - truth).sum((1, 2)).mean() for prior in PRIORS]
    return errors / ROOMS**2


def frequencies(counts: FloatArray, prior: float) -> FloatArray:
    """Estimate probabilities by counts of visits (last axis) and imagined ones; equal ones where there is neither."""
    total = counts.sum(-1, keepdims=True) + prior * counts.shape[-1]
    return np.where(total > 0, (counts + prior) / np.where(total > 0, total, 1), 1 / counts.shape[-1])


def _summarise(parts: Mapping[str, Result]) -> DataFrame:
    """A row for each cell and learner."""
    tables = []
    for part in parts.values():
        table = DataFrame(part["cells"], columns=["tau", "psi", "episode"])
        errors = dict(zip(LEARNERS, zip(part["error"], part["late"], strict=True), strict=True))
        errors |= {f"{ANEW} {prior:g}": (anew, anew) for prior, anew in zip(PRIORS, part["anew"], strict=True)}
        for name, (error, late) in errors.items():
            tables.append(table.assign(learner=name, switches=part["switches"], error=error, late=late))
    return concat(tables)


def scenes(seed: Any, cells: Sequence[Cell], steps: int) -> MazeWalks:
    """Walk, each time in a maze of its own. seed: one for all, or one for each."""
    starts = np.broadcast_to(seed, len(cells)).tolist()
    seeds = [[s, tau, round(100 * psi), episode] for s, (tau, psi, episode) in zip(starts, cells, strict=True)]
    mazes = Maze(np.stack([rearranged(s).doors for s in seeds]))
    leave = [probabilities_of_leaving(tau, psi) for tau, psi, _ in cells]
    return MazeWalks(walk(mazes, steps, [[*s, 1] for s in seeds], leave), mazes.transitions)


def claims(tables: Tables) -> list[Claim]:
    """Judge what each learner's error depends on."""
    table = concat(tables.values())
    ours, em, naives = (table[table.learner == name] for name in LEARNERS)
    by_em, by_naive = _dependence(em, "late"), _dependence(naives, "error")
    late = interval(em.groupby("episode").late.mean())
    naive, means = naives.groupby("psi").error.mean(), em.groupby("psi").late.mean()
    by_smile, mean = _dependence(ours, "error"), interval(ours.groupby("episode").error.mean())
    cells, anew = ours.groupby(["tau", "psi"]).error.mean(), best_anew(table)
    gap = ours.groupby("psi").error.mean() - naive
    middle, wins = min(gap.index, key=lambda psi: abs(psi - 0.5)), listed(gap.index[gap < 0]) or "none"
    return [
        Claim(
            "visits.low",
            "Fig. 8A",
            "SMiLe's error after a switch is low throughout.",
            "spread of blue color (lower error)",
            f"mean {mean}, from {cells.min():.3g} to {cells.max():.3g} in the cells; equal probabilities for all rooms "
            f"{EQUAL:.3g}; a learner that is told of each switch and starts anew, at its best {anew:.3g}",
            verdict([cells.max() < EQUAL, cells.max() < LOW * anew]),
            f"Low: below that of equal probabilities, and below {LOW:g} times that of the learner without memory, both "
            "in every cell.",
        ),
        Claim(
            "visits.independent",
            "Fig. 8A",
            "SMiLe's error after a switch depends little on how long and how often A is visited.",
            "even if the fraction of time is relatively short",
            f"{by_smile}; without the cells in which a switch has a probability above {OFTEN:g}: "
            f"{_dependence(ours[seldom(ours)], 'error')}",
            verdict(value < LITTLE for value in by_smile),
            "It forgets the other environment at a rate of its own, whatever the switches do; counted as little below "
            "30 %.",
        ),
        Claim(
            "visits.naive",
            "Fig. 8C",
            "The error of naive Bayes is set by the share of time spent in A, and falls with it; the stay does not "
            "matter.",
            "decreases with psi, whatever tau",
            f"{naive.iloc[0]:.3g} at psi = {naive.index[0]}, {naive.iloc[-1]:.3g} at {naive.index[-1]}; {by_naive}",
            verdict([by_naive.tau < LITTLE, by_naive.psi > LITTLE and (naive.diff().dropna() < 0).all()]),
            "It learns the mixture of both environments, at a distance of (1 - psi)^2 times theirs from A.",
        ),
        Claim(
            "visits.em",
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
            "visits.mixture",
            "section 2.4, maze",
            "SMiLe adapts to the environment visited after a switch where naive Bayes cannot.",
            "lower error (Figs. 8A, 8C)",
            f"error of SMiLe minus that of naive Bayes: {gap.iloc[0]:.3g} at psi = {gap.index[0]}, {gap[middle]:.3g} "
            f"at {middle}, {gap.iloc[-1]:.3g} at {gap.index[-1]}; SMiLe is better at psi = {wins}",
            verdict(gap < 0),
            "At m = 0.1 its own fluctuations are larger than the error of the mixture, unless A is visited seldom.",
        ),
    ]


def seldom(table: DataFrame) -> list[bool]:
    """Tell which rows are of cells in which switches have a probability of at most the paper's limit."""
    return [max(probabilities_of_leaving(tau, psi)) <= OFTEN for tau, psi in zip(table.tau, table.psi, strict=True)]


def by_stay(table: DataFrame) -> Tables:
    """Split a table by average stay: an error per share of time, walk and learner in each."""
    return {f"tau{tau}": table[table.tau == tau] for tau in TAUS}


def best_anew(table: DataFrame) -> float:
    """Compute the error of the learner that starts anew at each switch, with the best number of imagined visits."""
    return float(table[table.learner.str.startswith(ANEW)].groupby("learner").error.mean().min())


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
    """Draw three maps on a logarithmic scale, and the same on a linear one, from all tables in one."""
    import matplotlib as mpl
    import matplotlib.pyplot as plt

    cells = {name: table[table.learner == name].groupby(["tau", "psi"]).error.mean().unstack() for name in LEARNERS}
    least, most = (float(of([of(part.to_numpy()) for part in cells.values()])) for of in (np.nanmin, np.nanmax))
    scales = (mpl.colors.LogNorm(least, most), mpl.colors.Normalize(0, 0.02))
    with mpl.rc_context(STYLE | {"axes.spines.top": True, "axes.spines.right": True}):
        figure, axes = plt.subplots(2, 3, figsize=(7.2, 5), sharex=True, sharey=True, layout="constrained")
        for row, scale in zip(axes, scales, strict=True):
            for axis, name in zip(row, LEARNERS, strict=True):
                image = axis.imshow(cells[name], origin="lower", aspect="auto", cmap="viridis", norm=scale)
            bar = figure.colorbar(image, ax=row, label="error (mean square)")
            bar.ax.hlines(
                [EQUAL, best_anew(table)], 0, 1, colors="white", lw=1.2, transform=bar.ax.get_yaxis_transform()
            )
        letter_panels(axes[0], "ABC")
        for axis, name in zip(axes[0], LEARNERS, strict=True):
            axis.set_title(name)
        shape = cells["SMiLe"]
        axes[0, 0].set(xticks=range(0, shape.shape[1], 2), xticklabels=shape.columns[::2])
        axes[0, 0].set(yticks=range(len(shape)), yticklabels=shape.index)
        figure.supylabel(r"average stay in A, $\tau_A$ (steps)", fontsize=9)
        figure.supxlabel(r"share of time spent in A, $\psi_A$", fontsize=9)
    return figure


FIGURE_8 = Figure(
    "8",
    "Error after a switch",
    CAPTION,
    study_of,
    lambda tables: draw(concat(tables.values())),
    claims,
    lambda study, results: by_stay(study.table(results)),
)

# Studies for `astonish sweep`

ALLOWED = {"hazard": (0.005, PROBABILITY), "seed": (1, SEED), "episodes": (20, COUNT), "steps": (20000, COUNT)}


def _learner(setting: Setting) -> Learner:
    """The learner of a setting, with a belief for each room, which is compared with the truth."""
    outcomes = Outcomes(OutcomeKind.TRANSITIONS, known_facts({}), labels=ROOMS - 1, contexts=ROOMS)
    learner = assemble(setting["learner"], outcomes, own_parameters(setting, ALLOWED), contexts="apart").learner
    check_holds_a_belief(learner)
    return learner


def _series(setting: Setting) -> tuple[Any, ...]:
    seeds = [[setting["seed"], episode] for episode in range(setting["episodes"])]
    walks, truth = agents.walks_in(maze(A, B), setting["steps"], seeds, (setting["hazard"], setting["hazard"]))
    return walks.choices, others(truth), walks.environment


def _errors(learner: PerContext, samples: Any, truth: Array, environment: Array) -> dict[str, Array]:
    """The error in the environment of the moment, a mean over a walk: of all steps, and of the last quarter."""
    errors = agents.errors_of_one(learner, samples, truth)
    now = jnp.where(environment == 0, errors[:, 0], errors[:, 1])
    return {"error": now.mean(), "late_error": now[-(len(now) // 4 + 1) :].mean()}


study_of_maze = partial(study_in, World("maze", ALLOWED, _learner, _series, _errors))


def study_of_figure8(world: Options, learners: Sequence[Options]) -> Study:
    """Describe Figure 8, its 120 million learner-steps on many machines. quick: small, to see that it works."""
    if learners:
        raise ValueError("figure8 has learners of its own; leave out [[learner]]")
    quick = world.get("quick", False)
    if not isinstance(quick, bool):
        raise ValueError(f"[study]: quick = {quick!r} is not known; give true or false")
    options = {option: value for option, value in world.items() if option != "quick"}
    seed = checked_options(options, {"seed": (1, SEED)})["seed"]
    if isinstance(seed, list):
        raise ValueError(f"[study]: seed = {seed} are several, and a figure has one; give one")
    return study_of(RunSettings(seed, quick))

"""What does the paper not state, what did we choose, and does a verdict depend on it?

Each choice is replaced by others, the figure that it concerns is computed again, and its verdicts are compared with
those that our choice leads to, at the same size and seed.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from textwrap import shorten
from typing import Any, NamedTuple

import jax.numpy as jnp
import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from pandas import DataFrame, concat

from astonish.core.numbers import Number
from astonish.learners import Nassar2010
from astonish.learners.base import StepInfo
from astonish.learners.nassar import RunLength
from astonish.paper import figure3, figure5, figure6, figure7, figure8
from astonish.paper.agents import FIRST_PROBABILITIES, OURS, MazeWalks, walks_of
from astonish.paper.claims import FAILS, HOLDS, IN_PART, Claim, verdict
from astonish.paper.figure import Drawing, Figure, RunSettings, Tables, simulated
from astonish.paper.figure3 import GaussianTask
from astonish.report.style import BLUE, ORANGE, VERMILLION
from astonish.sweep.run import run_study
from astonish.worlds.maze import rearranged, walk

PSIS, WALKS = figure8.PSIS[::2], 6  # of Figure 8, in small
CAPTION = (
    "What the paper leaves open. Each row replaces one of our choices by another and computes a figure again; each "
    "square is one claim of that figure, in the order of the report, coloured by the verdict that the other choice "
    "leads to. Crosses mark the verdicts that differ from those of our own choice."
)
Simulation = Callable[[RunSettings], Tables]


class _NoJumpOutside(Nassar2010):
    """Gives a jump no probability where a sample lies outside the range of the mean."""

    def step(self, state: RunLength, x: Number) -> tuple[RunLength, StepInfo]:
        inside = (self.low <= jnp.asarray(x)) & (jnp.asarray(x) <= self.high)
        hazard = jnp.where(inside, self.hazard, 1e-12)
        return Nassar2010.step(replace(self, hazard=hazard), state, x)


class _FirstSampleCounts(Nassar2010):
    """Starts from a run length of nearly zero, so that the first sample is its first estimate."""

    def init(self) -> RunLength:
        start = super().init()
        return start._replace(length=jnp.full_like(start.length, 1e-3))


class Choice(NamedTuple):
    """One thing that the paper does not state.

    id: of the claim about it, after "unstated.". about: what. ours: what we chose. figure: whose verdicts may depend
    on it. usual: the tables of our choice. others: those of each other choice, by its name.
    """

    id: str
    about: str
    ours: str
    figure: Figure
    usual: Simulation
    others: Mapping[str, Simulation]


def _gaussian(**changed: Any) -> Simulation:
    return lambda run: figure3.simulate(run, GaussianTask(**changed))


def _small(run: RunSettings) -> MazeWalks:
    return walks_of(run, 20, 20)


def _other_b(run: RunSettings) -> MazeWalks:
    """The same number of walks in a maze with another arrangement B."""
    other = rearranged([run.seed, 6])
    steps = 5000 if run.quick else 20000
    seeds = [[run.seed, episode] for episode in range(len(_small(run).truth))]
    return MazeWalks(walk(other, steps, seeds), np.stack([other.transitions] * len(seeds)))


def _speed(**changed: Any) -> Simulation:
    return lambda run: figure7.simulate(run, OURS._replace(**changed), _small(run))


def _after(**changed: Any) -> Simulation:
    """Figure 8 in small."""

    def simulate(run: RunSettings) -> Tables:
        steps, walks = (2500, 1) if run.quick else (20000, WALKS)
        cells = [[tau, psi, episode] for tau in figure8.TAUS for psi in PSIS for episode in range(walks)]
        study = figure8.of_cells({"small": {"seed": run.seed, "steps": steps, "cells": cells} | changed})
        table = study.table(run_study(study).results)
        return {f"tau{tau}": table[table.tau == tau] for tau in figure8.TAUS}

    return simulate


def _seldom(run: RunSettings) -> Tables:
    """Figure 8 in small, without the cells in which a switch has a probability above the paper's limit."""
    return {name: table[figure8.seldom(table)] for name, table in _after()(run).items()}


FIRST = {name: {"first": name} for name in FIRST_PROBABILITIES if name != OURS.first}
RATES = {f"{rate:g}": {"rate": rate} for rate in (0.0005, 0.002)}
CHOICES: Sequence[Choice] = (
    Choice(
        "hazards",
        "The two hazards in Figs. 3C and 3D besides 0.01 and 0.066", "0.033 and 0.1", figure3.FIGURE_3, _gaussian(),
        {"0.03 and 0.2": _gaussian(hazards=(0.01, 0.03, 0.066, 0.2))},
    ),
    Choice(
        "nassar-outside",
        "What Nassar 2010 makes of samples outside the range of the mean", "a jump as probable as inside it",
        figure3.FIGURE_3, _gaussian(), {"no jump": _gaussian(nassar=_NoJumpOutside)},
    ),
    Choice(
        "nassar-start",
        "The run length that Nassar 2010 starts from", "1, with the middle of the range as its estimate",
        figure3.FIGURE_3, _gaussian(),
        {"0, so that the first sample is its estimate": _gaussian(nassar=_FirstSampleCounts)},
    ),
    Choice(
        "error-before",
        "When the error of the Gaussian task is measured", "after the sample has been seen", figure3.FIGURE_3,
        _gaussian(), {"before it is seen": _gaussian(before=True)},
    ),
    Choice(
        "rooms-figure5",
        "The arrangement of environment B, but for the neighbours of room 6 (Fig. 5)", "an arbitrary one",
        figure5.FIGURE_5, lambda run: figure5.simulate(run, _small(run)),
        {"a random one": lambda run: figure5.simulate(run, _other_b(run))},
    ),
    Choice(
        "rooms-figure7",
        "The arrangement of environment B, but for the neighbours of room 6 (Fig. 7)", "an arbitrary one",
        figure7.FIGURE_7, _speed(), {"a random one": lambda run: figure7.simulate(run, OURS, _other_b(run))},
    ),
    Choice(
        "first-step-figure6",
        "Which step is the first after a switch (Fig. 6)", "the one in which the environment is new; read 100 later",
        figure6.FIGURE_6, lambda run: figure6.simulate(run, 100, _small(run)),
        {"the one before; read one step earlier": lambda run: figure6.simulate(run, 99, _small(run))},
    ),
    Choice(
        "first-step-figure8",
        "Which step is the first after a switch (Fig. 8)", "the one in which the environment is new; read 64 later",
        figure8.FIGURE_8, _after(), {"the one before; read one step earlier": _after(later=63)},
    ),
    Choice(
        "frequent-switches",
        "Whether Fig. 8 has cells in which a switch has a probability above 0.1, the limit in the caption of Fig. 4",
        "it has, so that the grid is complete", figure8.FIGURE_8, _after(), {"it has not": _seldom},
    ),
    Choice(
        "first-moves-figure7",
        "The probabilities of moves that online EM starts from, T0 (Fig. 7)", OURS.first, figure7.FIGURE_7, _speed(),
        {name: _speed(**changed) for name, changed in FIRST.items()},
    ),
    Choice(
        "first-moves-figure8",
        "The probabilities of moves that online EM starts from, T0 (Fig. 8)", OURS.first, figure8.FIGURE_8, _after(),
        {name: _after(em=changed) for name, changed in FIRST.items()},
    ),
    Choice(
        "em-rate-figure7",
        "The learning rate of online EM, eta (Fig. 7)", f"{OURS.rate:g}", figure7.FIGURE_7, _speed(),
        {name: _speed(**changed) for name, changed in RATES.items()},
    ),
    Choice(
        "em-rate-figure8",
        "The learning rate of online EM, eta (Fig. 8)", f"{OURS.rate:g}", figure8.FIGURE_8, _after(),
        {name: _after(em=changed) for name, changed in RATES.items()},
    ),
)  # fmt: skip


def _simulate(run: RunSettings) -> DataFrame:
    """One row per other choice and claim: its verdict with our choice, and with the other one."""

    @cache
    def claims_of(figure: str, simulation: Simulation) -> list[Claim]:
        return FIGURES[figure].claims(simulation(run))

    tables = []
    for choice in CHOICES:
        usual = claims_of(choice.figure.name, USUAL[choice.figure.name])
        for name, simulation in choice.others.items():
            found = claims_of(choice.figure.name, simulation)
            rows = [
                (
                    choice.id,
                    choice.about,
                    choice.ours,
                    name,
                    choice.figure.name,
                    ours.where,
                    ours.says,
                    ours.verdict,
                    other.verdict,
                )
                for ours, other in zip(usual, found, strict=True)
                if not ours.ours
            ]
            tables.append(DataFrame(rows, columns=COLUMNS))
    return concat(tables)


COLUMNS = ["choice", "about", "ours", "other", "figure", "where", "says", "verdict", "other_verdict"]
FIGURES = {choice.figure.name: choice.figure for choice in CHOICES}
USUAL = {choice.figure.name: choice.usual for choice in reversed(CHOICES)}


def claims(tables: Tables) -> list[Claim]:
    """For each thing that the paper leaves open: whether a verdict depends on it."""
    table = tables["verdicts"]
    return [_claim(str(choice), part) for choice, part in table.groupby("choice", sort=False)]


def _claim(choice: str, table: DataFrame) -> Claim:
    changed = {other: part[part.verdict != part.other_verdict] for other, part in table.groupby("other", sort=False)}
    found = [f"{other!s}: {_difference(len(table) // len(changed), rows)}" for other, rows in changed.items()]
    figures = ", ".join(sorted(set(table.figure.astype(str))))
    return Claim(
        f"unstated.{choice}",
        f"figure {figures}",
        f"{table.about.iloc[0].rstrip('.')}: another choice changes no verdict.",
        "not stated",
        "; ".join(found),
        verdict(not len(rows) for rows in changed.values()),
        f"Ours: {table.ours.iloc[0]}.",
        ours=True,
    )


def _difference(number: int, changed: DataFrame) -> str:
    if changed.empty:
        return f"none of {number} verdicts changes"
    each = (f"“{row.says}” ({row.verdict}, then {row.other_verdict})" for row in changed.itertuples())
    return f"{len(changed)} of {number} verdicts change: {' '.join(each)}"


def draw(tables: Tables) -> Drawing:
    """A row of squares for each other choice."""
    table = tables["verdicts"]
    groups = list(table.groupby(["about", "other"], sort=False))
    figure, axis = plt.subplots(figsize=(7.2, 0.34 * len(groups) + 0.9), layout="constrained")
    colours = {HOLDS: BLUE, IN_PART: ORANGE, FAILS: VERMILLION}
    for row, (_, part) in enumerate(groups):
        for column, (ours, other) in enumerate(zip(part.verdict, part.other_verdict, strict=True)):
            axis.add_patch(mpl.patches.Rectangle((column + 0.1, row + 0.1), 0.8, 0.8, color=colours[other]))
            if ours != other:
                axis.plot(column + 0.5, row + 0.5, "x", color="white", ms=6, mew=2)
    labels = [f"{shorten(str(about), 70, placeholder=' …')}\n{other}" for (about, other), _ in groups]
    axis.set_yticks(np.arange(len(groups)) + 0.5, labels, fontsize=6)
    axis.set(xlim=(0, max(len(part) for _, part in groups)), ylim=(len(groups), 0), xticks=[])
    axis.set_xlabel("claims of the figure")
    axis.legend(
        handles=[mpl.patches.Patch(color=colour, label=name) for name, colour in colours.items()],
        loc="lower right", bbox_to_anchor=(1, 1), ncols=3, fontsize=7,
    )  # fmt: skip
    return figure


CHOICES_FIGURE = Figure(
    "choices", "What the paper leaves open", CAPTION, simulated({"verdicts": _simulate}), draw, claims, thorough=True
)

"""What does each learner know 64 steps after a switch, in many walks? The study behind Figure 8."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from pandas import DataFrame, concat

from astonish.paper.agents import Floats, Setting, em_on_device, errors, naive, smile
from astonish.sweep import Result, Study, Together
from astonish.sweep import Setting as Part
from astonish.tasks.maze import Maze, Walk, chances_of_leaving, rearranged, walk

TAUS = (25, 50, 75, 100, 150, 200, 250, 300, 400, 500)
PSIS = (0.05, 0.15, 0.25, 0.35, 0.45, 0.55, 0.65, 0.75, 0.85, 0.95)
LATER = 64
AT_ONCE = 50  # walks in one compiled call: enough to fill a core, few enough for its cache
BYTES = 250  # that a step of a walk takes on an accelerator
LEARNERS: dict[str, Callable[[Setting, Any], Floats]] = {  # of online EM every walk has a seed
    "SMiLe": lambda where, _: errors(smile(), Setting(where.walk, where.truth[:, :1])),
    "online EM": lambda where, seeds: np.asarray(em_on_device(where, seed=seeds).errors),
    "naive Bayes": lambda where, _: errors(naive(), Setting(where.walk, where.truth[:, :1])),
}


class Cell(NamedTuple):
    """One walk: its average stay in A, the share of time it spends there, and which of several it is."""

    tau: int
    psi: float
    episode: int


def sweep(seed: int = 1, quick: bool = False, taus: Sequence[int] = TAUS) -> Study:
    """The study behind the figure; each setting is as many walks as fill a core."""
    psis, walks, steps = (PSIS[1::4], 2, 2500) if quick else (PSIS, 20, 20000)
    settings = {}
    for tau in taus:
        cells = [Cell(tau, psi, episode) for psi in psis for episode in range(walks)]
        for part, at in enumerate(range(0, len(cells), AT_ONCE)):
            some = [list(cell) for cell in cells[at : at + AT_ONCE]]
            settings[f"fig8/tau={tau}/{part}"] = {"seed": seed, "steps": steps, "cells": some}
    return of_cells(settings)


def of_cells(settings: Mapping[str, Part]) -> Study:
    """The study of these settings."""
    return Study(settings, _compute, _summarise, together=Together(simulate, _alike, _episodes, _memory))


def simulate(parts: Sequence[Part]) -> list[Result]:
    """The errors after switches of all learners (first axis), on the same walks (second)."""
    sizes = [len(part["cells"]) for part in parts]
    cells = [Cell(*cell) for part in parts for cell in part["cells"]]
    where = scenes(np.repeat([part["seed"] for part in parts], sizes), cells, parts[0]["steps"])
    seeds = np.concatenate([np.arange(size) for size in sizes])
    read = _after_switches(where.walk)
    late = read & (np.arange(read.shape[1]) >= read.shape[1] // 2)
    found = [errors(where, seeds)[..., 0] for errors in LEARNERS.values()]
    columns = {"error": [_mean(each, read) for each in found], "late": [_mean(each, late) for each in found]}
    ends = np.cumsum(sizes)[:-1]
    counts = np.split(read.sum(1), ends)
    split = {name: np.split(np.stack(column), ends, axis=1) for name, column in columns.items()}
    return [{"switches": counts[k], **{name: some[k] for name, some in split.items()}} for k in range(len(parts))]


def _compute(part: Part) -> Result:
    return simulate([part])[0]


def _alike(part: Part) -> Any:
    return part["steps"]


def _episodes(part: Part) -> int:
    return len(part["cells"])


def _memory(part: Part) -> float:
    return BYTES * part["steps"]


def _summarise(known: Mapping[str, Result]) -> DataFrame:
    """A row for each cell and learner."""
    tables = []
    for part in known.values():
        for k, name in enumerate(LEARNERS):
            table = DataFrame([tuple(cell) for cell in part["cells"]], columns=Cell._fields)
            columns = {"error": part["error"][k], "late": part["late"][k]}
            tables.append(table.assign(learner=name, switches=part["switches"], **columns))
    return concat(tables)


def scenes(seed: Any, cells: Sequence[Cell], steps: int) -> Setting:
    """The walks, each in a maze of its own. seed: one for all, or one for each."""
    each = np.broadcast_to(seed, len(cells)).tolist()
    seeds = [[s, cell.tau, round(100 * cell.psi), cell.episode] for s, cell in zip(each, cells, strict=True)]
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


def _mean(values: Floats, where: Any) -> Floats:
    """The mean in each row of the values there; NaN where there are none."""
    count = where.sum(1)
    return np.where(count > 0, np.where(where, values, 0).sum(1) / np.maximum(count, 1), np.nan)

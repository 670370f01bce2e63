"""How large are the errors of our learners at the published parameters, on other series and on those of the authors?

The error is squared, taken after the sample has been seen, and counted from the first step on, as in the program of
Liakoni et al. (2021).
"""

from collections import defaultdict
from collections.abc import Mapping
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from pandas import DataFrame, concat

from astonish.core.numbers import double
from astonish.learners.base import State, scan
from astonish.online.series import OPTIONS
from astonish.paper.figure import RunSettings, Tables
from astonish.sweep.study import Result, Setting, Study
from validation.liakoni2021 import series
from validation.liakoni2021.comparison import compare
from validation.liakoni2021.learners import Case, Make, maker
from validation.liakoni2021.published import SOURCES
from validation.liakoni2021.series import Draw, Floats, Run

TOGETHER, STRETCH = 20, 2000  # series, and steps of each, in one compiled call


class Size(NamedTuple):
    """How many series there are for each noise and hazard, of how many parts, and of how many steps each part.

    Parts are so long that the errors in two of them are nearly independent. Worlds and most learners forget within
    hundreds of steps, but MP10, where samples are noisy, may miss changes for thousands.
    """

    series: int
    parts: int
    steps: int


FULL, QUICK = Size(series.SERIES, parts=5, steps=series.STEPS // 5), Size(series=10, parts=2, steps=STRETCH)
QUICK_SIGMA, QUICK_HAZARDS = 0.5, (0.1, 0.01)


def study_of(published: DataFrame, run: RunSettings) -> Study:
    """The study of our learners' errors; each setting is as many series as are computed together."""
    settings = {}
    worlds = _worlds(published, run.quick)
    for learner in SOURCES:
        of_learner = worlds[worlds.learner == learner]
        for same, size in ((False, QUICK if run.quick else FULL), (True, FULL)):
            for k, runs in enumerate(_together(learner, of_learner, size.series)):
                about = {"learner": learner, "same": same, "size": list(size), "runs": [list(each) for each in runs]}
                settings[f"{table_of(learner, same)}/{k}"] = {**run._asdict(), **about}
    return Study(settings, compute)


def tables_in(published: DataFrame, study: Study, results: Mapping[str, Result]) -> Tables:
    """The published errors, ours learner by learner, and how well they agree."""
    first = next(iter(study.settings.values()))
    theirs = _worlds(published, first["quick"])
    tables: dict[str, list[DataFrame]] = defaultdict(list)
    for name, result in results.items():
        tables[name.split("/")[0]].append(DataFrame(result))
    found = {name: concat(parts, ignore_index=True) for name, parts in tables.items()}
    ours = {learner: (found[table_of(learner)], found[table_of(learner, same=True)]) for learner in SOURCES}
    return {"published": theirs, **found, "comparison": compare(theirs, ours, Size(*first["size"]).steps)}


def table_of(learner: str, same: bool = False) -> str:
    """The name of the table of a learner's errors, on the same series as the authors' or on others.

    >>> table_of("exact Bayes"), table_of("Nas10*", same=True)
    ('exact_bayes', 'nas10_same')
    """
    return f"{learner.rstrip('*').replace(' ', '_').lower()}{'_same' if same else ''}"


def compute(setting: Setting) -> Result:
    """The mean squared error of a learner in each part of some series."""
    draw = series.theirs if setting["same"] else series.new(setting["seed"])
    runs = [Run(*run) for run in setting["runs"]]
    return simulate(setting["learner"], runs, setting["seed"], Size(*setting["size"]), draw)


def simulate(learner: str, runs: list[Run], seed: int, size: Size, draw: Draw) -> Result:
    """A learner's mean squared error in each part of these series, whose learners differ in nothing but numbers.

    seed: of the learner's own chance.
    """
    make = maker(learner, runs[0].sigma)
    drawn = [draw(run, size.parts * size.steps) for run in runs]
    samples, means = (np.reshape(part, (len(runs), -1, min(STRETCH, size.steps))) for part in zip(*drawn, strict=True))
    own = np.array([np.random.default_rng([*run.seeds(seed), 1]).integers(2**31) for run in runs])
    sigma, hazard, parameter, which = np.array(runs, float).T
    errors = []
    with double():
        cases = Case(sigma, hazard, parameter, own)
        states = _first(make, cases)
        for k in range(samples.shape[1]):
            states, error = _through(make, cases, states, samples[:, k], means[:, k])
            errors.append(np.asarray(error))
    by_part = np.reshape(np.transpose(errors), (len(runs), size.parts, -1)).mean(-1)
    about = {"sigma": sigma, "hazard": hazard, "series": which.astype(int)}
    columns = {name: np.tile(column, size.parts) for name, column in about.items()}
    return columns | {"part": np.repeat(np.arange(size.parts), len(runs)), "error": by_part.T.ravel()}


def _worlds(published: DataFrame, quick: bool) -> DataFrame:
    if not quick:
        return published
    few = (published.sigma == QUICK_SIGMA) & published.hazard.isin(QUICK_HAZARDS)
    return published[few].reset_index(drop=True)


def _together(learner: str, worlds: DataFrame, count: int) -> list[list[Run]]:
    """The series of all worlds, so many in each, as they are computed together: learners differ in nothing but numbers.

    worlds: a row for each, with `sigma`, `hazard` and the learner's `parameter`.
    """
    alike: dict[Make, list[Run]] = defaultdict(list)
    for sigma, hazard, parameter in worlds[["sigma", "hazard", "parameter"]].to_numpy(float).tolist():
        chosen = None if np.isnan(parameter) else parameter
        alike[maker(learner, sigma)] += [Run(sigma, hazard, chosen, k) for k in range(count)]
    return [runs[i : i + TOGETHER] for runs in alike.values() for i in range(0, len(runs), TOGETHER)]


@partial(jax.jit, static_argnums=0)
def _first(make: Make, cases: Case) -> State:
    return jax.vmap(lambda case: make(case).init())(cases)


@partial(jax.jit, static_argnums=0, compiler_options=OPTIONS)
def _through(make: Make, cases: Case, states: State, samples: Floats, means: Floats) -> tuple[State, Any]:
    """The states after another stretch of each series, and the mean squared error in it."""

    def one(case: Case, state: State, samples: Any, means: Any) -> tuple[State, Any]:
        trace = scan(make(case), samples, state)
        return trace.state, jnp.square(trace.estimate - means).mean()

    return jax.vmap(one)(cases, states, samples, means)

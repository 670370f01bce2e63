"""How large are the errors of our learners at the published parameters, on other series and on those of the authors?

The error is squared, taken after the sample has been seen, and counted from the first step on, as in the program of
Liakoni et al. (2021).
"""

import os
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from pandas import DataFrame, concat

from astonish.learner import State, scan
from astonish.paper.liakoni2021 import series
from astonish.paper.liakoni2021.comparison import COMPARISON, compare
from astonish.paper.liakoni2021.learners import Case, Make, maker
from astonish.paper.liakoni2021.published import SOURCES, read
from astonish.paper.liakoni2021.series import Draw, Floats, Run
from astonish.paper.study import Numbers, Study
from astonish.precision import double
from astonish.run import OPTIONS

PUBLISHED = "liakoni2021_published"
AT_ONCE, STRETCH = 20, 2000  # series, and steps of each, in one compiled call


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


def table_of(learner: str, same: bool = False) -> str:
    """The name of the table of a learner's errors, on the same series as the authors' or on others.

    >>> table_of("exact Bayes"), table_of("Nas10*", same=True)
    ('liakoni2021_exact_bayes', 'liakoni2021_nas10_same')
    """
    return f"liakoni2021_{learner.rstrip('*').replace(' ', '_').lower()}{'_same' if same else ''}"


TABLES = (PUBLISHED, *(table_of(name, same) for name in SOURCES for same in (False, True)), COMPARISON)


def compute(folder: Path, study: Study) -> Numbers:
    """The published errors, ours learner by learner, and how well they agree."""
    theirs = read(folder)
    if study.quick:
        theirs = theirs[(theirs.sigma == QUICK_SIGMA) & theirs.hazard.isin(QUICK_HAZARDS)].reset_index(drop=True)
    if not study.table(PUBLISHED, lambda: theirs).equals(theirs):
        raise FileExistsError(f"{study.folder} holds a comparison with other data; give another folder with --out")
    size = QUICK if study.quick else FULL
    tables = {PUBLISHED: theirs}
    for learner in SOURCES:
        run = partial(simulate, learner, theirs[theirs.learner == learner], study.seed)
        other, same = table_of(learner), table_of(learner, same=True)
        tables[other] = study.table(other, partial(run, size, series.new(study.seed)))
        tables[same] = study.table(same, partial(run, FULL, series.theirs))
    ours = {learner: (tables[table_of(learner)], tables[table_of(learner, same=True)]) for learner in SOURCES}
    return tables | {COMPARISON: study.table(COMPARISON, lambda: compare(theirs, ours, size.steps))}


def simulate(learner: str, worlds: DataFrame, seed: int, size: Size, draw: Draw) -> DataFrame:
    """A learner's mean squared error in each part of each series, on all cores.

    worlds: a row for each, with `sigma`, `hazard` and the learner's `parameter`. seed: of the learner's own chance.
    """
    alike: dict[Make, list[Run]] = defaultdict(list)  # whose learners differ in nothing but numbers
    for sigma, hazard, parameter in worlds[["sigma", "hazard", "parameter"]].to_numpy(float).tolist():
        alike[maker(learner, sigma)] += [Run(sigma, hazard, parameter, k) for k in range(size.series)]
    chunks = [(make, runs[i : i + AT_ONCE]) for make, runs in alike.items() for i in range(0, len(runs), AT_ONCE)]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return concat(pool.map(lambda c: _errors(c[0], c[1], seed, size, draw), chunks), ignore_index=True)


def _errors(make: Make, runs: list[Run], seed: int, size: Size, draw: Draw) -> DataFrame:
    """The same for some of the series, in one thread."""
    drawn = [draw(run, size.parts * size.steps) for run in runs]
    samples, means = (np.reshape(part, (len(runs), -1, min(STRETCH, size.steps))) for part in zip(*drawn, strict=True))
    own = np.array([np.random.default_rng([*run.seeds(seed), 1]).integers(2**31) for run in runs])
    sigma, hazard, parameter, which = np.array(runs).T
    errors = []
    with double():
        cases = Case(sigma, hazard, parameter, own)
        states = _first(make, cases)
        for k in range(samples.shape[1]):
            states, error = _through(make, cases, states, samples[:, k], means[:, k])
            errors.append(np.asarray(error))
    by_part = np.reshape(np.transpose(errors), (len(runs), size.parts, -1)).mean(-1)
    table = DataFrame({"sigma": sigma, "hazard": hazard, "series": which.astype(int)})
    return concat([table.assign(part=part, error=by_part[:, part]) for part in range(size.parts)])


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

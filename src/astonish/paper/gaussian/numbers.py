"""How large are the errors of SMiLe, of fixed rates and of Nassar 2010, and what does SMiLe do at jumps?"""

from functools import partial
from typing import Any

import jax
import numpy as np
from pandas import DataFrame, concat

from astonish.beliefs import Gaussian
from astonish.learner import Learner, Trace, scan
from astonish.learners import Delta, Nassar2010, Smile
from astonish.paper.study import Numbers, Study
from astonish.precision import as_double, double
from astonish.tasks.gaussian_jumps import Episode, many_gaussian_jumps

HAZARD, HAZARDS = 0.066, (0.01, 0.033, 0.066, 0.1)
NOISE, LOW, HIGH, M = 4.0, -20.0, 20.0, 0.1
START = 0.5 * (LOW + HIGH)
RATES = np.arange(51) / 50
SHOWN = 200  # steps of the episode in panels A and B
BEST, HALF, SMILE, WIDE, NASSAR = LEARNERS = (
    "best fixed rate", "fixed rate 0.5", "SMiLe", "SMiLe, wide prior", "Nassar 2010"
)  # fmt: skip
ERRORS = ("squared", "absolute")
Errors = dict[str, Any]


def compute(study: Study) -> Numbers:
    """All numbers of the figure."""
    return {name: study.table(name, partial(make, study)) for name, make in TABLES.items()}


def episodes(study: Study, hazard: float) -> Episode:
    """All of them, one per row; they share their seeds with those at other hazards."""
    number, steps = (8, 250) if study.quick else (50, 1000)
    return many_gaussian_jumps(steps, [(study.seed, 3, k) for k in range(number)], hazard, NOISE, LOW, HIGH)


def _smile(std: float = NOISE) -> Smile:
    family = Gaussian(NOISE)
    return Smile(family, M, family.prior(START, std))


_scan = jax.jit(jax.vmap(scan, (None, 0)))


@jax.jit
@partial(jax.vmap, in_axes=(0, None))
def _scan_fixed(rate: Any, task: Episode) -> Errors:
    estimate = jax.vmap(lambda samples: scan(Delta(rate, START), samples).estimate)(task.samples)
    return _scores(estimate, task)


def _follow(learner: Learner, task: Episode) -> Trace:
    """A learner's way through all episodes."""
    with double():
        return jax.device_get(_scan(as_double(learner), task.samples))


def _fixed(task: Episode) -> Errors:
    """The errors of the delta rule at all rates (rows) in all episodes (columns)."""
    with double():
        return jax.device_get(_scan_fixed(RATES, task))


def _scores(estimate: Any, task: Episode) -> Errors:
    """Mean errors per step of each episode, and their standard deviations over its steps."""
    off = estimate - task.truth
    each = {"squared": off * off, "absolute": abs(off)}
    return {name: e.mean(-1) for name, e in each.items()} | {f"{name}_std": e.std(-1) for name, e in each.items()}


def _series(study: Study) -> DataFrame:
    """Panels A and B: the beginning of the first episode."""
    task = episodes(study, HAZARD)
    trace = _follow(_smile(), task)
    columns = task._asdict() | {"estimate": trace.estimate, "surprise": trace.surprise, "gamma": trace.rate}
    series = DataFrame({name: column[0, :SHOWN] for name, column in columns.items()})
    return series.rename(columns={"samples": "sample"}).assign(step=series.index + 1)


def _gamma(study: Study) -> DataFrame:
    """Mean gamma and surprise in each episode, at jumps and otherwise; the first sample follows no jump."""
    task = episodes(study, HAZARD)
    trace = _follow(_smile(), task)
    episode = np.indices(task.changed.shape)[0]
    columns = {"episode": episode, "jump": task.changed, "gamma": trace.rate, "surprise": trace.surprise}
    table = DataFrame({name: column[:, 1:].ravel() for name, column in columns.items()})
    return table.groupby(["episode", "jump"], as_index=False).mean()


def _curves(study: Study) -> DataFrame:
    """Panel C: mean over episodes and standard deviation between them, for every rate."""
    tables = []
    for hazard in HAZARDS:
        columns: Errors = {"hazard": hazard, "rate": RATES}
        errors = _fixed(episodes(study, hazard))
        for name in ERRORS:
            columns |= {name: errors[name].mean(axis=1), f"{name}_std": errors[name].std(axis=1, ddof=1)}
        tables.append(DataFrame(columns))
    return concat(tables, ignore_index=True)


def _best(study: Study) -> DataFrame:
    """The rate that is best in hindsight in each single episode."""
    tables = []
    for hazard in HAZARDS:
        errors = _fixed(episodes(study, hazard))
        best = {name: RATES[errors[name].argmin(axis=0)] for name in ERRORS}
        tables.append(_by_episode({"hazard": hazard, **best}))
    return concat(tables, ignore_index=True)


def _errors(study: Study) -> DataFrame:
    """Panel D: the errors of every learner in every episode."""
    tables = []
    for hazard in HAZARDS:
        task = episodes(study, hazard)
        learners: dict[str, Learner] = {
            SMILE: _smile(),
            WIDE: _smile(3 * NOISE),
            NASSAR: Nassar2010(NOISE, hazard, LOW, HIGH),
        }
        errors = {name: _scores(_follow(learner, task).estimate, task) for name, learner in learners.items()}
        errors |= _two_rates(_fixed(task))
        tables += [_by_episode({"hazard": hazard, "learner": name, **columns}) for name, columns in errors.items()]
    return concat(tables, ignore_index=True)


def _two_rates(fixed: Errors) -> dict[str, Errors]:
    """The errors at the best rate (of each kind of error its own) and at 0.5."""
    best = {name: fixed[name].mean(axis=1).argmin() for name in ERRORS}
    half = int(np.flatnonzero(RATES == 0.5)[0])
    return {
        BEST: {column: errors[best[column.removesuffix("_std")]] for column, errors in fixed.items()},
        HALF: {column: errors[half] for column, errors in fixed.items()},
    }


def _by_episode(columns: Errors) -> DataFrame:
    return DataFrame(columns).rename_axis("episode").reset_index()


TABLES = {
    "figure3_series": _series,
    "figure3_gamma": _gamma,
    "figure3_fixed": _curves,
    "figure3_best": _best,
    "figure3_errors": _errors,
}

"""Would participants like these have behaved as they did? Statistics of responses, drawn and observed.

A response model may explain each response given the ones before and yet produce behaviour that nobody shows. So whole
series of them are simulated with parameters drawn from the posterior, and compared (Gelman, Meng & Stern 1996).
"""

from functools import partial
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from astonish.domain import Numbers
from astonish.fit.likelihood import Model, Task, simulate
from astonish.fit.space import Space
from astonish.precision import as_double, double
from astonish.run import OPTIONS
from astonish.samples import Mask
from astonish.table import Trials

if TYPE_CHECKING:
    from pandas import DataFrame

MIDDLE = (0.025, 0.975)  # between these quantiles are 95 %


def checked(model: Model, trials: Trials, space: Space, task: Task, places: Numbers, seed: int) -> "DataFrame":
    """A row for each statistic and participant, and one for the mean of all participants, whose name is empty.

    places: draws, participants, parameters. predicted, low, high: mean and 95 % interval of what was simulated.
    p: how many of these are above what was observed (half of those equal): near 0 or 1, the model cannot do it.
    """
    from pandas import DataFrame, concat

    with double():
        known = jax.tree.map(jnp.asarray, as_double((model, task, places)))
        keys = jax.random.split(jax.random.key(seed), places.shape[:2])
        simulated = np.asarray(_simulated(*known, keys, space, trials.before))
    seen = statistics(model.response.kind, trials, task, task.responses)
    drawn = statistics(model.response.kind, trials, task, simulated)
    parts = [
        DataFrame({
            "statistic": name,
            "participant": ["", *trials.subjects],
            **_compared(_with_mean(seen[name]), _with_mean(drawn[name])),
        })
        for name in seen
    ]  # fmt: skip
    return concat(parts, ignore_index=True)


@partial(jax.jit, static_argnums=(4, 5), compiler_options=OPTIONS)
def _simulated(model: Model, task: Task, draws: Array, keys: Array, space: Space, before: bool) -> Array:
    def one(place: Array, own: Task, key: Array) -> Array:
        return simulate(space.put(model, place), own, before, key).responses

    return jax.lax.map(lambda at: jax.vmap(one)(at[0], task, at[1]), (draws, keys))


def statistics(kind: str, trials: Trials, task: Task, responses: Numbers) -> dict[str, Numbers]:
    """What is told of responses, a number for each participant; all axes before participants and trials are kept.

    Of estimates: how far they move on average; which part of the error that is, by regression, and how large that error
    is. Of choices: how many are right, how many repeat the last one, and how many do so after it was wrong. Else: mean
    and standard deviation.
    """
    outcomes = np.asarray(jax.tree.leaves(task.outcomes)[-1], np.float64)
    if kind == "readout" or (kind == "estimate" and trials.kind == "transitions"):
        return _of_numbers(responses, task.scored)
    before, after, between = _neighbours(trials, responses)
    there = task.scored & task.observed
    if kind == "choice":
        right = np.where(there, responses == outcomes, np.nan)
        again = np.where(between, after == before, np.nan)
        was = outcomes[..., :-1] if trials.before else outcomes[..., 1:]
        return {
            "share right": _mean(right),
            "share repeated": _mean(again),
            "share repeated after an error": _mean(np.where(before != was, again, np.nan)),
        }
    outcome = outcomes[..., :-1] if trials.before else outcomes[..., 1:]
    seen = task.observed[..., :-1] if trials.before else task.observed[..., 1:]
    error = np.where(between & seen, outcome - before, np.nan)
    step = np.where(between & seen, after - before, np.nan)
    return {
        "mean absolute update": _mean(np.abs(step)),
        "learning rate": np.nansum(step * error, -1) / np.nansum(error * error, -1),
        "mean absolute error": _mean(np.abs(error)),
    }


def _of_numbers(responses: Numbers, scored: Mask) -> dict[str, Numbers]:
    kept = np.where(scored, responses, np.nan)
    middle = _mean(kept)
    return {"mean": middle, "standard deviation": np.sqrt(_mean(np.square(kept - middle[..., None])))}


def _neighbours(trials: Trials, responses: Numbers) -> tuple[Numbers, Numbers, Any]:
    """Each response but the last, the one that follows it, and whether both are there and of one block."""
    before, after = responses[..., :-1], responses[..., 1:]
    return before, after, np.isfinite(before) & np.isfinite(after) & ~trials.starts[:, 1:]


def _mean(values: Numbers) -> Numbers:
    """The mean over trials of what is there; NaN where nothing is."""
    there = np.isfinite(values)
    count = there.sum(-1)
    return np.where(there, values, 0.0).sum(-1) / np.where(count, count, np.nan)


def _with_mean(values: Numbers) -> Numbers:
    return np.concatenate([_mean(values)[..., None], values], -1)


def _compared(seen: Numbers, drawn: Numbers) -> dict[str, Numbers]:
    low, high = np.quantile(drawn, MIDDLE, axis=0)
    above = (drawn > seen).mean(0) + 0.5 * (drawn == seen).mean(0)
    return {
        "observed": seen,
        "predicted": drawn.mean(0),
        "low": low,
        "high": high,
        "p": np.where(np.isfinite(seen), above, np.nan),
    }

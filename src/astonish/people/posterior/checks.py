"""Would participants like these have behaved as they did? Statistics of responses, drawn and observed.

A response model may explain each response given the ones before and yet produce behaviour that nobody shows. So whole
series of them are simulated with parameters drawn from the posterior, and compared (Gelman, Meng & Stern 1996).
"""

from functools import partial

import jax
import numpy as np
from jax import Array
from pandas import DataFrame, concat

from astonish.core.domain import FloatArray
from astonish.core.precision import Number, as_double, double
from astonish.core.special import difference
from astonish.core.xla_kernels import compiled
from astonish.online.series import OPTIONS
from astonish.people.fit.likelihood import Model, ParticipantData, simulate
from astonish.people.fit.space import Space
from astonish.people.tables import Trials
from astonish.people.tables.trials import with_payoffs

MIDDLE = (0.025, 0.975)  # between these quantiles are 95 %


def checked(
    model: Model, trials: Trials, space: Space, data: ParticipantData, draws: FloatArray, seed: int
) -> DataFrame:
    """A row for each statistic and participant, and one for the mean of all participants, whose name is empty.

    draws: of the unconstrained parameters, by draw, participant and parameter. predicted, low, high: mean and 95 %
    interval of what was simulated. p: how many of these are above what was observed (half of those equal): near 0 or 1,
    the model cannot do it.
    """
    with double():
        keys = jax.random.split(jax.random.key(seed), draws.shape[:2])
        data = data._replace(payoffs=with_payoffs(trials, seed).payoffs)
        simulated = np.asarray(_simulated(*as_double((model, data, draws)), keys, space, trials.responds_before))
    kind, period = model.response.kind, model.learner.period
    seen = statistics(kind, trials, data, data.responses, period)
    drawn = statistics(kind, trials, data, simulated, period)
    parts = [
        DataFrame({"statistic": name, "participant": ["", *trials.subjects], **_compared(seen[name], drawn[name])})
        for name in seen
    ]
    return concat(parts, ignore_index=True)


@partial(compiled, static_argnums=(4, 5), compiler_options=OPTIONS)
def _simulated(
    model: Model, data: ParticipantData, draws: Array, keys: Array, space: Space, responds_before: bool
) -> Array:
    def one(x: Array, own: ParticipantData, key: Array) -> Array:
        return simulate(space.bind(model, x), own, responds_before, key).responses

    return jax.lax.map(lambda at: jax.vmap(one)(at[0], data, at[1]), (draws, keys))


def statistics(
    kind: str, trials: Trials, data: ParticipantData, responses: FloatArray, period: Number | None = None
) -> dict[str, FloatArray]:
    """Statistics of responses, a number for each participant; all axes before participants and trials are kept.

    period: after how much they repeat, if they are angles.

    Of estimates: how far they move on average; which part of the error that is, by regression, and how large that error
    is. Of predictions: how many are right, how many repeat the last one, and how many do so after it was wrong. Of
    choices with consequences: what they earn, how many repeat the last one, and how many do so after it paid more, or
    less, than the mean. Else: mean and standard deviation.
    """
    if kind == "readout" or (kind == "estimate" and trials.kind == "transitions"):
        kept = np.where(data.scored, responses, np.nan)
        mean = _mean(kept)
        return {"mean": mean, "standard deviation": np.sqrt(_mean(np.square(kept - mean[..., None])))}
    outcomes = trials.scalar_outcomes
    before, after = responses[..., :-1], responses[..., 1:]
    between = slice(None, -1) if trials.responds_before else slice(1, None)  # the outcome between two responses
    outcome, seen = outcomes[..., between], data.observed[..., between]
    both = np.isfinite(before) & np.isfinite(after) & ~trials.starts[:, 1:]  # are there, and of one block
    if kind == "choice":
        again = np.where(both, after == before, np.nan)
        if data.payoffs is not None:
            return _of_rewards(trials, data.payoffs, responses, again)
        return {
            "share right": _mean(np.where(data.scored & data.observed, responses == outcomes, np.nan)),
            "share repeated": _mean(again),
            "share repeated after an error": _mean(np.where(before != outcome, again, np.nan)),
        }
    error = np.where(both & seen, difference(outcome, before, period), np.nan)
    step = np.where(both & seen, difference(after, before, period), np.nan)
    return {
        "mean absolute update": _mean(np.abs(step)),
        "learning rate": np.nansum(step * error, -1) / np.nansum(error * error, -1),
        "mean absolute error": _mean(np.abs(error)),
    }


def _of_rewards(trials: Trials, payoffs: FloatArray, responses: FloatArray, again: FloatArray) -> dict[str, FloatArray]:
    """Statistics of choices that are rewarded. again: 1 where the next is the same, 0 where not, else NaN."""
    chosen = np.where(np.isfinite(responses), responses, 0).astype(int)
    every = np.broadcast_to(payoffs, (*responses.shape, payoffs.shape[-1]))
    rewards = np.take_along_axis(every, chosen[..., None], -1)[..., 0]
    rewards = np.where(np.isfinite(responses) & trials.observed, rewards, np.nan)
    usual = _mean(np.where(trials.observed, trials.scalar_outcomes, np.nan))[:, None]
    last = rewards[..., :-1]
    return {
        "mean reward": _mean(rewards),
        "share repeated": _mean(again),
        "share repeated after a reward above the mean": _mean(np.where(last > usual, again, np.nan)),
        "share repeated after a reward below the mean": _mean(np.where(last < usual, again, np.nan)),
    }


def _mean(values: FloatArray) -> FloatArray:
    """The mean over trials of what is there; NaN where nothing is."""
    there = np.isfinite(values)
    count = there.sum(-1)
    return np.where(there, values, 0.0).sum(-1) / np.where(count, count, np.nan)


def _compared(seen: FloatArray, drawn: FloatArray) -> dict[str, FloatArray]:
    """Of the mean of all participants, and of each."""
    seen, drawn = (np.concatenate([_mean(values)[..., None], values], -1) for values in (seen, drawn))
    low, high = np.quantile(drawn, MIDDLE, axis=0)
    above = (drawn > seen).mean(0) + 0.5 * (drawn == seen).mean(0)
    return {
        "observed": seen,
        "predicted": drawn.mean(0),
        "low": low,
        "high": high,
        "p": np.where(np.isfinite(seen), above, np.nan),
    }

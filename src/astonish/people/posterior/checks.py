"""Posterior predictive checks: statistics of responses, simulated and observed, as a table, sentences and a figure.

A response model may explain each response given the ones before and yet produce behaviour that nobody shows. So whole
series of them are simulated with parameters drawn from the posterior, and compared (Gelman, Meng & Stern 1996).
"""

from functools import partial
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import jax
import numpy as np
from jax import Array
from pandas import DataFrame, Series, concat

from astonish.core.numbers import FloatArray, Number, as_double, double
from astonish.core.programs import compiled
from astonish.core.special import difference
from astonish.online.series import OPTIONS
from astonish.people.fit.likelihood import Model, ParticipantData, simulate
from astonish.people.fit.space import Space
from astonish.people.tables import Trials
from astonish.people.tables.trials import with_payoffs
from astonish.report.style import BLUE, VERMILLION, styled_panels

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MIDDLE = (0.025, 0.975)  # between these quantiles are 95 %
_SURE = 0.025  # of simulations that exceed what was observed, or do not, at least so many if the model can do it
_MEANINGS = {  # if less, and if more is simulated than was observed
    "mean absolute update": ("the model moves too little", "the model moves too much"),
    "learning rate": ("the model follows errors too little", "the model follows errors too much"),
    "mean absolute error": ("the model is closer to outcomes than people", "the model errs more than people"),
    "share right": ("the model is right less often than people", "the model is right more often than people"),
    "share repeated": ("the model changes its choice too often", "the model repeats its choice too often"),
    "share repeated after an error": ("the model gives up too soon after an error", "the model gives up too late"),
    "mean reward": ("the model earns less than people", "the model earns more than people"),
    "share repeated after a reward above the mean": (
        "the model stays too rarely after good outcomes", "the model stays too often after good outcomes",
    ),
    "share repeated after a reward below the mean": (
        "the model stays too rarely after bad outcomes", "the model stays too often after bad outcomes",
    ),
    "mean": ("the model's responses are too small", "the model's responses are too large"),
    "standard deviation": ("the model's responses vary too little", "the model's responses vary too much"),
}  # fmt: skip


def checked(
    model: Model, trials: Trials, space: Space, data: ParticipantData, draws: FloatArray, seed: int
) -> DataFrame:
    """Compare statistics in a row for each and participant, and one for the mean of all, whose name is empty.

    draws: of the unconstrained parameters, by draw, participant and parameter. predicted, low, high: mean and 95 %
    interval of what was simulated. p: how many of these are above what was observed (half of those equal): near 0 or 1,
    the model cannot do it.
    """
    with double():
        keys = jax.random.split(jax.random.key(seed), draws.shape[:2])
        data = data._replace(payoffs=with_payoffs(trials, seed).payoffs)
        simulated = np.asarray(_simulated(*as_double((model, data, draws)), keys, space, trials.responds_before))
    kind, period = model.response.kind, model.learner.period
    every_observed = statistics(kind, trials, data, data.responses, period)
    every_simulated = statistics(kind, trials, data, simulated, period)
    parts = []
    for name in every_observed:
        values = every_observed[name], every_simulated[name]
        observed, drawn = (np.concatenate([_mean(part)[..., None], part], -1) for part in values)
        low, high = np.quantile(drawn, MIDDLE, axis=0)
        above = (drawn > observed).mean(0) + 0.5 * (drawn == observed).mean(0)
        columns = {"observed": observed, "predicted": drawn.mean(0), "low": low, "high": high}
        columns["p"] = np.where(np.isfinite(observed), above, np.nan)
        parts.append(DataFrame({"statistic": name, "participant": ["", *trials.subjects], **columns}))
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
    """Compute statistics of responses, a number for each participant; all axes before those and trials are kept.

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
            chosen = np.where(np.isfinite(responses), responses, 0).astype(int)
            payoffs = np.broadcast_to(data.payoffs, (*responses.shape, data.payoffs.shape[-1]))
            rewards = np.take_along_axis(payoffs, chosen[..., None], -1)[..., 0]
            rewards = np.where(np.isfinite(responses) & trials.observed, rewards, np.nan)
            usual = _mean(np.where(trials.observed, outcomes, np.nan))[:, None]
            last = rewards[..., :-1]
            return {
                "mean reward": _mean(rewards),
                "share repeated": _mean(again),
                "share repeated after a reward above the mean": _mean(np.where(last > usual, again, np.nan)),
                "share repeated after a reward below the mean": _mean(np.where(last < usual, again, np.nan)),
            }
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


def _mean(values: FloatArray) -> FloatArray:
    """Average over trials what is there; NaN where nothing is."""
    there = np.isfinite(values)
    count = there.sum(-1)
    return np.where(there, values, 0.0).sum(-1) / np.where(count, count, np.nan)


def interpretation(row: "Series[Any]") -> str:
    """Say how simulated people differ in a statistic: a row of `Posterior.predictive` whose participant is empty."""
    if np.isnan(row["p"]):
        return f"{row['statistic']}: not observed"
    simulated = f"simulated {row['predicted']:.3g} ({row['low']:.3g} to {row['high']:.3g})"
    numbers = f"observed {row['observed']:.3g}, {simulated}"
    if _SURE <= row["p"] <= 1 - _SURE:
        return f"{row['statistic']}: the model does as people do ({numbers})"
    less, more = _MEANINGS[row["statistic"]]
    return f"{row['statistic']}: {more if row['p'] > 0.5 else less} ({numbers})"


def plot_predictive(checks: DataFrame) -> "Figure":
    """Draw each statistic in a panel: of participants, simulated over observed, and as a diamond the mean of all."""
    names = list(dict.fromkeys(checks["statistic"]))
    with styled_panels(len(names), 2.7, 2.9) as (figure, axes):
        for axis, name in zip(axes, names, strict=True):
            table = checks[checks["statistic"] == name]
            people, everyone = table[table["participant"] != ""], table[table["participant"] == ""]
            dots: Any = {"fmt": "o", "ms": 3, "color": BLUE, "alpha": 0.5, "elinewidth": 0.6}
            diamond: Any = {"fmt": "D", "ms": 6, "color": VERMILLION, "mec": "black", "zorder": 3}
            for part, look in ((people, dots), (everyone, diamond)):
                bars = np.abs([part["predicted"] - part["low"], part["high"] - part["predicted"]])
                axis.errorbar(part["observed"], part["predicted"], yerr=bars, **look)
            values = table[["observed", "predicted"]].to_numpy()
            values = values[np.isfinite(values)]
            ends = (values.min(), values.max()) if len(values) else (0.0, 1.0)
            axis.plot(ends, ends, color="0.4", lw=0.8, ls="--")
            axis.set(xlabel="observed", ylabel="simulated")
            axis.set_title("\n".join(wrap(name, 26)), fontsize=8)
    return figure

"""Predictions of responses that a model was not fitted to: of held-out blocks, and of each response from all others.

The latter by `psis_loo` without another fit: from draws of the parameters, weighted as if the response had not been
there (Vehtari, Gelman & Gabry 2017). The draws are those of a t-distribution at the peak of the posterior, and the
weights make up for what is wrong with that too (Magnusson, Andersen, Jonasson & Vehtari 2019).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import jax
import numpy as np
from jax import Array
from numpy.typing import NDArray
from pandas import DataFrame
from scipy.special import logsumexp

from astonish.core.names import ResponseKind
from astonish.core.numbers import Domain, FloatArray, as_double, double
from astonish.core.programs import compiled
from astonish.core.refusal import check_installed
from astonish.core.special import difference
from astonish.online.series import OPTIONS
from astonish.people.comparison.selection import baseline_place, compared, select, share_columns
from astonish.people.fit.estimate import Progress, fit, prepare
from astonish.people.fit.likelihood import Model, ParticipantData, evaluate, participant_data
from astonish.people.fit.result import Fit
from astonish.people.fit.space import Priors, Space
from astonish.people.tables import Trials

DOUBTFUL = 0.7  # Pareto's k beyond which importance weights are not to be trusted (Vehtari et al. 2024)
_TAIL = 5.0  # degrees of freedom: heavier tails than those of most posteriors, so that no weight is too large


@dataclass(frozen=True)
class HeldOut:
    """How well responses were predicted that were left out.

    log_likelihood: of each response, from what was found without its block (or without itself); a row for each
    participant, NaN where nothing was to be explained. excluded: who could not be fitted, and why.
    pareto_k: of `psis_loo`, for each response; where it is above 0.7, the prediction is not to be trusted.
    squared_error: of `held_out`, the squared difference between each response and the one to expect (of angles, the
    shorter way round); None of choices.
    """

    subjects: tuple[str, ...]
    log_likelihood: FloatArray
    excluded: Mapping[str, str]
    pareto_k: FloatArray | None = None
    squared_error: FloatArray | None = None

    @property
    def total(self) -> FloatArray:
        """Of all of a participant's responses."""
        return np.asarray(np.nansum(self.log_likelihood, axis=1))

    def only(self, subjects: Iterable[str]) -> "HeldOut":
        """Return the same of these participants alone, in this order."""
        chosen = tuple(subjects)
        for who in chosen:
            if who not in self.subjects:
                raise ValueError(f"there is no participant {who!r}; give some of {', '.join(self.subjects)}")
        rows = [self.subjects.index(who) for who in chosen]
        arrays = {name: getattr(self, name) for name in ("log_likelihood", "pareto_k", "squared_error")}
        kept = {name: array[rows] for name, array in arrays.items() if array is not None}
        return replace(self, subjects=chosen, **kept)


def held_out(
    model: Model,
    trials: Trials,
    free: Iterable[str],
    *,
    folds: int | None = None,
    priors: Priors = None,
    starts: int = 10,
    seed: int = 0,
    progress: Progress | None = None,
) -> HeldOut:
    """Leave out each block in turn, fit the model to a participant's others, and predict the responses in it.

    folds: leave out stretches of trials instead, this many for each participant, with equally many responses in each.
    What happened in them is still seen by the learner, as it was by the participant.
    All else is as in `fit`, whose searches for all participants and blocks run side by side.

    The fit is the most probable one. Under `Estimate` without growth and lapses it is also the one with the least
    squared error, whatever the noise: so `compare_mse` then compares models that were fitted by squared error.
    """
    free = list(free)
    trials, excluded, parts = parts_to_leave_out(model, trials, free, folds)
    # Fit copies of each participant, each without one part
    copies = [(row, part) for row, last in enumerate(parts.max(1)) for part in range(last + 1)]
    rows, which = np.array(copies).T
    names = tuple(f"{trials.subjects[row]} without {part + 1}" for row, part in copies)
    copied, left = trials.at(rows, names), parts[rows] == which[:, None]
    rest = replace(copied, scored=copied.scored & ~left)
    fitted = fit(model, rest, free, priors=priors, starts=starts, seed=seed, progress=progress)
    # Predict the part that each was without
    unseen = participant_data(model, replace(copied, scored=left).only(fitted.trials.subjects))
    outputs = replace(fitted, data=unseen).outputs
    predicted = dict(zip(fitted.trials.subjects, np.stack([outputs.log_likelihood, outputs.expected], 1), strict=True))
    values = np.full((len(trials.subjects), 2, trials.scored.shape[1]), np.nan)
    for row, name, here in zip(rows, names, left, strict=True):
        if name in predicted:
            values[row][:, here] = predicted[name][:, here[: predicted[name].shape[1]]]
        else:
            excluded[trials.subjects[row]] = f"{fitted.excluded[name]} if one block is left out"
    kept = [row for row, subject in enumerate(trials.subjects) if subject not in excluded]
    log_likelihood, expected = values[kept].swapaxes(0, 1)
    squared_error = None
    if trials.responses is not None and trials.response_kind != ResponseKind.CHOICE:
        squared_error = np.asarray(difference(trials.responses[kept], expected, model.learner.period)) ** 2
    return HeldOut(tuple(trials.subjects[row] for row in kept), log_likelihood, excluded, squared_error=squared_error)


def parts_to_leave_out(
    model: Model, trials: Trials, free: Iterable[str], folds: int | None
) -> tuple[Trials, dict[str, str], NDArray[np.intp]]:
    """Select the trials of those who can be fitted, say why others cannot, and number the part of each response.

    A part is a block (or one of so many stretches of trials); it is -1 where nothing is to be explained.
    """
    if folds is not None:
        Domain(2, whole=True).check("folds", folds)
    problem = prepare(model, trials, free)
    trials, excluded = replace(problem.trials, scored=problem.data.scored), problem.excluded
    blocks, parts = np.cumsum(trials.starts, axis=1), np.full(trials.scored.shape, -1, np.intp)
    for row, (who, there) in enumerate(zip(trials.subjects, trials.scored, strict=True)):
        count = int(there.sum())
        if folds is None:
            parts[row, there] = np.unique(blocks[row, there], return_inverse=True)[1]
        elif count < folds:
            raise ValueError(f"folds = {folds}, but participant {who} has {count} responses; give a smaller number")
        else:
            parts[row, there] = np.arange(count) * folds // count
        if parts[row].max() == 0:
            reason = f"the responses of participant {who} are all in one block, without which there is nothing to fit"
            raise ValueError(f"{reason}; give folds=5 (--folds 5) to leave out stretches of trials in turn")
    return trials, excluded, parts


def psis_loo(fit: Fit, *, draws: int = 1000, seed: int = 0, progress: Progress | None = None) -> HeldOut:
    """Predict each response from all others; needs `astonish[posteriors]`.

    fit: without priors, parameters are taken to be equally probable all along the unconstrained scale.
    Only one response is left out at a time, so parameters that differ from block to block go unnoticed: `held_out`
    leaves out blocks. A participant whose posterior has no peak is excluded.
    """
    check_installed("psis_loo needs", "arviz_stats")
    from arviz_stats.base.array import array_stats

    Domain(100, whole=True).check("draws", draws)
    rng = np.random.default_rng(seed)
    kept = np.flatnonzero(~np.isnan(fit.unconstrained_error).any(1)).tolist()
    values, pareto_k = np.full((2, len(kept), fit.data.scored.shape[1]), np.nan)
    for done, row in enumerate(kept):
        scored = fit.data.scored[row]
        # Draw parameters, and find the log-likelihood of each response at each draw
        steps = rng.standard_normal((draws, len(fit.space))) / np.sqrt(rng.chisquare(_TAIL, (draws, 1)) / _TAIL)
        xs = fit.unconstrained[row] + np.linalg.solve(np.linalg.cholesky(fit.hessian[row]).T, steps.T).T
        with double():
            model, data = as_double((fit.model, jax.tree.map(lambda part, row=row: part[row], fit.data)))
            log_likelihoods = np.asarray(_log_likelihoods(model, data, xs, fit.space, fit.trials.responds_before))
        # Weigh the draws as if the response had not been there
        mean, precision = fit.prior[:, row]
        posterior = log_likelihoods.sum(1) - 0.5 * (precision * (xs - mean) ** 2).sum(1)
        drawn = -0.5 * (_TAIL + len(fit.space)) * np.log1p((steps**2).sum(1) / _TAIL)
        responses = log_likelihoods[:, scored].T
        weights, pareto_k[done, scored] = array_stats.psislw(responses - (posterior - drawn), axis=-1)
        values[done, scored] = logsumexp(weights + responses, axis=1)
        if progress is not None:
            progress((done + 1) / len(kept))
    subjects = tuple(fit.trials.subjects[row] for row in kept)
    flat = [who for who in fit.trials.subjects if who not in subjects]
    return HeldOut(subjects, values, {**fit.excluded, **dict.fromkeys(flat, "the posterior has no peak")}, pareto_k)


@partial(compiled, static_argnums=(3, 4), compiler_options=OPTIONS)
def _log_likelihoods(model: Model, data: ParticipantData, xs: Array, space: Space, responds_before: bool) -> Any:
    """The log-likelihood of each response, a row for each row of parameters."""
    return jax.vmap(lambda x: evaluate(space.bind(model, x), data, responds_before).log_likelihood)(xs)


def compare_elpd(elpd: Mapping[str, HeldOut | Any], baseline: str | None = None) -> DataFrame:
    """Compare models by how well they predict what they were not fitted to.

    elpd: by the names of models, what `held_out` or `psis_loo` gives; or numbers from elsewhere: a row for each
    participant and a column for each trial (NaN where there is none), or one number for each participant. More is
    better.

    The columns: `elpd`, the sum of all; `log_loss`, minus that, of which less is better as of BIC; `difference`,
    `log_loss` minus that of the baseline (the first model if left out), with its standard error over participants; the
    others as in `compare_fits`, with these predictions as evidence. A few
    responses of which a model was all too sure may outweigh all others in a sum: look at `better` as well. Of
    `psis_loo`, `doubtful` is the share of predictions that are not to be trusted.

    >>> compare_elpd({"one": [-3.0, -4.0, -6.0], "other": [-4.0, -6.0, -6.5]})[["elpd", "difference", "best"]]
           elpd  difference  best
    one   -13.0         0.0     3
    other -16.5         3.5     0
    """
    place = baseline_place(elpd, baseline)
    sums = _of_participants(elpd, "log_likelihood", np.nansum)
    columns = {"elpd": sums.sum(0), "log_loss": -sums.sum(0)}
    columns |= {**compared(-sums, place, np.sum), **share_columns(select(sums))}
    trust = [getattr(part, "pareto_k", None) for part in elpd.values()]
    if any(k is not None for k in trust):
        columns["doubtful"] = np.array([np.nan if k is None else (k[~np.isnan(k)] > DOUBTFUL).mean() for k in trust])
    return DataFrame(columns, list(elpd))


def compare_mse(errors: Mapping[str, HeldOut | Any], baseline: str | None = None) -> DataFrame:
    """Compare models by the mean squared error of what they predict, where they were not fitted to it.

    errors: by the names of models, what `held_out` gives; or squared errors from elsewhere, as in `compare_elpd`.

    The columns, where less is better throughout: `mse`, the mean over a participant's responses, and then over
    participants; `difference`, `mse` minus that of the baseline (the first model if left out), with its standard
    error over participants, so that a model with a negative one predicts better; `best`, `better`: for how many
    participants the error is the least of all, and less than the baseline's.

    >>> compare_mse({"one": [0.3, 0.4, 0.6], "other": [0.4, 0.6, 0.65]})[["mse", "difference", "best"]].round(4)
              mse  difference  best
    one    0.4333      0.0000     3
    other  0.5500      0.1167     0
    """
    place = baseline_place(errors, baseline)
    means = _of_participants(errors, "squared_error", np.nanmean)
    return DataFrame({"mse": means.mean(0), **compared(means, place, np.mean)}, list(errors))


def _of_participants(predictions: Mapping[str, Any], part_name: str, over_trials: Any) -> FloatArray:
    """Summarise predictions over trials, as by their sum: a row for each participant, a column for each model."""
    subjects = {name: part.subjects for name, part in predictions.items() if isinstance(part, HeldOut)}
    for name, who in subjects.items():
        first, of_first = next(iter(subjects.items()))
        if who != of_first:
            odd = sorted({*who} ^ {*of_first}) or who
            problem = f"{first} and {name} differ in participant {odd[0]}"
            raise ValueError(f"{problem}; give both the same participants, by only(...)")
    numbers = {}
    for name, part in predictions.items():
        values = getattr(part, part_name) if isinstance(part, HeldOut) else part
        if values is None:
            advice = "give what held_out finds for responses in numbers"
            raise ValueError(f"squared errors of {name} are not known; {advice}")
        values = np.asarray(values, np.float64)
        if values.ndim not in (1, 2):
            form = "give a row for each participant, a column for each trial"
            raise ValueError(f"{name} has shape {values.shape}; {form}")
        Domain().check(name, values[~np.isnan(values)])
        numbers[name] = values[:, None] if values.ndim == 1 else values
    there = {name: [np.flatnonzero(~np.isnan(row)).tolist() for row in part] for name, part in numbers.items()}
    first, *others = numbers
    for name in others:
        if there[name] != there[first]:
            counts = {name: sum(map(len, rows)) for name, rows in there.items()}
            both = f"{first} predicts {counts[first]} responses, and {name} {counts[name]} or others"
            raise ValueError(f"{both}; give predictions of the same ones")
    return np.stack([over_trials(part, axis=1) for part in numbers.values()], 1)

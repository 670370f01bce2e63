"""How well does a model predict responses that it was not fitted to, and which model does so best?"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pandas import DataFrame

from astonish.core.domain import Domain, FloatArray
from astonish.core.kinds import ResponseKind
from astonish.core.special import difference
from astonish.people.comparison.criteria import baseline_place, compared, share_columns
from astonish.people.comparison.random_effects import select
from astonish.people.fit.estimate import Progress, fit, prepare
from astonish.people.fit.likelihood import Model, participant_data
from astonish.people.fit.space import Priors
from astonish.people.tables import Trials

DOUBTFUL = 0.7  # Pareto's k beyond which importance weights are not to be trusted (Vehtari et al. 2024)


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
        """The same of these participants alone, in this order."""
        chosen = tuple(subjects)
        for who in chosen:
            if who not in self.subjects:
                raise ValueError(f"there is no participant {who!r}; give some of {', '.join(self.subjects)}")
        rows = [self.subjects.index(who) for who in chosen]
        trust = None if self.pareto_k is None else self.pareto_k[rows]
        error = None if self.squared_error is None else self.squared_error[rows]
        return replace(
            self, subjects=chosen, log_likelihood=self.log_likelihood[rows], pareto_k=trust, squared_error=error
        )


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
    copies = [(row, part) for row, last in enumerate(parts.max(1)) for part in range(last + 1)]
    who, which = np.array(copies).T
    names = tuple(f"{trials.subjects[row]} without {part + 1}" for row, part in copies)
    each, left = trials.at(who, names), parts[who] == which[:, None]
    rest = replace(each, scored=each.scored & ~left)
    found = fit(model, rest, free, priors=priors, starts=starts, seed=seed, progress=progress)
    unseen = participant_data(model, replace(each, scored=left).only(found.trials.subjects))
    outputs = replace(found, data=unseen).outputs
    predicted = dict(zip(found.trials.subjects, np.stack([outputs.log_likelihood, outputs.expected], 1), strict=True))
    values = np.full((len(trials.subjects), 2, trials.scored.shape[1]), np.nan)
    for row, name, here in zip(who, names, left, strict=True):
        if name in predicted:
            steps = predicted[name].shape[1]
            values[row][:, here] = predicted[name][:, here[:steps]]
        else:
            excluded[trials.subjects[row]] = f"{found.excluded[name]} if one block is left out"
    kept = [row for row, subject in enumerate(trials.subjects) if subject not in excluded]
    log_likelihood, expected = values[kept].swapaxes(0, 1)
    squared_error = None
    if trials.responses is not None and trials.response_kind != ResponseKind.CHOICE:
        off = difference(trials.responses[kept], expected, model.learner.period)
        squared_error = np.asarray(off) ** 2
    return HeldOut(tuple(trials.subjects[row] for row in kept), log_likelihood, excluded, squared_error=squared_error)


def parts_to_leave_out(
    model: Model, trials: Trials, free: Iterable[str], folds: int | None
) -> tuple[Trials, dict[str, str], NDArray[np.intp]]:
    """The trials of those who can be fitted, why others cannot, and the number of the part that each response is in.

    A part is a block (or one of so many stretches of trials); it is -1 where nothing is to be explained.
    """
    if folds is not None:
        Domain(2, whole=True).check("folds", folds)
    problem = prepare(model, trials, free)
    trials = replace(problem.trials, scored=problem.data.scored)
    return trials, problem.excluded, _parts(trials, folds)


def _parts(trials: Trials, folds: int | None) -> NDArray[np.intp]:
    blocks = np.cumsum(trials.starts, axis=1)
    parts = np.full(trials.scored.shape, -1, np.intp)
    for row, there in enumerate(trials.scored):
        who, count = trials.subjects[row], int(there.sum())
        if folds is None:
            parts[row, there] = np.unique(blocks[row, there], return_inverse=True)[1]
        elif count < folds:
            raise ValueError(f"folds = {folds}, but participant {who} has {count} responses; give a smaller number")
        else:
            parts[row, there] = np.arange(count) * folds // count
        if parts[row].max() == 0:
            raise ValueError(
                f"the responses of participant {who} are all in one block, without which there is nothing to fit; "
                "give folds=5 (--folds 5) to leave out stretches of trials in turn"
            )
    return parts


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
    each = _of_participants(elpd, "log_likelihood", np.nansum)
    columns = {"elpd": each.sum(0), "log_loss": -each.sum(0)}
    columns |= {**compared(-each, place, np.sum), **share_columns(select(each))}
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
    each = _of_participants(errors, "squared_error", np.nanmean)
    return DataFrame({"mse": each.mean(0), **compared(each, place, np.mean)}, list(errors))


def _of_participants(predictions: Mapping[str, Any], part_name: str, over_trials: Any) -> FloatArray:
    """What is asked over trials, such as their sum: a row for each participant, a column for each model."""
    _check_same_people({name: part.subjects for name, part in predictions.items() if isinstance(part, HeldOut)})
    read = {name: _numbers(name, part, part_name) for name, part in predictions.items()}
    there = {name: [np.flatnonzero(~np.isnan(row)).tolist() for row in part] for name, part in read.items()}
    counts = {name: sum(map(len, rows)) for name, rows in there.items()}
    first, *others = read
    for name in others:
        if there[name] != there[first]:
            both = f"{first} predicts {counts[first]} responses, and {name} {counts[name]} or others"
            raise ValueError(f"{both}; give predictions of the same ones")
    return np.stack([over_trials(part, axis=1) for part in read.values()], 1)


def _check_same_people(subjects: Mapping[str, tuple[str, ...]]) -> None:
    for name, who in subjects.items():
        first, known = next(iter(subjects.items()))
        if who != known:
            odd = sorted({*who} ^ {*known}) or who
            raise ValueError(
                f"{first} and {name} differ in participant {odd[0]}; give both the same participants, by only(...)"
            )


def _numbers(name: str, part: Any, part_name: str) -> FloatArray:
    known = getattr(part, part_name) if isinstance(part, HeldOut) else part
    if known is None:
        raise ValueError(f"squared errors of {name} are not known; give what held_out finds for responses in numbers")
    values = np.asarray(known, np.float64)
    if values.ndim not in (1, 2):
        raise ValueError(f"{name} has shape {values.shape}; give a row for each participant, a column for each trial")
    Domain().check(name, values[~np.isnan(values)])
    return values[:, None] if values.ndim == 1 else values

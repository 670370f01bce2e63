"""How well does a model predict responses that it was not fitted to?"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from astonish.domain import Domain, Numbers
from astonish.fit.estimate import Told, fit, usable
from astonish.fit.likelihood import Model, tasks
from astonish.table import Trials

Folds = NDArray[np.intp]


@dataclass(frozen=True)
class HeldOut:
    """How well responses were predicted that were left out.

    log_likelihood: of each response, from what was found without its block (or without itself); a row for each
    participant, NaN where nothing was to be explained. excluded: who could not be fitted, and why.
    pareto_k: of `psis_loo`, for each response; where it is above 0.7, the prediction is not to be trusted.
    """

    subjects: tuple[str, ...]
    log_likelihood: Numbers
    excluded: Mapping[str, str]
    pareto_k: Numbers | None = None

    @property
    def total(self) -> Numbers:
        """Of all of a participant's responses."""
        return np.asarray(np.nansum(self.log_likelihood, axis=1))

    def only(self, subjects: Iterable[str]) -> "HeldOut":
        """The same of these participants alone, in this order."""
        chosen = tuple(subjects)
        unknown = [who for who in chosen if who not in self.subjects]
        if unknown:
            raise ValueError(f"there is no participant {unknown[0]!r}; give some of {', '.join(self.subjects)}")
        rows = [self.subjects.index(who) for who in chosen]
        trust = None if self.pareto_k is None else self.pareto_k[rows]
        return replace(self, subjects=chosen, log_likelihood=self.log_likelihood[rows], pareto_k=trust)


def held_out(
    model: Model,
    trials: Trials,
    free: Iterable[str],
    *,
    folds: int | None = None,
    priors: Mapping[str, tuple[float, float]] | None = None,
    starts: int = 10,
    seed: int = 0,
    told: Told | None = None,
) -> HeldOut:
    """Leave out each block in turn, fit the model to a participant's others, and predict the responses in it.

    folds: leave out stretches of trials instead, this many for each participant, with equally many responses in each.
    What happened in them is still seen by the learner, as it was by the participant.
    All else is as in `fit`, whose searches for all participants and blocks go on side by side.
    """
    free = list(free)
    trials, excluded = usable(model, trials, free)
    trials = replace(trials, scored=tasks(model, trials).scored)
    parts = _blocks(trials) if folds is None else _stretches(trials, folds)
    copies = [(row, part) for row, last in enumerate(parts.max(1)) for part in range(last + 1)]
    who, which = np.array(copies).T
    names = tuple(f"{trials.subjects[row]} without {part + 1}" for row, part in copies)
    each, left = trials.at(who, names), parts[who] == which[:, None]
    rest = replace(each, scored=each.scored & ~left)
    found = fit(model, rest, free, priors=priors, starts=starts, seed=seed, told=told)
    unseen = tasks(model, replace(each, scored=left).only(found.trials.subjects))
    predicted = dict(zip(found.trials.subjects, replace(found, task=unseen).account.log_likelihood, strict=True))
    values = np.full(trials.scored.shape, np.nan)
    for row, name, here in zip(who, names, left, strict=True):
        if name in predicted:
            values[row, here] = predicted[name][: len(here)][here[: len(predicted[name])]]
        else:
            excluded[trials.subjects[row]] = f"{found.excluded[name]} if one block is left out"
    kept = [row for row, subject in enumerate(trials.subjects) if subject not in excluded]
    return HeldOut(tuple(trials.subjects[row] for row in kept), values[kept], excluded)


def _blocks(trials: Trials) -> Folds:
    """For each response, the number of its block among those that have any, from 0; -1 where there is none."""
    blocks = np.cumsum(trials.starts, axis=1)
    parts = np.full(trials.scored.shape, -1, np.intp)
    for row, there in enumerate(trials.scored):
        parts[row, there] = np.unique(blocks[row, there], return_inverse=True)[1]
        if parts[row].max() == 0:
            raise ValueError(
                f"the responses of participant {trials.subjects[row]} are all in one block, without which there is "
                "nothing to fit; give folds=5 to leave out stretches of trials in turn"
            )
    return parts


def _stretches(trials: Trials, folds: int) -> Folds:
    """The same for stretches of trials."""
    Domain(2, whole=True).check("folds", folds)
    parts = np.full(trials.scored.shape, -1, np.intp)
    for row, there in enumerate(trials.scored):
        count = int(there.sum())
        if count < folds:
            who = trials.subjects[row]
            raise ValueError(f"folds = {folds}, but participant {who} has {count} responses; give a smaller number")
        parts[row, there] = np.arange(count) * folds // count
    return parts

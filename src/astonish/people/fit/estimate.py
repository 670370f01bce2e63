"""Maximum-likelihood fits of a model to each participant's responses; maximum a posteriori if there are priors.

All participants and starts of the search are rows of one compiled computation, with exact gradients; `search` decides
where each search starts, where it goes next, and whether there is anything better.
"""

import hashlib
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np

from astonish.core.numbers import FloatArray
from astonish.core.parameters import check_parameters
from astonish.io.files import DamagedError, atomic_write, read, write
from astonish.learners.base import check
from astonish.people.fit.likelihood import BATCH, Losses, Model, ParticipantData, participant_data
from astonish.people.fit.result import Fit
from astonish.people.fit.search import Box, Optimum, best_starts, fit_shared, search
from astonish.people.fit.space import Priors, Space, normal_priors
from astonish.people.tables import Trials

_TOGETHER = 32  # participants who are finished, and kept in a file, together
_FEW = 8  # if somebody waits for what is found
_WHAT = "checkpoint of a fit"

Progress = Callable[[float], Any]


class Problem(NamedTuple):
    """What is to be fitted: free parameters, data, priors, trials of the participants who can be; why others cannot.

    shared: full names of the parameters that have one value for all participants.
    """

    space: Space
    data: ParticipantData
    prior: FloatArray
    trials: Trials
    excluded: dict[str, str]
    shared: tuple[str, ...]


def fit(
    model: Model,
    trials: Trials,
    free: Iterable[str],
    *,
    shared: Iterable[str] = (),
    priors: Priors = None,
    start_values: Any = None,
    starts: int = 10,
    seed: int = 0,
    checkpoint: Path | None = None,
    progress: Progress | None = None,
    fitted: Callable[[Fit], Any] | None = None,
) -> Fit:
    """Find, for each participant, the values of the free parameters that make the responses most probable.

    Args:
        model: Its values are what parameters that are not free have.
        trials: What participants saw and did.
        free: Names of parameters, short or in full: "m", "learner.family.noise", "response.noise".
        shared: Names of those that have one value for all participants.
        priors: To maximise the posterior instead, which is better where responses are few. "usual": people's values are
            where they usually are. Or, for some of these parameters, mean and standard deviation of a normal prior on
            the unconstrained scale, on which values with one bound are logarithms and values with two are log-odds.
        start_values: Where the first search of each participant starts, a row each; else that is chosen as the others
            are.
        starts: Searches for each participant. They start where people's values usually lie: at points that cover this
            range evenly, half of them the best of more such points. A participant's do not depend on who else there is.
        seed: Moves the points where searches start.
        checkpoint: A folder for what is finished; the same fit, begun again after an interruption, goes on from there.
        progress: Is called now and then with the share of the participants that are done.
        fitted: Is called with the fit of the next few participants, whenever these are done.
    """
    if starts < 1:
        raise ValueError(f"starts = {starts} is no search; give at least 1")
    space, data, prior, trials, excluded, same = prepare(model, trials, free, priors, shared)
    losses = Losses(model, data, space, trials.responds_before, prior, min(BATCH, -(-len(trials) * starts // 8) * 8))
    first = None if start_values is None else np.broadcast_to(space.unconstrained(start_values), prior.shape[1:])
    box = Box.of(space, trials, space.start(model) if first is None else first)
    size = _FEW if fitted else _TOGETHER if checkpoint else len(trials)
    stem = ""
    if checkpoint is not None:
        stem = _fingerprint((model, data, prior, box, first, starts, seed, space.names, trials.responds_before, size))
    groups, parts = np.array_split(np.arange(len(trials)), -(-len(trials) // size)), []
    for k, who in enumerate(groups):
        best: Optimum | None = None
        path = None if checkpoint is None else checkpoint / f"{stem}-{k}.npz"
        if path is not None and path.is_file():
            with suppress(DamagedError):  # else it is found anew
                best = Optimum(**read(path, _WHAT)[0])
        if best is None:
            begin = best_starts(losses, box.at(who), starts, seed)
            if first is not None:
                begin[:, 0] = first[who]
            best = search(losses, box.at(who), begin, part_of(progress, k, len(groups)))
            if path is not None:
                with atomic_write(path) as file:
                    write(file, _WHAT, best._asdict())
        parts.append(best)
        if fitted and not same:
            few = trials.at(who, tuple(trials.subjects[row] for row in who))
            fitted(Fit(model, few, space, same, _rows(data, who, few), *best, starts, {}, prior[:, who]))
    optimum = Optimum(*map(np.concatenate, zip(*parts, strict=True)))
    if same:
        optimum, starts = fit_shared(losses, box, optimum.x, np.isin(space.names, same), starts, seed)
    whole = Fit(model, trials, space, same, data, *optimum, starts, excluded, prior)
    if fitted and same:
        fitted(whole)
    return whole


def prepare(
    model: Model, trials: Trials, free: Iterable[str], priors: Priors = None, shared: Iterable[str] = ()
) -> Problem:
    """Check model and trials, and leave out participants whose responses cannot tell the free parameters."""
    check_parameters(model)
    check(model.learner)
    same = Space.of(model, shared, trials).names
    space = Space.of(model, dict.fromkeys((*Space.of(model, free, trials).names, *same)), trials)
    data, excluded = participant_data(model, trials), dict(trials.excluded)
    for subject, own, scored in zip(trials.subjects, data.responses, data.scored, strict=True):
        responses = own[scored]
        if len(responses) <= len(space):
            excluded[subject] = f"{len(responses)} responses cannot tell {len(space)} parameters"
        elif len(np.unique(responses)) == 1:
            excluded[subject] = f"all responses are {responses[0]:g}"
    kept = [row for row, subject in enumerate(trials.subjects) if subject not in excluded]
    if not kept:
        why = "; ".join(f"{subject}: {reason}" for subject, reason in list(excluded.items())[:3])
        raise ValueError(f"no participant can be fitted ({why}); give participants with more responses")
    if not len(space):
        raise ValueError("nothing is free; name at least one parameter to be found")
    left = trials.at(kept, tuple(trials.subjects[row] for row in kept))
    space = Space.of(model, space.names, left)
    prior = normal_priors(model, space, left, priors, same)
    return Problem(space, _rows(data, kept, left), prior, left, excluded, same)


def _rows(data: ParticipantData, rows: Any, trials: Trials) -> ParticipantData:
    """Return the data of some participants, which are padded to the longest of these as their trials are."""
    few: ParticipantData = jax.tree.map(lambda part: part[rows, : trials.rows.shape[1]], data)
    return few


def _fingerprint(about: Any) -> str:
    """Return a name that another fit would not have: of other data, another model or other settings."""
    leaves, structure = jax.tree.flatten(about)
    digest = hashlib.sha256(str(structure).encode())
    for leaf in leaves:
        array = np.asarray(leaf)
        digest.update(f"{array.dtype} {array.shape}".encode() + array.tobytes())
    return digest.hexdigest()[:16]


def part_of(progress: Progress | None, part: int, parts: int) -> Progress | None:
    """Report the progress of one of several searches or fits as that of all of them."""
    return None if progress is None else lambda share: progress((part + share) / parts)

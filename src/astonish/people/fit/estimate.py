"""Maximum-likelihood fits of a model to each participant's responses; maximum a posteriori if there are priors.

All participants and starts of the search are rows of one compiled computation, with exact gradients; `search` decides
where each search starts, where it goes next, and whether there is anything better. Where parameters are shared, the
loss that is left at their values, of all participants together, is a function of these values alone, and its minimum is
searched for as that of one participant is.
"""

import hashlib
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np

from astonish.core.numbers import BoolArray, FloatArray
from astonish.core.parameters import check_parameters
from astonish.io.files import DamagedError, atomic_write, read, write
from astonish.learners.base import check
from astonish.people.fit.likelihood import BATCH, Losses, Model, ParticipantData, participant_data
from astonish.people.fit.result import Fit
from astonish.people.fit.search import (
    Box,
    Minimum,
    Objective,
    Optimum,
    Rows,
    best_starts,
    look_around,
    minimise,
    search,
    second_derivatives,
)
from astonish.people.fit.space import Priors, Space, normal_priors
from astonish.people.tables import Trials

_TOGETHER = 32  # participants who are finished, and kept in a file, together
_FEW = 8  # if somebody waits for what is found
_WHAT = "checkpoint of a fit"
_SHARED_STARTS = 4  # searches for shared values, at most
_EXACT = 1e-8  # an expected gain that ends the search for somebody's own parameters, at shared values
_BETTER, _ROUNDS = 1e-3, 4  # a gain of all participants together for which it is worth going on, and how often at most

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


# Values that all participants share


def fit_shared(
    objective: Objective, box: Box, alone: FloatArray, shared: BoolArray, starts: int, seed: int
) -> tuple[Optimum, int]:
    """Find the best parameters if some columns are the same in all rows, and count the searches for these.

    alone: the best parameters where they need not be the same.
    """
    low, high = (end[:, shared].mean(0, keepdims=True) for end in (box.low, box.high))
    columns: Any = (part[shared] for part in (box.limit, box.bounded, box.rates, box.held))
    common = Box(np.zeros(1, np.intp), low, high, *columns)  # everybody is searched for as one participant
    people, count = len(alone), min(starts, _SHARED_STARTS)
    own, hessian = alone, second_derivatives(objective, alone, np.arange(people))

    def solve(values: FloatArray) -> Minimum:
        """Search for the other parameters of all participants at each row of shared values, from their own now."""
        rows = len(values)
        begin, held = np.tile(own, (rows, 1)), np.broadcast_to(shared, (rows * people, len(shared)))
        begin[:, shared] = np.repeat(values, people, 0)
        known: Any = {"limit": box.limit, "fixed": held, "hessian": np.tile(hessian, (rows, 1, 1))}
        return minimise(objective, begin, np.tile(np.arange(people), rows), tolerance=_EXACT, **known)

    def joint_loss(values: FloatArray, _: Rows) -> tuple[FloatArray, FloatArray]:
        solved, shape = solve(values), (len(values), people)
        gradient = solved.gradient[:, shared].reshape(*shape, shared.sum())  # by their own there is none
        return solved.loss.reshape(shape).sum(1), gradient.sum(1)

    for _ in range(_ROUNDS):
        begin = best_starts(joint_loss, common, count, seed)
        begin[:, 0] = np.median(own[:, shared], 0)
        best = search(joint_loss, common, begin)
        solved = solve(best.x)
        own, loss, hessian, ended = look_around(objective, box._replace(held=shared), solved.x)
        if loss.sum() > solved.loss.sum() - _BETTER:
            break
    converged = np.full(people, bool(best.converged[0] and ended.all()))
    at_optimum = np.full(people, int(best.starts_at_optimum[0]))
    return Optimum(own, pooled_hessian(hessian, shared), converged, at_optimum, np.full(own.shape, np.nan)), count


def pooled_hessian(hessian: FloatArray, shared: BoolArray) -> FloatArray:
    """Add to each participant's Hessian what all the others tell about the shared parameters.

    The Hessian of all parameters together has a block for each participant, and rows for what is shared; with the other
    participants' own parameters eliminated, it is that of one participant plus what remains of the others.
    """
    own = ~shared
    remains = np.zeros((len(hessian), shared.sum(), shared.sum()))
    for row, matrix in enumerate(hessian):
        across = matrix[np.ix_(own, shared)]
        remains[row] = matrix[np.ix_(shared, shared)] - across.T @ np.linalg.pinv(matrix[np.ix_(own, own)]) @ across
    pooled = hessian.copy()
    pooled[np.ix_(np.arange(len(hessian)), shared, shared)] += remains.sum(0) - remains
    return pooled

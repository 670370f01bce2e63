"""Which parameters explain each participant's responses best?

Maximum likelihood, or maximum a posteriori if there are priors. All participants and starts of the search are rows of
one compiled computation, with exact gradients; where each search goes next is decided by `bfgs`, where they start and
whether there is anything better by `search`.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np
from numpy.typing import NDArray

from astonish.core.numbers import BoolArray, FloatArray
from astonish.core.parameters import check_parameters
from astonish.io.files import DamagedError, atomic_write, read, write
from astonish.learners.base import check
from astonish.people.fit.bfgs import second_derivatives
from astonish.people.fit.likelihood import Model, ParticipantData, participant_data
from astonish.people.fit.objective import BATCH, Losses
from astonish.people.fit.priors import Priors, normal_priors
from astonish.people.fit.result import Fit
from astonish.people.fit.search import search
from astonish.people.fit.shared import fit_shared, pooled_hessian
from astonish.people.fit.space import Space
from astonish.people.fit.starts import Box, best_starts
from astonish.people.tables import Trials

_TOGETHER = 32  # participants who are finished, and kept in a file, together
_FEW = 8  # if somebody waits for what is found
_WHAT = "checkpoint of a fit"

Progress = Callable[[float], Any]


class Found(NamedTuple):
    """What searches have found, a row for each participant; see `Fit`."""

    unconstrained: FloatArray
    hessian: FloatArray
    converged: BoolArray
    starts_at_optimum: NDArray[np.intp]
    second_optimum: FloatArray


class Task(NamedTuple):
    """What is to be searched for: the losses, where searches start, and how many of them there are.

    first: where the first search of each participant starts, a row each; None if that is to be chosen, too.
    """

    losses: Losses
    box: Box
    first: FloatArray | None
    starts: int
    seed: int


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
    found: Callable[[Fit], Any] | None = None,
) -> Fit:
    """Find, for each participant, the values of the free parameters that make the responses most probable.

    model: its values are what parameters that are not free have.
    free: names of parameters, short or in full: "m", "learner.family.noise", "response.noise".
    shared: names of those that have one value for all participants.
    priors: to maximise the posterior instead, which is better where responses are few. "usual": people's values are
    where they usually are (see `priors`). Or, for some of these parameters, mean and standard deviation of a normal
    prior on the unconstrained scale, on which values with one bound are logarithms and values with two are log-odds.
    start_values: where the first search of each participant starts, a row each; else that is chosen as the others are.
    starts: searches for each participant. They start where people's values usually lie: at points that cover this
    range evenly, half of them the best of more such points. A participant's do not depend on who else there is.
    checkpoint: a folder for what is finished; the same fit, begun again after an interruption, goes on from there.
    progress: is called now and then with the share of the participants that are done.
    found: is called with the fit of the next few participants, whenever these are done.
    """
    if starts < 1:
        raise ValueError(f"starts = {starts} is no search; give at least 1")
    same = Space.of(model, shared, trials).names
    free = tuple(dict.fromkeys((*Space.of(model, free, trials).names, *same)))
    trials, excluded = usable(model, trials, free)
    space, data, prior = prepared(model, trials, free, priors, same)
    batch = min(BATCH, -(-len(trials) * starts // 8) * 8)
    losses = Losses(model, data, space, trials.responds_before, prior, batch)
    first = None if start_values is None else np.broadcast_to(space.unconstrained(start_values), prior.shape[1:])
    box = Box.of(space, trials, space.start(model) if first is None else first)
    size = _FEW if found else _TOGETHER if checkpoint else len(trials)
    stem = None
    if checkpoint is not None:
        about = model, data, prior, box, first, starts, seed, space.names, trials.responds_before, size
        stem = checkpoint / _fingerprint(about)
    groups = []
    for who, best in _search_groups(Task(losses, box, first, starts, seed), stem, size, progress):
        groups.append(best)
        if found and not same:
            few = trials.at(who, tuple(trials.subjects[row] for row in who))
            found(Fit(model, few, space, same, participant_data(model, few), *best, starts, {}, prior[:, who]))
    every = Found(*map(np.concatenate, zip(*groups, strict=True)))
    if same:
        every, starts = _with_shared(losses, box, every, np.isin(space.names, same), starts, seed)
    whole = Fit(model, trials, space, same, data, *every, starts, excluded, prior)
    if found and same:
        found(whole)
    return whole


def _with_shared(
    losses: Losses, box: Box, found: Found, is_shared: BoolArray, starts: int, seed: int
) -> tuple[Found, int]:
    """The best parameters if some have one value for all participants, and how many searches there were for these."""
    together = fit_shared(losses, box, found.unconstrained, is_shared, starts, seed)
    people = np.arange(len(together.x))
    hessian = pooled_hessian(second_derivatives(losses, together.x, people), is_shared)
    ended, starts_at_optimum = (
        np.full(len(people), together.converged),
        np.full(len(people), together.starts_at_optimum),
    )
    return Found(together.x, hessian, ended, starts_at_optimum, np.full(together.x.shape, np.nan)), together.starts


def _search_groups(
    task: Task, stem: Path | None, size: int, progress: Progress | None
) -> Iterator[tuple[NDArray[np.intp], Found]]:
    """The best parameters of each participant, group after group. stem: of the files that keep them."""
    people = np.arange(len(task.box.low))
    groups = np.array_split(people, -(-len(people) // size))
    for k, who in enumerate(groups):
        of_group = partial(_search, task, who, part_of(progress, k, len(groups)))
        yield who, of_group() if stem is None else _keep(stem.with_name(f"{stem.name}-{k}.npz"), of_group)


def _search(task: Task, who: NDArray[np.intp], progress: Progress | None) -> Found:
    """The best parameters of some participants."""
    box = task.box.at(who)
    begin = best_starts(task.losses, box, who, task.starts, task.seed)
    if task.first is not None:
        begin[:, 0] = task.first[who]
    found = search(task.losses, box, who, begin, progress)
    hessian = second_derivatives(task.losses, found.x, who)
    return Found(found.x, hessian, found.converged, found.starts_at_optimum, found.second_optimum)


def _keep(path: Path, search: Callable[[], Found]) -> Found:
    """What a search has found, read from a file if it is there and not damaged; else searched for, and kept there."""
    if path.is_file():
        with suppress(DamagedError):
            return Found(**read(path, _WHAT)[0])
    found = search()
    with atomic_write(path) as file:
        write(file, _WHAT, found._asdict())
    return found


def _fingerprint(about: Any) -> str:
    """A name that another fit would not have: of other data, another model or other settings."""
    leaves, structure = jax.tree.flatten(about)
    digest = hashlib.sha256(str(structure).encode())
    for leaf in leaves:
        array = np.asarray(leaf)
        digest.update(f"{array.dtype} {array.shape}".encode() + array.tobytes())
    return digest.hexdigest()[:16]


def part_of(progress: Progress | None, part: int, parts: int) -> Progress | None:
    """The progress of one of several searches or fits, reported as that of all of them."""
    return None if progress is None else lambda share: progress((part + share) / parts)


def usable(model: Model, trials: Trials, free: Iterable[str]) -> tuple[Trials, dict[str, str]]:
    """The participants who can be fitted, and why the others cannot."""
    check_parameters(model)
    check(model.learner)
    count = len(Space.of(model, free, trials))
    data, excluded = participant_data(model, trials), dict(trials.excluded)
    for subject, own, scored in zip(trials.subjects, data.responses, data.scored, strict=True):
        responses = own[scored]
        if len(responses) <= count:
            excluded[subject] = f"{len(responses)} responses cannot tell {count} parameters"
        elif len(np.unique(responses)) == 1:
            excluded[subject] = f"all responses are {responses[0]:g}"
    kept = [subject for subject in trials.subjects if subject not in excluded]
    if not kept:
        why = "; ".join(f"{subject}: {reason}" for subject, reason in list(excluded.items())[:3])
        raise ValueError(f"no participant can be fitted ({why}); give participants with more responses")
    return trials.only(kept), excluded


def prepared(
    model: Model, trials: Trials, free: Iterable[str], priors: Priors, shared: tuple[str, ...] = ()
) -> tuple[Space, ParticipantData, FloatArray]:
    """The space to search, what there is to explain, and the priors (see `normal_priors`)."""
    space = Space.of(model, free, trials)
    if not len(space):
        raise ValueError("nothing is free; name at least one parameter to be found")
    return space, participant_data(model, trials), normal_priors(model, space, trials, priors, shared)

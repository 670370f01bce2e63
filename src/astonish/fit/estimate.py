"""Which parameters explain each participant's responses best?

Maximum likelihood, or maximum a posteriori if given what to expect. All participants and starts of the search are
steps of one compiled computation, with exact gradients; where each search goes is up to `search`.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from astonish.domain import Numbers, check_parameters
from astonish.fit.likelihood import Model, Task, tasks
from astonish.fit.losses import TOGETHER, Losses
from astonish.fit.pieces import Found, Pieces
from astonish.fit.result import Fit
from astonish.fit.search import minimise
from astonish.fit.shared import pooled, share
from astonish.fit.space import Space
from astonish.table import Trials

_KEPT = 32  # participants who are finished, and kept, together
_SPREAD = 1.5  # of the places where searches start
_SAME, _NOTHING = 0.01, 1e-9  # differences in log-likelihood: one that does not matter, and one that is none

Told = Callable[[float], Any]


def fit(
    model: Model,
    trials: Trials,
    free: Iterable[str],
    *,
    shared: Iterable[str] = (),
    priors: Mapping[str, tuple[float, float]] | None = None,
    begin: Any = None,
    starts: int = 10,
    seed: int = 0,
    keep: Path | None = None,
    told: Told | None = None,
) -> Fit:
    """Find, for each participant, the values of the free parameters that make the responses most probable.

    model: its values are where the first search starts, and what parameters that are not free have.
    free: names of parameters, short or in full: "m", "learner.family.noise", "response.noise".
    shared: names of those that have one value for all participants.
    priors: to maximise the posterior instead: for some of these, mean and standard deviation of a normal prior on the
    scale of the search, on which values above a bound are logarithms and values between two are log-odds.
    begin: values where the first search of each participant starts, a row each; the model's own when left out.
    starts: how many searches for each participant; the others start at random around the first.
    keep: a folder for what is finished; the same fit, begun again after an interruption, goes on from there.
    told: hears now and then which share of the participants is done.
    """
    if starts < 1:
        raise ValueError(f"starts = {starts} is no search; give at least 1")
    same = Space.of(model, shared).names
    free = tuple(dict.fromkeys((*Space.of(model, free).names, *same)))
    trials, excluded = usable(model, trials, free)
    space, task, expected = prepared(model, trials, free, priors)
    people = len(trials.subjects)
    losses = Losses(model, task, space, trials.before, expected, min(TOGETHER, -(-people * starts // 8) * 8))
    first = np.broadcast_to(space.start(model) if begin is None else space.places(begin), (people, len(space)))
    pieces = Pieces(keep, (model, task, expected, first, starts, seed, space.names, trials.before))
    groups = np.array_split(np.arange(people), 1 if keep is None else -(-people // _KEPT))
    found = _found(losses, first, space.furthest, groups, starts, seed, pieces, told)
    alike = np.isin(space.names, same)
    if alike.any():
        places, ended = share(losses, found.places, alike, space.furthest)
        curvature = pooled(losses.curvature(places, np.arange(len(places))), alike)
        found = Found(places, curvature, np.full(len(places), ended), found.agreed)
    return Fit(model, trials, space, same, task, *found, starts, excluded, expected)


def _found(
    losses: Losses,
    first: Numbers,
    furthest: Numbers,
    groups: list[NDArray[np.intp]],
    starts: int,
    seed: int,
    pieces: Pieces,
    told: Told | None,
) -> Found:
    """Search for the best place of each participant, group after group."""
    found, people = [], sum(map(len, groups))

    def tell(before: int, now: int, share: float) -> None:
        if told is not None:
            told((before + share * now) / people)

    for k, who in enumerate(groups):
        piece = pieces.load(k)
        if piece is None:
            piece = _searched(losses, first, furthest, who, starts, seed, partial(tell, int(who[0]), len(who)))
            pieces.save(k, piece)
        found.append(piece)
    return Found(*map(np.concatenate, zip(*found, strict=True)))


def _searched(
    losses: Losses,
    first: Numbers,
    furthest: Numbers,
    who: NDArray[np.intp],
    starts: int,
    seed: int,
    told: Callable[[float], Any],
) -> Found:
    """The same for some participants: from several starts roughly, and on from the best of their ends."""
    rngs = (np.random.default_rng([seed, person]) for person in who)
    begin = np.stack([first[person] + _SPREAD * next(rngs).standard_normal((starts, first.shape[1])) for person in who])
    begin[:, 0] = first[who]
    whose = np.repeat(who, starts)
    rough = minimise(losses, begin.reshape(len(whose), -1), whose, furthest=furthest, small=0.1 * _SAME, told=told)
    ends = rough.loss.reshape(len(who), starts)
    agreed = (ends <= ends.min(1, keepdims=True) + _SAME).sum(1)
    best = rough.place.reshape(begin.shape)[np.arange(len(who)), np.argmin(ends, 1)]
    end = minimise(losses, best, who, furthest=furthest, small=_NOTHING)
    return Found(end.place, losses.curvature(end.place, who), end.converged, agreed)


def usable(model: Model, trials: Trials, free: Iterable[str]) -> tuple[Trials, dict[str, str]]:
    """The participants who can be fitted, and why the others cannot."""
    check_parameters(model)
    parameters = len(Space.of(model, free))
    task, excluded = tasks(model, trials), dict(trials.excluded)
    for subject, own, scored in zip(trials.subjects, task.responses, task.scored, strict=True):
        responses = own[scored]
        if len(responses) <= parameters:
            excluded[subject] = f"{len(responses)} responses cannot tell {parameters} parameters"
        elif len(np.unique(responses)) == 1:
            excluded[subject] = f"all responses are {responses[0]:g}"
    kept = [subject for subject in trials.subjects if subject not in excluded]
    if not kept:
        why = "; ".join(f"{subject}: {reason}" for subject, reason in list(excluded.items())[:3])
        raise ValueError(f"no participant can be fitted ({why}); give participants with more responses")
    return trials.only(kept), excluded


def prepared(
    model: Model, trials: Trials, free: Iterable[str], priors: Mapping[str, tuple[float, float]] | None
) -> tuple[Space, Task, Numbers]:
    """The space to search, what there is to explain, and the priors: a row for means, a row for precisions."""
    space = Space.of(model, free)
    if not len(space):
        raise ValueError("nothing is free; name at least one parameter to be found")
    expected = np.zeros((2, len(space)))
    for name, (mean, std) in (priors or {}).items():
        k = space.names.index(Space.of(model, [name]).names[0])
        expected[:, k] = mean, std**-2
    return space, tasks(model, trials), expected

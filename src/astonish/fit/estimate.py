"""Which parameters explain each participant's responses best?

Maximum likelihood, or maximum a posteriori if there are priors. All participants and starts of the search are rows of
one compiled computation, with exact gradients; where each search goes next is decided by `bfgs`.
"""

import hashlib
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from astonish.checks import check_parameters
from astonish.deprecated import renamed_arguments
from astonish.domain import Mask, Numbers
from astonish.fit.bfgs import minimise
from astonish.fit.likelihood import Model, ParticipantData, participant_data
from astonish.fit.objective import BATCH, Losses
from astonish.fit.result import Fit
from astonish.fit.space import Space
from astonish.io.archive import DamagedError, read, write
from astonish.io.files import atomic_write
from astonish.learner import check
from astonish.trials import Trials

_TOGETHER = 32  # participants who are finished, and kept in a file, together
_WHAT = "checkpoint of a fit"
_SPREAD = 1.5  # of the starts of searches about the first
_SAME, _TOLERANCE = 0.01, 1e-9  # differences in log-likelihood: one that does not matter, and one that ends a search

Progress = Callable[[float], Any]


class Found(NamedTuple):
    """What searches have found, a row for each participant; see `Fit`."""

    unconstrained: Numbers
    hessian: Numbers
    converged: Mask
    agreed: NDArray[np.intp]


@renamed_arguments(begin="start_values", keep="checkpoint", told="progress")
def fit(
    model: Model,
    trials: Trials,
    free: Iterable[str],
    *,
    shared: Iterable[str] = (),
    priors: Mapping[str, tuple[float, float]] | None = None,
    start_values: Any = None,
    starts: int = 10,
    seed: int = 0,
    checkpoint: Path | None = None,
    progress: Progress | None = None,
) -> Fit:
    """Find, for each participant, the values of the free parameters that make the responses most probable.

    model: its values are where the first search starts, and what parameters that are not free have.
    free: names of parameters, short or in full: "m", "learner.family.noise", "response.noise".
    shared: names of those that have one value for all participants.
    priors: to maximise the posterior instead: for some of these, mean and standard deviation of a normal prior on the
    unconstrained scale, on which values with one bound are logarithms and values with two are log-odds.
    start_values: where the first search of each participant starts, a row each; the model's own when left out.
    starts: searches for each participant; the others start at random, about the first or where values usually lie.
    checkpoint: a folder for what is finished; the same fit, begun again after an interruption, goes on from there.
    progress: is called now and then with the share of the participants that are done.
    """
    if starts < 1:
        raise ValueError(f"starts = {starts} is no search; give at least 1")
    same = Space.of(model, shared).names
    free = tuple(dict.fromkeys((*Space.of(model, free).names, *same)))
    trials, excluded = usable(model, trials, free)
    space, data, prior = prepared(model, trials, free, priors)
    people = len(trials.subjects)
    losses = Losses(model, data, space, trials.responds_before, prior, min(BATCH, -(-people * starts // 8) * 8))
    first = space.start(model) if start_values is None else space.unconstrained(start_values)
    first = np.broadcast_to(first, (people, len(space)))
    usual = space.usual(trials)
    begin = np.stack([_starts(first[who], usual, starts, [seed, who]) for who in range(people)])
    about = model, data, prior, begin, space.names, trials.responds_before
    stem = None if checkpoint is None else checkpoint / _fingerprint(about)
    found = _search_groups(losses, begin, space.limit, stem, progress)
    is_shared = np.isin(space.names, same)
    if is_shared.any():
        xs, ended = _fit_shared(losses, found.unconstrained, is_shared, space.limit)
        hessian = _pooled_hessian(losses.hessian(xs, np.arange(len(xs))), is_shared)
        found = Found(xs, hessian, np.full(len(xs), ended), found.agreed)
    return Fit(model, trials, space, same, data, *found, starts, excluded, prior)


def _search_groups(
    losses: Losses, begin: Numbers, limit: Numbers, stem: Path | None, progress: Progress | None
) -> Found:
    """Search for the best parameters of each participant, group after group. stem: of the files that keep them."""
    groups = np.array_split(np.arange(len(begin)), 1 if stem is None else -(-len(begin) // _TOGETHER))
    found = []
    for k, who in enumerate(groups):
        search = partial(_search, losses, begin, limit, who, part_of(progress, k, len(groups)))
        found.append(search() if stem is None else _keep(stem.with_name(f"{stem.name}-{k}.npz"), search))
    return Found(*map(np.concatenate, zip(*found, strict=True)))


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


def _search(losses: Losses, begin: Numbers, limit: Numbers, who: NDArray[np.intp], progress: Progress | None) -> Found:
    """The best parameters of some participants: roughly from several starts, then exactly from the best end.

    begin: the starts of all participants.
    """
    people, starts, count = begin[who].shape
    flat, whose = begin[who].reshape(-1, count), np.repeat(who, starts)
    rough = minimise(losses, flat, whose, limit=limit, tolerance=0.1 * _SAME, progress=progress)
    ends = rough.loss.reshape(people, starts)
    agreed = (ends <= ends.min(1, keepdims=True) + _SAME).sum(1)
    best = rough.x.reshape(people, starts, count)[np.arange(people), np.argmin(ends, 1)]
    end = minimise(losses, best, who, limit=limit, tolerance=_TOLERANCE)
    return Found(end.x, losses.hessian(end.x, who), end.converged, agreed)


def _starts(first: Numbers, usual: tuple[Numbers, Numbers], starts: int, seed: list[int]) -> Numbers:
    """The first start, and others: in turn where values usually lie, if that is known, and about the first."""
    (low, high), rng = usual, np.random.default_rng(seed)
    about = first + _SPREAD * rng.standard_normal((starts, len(first)))
    within = low + (high - low) * rng.random((starts, len(first)))
    begin: Numbers = np.where(np.isnan(within) | (np.arange(starts)[:, None] % 2 == 0), about, within)
    begin[0] = first
    return begin


def _fit_shared(losses: Losses, xs: Numbers, shared: Mask, limit: Numbers) -> tuple[Numbers, bool]:
    """The best parameters if those columns are the same in all rows, and whether the search converged.

    xs: the best parameters of each participant alone, from where the search starts.
    """
    everyone = np.arange(len(xs))

    def assembled(vector: Numbers) -> Numbers:
        together = np.empty_like(xs)
        together[:, shared] = vector[: shared.sum()]
        together[:, ~shared] = vector[shared.sum() :].reshape(len(xs), -1)
        return together

    def joint(vector: Numbers) -> tuple[Any, Any]:
        loss, gradient = losses(assembled(vector), everyone)
        return loss.sum(), np.concatenate([gradient[:, shared].sum(0), gradient[:, ~shared].ravel()])

    start = np.concatenate([np.median(xs[:, shared], 0), xs[:, ~shared].ravel()])
    ends = np.concatenate([limit[shared], np.tile(limit[~shared], len(xs))])
    bounds = list(zip(-ends, ends, strict=True))
    options = {"maxiter": 2000, "maxfun": 5000, "ftol": 1e-13, "gtol": 1e-6}
    found = minimize(joint, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    return assembled(np.asarray(found.x)), bool(found.success)


def _pooled_hessian(hessian: Numbers, shared: Mask) -> Numbers:
    """Each participant's Hessian, plus what all the others tell about the shared parameters.

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


def usable(model: Model, trials: Trials, free: Iterable[str]) -> tuple[Trials, dict[str, str]]:
    """The participants who can be fitted, and why the others cannot."""
    check_parameters(model)
    check(model.learner)
    count = len(Space.of(model, free))
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
    model: Model, trials: Trials, free: Iterable[str], priors: Mapping[str, tuple[float, float]] | None
) -> tuple[Space, ParticipantData, Numbers]:
    """The space to search, what there is to explain, and the priors: a row for means, a row for precisions."""
    space = Space.of(model, free)
    if not len(space):
        raise ValueError("nothing is free; name at least one parameter to be found")
    prior = np.zeros((2, len(space)))
    for name, (mean, std) in (priors or {}).items():
        k = space.names.index(Space.of(model, [name]).names[0])
        prior[:, k] = mean, std**-2
    return space, participant_data(model, trials), prior

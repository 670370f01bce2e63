"""Which parameters are best for each participant, and is there anything better?

Several searches go downhill from starts that cover the box in which values usually lie. Then one looks around from the
best of their ends: along the profile of each parameter, from bound to bound. Whatever is better there, or goes down to
another bottom, starts another search, until none of them finds anything better.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from astonish.core.numbers import BoolArray, FloatArray
from astonish.people.fit.bfgs import Minimum, Objective, minimise, second_derivatives
from astonish.people.fit.profile import promising
from astonish.people.fit.starts import Box

SAME = 0.01  # a difference in log-likelihood that does not matter
_FIRST, _LATER, _EXACT = 1e-5, 3e-4, 1e-10  # expected gains that end a search: from starts, from bottoms, the best
_BETTER = 1e-5  # a gain for which it is worth going on
_ROUNDS = 6  # how often one looks around, at most
_LOW = 5.0  # a corner beyond the box is searched from if its loss is no further above the lowest
_APART = 0.5  # the least distance of two optima


class Optimum(NamedTuple):
    """What searches have found, a row for each participant.

    starts_at_optimum: how many of the starts led there, to within `SAME`. second_optimum: another optimum that is as
    good; NaN where there
    is none. converged: whether nothing better was seen at last.
    """

    x: FloatArray
    loss: FloatArray
    converged: BoolArray
    starts_at_optimum: NDArray[np.intp]
    second_optimum: FloatArray


def search(objective: Objective, box: Box, who: NDArray[np.intp], starts: FloatArray, progress: Any = None) -> Optimum:
    """The optimum of each participant. who: their numbers. starts: by participant, start and parameter."""
    people, count, size = starts.shape
    flat, whose = starts.reshape(-1, size), np.repeat(who, count)
    ends = minimise(objective, flat, whose, limit=box.limit, tolerance=_FIRST, progress=progress)
    loss, x = ends.loss.reshape(people, count), ends.x.reshape(starts.shape)
    first = x[np.arange(people), np.argmin(loss, 1)]
    best, lowest, converged = look_around(objective, box, who, first)
    starts_at_optimum = (loss <= lowest[:, None] + SAME).sum(1)
    return Optimum(best, lowest, converged, starts_at_optimum, _rivals(objective, who, best, lowest, x, loss))


def look_around(
    objective: Objective, box: Box, who: NDArray[np.intp], first: FloatArray
) -> tuple[FloatArray, FloatArray, BoolArray]:
    """The best parameters of each participant, the loss there, and whether nothing better was seen at last."""
    found, hessian = _polished(objective, box, who, first)
    x, loss, ended = found.x, found.loss, found.converged | found.stuck
    unsure = np.flatnonzero(np.isfinite(loss))
    rows, begin = _low_corners(objective, box.at(unsure), who[unsure], x[unsure], loss[unsure])
    for _ in range(_ROUNDS):
        if not len(unsure):
            break
        more_rows, more = promising(objective, box.at(unsure), who[unsure], x[unsure], loss[unsure], hessian[unsure])
        rows, begin = unsure[np.concatenate([rows, more_rows])], np.concatenate([begin, more])
        tried = minimise(objective, begin, who[rows], **_how(box, begin, _LATER))
        best = _best_of_each(rows, tried.loss)
        best = best[tried.loss[best] < loss[rows[best]] - _BETTER]
        unsure = rows[best]
        found, hessian[unsure] = _polished(objective, box, who[unsure], tried.x[best])
        x[unsure], loss[unsure], ended[unsure] = found.x, found.loss, found.converged | found.stuck
        rows, begin = rows[:0], begin[:0]
    ended[unsure] = False
    ended &= (box.bounded | (np.abs(x) < box.limit)).all(1)
    return x, loss, ended


def _how(box: Box, rows: FloatArray, tolerance: float) -> dict[str, Any]:
    return {"limit": box.limit, "tolerance": tolerance, "fixed": np.broadcast_to(box.held, rows.shape)}


def _best_of_each(rows: NDArray[np.intp], loss: FloatArray) -> NDArray[np.intp]:
    """Of several rows for each participant, the place of the one with the least loss."""
    order = np.lexsort((loss, rows))
    return order[np.unique(rows[order], return_index=True)[1]]


def _polished(objective: Objective, box: Box, who: NDArray[np.intp], first: FloatArray) -> tuple[Minimum, FloatArray]:
    """The bottom near each row, and second derivatives there.

    On the floor of a narrow valley the slope looks like none to a search that knows its walls alone: so it goes on with
    the second derivatives there, until these say, too, that nothing is to be gained.
    """
    found = minimise(objective, first, who, **_how(box, first, _EXACT))
    hessian = second_derivatives(objective, found.x, who)
    for _ in range(_ROUNDS):
        again = minimise(objective, found.x, who, hessian=hessian, **_how(box, first, _EXACT))
        moved = (again.x != found.x).any(1)
        found = again
        if not moved.any():
            break
        hessian[moved] = second_derivatives(objective, found.x[moved], who[moved])
    return found, hessian


def _low_corners(
    objective: Objective, box: Box, who: NDArray[np.intp], x: FloatArray, lowest: FloatArray
) -> tuple[NDArray[np.intp], FloatArray]:
    """The corners beyond the box where the loss is not much higher than the lowest: whose they are, and where."""
    corners = np.where(box.held, x[:, None], box.corners())
    people, count, size = corners.shape
    loss = objective(corners.reshape(-1, size), np.repeat(who, count))[0].reshape(people, count)
    with np.errstate(invalid="ignore"):
        rows, which = np.nonzero(loss < lowest[:, None] + _LOW)
    return rows, corners[rows, which]


def _rivals(
    objective: Objective, who: NDArray[np.intp], best: FloatArray, lowest: FloatArray, x: FloatArray, loss: FloatArray
) -> FloatArray:
    """Another end of searches that is as good as the best; NaN where there is none.

    It is another optimum if the loss is higher between both.
    """
    rivals = np.full(best.shape, np.nan)
    far = np.abs(x - best[:, None]).max(2) > _APART
    tied = np.where(far & (loss <= lowest[:, None] + SAME), loss, np.inf)
    rows = np.flatnonzero(np.isfinite(tied.min(1)))
    others = x[rows, np.argmin(tied[rows], 1)]
    shares = np.array([0.25, 0.5, 0.75])[:, None]
    between = best[rows, None] + shares * (others - best[rows])[:, None]
    heights = objective(between.reshape(-1, best.shape[1]), np.repeat(who[rows], len(shares)))[0]
    apart = heights.reshape(len(rows), len(shares)).max(1) > lowest[rows] + 2 * SAME
    rivals[rows[apart]] = others[apart]
    return rivals

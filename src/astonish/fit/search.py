"""Where is a function least? Many small searches side by side, each by quasi-Newton steps.

Broyden, Fletcher, Goldfarb & Shanno (1970), keeping the whole matrix: with the few parameters of a participant there is
nothing to be saved by limiting its memory. All searches that still go on are evaluated in one call.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from astonish.domain import Numbers

Losses = Callable[[Numbers, Any], tuple[Numbers, Numbers]]

ROUNDS = 300
_ENOUGH = 1e-4  # of the decrease that the slope promises
_STRIDE = 2.0  # the longest step of any parameter


class Found(NamedTuple):
    """Where each search ended, how low it is there, and whether it ended because there is nothing to be gained."""

    place: Numbers
    loss: Numbers
    converged: NDArray[np.bool_]


def minimise(
    losses: Losses,
    places: Numbers,
    who: NDArray[np.intp],
    *,
    furthest: Numbers | float,
    small: float,
    told: Callable[[float], Any] | None = None,
) -> Found:
    """Go down from each place.

    losses: for places, and whose loss each is, the losses and their gradients. furthest: no coordinate goes beyond
    its own.
    small: a step that promises less than this is not taken. told: hears which share of the searches is done.
    """
    place = np.clip(places, -furthest, furthest)
    loss, slope = losses(place, who)
    inverse = np.repeat(np.eye(place.shape[1])[None], len(place), 0) / np.maximum(1, _norm(slope))[:, None, None]
    length = np.ones(len(place))
    going = np.isfinite(loss)
    converged = np.zeros(len(place), bool)
    fresh = np.ones(len(place), bool)  # whose matrix says nothing about the function yet
    for _ in range(ROUNDS):
        at = np.flatnonzero(going)
        if not len(at):
            break
        step = _step(inverse[at], slope[at], place[at], furthest)
        promised = -(step * slope[at]).sum(1)
        done = promised < small
        converged[at[done]], going[at[done]] = True, False
        at, step, promised = at[~done], step[~done], promised[~done]
        if told is not None:
            told(1 - len(at) / len(place))
        if not len(at):
            continue
        new = np.clip(place[at] + length[at, None] * step, -furthest, furthest)
        new_loss, new_slope = losses(new, who[at])
        with np.errstate(invalid="ignore"):
            better = new_loss <= loss[at] - _ENOUGH * length[at] * promised
        better &= np.isfinite(new_slope).all(1)
        worse = at[~better]
        length[worse] *= 0.25
        stuck = worse[length[worse] < 1e-10]
        converged[stuck], going[stuck] = _norm(slope[stuck]) < 1e-3, False
        kept = at[better]
        moved, turned = new[better] - place[kept], new_slope[better] - slope[kept]
        inverse[kept], fresh[kept] = _updated(inverse[kept], moved, turned, fresh[kept])
        place[kept], loss[kept], slope[kept] = new[better], new_loss[better], new_slope[better]
        length[kept] = 1.0
    return Found(place, np.where(np.isfinite(loss), loss, np.inf), converged)


def _norm(vectors: Numbers) -> Numbers:
    return np.abs(vectors).max(1)


def _step(inverse: Numbers, slope: Numbers, place: Numbers, furthest: Numbers | float) -> Numbers:
    """The step of each search: downhill, not too long, and along the edge for those that are there."""
    outward = (np.abs(place) >= furthest) & (place * slope < 0)
    free = np.where(outward, 0.0, slope)
    step = -np.einsum("ijk,ik->ij", inverse, free)
    step[outward] = 0.0
    uphill = (step * free).sum(1) >= 0
    step[uphill] = -free[uphill]
    longest = np.abs(step).max(1, initial=0.0)
    return step * np.minimum(1.0, _STRIDE / np.maximum(longest, 1e-300))[:, None]


def _updated(
    inverse: Numbers, moved: Numbers, turned: Numbers, fresh: NDArray[np.bool_]
) -> tuple[Numbers, NDArray[np.bool_]]:
    """The inverse curvature, now that a step has shown how the slope turns; larger where that got steeper still."""
    along = (moved * turned).sum(1)
    good = along > 1e-12 * np.linalg.norm(moved, axis=1) * np.linalg.norm(turned, axis=1)
    safe = np.where(good, along, 1.0)
    scale = np.where(fresh & good, safe / np.maximum((turned * turned).sum(1), 1e-300), 1.0)
    one = np.eye(moved.shape[1])
    inverse = np.where((fresh & good)[:, None, None], scale[:, None, None] * one, inverse)
    left = one - np.einsum("ij,ik->ijk", moved, turned) / safe[:, None, None]
    new = left @ inverse @ left.transpose(0, 2, 1) + np.einsum("ij,ik->ijk", moved, moved) / safe[:, None, None]
    return np.where(good[:, None, None], new, 4 * inverse), fresh & ~good

"""Where is a function least? Many small searches side by side, each by quasi-Newton steps.

Broyden, Fletcher, Goldfarb & Shanno (1970), keeping the whole matrix: with the few parameters of a participant there is
nothing to be saved by limiting its memory. All searches that still go on are evaluated in one call.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from astonish.domain import Mask, Numbers

Objective = Callable[[Numbers, Any], tuple[Numbers, Numbers]]

ROUNDS = 300
_ARMIJO = 1e-4  # of the decrease that the gradient predicts, a step must achieve this part
_LONGEST = 2.0  # the longest step of any parameter


class Minimum(NamedTuple):
    """Where each search ended, the loss there, and whether it ended because nothing more was to be gained."""

    x: Numbers
    loss: Numbers
    converged: Mask


def minimise(
    objective: Objective,
    starts: Numbers,
    who: NDArray[np.intp],
    *,
    limit: Numbers | float,
    tolerance: float,
    progress: Callable[[float], Any] | None = None,
) -> Minimum:
    """Search downhill from each start.

    objective: for rows of parameters, and whose each is, the losses and their gradients. limit: no coordinate goes
    beyond its own. tolerance: a step that is predicted to gain less than this is not taken. progress: is called with
    the share of the searches that are done.
    """
    x = np.clip(starts, -limit, limit)
    loss, gradient = objective(x, who)
    inverse = np.repeat(np.eye(x.shape[1])[None], len(x), 0) / np.maximum(1, _norm(gradient))[:, None, None]
    length = np.ones(len(x))
    going = np.isfinite(loss)
    converged = np.zeros(len(x), bool)
    fresh = np.ones(len(x), bool)  # whose matrix says nothing about the function yet
    for _ in range(ROUNDS):
        at = np.flatnonzero(going)
        if not len(at):
            break
        step = _step(inverse[at], gradient[at], x[at], limit)
        predicted = -(step * gradient[at]).sum(1)
        done = predicted < tolerance
        converged[at[done]], going[at[done]] = True, False
        at, step, predicted = at[~done], step[~done], predicted[~done]
        if progress is not None:
            progress(1 - len(at) / len(x))
        if not len(at):
            continue
        new = np.clip(x[at] + length[at, None] * step, -limit, limit)
        new_loss, new_gradient = objective(new, who[at])
        with np.errstate(invalid="ignore"):
            better = new_loss <= loss[at] - _ARMIJO * length[at] * predicted
        better &= np.isfinite(new_gradient).all(1)
        worse = at[~better]
        length[worse] *= 0.25
        stuck = worse[length[worse] < 1e-10]
        converged[stuck], going[stuck] = _norm(gradient[stuck]) < 1e-3, False
        kept = at[better]
        moved, turned = new[better] - x[kept], new_gradient[better] - gradient[kept]
        inverse[kept], fresh[kept] = _updated(inverse[kept], moved, turned, fresh[kept])
        x[kept], loss[kept], gradient[kept] = new[better], new_loss[better], new_gradient[better]
        length[kept] = 1.0
    return Minimum(x, np.where(np.isfinite(loss), loss, np.inf), converged)


def _norm(vectors: Numbers) -> Numbers:
    return np.abs(vectors).max(1)


def _step(inverse: Numbers, gradient: Numbers, x: Numbers, limit: Numbers | float) -> Numbers:
    """The step of each search: downhill, not too long, and along the limit for those that are there."""
    outward = (np.abs(x) >= limit) & (x * gradient < 0)
    free = np.where(outward, 0.0, gradient)
    step = -np.einsum("ijk,ik->ij", inverse, free)
    step[outward] = 0.0
    uphill = (step * free).sum(1) >= 0
    step[uphill] = -free[uphill]
    longest = np.abs(step).max(1, initial=0.0)
    return step * np.minimum(1.0, _LONGEST / np.maximum(longest, 1e-300))[:, None]


def _updated(inverse: Numbers, moved: Numbers, turned: Numbers, fresh: Mask) -> tuple[Numbers, Mask]:
    """The inverse Hessian after a step (`moved`) that changed the gradient (`turned`).

    It is enlarged where the curvature along the step is negative.
    """
    along = (moved * turned).sum(1)
    good = along > 1e-12 * np.linalg.norm(moved, axis=1) * np.linalg.norm(turned, axis=1)
    safe = np.where(good, along, 1.0)
    scale = np.where(fresh & good, safe / np.maximum((turned * turned).sum(1), 1e-300), 1.0)
    one = np.eye(moved.shape[1])
    inverse = np.where((fresh & good)[:, None, None], scale[:, None, None] * one, inverse)
    left = one - np.einsum("ij,ik->ijk", moved, turned) / safe[:, None, None]
    new = left @ inverse @ left.transpose(0, 2, 1) + np.einsum("ij,ik->ijk", moved, moved) / safe[:, None, None]
    return np.where(good[:, None, None], new, 4 * inverse), fresh & ~good

"""Where is a function least? Many small searches side by side, each by quasi-Newton steps.

Broyden, Fletcher, Goldfarb & Shanno (1970), keeping the whole matrix: with the few parameters of a participant there is
nothing to be saved by limiting its memory. All searches that still go on are evaluated in one call.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from astonish.core.numbers import BoolArray, FloatArray

Objective = Callable[[FloatArray, Any], tuple[FloatArray, FloatArray]]

ROUNDS = 300
_ARMIJO = 1e-4  # of the decrease that the gradient predicts, a step must achieve this part
_LONGEST = 2.0  # the longest step of any parameter
_STRAIGHT = 1e-6  # a second derivative that is none
_NEARBY = 1e-4  # the distance at which gradients are compared to find second derivatives
_SHORTEST = 1e-8  # the shortest part of a step that is tried
_JUMP = 1e-5  # a function that is higher by more after so short a step is not continuous there


class Minimum(NamedTuple):
    """Where each search ended, the loss and its gradient there.

    converged: whether it ended because nothing more was to be gained. stuck: whether, though the slope promised more,
    no step went further down, as at the bottom of a kink. Where the function jumps up instead, it is neither: there may
    be many such places, one lower than the other.
    """

    x: FloatArray
    loss: FloatArray
    gradient: FloatArray
    converged: BoolArray
    stuck: BoolArray


def minimise(
    objective: Objective,
    starts: FloatArray,
    who: NDArray[np.intp],
    *,
    limit: FloatArray | float,
    tolerance: float,
    fixed: BoolArray | None = None,
    hessian: FloatArray | None = None,
    rounds: int = ROUNDS,
    progress: Callable[[float], Any] | None = None,
) -> Minimum:
    """Search downhill from each start.

    objective: for rows of parameters, and whose each is, the losses and their gradients. limit: no coordinate goes
    beyond its own. tolerance: a step that is predicted to gain less than this is not taken. fixed: which coordinates of
    each row stay as they are. hessian: about what it is at the starts, if that is known. rounds: how many steps are
    taken at most. progress: is called with the share of the searches that are done.
    """
    x = np.clip(starts, -limit, limit)
    loss, gradient = objective(x, who)
    held = np.zeros(x.shape, bool) if fixed is None else fixed
    inverse, fresh = _first(gradient), np.ones(len(x), bool)  # fresh: the matrix says nothing about the function yet
    if hessian is not None:
        inverse, fresh = _known(hessian, held, inverse)
    length = np.ones(len(x))
    going = np.isfinite(loss)
    converged, stuck = np.zeros(len(x), bool), np.zeros(len(x), bool)
    for _ in range(rounds):
        at = np.flatnonzero(going)
        if not len(at):
            break
        step = _step(inverse[at], gradient[at], x[at], limit, held[at])
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
        shortest = ~better & (length[at] < _SHORTEST)
        short = at[shortest]
        with np.errstate(invalid="ignore"):
            continuous = new_loss[shortest] <= loss[short] + _JUMP
        going[short], stuck[short] = ~fresh[short], fresh[short] & continuous
        inverse[short], fresh[short], length[short] = _first(gradient[short]), True, 1.0  # by the slope alone
        kept = at[better]
        moved, turned = new[better] - x[kept], new_gradient[better] - gradient[kept]
        inverse[kept], fresh[kept] = _updated(inverse[kept], moved, turned, fresh[kept])
        x[kept], loss[kept], gradient[kept] = new[better], new_loss[better], new_gradient[better]
        length[kept] = 1.0
    return Minimum(x, np.where(np.isfinite(loss), loss, np.inf), gradient, converged, stuck)


def second_derivatives(objective: Objective, xs: FloatArray, who: NDArray[np.intp]) -> FloatArray:
    """The second derivatives of a function at each row, by central differences of its gradient."""
    rows, count = xs.shape
    steps = np.concatenate([_NEARBY * np.eye(count), -_NEARBY * np.eye(count)])
    around = (xs[:, None] + steps).reshape(-1, count)
    gradients = objective(around, np.repeat(who, 2 * count))[1].reshape(rows, 2, count, count)
    matrix = (gradients[:, 0] - gradients[:, 1]) / (2 * _NEARBY)
    return 0.5 * (matrix + matrix.transpose(0, 2, 1))


def _first(gradient: FloatArray) -> FloatArray:
    """The matrix of a search that knows nothing but the slope: its step is downhill, and no longer than 1."""
    steepest = np.maximum(1, np.abs(gradient).max(1, initial=0.0))
    return np.eye(gradient.shape[1]) / steepest[:, None, None]


def _known(hessian: FloatArray, held: BoolArray, otherwise: FloatArray) -> tuple[FloatArray, BoolArray]:
    """The inverse of each Hessian, as far as it is not held; another matrix (and True) where it is not known.

    Where the function bends down, or not at all, its step is as if it bent up: downhill, and long.
    """
    apart = held[:, :, None] | held[:, None]
    matrix = np.where(apart, np.eye(held.shape[1]), hessian)
    known = np.asarray(np.isfinite(matrix).all((1, 2)))
    bends, axes = np.linalg.eigh(matrix[known])
    inverse = otherwise.copy()
    inverse[known] = (axes / np.maximum(np.abs(bends), _STRAIGHT)[:, None]) @ axes.transpose(0, 2, 1)
    return inverse, ~known


def _step(
    inverse: FloatArray, gradient: FloatArray, x: FloatArray, limit: FloatArray | float, held: BoolArray
) -> FloatArray:
    """The step of each search: downhill, not too long, and along the limit for those that are there."""
    outward = held | ((np.abs(x) >= limit) & (x * gradient < 0))
    free = np.where(outward, 0.0, gradient)
    step = -np.einsum("ijk,ik->ij", inverse, free)
    step[outward] = 0.0
    uphill = (step * free).sum(1) >= 0
    step[uphill] = -free[uphill]
    longest = np.abs(step).max(1, initial=0.0)
    return step * np.minimum(1.0, _LONGEST / np.maximum(longest, 1e-300))[:, None]


def _updated(
    inverse: FloatArray, moved: FloatArray, turned: FloatArray, fresh: BoolArray
) -> tuple[FloatArray, BoolArray]:
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

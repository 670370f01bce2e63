"""What is the least loss at any value of one parameter, the others being free: is there another bottom?

Profile likelihoods (as in Venzon & Moolgavkar 1988), sketched at some values from bound to bound. Of a single parameter
they are the loss itself, which costs little and is computed at more values.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from astonish.core.numbers import BoolArray, FloatArray
from astonish.people.fit.bfgs import Minimum, Objective, minimise
from astonish.people.fit.starts import Box

_INSIDE, _OUTSIDE = 6, 5  # steps through the box, and from it to the limit on either side, each longer than the last
_FINER = {1: 6, 2: 2}  # so many times as many, if so few parameters are searched for
_NEAR = 0.1  # distance of two more from the best
_SKETCH, _ROUNDS = 1e-3, 6  # an expected gain that ends the searches for the others, and their steps at most
_BETTER = 1e-5  # a gain for which it is worth going on
_FLAT = 1e-6  # a slope that is none
_BOTTOMS = 6  # so many, the deepest, are searched from


class Profiles(NamedTuple):
    """By participant, parameter and value: the values, in order; all parameters there, the loss, and its slope.

    here: where the value is that of the best, or the parameter is held.
    """

    values: FloatArray
    x: FloatArray
    loss: FloatArray
    slope: FloatArray
    here: BoolArray


def promising(
    objective: Objective, box: Box, who: NDArray[np.intp], x: FloatArray, lowest: FloatArray, hessian: FloatArray
) -> tuple[NDArray[np.intp], FloatArray]:
    """Where it is worth to search once more: whose row it is, and the parameters to start from.

    x: the best parameters of each participant. lowest, hessian: the loss and its second derivatives there.
    """
    if _searched(box) == 1:
        return _chosen(profiles_from_within(objective, box, who, x), lowest)
    rows, begin = _chosen(profiles(objective, box, who, x, lowest, hessian), lowest)
    beyond = np.flatnonzero((((x < box.low) | (x > box.high)) & ~box.held).any(1))
    again = profiles_from_within(objective, box.at(beyond), who[beyond], x[beyond])
    more_rows, more = _chosen(again, lowest[beyond])
    return np.concatenate([rows, beyond[more_rows]]), np.concatenate([begin, more])


def _chosen(found: Profiles, lowest: FloatArray) -> tuple[NDArray[np.intp], FloatArray]:
    """The deepest bottoms of all profiles of each participant, and whatever is lower than the lowest."""
    people, parameters, count = found.values.shape
    lower = (found.loss < lowest[:, None, None] - _BETTER) & ~found.here
    depth = np.where(lower | bottoms(found), found.loss, np.inf).reshape(people, parameters * count)
    order = np.argsort(depth, axis=1)[:, :_BOTTOMS]
    rows, which = np.nonzero(np.isfinite(np.take_along_axis(depth, order, 1)))
    return rows, found.x.reshape(people, parameters * count, parameters)[rows, order[rows, which]]


def profiles(
    objective: Objective, box: Box, who: NDArray[np.intp], x: FloatArray, lowest: FloatArray, hessian: FloatArray
) -> Profiles:
    """From the best outwards: at each value the others are searched for from where they were at the value before."""
    near = x[..., None] + np.array([-_NEAR, 0.0, _NEAR])
    values = np.sort(np.concatenate([_values(box), near], -1), -1)
    values = np.clip(values, -box.limit[:, None], box.limit[:, None])
    here = values == x[..., None]
    points = np.broadcast_to(x[:, None, None], (*values.shape, x.shape[1])).copy()
    loss, slope = np.where(here, lowest[:, None, None], np.inf), np.zeros(values.shape)
    last = values.shape[2] - 1
    ends = np.argmax(here, -1), last - np.argmax(here[..., ::-1], -1)  # clipped to a limit, several are the same
    for away in range(1, last + 1):
        sides = np.stack([ends[0] - away, ends[1] + away])
        side, rows, columns = np.nonzero((sides >= 0) & (sides <= last) & ~box.held)
        if not len(rows):
            break
        at = sides[side, rows, columns]
        begin = points[rows, columns, at + np.where(side == 0, 1, -1)]
        begin[np.arange(len(rows)), columns] = values[rows, columns, at]
        found = _others(objective, box, who[rows], begin, columns, hessian[rows])
        points[rows, columns, at], loss[rows, columns, at] = found.x, found.loss
        slope[rows, columns, at] = found.gradient[np.arange(len(rows)), columns]
    return Profiles(values, points, loss, slope, here)


def profiles_from_within(objective: Objective, box: Box, who: NDArray[np.intp], x: FloatArray) -> Profiles:
    """At each value the others are searched for from where they are best, or from the middle of the box.

    That is for parameters that are best beyond the box, where little may depend on them, and for a single one.
    """
    values = _values(box)
    people, size, count = values.shape
    beyond = ((x < box.low) | (x > box.high)) & ~box.held
    inside = np.where(beyond, 0.5 * (box.low + box.high), x)
    points = np.broadcast_to(inside[:, None, None], (*values.shape, size)).copy()
    points[:, np.arange(size), :, np.arange(size)] = np.moveaxis(values, 1, 0)
    columns = np.tile(np.repeat(np.arange(size), count), people)
    found = _others(objective, box, np.repeat(who, size * count), points.reshape(-1, size), columns, None)
    slope = found.gradient[np.arange(len(columns)), columns].reshape(values.shape)
    here = np.broadcast_to(box.held[:, None], values.shape)  # nothing is to be found along these
    return Profiles(values, found.x.reshape(points.shape), found.loss.reshape(values.shape), slope, here)


def _others(
    objective: Objective,
    box: Box,
    who: NDArray[np.intp],
    begin: FloatArray,
    columns: NDArray[np.intp],
    hessian: FloatArray | None,
) -> Minimum:
    """Search roughly, from each row, for the parameters other than that in its column."""
    held = box.held | (np.arange(begin.shape[1]) == columns[:, None])
    how: Any = {"tolerance": _SKETCH, "rounds": _ROUNDS, "hessian": hessian}
    return minimise(objective, begin, who, limit=box.limit, fixed=held, **how)


def _searched(box: Box) -> int:
    return int(np.sum(~box.held))


def _values(box: Box) -> FloatArray:
    """Values of each parameter, through the box and on to the limits: by participant, parameter and value."""
    times = _FINER.get(_searched(box), 1)
    through, on = np.linspace(0, 1, times * _INSIDE + 1), np.linspace(0, 1, times * _OUTSIDE + 1)[1:] ** 1.5
    low, high, limit = box.low[..., None], box.high[..., None], box.limit[:, None]
    bounded, width = box.bounded[:, None], high - low
    least, most = np.where(bounded, -limit, low - 2 * width), np.where(bounded, limit, high + 2 * width)
    inside, below, above = low + through * width, low + on[::-1] * (least - low), high + on * (most - high)
    return np.concatenate([below, inside, above], -1)


def bottoms(found: Profiles) -> BoolArray:
    """Which values are next to a bottom of their profile, other than the one that it is drawn from.

    A profile has a bottom where it goes down and then up, where neither of the neighbours is lower and one of them is
    higher, and at a limit to which it still goes down.
    """
    loss, here = found.loss, found.here
    down, up = found.slope < -_FLAT, found.slope > _FLAT
    wall = np.full((*loss.shape[:2], 1), np.inf)
    before, after = np.concatenate([wall, loss[..., :-1]], -1), np.concatenate([loss[..., 1:], wall], -1)
    found_bottom = (loss <= before) & (loss <= after) & (loss < np.maximum(before, after) - _BETTER)
    between = down[..., :-1] & up[..., 1:] & ~here[..., :-1] & ~here[..., 1:]
    found_bottom[..., :-1] |= between & (loss[..., :-1] <= loss[..., 1:])
    found_bottom[..., 1:] |= between & (loss[..., :-1] > loss[..., 1:])
    found_bottom[..., 0] |= up[..., 0]
    found_bottom[..., -1] |= down[..., -1]
    return found_bottom & ~here & np.isfinite(loss)

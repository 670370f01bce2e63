"""The search for the best parameters of each participant, and for anything better.

Several searches go downhill from starts that cover the box in which people's values usually lie. Then one looks around
from the best of their ends: along the profile of each parameter, from bound to bound. Whatever is better there, or goes
down to another bottom, starts another search, until none of them finds anything better.

All searches that still go on are evaluated in one call. What a participant's depend on is what this participant saw and
did, and nobody else.
"""

from collections.abc import Callable
from functools import partial
from itertools import combinations, product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import logit

from astonish.core.numbers import BoolArray, FloatArray
from astonish.people.fit.space import Space, usual
from astonish.people.tables import Trials

# Where searches start
_WIDER = 0.25  # of the width of a usual range, so much is added at either end
_AROUND = 3.0  # how far from the model's own value starts are, where no usual range is known
_FAR = 100  # so many times as far from zero as the box, a parameter without bounds is not searched for
_POINTS, _FEWEST = 3, 24  # points for each search, and at least, at which the loss is known before searches start
_NEIGHBOURS = 4  # of a point
# How they go down
_STEPS = 300
_ARMIJO = 1e-4  # of the decrease that the gradient predicts, a step must achieve this part
_LONGEST = 2.0  # the longest step of any parameter
_STRAIGHT = 1e-6  # a second derivative that is none
_NEARBY = 1e-4  # the distance at which gradients are compared to find second derivatives
_SHORTEST = 1e-8  # the shortest part of a step that is tried
_JUMP = 1e-5  # a function that is higher by more after so short a step is not continuous there
# Profiles
_INSIDE, _OUTSIDE = 6, 5  # steps through the box, and from it to the limit on either side, each longer than the last
_FINER = {1: 6, 2: 2}  # so many times as many, if so few parameters are searched for
_NEAR = 0.1  # distance of two more from the best
_SKETCH, _SKETCH_STEPS = 1e-3, 6  # an expected gain that ends the searches for the others, and their steps at most
_FLAT = 1e-6  # a slope that is none
_BOTTOMS = 6  # so many, the deepest, are searched from
# Looking around
SAME = 0.01  # a difference in log-likelihood that does not matter
_FIRST, _LATER, _EXACT = 1e-5, 3e-4, 1e-10  # expected gains that end a search: from starts, from bottoms, the best
_BETTER = 1e-5  # a gain for which it is worth going on
_ROUNDS = 6  # how often one looks around, at most
_LOW = 5.0  # a corner beyond the box is searched from if its loss is no further above the lowest
_APART = 0.5  # the least distance of two optima
# Values that all participants share
_SHARED_STARTS = 4  # searches for these, at most
_SHARED_EXACT = 1e-8  # an expected gain that ends the search for somebody's own parameters, at shared values
_SHARED_BETTER, _SHARED_ROUNDS = 1e-3, 4  # a gain of all together for which it is worth going on, and how often at most

Rows = NDArray[np.intp]  # the number of a participant, or of another row, for each row
Objective = Callable[[FloatArray, Any], tuple[FloatArray, FloatArray]]  # of rows of parameters, and whose each is


# Where searches start


class Box(NamedTuple):
    """The unconstrained values between which searches start: a row for each participant, a column for each parameter.

    who: the numbers of the participants. limit: how far from zero searches may go. bounded, rates: which parameters
    have a bound, and which have two. held: which parameters stay as they are.
    """

    who: Rows
    low: FloatArray
    high: FloatArray
    limit: FloatArray
    bounded: BoolArray
    rates: BoolArray
    held: BoolArray

    @classmethod
    def of(cls, space: Space, trials: Trials, first: FloatArray) -> "Box":
        """Widen the usual ranges of these participants a little. first: the middle of those that are not known."""
        low, high = np.sort(usual(space, trials, of_each=True), axis=0)
        wider, known = _WIDER * (high - low), ~np.isnan(low)
        low, high = np.where(known, low - wider, first - _AROUND), np.where(known, high + wider, first + _AROUND)
        bounds = np.array([domain.has_low + domain.has_high for domain in space.domains])
        far = _FAR * np.maximum(np.abs(low), np.abs(high)).max(0)
        limit = np.where(bounds > 0, space.limit, far)
        low, high = np.maximum(low, -limit), np.minimum(high, limit)
        return cls(np.arange(len(low)), low, high, limit, bounds > 0, bounds > 1, np.zeros(len(space), bool))

    def at(self, rows: Rows) -> "Box":
        """Return some rows of the box."""
        return self._replace(who=self.who[rows], low=self.low[rows], high=self.high[rows])

    def points(self, shares: FloatArray) -> FloatArray:
        """Return the points at these shares of the way through the box, by participant, point and parameter.

        Of a parameter with two bounds, every other one is at that share of the way between these, on its own scale.
        """
        within = self.low[:, None] + shares * (self.high - self.low)[:, None]
        own_scale = np.clip(logit(shares), -self.limit, self.limit)
        every_other = np.arange(len(shares))[:, None] % 2 == 0
        return np.where(self.rates & every_other, own_scale, within)


def best_starts(objective: Objective, box: Box, starts: int, seed: int) -> FloatArray:
    """Choose starts for each participant, of more points at which the loss is known: see `choose`."""
    shares = evenly(max(_FEWEST, _POINTS * starts), box.low.shape[1], seed)
    points = box.points(shares)
    chosen = choose(shares, _losses_at(objective, box.who, points), starts)
    return np.take_along_axis(points, chosen[..., None], 1)


def _losses_at(objective: Objective, who: Rows, points: FloatArray) -> FloatArray:
    """Compute the losses of participants at several points each."""
    people, count, size = points.shape
    return objective(points.reshape(-1, size), np.repeat(who, count))[0].reshape(people, count)


def evenly(count: int, dimensions: int, seed: int) -> FloatArray:
    """Cover the unit cube evenly, without gaps: Roberts' (2018) additive recurrence. seed: moves all points."""
    ratio = brentq(lambda x: x ** (dimensions + 1) - x - 1, 1, 2)  # the golden ratio, for one dimension
    steps = ratio ** -np.arange(1.0, dimensions + 1)
    shift = np.random.default_rng(seed).random(dimensions)
    return (shift + np.arange(count)[:, None] * steps) % 1


def choose(shares: FloatArray, loss: FloatArray, starts: int) -> Rows:
    """Choose points to start from, a row for each participant: half of them the best, the others whatever the loss is.

    The best are those that are better than their neighbours, and then all others, by the loss. loss: at each point.
    """
    distance = np.square(shares[:, None] - shares).sum(-1)
    neighbours = np.argsort(distance, axis=1)[:, 1 : 1 + _NEIGHBOURS]
    known = np.where(np.isfinite(loss), loss, np.inf)
    lowest = known <= known[:, neighbours].min(2)
    best = np.lexsort((known, ~lowest), axis=1)[:, : -(-starts // 2)]
    taken = np.zeros(loss.shape, bool)
    np.put_along_axis(taken, best, True, 1)
    others = np.argsort(taken, axis=1, kind="stable")[:, : starts // 2]
    return np.concatenate([best, others], axis=1)


# How they go down


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
    who: Rows,
    *,
    limit: FloatArray | float,
    tolerance: float,
    fixed: BoolArray | None = None,
    hessian: FloatArray | None = None,
    steps: int = _STEPS,
    progress: Callable[[float], Any] | None = None,
) -> Minimum:
    """Search downhill from each start, by quasi-Newton steps of many small searches side by side.

    Broyden, Fletcher, Goldfarb & Shanno (1970), keeping the whole matrix: with the few parameters of a participant
    there is nothing to be saved by limiting its memory.

    limit: no coordinate goes beyond its own. tolerance: a step that is predicted to gain less than this is not taken.
    fixed: which coordinates (of each row) stay as they are. hessian: about what it is at the starts, if that is known.
    steps: the most of each search. progress: is called with the share of the searches that are done.
    """
    x = np.clip(starts, -limit, limit)
    loss, gradient = objective(x, who)
    held = np.broadcast_to(False if fixed is None else fixed, x.shape)
    inverse, fresh = _first(gradient), np.ones(len(x), bool)  # fresh: the matrix says nothing about the function yet
    if hessian is not None:
        inverse, fresh = _known(hessian, held, inverse)
    length = np.ones(len(x))
    going = np.isfinite(loss)
    converged, stuck = np.zeros(len(x), bool), np.zeros(len(x), bool)
    for _ in range(steps):
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


def second_derivatives(objective: Objective, xs: FloatArray, who: Rows) -> FloatArray:
    """Differentiate a function twice at each row, by central differences of its gradient."""
    rows, count = xs.shape
    nearby = np.concatenate([_NEARBY * np.eye(count), -_NEARBY * np.eye(count)])
    around = (xs[:, None] + nearby).reshape(-1, count)
    gradients = objective(around, np.repeat(who, 2 * count))[1].reshape(rows, 2, count, count)
    matrix = (gradients[:, 0] - gradients[:, 1]) / (2 * _NEARBY)
    return 0.5 * (matrix + matrix.transpose(0, 2, 1))


def _first(gradient: FloatArray) -> FloatArray:
    """Return the matrix of a search that knows nothing but the slope: a step downhill, no longer than 1."""
    steepest = np.maximum(1, np.abs(gradient).max(1, initial=0.0))
    return np.eye(gradient.shape[1]) / steepest[:, None, None]


def _known(hessian: FloatArray, held: BoolArray, otherwise: FloatArray) -> tuple[FloatArray, BoolArray]:
    """Invert each Hessian, as far as it is not held; return another matrix (and True) where it is not known.

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
    """Step downhill, not too far, and along the limit where a search is there."""
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
    """Update the inverse Hessian after a step (`moved`) that changed the gradient (`turned`).

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


# Profiles


class Profiles(NamedTuple):
    """Profile likelihoods (as in Venzon & Moolgavkar 1988): the least loss at values of one parameter, others free.

    They are sketched at some values from bound to bound: by participant, parameter and value, in order, all parameters
    there, the loss, and its slope. Of a single parameter they are the loss itself, which costs little and is
    computed at more values. here: where the value is that of the best, or the parameter is held.
    """

    x: FloatArray
    loss: FloatArray
    slope: FloatArray
    here: BoolArray


def promising(
    objective: Objective, box: Box, x: FloatArray, lowest: FloatArray, hessian: FloatArray
) -> tuple[Rows, FloatArray]:
    """Find where it is worth to search once more: whose row it is, and the parameters to start from.

    x: the best parameters of each participant. lowest, hessian: the loss and its second derivatives there.
    """
    if np.sum(~box.held) == 1:
        return _chosen(profiles_from_within(objective, box, x), lowest)
    rows, begin = _chosen(profiles_outwards(objective, box, x, lowest, hessian), lowest)
    beyond = np.flatnonzero((((x < box.low) | (x > box.high)) & ~box.held).any(1))
    more_rows, more = _chosen(profiles_from_within(objective, box.at(beyond), x[beyond]), lowest[beyond])
    return np.concatenate([rows, beyond[more_rows]]), np.concatenate([begin, more])


def _chosen(profiles: Profiles, lowest: FloatArray) -> tuple[Rows, FloatArray]:
    """Choose the deepest bottoms of all profiles of each participant, and whatever is lower than the lowest."""
    people, parameters, count = profiles.loss.shape
    lower = (profiles.loss < lowest[:, None, None] - _BETTER) & ~profiles.here
    depth = np.where(lower | bottoms(profiles), profiles.loss, np.inf).reshape(people, parameters * count)
    order = np.argsort(depth, axis=1)[:, :_BOTTOMS]
    rows, which = np.nonzero(np.isfinite(np.take_along_axis(depth, order, 1)))
    return rows, profiles.x.reshape(people, parameters * count, parameters)[rows, order[rows, which]]


def profiles_outwards(
    objective: Objective, box: Box, x: FloatArray, lowest: FloatArray, hessian: FloatArray
) -> Profiles:
    """Go outwards from the best: at each value, search for the others from where they were at the value before."""
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
        minimum = _others(objective, box.at(rows), begin, columns, hessian[rows])
        points[rows, columns, at], loss[rows, columns, at] = minimum.x, minimum.loss
        slope[rows, columns, at] = minimum.gradient[np.arange(len(rows)), columns]
    return Profiles(points, loss, slope, here)


def profiles_from_within(objective: Objective, box: Box, x: FloatArray) -> Profiles:
    """Search for the others, at each value, from where they are best, or from the middle of the box.

    That is for parameters that are best beyond the box, where little may depend on them, and for a single one.
    """
    values = _values(box)
    people, size, count = values.shape
    beyond = ((x < box.low) | (x > box.high)) & ~box.held
    inside = np.where(beyond, 0.5 * (box.low + box.high), x)
    points = np.broadcast_to(inside[:, None, None], (*values.shape, size)).copy()
    points[:, np.arange(size), :, np.arange(size)] = np.moveaxis(values, 1, 0)
    columns = np.tile(np.repeat(np.arange(size), count), people)
    copies = box.at(np.repeat(np.arange(people), size * count))
    minimum = _others(objective, copies, points.reshape(-1, size), columns, None)
    slope = minimum.gradient[np.arange(len(columns)), columns].reshape(values.shape)
    here = np.broadcast_to(box.held[:, None], values.shape)  # nothing is to be found along these
    return Profiles(minimum.x.reshape(points.shape), minimum.loss.reshape(values.shape), slope, here)


def _others(objective: Objective, box: Box, begin: FloatArray, columns: Rows, hessian: FloatArray | None) -> Minimum:
    """Search roughly, from each row, for the parameters other than that in its column."""
    held = box.held | (np.arange(begin.shape[1]) == columns[:, None])
    options: Any = {"limit": box.limit, "tolerance": _SKETCH, "steps": _SKETCH_STEPS}
    return minimise(objective, begin, box.who, fixed=held, hessian=hessian, **options)


def _values(box: Box) -> FloatArray:
    """Return values of each parameter, through the box and on to the limits: by participant, parameter and value."""
    times = _FINER.get(int(np.sum(~box.held)), 1)
    through, on = np.linspace(0, 1, times * _INSIDE + 1), np.linspace(0, 1, times * _OUTSIDE + 1)[1:] ** 1.5
    low, high, limit = box.low[..., None], box.high[..., None], box.limit[:, None]
    bounded, width = box.bounded[:, None], high - low
    least, most = np.where(bounded, -limit, low - 2 * width), np.where(bounded, limit, high + 2 * width)
    inside, below, above = low + through * width, low + on[::-1] * (least - low), high + on * (most - high)
    return np.concatenate([below, inside, above], -1)


def bottoms(profiles: Profiles) -> BoolArray:
    """Mark values next to a bottom of their profile, other than the one that it is drawn from.

    A profile has a bottom where it goes down and then up, where neither of the neighbours is lower and one of them is
    higher, and at a limit to which it still goes down.
    """
    loss, here = profiles.loss, profiles.here
    down, up = profiles.slope < -_FLAT, profiles.slope > _FLAT
    wall = np.full((*loss.shape[:2], 1), np.inf)
    before, after = np.concatenate([wall, loss[..., :-1]], -1), np.concatenate([loss[..., 1:], wall], -1)
    bottom = (loss <= before) & (loss <= after) & (loss < np.maximum(before, after) - _BETTER)
    between = down[..., :-1] & up[..., 1:] & ~here[..., :-1] & ~here[..., 1:]
    bottom[..., :-1] |= between & (loss[..., :-1] <= loss[..., 1:])
    bottom[..., 1:] |= between & (loss[..., :-1] > loss[..., 1:])
    bottom[..., 0] |= up[..., 0]
    bottom[..., -1] |= down[..., -1]
    return bottom & ~here & np.isfinite(loss)


# Looking around


class Optimum(NamedTuple):
    """The best parameters of each participant, a row each; see `Fit`. starts_at_optimum: to within `SAME`."""

    x: FloatArray
    hessian: FloatArray
    converged: BoolArray
    starts_at_optimum: Rows
    second_optimum: FloatArray


def search(objective: Objective, box: Box, starts: FloatArray, progress: Any = None) -> Optimum:
    """Find the optimum of each participant. starts: by participant, start and parameter."""
    people, count, size = starts.shape
    who, options = np.repeat(box.who, count), {"limit": box.limit, "fixed": box.held, "progress": progress}
    ends = minimise(objective, starts.reshape(-1, size), who, tolerance=_FIRST, **options)
    loss, x = ends.loss.reshape(people, count), ends.x.reshape(starts.shape)
    best, lowest, hessian, converged = look_around(objective, box, x[np.arange(people), np.argmin(loss, 1)])
    as_good = loss <= lowest[:, None] + SAME

    # Another end of a search that is as good is another optimum if the loss is higher between both
    second = np.full(best.shape, np.nan)
    far = np.abs(x - best[:, None]).max(2) > _APART
    tied = np.where(far & as_good, loss, np.inf)
    rows = np.flatnonzero(np.isfinite(tied.min(1)))
    others = x[rows, np.argmin(tied[rows], 1)]
    shares = np.array([0.25, 0.5, 0.75])[:, None]
    between = best[rows, None] + shares * (others - best[rows])[:, None]
    apart = _losses_at(objective, box.who[rows], between).max(1) > lowest[rows] + 2 * SAME
    second[rows[apart]] = others[apart]
    return Optimum(best, hessian, converged, as_good.sum(1), second)


def look_around(
    objective: Objective, box: Box, first: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray, BoolArray]:
    """Find the best parameters of each participant; return these, the loss and second derivatives there.

    Also whether nothing better was seen at last.
    """
    minimum, hessian = _polished(objective, box, first)
    x, loss, ended = minimum.x, minimum.loss, minimum.converged | minimum.stuck
    unsure = np.flatnonzero(np.isfinite(loss))

    # Also from corners beyond the box: halfway to the limits for two parameters, in the middle for others. There, one
    # may make up for the other, as a large weight does for a small rate.
    near = box.at(unsure)
    ends, middle = (0.5 * (near.low - near.limit), 0.5 * (near.high + near.limit)), 0.5 * (near.low + near.high)
    pairs = list(combinations(np.flatnonzero(near.bounded & ~near.held), 2))
    corners = np.repeat(np.where(near.held, x[unsure], middle)[:, None], 4 * len(pairs), 1)
    for at, (pair, sides) in enumerate(product(pairs, product((0, 1), repeat=2))):
        for k, side in zip(pair, sides, strict=True):
            corners[:, at, k] = ends[side][:, k]
    with np.errstate(invalid="ignore"):
        rows, columns = np.nonzero(_losses_at(objective, near.who, corners) < loss[unsure, None] + _LOW)
    begin = corners[rows, columns]

    for _ in range(_ROUNDS):
        if not len(unsure):
            break
        more_rows, more = promising(objective, box.at(unsure), x[unsure], loss[unsure], hessian[unsure])
        rows, begin = unsure[np.concatenate([rows, more_rows])], np.concatenate([begin, more])
        tried = minimise(objective, begin, box.who[rows], limit=box.limit, tolerance=_LATER, fixed=box.held)
        order = np.lexsort((tried.loss, rows))
        best = order[np.unique(rows[order], return_index=True)[1]]  # of each participant
        best = best[tried.loss[best] < loss[rows[best]] - _BETTER]
        unsure = rows[best]
        minimum, hessian[unsure] = _polished(objective, box.at(unsure), tried.x[best])
        x[unsure], loss[unsure], ended[unsure] = minimum.x, minimum.loss, minimum.converged | minimum.stuck
        rows, begin = rows[:0], begin[:0]
    ended[unsure] = False
    ended &= (box.bounded | (np.abs(x) < box.limit)).all(1)
    return x, loss, hessian, ended


def _polished(objective: Objective, box: Box, first: FloatArray) -> tuple[Minimum, FloatArray]:
    """Find the bottom near each row, and second derivatives there.

    On the floor of a narrow valley the slope looks like none to a search that knows its walls alone: so it goes on with
    the second derivatives there, until these say, too, that nothing is to be gained.
    """
    down = partial(minimise, objective, who=box.who, limit=box.limit, tolerance=_EXACT, fixed=box.held)
    minimum = down(first)
    hessian = second_derivatives(objective, minimum.x, box.who)
    for _ in range(_ROUNDS):
        last, minimum = minimum, down(minimum.x, hessian=hessian)
        moved = (minimum.x != last.x).any(1)
        if not moved.any():
            break
        hessian[moved] = second_derivatives(objective, minimum.x[moved], box.who[moved])
    return minimum, hessian


# Values that all participants share
#
# The loss that is left at these values, of all participants together, is a function of them alone, and its minimum is
# searched for as that of one participant is.


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
        return minimise(objective, begin, np.tile(np.arange(people), rows), tolerance=_SHARED_EXACT, **known)

    def joint_loss(values: FloatArray, _: Rows) -> tuple[FloatArray, FloatArray]:
        solved, shape = solve(values), (len(values), people)
        gradient = solved.gradient[:, shared].reshape(*shape, shared.sum())  # by their own there is none
        return solved.loss.reshape(shape).sum(1), gradient.sum(1)

    for _ in range(_SHARED_ROUNDS):
        begin = best_starts(joint_loss, common, count, seed)
        begin[:, 0] = np.median(own[:, shared], 0)
        best = search(joint_loss, common, begin)
        solved = solve(best.x)
        own, loss, hessian, ended = look_around(objective, box._replace(held=shared), solved.x)
        if loss.sum() > solved.loss.sum() - _SHARED_BETTER:
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

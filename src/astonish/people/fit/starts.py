"""Where do the searches for a participant's parameters start?

At points that cover evenly the box in which people's values usually lie: Roberts' (2018) additive recurrence, which
leaves no gaps. Rates are even on their own scale, values with one bound on that of logarithms. The box depends on what
the participant saw and did, and on nobody else.
"""

from itertools import combinations, product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import logit

from astonish.core.numbers import BoolArray, FloatArray
from astonish.people.fit.bfgs import Objective
from astonish.people.fit.space import Space
from astonish.people.fit.usual import usual_of_each
from astonish.people.tables import Trials

_WIDER = 0.25  # of the width of a usual range, so much is added at either end
_AROUND = 3.0  # how far from the model's own value starts are, where no usual range is known
_FAR = 100  # so many times as far from zero as the box, a parameter without bounds is not searched for
_POINTS, _FEWEST = 3, 24  # points for each search, and at least, at which the loss is known before searches start
_NEIGHBOURS = 4  # of a point


class Box(NamedTuple):
    """Between which unconstrained values searches start: a row for each participant, a column for each parameter.

    limit: how far from zero they may go. bounded, rates: which parameters have a bound, and which have two.
    held: which parameters stay as they are.
    """

    low: FloatArray
    high: FloatArray
    limit: FloatArray
    bounded: BoolArray
    rates: BoolArray
    held: BoolArray

    @classmethod
    def of(cls, space: Space, trials: Trials, first: FloatArray) -> "Box":
        """The usual ranges of these participants, a little wider. first: the middle of those that are not known."""
        low, high = np.sort(usual_of_each(space, trials), axis=0)
        wider, known = _WIDER * (high - low), ~np.isnan(low)
        low, high = np.where(known, low - wider, first - _AROUND), np.where(known, high + wider, first + _AROUND)
        bounds = np.array([domain.has_low + domain.has_high for domain in space.domains])
        far = _FAR * np.maximum(np.abs(low), np.abs(high)).max(0)
        limit = np.where(bounds > 0, space.limit, far)
        low, high = np.maximum(low, -limit), np.minimum(high, limit)
        return cls(low, high, limit, bounds > 0, bounds > 1, np.zeros(len(space), bool))

    def at(self, who: NDArray[np.intp]) -> "Box":
        """The same of these participants alone."""
        return self._replace(low=self.low[who], high=self.high[who])

    def common(self, shared: BoolArray) -> "Box":
        """The box of all participants together, for some of the parameters."""
        low, high = (part[:, shared].mean(0, keepdims=True) for part in (self.low, self.high))
        return Box(low, high, self.limit[shared], self.bounded[shared], self.rates[shared], self.held[shared])

    def holding(self, held: BoolArray) -> "Box":
        """The same if some of the parameters stay as they are."""
        return self._replace(held=held)

    def points(self, shares: FloatArray) -> FloatArray:
        """The points at these shares of the way through the box, by participant, point and parameter.

        Of a parameter with two bounds, every other one is at that share of the way between these, on its own scale.
        """
        within = self.low[:, None] + shares * (self.high - self.low)[:, None]
        own_scale = np.clip(logit(shares), -self.limit, self.limit)
        every_other = np.arange(len(shares))[:, None] % 2 == 0
        return np.where(self.rates & every_other, own_scale, within)

    def corners(self) -> FloatArray:
        """Points halfway from the box to the limits for two parameters, in the middle for others: four for each pair.

        There, one parameter may make up for the other, as a large weight does for a small rate.
        """
        ends, middle = (0.5 * (self.low - self.limit), 0.5 * (self.high + self.limit)), 0.5 * (self.low + self.high)
        pairs = list(combinations(np.flatnonzero(self.bounded & ~self.held), 2))
        found = np.repeat(middle[:, None], 4 * len(pairs), 1)
        for at, (pair, sides) in enumerate(product(pairs, product((0, 1), repeat=2))):
            for k, side in zip(pair, sides, strict=True):
                found[:, at, k] = ends[side][:, k]
        return found


def best_starts(objective: Objective, box: Box, who: NDArray[np.intp], starts: int, seed: int) -> FloatArray:
    """So many starts for each participant, of more points at which the loss is known: see `choose`."""
    tried = evenly(max(_FEWEST, _POINTS * starts), box.low.shape[1], seed)
    points = box.points(tried)
    people, count, size = points.shape
    loss = objective(points.reshape(-1, size), np.repeat(who, count))[0].reshape(people, count)
    return np.take_along_axis(points, choose(tried, loss, starts)[..., None], 1)


def evenly(count: int, dimensions: int, seed: int) -> FloatArray:
    """So many points that cover the unit cube evenly. seed: moves all of them."""
    ratio = brentq(lambda x: x ** (dimensions + 1) - x - 1, 1, 2)  # the golden ratio, for one dimension
    steps = ratio ** -np.arange(1.0, dimensions + 1)
    shift = np.random.default_rng(seed).random(dimensions)
    return (shift + np.arange(count)[:, None] * steps) % 1


def choose(shares: FloatArray, loss: FloatArray, starts: int) -> NDArray[np.intp]:
    """Which points to start from, a row for each participant: half of them the best, the others whatever the loss is.

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

"""Which values of shared parameters are best, if all participants have the same?

At any of these values, everybody's own parameters can be searched for. The loss that is left, of all participants
together, is a function of the shared values alone, and its minimum is searched for as that of one participant is.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from astonish.core.numbers import BoolArray, FloatArray
from astonish.people.fit.bfgs import Minimum, Objective, minimise, second_derivatives
from astonish.people.fit.search import look_around, search
from astonish.people.fit.starts import Box, best_starts

STARTS = 4  # searches for shared values, at most
_EXACT = 1e-8  # an expected gain that ends the search for somebody's own parameters
_BETTER = 1e-3  # a gain of all participants together for which it is worth going on
_ROUNDS = 4
_EVERYBODY = np.zeros(1, np.intp)  # searched for as one participant


class Shared(NamedTuple):
    """The best parameters of all participants, a row each, of which some columns are the same in all rows.

    converged: whether nothing better was seen at last. starts_at_optimum: how many of `starts` searches led to the
    shared values.
    """

    x: FloatArray
    converged: bool
    starts_at_optimum: int
    starts: int


def fit_shared(objective: Objective, box: Box, alone: FloatArray, shared: BoolArray, starts: int, seed: int) -> Shared:
    """The best parameters if those columns are the same in all rows. alone: the best where they need not be."""
    count, common, own = min(starts, STARTS), box.common(shared), alone
    for _ in range(_ROUNDS):
        joint = Joint(objective, box.limit, own, shared)
        begin = best_starts(joint, common, _EVERYBODY, count, seed)
        begin[:, 0] = np.median(own[:, shared], 0)
        found = search(joint, common, _EVERYBODY, begin)
        solved = joint.solved(found.x)
        own, loss, ended = look_around(objective, box.holding(shared), np.arange(len(own)), solved.x)
        if loss.sum() > solved.loss.sum() - _BETTER:
            break
    return Shared(own, bool(found.converged[0] and ended.all()), int(found.starts_at_optimum[0]), count)


class Joint:
    """The loss of all participants at shared values, a row of these for each, and its gradient.

    own: the parameters of all participants, from which their own are searched for.
    """

    def __init__(self, objective: Objective, limit: FloatArray, own: FloatArray, shared: BoolArray) -> None:
        self._objective, self._limit, self._own, self._shared = objective, limit, own, shared
        self._hessian = second_derivatives(objective, own, np.arange(len(own)))

    def __call__(self, values: FloatArray, _: NDArray[np.intp]) -> tuple[FloatArray, FloatArray]:
        found, shape = self.solved(values), (len(values), len(self._own))
        gradient = found.gradient[:, self._shared].reshape(*shape, self._shared.sum())  # by their own there is none
        return found.loss.reshape(shape).sum(1), gradient.sum(1)

    def solved(self, values: FloatArray) -> Minimum:
        """The best parameters of all participants at each row of shared values, one row after the other."""
        rows, people = len(values), len(self._own)
        begin = np.tile(self._own, (rows, 1))
        begin[:, self._shared] = np.repeat(values, people, 0)
        held = np.broadcast_to(self._shared, begin.shape)
        who, hessian = np.tile(np.arange(people), rows), np.tile(self._hessian, (rows, 1, 1))
        return minimise(self._objective, begin, who, limit=self._limit, tolerance=_EXACT, fixed=held, hessian=hessian)


def pooled_hessian(hessian: FloatArray, shared: BoolArray) -> FloatArray:
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

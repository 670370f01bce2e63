"""What if some parameters are the same for everyone?"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from astonish.domain import Numbers
from astonish.fit.search import Losses

Mask = NDArray[np.bool_]


def share(losses: Losses, places: Numbers, shared: Mask, furthest: Numbers) -> tuple[Numbers, bool]:
    """The best places if those coordinates are the same in all rows, and whether the search came to an end.

    places: the best places of each participant alone, from where the search starts.
    """
    everyone = np.arange(len(places))

    def assembled(vector: Numbers) -> Numbers:
        together = np.empty_like(places)
        together[:, shared] = vector[: shared.sum()]
        together[:, ~shared] = vector[shared.sum() :].reshape(len(places), -1)
        return together

    def joint(vector: Numbers) -> tuple[Any, Any]:
        loss, slope = losses(assembled(vector), everyone)
        return loss.sum(), np.concatenate([slope[:, shared].sum(0), slope[:, ~shared].ravel()])

    start = np.concatenate([np.median(places[:, shared], 0), places[:, ~shared].ravel()])
    ends = np.concatenate([furthest[shared], np.tile(furthest[~shared], len(places))])
    bounds = list(zip(-ends, ends, strict=True))
    options = {"maxiter": 2000, "maxfun": 5000, "ftol": 1e-13, "gtol": 1e-6}
    found = minimize(joint, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    return assembled(np.asarray(found.x)), bool(found.success)


def pooled(curvature: Numbers, shared: Mask) -> Numbers:
    """Each participant's curvature, once what all the others tell about the shared coordinates is counted in.

    The curvature of all parameters together has a block for each participant, and rows for what is shared; with the
    other participants' own parameters left to follow, it is that of one participant plus what remains of the others.
    """
    own = ~shared
    remains = np.zeros((len(curvature), shared.sum(), shared.sum()))
    for row, matrix in enumerate(curvature):
        across = matrix[np.ix_(own, shared)]
        remains[row] = matrix[np.ix_(shared, shared)] - across.T @ np.linalg.pinv(matrix[np.ix_(own, own)]) @ across
    others = remains.sum(0) - remains
    together = curvature.copy()
    together[np.ix_(np.arange(len(curvature)), shared, shared)] += others
    return together

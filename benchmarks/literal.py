"""Algorithm 2 of the paper, translated literally: SciPy's special functions and `brentq`, one transition at a time."""

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import gammaln, psi

Vector = NDArray[np.float64]


def divergence(m: Vector, n: Vector) -> float:
    """D_KL[Dir(m) || Dir(n)], note 1 of Algorithm 2."""
    total = gammaln(m.sum()) - gammaln(n.sum()) - gammaln(m).sum() + gammaln(n).sum()
    return float(total + ((m - n) * (psi(m) - psi(m.sum()))).sum())


def maze(rooms: NDArray[np.int64], nexts: NDArray[np.int64], size: int, contexts: int, m: float) -> Vector:
    """The table of beliefs after all transitions, from a flat start."""
    alpha = np.ones((contexts, size))
    for room, outcome in zip(rooms, nexts, strict=True):
        a = alpha[room]
        b = np.ones(size)
        b[outcome] += 1
        surprise = divergence(a, b)
        bound_max = divergence(b, a)
        bound = m * surprise / (1 + m * surprise) * bound_max
        gamma = 0.0
        if bound > 0:
            gamma = brentq(lambda g: divergence(g * b + (1 - g) * a, a) - bound, 0.0, 1.0, xtol=1e-10)  # noqa: B023
        alpha[room] = (1 - gamma) * a + gamma * b
    return alpha

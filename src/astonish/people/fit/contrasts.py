"""Numbers that compare groups or conditions, none of which is special."""

import numpy as np

from astonish.core.numbers import FloatArray


def effects(count: int) -> FloatArray:
    """Columns of numbers that add up to zero, orthogonal and of length one: a row for each of so many groups.

    >>> effects(2).round(3).tolist()
    [[0.707], [-0.707]]
    """
    basis = np.zeros((count, count - 1))
    for k in range(1, count):  # after Helmert: the mean of the first k against the next
        basis[:k, k - 1], basis[k, k - 1] = 1.0, -float(k)
    return basis / np.linalg.norm(basis, axis=0)

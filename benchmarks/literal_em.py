"""Equations 35 to 38 of the paper (online EM), translated literally: phi in full, one transition at a time."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
LEAST = (
    np.finfo(np.float64).eps ** 2
)  # the probability of a move never seen, without which the first of them ends in 0 / 0


def online_em(
    here: NDArray[np.int32], there: NDArray[np.int32], switches: Array, moves: Array, rate: float, frozen: int
) -> tuple[Array, Array, Array]:
    """q, P and T after all transitions, from the first P `[from, to]` and T `[environment, room, next room]`."""
    some, rooms, _ = moves.shape
    every = np.arange(some)
    q, p, t = np.full(some, 1 / some), switches, moves
    phi = np.zeros((some, some, rooms, rooms, some))
    for step, (s, s2) in enumerate(zip(here, there, strict=True), start=1):
        seen = np.maximum(t[:, s, s2], LEAST)
        gamma = p * seen / (q @ p @ seen)  # eq. 36
        phi = (1 - rate) * phi @ gamma  # eq. 37: phi[i, j, s, s', h]
        phi[:, every, s, s2, every] += rate * q[:, None] * gamma
        q = q @ gamma  # eq. 35
        if step >= frozen:  # eq. 38
            p = probabilities(phi.sum((2, 3, 4)), switches)
            t = probabilities(phi.sum((0, 4)), moves)
    return q, p, t


def probabilities(counts: Array, first: Array) -> Array:
    """Counts as shares of their row; the first probabilities where there is nothing to count."""
    total = counts.sum(-1, keepdims=True)
    return np.where(total > 0, counts / np.where(total > 0, total, 1.0), first)

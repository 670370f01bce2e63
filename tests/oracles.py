"""Divergences by the textbook, and learners as recursions in plain NumPy, which ours are held against."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from astonish.worlds.gaussian_jumps import Episode

Vector = NDArray[np.float64]


def normal_divergence(mean: Any, std: Any, other_mean: Any, other_std: Any) -> Any:
    """D[N(mean, std^2) || N(other_mean, other_std^2)] (the paper's eq. 33)."""
    return np.log(other_std / std) + (std**2 + (mean - other_mean) ** 2) / (2 * other_std**2) - 0.5


def dirichlet_divergence(a: Any, b: Any) -> Any:
    """D[Dir(a) || Dir(b)] (the paper's note 1 of Algorithm 2)."""
    norms = special.gammaln(a.sum()) - special.gammaln(a).sum() - special.gammaln(b.sum()) + special.gammaln(b).sum()
    return norms + (a - b) @ (special.digamma(a) - special.digamma(a.sum()))


def recursion(task: Episode, rate: Callable[[Vector], Any]) -> tuple[Vector, Vector]:
    """Errors after each sample of a learner that moves `rate(error)` of the way from 0, and the rates, by episode."""
    estimate, off, rates = np.zeros(len(task.samples)), [], []
    for x, truth in zip(task.samples.T, task.truth.T, strict=True):
        rates.append(rate(x - estimate) + np.zeros(len(x)))
        estimate = estimate + rates[-1] * (x - estimate)
        off.append(estimate - truth)
    return np.stack(off, axis=1), np.stack(rates, axis=1)


def delta_rule(rate: Any, outcomes: Any, start: float = 0.0) -> Vector:
    """Return the estimates after each outcome; of several rows of them side by side, at a rate each."""
    estimate, estimates = np.zeros(np.shape(outcomes)[1:]) + start, []
    for x in outcomes:
        estimate = estimate + rate * (x - estimate)
        estimates.append(estimate)
    return np.array(estimates)


def smile_rate(error: Vector) -> Vector:
    """Eq. 10, at m = .1 and noise 4."""
    product = 0.1 * error**2 / 32
    return np.sqrt(product / (1 + product))


class NassarRate:
    """The learning rate of the formula sheet, section 2, with its run lengths."""

    def __init__(self, hazard: float) -> None:
        self.hazard, self.length = hazard, np.float64(1.0)

    def __call__(self, error: Vector) -> Vector:
        variance = 16 + 16 / self.length
        stay = np.exp(-(error**2) / (2 * variance)) / np.sqrt(2 * np.pi * variance)
        ratio = 1 / 40 / np.maximum(stay, 1e-300) * self.hazard / (1 - self.hazard)
        omega = ratio / (1 + ratio)
        rate = (1 + omega * self.length) / (self.length + 1)
        self.length = (1 - omega) * (self.length + 1) + omega
        return rate

"""What is the particle filter of Liakoni, Modirshanechi, Brea & Gerstner (2021) as their equations stand, in NumPy?

For a Gaussian mean: every particle holds a mean and a precision. Series are rows, and run side by side.
"""

from typing import Any

import numpy as np


def particle_filter(xs: Any, noise: float, std: float, hazard: float, particles: int, seed: int) -> Any:
    """The estimates after each sample of each series; the prior mean is zero."""
    rng = np.random.default_rng(seed)
    series, steps = xs.shape
    fresh = std**-2.0
    means, precisions = np.zeros((series, particles)), np.full((series, particles), fresh)
    weights, estimates = np.full((series, particles), 1 / particles), np.empty((series, steps))
    odds = np.log(hazard / (1 - hazard))
    for t in range(steps):
        x = xs[:, t, None]
        under_prior, under_each = log_density(x, 0.0, fresh, noise), log_density(x, means, precisions, noise)
        joint = np.log(weights) + under_each
        top = joint.max(1, keepdims=True)
        shares = np.exp(joint - top)
        total = shares.sum(1, keepdims=True)
        gamma = 1 / (1 + np.exp(top + np.log(total) - under_prior - odds))
        weights = (1 - gamma) * shares / total + gamma * weights
        weights /= weights.sum(1, keepdims=True)
        reset = rng.random(weights.shape) < 1 / (1 + np.exp(under_each - under_prior - odds))
        for row in np.flatnonzero(1 / (weights**2).sum(1) <= particles / 2):
            chosen = rng.choice(particles, particles, p=weights[row])
            means[row], precisions[row], reset[row] = means[row, chosen], precisions[row, chosen], reset[row, chosen]
            weights[row] = 1 / particles
        precisions = np.where(reset, fresh, precisions) + noise**-2.0
        means = np.where(reset, 0.0, means)
        means = means + (x - means) / (precisions * noise**2)
        estimates[:, t] = (weights * means).sum(1)
    return estimates


def log_density(x: Any, mean: Any, precision: Any, noise: float) -> Any:
    """Of a sample, if the mean is known so well."""
    variance = noise**2 + 1 / precision
    return -0.5 * ((x - mean) ** 2 / variance + np.log(2 * np.pi * variance))

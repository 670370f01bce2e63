"""Divergences of normal and Dirichlet distributions from each other by the textbook, which ours are held against."""

from typing import Any

import numpy as np
from scipy import special


def normal_divergence(mean: Any, std: Any, other_mean: Any, other_std: Any) -> Any:
    """D[N(mean, std^2) || N(other_mean, other_std^2)] (the paper's eq. 33)."""
    return np.log(other_std / std) + (std**2 + (mean - other_mean) ** 2) / (2 * other_std**2) - 0.5


def dirichlet_divergence(a: Any, b: Any) -> Any:
    """D[Dir(a) || Dir(b)] (the paper's note 1 of Algorithm 2)."""
    norms = special.gammaln(a.sum()) - special.gammaln(a).sum() - special.gammaln(b.sum()) + special.gammaln(b).sum()
    return norms + (a - b) @ (special.digamma(a) - special.digamma(a.sum()))

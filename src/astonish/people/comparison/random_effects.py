"""Which model do most people use, if not all use the same, and how sure is that?

Random-effects Bayesian model selection: Stephan, Penny, Daunizeau, Moran & Friston (2009), with the protection against
probability of Rigoux, Stephan, Friston & Daunizeau (2014).
"""

from typing import Any, NamedTuple

import numpy as np
from scipy.special import digamma, gammainc, gammainccinv, gammaincinv, gammaln, logsumexp, softmax, xlogy

from astonish.core.numbers import POSITIVE, Domain, FloatArray

_ROUNDS, _SETTLED = 10_000, 1e-12
_NODES = 4001  # of the integral, whose integrand is smooth: errors are below 1e-9
_NEVER = 1e-18


class ModelFrequencies(NamedTuple):
    """What is known of the share of people who use each model.

    alpha: of the Dirichlet distribution of these shares; less its prior, it is a number of people.
    attribution: how probable each model is for each participant, a row each. mean, std: of the shares.
    exceedance: the probability that a model is used by more people than any other. risk: the probability that all are
    used by equally many, and what looks like a difference is chance. protected: `exceedance`, given that risk.
    """

    alpha: FloatArray
    attribution: FloatArray
    mean: FloatArray
    std: FloatArray
    exceedance: FloatArray
    risk: float
    protected: FloatArray


def select(log_evidence: Any, prior: float = 1.0) -> ModelFrequencies:
    """How many people use each model, from its log-evidence for each participant (a row) and model (a column).

    prior: of the Dirichlet distribution before anything is known, for each model; 1 is a flat one.

    >>> shares = select([[0.0, -5.0], [-1.0, -7.0], [0.0, -4.0], [-9.0, -8.0]])
    >>> shares.mean.round(2), shares.exceedance.round(2), shares.protected.round(2), round(shares.risk, 2)
    (array([0.77, 0.23]), array([0.93, 0.07]), array([0.74, 0.26]), 0.45)
    """
    evidence = Domain().check("log_evidence", log_evidence)
    if evidence.ndim != 2 or not evidence.size:
        raise ValueError(
            f"log_evidence has shape {evidence.shape}; give a row for each participant, a column per model"
        )
    POSITIVE.check("prior", prior)
    alpha = np.full(evidence.shape[1], float(prior))
    for _ in range(_ROUNDS):
        attribution = softmax(evidence + digamma(alpha), axis=1)
        before, alpha = alpha, prior + attribution.sum(0)
        if np.abs(alpha - before).max() < _SETTLED * len(evidence):
            break
    mean = alpha / alpha.sum()
    std = np.sqrt(mean * (1 - mean) / (alpha.sum() + 1))
    risk = float(1 / (1 + np.exp(np.clip(_gain(evidence, attribution, alpha, prior), -700, 700))))
    probabilities = exceedance(alpha)
    return ModelFrequencies(
        alpha, attribution, mean, std, probabilities, risk, (1 - risk) * probabilities + risk / len(alpha)
    )


def exceedance(alpha: Any) -> FloatArray:
    """The probability that each share is the largest of all, if shares have this Dirichlet distribution.

    Shares are proportional to independent gamma variables, so it is one integral for each: over the values of one
    variable, the probability that all others are below. It is taken over their logarithms, where trapezoids converge
    faster than any power of their number.
    """
    alpha = POSITIVE.check("alpha", alpha)
    low = np.log(np.maximum(gammaincinv(alpha, _NEVER), np.finfo(np.float64).tiny))
    logs = np.linspace(low, np.log(gammainccinv(alpha, _NEVER)), _NODES, axis=1)
    density = np.exp(alpha[:, None] * logs - np.exp(logs) - gammaln(alpha)[:, None])
    below = gammainc(alpha[:, None, None], np.exp(logs))
    below[np.diag_indices(len(alpha))] = 1.0
    probabilities = (density * below.prod(0)).sum(1) * (logs[:, 1] - logs[:, 0])
    return np.asarray(probabilities / probabilities.sum())


def _gain(evidence: FloatArray, attribution: FloatArray, alpha: FloatArray, prior: float) -> float:
    """By how much the log-evidence that shares differ exceeds that of all shares being equal (their appendix)."""
    models = len(alpha)
    expected = digamma(alpha) - digamma(alpha.sum())  # of the logarithms of the shares
    joint = (attribution * (evidence + expected)).sum() + (prior - 1) * expected.sum()
    joint += gammaln(models * prior) - models * gammaln(prior)
    entropy = gammaln(alpha).sum() - gammaln(alpha.sum()) - ((alpha - 1) * expected).sum()
    entropy -= xlogy(attribution, attribution).sum()
    equal = (logsumexp(evidence, axis=1) - np.log(models)).sum()
    return float(joint + entropy - equal)

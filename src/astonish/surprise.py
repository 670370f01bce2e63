"""How surprising is a sample to a belief?

Faraji, Preuschoff & Gerstner (2018), sections 2.1 and 4.1-4.4.
All measures are in nats and are taken before the belief has moved.
"""

from typing import Any

from jax import Array

from astonish import expfam
from astonish.expfam import Belief, Family, entropy


def confidence_corrected(family: Family, belief: Belief, x: Any, reference: Belief | None = None) -> Array:
    """S_cc = D[belief || scaled likelihood] (eq. 2): large for a sample that contradicts a firm opinion.

    reference: a proper belief in place of the flat one behind the scaled likelihood (our extension; the CC2 measure of
    Modirshanechi, Brea & Gerstner 2022). Needed where the likelihood of one sample is improper.
    """
    return expfam.divergence(family, belief, expfam.target(family, x, reference))


def raw(family: Family, belief: Belief, x: Any) -> Array:
    """S_raw = -<ln p(x | theta)> under the belief (eq. 13); equals `bayesian` + `shannon` (eq. 15)."""
    return -expfam.mean_log_likelihood(family, belief, x)


def shannon(family: Family, belief: Belief, x: Any) -> Array:
    """-ln p(x), the information content of the sample (section 4.2): large for an unlikely sample."""
    return -expfam.log_evidence(family, belief, x)


def bayesian(family: Family, belief: Belief, x: Any) -> Array:
    """D[belief || posterior] (section 4.2): how much Bayes' rule would change the belief."""
    return expfam.divergence(family, belief, expfam.bayes(family, belief, x))


def bayesian_reverse(family: Family, belief: Belief, x: Any) -> Array:
    """D[posterior || belief], the direction of Itti & Baldi (2009)."""
    return expfam.divergence(family, expfam.bayes(family, belief, x), belief)


def commitment(family: Family, belief: Belief) -> Array:
    """Minus the `entropy` of the belief (eq. 1): how sure the believer is."""
    return -entropy(family, belief)

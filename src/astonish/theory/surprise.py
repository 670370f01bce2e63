"""How surprising is a sample to a belief?

Faraji, Preuschoff & Gerstner (2018), sections 2.1 and 4.1-4.4; the others as collected by Modirshanechi, Brea &
Gerstner (2022). All measures are taken before the belief has moved. They are in nats, the Bayes factor, too, which is
given as its logarithm; but `state_prediction_error` is a probability, and errors have the units of the samples.

Measures of a prediction come in two variants. Left alone, the believer takes the world to be as it was. With a
`hazard`, the probability that it changed just before the sample, the prediction is the mixture of the belief's
(1 - hazard) and of that of the `prior` (hazard), from which a changed world is drawn; the family's own prior when
left out.
"""

from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from astonish.core.numbers import Number
from astonish.core.special import difference
from astonish.theory import expfam
from astonish.theory.expfam import Belief, Family, entropy

TERMS = ("shannon", "bayesian", "log_norm", "commitment", "reference_evidence", "reference_divergence")  # in this order


def confidence_corrected(family: Family, belief: Belief, x: Any, reference: Belief | None = None) -> Array:
    """S_cc = D[belief || scaled likelihood] (eq. 2): large for a sample that contradicts a firm opinion.

    reference: a proper belief in place of the flat one behind the scaled likelihood (our extension; the CC2 measure of
    Modirshanechi, Brea & Gerstner 2022). Needed where the likelihood of one sample is improper.
    """
    return expfam.divergence(family, belief, expfam.scaled_likelihood(family, x, reference))


def confidence_corrected_terms(
    family: Family, belief: Belief, x: Any, reference: Belief | None = None
) -> dict[str, Array]:
    """The terms that add up to `confidence_corrected` (eqs. 12 and 15), by name; some may be below zero.

    `shannon` and `bayesian` are the raw surprise, `log_norm` is that of the likelihood, ln ||p_x||, and `commitment` is
    minus the entropy of the belief. With a `reference` in place of flatness the last two are `reference_evidence`, ln
    p(x) under the reference, and `reference_divergence`, D[belief || reference].
    """
    of_raw = {"shannon": shannon(family, belief, x), "bayesian": bayesian(family, belief, x)}
    if reference is not None:
        evidence = expfam.log_evidence(family, reference, x)
        apart = expfam.divergence(family, belief, reference)
        return {**of_raw, "reference_evidence": evidence, "reference_divergence": apart}
    log_norm = family.log_base(x) + family.log_partition(expfam.scaled_likelihood(family, x))
    return {**of_raw, "log_norm": log_norm, "commitment": commitment(family, belief)}


def raw(family: Family, belief: Belief, x: Any) -> Array:
    """S_raw = -<ln p(x | theta)> under the belief (eq. 13); equals `bayesian` + `shannon` (eq. 15)."""
    return -expfam.mean_log_likelihood(family, belief, x)


def shannon(family: Family, belief: Belief, x: Any, hazard: Number | None = None, prior: Belief | None = None) -> Array:
    """-ln p(x), the information content of the sample (section 4.2): large for an unlikely sample.

    >>> from astonish import Beta
    >>> [round(float(shannon(Beta(), Beta().prior(ones=9.0), 0, hazard)), 3) for hazard in (None, 0.5)]
    [2.303, 1.204]
    """
    stay = expfam.log_evidence(family, belief, x)
    if hazard is None:
        return -stay
    hazard = jnp.asarray(hazard)
    change = expfam.log_evidence(family, _given_or_own(family, prior), x)
    return -jnp.logaddexp(stay + jnp.log1p(-hazard), change + jnp.log(hazard))


def state_prediction_error(
    family: Family, belief: Belief, x: Any, hazard: Number | None = None, prior: Belief | None = None
) -> Array:
    """1 - p(x) (Gläscher et al. 2010): how far from certain the outcome was. For outcomes that have probabilities."""
    if not predicts_probabilities(family):
        problem = f"{type(family).__name__}'s samples have densities, which may exceed 1, so that 1 - p means nothing"
        raise ValueError(f"{problem}; use shannon or absolute_error")
    return -jnp.expm1(-jnp.maximum(shannon(family, belief, x, hazard, prior), 0.0))


def absolute_error(
    family: Family, belief: Belief, x: Any, hazard: Number | None = None, prior: Belief | None = None
) -> Array:
    """|x - E x|: how far the sample was from the expected one, in its own units. Of a vector: the length."""
    error = _error(family, belief, x, hazard, prior)
    return jnp.abs(error) if error.ndim == 0 else jnp.linalg.norm(error)


def squared_error(
    family: Family, belief: Belief, x: Any, hazard: Number | None = None, prior: Belief | None = None
) -> Array:
    """(x - E x)^2, the square of `absolute_error`."""
    return jnp.square(_error(family, belief, x, hazard, prior)).sum()


def bayes_factor(family: Family, belief: Belief, x: Any, prior: Belief | None = None) -> Array:
    """How strongly the sample speaks for a change: ln p(x) under the prior minus ln p(x) under the belief.

    The logarithm, in nats, of the Bayes-factor surprise of Liakoni et al. (2021); below zero where the sample speaks
    against a change. Added to the log-odds of a change before the sample, it gives those after.
    """
    change = expfam.log_evidence(family, _given_or_own(family, prior), x)
    return change - expfam.log_evidence(family, belief, x)


def bayesian(family: Family, belief: Belief, x: Any) -> Array:
    """D[belief || posterior] (section 4.2): how much Bayes' rule would change the belief."""
    return expfam.divergence(family, belief, expfam.bayes(family, belief, x))


def bayesian_reverse(family: Family, belief: Belief, x: Any) -> Array:
    """D[posterior || belief], the direction of Itti & Baldi (2009)."""
    return expfam.divergence(family, expfam.bayes(family, belief, x), belief)


def postdictive(family: Family, belief: Belief, x: Any) -> Array:
    """How much the sample would change what is predicted next (Kolossa et al. 2015).

    As `bayesian`, D[before || after Bayes' rule], but between distributions of samples rather than of what makes them;
    never larger than that.
    """
    gap = family.predictive_divergence(belief, expfam.bayes(family, belief, x), x)
    if gap is None:
        problem = f"{type(family).__name__} cannot go through all samples to compare predictions of them"
        raise ValueError(f"{problem}; give it a domain of whole numbers with two ends, or use bayesian")
    return gap


def free_energy(family: Family, before: Belief, after: Belief, x: Any) -> Array:
    """D[after || posterior] + `shannon` (Friston 2010): the surprise, and how far learning fell short of Bayes' rule.

    After Bayes' rule it is as small as can be, and equals `shannon`.
    """
    return expfam.divergence(family, after, expfam.bayes(family, before, x)) + shannon(family, before, x)


def commitment(family: Family, belief: Belief) -> Array:
    """Minus the `entropy` of the belief (eq. 1): how sure the believer is."""
    return -entropy(family, belief)


def predicts_probabilities(family: Family) -> bool:
    """Whether samples are whole numbers, each with a probability, rather than any numbers, with a density."""
    return all(domain.whole for domain in jax.tree.leaves(family.samples))


def _error(family: Family, belief: Belief, x: Any, hazard: Number | None, prior: Belief | None) -> Array:
    """The sample minus the expected one, under the belief or under its mixture with the prior."""
    stay = family.error(belief, x)
    if stay is None:
        problem = f"{type(family).__name__} does not say which number to expect, so there is no error"
        raise ValueError(f"{problem}; use shannon, or state_prediction_error for outcomes that are names")
    if hazard is None:
        return jnp.asarray(stay)
    if family.period is not None:
        both = jax.tree.map(lambda *parts: jnp.stack(parts), belief, _given_or_own(family, prior))
        expected = family.mixture_mean(both, jnp.stack([1 - jnp.asarray(hazard), jnp.asarray(hazard)]))
        return jnp.asarray(difference(x, expected, family.period))
    change: Any = family.error(_given_or_own(family, prior), x)
    hazard = jnp.asarray(hazard)
    return jnp.where(hazard < 1, (1 - hazard) * stay, 0.0) + jnp.where(hazard > 0, hazard * change, 0.0)


def _given_or_own(family: Family, prior: Belief | None) -> Belief:
    return family.prior() if prior is None else prior

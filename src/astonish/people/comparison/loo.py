"""How well does a model predict each response from all the others of a participant?

Without another fit: from draws of the parameters, weighted as if the response had not been there (Vehtari, Gelman &
Gabry 2017). The draws are those of a t-distribution at the peak of the posterior, and the weights make up for what is
wrong with that too (Magnusson, Andersen, Jonasson & Vehtari 2019).
"""

from functools import partial
from typing import Any

import jax
import numpy as np
from jax import Array
from scipy.special import logsumexp

from astonish.core.numbers import Domain, FloatArray, as_double, double
from astonish.core.programs import compiled
from astonish.core.refusal import check_installed
from astonish.online.series import OPTIONS
from astonish.people.comparison.cross_validation import HeldOut
from astonish.people.fit.estimate import Progress
from astonish.people.fit.likelihood import Model, ParticipantData, evaluate
from astonish.people.fit.result import Fit
from astonish.people.fit.space import Space

_TAIL = 5.0  # degrees of freedom: heavier tails than those of most posteriors, so that no weight is too large


def psis_loo(fit: Fit, *, draws: int = 1000, seed: int = 0, progress: Progress | None = None) -> HeldOut:
    """Predict each response from all others; needs `astonish[posteriors]`.

    fit: without priors, parameters are taken to be equally probable all along the unconstrained scale.
    Only one response is left out at a time, so parameters that differ from block to block go unnoticed: `held_out`
    leaves out blocks. A participant whose posterior has no peak is excluded.
    """
    check_installed("psis_loo needs", "arviz_stats")
    Domain(100, whole=True).check("draws", draws)
    rng = np.random.default_rng(seed)
    kept = np.flatnonzero(~np.isnan(fit.unconstrained_error).any(1)).tolist()
    values, trust = np.full((2, len(kept), fit.data.scored.shape[1]), np.nan)
    for done, row in enumerate(kept):
        there = fit.data.scored[row]
        steps = rng.standard_normal((draws, len(fit.space))) / np.sqrt(rng.chisquare(_TAIL, (draws, 1)) / _TAIL)
        values[done, there], trust[done, there] = _predicted(fit, row, steps)
        if progress is not None:
            progress((done + 1) / len(kept))
    subjects = tuple(fit.trials.subjects[row] for row in kept)
    flat = [who for who in fit.trials.subjects if who not in subjects]
    return HeldOut(subjects, values, {**fit.excluded, **dict.fromkeys(flat, "the posterior has no peak")}, trust)


def _predicted(fit: Fit, row: int, steps: FloatArray) -> tuple[FloatArray, FloatArray]:
    """For each response of one participant: its log-density given the others, and how far that is to be trusted."""
    from arviz_stats.base.array import array_stats

    xs = fit.unconstrained[row] + np.linalg.solve(np.linalg.cholesky(fit.hessian[row]).T, steps.T).T
    with double():
        model, data = as_double((fit.model, jax.tree.map(lambda part: part[row], fit.data)))
        each = np.asarray(_each(model, data, xs, fit.space, fit.trials.responds_before))
    mean, precision = fit.prior[:, row]
    posterior = each.sum(1) - 0.5 * (precision * (xs - mean) ** 2).sum(1)
    drawn = -0.5 * (_TAIL + len(fit.space)) * np.log1p((steps**2).sum(1) / _TAIL)
    responses = each[:, fit.data.scored[row]].T
    weights, trust = array_stats.psislw(responses - (posterior - drawn), axis=-1)
    return logsumexp(weights + responses, axis=1), trust


@partial(compiled, static_argnums=(3, 4), compiler_options=OPTIONS)
def _each(model: Model, data: ParticipantData, xs: Array, space: Space, responds_before: bool) -> Any:
    """The log-likelihood of each response, a row for each row of parameters."""
    return jax.vmap(lambda x: evaluate(space.bind(model, x), data, responds_before).log_likelihood)(xs)

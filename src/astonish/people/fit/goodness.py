"""How well does a model explain responses, on a scale that people know?"""

import numpy as np

from astonish.core.names import ResponseKind
from astonish.core.numbers import FloatArray
from astonish.core.special import difference
from astonish.people.fit.result import Fit


def squared_errors(fit: Fit) -> FloatArray | None:
    """The squared difference between each response and the one expected, a row for each participant; None of choices.

    NaN where nothing was to be explained. Of angles, the difference is the shorter way round.
    """
    if fit.trials.response_kind == ResponseKind.CHOICE:
        return None
    off = difference(fit.data.responses, fit.outputs.expected, fit.model.learner.period)
    return np.where(fit.data.scored, np.square(np.asarray(off)), np.nan)


def mse(fit: Fit) -> FloatArray:
    """The mean squared error of each participant's responses; NaN of choices."""
    errors = squared_errors(fit)
    return np.full(len(fit.values), np.nan) if errors is None else np.nanmean(errors, axis=1)


def probability_of_choices(fit: Fit) -> FloatArray:
    """How probable the model takes each choice that was made; NaN where none was to be explained."""
    made = np.where(fit.data.scored, fit.data.responses, 0).astype(int)
    own = np.take_along_axis(np.asarray(fit.outputs.probabilities), made[..., None], -1)[..., 0]
    return np.where(fit.data.scored, np.maximum(own, np.finfo(float).tiny), np.nan)


def r_squared(fit: Fit) -> FloatArray:
    """The share of the variance of each participant's responses that the model explains, about their own mean.

    Of choices, the share of the log-likelihood of choosing at random that is gained (McFadden 1974). Either may be
    negative, and neither is about a second response. NaN of angles, which have no variance in this sense.
    """
    errors = squared_errors(fit)
    if errors is None:
        at_random = -fit.data.scored.sum(1) * np.log(max(len(fit.trials.choice_labels), 2))
        return np.asarray(1 - np.nansum(np.log(probability_of_choices(fit)), axis=1) / at_random)
    if fit.model.learner.period is not None:
        return np.full(len(fit.values), np.nan)
    responses = np.where(fit.data.scored, fit.data.responses, np.nan)
    spread = np.nansum(np.square(responses - np.nanmean(responses, axis=1, keepdims=True)), axis=1)
    return np.asarray(1 - np.nansum(errors, axis=1) / spread)

"""A regression for scikit-learn (`pip install 'astonish[sklearn]'`)."""

from typing import Any, Self

import numpy as np

from astonish.core.numbers import FloatArray, unmasked
from astonish.core.refusal import naming_extra
from astonish.interop import weights
from astonish.learners.base import State
from astonish.online.series import run

with naming_extra("this module needs"):
    from sklearn.base import BaseEstimator, RegressorMixin
    from sklearn.utils.validation import check_is_fitted, validate_data


class SurpriseRegressor(RegressorMixin, BaseEstimator):  # type: ignore[misc] # scikit-learn has no types
    """A linear regression that goes through rows in their order, and relearns quickly when responses become surprising.

    rule: "varsmile" or "smile". m: readiness to change one's mind; with "varsmile", p / (1 - p) for a probability p
    that all weights change before a row, and 0 is Bayes' rule: ridge regression, with a penalty of (noise / std)^2.
    noise: the standard deviation of the response about its prediction. std: that of each weight, and of the intercept,
    about 0 before anything is known. The defaults suit features and responses of about the size of 1: standardise them,
    or say otherwise.

    `fit` starts again, `partial_fit` goes on. After either, `surprise_` and `learning_rate_` have a number for each
    row that was just given, and `coef_`, `intercept_` are the present estimates.

    >>> X = np.array([[0.0], [1.0], [2.0], [0.0], [1.0], [2.0]])
    >>> model = SurpriseRegressor(noise=0.1).fit(X, [0, 1, 2, 5, 4, 3])  # the slope turns after three rows
    >>> model.learning_rate_.round(2).tolist()
    [0.01, 0.01, 0.0, 1.0, 0.0, 0.0]
    >>> model.predict([[4.0]]).round(1).tolist()
    [1.1]
    """

    def __init__(self, rule: str = "varsmile", m: float = 0.01, noise: float = 1.0, std: float = 1.0) -> None:
        self.rule, self.m, self.noise, self.std = rule, m, noise, std

    def fit(self, X: Any, y: Any) -> Self:  # noqa: N803 (so it is in scikit-learn)
        """Learn from rows and their responses, beginning with no opinion."""
        features, responses = validate_data(self, unmasked(X), unmasked(y), y_numeric=True, dtype=np.float64)
        return self._learn(features, responses, None)

    def partial_fit(self, X: Any, y: Any) -> Self:  # noqa: N803
        """Learn from more rows, after all those before."""
        fresh = not hasattr(self, "belief_")
        given = unmasked(X), unmasked(y)
        features, responses = validate_data(self, *given, y_numeric=True, dtype=np.float64, reset=fresh)
        return self._learn(features, responses, None if fresh else self.belief_)

    def predict(self, X: Any, return_std: bool = False) -> Any:  # noqa: N803
        """The response to expect for each row, and if asked for how far off it may be, one standard deviation."""
        check_is_fitted(self)
        features = _with_ones(validate_data(self, unmasked(X), dtype=np.float64, reset=False))
        mean = features @ self.belief_.mean
        if not return_std:
            return mean
        spread = np.linalg.solve(self.belief_.precision, features.T)
        return mean, np.sqrt(self.noise**2 + (features.T * spread).sum(axis=0))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = self.rule == "smile"  # noisy for ever, ready for a change at any time
        return tags

    def _learn(self, features: FloatArray, responses: FloatArray, belief: State | None) -> Self:
        learner = weights(features.shape[1] + 1, self.rule, self.m, self.noise, self.std)
        history = run(learner, (_with_ones(features), np.asarray(responses, np.float64)), belief)
        self.belief_, self.surprise_, self.learning_rate_ = history.state, history.surprise, history.learning_rate
        self.intercept_, self.coef_ = float(self.belief_.mean[0]), self.belief_.mean[1:]
        return self


def _with_ones(features: FloatArray) -> FloatArray:
    """Rows behind the 1 that the intercept is the weight of."""
    return np.column_stack([np.ones(len(features)), features])

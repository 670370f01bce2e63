"""Do scikit-learn's own checks find anything to complain about, and are the numbers those of the library?"""

import pickle
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks

from astonish import Regression, Smile, VarSmile, run
from astonish.interop.sklearn import SurpriseRegressor


@parametrize_with_checks([SurpriseRegressor()])
def test_scikit_learn_finds_nothing(estimator: Any, check: Any) -> None:
    check(estimator)


def _rows(count: int = 100, features: int = 3) -> tuple[Any, Any]:
    rng = np.random.default_rng(1)
    xs = rng.standard_normal((count, features))
    return xs, xs @ rng.standard_normal(features) + 1.0 + rng.normal(0.0, 0.5, count)


def _with_ones(xs: Any) -> Any:
    return np.column_stack([np.ones(len(xs)), xs])


def test_without_changes_of_mind_it_is_ridge_regression_that_knows_how_far_off_it_may_be() -> None:
    xs, ys = _rows()
    rows, model = _with_ones(xs), SurpriseRegressor(m=0.0, noise=0.5, std=2.0).fit(xs, ys)
    ridge = Ridge(alpha=(0.5 / 2.0) ** 2, fit_intercept=False).fit(rows, ys)
    np.testing.assert_allclose([model.intercept_, *model.coef_], ridge.coef_, rtol=1e-9)
    np.testing.assert_allclose(model.predict(xs), ridge.predict(rows), rtol=1e-9)
    covariance = np.linalg.inv(rows.T @ rows / 0.25 + np.eye(4) / 4.0)
    mean, std = model.predict(xs, return_std=True)
    np.testing.assert_allclose(std, [np.sqrt(0.25 + row @ covariance @ row) for row in rows], rtol=1e-9)
    np.testing.assert_array_equal(mean, model.predict(xs))


@pytest.mark.parametrize("rule", ["varsmile", "smile"])
def test_surprise_is_that_of_the_learner(rule: str) -> None:
    xs, ys = _rows()
    family = Regression(4, 1.0)
    prior = family.prior(std=1.0)
    learner = VarSmile(family, 0.05, prior) if rule == "varsmile" else Smile(family, 0.05, prior, prior)
    model, history = SurpriseRegressor(rule, m=0.05).fit(xs, ys), run(learner, (_with_ones(xs), ys))
    assert model.surprise_.shape == model.learning_rate_.shape == (100,)
    np.testing.assert_allclose(model.surprise_, history.surprise, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(model.learning_rate_, history.learning_rate, rtol=1e-9, atol=1e-12)
    assert get_tags(model).regressor_tags.poor_score == (rule == "smile")


def test_pieces_are_learned_like_the_whole() -> None:
    xs, ys = _rows()
    whole, pieces = SurpriseRegressor().fit(xs, ys), SurpriseRegressor()
    rates = [pieces.partial_fit(xs[at], ys[at]).learning_rate_ for at in np.split(np.arange(100), [1, 5, 70])]
    np.testing.assert_allclose(pieces.coef_, whole.coef_, rtol=1e-12)
    np.testing.assert_allclose(np.concatenate(rates), whole.learning_rate_, rtol=1e-12)
    again = pickle.loads(pickle.dumps(pieces)).partial_fit(xs, ys)
    np.testing.assert_array_equal(again.coef_, pieces.partial_fit(xs, ys).coef_)
    np.testing.assert_array_equal(pieces.fit(xs, ys).coef_, whole.coef_)  # which begins anew


def test_it_notices_when_the_weights_change_and_follows() -> None:
    xs, ys = _rows(400)
    ys[300:] = -ys[300:]
    model = SurpriseRegressor(m=0.001, noise=0.5).fit(xs[:340], ys[:340])
    assert model.learning_rate_[:300].max() < 0.5 < model.learning_rate_[300:305].max()
    from_then_on, from_the_start = (Ridge().fit(xs[at:340], ys[at:340]).score(xs[340:], ys[340:]) for at in (300, 0))
    assert model.score(xs[340:], ys[340:]) > from_then_on - 0.05
    assert from_the_start < 0.0


def test_its_settings_can_be_searched_in_a_pipeline() -> None:
    xs, ys = _rows()
    search = GridSearchCV(
        make_pipeline(StandardScaler(), SurpriseRegressor()), {"surpriseregressor__m": [1e-4, 1e4]}, cv=3
    ).fit(100.0 * xs, ys)
    assert search.best_params_ == {"surpriseregressor__m": 1e-4}


def test_what_cannot_be_learned_is_refused() -> None:
    xs, ys = _rows()
    with pytest.raises(ValueError, match="rule = 'bayes' is not known; give one of varsmile, smile"):
        SurpriseRegressor("bayes").fit(xs, ys)
    hidden = np.ma.masked_greater(xs, 0.0)
    with pytest.raises(ValueError, match="Input X contains NaN"):
        SurpriseRegressor().fit(hidden, ys)
    with pytest.raises(ValueError, match="contains NaN"):
        SurpriseRegressor().partial_fit(xs, np.ma.masked_greater(ys, 0.0))
    with pytest.raises(ValueError, match="Input X contains NaN"):
        SurpriseRegressor().fit(xs, ys).predict(hidden)

"""Do river's own checks find anything to complain about, and are the numbers those of the library?"""

import copy
import pickle
from typing import Any

import numpy as np
import pytest
from river import checks, drift, evaluate, forest, metrics, naive_bayes, preprocessing
from river.datasets import TrumpApproval, synth

from astonish import Delta, Detector, Gaussian, MessagePassing, Regression, VarSmile, run
from astonish.interop.river import (
    DriftDelay,
    DriftF1,
    DriftFalseAlarms,
    DriftMissed,
    OnlineSurpriseRegressor,
    SurpriseDrift,
    drift_detector,
    drift_score,
)

MODELS = [OnlineSurpriseRegressor(), OnlineSurpriseRegressor("smile", m=0.5, noise=0.3)]
FAMILY = Gaussian(noise=1.0)
DRIFT = SurpriseDrift(MessagePassing(FAMILY, 0.01, FAMILY.prior(std=10.0)), 0.5, burn_in=10)


def _names(model: Any) -> list[str]:
    return [check.__name__ for check in checks.yield_checks(model)]


def _check(name: str, model: Any) -> None:
    """The data of a check can be read once, so it is made anew for each model."""
    next(check for check in checks.yield_checks(model) if check.__name__ == name)(model.clone())


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.rule)
@pytest.mark.parametrize("name", _names(MODELS[0]))
def test_river_finds_nothing_in_the_regressor(model: OnlineSurpriseRegressor, name: str) -> None:
    if name != "check_bounded_memory_growth" or model is MODELS[0]:  # slow, and the same whatever the rule
        _check(name, model)


@pytest.mark.parametrize("name", [name for name in _names(DRIFT) if name != "check_tags"])  # estimators have tags
def test_river_finds_nothing_in_the_drift_detector(name: str) -> None:
    _check(name, DRIFT)


def test_rivers_own_detectors_have_no_tags_either() -> None:
    with pytest.raises(AttributeError):
        _check("check_tags", drift.ADWIN())


def test_a_drift_detector_gives_the_alarms_of_a_detector_with_the_same_settings() -> None:
    detector = Detector(DRIFT.learner, 0.5, burn_in=10, within=5)
    xs = np.random.default_rng(1).normal(0.0, 1.0, 200) + 8.0 * (np.arange(200) >= 120)
    mine = SurpriseDrift.of(detector)
    alarms = []
    for x in xs.tolist():
        mine.update(x)
        alarms.append(mine.drift_detected)
    assert alarms == detector.alarms(xs).tolist()
    assert any(alarms[120:125])
    assert SurpriseDrift.of(detector).within == 5


@pytest.mark.parametrize("kind", [SurpriseDrift, Detector])
def test_drift_detectors_serve_in_rivers_ensembles(kind: Any) -> None:
    detector = kind(Delta(0.05), threshold=0.9, burn_in=30)
    trees = forest.ARFClassifier(n_models=2, seed=1, drift_detector=detector, warning_detector=detector)
    bayes = drift.DriftRetrainingClassifier(naive_bayes.GaussianNB(), detector.clone(), train_in_background=False)
    for model in (trees, bayes.clone()):
        for x, y in synth.ConceptDriftStream(seed=1, position=200, width=10).take(400):
            model.learn_one(x, y)
    assert trees.n_drifts_detected() > 0
    assert repr(detector.clone()) == repr(detector)
    assert DRIFT.clone({"threshold": 2.0}).threshold == 2.0


@pytest.mark.parametrize("how", [pickle.dumps, copy.deepcopy], ids=["pickled", "copied"])
def test_copies_go_on_where_the_original_was(how: Any) -> None:
    def copied(model: Any) -> Any:
        return copy.deepcopy(model) if how is copy.deepcopy else pickle.loads(how(model))

    detector, model, rng = DRIFT.clone(), OnlineSurpriseRegressor(), np.random.default_rng(2)
    xs = rng.normal(0.0, 1.0, 60) + 9.0 * (np.arange(60) >= 50)
    for x in xs[:50].tolist():
        detector.update(x)
        model.learn_one({"x": x}, 2 * x)
    other, twin = copied(detector), copied(model)
    assert twin.predict_one({"x": 1.0}) == model.predict_one({"x": 1.0})
    for x in xs[50:].tolist():
        for fed in (detector, other):
            fed.update(x)
        for learning in (model, twin):
            learning.learn_one({"x": x}, -x)
        assert detector.drift_detected == other.drift_detected
        assert (model.surprise, model.learning_rate) == (twin.surprise, twin.learning_rate)


def _rows(count: int, names: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(3)
    xs = rng.standard_normal((count, names))
    return xs, xs @ rng.standard_normal(names) + 1.0 + rng.normal(0.0, 0.5, count)


def test_without_changes_of_mind_it_is_the_ridge_regression_of_all_rows() -> None:
    """Features come in one after the other, beyond the room there was at first."""
    xs, ys = _rows(60, 20)
    xs *= np.arange(60)[:, None] >= np.arange(20)
    model = OnlineSurpriseRegressor(m=0.0, noise=0.5, std=2.0)
    for row, y in zip(xs, ys, strict=True):
        model.learn_one({f"f{i}": float(x) for i, x in enumerate(row) if x}, float(y))
    features = np.column_stack([np.ones(60), xs])
    weights = np.linalg.solve(features.T @ features + (0.5 / 2.0) ** 2 * np.eye(21), features.T @ ys)
    ask = np.random.default_rng(4).standard_normal(20)
    answer = model.predict_one({f"f{i}": x for i, x in enumerate(ask.tolist())} | {"unknown": 5.0})
    assert answer == pytest.approx(weights[0] + weights[1:] @ ask, rel=1e-9)


def test_its_surprise_is_that_of_the_learner() -> None:
    xs, ys = _rows(30, 3)
    family = Regression(4, 1.0)
    history = run(VarSmile(family, 0.05, family.prior(std=1.0)), (np.column_stack([np.ones(30), xs]), ys))
    model, steps = OnlineSurpriseRegressor(m=0.05), []
    for row, y in zip(xs.tolist(), ys.tolist(), strict=True):
        model.learn_one(dict(zip("abc", row, strict=True)), y)
        steps.append((model.surprise, model.learning_rate))
    np.testing.assert_allclose(np.transpose(steps), [history.surprise, history.learning_rate], rtol=1e-9, atol=1e-12)


def test_a_surprised_regression_follows_a_change_sooner() -> None:
    xs, ys = _rows(400, 2)
    ys[200:] = -ys[200:]
    pairs, errors = [({"a": a, "b": b}, y) for (a, b), y in zip(xs.tolist(), ys.tolist(), strict=True)], {}
    for m in (0.0, 0.01):
        model = OnlineSurpriseRegressor(m=m, noise=0.5)
        for x, y in pairs[:200]:
            model.learn_one(x, y)
        errors[m] = evaluate.progressive_val_score(pairs[200:], model, metrics.MAE()).get()
    assert errors[0.01] < 0.6 * errors[0.0]


def test_it_serves_at_the_end_of_a_pipeline() -> None:
    model = preprocessing.StandardScaler() | preprocessing.TargetStandardScaler(OnlineSurpriseRegressor(noise=0.3))
    error = evaluate.progressive_val_score(TrumpApproval().take(300), model, metrics.MAE()).get()
    assert error < 1.0  # of approval in per cent


def test_a_missing_value_is_skipped_and_text_is_refused() -> None:
    model = OnlineSurpriseRegressor()
    model.learn_one({"a": 1.0}, 2.0)
    before = model.predict_one({"a": 1.0})
    model.learn_one({"a": None}, 1.0)
    model.learn_one({"a": 1.0}, float("nan"))
    assert model.predict_one({"a": 1.0}) == before
    assert np.isnan(model.surprise)
    with pytest.raises(ValueError, match="x holds 'red', which is not a number; give numbers"):
        model.learn_one({"a": "red"}, 1.0)


@pytest.mark.parametrize(
    ("how", "sentence"),
    [
        ({"rule": "bayes"}, "rule = 'bayes' is not known; give one of varsmile, smile"),
        ({"m": -1.0}, "m = -1 is not allowed; give a finite number of at least 0"),
        ({"noise": 0.0}, "noise = 0 is not allowed; give a finite number above 0"),
        ({"std": 0.0}, "std = 0 is not allowed; give a finite number above 0"),
    ],
)
def test_settings_that_make_no_sense_are_refused(how: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        OnlineSurpriseRegressor(**how)


MARKS = [0, 0, 1, 0, 0, 0, 0, 0, 1, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0]  # changes at samples 2, 8, 10 and 14
ALARMS = [1, 0, 0, 1, 1, 0, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1]


def _told(metric: Any, marks: list[int] = MARKS, alarms: list[int] = ALARMS) -> Any:
    for changed, alarm in zip(marks, alarms, strict=True):
        metric.update(changed, bool(alarm))
    return metric


def test_drift_metrics_by_hand() -> None:
    """Tolerance 4. Found: 2 (by 3, after 2 samples) and 10 (by 13, after 4). Missed: 8, which ends with 10, and 14.

    The alarm at 4 is another one for 2; those at 0, 6 and 19 are false. Quiet: 0, 1, 6, 7, 18 and 19.
    """
    metric = _told(DriftDelay(4))
    assert (metric.found, metric.missed, metric.false, metric.quiet) == (2, 2, 3, 6)
    assert metric.get() == (2 + 2 + 4 + 4) / 4
    assert _told(DriftMissed(4)).get() == 0.5
    assert _told(DriftFalseAlarms(4)).get() == 500.0
    assert _told(DriftF1(4)).get() == pytest.approx(4 / (4 + 2 + 3))


def test_drift_metrics_follow_rivers_interface() -> None:
    every = (DriftDelay(4), DriftFalseAlarms(4), DriftMissed(4), DriftF1(4))
    for metric in every:
        assert np.isnan(metric.get())
        assert metric.works_with(drift.ADWIN())
        assert metric.works_with(DRIFT)
        assert not metric.works_with(OnlineSurpriseRegressor())
        fresh = _told(metric).clone()
        assert np.isnan(fresh.get())
        assert fresh.tolerance == 4
        assert _told(fresh).get() == metric.get()
        assert pickle.loads(pickle.dumps(metric)).get() == metric.get()
        with pytest.raises(NotImplementedError, match="cannot go back; start a new one"):
            metric.revert(True, True)
    assert _told(DriftF1(4)) > _told(DriftF1(1))
    assert _told(DriftDelay(2)) > _told(DriftDelay(4))  # less delay is better
    both = _told(DriftDelay(4) + DriftMissed(4))
    assert isinstance(both, metrics.base.Metrics)
    assert both.get() == [3.0, 0.5]
    assert repr(_told(DriftDelay(4))) == "DriftDelay: 3."
    with pytest.raises(ValueError, match="MAE is no metric of drift"):
        DriftDelay() + metrics.MAE()
    with pytest.raises(ValueError, match="tolerance = 0 is not allowed"):
        DriftDelay(0)
    with pytest.raises(ValueError, match=r"w = 2.0 is not allowed"):
        DriftDelay().update(True, True, 2.0)


def _samples(kind: str, level: float, rng: Any, count: int) -> Any:
    draw = {"mean": lambda: rng.normal(level, 1.0, count), "variance": lambda: rng.normal(0.0, level, count)}
    more = {"proportion": lambda: rng.random(count) < level, "rate": lambda: rng.poisson(level, count)}
    return (draw | more)[kind]().astype(float)


@pytest.mark.parametrize(
    ("kind", "before", "after"),
    [("mean", 0.0, 1.5), ("variance", 1.0, 2.5), ("proportion", 0.2, 0.7), ("rate", 1.0, 4.0)],
)
def test_named_detectors_find_their_kind_of_change_and_are_quiet_otherwise(
    kind: str, before: float, after: float
) -> None:
    """Ten streams of 1000 samples with a change in the middle; at 1 false alarm per 1000 samples, 5 are expected."""
    rng = np.random.default_rng(6)
    quiet = _samples(kind, before, rng, 20_000)
    detector, both = drift_detector(kind, quiet), DriftMissed(50) + DriftFalseAlarms(50)
    for _ in range(10):
        parts = [_samples(kind, level, rng, 500) for level in (before, after)]
        stream = [(x, t == 500) for t, x in enumerate(np.concatenate(parts).tolist())]
        drift_score([*stream, *[(None, False)] * 60], detector.clone(), both)
    missed, false = both.get()
    assert missed == 0.0
    assert false < 2.0


def test_named_detectors_pass_rivers_checks_and_serve_in_river() -> None:
    rng = np.random.default_rng(7)
    detector = drift_detector("mean", rng.normal(size=20_000))
    for name in _names(detector):
        if name != "check_tags":
            _check(name, detector)
    outliers = drift_detector("mean", rng.standard_t(3, 20_000), heavy_tails=True)
    xs = np.concatenate([rng.standard_t(3, 400), 2.0 + rng.standard_t(3, 100)])
    stream = [(x, t == 400) for t, x in enumerate(xs.tolist())]
    assert drift_score(stream, outliers, DriftF1()).get() == 1.0


def test_named_detectors_refuse_what_they_cannot_do() -> None:
    with pytest.raises(
        ValueError, match=r"there is no usual detector 'median'; .*nown are mean, variance, proportion, rate"
    ):
        drift_detector("median")
    for kind, quiet in (("mean", None), ("rate", [1, 2, 3])):
        with pytest.raises(ValueError, match="heavy_tails is for a mean or a variance with quiet samples"):
            drift_detector(kind, quiet, heavy_tails=True)
    with pytest.raises(ValueError, match="the standard deviation of the quiet samples = 0 is not allowed"):
        drift_detector("mean", np.zeros(20_000))
    with pytest.raises(ValueError, match=r"quiet has shape \(0,\); give a series"):
        drift_detector("mean", [])

"""Checks that detectors keep to the rate of false alarms that was asked for, and notice changes."""

import copy
import itertools
import re
from functools import cache
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest
from scipy import stats

from astonish import (
    Bayes,
    Beta,
    Delta,
    Detector,
    Dirichlet,
    Exponential,
    Gaussian,
    GaussianVector,
    MessagePassing,
    Nassar2010,
    NormalGamma,
    ParticleFilter,
    PerContext,
    Poisson,
    Regression,
    Smile,
    VarSmile,
)
from astonish.changes.detector import (
    RecentChange,
    Waits,
    quiet_samples,
    rate_of_false_alarms,
    since_change,
    threshold_at,
    waits,
)
from astonish.core.cooldown import spaced
from astonish.learners.base import scan
from astonish.worlds.gaussian_jumps import many_gaussian_jumps

HAZARD, NOISE, RATE, BURN_IN, WINDOW = 0.066, 4.0, 0.01, 50, 10
FAMILY = Gaussian(NOISE)
PRIOR = FAMILY.prior(mean=0.0, std=40 / 12**0.5)
EXACT = MessagePassing(FAMILY, HAZARD, PRIOR)
DETECTORS: dict[str, tuple[Any, dict[str, Any]]] = {  # a learner, and settings
    "message passing": (EXACT, {}),
    "message passing, lately": (EXACT, {"within": 10}),
    "message passing, no cool-down": (EXACT, {"cooldown": 0}),
    "varsmile": (VarSmile(FAMILY, HAZARD / (1 - HAZARD), PRIOR), {}),
    "nassar": (Nassar2010(NOISE, HAZARD), {"cooldown": 5}),
    "smile": (Smile(FAMILY), {}),
    "delta, by its surprise": (Delta(0.3), {}),
}
SIMULATED = [name for name in DETECTORS if not name.startswith("delta")]


def _still(count: int, steps: int, seed: int) -> Any:
    """Series about means from all over the range of the task, which never change."""
    rng = np.random.default_rng(seed)
    return rng.uniform(-20, 20, (count, 1)) + NOISE * rng.standard_normal((count, steps))


@cache
def _detector(name: str, how: str) -> Detector:
    learner, settings = DETECTORS[name]
    if how == "simulated":
        return Detector.simulated(learner, RATE, seed=1, **settings)
    quiet = _still(100, 1000, seed=2)
    return Detector.calibrated(learner, quiet, RATE, changed=np.zeros(quiet.shape, bool), **settings)


def _alarms(detector: Detector, many: Any) -> Any:
    return np.stack([detector.alarms(xs) for xs in many])


def _off(alarms: Any, quiet: Any) -> tuple[float, float]:
    """How far the rate of false alarms is off what was asked, as a part of it, and one standard error of that.

    Both the count of alarms here and that of about a thousand from which the threshold was found are binomial.
    """
    expected = RATE * quiet.sum()
    return rate_of_false_alarms(alarms, quiet) / RATE - 1, float(np.sqrt(1 / expected + 1 / 950))


@pytest.mark.parametrize(
    ("name", "how"),
    [*((n, "simulated") for n in SIMULATED), ("delta, by its surprise", "calibrated"), ("smile", "calibrated")],
)
def test_false_alarms_are_as_many_as_asked(name: str, how: str) -> None:
    """Where nothing changes, and on the task of the paper."""
    detector, still = _detector(name, how), _still(100, 1000, seed=3)
    off, error = _off(_alarms(detector, still), quiet_samples(np.zeros(still.shape, bool), 1, BURN_IN))
    assert abs(off) < min(0.2, 0.05 + 4 * error)  # 5 % since the means are uniform here, and normal where simulated
    task = many_gaussian_jumps(1000, range(100), HAZARD, NOISE)
    off, error = _off(_alarms(detector, task.samples), quiet_samples(task.changed, WINDOW, BURN_IN))
    assert abs(off) < 0.2
    assert error < 0.06  # so that 20 % would be noticed


def test_a_labelled_series_calibrates_a_detector_where_a_quiet_stretch_would_not() -> None:
    slow = Delta(0.1)  # still far off ten samples after a change
    task, more = (many_gaussian_jumps(1000, [[i, k] for k in range(60)], HAZARD, NOISE) for i in (1, 2))
    labelled = Detector.calibrated(slow, task.samples, RATE, changed=task.changed, window=WINDOW)
    still = _still(60, 1000, seed=4)
    quiet = Detector.calibrated(slow, still, RATE, changed=np.zeros(still.shape, bool))
    at = quiet_samples(more.changed, WINDOW, BURN_IN)
    assert abs(rate_of_false_alarms(_alarms(labelled, more.samples), at) / RATE - 1) < 0.2
    assert rate_of_false_alarms(_alarms(quiet, more.samples), at) > 1.6 * RATE


@pytest.mark.parametrize("cooldown", [0, 7, 40])
def test_the_threshold_counts_the_cooldown_in(cooldown: int) -> None:
    """Of independent signals, a part q above the threshold gives alarms at the rate q / (1 + q cooldown)."""
    signals = np.random.default_rng(5).random((100, 2000))
    part = RATE / (1 - RATE * cooldown)
    found = threshold_at(signals, np.ones(signals.shape, bool), RATE, cooldown)
    assert 1 - found == pytest.approx(part, rel=4 / np.sqrt(RATE * signals.size))


def test_a_threshold_lets_no_more_alarms_through_than_asked_and_hardly_fewer() -> None:
    rng = np.random.default_rng(6)
    signals = np.repeat(rng.random((40, 250)), 4, axis=1)  # in clumps
    quiet = rng.random(signals.shape) < 0.7
    signals[rng.random(signals.shape) < 0.1] = np.nan
    alarms = spaced(signals > threshold_at(signals, quiet, RATE, 3), 3)
    seen = quiet & ~np.isnan(signals)
    assert 0.95 * RATE < rate_of_false_alarms(alarms, seen) <= RATE


def test_outcomes_keep_to_the_rate_from_below() -> None:
    learner = VarSmile(Dirichlet(4), 0.01)
    detector = Detector.simulated(learner, RATE)
    rng = np.random.default_rng(7)
    many = [learner.simulate(rng, 1000) for _ in range(60)]
    rate = rate_of_false_alarms(_alarms(detector, many), quiet_samples(np.zeros((60, 1000), bool), 1, BURN_IN))
    assert detector.false_alarm_rate <= RATE
    assert 0.3 * RATE < rate < 1.3 * RATE


def _noticed(name: str, size: float, rng: np.random.Generator) -> Waits:
    """How long one waits for alarms about changes of this size, in standard deviations."""
    changed = np.zeros((300, 130), bool)
    changed[:, 100] = True
    xs = NOISE * (rng.standard_normal(changed.shape) + size * np.cumsum(changed, axis=1))
    return waits(_alarms(_detector(name, "simulated"), xs), changed, 30)


@pytest.mark.parametrize("name", ["message passing", "message passing, lately", "smile"])
def test_larger_changes_are_noticed_sooner_and_more_often(name: str) -> None:
    rng = np.random.default_rng(8)
    noticed = [_noticed(name, size, rng) for size in (1.0, 2.0, 4.0)]
    for within in (2, 30):
        shares = [wait.share(within) for wait in noticed]
        assert shares[0] < shares[1] < shares[2]
    assert noticed[2].median() <= 2


def test_small_changes_are_noticed_by_asking_for_one_lately() -> None:
    names = ("message passing", "message passing, lately")
    just, lately = (_noticed(name, 1.5, np.random.default_rng(9)).share(30) for name in names)
    assert lately > just + 0.2


def test_the_probability_of_a_change_lately_is_that_of_all_histories_together() -> None:
    """Summed by brute force over all places where a change may have been; the oracle is SciPy's normal density."""
    xs, within, hazard = np.array([0.3, -0.5, 0.2, 2.5, 3.1, 2.2]), 3, 0.2
    learner = MessagePassing(Gaussian(1.0), hazard, Gaussian(1.0).prior(0.0, 2.0), 10)
    total = lately = 0.0
    for changes in itertools.product([False, True], repeat=len(xs) - 1):
        marks = np.array([True, *changes])
        same = np.cumsum(marks)[:, None] == np.cumsum(marks)
        weight = hazard ** sum(changes) * (1 - hazard) ** (len(changes) - sum(changes))
        joint = weight * stats.multivariate_normal(np.zeros(len(xs)), np.eye(len(xs)) + 4.0 * same).pdf(xs)
        total += joint
        lately += joint * marks[-within:].any()
    change = scan(RecentChange(learner, within), xs).change_probability
    assert change is not None
    assert change[-1] == pytest.approx(lately / total, rel=1e-9)
    crowd = ParticleFilter(Gaussian(1.0), hazard, Gaussian(1.0).prior(0.0, 2.0), 5000)
    estimate = scan(RecentChange(crowd, within), xs).change_probability
    assert estimate is not None
    assert estimate[-1] == pytest.approx(lately / total, abs=0.05)


def _gappy(count: int) -> list[Any]:
    xs = _still(1, count, seed=10)[0] + 15 * (np.arange(count) > count // 2)
    return [None if i % 13 == 5 else x for i, x in enumerate(xs.tolist())]


@pytest.mark.parametrize(("name", "how"), [("message passing, lately", "simulated"), ("smile", "simulated")])
def test_one_sample_at_a_time_gives_the_same_alarms(name: str, how: str) -> None:
    detector, xs = _detector(name, how).clone(), _gappy(300)
    alarms = [detector.update(x) for x in xs]
    assert alarms == detector.alarms(xs).tolist()
    assert sum(alarms) > 0


def test_a_missing_sample_gives_no_alarm_and_ends_the_one_before() -> None:
    detector = Detector(Delta(0.5), threshold=3.0, burn_in=0, cooldown=0)
    assert [detector.update(x) for x in (0.0, 9.0, None, np.nan, 99.0)] == [False, True, False, False, True]
    assert not Detector(Delta(0.5), threshold=-1.0, burn_in=0).alarms([None, None]).any()


def test_cooldown_and_burn_in_keep_quiet() -> None:
    detector = Detector(Delta(0.5), threshold=-1.0, cooldown=2, burn_in=3)  # any sample is above
    assert [detector.update(0.0) for _ in range(8)] == [False] * 3 + [True, False, False, True, False]


def test_a_saved_detector_goes_on_exactly(tmp_path: Path) -> None:
    detector, xs = _detector("message passing, lately", "simulated").clone(), _gappy(400)
    for x in xs[:205]:
        detector.update(x)
    detector.save(tmp_path / "detector")
    again = Detector.load(tmp_path / "detector", EXACT)
    assert (again.threshold, again.false_alarm_rate) == (detector.threshold, detector.false_alarm_rate)
    assert (again.drift_detected, again.signal) == (detector.drift_detected, detector.signal)
    assert [again.update(x) for x in xs[205:]] == [detector.update(x) for x in xs[205:]]
    repeating = Detector(EXACT, 0.5, within=30, cooldown=5, repeat=True)
    repeating.save(tmp_path / "detector")
    assert Detector.load(tmp_path / "detector", EXACT).settings == repeating.settings
    with pytest.raises(ValueError, match=r"saved by MessagePassing\(.*, and this one is Smile\("):
        Detector.load(tmp_path / "detector", Smile(FAMILY))


def test_a_detector_is_fed_and_asked_as_those_of_river_are() -> None:
    """River's ensembles first make copies of it."""
    detector = _detector("message passing", "simulated")
    xs = (_still(1, 200, seed=11)[0] + 25 * (np.arange(200) >= 150)).tolist()
    expected = detector.alarms(xs).tolist()
    assert expected[150]
    for fed in (detector.clone(), copy.deepcopy(detector).clone()):
        assert [(fed.update(x), fed.drift_detected) for x in xs] == [(alarm, alarm) for alarm in expected]
    assert detector.drift_detected is False  # the copy was fed, not the original


def test_waits_end_with_an_alarm_the_next_change_the_window_or_the_series() -> None:
    changed = np.array([[1, 0, 0, 1, 0, 0, 0, 0, 1, 0]]) > 0
    alarms = np.array([[0, 0, 0, 0, 1, 0, 0, 1, 0, 0]]) > 0
    found = waits(alarms, changed, window=4)
    assert found.samples.tolist() == [3, 2, 2]
    assert found.ended.tolist() == [False, True, False]
    assert waits(alarms, np.zeros_like(changed), window=4).samples.tolist() == []
    assert waits(alarms, changed, window=1).ended.tolist() == [False, False, False]


def test_shares_and_medians_allow_for_changes_that_cut_waiting_short() -> None:
    """Waiting for a geometric time, cut short by another one, at random: the share noticed is known."""
    rng, probability = np.random.default_rng(12), 0.15
    wait, cut = rng.geometric(probability, 40_000), rng.geometric(0.1, 40_000)
    found = Waits(np.minimum(wait, cut).astype(float), wait <= cut)
    for within in (1, 5, 20):
        assert found.share(within) == pytest.approx(1 - (1 - probability) ** within, abs=0.015)
    assert found.median() == 5  # ln 0.5 / ln 0.85 = 4.3
    whole = Waits(wait.astype(float), np.ones(len(wait), bool))
    assert whole.median() == np.median(wait)
    assert whole.share(3) == pytest.approx((wait <= 3).mean())
    assert Waits(np.array([5.0, 5.0]), np.array([True, False])).median() == 5
    assert np.isnan(Waits(np.array([5.0, 5.0, 5.0]), np.array([True, False, False])).median())
    assert np.isnan(Waits(np.zeros(0), np.zeros(0, bool)).share(5))


def test_samples_are_counted_from_the_last_change() -> None:
    changed = np.array([[False, True, False, False, True], [False] * 5])
    assert since_change(changed).tolist() == [[np.inf, 0, 1, 2, 0], [np.inf] * 5]
    assert quiet_samples(changed, 2, 1).tolist() == [[False, False, False, True, False], [False, *[True] * 4]]


PREDICTED = [  # a family, a prior, and the distribution of its first sample
    (Gaussian(2.0), Gaussian(2.0).prior(1.0, 3.0), stats.norm(1.0, 13**0.5)),
    (NormalGamma(), NormalGamma().prior(1.0, 2.0, 3.0, 4.0), stats.t(8.0, 1.0, 2.0 * (1 + 1 / 3) ** 0.5)),
    (Exponential(), Exponential().prior(2.0, 3.0), None),
    (Poisson(), Poisson().prior(3.0, 2.0), stats.nbinom(6.0, 2 / 3)),
    (Beta(), Beta().prior(ones=3.0, zeros=6.0), stats.bernoulli(3 / 9)),
    (
        Dirichlet(3),
        Dirichlet(3).prior(alpha=[1.0, 2.0, 6.0]),
        stats.rv_discrete(values=(range(3), [1 / 9, 2 / 9, 6 / 9])),
    ),
]


@pytest.mark.parametrize(("family", "prior", "predicted"), PREDICTED, ids=[type(f).__name__ for f, _, _ in PREDICTED])
def test_samples_are_drawn_as_the_prior_predicts(family: Any, prior: Any, predicted: Any) -> None:
    rng = np.random.default_rng(13)
    series = np.array([Bayes(family, prior).simulate(rng, 2) for _ in range(4000)])
    if predicted is None:
        predicted = stats.lomax(float(prior.shape), scale=float(prior.time))
    if np.issubdtype(series.dtype, np.integer):
        values, counts = np.unique(series[:, 0], return_counts=True)
        some = counts > 20
        assert counts[some] / len(series) == pytest.approx(predicted.pmf(values[some]), abs=0.03)
    else:
        assert stats.kstest(series[:, 0], predicted.cdf).pvalue > 0.001
    assert stats.spearmanr(series[:, 0], series[:, 1]).pvalue < 1e-6  # both samples tell of one parameter


def test_vectors_are_drawn_as_the_prior_predicts() -> None:
    noise = np.array([[1.0, 0.3], [0.3, 0.5]])
    rng = np.random.default_rng(14)
    family = GaussianVector(noise)
    series = np.array([Bayes(family, family.prior([1.0, 2.0])).simulate(rng, 2) for _ in range(4000)])
    np.testing.assert_allclose(series[:, 0].mean(axis=0), [1.0, 2.0], atol=0.1)
    np.testing.assert_allclose(np.cov(series[:, 0].T), 2 * noise, atol=0.15)
    np.testing.assert_allclose(np.cov((series[:, 0] - series[:, 1]).T), 2 * noise, atol=0.15)


@pytest.mark.parametrize(
    ("learner", "named"),
    [
        (Delta(), "Delta"),
        (Bayes(Regression(2)), "Regression"),
        (PerContext(Smile(Dirichlet(3)), 2), "PerContext"),
    ],
)
def test_a_learner_without_a_model_of_samples_asks_for_a_quiet_stretch(learner: Any, named: str) -> None:
    with pytest.raises(ValueError, match=f"{named} does not say how samples come about.*Detector.calibrated"):
        Detector.simulated(learner)


def test_the_signal_is_the_probability_of_a_change_where_there_is_one() -> None:
    assert Detector(EXACT, 0.5).signal == "change_probability"
    assert Detector(Smile(FAMILY), 0.5).signal == "surprise"
    assert Detector(EXACT, 0.5, signal="learning_rate").signal == "learning_rate"
    contexts = Detector(PerContext(VarSmile(Dirichlet(3)), 2), 0.9, burn_in=0)
    assert contexts.signal == "change_probability"
    assert [contexts.update((0, 1)), contexts.update((1, 2))] == [False, False]


QUIET = np.random.default_rng(15).normal(size=2000)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (
            lambda: Detector(Delta(), 1.0, signal="change_probability"),
            "Delta gives no signal 'change_probability'; give one of surprise, learning_rate",
        ),
        (
            lambda: Detector(EXACT, 1.0, signal="joy"),
            "gives no signal 'joy'; give one of change_probability, surprise, learning_rate",
        ),
        (lambda: Detector(Delta(), 1.0, within=5), "within = 5 asks Delta when the world changed last"),
        (lambda: Detector(EXACT, 1.0, within=0), "within = 0 is not allowed"),
        (lambda: Detector(Delta(), 1.0, cooldown=-1), "cooldown = -1 is not allowed"),
        (lambda: Detector(Delta(), 1.0, burn_in=0.5), "burn_in = 0.5 is not allowed"),
        (lambda: Detector(Delta(2.0), 1.0), "learning_rate = 2 is not allowed"),
        (lambda: Detector.calibrated(Delta(), QUIET, 0.0), "false_alarm_rate = 0 is not allowed"),
        (lambda: Detector.simulated(EXACT, 1.5), "false_alarm_rate = 1.5 is not allowed"),
        (
            lambda: Detector.calibrated(Delta(), QUIET, 0.1),
            "false_alarm_rate = 0.1 cannot be reached with a cool-down of 10",
        ),
        (lambda: Detector.calibrated(Delta(), QUIET, 0.001), "1950 quiet samples .* too few .*at least 10000"),
        (lambda: Detector.calibrated(Delta(), QUIET, changed=[True]), "a series has 2000 samples but changed has 1"),
        (lambda: Detector.calibrated(Delta(), [QUIET], changed=[[0], [1]]), r"\[1\] series but 2 rows"),
        (lambda: Detector.calibrated(Delta(), QUIET, changed=[0.5]), "changed = 0.5 is not allowed"),
        (lambda: Detector.calibrated(Delta(), QUIET, changed=[[[0]]]), "changed has 3 dimensions"),
        (lambda: Detector.calibrated(Delta(), []), "the series is empty"),
    ],
)
def test_what_makes_no_sense_is_refused(make: Any, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        make()


def test_a_sample_that_is_not_allowed_is_refused_and_changes_nothing() -> None:
    detector = Detector(VarSmile(Dirichlet(3)), 0.5, burn_in=0)
    detector.update(1)
    with pytest.raises(ValueError, match=re.escape("a whole number from 0 to 2")):
        detector.update(7)
    fresh = Detector(VarSmile(Dirichlet(3)), 0.5, burn_in=0)
    fresh.update(1)
    jax.tree.map(np.testing.assert_array_equal, detector._stream.state, fresh._stream.state)


def test_samples_of_several_parts_are_split_into_series() -> None:
    rng = np.random.default_rng(16)
    rooms, nexts = rng.integers(2, size=(20, 200)), rng.integers(3, size=(20, 200))
    learner = PerContext(VarSmile(Dirichlet(3), 0.05), 2)
    detector = Detector.calibrated(learner, (rooms, nexts), changed=np.zeros(rooms.shape, bool))
    assert 0 < detector.false_alarm_rate <= 0.01
    assert detector.alarms((rooms[0], nexts[0])).shape == (200,)


def test_alarms_may_be_repeated_while_a_change_is_recent() -> None:
    """Otherwise the cool-down is as long as a change stays recent, and swallows another soon after a false alarm."""
    rng = np.random.default_rng(41)
    xs = np.concatenate([rng.normal(mean, NOISE, 60) for mean in (0.0, 30.0, -30.0)])
    calm = MessagePassing(FAMILY, 0.001, PRIOR)
    once = Detector(calm, 0.9, within=30, cooldown=5, burn_in=30)
    again = Detector(calm, 0.9, within=30, cooldown=5, burn_in=30, repeat=True)
    assert (once.cooldown, again.cooldown, again.burn_in) == (30, 5, 30)
    assert np.flatnonzero(once.alarms(xs)).tolist() == [60, 120]
    repeated = [60 + 6 * k for k in range(5)] + [120 + 6 * k for k in range(5)]
    assert np.flatnonzero(again.alarms(xs)).tolist() == repeated
    assert [t for t, x in enumerate(xs) if again.update(x)] == repeated
    assert again.clone().settings == again.settings
    assert copy.deepcopy(again).repeat

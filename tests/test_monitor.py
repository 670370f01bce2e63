"""Does a monitor tell what is usual, what is not, and what has changed, with probabilities that mean what they say?"""

import math
from bisect import bisect_left, insort
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from benchmarks.scores.detectors import monitor_alarms
from scipy import stats

import astonish
from astonish import Bank, Bayes, Detector, Monitor, NormalGamma, Regression, Stream, find_period, run, run_many
from astonish.beliefs import (
    NormalGammaBelief,
    VectorBelief,
    robust_regression as regression,
    robust_shift as shift,
    robust_tail as tail,
)
from astonish.changes.monitoring import alarm_level
from astonish.core.numbers import double
from astonish.testing import check_learner

LENGTH, SERIES = 3000, 24
SAMPLES = [0.1, -0.4, 0.2, 0.3, 6.1, 5.8, -2.0, 0.4, 1.0, 0.3, 0.2, 0.5]
TIMES = np.arange(LENGTH)


def noise(kind: str, seed: int) -> Any:
    rng = np.random.default_rng(seed)
    draws = {
        "gaussian": lambda: 3e7 + 1e5 * rng.normal(size=(SERIES, LENGTH)),
        "student": lambda: rng.standard_t(3, size=(SERIES, LENGTH)),
        "periodic": lambda: 5 * np.sin(2 * np.pi * TIMES / 50) + rng.normal(size=(SERIES, LENGTH)),
    }
    return draws[kind]()


def model(kind: str, **settings: Any) -> Monitor:
    return Monitor(50.0, harmonics=3, **settings) if kind == "periodic" else Monitor(**settings)


@pytest.fixture(scope="module", params=["gaussian", "student", "periodic"])
def quiet(request: Any) -> tuple[str, Any, list[Any]]:
    xs = noise(request.param, seed=7)
    return request.param, xs, run_many(model(request.param), list(xs))


def test_tail_probabilities_are_as_often_small_as_they_say(quiet: Any) -> None:
    _, _, histories = quiet
    tails = np.exp(-np.stack([each.surprise for each in histories]))[:, 500:]
    shares = {level: (tails < level).mean() / level for level in (0.3, 0.1, 0.03, 0.01, 0.003)}
    assert all(0.6 < share < 1.5 for share in shares.values()), shares


def test_the_tail_probability_of_single_samples_is_uniform(quiet: Any) -> None:
    kind, xs, _ = quiet
    rows = np.concatenate([_row_tails(model(kind), x) for x in xs[:4]])
    levels = np.linspace(0.005, 0.55, 110)  # the least surprising ones are not told apart
    assert np.abs((rows[:, None] < levels).mean(0) - levels).max() < 0.03


def _row_tails(learner: Monitor, xs: Any) -> Any:
    with double():
        traced = jax.jit(lambda x: astonish.scan(learner, x, read=lambda state: state.tails[0]).estimate)(xs)
    return np.exp(np.asarray(traced)[500:])


def test_intervals_hold_as_many_samples_as_they_say(quiet: Any) -> None:
    kind, xs, _ = quiet
    learner = model(kind)
    with double():
        low, high = jax.jit(lambda x: astonish.scan(learner, x, read=learner.interval).estimate)(xs[0])
    inside = (xs[0] >= low) & (xs[0] <= high)
    assert 0.93 < inside[500:].mean() < 0.97


def test_nothing_is_said_to_have_changed_where_nothing_has(quiet: Any) -> None:
    _, _, histories = quiet
    changes = np.stack([each.change_probability for each in histories])[:, 500:]
    assert (changes > 0.5).mean() < 1e-3
    assert changes.mean() < 0.03


@pytest.mark.parametrize("kind", ["gaussian", "student", "periodic"])
def test_change_probabilities_mean_what_they_say(kind: str) -> None:
    rng = np.random.default_rng(11)
    changed = rng.random((SERIES, LENGTH)) < 0.001
    sizes = rng.choice([-1, 1], changed.shape) * rng.uniform(2, 10, changed.shape)
    outliers = (
        (rng.random(changed.shape) < 0.005) * rng.choice([-1, 1], changed.shape) * rng.uniform(6, 30, changed.shape)
    )
    base = noise("student" if kind == "student" else "periodic", seed=12)
    base = base - 5 * np.sin(2 * np.pi * TIMES / 50) * (kind == "gaussian")
    histories = run_many(model(kind), list(base + np.cumsum(changed * sizes, axis=1) + outliers))
    said = np.stack([each.change_probability for each in histories])[:, 500:]
    recent = np.stack([np.convolve(row, np.ones(shift.LONGEST))[:LENGTH] > 0 for row in changed])[:, 500:]
    assert recent[said > 0.98].mean() > 0.95
    assert recent[said < 0.02].mean() < 0.02
    for low, high in ((0.1, 0.5), (0.5, 0.98)):
        here = (said > low) & (said <= high)
        assert abs(recent[here].mean() - said[here].mean()) < 0.2, (low, high)


def ordinary(count: int = 600) -> Any:
    return 20 + 2 * np.random.default_rng(4).normal(size=count)


def test_an_outlier_is_called_an_outlier_a_shift_a_change_and_a_noisy_stretch_a_stretch() -> None:
    xs = ordinary()
    watched = astonish.monitor(first=xs[:500])
    assert [watched.update(x).kind for x in xs[500:510]] == [""] * 10
    outlier = watched.update(45.0)
    assert (outlier.kind, outlier.alarm) == ("outlier", True)
    assert outlier.change_probability < 0.5
    after = [watched.update(x) for x in xs[510:520]]
    assert all(step.change_probability < 0.1 for step in after)
    shifted = [watched.update(x + 12.0) for x in xs[520:530]]
    assert shifted[4].kind == "change"
    assert shifted[4].change_probability > 0.95
    assert shifted[-1].estimate == pytest.approx(32.0, abs=2.0)
    calm, noisy = astonish.monitor(first=ordinary(1000)), 20 + 5 * np.random.default_rng(8).normal(size=40)
    assert "stretch" in [calm.update(x).kind for x in noisy]


def test_the_answer_after_a_change_follows_the_new_level_and_calms_down() -> None:
    rng = np.random.default_rng(3)
    xs = np.concatenate([rng.normal(size=1000), 8 + rng.normal(size=200)])
    history = run(Monitor(), xs)
    assert history.change_probability[1003:1014].min() > 0.95
    assert history.change_probability[1020:].max() < 0.1
    assert np.abs(history.estimate[1010:] - 8).max() < 1.0
    constant = run(Monitor(), np.concatenate([np.full(100, 3.0), np.full(30, 4.0)]))
    assert constant.surprise[100] > 5
    assert constant.change_probability[101:115].min() > 0.9
    assert constant.estimate[110] == pytest.approx(4.0, abs=0.01)


def test_a_rest_follows_an_alarm_and_alarms_become_rarer() -> None:
    surprise = np.full(12, 20.0)
    surprise[[0, 5]] = math.nan
    assert np.flatnonzero(monitor_alarms(surprise, 0.01, rest=4)[0]).tolist() == [1, 6, 11]
    assert alarm_level(0.01, np.array([10, 1000, 4000])).tolist() == [0.01, 0.01, 0.005]
    watched = astonish.monitor(first=ordinary(500), rest=3)
    assert [watched.update(200.0 + k % 2).alarm for k in range(8)].count(True) == 2


def test_alarms_of_a_monitor_are_those_of_a_series() -> None:
    xs = ordinary(900)
    xs[[500, 700]] = 60.0
    watched = astonish.monitor()
    alarms = [watched.update(x).alarm for x in xs]
    expected, _ = monitor_alarms(run(Monitor(), xs).surprise, 0.005, 33)
    assert alarms == expected.tolist()
    assert [alarms[500], alarms[700]] == [True, True]


def test_missing_numbers_let_time_pass_but_teach_nothing() -> None:
    wave = np.sin(2 * np.pi * np.arange(400) / 20)
    watched, gapped = astonish.monitor(20.0), astonish.monitor(20.0)
    for x in wave:
        watched.update(x)
    for k, x in enumerate(wave):
        step = gapped.update(math.nan if k % 7 == 3 else x)
        if k % 7 == 3:
            assert math.isnan(step.surprise)
            assert (step.kind, step.alarm) == ("", False)
    assert gapped.update(None).estimate == gapped.stream.estimate
    assert gapped.stream.estimate == pytest.approx(watched.stream.estimate, abs=0.02)


def test_times_may_be_dates() -> None:
    start, rng = datetime(2026, 1, 1, tzinfo=UTC), np.random.default_rng(6)
    watched = astonish.monitor(period=86_400.0)
    hours = np.arange(24 * 20)
    for hour in hours[rng.random(len(hours)) < 0.8]:  # some rows are not there at all
        step = watched.update(10 * np.sin(2 * np.pi * hour / 24) + rng.normal(), start + timedelta(hours=int(hour)))
    expected = 10 * np.sin(2 * np.pi * hour / 24)
    assert step.low < expected < step.high
    assert step.high - step.low < 8  # the rhythm is not taken for noise
    assert step.estimate == pytest.approx(expected, abs=1.5)


@pytest.mark.parametrize("scale", [1e-90, 1e-6, 1.0, 1e9, 1e90])
def test_units_do_not_matter(scale: float) -> None:
    xs = ordinary(300) - 20
    xs[200] = 40.0
    one, other = run(Monitor(), xs), run(Monitor(), scale * xs)
    assert other.surprise == pytest.approx(one.surprise, rel=1e-6, abs=1e-6)
    assert other.estimate / scale == pytest.approx(one.estimate, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize(
    "xs",
    [
        np.zeros(100),
        np.full(100, 1e100),
        np.concatenate([np.full(60, 3.0), np.full(60, 4.0)]),
        np.concatenate([np.zeros(50), [1e100], np.zeros(50)]),
        np.where(np.arange(100) % 2, 1e100, -1e100),
        np.concatenate([np.zeros(50), np.random.default_rng(1).normal(size=300)]),
    ],
)
def test_extreme_streams_give_finite_answers(xs: Any) -> None:
    for learner in (Monitor(), Monitor(7.0, harmonics=3, lags=2)):
        history = run(learner, xs)
        for answer in (history.estimate, history.surprise, history.learning_rate, history.change_probability):
            assert np.isfinite(answer).all()


@pytest.mark.parametrize(
    "learner",
    [Monitor(), Monitor(6.0, 0.01, 0.02, harmonics=2, lags=2), Monitor(4.5, harmonics=1, timed=1)],
    ids=["plain", "features", "timed"],
)
def test_it_keeps_the_contract(learner: Monitor) -> None:
    # Enough samples that surprises are compared, so that derivatives go through all of it.
    values = [*SAMPLES, *SAMPLES[::-1], *SAMPLES]
    check_learner(learner, [(0.7 * k, x) for k, x in enumerate(values)] if learner.timed else values)


def test_engines_agree() -> None:
    pytest.importorskip("llvmlite")
    learner, xs = Monitor(24.0, harmonics=3, lags=1), noise("student", 5)[0][:500]
    native, xla = run(learner, xs, engine="native"), run(learner, xs, engine="xla")
    assert native.surprise == pytest.approx(xla.surprise, rel=1e-7, abs=1e-9)
    assert native.estimate == pytest.approx(xla.estimate, rel=1e-7, abs=1e-9)
    assert Stream(learner, engine="native").engine == "native"


def test_banks_and_detectors_take_it() -> None:
    xs = noise("gaussian", 9)[:3, :300]
    bank = Bank(Monitor(), 10)
    steps = [bank.update(["a", "b", "c"], xs[:, k]) for k in range(300)]
    assert steps[-1].surprise == pytest.approx([run(Monitor(), x).surprise[-1] for x in xs], rel=1e-7)
    detector = Detector(Monitor(), 0.5, within=8)
    shifted = np.concatenate([xs[0], xs[1] + 8e5])
    assert np.flatnonzero(detector.alarms(shifted))[0] in range(300, 306)


def test_a_saved_monitor_goes_on_exactly(tmp_path: Path) -> None:
    xs = ordinary(300)
    watched = astonish.monitor(12.0, rest=50)
    for x in [*xs, 90.0]:
        watched.update(x)
    watched.save(tmp_path / "monitor")
    again = astonish.StreamMonitor.load(tmp_path / "monitor", watched.learner)
    later = [15.0, 80.0, 20.0, math.nan, 21.0]
    assert [again.update(x)[:3] for x in later] == [watched.update(x)[:3] for x in later]
    assert again.update(500.0) == watched.update(500.0)
    assert repr(again) == repr(watched)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"period": -3.0}, r"period = -3 is not allowed; give a finite number above 0"),
        ({"period": 10.0, "harmonics": 0}, r"harmonics = 0 is not allowed; give a whole number of at least 1"),
        ({"false_alarm_rate": 0.0}, "false_alarm_rate = 0 is not allowed"),
        ({"hazard": 2.0}, "hazard = 2 is not allowed"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        astonish.monitor(**settings)


@pytest.mark.parametrize("period", [6.0, 24.0, 50.5, 150.0])
@pytest.mark.parametrize("shape", ["sine", "square"])
def test_periods_are_found(period: float, shape: str) -> None:
    rng, phase = np.random.default_rng(3), np.arange(1000) / period
    wave = np.sin(2 * np.pi * phase) if shape == "sine" else np.where(phase % 1 < 0.3, 1.0, 0.0)
    xs = 1e4 * (wave + 0.01 * np.arange(1000) + 0.3 * rng.normal(size=1000))
    xs[[100, 400]] = 1e7, math.nan
    assert find_period(xs) == pytest.approx(period, rel=0.01)


def test_no_period_is_found_where_there_is_none() -> None:
    rng = np.random.default_rng(1)
    white = rng.normal(size=(20, 600))
    assert [find_period(x) for x in white] == [None] * 20
    assert find_period(np.zeros(100)) is None
    assert find_period(np.arange(100.0)) is None
    assert find_period([1.0, 2.0]) is None
    assert astonish.monitor(first=white[0]).learner.harmonics == 0
    found = astonish.monitor(first=noise("periodic", 2)[0][:500]).learner
    assert (found.harmonics, round(found.period)) == (3, 50)


def test_the_regression_is_bayes_rule() -> None:
    """With the noise known, `Regression`; with the feature 1 alone, `NormalGamma`."""
    rng = np.random.default_rng(0)
    features, values = rng.normal(size=(30, 3)), rng.normal(size=30)
    with double():
        held = regression.start(3, float)
        for row, y in zip(features, values, strict=True):
            expected = regression.predict(held, jnp.asarray(row))
            held = regression.update(held, expected, y - expected.mean, jnp.asarray(1.0), 0.0)
        prior = VectorBelief(np.zeros(3), np.eye(3) / regression.WIDE)
        exact = _believed(Bayes(Regression(3, noise=1.0), prior), (features, values))
        assert held.mean == pytest.approx(exact.mean, rel=1e-9)
        assert np.linalg.inv(held.covariance) == pytest.approx(exact.precision, rel=1e-8)

        held = regression.start(1, float)
        for y in values:
            expected = regression.predict(held, jnp.ones(1))
            held = regression.update(held, expected, y - expected.mean, jnp.asarray(1.0), 0.0)
        first = NormalGammaBelief(np.array(0.0), np.array(1 / regression.WIDE), np.array(1e-9), np.array(1e-9))
        both = _believed(Bayes(NormalGamma(), first), values)
        assert held.mean[0] == pytest.approx(float(both.mean), rel=1e-9)
        assert float(held.scale / held.shape) == pytest.approx(float(both.scale / both.shape), rel=1e-6)


def _believed(learner: Any, xs: Any) -> Any:
    return learner.belief(run(learner, xs).state)


def exact_tails(values: Any) -> Any:
    """Shares of past values that are at least as large, each counted, from a sorted list of all."""
    past: list[float] = []
    found = []
    for value in values.tolist():
        found.append((len(past) - bisect_left(past, value) + 1) / (len(past) + 1))
        insort(past, value)
    return np.array(found)


@pytest.mark.parametrize("freedom", [3, 30])
def test_counting_in_bins_loses_little(freedom: int) -> None:
    z = np.random.default_rng(freedom).standard_t(freedom, 4000)
    values = np.log1p(z * z / 4)
    with double():

        def step(held: Any, value: Any) -> Any:
            return tail.add(held, value[None]), tail.log_probability(held, value[None])[0]

        last, logs = jax.jit(lambda xs: jax.lax.scan(step, tail.empty(1, float), xs))(values)
        upper = float(tail.quantiles(last, 0.05)[0])
    exact, binned = exact_tails(values)[200:], np.exp(np.asarray(logs))[200:]
    inside = (exact > 3 / np.arange(201, 4001)) & (values[200:] > 0.06)  # beyond, the tail is fitted; below, all are 1
    off = np.log10(binned / exact)[inside]
    assert np.abs(off).max() < 0.2
    assert np.sqrt(np.mean(off**2)) < 0.02
    assert (values > upper).mean() == pytest.approx(0.05, abs=0.005)
    far = float(np.exp(tail.log_probability(last, jnp.array([30.0]))[0]))
    assert 0 < far < 1 / 4001


OUTLIERS, JUMP, OUTLIER = 0.01, 5.0, 20.0  # what `shift` says about changes and outliers


def ordinary_density(x: float, level: float, variance: float) -> float:
    return (1 - OUTLIERS) * float(stats.t.pdf(x, 5, level, math.sqrt(variance * 3 / 5)))


def outlier_density(x: float) -> float:
    return OUTLIERS * float(stats.cauchy.pdf(x, scale=OUTLIER))


def joint_densities(xs: Any, hazard: float) -> list[float]:
    """Of the samples and each hypothesis: no change at all, and the last one just before the first, second, ... sample.

    Whatever happened before a change is summed over by the same function.
    """
    found = [math.prod((1 - hazard) * (ordinary_density(x, 0.0, 1.0) + outlier_density(x)) for x in xs)]
    for at, new in enumerate(xs):
        joint = sum(joint_densities(xs[:at], hazard)) * hazard
        joint *= (1 - OUTLIERS) * float(stats.cauchy.pdf(new, scale=JUMP)) + outlier_density(new)
        level, precision = new, 1.0
        for x in xs[at + 1 :]:
            variance = 1 + 1 / precision
            usual, odd = ordinary_density(x, level, variance), outlier_density(x)
            joint *= (1 - hazard) * (usual + odd)
            count = usual / (usual + odd) * 6 / (3 + (x - level) ** 2 / variance)
            precision += count
            level += count / precision * (x - level)
        found.append(joint)
    return found


def test_shifts_sum_over_all_hypotheses() -> None:
    xs, hazard = [0.3, -0.5, 4.0, 4.4, 3.1], 0.05
    with double():
        held = shift.none(float)
        for x in xs:
            held, moved = shift.update(held, jnp.asarray(x), hazard)
            assert float(moved) == 0.0
    joint = np.array(joint_densities(xs, hazard))
    expected = joint / joint.sum()
    assert np.asarray(held.weights)[: len(xs)][::-1] == pytest.approx(expected[1:], rel=1e-9)
    assert float(held.probability) == pytest.approx(1 - expected[0], rel=1e-9)

"""Checks `compare` against plain NumPy, and that it says what is wrong with what it is given."""

from typing import Any

import jax
import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt

import astonish
from astonish import (
    Bayes,
    Delta,
    Dirichlet,
    Gaussian,
    GaussianVector,
    Leaky,
    MessagePassing,
    PerContext,
    Smile,
    VarSmile,
    compare,
)
from astonish.worlds.gaussian_jumps import Episode, gaussian_jumps, many_gaussian_jumps

FAMILY = Gaussian(noise=4.0)
PRIOR = FAMILY.prior(mean=0.0, std=12.0)
EPISODES = many_gaussian_jumps(400, range(12))
LEARNERS = {
    "exact": MessagePassing(FAMILY, 0.066, PRIOR),
    "VarSMiLe": VarSmile(FAMILY, 0.066, PRIOR),
    "SMiLe": Smile(FAMILY),
    "fast": Delta(0.5),
    "slow": Delta(0.2),
}


@pytest.fixture(scope="module")
def found() -> astonish.Comparison:
    return compare(LEARNERS, EPISODES)


def _delta_rule(xs: Any, rate: float) -> Any:
    estimates, estimate = [], np.zeros(len(xs))
    for x in xs.T:
        estimate = estimate + rate * (x - estimate)
        estimates.append(estimate)
    return np.stack(estimates, axis=1)


def test_errors_are_those_of_the_estimates(found: astonish.Comparison) -> None:
    error = _delta_rule(EPISODES.samples, 0.5) - EPISODES.truth
    row = found.table.loc["fast"]
    by_series = {"squared_error": (error**2).mean(axis=1), "absolute_error": np.abs(error).mean(axis=1)}
    for name, values in by_series.items():
        assert row[name] == pytest.approx(values.mean(), rel=1e-9)
        assert row[f"{name}_se"] == pytest.approx(values.std(ddof=1) / np.sqrt(12), rel=1e-9)


def test_the_exact_learner_is_best_and_knows_when_the_world_changed(found: astonish.Comparison) -> None:
    table = found.table
    assert list(table.index) == list(LEARNERS)
    assert table["squared_error"].idxmin() == "exact"
    assert table["brier"].idxmin() == "exact"
    assert 0.3 < table["brier_skill"]["exact"] < 1
    assert table.loc[["SMiLe", "fast", "slow"], ["brier", "brier_skill"]].isna().all(axis=None)


def test_errors_after_a_change_are_averaged_over_changes(found: astonish.Comparison) -> None:
    error = np.abs(_delta_rule(EPISODES.samples, 0.2) - EPISODES.truth)
    first, quiet = [], []
    for series, changed in zip(error, EPISODES.changed, strict=True):
        changes = [t for t in range(1, 400) if changed[t]]
        first += [series[t] for t in changes]
        quiet += [series[t] for t in range(400) if not any(changed[max(t - 19, 0) : t + 1]) and t >= 20]
    curve = found.after_change[found.after_change["learner"] == "slow"]
    assert curve["error"].iloc[0] == pytest.approx(np.mean(first), rel=1e-9)
    assert curve["error_se"].iloc[0] == pytest.approx(np.std(first, ddof=1) / np.sqrt(len(first)), rel=1e-9)
    assert curve["quiet_error"].iloc[0] == pytest.approx(np.mean(quiet), rel=1e-9)
    assert curve["sample"].tolist() == list(range(1, 21))


def test_a_higher_rate_recovers_sooner(found: astonish.Comparison) -> None:
    recovery = found.table["recovery"]
    assert recovery["fast"] < recovery["slow"]
    curve = found.after_change[found.after_change["learner"] == "slow"].set_index("sample")
    bound = 1.5 * curve["quiet_error"].iloc[0]
    assert curve["error"][recovery["slow"]] <= bound < curve["error"][recovery["slow"] - 1]
    strict = compare({"slow": Delta(0.2)}, EPISODES, factor=0.01)
    assert np.isnan(strict.table["recovery"]["slow"])


def test_detection_is_easier_where_changes_are_large() -> None:
    rng = np.random.default_rng(1)
    changed = rng.random((20, 400)) < 0.02
    shares, delays = [], []
    for size in (1.0, 3.0, 9.0):
        truth = np.cumsum(size * changed * rng.choice([-1, 1], changed.shape), axis=1)
        row = compare({"fast": Delta(0.3)}, truth + rng.standard_normal(truth.shape), truth, changed).table.loc["fast"]
        shares.append(row["detected"])
        delays.append(row["detection_delay"])
    assert shares[0] < shares[1] < shares[2]
    assert delays[2] == 1
    assert np.isnan(delays[0]) or delays[0] > 1


def test_the_brier_score_and_the_table_of_reliability_are_those_of_the_probabilities(
    found: astonish.Comparison,
) -> None:
    learner = LEARNERS["VarSMiLe"]
    change = np.stack([astonish.run(learner, xs).change_probability for xs in EPISODES.samples])[:, 1:].ravel()
    changed = EPISODES.changed[:, 1:].ravel()
    score = np.mean((change - changed) ** 2)
    row, rows = found.table.loc["VarSMiLe"], found.reliability[found.reliability["learner"] == "VarSMiLe"]
    assert row["brier"] == pytest.approx(score)
    assert row["brier_skill"] == pytest.approx(1 - score / (changed.mean() * (1 - changed.mean())))
    assert rows["samples"].sum() == changed.size
    middle = (change >= 0.1) & (change < 0.2)
    assert rows["predicted"].iloc[1] == pytest.approx(change[middle].mean())
    assert rows["observed"].iloc[1] == pytest.approx(changed[middle].mean())


def test_exact_probabilities_are_reliable() -> None:
    rng = np.random.default_rng(2)
    changed = rng.random((60, 500)) < 0.1
    means = rng.normal(0.0, 12.0, changed.shape)
    truth = np.take_along_axis(means, np.maximum.accumulate(np.where(changed, np.arange(500), 0), axis=1), axis=1)
    samples = truth + 4.0 * rng.standard_normal(truth.shape)
    rows = compare({"exact": MessagePassing(FAMILY, 0.1, PRIOR, 40)}, samples, truth, changed).reliability
    assert len(rows) == 10
    spread = np.sqrt(rows["predicted"] * (1 - rows["predicted"]) / rows["samples"])
    assert (abs(rows["observed"] - rows["predicted"]) < 4 * spread).all()


def test_a_series_of_ones_own_is_compared_like_an_episode() -> None:
    one = gaussian_jumps(300, seed=3)
    learners = {"SMiLe": Smile(FAMILY)}
    columns = ["squared_error", "absolute_error", "recovery"]
    expected = compare(learners, one).table[columns]
    for given in (
        (one.samples.tolist(), one.truth.tolist(), one.changed.astype(int).tolist()),
        (pd.Series(one.samples), pd.Series(one.truth), pd.Series(one.changed)),
        (one.samples[None], one.truth[None], one.changed[None]),
    ):
        pd.testing.assert_frame_equal(compare(learners, *given).table[columns], expected)
    assert np.isnan(compare(learners, one).table["squared_error_se"]["SMiLe"])


def test_missing_samples_are_not_held_against_anybody() -> None:
    samples = EPISODES.samples.copy()
    samples[:, ::7] = np.nan
    table = compare(LEARNERS, Episode(samples, EPISODES.truth, EPISODES.changed)).table
    assert table[["squared_error", "detected", "microseconds"]].notna().all(axis=None)
    assert table["brier"].notna().tolist() == [True, True, False, False, False]


def test_without_the_truth_there_are_no_errors_but_detection() -> None:
    found = compare(LEARNERS, EPISODES.samples, changed=EPISODES.changed)
    assert found.table[["squared_error", "absolute_error", "recovery"]].isna().all(axis=None)
    assert found.table["detected"].between(0.2, 1).all()
    plt.close(found.plot())


def test_outcomes_are_compared_with_their_true_probabilities() -> None:
    rng = np.random.default_rng(5)
    changed = np.zeros((10, 200), bool)
    changed[:, 100] = True
    truth = np.where(np.arange(200)[:, None] < 100, [0.8, 0.1, 0.1], [0.1, 0.1, 0.8])
    outcomes = np.stack([[rng.choice(3, p=p) for p in truth] for _ in range(10)])
    learners = {"leaky": Leaky(Dirichlet(3), 0.9), "Bayes": Bayes(Dirichlet(3)), "VarSMiLe": VarSmile(Dirichlet(3))}
    table = compare(learners, outcomes, np.tile(truth, (10, 1, 1)), changed).table
    estimate = np.stack([astonish.run(learners["leaky"], xs).estimate for xs in outcomes])
    assert table["squared_error"]["leaky"] == pytest.approx(np.mean((estimate - truth) ** 2))
    assert table["squared_error"]["leaky"] < table["squared_error"]["Bayes"]


def test_vectors_and_contexts_are_compared_too() -> None:
    rng = np.random.default_rng(6)
    changed = np.zeros(300, bool)
    truth = np.ones((300, 2))
    row = compare({"vector": Smile(GaussianVector(np.eye(2)))}, truth + rng.normal(size=(300, 2)), truth, changed)
    assert 0 < row.table["squared_error"]["vector"] < 1
    rooms, nexts = rng.integers(2, size=(4, 300)), rng.integers(3, size=(4, 300))
    maze = {"maze": PerContext(Bayes(Dirichlet(3)), 2)}
    table = compare(maze, (rooms, nexts), np.full((4, 300, 3), 1 / 3), np.zeros((4, 300))).table
    assert table["squared_error"]["maze"] < 0.02


def test_a_comparison_is_drawn_with_all_that_it_has(found: astonish.Comparison) -> None:
    few = compare({"fast": Delta(0.5), "slow": Delta(0.1)}, EPISODES)
    short = compare({f"rate {r}": Delta(r / 10) for r in range(1, 11)}, gaussian_jumps(60, seed=4))
    assert short.table[["detection_delay", "detected"]].isna().all(axis=None)
    assert short.table["squared_error"].notna().all()
    for comparison, letters in ((found, "ABCD"), (few, "ABC"), (short, "ABC")):  # which has more learners than colours
        figure = comparison.plot()
        figure.canvas.draw()
        assert [axis.get_title(loc="left") for axis in figure.axes] == list(letters)
        names = [text.get_text() for text in figure.legends[0].get_texts()]
        assert names == [*comparison.table.index, "when all is quiet"]
        plt.close(figure)
    assert "squared_error" in repr(found)


ONE = gaussian_jumps(100, seed=8)
SMILE = {"SMiLe": Smile(FAMILY)}


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: compare({}, ONE), "got {}; give learners by name"),
        (lambda: compare([Smile(FAMILY)], ONE), "give learners by name"),  # type: ignore[arg-type]
        (lambda: compare(SMILE, ONE, truth=ONE.truth), "an Episode has its own truth and changes; give it alone"),
        (lambda: compare(SMILE, ONE.samples, ONE.truth), "changed is missing; give True for samples"),
        (lambda: compare(SMILE, ONE.samples, ONE.truth, ONE.changed[:-1]), "has 100 samples but changed has 99"),
        (lambda: compare(SMILE, ONE.samples, ONE.truth[:-1], ONE.changed), r"truth has shape \(1, 99\).*\(1, 100\)"),
        (lambda: compare(SMILE, ONE.samples, np.ones((100, 2)), ONE.changed), r"truth has shape \(1, 100, 2\)"),
        (lambda: compare(SMILE, ONE.samples, ONE.truth, 2.0 * ONE.changed), "changed = 2 is not allowed"),
        (lambda: compare(SMILE, ONE.samples, ["a"] * 100, ONE.changed), "truth holds 'a', which is not a number"),
        (lambda: compare(SMILE, EPISODES.samples[:2], EPISODES.truth, EPISODES.changed), r"\[2\] series but 12 rows"),
        (lambda: compare({"coin": Bayes(Dirichlet(2))}, ONE), "coin: sample 0 .* is not allowed"),
        (
            lambda: compare({"bad": jax.tree.map(lambda _: 2.0, Delta())}, ONE),
            "bad: Delta's learning_rate = 2 is not allowed",
        ),
        (lambda: compare(SMILE, [], [], []), "empty"),
        (lambda: compare(SMILE, ONE, window=0), "window = 0 is not allowed"),
        (lambda: compare(SMILE, ONE, factor=-1.0), "factor = -1 is not allowed"),
        (lambda: compare(SMILE, ONE, false_alarm_rate=2.0), "false_alarm_rate = 2 is not allowed"),
        (lambda: compare(SMILE, ONE, cooldown=-1), "cooldown = -1 is not allowed"),
    ],
)
def test_what_makes_no_sense_is_refused(make: Any, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        make()

"""Groups, covariates and conditions: read, fitted, tested, drawn, and described."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from astonish import Delta
from astonish.people.fit import Estimate, Fit, Model, fit, held_out, recover_parameters, simulate_responses
from astonish.people.fit.description import _holm, _paired, _welch, correlations, describe, differences
from astonish.people.fit.plot import plot_differences
from astonish.people.fit.space import Space, effects, usual
from astonish.people.tables import Columns, Trials, read_trials

pytestmark = pytest.mark.computes
MODEL = Model(Delta(0.4, start=0.0), Estimate(0.8), differs=["learning_rate"])
FREE = ["learning_rate", "noise"]


def _people(people: int, steps: int, of_group: float = 0.0, of_condition: float = 0.0, seed: int = 0) -> pd.DataFrame:
    """Delta rules whose log-odds of the rate differ by so much between groups, and between conditions."""
    rng = np.random.default_rng(seed)
    group, age = np.arange(people) % 2, rng.normal(40, 10, people)
    log_odds = rng.normal(0, 0.5, people) + of_group * (group - 0.5) + 0.02 * (age - 40)
    apart = of_condition + rng.normal(0, 0.3, people)
    condition = np.arange(steps) // 5 % 2
    x, belief, answers = rng.normal(0, 5, (people, steps)), np.zeros(people), []
    for t in range(steps):
        rate = 1 / (1 + np.exp(-log_odds - apart * (condition[t] - 0.5)))
        belief = belief + rate * (x[:, t] - belief) + 0.8 * rng.standard_normal(people)
        answers.append(belief)
    return pd.DataFrame({
        "id": np.repeat(np.arange(people), steps),
        "g": np.repeat(np.array(["control", "patient"])[group], steps),
        "age": np.repeat(age, steps),
        "c": np.tile(np.array(["calm", "wild"])[condition], people),
        "x": x.ravel(),
        "b": np.stack(answers, 1).ravel(),
    })  # fmt: skip


def _read(table: pd.DataFrame, **more: Any) -> Trials:
    return read_trials(table, Columns("x", "id", response="b", **more), responds_before=False)


@pytest.fixture(scope="module")
def found() -> Fit:
    trials = _read(_people(24, 60, 1.0, 1.0), condition="c", group="g", covariates=("age",))
    return fit(MODEL, trials, FREE, starts=1)


def test_what_is_known_of_people_and_trials_is_read() -> None:
    trials = _read(_people(6, 20), condition="c", group="g", covariates=("age",))
    assert trials.conditions == ("calm", "wild")
    assert trials.condition is not None
    assert trials.condition[0, :12].tolist() == [0] * 5 + [1] * 5 + [0] * 2
    assert trials.group is not None
    assert trials.group.tolist() == ["control", "patient"] * 3
    some = trials.only(["3", "0"])
    assert some.group is not None
    assert some.group.tolist() == ["patient", "control"]
    assert some.covariates["age"].tolist() == trials.covariates["age"][[3, 0]].tolist()
    said = trials.preview()
    assert "conditions by c: calm (60 trials), wild (60 trials)" in said
    assert "groups by g: control (3), patient (3)" in said
    assert "covariate age: from" in said


@pytest.mark.parametrize(
    ("change", "columns", "sentence"),
    [
        ({}, {"group": "c"}, "c is calm and wild for participant 0; a group and a covariate are one for each"),
        ({}, {"covariates": ("x",)}, "for participant 0; .*--per-trial is about trials"),
        ({"g": "all"}, {"group": "g"}, "g is 'all' for everybody; name a column that differs"),
        ({"age": 3.0}, {"covariates": ("age",)}, "age is 3 for everybody"),
        ({"c": "one"}, {"condition": "c"}, "c is 'one' on all trials; name a column that differs"),
        ({"age": "old"}, {"covariates": ("age",)}, "age = 'old' is not a number; give a number for each participant"),
        ({"age": np.nan}, {"covariates": ("age",)}, "age is empty for every participant"),
    ],
)
def test_what_cannot_be_compared_is_refused(change: Any, columns: Any, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        _read(_people(4, 10).assign(**change), **columns)


def test_who_has_no_group_is_excluded_and_a_trial_without_condition_left_out() -> None:
    table = _people(4, 10)
    table.loc[table.id == 2, "g"] = None
    table.loc[3, "c"] = None
    trials = _read(table, group="g", condition="c")
    assert trials.excluded == {"2": "g is empty"}
    assert trials.subjects == ("0", "1", "3")
    assert [(line, why) for line, why in trials.rejected] == [(3, "c is empty")]


def test_parameters_by_condition_are_those_of_two_fits_if_nothing_is_carried_over() -> None:
    """Anchored answers carry nothing but the last one from trial to trial, so conditions may be fitted apart."""
    table = _people(4, 80, of_condition=1.5)
    both = fit(MODEL, _read(table, condition="c"), FREE, starts=1)
    assert both.names == ("learning_rate[calm]", "learning_rate[wild]", "noise")
    alone = Model(MODEL.learner, MODEL.response)
    noise = both.values[:, 2]
    for k, label in enumerate(["calm", "wild"]):
        for row, who in enumerate(both.trials.subjects):
            marked = _read(table.assign(other=(table.c != label).astype(int)), ignore=())
            scored = marked.scored & (table.c.to_numpy()[marked.rows] == label)
            trials = Trials(**{**vars(marked), "scored": scored}).only([who])
            fixed = Model(alone.learner, Estimate(float(noise[row])))
            one = fit(fixed, trials, ["learning_rate"], starts=1)
            assert one.values[0, 0] == pytest.approx(both.values[row, k], rel=1e-4)


def test_simulated_conditions_are_found_again(found: Fit) -> None:
    values = {"learning_rate[calm]": 0.1, "learning_rate[wild]": np.linspace(0.6, 0.9, 24), "noise": 0.3}
    made = simulate_responses(MODEL, found.trials, values)
    again = fit(MODEL, made, FREE, starts=1)
    assert again.values[:, 0] == pytest.approx(np.full(24, 0.1), abs=0.06)
    assert again.values[:, 1] == pytest.approx(np.linspace(0.6, 0.9, 24), abs=0.06)
    recovered = recover_parameters(MODEL, found.trials, FREE, participants=24, truth=found, starts=1).summary()
    assert list(recovered.index) == list(found.names)
    assert recovered.correlation.min() > 0.5
    predicted = held_out(MODEL, found.trials, FREE, folds=3, starts=1)
    assert np.isfinite(predicted.total).all()


@pytest.mark.parametrize(
    ("differs", "free", "sentence"),
    [
        (["speed"], FREE, "there is no parameter 'speed'"),
        ("learning_rate", FREE, r"give a list of names, as in \['learning_rate'\]"),
        (["learning_rate"], ["learning_rate[hot]"], "there is no condition 'hot'; .*nown are calm, wild"),
        ([], ["learning_rate[calm]"], "learning_rate is the same in all conditions; give Model"),
    ],
)
def test_conditions_that_are_not_there_are_refused(differs: Any, free: Any, sentence: str, found: Fit) -> None:
    with pytest.raises(ValueError, match=sentence):
        fit(Model(MODEL.learner, MODEL.response, differs=differs), found.trials, free)


def test_a_condition_needs_a_column() -> None:
    with pytest.raises(ValueError, match="to differ between conditions, but none are known; name their column"):
        fit(MODEL, _read(_people(3, 20)), FREE)


def test_names_of_what_is_searched_for(found: Fit) -> None:
    space = Space.of(MODEL, FREE, found.trials)
    other = space.contrasted()
    assert other.searched == ("learning_rate (mean of conditions)", "learning_rate (calm - wild)", "noise")
    x = np.array([0.3, 1.0, -0.2])
    assert other.constrained(x) == pytest.approx(space.constrained(np.array([0.8, -0.2, -0.2])))
    assert other.unconstrained(other.constrained(x)) == pytest.approx(x)
    assert other.start(MODEL)[1] == 0
    low, high = usual(other, found.trials)
    assert low[1] == -high[1] < 0


def test_differences_by_hand(found: Fit) -> None:
    """Every number of the table from its formula, or another function of SciPy."""
    table = differences(found).set_index(["parameter", "comparison"])
    assert len(table) == 3 + 3 + 1
    of_patients = np.array(found.trials.group) == "patient"
    x = found.unconstrained[:, 0]
    a, b = x[~of_patients], x[of_patients]
    row = table.loc[("learning_rate[calm]", "control - patient")]
    error = np.sqrt(a.var(ddof=1) / 12 + b.var(ddof=1) / 12)
    df = error**4 / (((a.var(ddof=1) / 12) ** 2 + (b.var(ddof=1) / 12) ** 2) / 11)
    half = stats.t.ppf(0.975, df) * error
    apart = a.mean() - b.mean()
    assert [row.difference, row.low, row.high] == pytest.approx([apart, apart - half, apart + half])
    assert row.df == pytest.approx(df)
    assert row.p == pytest.approx(2 * stats.t.sf(abs(apart / error), df))
    g = (1 - 3 / (4 * 22 - 1)) * apart / np.sqrt((a.var(ddof=1) + b.var(ddof=1)) / 2)
    assert row.effect_size == pytest.approx(g)
    assert row.p_ranks == pytest.approx(stats.mannwhitneyu(a, b).pvalue)
    row = table.loc[("learning_rate", "calm - wild")]
    within = found.unconstrained[:, 0] - found.unconstrained[:, 1]
    assert row.p == pytest.approx(stats.ttest_rel(*found.unconstrained[:, :2].T).pvalue)
    assert [row.difference, row.effect_size] == pytest.approx([within.mean(), within.mean() / within.std(ddof=1)])
    row = table.loc[("noise", "with age")]
    r = np.corrcoef(found.trials.covariates["age"], found.unconstrained[:, 2])[0, 1]
    ends = np.tanh(np.arctanh(r) + np.array([-1, 1]) * stats.norm.ppf(0.975) / np.sqrt(21))
    assert [row.difference, row.low, row.high] == pytest.approx([r, *ends])
    assert row.p_ranks == pytest.approx(stats.spearmanr(found.trials.covariates["age"], found.unconstrained[:, 2])[1])
    assert table.p_holm.max() <= 1
    assert table.loc[("learning_rate", "calm - wild"), "p"] < 1e-6


def test_holm_adjusts_by_hand() -> None:
    """Holm's (1979) procedure: 0.01 x 4, 0.03 x 3, then never less than the one before."""
    assert _holm(np.array([0.03, 0.01, np.nan, 0.04, 0.9])) == pytest.approx(
        [0.09, 0.04, np.nan, 0.09, 0.9], nan_ok=True
    )


def test_values_at_a_bound_are_left_out_of_means_but_not_of_ranks(found: Fit) -> None:
    x = found.unconstrained.copy()
    x[3, 0] = -15.0
    edge = Fit(**{**{k: v for k, v in vars(found).items() if k in Fit.__dataclass_fields__}, "unconstrained": x})
    row = differences(edge).set_index(["parameter", "comparison"]).loc[("learning_rate[calm]", "control - patient")]
    assert (row.people, row.left_out) == (23, 1)
    of_patients = np.array(found.trials.group) == "patient"
    assert row.p_ranks == pytest.approx(stats.mannwhitneyu(x[~of_patients, 0], x[of_patients, 0]).pvalue)
    assert describe(edge).at_bound.tolist() == [1, 0, 0]


def test_three_groups_and_people_without_any() -> None:
    table = _people(9, 30)
    table["g"] = np.array(["a", "b", "c"])[table.id % 3]
    found = fit(Model(MODEL.learner, MODEL.response), _read(table, group="g"), FREE, starts=1)
    rows = differences(found)
    assert rows[rows.parameter == "noise"].comparison.tolist() == ["a - b", "a - c", "b - c", "all groups"]
    x = found.unconstrained[:, 1]
    expected = stats.kruskal(*(x[k::3] for k in range(3))).pvalue
    assert rows[(rows.parameter == "noise") & (rows.comparison == "all groups")].p_ranks.item() == pytest.approx(
        expected
    )
    nothing = differences(fit(Model(MODEL.learner, MODEL.response), _read(table), FREE, starts=1))
    assert nothing.empty


def test_a_table_that_describes_parameters(found: Fit) -> None:
    table = describe(found).set_index("parameter")
    values = found.values[:, 1]
    row = table.loc["learning_rate[wild]"]
    assert row.n == 24
    assert [row["mean"], row.sd, row["median"]] == pytest.approx([values.mean(), values.std(ddof=1), np.median(values)])
    assert [row.q25, row.q75] == pytest.approx(np.percentile(values, [25, 75]))
    related = correlations(found)
    expected = stats.spearmanr(found.values[:, 0], found.values[:, 2]).statistic
    assert related.loc["learning_rate[calm]", "noise"] == pytest.approx(expected)


def test_parameters_are_drawn_by_group_condition_and_covariate(found: Fit) -> None:
    figure = plot_differences(found)
    shown = [axis for axis in figure.axes if axis.axison]
    assert len(shown) == 3 + 1 + 3
    assert {axis.get_xlabel() for axis in shown} == {"g", "c", "age"}
    diamonds = [line for line in shown[0].lines if line.get_marker() == "D"]
    of_control = np.array(found.trials.group) == "control"
    assert diamonds[0].get_ydata()[0] == pytest.approx(found.unconstrained[of_control, 0].mean())


@pytest.mark.parametrize("count", [2, 3, 7])
def test_effects_of_groups_add_up_to_zero(count: int) -> None:
    basis = effects(count)
    np.testing.assert_allclose(basis.sum(0), 0, atol=1e-12)
    np.testing.assert_allclose(basis.T @ basis, np.eye(count - 1), atol=1e-12)
    apart = np.linalg.norm(basis[:, None] - basis[None], axis=-1)[~np.eye(count, dtype=bool)]
    np.testing.assert_allclose(apart, np.sqrt(2))  # no two groups are nearer than others


def test_intervals_hold_true_differences_as_often_as_they_say() -> None:
    """400 studies of 14 people each, whose groups differ by 1 and whose conditions differ by 0.7, on average."""
    studies, people = 400, 14
    table = _people(studies * people, 60, of_group=1.0, of_condition=0.7, seed=5)
    found = fit(MODEL, _read(table, condition="c", group="g"), FREE, starts=1)
    inside = found.space.at_bound(found.unconstrained) == 0
    x = np.where(inside, found.unconstrained, np.nan)
    held = {"group": 0, "condition": 0}
    for own in x.reshape(studies, people, -1):
        middle = own[:, :2].mean(1)
        known = ~np.isnan(middle)
        patient = np.arange(people) % 2 == 1
        between = _welch(middle[known & patient], middle[known & ~patient])
        within = _paired((own[:, 1] - own[:, 0])[known])
        held["group"] += between["low"] <= 1.0 <= between["high"]
        held["condition"] += within["low"] <= 0.7 <= within["high"]
    for name, count in held.items():
        assert 0.92 <= count / studies <= 0.98, name

"""Numbers beside each trial are those that the learner had, and empty where it had none."""

from typing import Any

import jax
import numpy as np
import pandas as pd
import pytest
from scipy import stats

import astonish
from astonish import (
    Bayes,
    Beta,
    Delta,
    Dirichlet,
    Gaussian,
    Kalman,
    Leaky,
    MessagePassing,
    Nassar2010,
    Nassar2012,
    ParticleFilter,
    PerContext,
    Smile,
    VarSmile,
)
from astonish.online.measures import COLUMNS
from astonish.people.tables import Columns, Trials, read_trials
from astonish.people.tables.facts import choose
from astonish.people.tables.regressors import describe, regressors
from published_data import published_data

DATA, needs_data = published_data("ada_learn", "data of people")
FAMILY = Gaussian(noise=2.0)
PRIOR = FAMILY.prior(1.0, 6.0)


def _table() -> pd.DataFrame:
    """Two people whose rows are mixed, two blocks each, a gap, and somebody with too few trials."""
    rng = np.random.default_rng(1)
    who = np.array(list("aabbaababbabaabbabab"))
    table = pd.DataFrame({"who": who, "x": rng.normal(3.0, 4.0, 20), "sigma": rng.choice([1.0, 3.0], 20)})
    table["run"] = table.groupby("who").cumcount() // 5
    table["coin"] = rng.integers(2, size=20)
    table["here"], table["there"] = rng.choice(list("uvw"), 20), rng.choice(list("uvw"), 20)
    table.loc[5, ["x", "coin"]] = np.nan
    return pd.concat([table, table.iloc[:2].assign(who="few")], ignore_index=True)


TABLE = _table()
COLUMNS_OF = {"subject": "who", "block": "run"}


def _trials(outcome: Any = "x", **columns: Any) -> Trials:
    return read_trials(TABLE, Columns(outcome, **COLUMNS_OF, **columns))


def _blocks() -> list[pd.DataFrame]:
    return [block for _, block in TABLE[TABLE["who"] != "few"].groupby(["who", "run"])]


def _close(found: Any, expected: Any) -> None:
    np.testing.assert_allclose(np.asarray(found, np.float64), np.asarray(expected, np.float64), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    ("outcome", "learner"),
    [
        ("x", Smile(FAMILY, 0.3, PRIOR)),
        ("x", Delta(0.3, 1.0)),
        ("x", Nassar2012(2.0)),
        ("x", MessagePassing(FAMILY, 0.1, PRIOR)),
        ("coin", Delta(0.3, 0.5)),
        ("coin", Leaky(Beta(), 0.8)),
    ],
)
def test_each_block_is_as_if_it_were_run_alone(outcome: str, learner: Any) -> None:
    trials = _trials(outcome)
    table = regressors(learner, trials)
    pd.testing.assert_frame_equal(table[list(TABLE.columns)], TABLE)
    assert table[table["who"] == "few"].iloc[:, len(TABLE.columns) :].isna().all(axis=None)
    for block in _blocks():
        here = table.loc[block.index]
        seen = block[outcome].notna().to_numpy()
        history = astonish.run(learner, block[outcome])
        start = float(learner.estimate(learner.init()))
        before = np.insert(history.estimate[:-1], 0, start)
        for name, values in (
            ("surprise", history.surprise),
            ("learning_rate", np.where(seen, history.learning_rate, np.nan)),
            ("estimate", np.where(seen, history.estimate, np.nan)),
            ("prediction", np.where(seen, before, np.nan)),
            ("prediction_error", block[outcome] - np.where(seen, before, np.nan)),
        ):
            _close(here[name], values)
        if history.change_probability is None:
            assert "change_probability" not in table
        else:
            _close(here["change_probability"], history.change_probability)


def test_all_measures_are_those_of_each_block() -> None:
    learner = Bayes(FAMILY, PRIOR)
    table = regressors(learner, _trials(), ["all"], hazard=0.2)
    for block in _blocks():
        expected = astonish.measure(learner, block["x"], hazard=0.2)
        _close(table.loc[block.index, list(expected.columns)], expected)


def test_measures_are_chosen_by_name() -> None:
    table = regressors(Bayes(FAMILY, PRIOR), _trials(), ["bayesian", "shannon"])
    assert [name for name in table if name in ("surprise", *COLUMNS)] == ["shannon", "bayesian"]
    table = regressors(Bayes(FAMILY, PRIOR), _trials(), ["shannon", "surprise"])
    _close(table["shannon"], table["surprise"])
    assert [name for name in regressors(Delta(), _trials(), ["all"]) if name in COLUMNS] == []


def test_transitions_are_learned_context_by_context() -> None:
    trials = _trials(("here", "there"))
    learner = PerContext(VarSmile(Dirichlet(3), 0.2), 3)
    table = regressors(learner, trials)
    codes = {"u": 0, "v": 1, "w": 2}
    for block in _blocks():
        pair = block["here"].map(codes).to_numpy(), block["there"].map(codes).to_numpy()
        history = astonish.run(learner, pair)
        _close(table.loc[block.index, ["estimate_u", "estimate_v", "estimate_w"]], history.estimate)
        _close(table.loc[block.index, "surprise"], history.surprise)
        known = {context: np.full(3, 1 / 3) for context in range(3)}
        for row, context, after in zip(block.index, pair[0], history.estimate, strict=True):
            _close(table.loc[row, ["prediction_u", "prediction_v", "prediction_w"]], known[context])
            known[context] = after
    assert "prediction_error" not in table


def test_noise_may_change_from_trial_to_trial() -> None:
    table = regressors(Bayes(FAMILY, PRIOR), _trials(given={"noise": "sigma"}))
    for block in _blocks():
        mean, precision = 1.0, 1 / 36
        for at, row in block.iterrows():
            if np.isnan(row["x"]):
                assert np.isnan(table.loc[at, "surprise"])
                continue
            _close(table.loc[at, ["prediction", "uncertainty"]], [mean, precision**-0.5])
            predicted = stats.norm(mean, np.sqrt(1 / precision + row["sigma"] ** 2))
            _close(table.loc[at, "surprise"], -predicted.logpdf(row["x"]))
            total = precision + row["sigma"] ** -2
            mean, precision = (precision * mean + row["x"] * row["sigma"] ** -2) / total, total
            _close(table.loc[at, "estimate"], mean)


def test_a_constant_column_is_the_same_as_the_parameter() -> None:
    frame = TABLE.assign(two=2.0, half=0.5, third=1 / 3)
    given = {"noise": "two", "hazard": "third"}
    trials = read_trials(frame, Columns("x", **COLUMNS_OF, given=given))
    found = regressors(Nassar2012(99.0, 0.9), trials)
    expected = regressors(Nassar2012(2.0, 1 / 3), _trials())
    _close(found[list(expected.columns[len(TABLE.columns) :])], expected.iloc[:, len(TABLE.columns) :])
    trials = read_trials(frame, Columns("x", **COLUMNS_OF, given={"m": "half", "noise": "two"}))
    found = regressors(Smile(Gaussian(99.0)), trials)["surprise"]  # whose prior follows the noise
    _close(found, regressors(Smile(Gaussian(2.0), 0.5), _trials())["surprise"])


@pytest.mark.parametrize(
    ("learner", "expected"),
    [
        (Kalman(2.0, 0.5, 1.0, 6.0), lambda state: state.precision**-0.5),
        (Nassar2010(2.0), lambda state: 2.0 / state.length**0.5),
        (Nassar2012(2.0), lambda state: 2.0 * state.variance**0.5),
        (Leaky(Beta(), 0.9), lambda state: stats.beta(state.belief.ones, state.belief.zeros).std()),
        (VarSmile(Dirichlet(2)), lambda state: stats.dirichlet(state.alpha).var() ** 0.5),
    ],
)
def test_uncertainty_is_the_spread_of_the_belief(learner: Any, expected: Any) -> None:
    state = astonish.run(learner, [1, 0, 1, 1, 1]).state
    _close(learner.uncertainty(state), expected(jax.tree.map(np.asarray, state)))
    assert Delta().uncertainty(Delta().init()) is None


@pytest.mark.parametrize("kind", [MessagePassing, ParticleFilter])
def test_uncertainty_of_many_beliefs_is_that_of_all_of_them_together(kind: Any) -> None:
    learner = kind(FAMILY, 0.2, PRIOR)
    state = jax.tree.map(np.asarray, astonish.run(learner, [1.0, 2.0, 9.0, 8.0, 8.5]).state)
    grid = np.linspace(-60, 80, 200_001)
    density = sum(
        weight * stats.norm.pdf(grid, mean, precision**-0.5)
        for weight, mean, precision in zip(state.weights, state.beliefs.mean, state.beliefs.precision, strict=True)
    )
    mean = np.trapezoid(grid * density, grid)
    spread = np.sqrt(np.trapezoid((grid - mean) ** 2 * density, grid))
    assert float(learner.uncertainty(state)) == pytest.approx(spread, rel=1e-6)  # type: ignore[arg-type]


def test_names_that_are_taken_need_a_prefix() -> None:
    trials = read_trials(TABLE.assign(surprise=0.0), Columns("x", **COLUMNS_OF))
    with pytest.raises(ValueError, match=r"already has a column 'surprise'; give a prefix .* \(--prefix\)"):
        regressors(Delta(), trials)
    table = regressors(Delta(), trials, prefix="delta_")
    assert (table["surprise"] == 0).all()
    _close(table["delta_surprise"], regressors(Delta(), _trials())["surprise"])


def test_every_column_is_described() -> None:
    for name in COLUMNS:
        assert len(describe(name)) > 20
    assert describe("shannon_with_change") == describe("shannon") + " Reckoning with a change."
    assert describe("estimate_w") == "estimate just after the outcome, of w"
    assert describe("change_probability").startswith("probability")


SMILE = Smile(FAMILY, prior=PRIOR)


@pytest.mark.parametrize(
    ("learner", "columns", "options", "sentence"),
    [
        (SMILE, {}, {"measures": ["shanon"]}, "there is no measure 'shanon'; did you mean .shannon.. Known are all"),
        (SMILE, {}, {"measures": ["shannon_with_change"]}, "needs the probability .* give hazard"),
        (SMILE, {}, {"measures": ["all"], "hazard": 1.5}, "hazard = 1.5 is not allowed"),
        (SMILE, {}, {"hazard": 0.1}, "hazard = 0.1 is for measures that end in _with_change"),
        (SMILE, {}, {"measures": ["state_prediction_error"]}, "does not apply .* what does is"),
        (Delta(), {}, {"measures": ["shannon"]}, r"Delta.* does not hold a single belief"),
        (Smile(Beta()), {}, {}, "an outcome = .* is not allowed; give a whole number from 0 to 1"),
        (SMILE, {"outcome": ("here", "there")}, {}, "Smile does not learn from outcomes that are transitions"),
        (PerContext(SMILE, 2), {}, {}, "PerContext does not learn from outcomes that are continuous"),
        (Delta(), {"given": {"noise": "sigma"}}, {}, "there is no parameter 'noise'; known are learning_rate, start"),
        (SMILE, {"given": {"noise": "run"}}, {}, "run, which gives noise, = 0 is not allowed; give a finite number"),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_refused(learner: Any, columns: Any, options: Any, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        regressors(learner, _trials(**columns), **options)


# People


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    """The position task of Foucault & Meyniel (2024), and what the reduced Bayesian model makes of it."""
    path = DATA / "main_ada-pos.csv.gz"
    columns = Columns("outcome", "run", "session", given={"noise": "std", "hazard": "pc", "low": "zero", "high": "one"})
    trials = read_trials(pd.read_csv(path).assign(zero=0.0, one=1.0), columns)
    learner = choose("reduced-bayes", trials, {"low": -5.0, "high": 5.0}).learner
    return regressors(learner, trials, prefix="model_")


def _published(name: str, row: str) -> float:
    path = DATA / "published_results" / f"{name}_ada-pos.csv"
    return float(pd.read_csv(path, index_col=0).loc[row, "0"])


@needs_data
def test_people_agree_with_the_model_as_published(people: pd.DataFrame) -> None:
    runs = [one for _, one in people.groupby("run")]
    assert len(runs) == 96
    found = np.mean([one["model_estimate"].corr(one["estimate"]) for one in runs])
    name = "accuracy_subject-estimate_by_model-estimate_stats_pearsonr"
    assert found == pytest.approx(_published(name, "Mean of pearsonr"), abs=1e-6)


@needs_data
def test_the_columns_explain_peoples_rates_as_published(people: pd.DataFrame) -> None:
    before = people.groupby(["run", "session"])["estimate"].shift().fillna(0.5)
    people = people.assign(rate=(people["estimate"] - before) / (people["outcome"] - before))
    weights = []
    for _, one in people[people["rate"].between(-0.6, 1.3)].groupby("run"):
        columns = one[["model_change_probability", "model_uncertainty", "rate"]].to_numpy()
        scores = (columns - columns.mean(axis=0)) / columns.std(axis=0)
        weights.append(np.linalg.lstsq(scores[:, :2], scores[:, 2])[0])
    jump, doubt = np.mean(weights, axis=0)
    name = "learning-rate_regression_weights_cpp_uncertainty_stats"
    assert jump == pytest.approx(_published(name, "coef_cpp_mean"), abs=1e-6)
    assert doubt == pytest.approx(_published(name, "coef_uncertainty_mean"), abs=1e-6)

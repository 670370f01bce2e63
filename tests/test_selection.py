"""Is the better model found, by how much, and for how many people? Against other code, quadrature and brute force."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import jax
import mpmath
import numpy as np
import pandas as pd
import pytest
from groupBMC.groupBMC import GroupBMC
from matplotlib import pyplot as plt
from scipy import integrate, optimize, special, stats

from astonish import Delta, DeltaCircular, Gaussian, Nassar2012, Smile
from astonish.core.numbers import as_double, double
from astonish.people.comparison.selection import exceedance
from astonish.people.fit import (
    CircularEstimate,
    Estimate,
    Fit,
    Model,
    Selection,
    Softmax,
    compare_elpd,
    compare_fits,
    compare_mse,
    fit,
    held_out,
    psis_loo,
    select,
)
from astonish.people.fit.likelihood import participant_data, simulate
from astonish.people.tables import Columns, Trials, read_trials
from oracles import delta_rule

MODELS = {
    "delta rule": (Model(Delta(0.4), Estimate(2.0)), ("learning_rate", "response.noise")),
    "SMiLe": (Model(Smile(Gaussian(noise=2.0), 0.1), Estimate(2.0)), ("m", "response.noise")),
    "reduced Bayes": (Model(Nassar2012(noise=2.0), Estimate(2.0)), ("hazard", "response.noise")),
}
PEOPLE, BLOCKS, LENGTH = 6, 3, 20


# Shares of people


def _matrices() -> Iterator[Any]:
    rng = np.random.default_rng(1)
    for models in (2, 3, 4, 5):
        for people, spread, lead in ((3, 0.3, 0.0), (12, 2.0, 1.0), (40, 10.0, 3.0)):
            yield rng.normal(0.0, spread, (people, models)) + lead * (np.arange(models) == 1)


@pytest.mark.parametrize("evidence", list(_matrices()), ids=lambda matrix: "x".join(map(str, matrix.shape)))
def test_shares_are_those_of_another_program(evidence: Any) -> None:
    models = evidence.shape[1]
    other = GroupBMC(evidence.T, max_iter=20_000, tolerance=1e-13).get_result()  # with a prior of 1 over all models
    shares = select(evidence, prior=1 / models)
    near = {"abs": 1e-5}  # it stops where the bound no longer grows, some way before the shares settle
    assert shares.attribution == pytest.approx(other.attribution.T, **near)
    assert shares.mean == pytest.approx(other.frequency_mean, **near)
    assert shares.std**2 == pytest.approx(other.frequency_var, **near)
    assert shares.exceedance == pytest.approx(other.exceedance_probability, **near)
    assert shares.protected == pytest.approx(other.protected_exceedance_probability, **near)


@pytest.mark.parametrize(
    "alpha", [(1, 1), (5.3, 2.1), (0.2, 0.2, 0.2, 9.0), (50, 51, 49), (0.5, 3, 100, 120), (7, 6, 5, 4, 3)]
)
def test_the_probability_to_exceed_all_others_is_that_of_samples(alpha: Any) -> None:
    draws = np.random.default_rng(2).dirichlet(alpha, 200_000)
    often = np.bincount(draws.argmax(1), minlength=len(alpha)) / len(draws)
    assert exceedance(alpha) == pytest.approx(often, abs=0.005)
    assert exceedance(alpha).sum() == pytest.approx(1)


@pytest.mark.parametrize("alpha", [(2.5, 1.2), (400.0, 402.0), (0.05, 0.5), (1.0, 30.0)])
def test_the_larger_of_two_shares_is_above_a_half(alpha: Any) -> None:
    exact = float(mpmath.betainc(alpha[1], alpha[0], 0, 0.5, regularized=True))
    assert exceedance(alpha)[0] == pytest.approx(exact, abs=1e-9)


def test_the_risk_is_nearly_what_all_shares_together_say() -> None:
    evidence = np.random.default_rng(3).normal([1.0, 0.0], 2.0, (10, 2))
    odds = np.exp(evidence - evidence.max(1, keepdims=True))
    differ, _ = integrate.quad(lambda share: (odds @ [share, 1 - share]).prod(), 0, 1)
    exact = 1 / (1 + differ / (odds.mean(1)).prod())
    assert exact < select(evidence).risk < exact + 0.05  # the evidence that they differ is bounded from below
    assert 0.2 < exact < 0.8


def test_a_model_that_all_use_exceeds_all_others_and_equal_ones_do_not() -> None:
    clear = select(np.tile([[0.0, -20.0, -20.0]], (30, 1)))
    assert clear.alpha == pytest.approx([31, 1, 1], abs=1e-6)
    assert clear.protected[0] > 0.999
    alike = select(np.zeros((30, 3)))
    assert alike.risk > 0.9
    assert alike.protected == pytest.approx([1 / 3] * 3)
    assert select(np.full((400, 2), [0.0, -1000.0])).risk < 1e-100


# People who are known


def _trials() -> Trials:
    """Outcomes around a mean that jumps, and answers still to be drawn."""
    rng = np.random.default_rng(4)
    steps = BLOCKS * LENGTH
    jumps = rng.random((PEOPLE, steps)) < 0.12
    means = np.take_along_axis(
        rng.uniform(-15, 15, (PEOPLE, steps)), np.maximum.accumulate(np.where(jumps, np.arange(steps), 0), axis=1), 1
    )
    table = pd.DataFrame({
        "who": np.repeat(list("abcdef"), steps),
        "block": np.tile(np.repeat(np.arange(BLOCKS), LENGTH), PEOPLE),
        "x": (means + 2.0 * rng.standard_normal(means.shape)).ravel(),
        "y": 0.0,
    })  # fmt: skip
    return read_trials(
        table, Columns("x", "who", "block", "y"), kind="continuous", response_kind="continuous", responds_before=False
    )


def _answered(model: Model, trials: Trials, seed: int) -> Trials:
    keys = jax.random.split(jax.random.key(seed), len(trials))
    with double():
        data = as_double(participant_data(model, trials))
        outputs = jax.vmap(lambda own, key: simulate(model, own, trials.responds_before, key))(data, keys)
    return replace(trials, responses=np.asarray(outputs.responses))


@pytest.fixture(scope="module")
def answers() -> dict[str, Trials]:
    return {name: _answered(MODELS[name][0], _trials(), seed) for seed, name in enumerate(("delta rule", "SMiLe"))}


@pytest.fixture(scope="module")
def fits(answers: dict[str, Trials]) -> dict[str, dict[str, Fit]]:
    return {
        truth: {name: fit(model, trials, free, starts=3) for name, (model, free) in MODELS.items()}
        for truth, trials in answers.items()
    }


@pytest.fixture(scope="module")
def found(fits: dict[str, dict[str, Fit]]) -> Selection:
    return compare_fits(fits["SMiLe"])


def test_people_are_told_to_use_what_they_use(fits: dict[str, dict[str, Fit]]) -> None:
    for truth, several in fits.items():
        table = compare_fits(several).table
        assert table["best"][truth] >= PEOPLE - 1
        assert table["share"].idxmax() == truth
        assert table["protected"][truth] > 0.9


def test_the_table_is_made_of_each_participants_numbers(fits: dict[str, dict[str, Fit]], found: Selection) -> None:
    several = fits["SMiLe"]
    delta, smile = several["delta rule"], several["SMiLe"]
    row, apart = found.table.loc["SMiLe"], smile.bic - delta.bic
    assert row["bic"] == pytest.approx(smile.bic.sum())
    assert row["mean_aic"] == pytest.approx(smile.aic.mean())
    assert row["difference"] == pytest.approx(apart.mean())
    assert row["difference_se"] == pytest.approx(stats.sem(apart))
    assert row["better"] == (apart < 0).sum()
    assert found.table.loc["delta rule", ["difference", "difference_se", "better"]].tolist() == [0, 0, 0]
    other = compare_fits(several, baseline="SMiLe").table
    assert other["difference"]["delta rule"] == pytest.approx(-apart.mean())
    people = found.people.set_index(["participant", "model"])
    assert people["difference"][("c", "SMiLe")] == pytest.approx(apart[2])
    assert people["probability"].groupby("participant").sum().tolist() == pytest.approx([1.0] * PEOPLE)
    expected = select(-0.5 * np.stack([each.bic for each in several.values()], 1))
    assert found.table["protected"].tolist() == pytest.approx(expected.protected.tolist())
    assert "protected" in repr(found)


def test_who_cannot_be_fitted_with_one_model_is_left_out_of_all(answers: dict[str, Trials]) -> None:
    trials = answers["SMiLe"]
    scored = trials.scored.copy()
    scored[1, 3:] = False
    few = replace(trials, scored=scored)
    simple, model = MODELS["delta rule"], MODELS["reduced Bayes"][0]
    found = compare_fits(
        {
            "delta rule": fit(simple[0], few, simple[1], starts=2),
            "free": fit(model, few, ("hazard", "surprise_sensitivity", "response.noise"), starts=2),
        }
    )
    assert found.excluded == {"b": "3 responses cannot tell 3 parameters (free)"}
    assert found.people["participant"].unique().tolist() == list("acdef")


def test_fits_to_other_responses_are_refused(fits: dict[str, dict[str, Fit]], answers: dict[str, Trials]) -> None:
    smile, delta = fits["SMiLe"]["SMiLe"], fits["SMiLe"]["delta rule"]
    with pytest.raises(ValueError, match="the responses of participant a are not the same for one and other"):
        compare_fits({"one": smile, "other": fits["delta rule"]["SMiLe"]})
    scored = smile.data.scored.copy()
    scored[3, 10] = False
    odd = replace(delta, data=delta.data._replace(scored=scored))
    with pytest.raises(ValueError, match="one explains 60 responses of participant d, but other 59 or others; fit all"):
        compare_fits({"one": smile, "other": odd})
    model, free = MODELS["delta rule"]
    fewer = fit(model, answers["SMiLe"].only("abc"), free, starts=1)
    with pytest.raises(ValueError, match="other was not fitted to participant d; fit all models to the same trials"):
        compare_fits({"one": smile, "other": fewer})


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda fits: compare_fits({"one": fits["SMiLe"]}), "give two models or more by name"),
        (lambda fits: compare_fits(list(fits.values())), "give two models or more by name"),
        (
            lambda fits: compare_fits(fits, baseline="Bayes"),
            "baseline = 'Bayes' is none of the models; give one of del",
        ),
        (lambda fits: compare_fits(fits, evidence="aic"), "evidence = 'aic' is not allowed; give one of bic, laplace"),
        (lambda fits: compare_fits(fits, evidence="laplace"), "log-evidence of delta rule for participant a is not kn"),
        (lambda _: select([1.0, 2.0]), r"log_evidence has shape \(2,\); give a row for each participant"),
        (lambda _: select([[1.0, np.nan]]), "log_evidence = nan is not allowed; give a finite number"),
        (lambda _: select([[1.0, 2.0]], prior=0.0), "prior = 0 is not allowed"),
        (lambda _: compare_elpd({"a": [1.0, 2.0], "b": [1.0]}), "a predicts 2 responses, and b 1 or others; give"),
        (lambda _: compare_elpd({"a": [[1.0, 2.0]], "b": [[1.0, np.nan]]}), "a predicts 2 responses, and b 1"),
        (lambda _: compare_elpd({"a": 1.0, "b": 2.0}), r"a has shape \(\); give a row for each participant"),
        (lambda _: compare_elpd({"a": [1.0, np.inf], "b": [2.0, 1.0]}), "a = inf is not allowed"),
    ],
)
def test_what_makes_no_sense_is_refused(fits: dict[str, dict[str, Fit]], make: Any, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        make(fits["SMiLe"])


PRIORS = {"learning_rate": (0.0, 1.0), "response.noise": (0.5, 0.5)}


@pytest.fixture(scope="module")
def expected(answers: dict[str, Trials]) -> Fit:
    """Two participants, fitted with priors."""
    model, free = MODELS["delta rule"]
    return fit(model, answers["delta rule"].only("ab"), free, priors=PRIORS, starts=3)


def _everywhere(trials: Trials, row: int) -> tuple[Any, Any, float]:
    """On a grid of parameters: log-priors, log-likelihoods of each response, and the size of a cell."""
    rates, noises = np.meshgrid(np.linspace(-2.5, 2.5, 201), np.linspace(-0.5, 1.8, 101), indexing="ij")
    prior = stats.norm(0, 1).logpdf(rates) + stats.norm(0.5, 0.5).logpdf(noises)
    each = [
        stats.norm.logpdf(step, stats.logistic.cdf(rates) * error, np.exp(noises))
        for error, step in zip(*_steps(trials, row), strict=True)
    ]
    return prior, np.stack(each), float((rates[1, 0] - rates[0, 0]) * (noises[0, 1] - noises[0, 0]))


def test_evidence_is_the_integral_over_all_parameters(expected: Fit) -> None:
    for row in range(2):
        prior, each, cell = _everywhere(expected.trials, row)
        exact = special.logsumexp(prior + each.sum(0)) + np.log(cell)
        assert expected.log_evidence[row] == pytest.approx(exact, abs=0.05)
    model, free = MODELS["delta rule"]
    wrong = fit(model, expected.trials, free, priors={**PRIORS, "learning_rate": (3.0, 0.1)}, starts=3)
    table = compare_fits({"one": expected, "other": wrong}, evidence="laplace").table
    assert table["log_evidence"]["one"] == pytest.approx(expected.log_evidence.sum())
    assert table["share"]["one"] > 0.6


def test_each_response_is_predicted_from_all_others(expected: Fit) -> None:
    found = psis_loo(expected, draws=2000, seed=6)
    assert found.subjects == ("a", "b")
    for row in range(2):
        prior, each, _ = _everywhere(expected.trials, row)
        posterior = prior + each.sum(0)
        exact = special.logsumexp(posterior) - special.logsumexp(posterior - each, axis=(1, 2))
        assert found.log_likelihood[row] == pytest.approx(exact, abs=0.03)
        assert found.total[row] == pytest.approx(exact.sum(), abs=0.1)
    assert found.pareto_k is not None
    assert (found.pareto_k < 0.7).all()
    np.testing.assert_array_equal(psis_loo(expected, draws=2000, seed=6).total, found.total)


def test_without_a_peak_there_is_nothing_to_draw_from(expected: Fit) -> None:
    flat = expected.hessian.copy()
    flat[0] = 0.0
    found = psis_loo(replace(expected, hessian=flat), draws=100)
    assert found.subjects == ("b",)
    assert found.excluded == {"a": "the posterior has no peak"}
    both = psis_loo(expected, draws=100)
    with pytest.raises(
        ValueError, match="one and other differ in participant a; give both the same participants, by o"
    ):
        compare_elpd({"one": both, "other": found})
    table = compare_elpd({"one": both.only("b"), "other": found, "own": np.zeros((1, BLOCKS * LENGTH))})
    assert table["best"].sum() == 1
    assert found.pareto_k is not None
    assert table["doubtful"]["other"] == (found.pareto_k > 0.7).mean()
    assert np.isnan(table["doubtful"]["own"])
    with pytest.raises(ValueError, match="there is no participant 'z'; give some of a, b"):
        both.only("z")
    with pytest.raises(ValueError, match="draws = 10 is not allowed"):
        psis_loo(expected, draws=10)


def _steps(trials: Trials, row: int) -> tuple[Any, Any]:
    """From each answer to the next outcome, and to the next answer; a block starts from 0."""
    assert trials.responses is not None
    last = np.where(trials.starts[row], 0.0, np.roll(trials.responses[row], 1))
    return trials.outcomes[row] - last, trials.responses[row] - last


# Responses that were not fitted to


@pytest.mark.parametrize("folds", [None, 4])
def test_left_out_responses_are_predicted_from_the_others(answers: dict[str, Trials], folds: int | None) -> None:
    model, free = MODELS["delta rule"]
    trials = answers["delta rule"].only("eb")
    found = held_out(model, trials, free, folds=folds, starts=2)
    count = folds or BLOCKS
    size, total = BLOCKS * LENGTH // count, 0.0
    error, step = _steps(trials, 1)
    for part in range(count):  # the best rate is that of a regression
        left = np.arange(BLOCKS * LENGTH) // size == part
        rate = (error @ (step * ~left)) / (error @ (error * ~left))
        noise = np.sqrt(np.mean((step - rate * error)[~left] ** 2))
        total += stats.norm.logpdf(step[left], rate * error[left], noise).sum()
    assert found.subjects == ("e", "b")
    assert found.total[1] == pytest.approx(total, abs=1e-4)
    assert np.isfinite(found.log_likelihood).all()


def test_models_are_told_apart_by_what_they_predict(answers: dict[str, Trials]) -> None:
    elpd = {
        name: held_out(MODELS[name][0], answers["delta rule"], MODELS[name][1], starts=2)
        for name in ("delta rule", "reduced Bayes")
    }
    table = compare_elpd(elpd, baseline="reduced Bayes")
    assert table["difference"]["delta rule"] < -2.5 * table["difference_se"]["delta rule"]  # less is better
    assert table["protected"]["delta rule"] > 0.9
    elpd["reduced Bayes"] = replace(elpd["reduced Bayes"], subjects=tuple("acdefg"))
    with pytest.raises(ValueError, match="delta rule and reduced Bayes differ in participant b; give both the same"):
        compare_elpd(elpd)


def _free_running(rate: float, trials: Trials, row: int) -> Any:
    """The estimates of a delta rule that starts each block at 0, and goes its own way."""
    return np.ravel([delta_rule(rate, outcomes) for outcomes in trials.outcomes[row].reshape(BLOCKS, LENGTH)])


def test_squared_errors_are_those_of_a_fit_by_squared_error(answers: dict[str, Trials]) -> None:
    """The most probable parameters, with the noise free, are those of the least squared error."""
    trials = answers["delta rule"].only("abc")
    assert trials.responses is not None
    model, free = Model(Delta(0.4), Estimate(2.0, anchored=False)), ("learning_rate", "response.noise")
    found = held_out(model, trials, free, starts=2)
    fixed = held_out(model, trials, ("learning_rate",), starts=2)  # whatever the noise
    block, errors = np.repeat(np.arange(BLOCKS), LENGTH), np.zeros((3, BLOCKS * LENGTH))
    for row, responses in enumerate(trials.responses):
        for left in (block == part for part in range(BLOCKS)):
            best = optimize.minimize_scalar(
                lambda rate: ((responses - _free_running(rate, trials, row))[~left] ** 2).sum(),  # noqa: B023
                bounds=(0, 1),
                method="bounded",
                options={"xatol": 1e-10},
            )
            errors[row, left] = ((responses - _free_running(best.x, trials, row)) ** 2)[left]
    assert found.squared_error == pytest.approx(errors, rel=1e-4, abs=1e-6)
    assert fixed.squared_error == pytest.approx(errors, rel=1e-4, abs=1e-6)
    other = errors + np.array([[1.0], [2.0], [-0.5]])
    table = compare_mse({"delta rule": found, "other": other})
    assert table["mse"].tolist() == pytest.approx([errors.mean(), errors.mean() + 2.5 / 3], rel=1e-4)
    assert table["difference"]["other"] == pytest.approx(2.5 / 3, rel=1e-4)
    assert table["difference_se"]["other"] == pytest.approx(stats.sem([1, 2, -0.5]), rel=1e-4)
    assert table["best"].to_dict() == {"delta rule": 2, "other": 1}
    assert table["better"].to_dict() == {"delta rule": 0, "other": 1}
    assert compare_mse({"one": found.only("c"), "other": other[2:]})["best"].tolist() == [0, 1]


def test_choices_have_no_squared_error() -> None:
    rng = np.random.default_rng(8)
    frame = pd.DataFrame({"x": rng.integers(0, 2, 60), "b": rng.integers(0, 2, 60), "run": np.repeat([1, 2, 3], 20)})
    columns = Columns("x", block="run", response="b")
    trials = read_trials(frame, columns, responds_before=True, response_kind="choice")
    found = held_out(Model(Delta(0.4), Softmax()), trials, ("learning_rate", "beta"), starts=1)
    assert found.squared_error is None
    with pytest.raises(ValueError, match="squared errors of one are not known; give what held_out finds for responses"):
        compare_mse({"one": found, "other": found})


def test_differences_in_prediction_have_errors_over_participants() -> None:
    one, other = np.random.default_rng(5).normal(size=(2, 8, 30))
    one[:, -3:] = other[:, -3:] = np.nan
    table = compare_elpd({"one": one, "other": other})
    apart = np.nansum(other - one, axis=1)
    assert table["difference"]["other"] == pytest.approx(-apart.sum())
    assert table["difference_se"]["other"] == pytest.approx(stats.sem(apart) * 8)


def test_who_has_one_block_is_left_no_block_to_fit(answers: dict[str, Trials]) -> None:
    model, free = MODELS["delta rule"]
    trials = answers["SMiLe"]
    starts = trials.starts.copy()
    starts[2, 1:] = False
    with pytest.raises(ValueError, match=r"responses of participant c are all in one block.*give folds=5"):
        held_out(model, replace(trials, starts=starts), free)
    with pytest.raises(ValueError, match="folds = 61, but participant a has 60 responses; give a smaller number"):
        held_out(model, trials, free, folds=61)
    with pytest.raises(ValueError, match="folds = 1 is not allowed"):
        held_out(model, trials, free, folds=1)


def test_who_has_too_few_responses_in_the_other_blocks_is_left_out(answers: dict[str, Trials]) -> None:
    model, free = MODELS["delta rule"]
    trials = answers["SMiLe"].only("abc")
    scored = trials.scored.copy()
    scored[0, LENGTH + 1 :] = False  # one response beyond the first block
    scored[1] = False
    found = held_out(model, replace(trials, scored=scored), free, starts=1)
    assert found.subjects == ("c",)
    assert found.excluded == {
        "a": "1 responses cannot tell 2 parameters if one block is left out",
        "b": "0 responses cannot tell 2 parameters",
    }


# What it looks like


def test_a_selection_is_drawn(found: Selection) -> None:
    figure = found.plot()
    figure.canvas.draw()
    left, right = figure.axes
    assert [axis.get_title(loc="left") for axis in (left, right)] == ["A", "B"]
    assert [label.get_text() for label in left.get_yticklabels()] == list(MODELS)
    assert "relative to delta rule" in left.get_xlabel()
    dots = [line.get_xdata() for line in left.lines if len(line.get_xdata()) == PEOPLE]
    apart = found.people[found.people["model"] == "SMiLe"]["difference"]
    assert any(np.array_equal(each, apart) for each in dots)
    assert [bar.get_width() for bar in right.patches] == pytest.approx(found.table["share"].tolist())
    plt.close(figure)


def test_squared_errors_of_angles_go_the_shorter_way_round() -> None:
    rng = np.random.default_rng(5)
    angles = 180 + 20 * rng.standard_normal(60)  # on both sides of where degrees begin anew
    said = angles + 5 * rng.standard_normal(60) - 360 * rng.integers(2, size=60)
    table = pd.DataFrame({"x": angles, "said": said, "run": np.repeat([1, 2, 3], 20)})
    trials = read_trials(table, Columns("x", block="run", response="said"), kind="circular", responds_before=False)
    model = Model(DeltaCircular(0.9, period=360.0), CircularEstimate(anchored=False))
    found = held_out(model, trials, ["learning_rate", "response.concentration"], starts=1)
    assert found.squared_error is not None
    assert np.nanmax(found.squared_error) < 90**2

"""Checks posteriors against grids and closed forms, their calibration by simulation, and what is told about them."""

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import arviz_stats
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
import xarray
from scipy import special, stats

from astonish import Delta
from astonish.core.numbers import Domain, pytree_dataclass
from astonish.core.parameters import parameter
from astonish.people.fit import Estimate, Model, Readout, Softmax
from astonish.people.posterior import Posterior, hierarchical, sampling
from astonish.people.tables import Columns, Trials, read_trials
from astonish.responses.base import Normal, Response, ResponseInput
from oracles import delta_rule

RESPONSES = 12
LEVELS = Model(Delta(0.3), Readout(offset=0.0, slope=0.0, noise=1.0))  # answers that do not depend on outcomes
AROUND: Any = {"priors": {"offset": (0.0, 2.0)}, "spreads": {"offset": 1.0}}  # what is expected of levels
FOLLOWS = Model(Delta(0.5), Estimate(noise=1.0, anchored=False))


@pytree_dataclass
class Unranged(Response):
    """Off by some number, of which nobody says where it usually lies."""

    shift: Any = parameter(0.0, Domain())
    takes: ClassVar[tuple[str, ...]] = ("continuous",)
    kind: ClassVar[str] = "estimate"

    def distribution(self, given: ResponseInput) -> Normal:
        return Normal(given.estimate + self.shift, jnp.ones(()))


def table(outcomes: Any, responses: Any, before: bool) -> Trials:
    people, trials = outcomes.shape
    frame = pd.DataFrame({
        "who": np.repeat([f"p{k}" for k in range(people)], trials), "x": outcomes.ravel(), "y": responses.ravel()
    })  # fmt: skip
    return read_trials(frame, Columns("x", subject="who", response="y"), responds_before=before)


def levels(people: int, seed: int = 0) -> Any:
    rng = np.random.default_rng(seed)
    return 1.5 + 0.7 * rng.standard_normal((people, 1)) + rng.standard_normal((people, RESPONSES))


def leveled(responses: Any) -> Trials:
    outcomes = np.random.default_rng(1).standard_normal(responses.shape)
    return table(outcomes, responses, before=False)


def followed(outcomes: Any, rate: Any, noise: Any, rng: np.random.Generator) -> Any:
    """The responses of delta rules, in plain NumPy."""
    before = np.concatenate([np.zeros((1, len(outcomes))), delta_rule(rate, outcomes.T)[:-1]])
    return (before + noise * rng.standard_normal(before.shape)).T


def sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


@pytest.fixture(scope="module")
def group() -> Posterior:
    return hierarchical(LEVELS, leveled(levels(10)), ["offset"], **AROUND, draws=500, chains=4)


def test_a_group_of_normal_means_is_what_a_grid_says(group: Posterior) -> None:
    averages = levels(10).mean(1)
    mean, std = np.meshgrid(np.linspace(-1, 4, 401), np.linspace(1e-4, 4, 800), indexing="ij")
    log = stats.norm(0, 2).logpdf(mean) + stats.halfnorm.logpdf(std)
    log += sum(stats.norm.logpdf(y, mean, np.sqrt(std**2 + 1 / RESPONSES)) for y in averages)
    weight = np.exp(log - log.max())
    weight /= weight.sum()
    rows = group.table().set_index(["kind", "participant"])
    for kind, grid in (("group mean", mean), ("group sd", std)):
        agrees(rows.loc[(kind, "")], (weight * grid).sum(), weight, grid)
    shrunk = (averages[3] * RESPONSES + mean / std**2) / (RESPONSES + 1 / std**2)
    within = (weight * (shrunk - (weight * shrunk).sum()) ** 2).sum() + (weight / (RESPONSES + 1 / std**2)).sum()
    agrees(rows.loc[("participant", "p3")], (weight * shrunk).sum(), std=np.sqrt(within))


def test_groups_and_covariates_are_what_a_grid_says() -> None:
    """Two groups of normal means, which also depend on age: coefficients by a grid of the standard deviation within."""
    rng = np.random.default_rng(3)
    people, age = 16, rng.normal(30, 5, 16)
    old = np.arange(people) % 2
    responses = levels(people) + 1.2 * old[:, None] + 0.1 * (age - 30)[:, None]
    trials = leveled(responses)
    trials = replace(trials, group=np.array(["young", "old"], object)[old], covariates={"age": age})
    found = hierarchical(LEVELS, trials, ["offset"], **AROUND, draws=500, chains=4)
    sign = np.where(old == 1, 1.0, -1.0) / np.sqrt(2)  # the label old comes first
    design = np.stack([np.ones(people), sign, (age - age.mean()) / age.std()], 1)
    averages, stds = responses.mean(1), np.linspace(1e-3, 4, 800)
    log, means, covariances = [], [], []
    for std in stds:  # given it, coefficients are normal
        covariance = np.linalg.inv(design.T @ design / (std**2 + 1 / RESPONSES) + np.diag([1 / 4, 1, 1]))
        means.append(covariance @ design.T @ averages / (std**2 + 1 / RESPONSES))
        covariances.append(covariance)
        spread = design @ np.diag([4, 1, 1]) @ design.T + (std**2 + 1 / RESPONSES) * np.eye(people)
        log.append(stats.multivariate_normal(np.zeros(people), spread).logpdf(averages) + stats.halfnorm.logpdf(std))
    weight = np.exp(np.array(log) - max(log))
    weight /= weight.sum()
    contrasts = found.contrasts().set_index("contrast")
    for name, along in {"old - young": [0, np.sqrt(2), 0], "per unit of age": [0, 0, 1 / age.std()]}.items():
        middle = weight @ (np.array(means) @ along)
        within = weight @ np.einsum("i,gij,j->g", along, np.array(covariances), along)
        std = np.sqrt(within + weight @ (np.array(means) @ along - middle) ** 2)
        assert abs(contrasts["mean"][name] - middle) < 4 * std / np.sqrt(1000)
        assert contrasts["sd"][name] == pytest.approx(std, rel=0.1)
        above = weight @ stats.norm.sf(0, np.array(means) @ along, np.sqrt([along @ c @ along for c in covariances]))
        assert contrasts["probability_of_direction"][name] == pytest.approx(max(above, 1 - above), abs=0.02)
    assert {who for kind, who, _ in found.draws if kind == "group mean"} == {"old", "young"}
    assert "old - young" in repr(found)
    same = replace(trials, covariates={"age": age, "months": 12 * age})
    with pytest.raises(ValueError, match="groups and covariates cannot be told apart"):
        hierarchical(LEVELS, same, ["offset"], **AROUND, draws=10)


def agrees(row: Any, mean: float, weight: Any = None, grid: Any = None, std: Any = None) -> None:
    """Mean and standard deviation agree to within the error of so many draws."""
    std = np.sqrt((weight * (grid - mean) ** 2).sum()) if std is None else std
    assert abs(row["mean"] - mean) < 4 * std / np.sqrt(row["ess_bulk"])
    assert abs(row["sd"] / std - 1) < 4 / np.sqrt(2 * min(row["ess_bulk"], row["ess_tail"])) + 0.03


def test_draws_are_trusted_and_the_same_for_the_same_seed(group: Posterior) -> None:
    again = hierarchical(LEVELS, leveled(levels(10)), ["offset"], **AROUND, draws=500, chains=4)
    assert np.array_equal(again.unconstrained, group.unconstrained)
    assert group.divergences == 0
    assert group.warnings == []
    assert (group.table()["r_hat"] < 1.01).all()
    assert "group mean" in repr(group)


@pytest.mark.parametrize(("draws", "is_known"), [(3, False), (4, True)])
def test_trust_is_unknown_with_fewer_than_four_draws(draws: int, is_known: bool, group: Posterior) -> None:
    drawn = {name: getattr(group, name)[:, :draws] for name in ("coefficients", "std", "unconstrained")}
    few = replace(group, **drawn)
    assert all(np.isfinite(numbers).all() == is_known for numbers in few.trust.values())


def test_the_log_likelihood_of_each_response_is_that_of_its_participant_at_that_draw(group: Posterior) -> None:
    responses = levels(10)
    expected = stats.norm.logpdf(responses, group.values[..., 0][..., None], 1.0)
    assert np.allclose(group.log_likelihood(), expected.reshape(4, 500, -1), rtol=1e-12)


def test_a_file_holds_all_that_leaving_one_out_needs(group: Posterior, tmp_path: Any) -> None:
    group.save(tmp_path / "deep" / "draws.nc")
    assert [file.name for file in (tmp_path / "deep").iterdir()] == ["draws.nc"]
    with xarray.open_datatree(tmp_path / "deep" / "draws.nc", engine="h5netcdf") as tree:
        assert np.array_equal(tree["posterior"]["offset"], group.values[..., 0])
        assert np.array_equal(tree["posterior"]["offset_sd"], group.std[..., 0])
        assert tree["sample_stats"]["diverging"].shape == (4, 500)
        assert tree["observed_data"]["participant_of"].values[RESPONSES] == "p1"
        left_out = arviz_stats.loo(tree, pointwise=True)
    assert left_out.n_data_points == 10 * RESPONSES
    assert (left_out.pareto_k < 0.7).all()
    everything = group.log_likelihood()
    assert left_out.elpd < stats.norm.logpdf(levels(10), levels(10).mean(1, keepdims=True), 1).sum()
    assert 3 < left_out.p < 11
    assert np.isclose(left_out.elpd, -np.log(np.exp(-everything).mean((0, 1))).sum(), rtol=0.01)
    assert group.to_arviz(every=10)["posterior"]["offset"].shape == (4, 50, 10)


@pytest.mark.parametrize(
    ("module", "ask", "needs"),
    [
        ("arviz_stats.base.array", lambda group, _: group.table(), "posteriors need"),
        ("arviz_base", lambda group, _: group.to_arviz(), "posteriors need"),
        ("h5netcdf", lambda group, path: group.save(path), "netCDF files need"),
    ],
)
def test_what_is_not_installed_is_said(
    module: str, ask: Any, needs: str, group: Posterior, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    sentence = rf"{needs} {module.partition('.')[0]}, which is not installed; pip install 'astonish\[posteriors\]'"
    with pytest.raises(ModuleNotFoundError, match=sentence):
        ask(replace(group), tmp_path / "draws.nc")  # a copy, which has not computed anything yet
    assert list(tmp_path.iterdir()) == []


def test_a_shared_value_is_what_all_responses_say() -> None:
    responses = levels(10)
    found = hierarchical(LEVELS, leveled(responses), [], shared=["offset"], priors={"offset": (0.5, 0.4)}, draws=400)
    precision = responses.size + 0.4**-2
    row = found.table().iloc[0]
    assert (row["kind"], len(found.table())) == ("shared", 1)
    agrees(row, (responses.sum() + 0.5 * 0.4**-2) / precision, std=precision**-0.5)


def test_one_value_may_be_shared_and_another_be_each_participants_own() -> None:
    responses = levels(30)
    found = hierarchical(LEVELS, leveled(responses), ["offset"], shared=["response.noise"], draws=300)
    left = responses - responses.mean(1, keepdims=True)
    rows = found.table().set_index("kind")
    assert abs(rows.loc["shared", "mean"] / np.sqrt(np.square(left).sum() / (30 * (RESPONSES - 1))) - 1) < 0.03
    assert abs(rows.loc["shared", "sd"] - (2 * 30 * (RESPONSES - 1)) ** -0.5) < 0.01
    assert (rows.loc["participant", "parameter"] == "offset").all()
    assert (rows["r_hat"] < 1.02).all()


def test_a_participant_alone_is_what_a_grid_says() -> None:
    rng = np.random.default_rng(2)
    outcomes = np.repeat(rng.normal(0, 3, (1, 5)), 5, 1) + rng.standard_normal((1, 25))
    responses = followed(outcomes, 0.4, 0.8, rng)
    known = {"learning_rate": (0.0, 1.5), "response.noise": (0.5, 1.0)}
    found = hierarchical(FOLLOWS, table(outcomes, responses, True), list(known), known=known, draws=800)
    places, logs = np.meshgrid(np.linspace(-3, 3, 300), np.linspace(-1.5, 1.5, 300), indexing="ij")
    estimate, log = np.zeros_like(places), stats.norm(0, 1.5).logpdf(places) + stats.norm(0.5, 1.0).logpdf(logs)
    for x, y in zip(outcomes[0], responses[0], strict=True):
        log += stats.norm.logpdf(y, estimate, np.exp(logs))
        estimate += sigmoid(places) * (x - estimate)
    weight = np.exp(log - log.max())
    weight /= weight.sum()
    rows = found.table().set_index("parameter")
    for name, grid in (("learning_rate", sigmoid(places)), ("noise", np.exp(logs))):
        agrees(rows.loc[name], (weight * grid).sum(), weight, grid)


def test_ranks_of_the_truth_among_draws_are_uniform() -> None:
    """Simulation-based calibration (Talts et al. 2018): with the group known, participants are replications."""
    rng, people = np.random.default_rng(3), 200
    truth = rng.standard_normal((people, 2)) * [1.0, 0.5]
    outcomes = np.repeat(rng.normal(0, 2, (people, 4)), 5, 1) + rng.standard_normal((people, 20))
    responses = followed(outcomes, sigmoid(truth[:, 0]), np.exp(truth[:, 1]), rng)
    known = {"learning_rate": (0.0, 1.0), "response.noise": (0.0, 0.5)}
    found = hierarchical(FOLLOWS, table(outcomes, responses, True), list(known), known=known, draws=500, chains=2)
    thinned = found.unconstrained[:, ::10].reshape(-1, people, 2)[:99]
    for k in range(2):
        ranks = (thinned[:, :, k] < truth[:, k]).sum(0)
        assert stats.chisquare(np.bincount(ranks // 10, minlength=10)).pvalue > 0.01
    narrow = truth.mean(0) + 0.7 * (found.unconstrained - truth.mean(0))  # what the test would notice
    ranks = (narrow[:, ::10, :, 0].reshape(-1, people)[:99] < truth[:, 0]).sum(0)
    assert stats.chisquare(np.bincount(ranks // 10, minlength=10)).pvalue < 0.01


def test_predictions_fit_who_behaves_so_and_not_who_does_not() -> None:
    rng = np.random.default_rng(4)
    outcomes = np.repeat(rng.normal(0, 10, (4, 6)), 5, 1) + rng.standard_normal((4, 30))
    responses = followed(outcomes, np.full(4, 0.5), np.full(4, 1.0), rng)
    known = {"learning_rate": (0.0, 1.0), "response.noise": (0.0, 1.0)}
    found = hierarchical(FOLLOWS, table(outcomes, responses, True), list(known), known=known, draws=200, chains=2)
    checks = found.predictive(seed=1).set_index(["statistic", "participant"])
    assert checks["p"].between(0.01, 0.99).all()
    step, error = np.diff(responses[2]), (outcomes - responses)[2, :-1]
    observed = checks["observed"].xs("p2", level="participant")
    assert np.isclose(observed["mean absolute update"], np.abs(step).mean())
    assert np.isclose(observed["learning rate"], (step @ error) / (error @ error))
    assert np.isclose(observed["mean absolute error"], np.abs(error).mean())
    slow = Model(Delta(0.02), FOLLOWS.response)
    fixed = hierarchical(slow, found.trials, ["response.noise"], known={"noise": (0.0, 1.0)}, draws=100)
    assert fixed.predictive().set_index(["statistic", "participant"]).loc[("mean absolute update", ""), "p"] > 0.99


def test_choices_are_told_by_how_many_are_right_and_how_many_the_same() -> None:
    rng = np.random.default_rng(5)
    outcomes = (rng.random((6, 40)) < 0.8).astype(float)
    responses = (rng.random((6, 40)) < 0.7).astype(float)
    model = Model(Delta(0.2, 0.5), Softmax(beta=3.0))
    found = hierarchical(model, table(outcomes, responses, True), ["beta"], draws=100, chains=2)
    observed = found.predictive(draws=50).set_index(["statistic", "participant"])["observed"]
    again = responses[0, 1:] == responses[0, :-1]
    wrong = responses[0, :-1] != outcomes[0, :-1]
    assert np.isclose(observed["share right", "p0"], (responses[0] == outcomes[0]).mean())
    assert np.isclose(observed["share repeated", "p0"], again.mean())
    assert np.isclose(observed["share repeated after an error", "p0"], again[wrong].mean())


def test_what_is_expected_of_a_group_follows_from_where_values_usually_lie() -> None:
    """Half of the usual range for its mean, a quarter for its spread; 2 and 1 where no range is known."""
    rng = np.random.default_rng(6)
    outcomes = np.repeat(rng.normal(0, 3, (4, 4)), 5, 1) + rng.standard_normal((4, 20))
    trials = table(outcomes, followed(outcomes, np.full(4, 0.4), np.full(4, 0.8), rng), True)
    short: Any = {"draws": 20, "chains": 2}
    width = special.logit(0.95) - special.logit(0.05)
    given: Any = {"priors": {"learning_rate": (0.0, width / 2)}, "spreads": {"learning_rate": width / 4}}
    unknown: Any = {"priors": {"shift": (0.0, 2.0)}, "spreads": {"shift": 1.0}}
    for model, free, usual in (
        (FOLLOWS, ["learning_rate"], given),
        (Model(Delta(0.5), Unranged()), ["shift"], unknown),
    ):
        found = hierarchical(model, trials, free, **short)
        assert np.allclose(found.unconstrained, hierarchical(model, trials, free, **usual, **short).unconstrained)
        assert any("independent draws" in warning for warning in found.warnings)  # since there are few


def test_progress_is_told_and_impatience_stops_all_chains() -> None:
    heard: list[float] = []
    hierarchical(LEVELS, leveled(levels(10)), ["offset"], draws=25, chains=3, progress=heard.append)
    assert heard[-1] == 1.0

    def impatient(share: float) -> None:
        heard.append(share)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        hierarchical(LEVELS, leveled(levels(10)), ["offset"], warmup=1_000_000, progress=impatient)


def test_draws_made_before_an_interruption_are_kept() -> None:
    people, heard = leveled(levels(10)), [0]

    def impatient(share: float) -> None:
        heard[0] += share > 0.5
        if heard[0] == 1:
            raise KeyboardInterrupt

    whole = hierarchical(LEVELS, people, ["offset"], draws=300, warmup=50, chains=2)
    found = hierarchical(LEVELS, people, ["offset"], draws=300, warmup=50, chains=2, progress=impatient)
    chains, draws = found.drawn.diverging.shape
    assert chains == 2
    assert 20 <= draws <= 300
    np.testing.assert_array_equal(found.unconstrained, whole.unconstrained[:, :draws])  # the same as without it
    np.testing.assert_array_equal(found.drawn.warmup_steps, whole.drawn.warmup_steps)
    stopped = f"the sampler was stopped: {draws} draws of 2 chains are kept, where 300 draws of 2 chains were wanted"
    assert (stopped in found.warnings) == (draws < 300)
    assert not any("stopped" in warning for warning in whole.warnings)
    assert len(found.table()) == 12


@pytest.mark.parametrize(
    ("lengths", "kept"),
    [
        ([150, 150, 150, 150], ([0, 1, 2, 3], 150)),
        ([80, 150, 150, 80], ([1, 2], 150)),  # two whole ones rather than four short ones
        ([120, 150, 150, 120], ([0, 1, 2, 3], 120)),
        ([70, 70, 0, 0], ([0, 1], 70)),  # of two that had not begun yet
        ([60, 60, 60, 60], None),
        ([150, 50, 0, 0], None),
        ([0, 0, 0, 0], None),
    ],
)
def test_as_many_draws_are_kept_as_can_be(lengths: list[int], kept: Any) -> None:
    if kept is None:
        with pytest.raises(KeyboardInterrupt):
            sampling._most(lengths, 50, 150)
    else:
        assert sampling._most(lengths, 50, 150) == kept


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"people": 1}, "one participant is no group"),
        ({"draws": 0}, "draws = 0 is not allowed; give a whole number of at least 1"),
        ({"accept": 1.0}, "accept = 1 is not allowed; give a finite number between 0 and 1, ends excluded"),
        ({"priors": {"offset": (0.0, -1.0)}}, "above 0"),
        ({"priors": {"offset": 3.0}}, "a mean and a standard deviation"),
        ({"spreads": {"offset": 0.0}}, "a number above 0"),
        ({"known": {"slope": (0.0, 1.0)}}, "not free; free are response.offset"),
        ({"shared": ["offset"], "known": {"offset": (0.0, 1.0)}}, "both shared and known"),
        ({"shared": ["nonsense"]}, "there is no parameter 'nonsense'"),
    ],
)
def test_what_makes_no_sense_is_refused(options: Any, words: str) -> None:
    trials = leveled(levels(options.pop("people", 3)))
    with pytest.raises(ValueError, match=words):
        hierarchical(LEVELS, trials, ["offset"], **options)

"""Is HGF the hierarchical Gaussian filter? The oracles are the equations in plain Python, and published numbers."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from astonish import (
    HGF,
    Bank,
    ClassicHGF,
    ContinuousHGF,
    Delta,
    Detector,
    Gaussian,
    Kalman,
    PerContext,
    Smile,
    TwoLevelHGF,
    measure,
    run,
    run_many,
)
from astonish.cli.app import app
from astonish.people.fit import Estimate, Model, fit
from astonish.people.tables import Columns, read_trials
from astonish.people.tables.regressors import describe, regressors
from families import agree
from published_data import published_data

DATA, needs_data = published_data("hgf", "trajectory")
RNG = np.random.default_rng(5)
COINS = [int(x) for x in RNG.random(150) < np.repeat([0.8, 0.2, 0.9], 50)]
WALK = (RNG.normal(size=120) * np.repeat([0.1, 1.0, 0.1], 40)).cumsum() + RNG.normal(size=120)


@pytest.fixture(scope="module")
def published() -> dict[str, Any]:
    """A trajectory of the classic filter, published with another package, and its inputs."""
    table = pd.read_csv(DATA / "canonical_binary_3level.csv", dtype=str)
    return table.to_dict("list") | {"u": table["mu1"].astype(int).tolist()}


def predicted(mu2: float, update: str) -> float:
    """The probability of a 1, kept from .001 to .999 unless the update is the classic one."""
    probability = 1 / (1 + math.exp(-mu2))
    return probability if update == "classic" else min(max(probability, 0.001), 0.999)


def equations(
    us: Any, omega2: float, omega3: float = 0.0, kappa: float = 1.0, update: str = "enhanced"
) -> dict[str, list[float]]:
    """The filter in precisions, as it is written; "two levels" for the one without volatility."""
    mu2, pi2, mu3, pi3 = 0.0, 1.0, 1.0, 1.0
    found: dict[str, list[float]] = {}
    for u in us:
        m1 = predicted(mu2, update)
        d1 = u - m1
        v = math.exp(omega2 if update == "two levels" else kappa * mu3 + omega2)
        p2 = 1 / (1 / pi2 + v)
        new_pi2 = p2 + m1 * (1 - m1)
        new_mu2 = mu2 + d1 / new_pi2
        d2 = (1 / new_pi2 + (new_mu2 - mu2) ** 2) * p2 - 1
        w = v * p2
        p3 = 1 / (1 / pi3 + math.exp(omega3))
        if update == "classic":
            pi3 = p3 + kappa**2 * w * (w + (2 * w - 1) * d2) / 2
            mu3 += kappa * w * d2 / (2 * pi3)
        elif update == "enhanced":
            mu3 += kappa * w * d2 / (2 * p3)
            again = math.exp(kappa * mu3 + omega2)
            p2_again = 1 / (1 / pi2 + again)
            w_again, r = again * p2_again, (again - 1 / pi2) * p2_again
            d = (1 / new_pi2 + (new_mu2 - mu2) ** 2) * p2_again - 1
            pi3 = p3 + max(0, kappa**2 * w_again * (w_again + r * d) / 2)
        mu2, pi2 = new_mu2, new_pi2
        row = {
            "m1": m1, "delta1": d1, "mu2": mu2, "pi2": pi2, "pihat2": p2, "psi2": 1 / pi2, "epsilon2": d1 / pi2,
            "volatility": v, "shannon": -math.log(m1 if u else 1 - m1), "rate": (predicted(mu2, update) - m1) / d1,
            "mu3": mu3, "pi3": pi3, "delta2": d2, "psi3": p2 / pi3, "epsilon3": p2 / pi3 * d2,
        }  # fmt: skip
        for name, value in row.items():
            found.setdefault(name, []).append(value)
    return found


FILTERS = [
    (HGF(-2.5, -6.0), ("enhanced", -2.5, -6.0, 1.0)),
    (HGF(-3.0, -1.0, kappa=1.6), ("enhanced", -3.0, -1.0, 1.6)),
    (HGF(0.5, -4.0, kappa=0.3), ("enhanced", 0.5, -4.0, 0.3)),
    (ClassicHGF(-2.5, -6.0), ("classic", -2.5, -6.0, 1.0)),
    (ClassicHGF(-3.5, -3.0, kappa=0.7), ("classic", -3.5, -3.0, 0.7)),
    (TwoLevelHGF(-4.0), ("two levels", -4.0, 0.0, 1.0)),
    (TwoLevelHGF(0.5), ("two levels", 0.5, 0.0, 1.0)),
]


@pytest.mark.parametrize(("learner", "how"), FILTERS, ids=lambda value: repr(value)[:30])
def test_every_quantity_is_that_of_the_equations(learner: Any, how: Any) -> None:
    update, omega2, omega3, kappa = how
    expected = equations(COINS, omega2, omega3, kappa, update)
    table = measure(learner, COINS)
    own = [name for name in expected if name in table]
    assert set(own) == set(learner.meanings) - {"violations"}
    assert (len(own) == 9) == (update == "two levels")
    for name in own:
        np.testing.assert_allclose(table[name], expected[name], rtol=1e-9, atol=1e-13, err_msg=name)
    for engine in ("xla", "native"):
        history = run(learner, COINS, engine=engine)
        agree(history, surprise=expected["shannon"], learning_rate=expected["rate"])
        np.testing.assert_allclose(history.estimate[:-1], expected["m1"][1:], rtol=1e-9)
        assert float(history.state.sigma2) == pytest.approx(1 / expected["pi2"][-1], rel=1e-9)
        assert history.problem == ""


@needs_data
def test_the_classic_filter_is_the_published_trajectory(published: dict[str, Any]) -> None:
    table = measure(ClassicHGF(-2.5, -6.0), published["u"])
    shifted = table.assign(sa2=1 / table["pi2"], sa3=1 / table["pi3"], sahat2=1 / table["pihat2"])
    shifted["muhat2"] = [0.0, *table["mu2"][:-1]]
    shifted["w2"] = table["volatility"] * table["pihat2"]
    named = {"mu2": "mu2", "mu3": "mu3", "sa2": "sa2", "sa3": "sa3", "muhat1": "m1", "muhat2": "muhat2",
             "sahat2": "sahat2", "da1": "delta1", "da2": "delta2", "w2": "w2"}  # fmt: skip
    for theirs, ours in named.items():
        numbers = np.array(published[theirs], float)
        places = np.array([10.0 ** -len(text.partition(".")[2]) for text in published[theirs]])
        np.testing.assert_array_less(np.abs(shifted[ours] - numbers), 0.5001 * places, err_msg=theirs)
    assert table["shannon"].sum() == pytest.approx(206.453689, abs=5e-7)


@needs_data
def test_the_enhanced_and_the_two_level_filter_give_the_published_numbers(published: dict[str, Any]) -> None:
    history = run(HGF(-2.5, -6.0), published["u"])
    assert history.surprise.sum() == pytest.approx(206.347322, abs=5e-7)
    assert float(history.state.mu2) == pytest.approx(-2.21980833, abs=5e-9)
    assert float(history.state.mu3) == pytest.approx(0.90579964, abs=5e-9)
    assert float(history.state.sigma3) == pytest.approx(0.37154109, abs=5e-9)
    assert run(TwoLevelHGF(-4.0), published["u"]).surprise.sum() == pytest.approx(207.240012, abs=5e-7)


# The classic update leaves its domain


@needs_data
def test_the_classic_update_says_when_it_left_its_domain(published: dict[str, Any]) -> None:
    us = published["u"]
    pi3 = equations(us[:234], -1.0, -5.0, update="classic")["pi3"]
    assert min(pi3[:233]) > 0 > pi3[233]
    learner = ClassicHGF(-1.0, -5.0)
    table, history = measure(learner, us), run(learner, us)
    assert table["violations"].eq(0).sum() == 233
    assert np.isfinite(table.to_numpy()).all()
    times = int(history.state.violations)
    assert history.problem == (
        f"the update of ClassicHGF left its domain at {times} samples; do not rely on what follows the first"
    )
    assert run(learner, us[:233]).problem == run(HGF(-1.0, -5.0), us).problem == ""
    np.testing.assert_allclose(run(learner, us, engine="native").surprise, history.surprise, rtol=1e-7)


@needs_data
def test_the_command_says_it_too(published: dict[str, Any], tmp_path: Path) -> None:
    pd.DataFrame({"u": published["u"]}).to_csv(tmp_path / "t.csv", index=False)
    words = ["surprise", tmp_path / "t.csv", "--outcome", "u", "--set", "omega2=-1", "--set", "omega3=-5"]
    words += ["--measure", "violations", "--measure", "epsilon3", "--out", tmp_path / "o.csv"]
    said = CliRunner().invoke(app, [*map(str, words), "--learner", "hgf-classic"])
    assert said.exit_code == 0, said.output
    times = pd.read_csv(tmp_path / "o.csv")["violations"].iloc[-1]
    assert f"the update of ClassicHGF left its domain at {times:g} samples" in said.stderr
    words[words.index("violations")] = "psi3"
    said = CliRunner().invoke(app, [*map(str, words), "--learner", "hgf"])
    assert said.exit_code == 0, said.output
    assert "left its domain" not in said.stderr


def test_where_it_left_its_domain_level_3_stays() -> None:
    learner = ClassicHGF(2.0, 2.0)
    table = measure(learner, [1, 0] * 40 + [1] * 40 + [0] * 5)
    left = np.flatnonzero(np.diff(table["violations"], prepend=0.0))
    assert len(left) > 0
    before = table[["mu3", "pi3"]].shift().to_numpy()[left]
    np.testing.assert_array_equal(table[["mu3", "pi3"]].to_numpy()[left], before)


def test_a_table_of_trials_is_made_with_a_warning() -> None:
    blocks = [*[1, 0] * 40, *[1] * 40, *[0] * 5]
    trials = read_trials(
        pd.DataFrame({"x": blocks * 2, "run": np.repeat([1, 2], len(blocks))}), Columns("x", block="run")
    )
    times = 2 * int(run(ClassicHGF(2.0, 2.0), blocks).state.violations)
    with pytest.warns(UserWarning, match=f"the update of ClassicHGF left its domain at {times} samples"):
        table = regressors(ClassicHGF(2.0, 2.0), trials)
    assert "violations" not in table
    assert np.isfinite(table.to_numpy(float)).all()


# Continuous outcomes


def continuous(us: Any, noise: float, omega1: float, omega2: float, kappa: float) -> dict[str, list[float]]:
    """The two-level filter of numbers in precisions, as it is written."""
    a, mu1, pi1, mu2, pi2 = noise**2, 0.5, 0.25, 0.3, 2.0
    found: dict[str, list[float]] = {}
    for u in us:
        v = math.exp(kappa * mu2 + omega1)
        p1 = 1 / (1 / pi1 + v)
        new_pi1 = p1 + 1 / a
        new_mu1 = mu1 + (u - mu1) / (a * new_pi1)
        d1 = (1 / new_pi1 + (new_mu1 - mu1) ** 2) * p1 - 1
        w, p2 = v * p1, 1 / (1 / pi2 + math.exp(omega2))
        mu2 += kappa * w * d1 / (2 * p2)
        v_again = math.exp(kappa * mu2 + omega1)
        p1_again = 1 / (1 / pi1 + v_again)
        w_again, r = v_again * p1_again, (v_again - 1 / pi1) * p1_again
        d = (1 / new_pi1 + (new_mu1 - mu1) ** 2) * p1_again - 1
        pi2 = p2 + max(0, kappa**2 * w_again * (w_again + r * d) / 2)
        spread = 1 / p1 + a
        row = {
            "shannon": 0.5 * (math.log(2 * math.pi * spread) + (u - mu1) ** 2 / spread), "psi1": 1 / (a * new_pi1),
            "epsilon1": new_mu1 - mu1, "mu1": new_mu1, "pi1": new_pi1, "pihat1": p1, "mu2": mu2, "pi2": pi2,
            "delta1": d1, "psi2": p1 / pi2, "epsilon2": p1 / pi2 * d1, "volatility": v,
        }  # fmt: skip
        mu1, pi1 = new_mu1, new_pi1
        for name, value in row.items():
            found.setdefault(name, []).append(value)
    return found


@pytest.mark.parametrize("how", [(1.0, -3.0, -3.0, 1.0), (0.3, 0.0, -1.0, 0.6), (2.0, -6.0, 0.0, 1.4)])
def test_the_filter_of_numbers_is_that_of_the_equations(how: Any) -> None:
    expected = continuous(WALK, *how)
    learner = ContinuousHGF(*how, mean=0.5, std=2.0, mu2=0.3, pi2=2.0)
    table = measure(learner, WALK)
    assert set(table) == set(learner.meanings) == set(expected)
    for name, values in expected.items():
        np.testing.assert_allclose(table[name], values, rtol=1e-9, atol=1e-12, err_msg=name)
    history = run(learner, WALK, engine="native")
    agree(history, estimate=expected["mu1"], learning_rate=expected["psi1"], surprise=expected["shannon"])


def test_without_coupling_it_is_the_kalman_filter() -> None:
    exact = run(Kalman(1.3, drift=math.exp(-1.0), mean=0.5, std=2.0), WALK)
    still = run(ContinuousHGF(1.3, omega1=-2.0, kappa=0.0, mean=0.5, std=2.0), WALK)
    agree(still, exact)


# What else a learner answers


@pytest.mark.parametrize("learner", [HGF(), TwoLevelHGF(), ClassicHGF()], ids=lambda learner: learner.name)
def test_it_goes_on_from_an_answer(learner: Any) -> None:
    state = run(learner, COINS).state
    for answer in (0.002, 0.31, 0.97):
        assert float(learner.estimate(learner.with_estimate(state, answer))) == pytest.approx(answer, rel=1e-5)
    for answer in (0.0, 1.0):
        assert float(learner.estimate(learner.with_estimate(state, answer))) == pytest.approx(answer, abs=1.001e-3)
    odds = RNG.normal(float(state.mu2), 0.01, 100_000)
    spread = np.std(1 / (1 + np.exp(-odds)))
    assert float(learner.uncertainty(state._replace(sigma2=np.float64(1e-4)))) == pytest.approx(spread, rel=0.02)
    assert 0 < learner.simulate(np.random.default_rng(1), 2000).mean() < 1


def test_banks_and_detectors_run_it() -> None:
    for learner, xs in ((HGF(), COINS), (ContinuousHGF(), WALK)):
        bank = Bank(learner, capacity=2)
        found = [bank.update(["a"], np.array([x])).surprise[0] for x in xs[:20]]
        np.testing.assert_allclose(found, run(learner, xs[:20], engine="xla").surprise, rtol=1e-9)
    for each, xs in zip(run_many(HGF(), [COINS, COINS[:70]]), (COINS, COINS[:70]), strict=True):
        np.testing.assert_allclose(each.surprise, run(HGF(), xs).surprise, rtol=1e-9)
    assert Detector(ContinuousHGF(), threshold=50.0).update(0.1) is not None


# Quantities by name


def test_quantities_are_columns_by_name() -> None:
    trials = read_trials(pd.DataFrame({"x": [1, 0, None, 1, 1, 1]}), Columns("x"))
    table = regressors(HGF(), trials, ["epsilon3", "shannon", "surprise"])
    seen = measure(HGF(), [1, 0, None, 1, 1, 1])
    np.testing.assert_allclose(table["epsilon3"], seen["epsilon3"], rtol=1e-12)
    np.testing.assert_allclose(table["shannon"], table["surprise"], rtol=1e-12)
    assert np.isnan(table["epsilon3"][2])
    assert "mu3" not in table
    every = regressors(HGF(), trials, "all")
    assert [name for name in every if name in HGF.meanings] == [*["shannon"], *sorted(set(HGF.meanings) - {"shannon"})]
    assert describe("psi3", HGF()) == HGF.meanings["psi3"]


def test_each_context_has_quantities_of_its_own() -> None:
    xs = [(0, 1), (1, 0), (0, 1), (1, 1), (0, 0)]
    alone = measure(HGF(), [1, 1, 0])
    np.testing.assert_allclose(measure(PerContext(HGF(), 2), xs)["mu3"][[0, 2, 4]], alone["mu3"], rtol=1e-12)


def test_unknown_quantities_are_refused_with_those_that_there_are() -> None:
    trials = read_trials(pd.DataFrame({"x": [1, 0, 1]}), Columns("x"))
    with pytest.raises(ValueError, match=r"no measure 'epsilon'; did you mean 'epsilon.'\? Known are all.*, mu2, mu3"):
        regressors(HGF(), trials, ["epsilon"])
    with pytest.raises(ValueError, match=r"HGF.*does not hold a single belief"):
        regressors(HGF(), trials, ["bayesian"])
    with pytest.raises(ValueError, match="there is no measure 'mu3'"):
        regressors(Delta(), trials, ["mu3"])
    assert "mu3" not in measure(Smile(Gaussian()), [1.0, 2.0])


def test_a_fit_says_for_whom_the_classic_update_left_its_domain() -> None:
    rng = np.random.default_rng(6)
    calm, wild = np.tile([0, 1], 50), np.repeat(rng.integers(2, size=10), 10)
    table = pd.DataFrame({"who": ["calm"] * 100 + ["wild"] * 100, "x": [*calm, *wild], "said": rng.random(200)})
    trials = read_trials(table, Columns("x", subject="who", response="said"), responds_before=False)
    model = Model(ClassicHGF(2.0, 2.0), Estimate(noise=0.3, anchored=False))
    found = fit(model, trials, ["response.noise"], starts=1)
    counts = [int(run(model.learner, xs).state.violations) for xs in (calm, wild)]
    assert counts[1] > 0
    for note, count in zip(found.notes, counts, strict=True):
        assert (f"the update of ClassicHGF left its domain at {count} sample" in note) == (count > 0)
    assert not any(fit(Model(HGF(2.0, 2.0), model.response), trials, ["response.noise"], starts=1).notes)

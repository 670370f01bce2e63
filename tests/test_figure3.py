"""Checks that Figure 3 shows what it says, and that its claims are decided by its numbers.

The oracles are the learners' recursions in plain NumPy, and the table of numbers to expect in the formula sheet.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from pandas import DataFrame
from scipy import optimize

from astonish.paper.figure import FAILS, HOLDS, IN_PART, RunSettings, Tables
from astonish.paper.figure3 import (
    BEST,
    ERRORS,
    EXACT,
    FIGURE_3,
    HALF,
    HAZARDS,
    LEARNERS,
    NASSAR,
    RATES,
    SMILE,
    WIDE,
    episodes,
)  # fmt: skip
from astonish.worlds.gaussian_jumps import Episode
from oracles import NassarRate, normal_divergence, recursion, smile_rate

Vector = NDArray[np.float64]
SEED = 4


@pytest.fixture(scope="module")
def numbers() -> Tables:
    return FIGURE_3.compute(RunSettings(SEED))


@pytest.fixture(scope="module")
def tasks() -> dict[float, Episode]:
    return {hazard: episodes(RunSettings(SEED), hazard) for hazard in HAZARDS}


@pytest.mark.parametrize("hazard", HAZARDS)
def test_exact_inference_is_a_filter_over_all_means(
    numbers: Tables, tasks: dict[float, Episode], hazard: float
) -> None:
    """The probability of every mean on a line, by hand: it may be redrawn from the prior, and then makes the sample."""
    means, task = np.linspace(-60, 60, 601), tasks[hazard]
    prior = np.exp(-(means**2) / (2 * 40**2 / 12))
    prior /= prior.sum()
    probabilities, off = np.tile(prior, (10, 1)), []
    for x, truth in zip(task.samples[:10].T, task.truth[:10].T, strict=True):
        probabilities = ((1 - hazard) * probabilities + hazard * prior) * np.exp(-((x[:, None] - means) ** 2) / 32)
        probabilities /= probabilities.sum(axis=1, keepdims=True)
        off.append(probabilities @ means - truth)
    for name, each in (("squared", np.square(off)), ("absolute", np.abs(off))):
        np.testing.assert_allclose(per_episode(numbers, EXACT, hazard, name)[:10], each.mean(axis=0), rtol=1e-2)


def test_nobody_is_better_than_exact_inference(numbers: Tables) -> None:
    for hazard in HAZARDS:
        exact = per_episode(numbers, EXACT, hazard, "squared")
        assert all(exceeds(per_episode(numbers, each, hazard, "squared"), exact) for each in (SMILE, BEST, NASSAR))


def test_uncertainty_and_errors_from_other_priors_are_those_of_the_rule() -> None:
    """By SciPy's root of D[q || belief] = B, in the first episode and from each prior."""
    run = RunSettings(SEED, quick=True)
    tables, task = FIGURE_3.compute(run), episodes(run, 0.066)
    table = tables["uncertainty"]
    for prior, std in (("paper", 4.0), ("wide", 12.0), ("narrow", 4 / 3)):
        mean, now, stds, means = 0.0, std, [], []
        for x in task.samples[0].tolist():
            mean, now = smiled(mean, now, x)
            stds.append(now)
            means.append(mean)
        assert now == pytest.approx(4.0, rel=1e-6)  # by now it is that of one sample
        if prior == "wide":
            squared = np.square(means - task.truth[0]).mean()
            assert per_episode(tables, WIDE, 0.066, "squared")[0] == pytest.approx(squared, rel=1e-8)
        for jump in (False, True):
            changes = np.diff(stds)[task.changed[0, 1:] == jump]
            [row] = table[(table.prior == prior) & (table.episode == 0) & (table.jump == jump)].itertuples()
            expected = [changes.mean(), changes.max(), changes.min()]
            assert [row.change, row.rise, row.fall] == pytest.approx(expected, rel=1e-6, abs=1e-7)


def at(table: DataFrame, hazard: float) -> DataFrame:
    return table[table.hazard == hazard]


def per_episode(numbers: Tables, learner: str, hazard: float, column: str) -> Vector:
    table = at(numbers["errors"], hazard)
    return table[table.learner == learner].sort_values("episode")[column].to_numpy()


def exceeds(larger: Vector, smaller: Vector, errors: float = 3.0) -> bool:
    """Whether the mean of paired differences is more than so many standard errors above zero."""
    difference = larger - smaller
    return bool(difference.mean() > errors * difference.std(ddof=1) / len(difference) ** 0.5)


# The tables


def test_another_seed_gives_other_tables() -> None:
    quick, other = (FIGURE_3.compute(RunSettings(seed, quick=True)) for seed in (5, 6))
    assert list(quick) == ["series", "gamma", "fixed", "best", "errors", "uncertainty"]
    assert not any(quick[name].equals(other[name]) for name in quick)


def test_sizes_are_those_of_the_paper(numbers: Tables) -> None:
    errors = numbers["errors"].groupby(["hazard", "learner"]).episode.nunique()
    assert len(errors) == 4 * 6
    assert (errors == 50).all()
    assert episodes(RunSettings(), 0.1).samples.shape == (50, 1000)


@pytest.mark.parametrize("hazard", HAZARDS)
def test_errors_are_those_of_the_recursions(numbers: Tables, tasks: dict[float, Episode], hazard: float) -> None:
    rules: dict[str, Callable[[Vector], Any]] = {
        SMILE: smile_rate,
        HALF: lambda _: 0.5,
        NASSAR: NassarRate(hazard),
    }
    for learner, rule in rules.items():
        off, _ = recursion(tasks[hazard], rule)
        for column, each in (("squared", off**2), ("absolute", abs(off))):
            mean, std = (per_episode(numbers, learner, hazard, name) for name in (column, f"{column}_std"))
            np.testing.assert_allclose(mean, each.mean(axis=1), rtol=1e-9)
            # bars over trials are made from these two columns
            assert np.sqrt((std**2).mean() + mean.var()) == pytest.approx(each.std(), rel=1e-9)


@pytest.mark.parametrize("hazard", HAZARDS)
def test_fixed_rates_and_the_best_of_them(numbers: Tables, tasks: dict[float, Episode], hazard: float) -> None:
    off = np.stack([recursion(tasks[hazard], lambda _, rate=rate: rate)[0] for rate in RATES])
    table, best = (at(numbers[name], hazard) for name in ("fixed", "best"))
    np.testing.assert_array_equal(table.rate, RATES)
    for name, each in (("squared", off**2), ("absolute", abs(off))):
        errors = each.mean(axis=2)
        np.testing.assert_allclose(table[name], errors.mean(axis=1), rtol=1e-9)
        np.testing.assert_allclose(table[f"{name}_std"], errors.std(axis=1, ddof=1), rtol=1e-9)
        np.testing.assert_array_equal(best[name], RATES[errors.argmin(axis=0)])
        winner = errors[errors.mean(axis=1).argmin()]
        np.testing.assert_allclose(per_episode(numbers, BEST, hazard, name), winner, rtol=1e-9)


def smiled(mean: float, std: float, x: float) -> tuple[float, float]:
    """Algorithm 1 at m = .1 and noise 4, the root of D[q || belief] = B found by SciPy."""

    def blend(gamma: float) -> tuple[float, float]:
        precision = gamma / 16 + (1 - gamma) / std**2
        return (gamma * x / 16 + (1 - gamma) * mean / std**2) / precision, precision**-0.5

    surprise = normal_divergence(mean, std, x, 4.0)
    bound = 0.1 * surprise / (1 + 0.1 * surprise) * normal_divergence(x, 4.0, mean, std)
    gamma = optimize.brentq(lambda gamma: normal_divergence(*blend(gamma), mean, std) - bound, 0, 1, xtol=1e-14)
    return blend(gamma)


def test_gamma_at_jumps_and_otherwise(numbers: Tables, tasks: dict[float, Episode]) -> None:
    task = tasks[0.066]
    _, gamma = recursion(task, smile_rate)
    table = numbers["gamma"]
    for k in range(50):
        jump = task.changed[k].copy()
        jump[0] = False
        expected = [gamma[k, 1:][~jump[1:]].mean(), gamma[k, jump].mean()]
        np.testing.assert_allclose(table[table.episode == k].sort_values("jump").gamma, expected, rtol=1e-9)


# Tables to expect, from the formula sheet: MAE and RMSE of the best fixed rate (and that rate), SMiLe, Nassar 2010

EXPECTED = {
    0.01: {BEST: (1.47, 2.32, 0.20, 0.34), SMILE: (1.62, 2.12), NASSAR: (1.02, 1.68)},
    0.033: {BEST: (1.99, 2.87, 0.36, 0.52), SMILE: (1.71, 2.29), NASSAR: (1.35, 2.06)},
    0.066: {BEST: (2.31, 3.14, 0.48, 0.62), SMILE: (1.88, 2.53), NASSAR: (1.65, 2.39)},
    0.1: {BEST: (2.52, 3.32, 0.58, 0.68), SMILE: (2.05, 2.78), NASSAR: (1.88, 2.64)},
}


@pytest.mark.parametrize("learner", [BEST, SMILE, NASSAR])
@pytest.mark.parametrize("hazard", HAZARDS)
def test_errors_are_those_of_the_formula_sheet(numbers: Tables, hazard: float, learner: str) -> None:
    """To four standard errors of the difference of two runs of 50 episodes, and the rounding of the sheet."""
    absolute, squared = (per_episode(numbers, learner, hazard, name) for name in ("absolute", "squared"))
    mae, rmse = absolute.mean(), squared.mean() ** 0.5
    spread = (2 / 50) ** 0.5 * np.array([absolute.std(ddof=1), squared.std(ddof=1) / (2 * rmse)])
    assert (abs(np.array([mae, rmse]) - EXPECTED[hazard][learner][:2]) < 4 * spread + 0.005).all()


@pytest.mark.parametrize("hazard", HAZARDS)
def test_best_rates_are_those_of_the_formula_sheet(numbers: Tables, hazard: float) -> None:
    curve = at(numbers["fixed"], hazard)
    best = [curve.rate.iloc[curve[name].argmin()] for name in ("absolute", "squared")]
    np.testing.assert_allclose(best, EXPECTED[hazard][BEST][2:], atol=0.041)


# The claims: each that holds, by three standard errors


def test_claim_surprise_and_gamma_rise_at_jumps(numbers: Tables) -> None:
    table = numbers["gamma"]
    for name in ("gamma", "surprise"):
        jump, otherwise = (table[table.jump == at].sort_values("episode")[name].to_numpy() for at in (True, False))
        assert exceeds(jump, otherwise)


@pytest.mark.parametrize("error", ERRORS)
def test_claims_on_rates_and_errors(numbers: Tables, error: str) -> None:
    """What grows with the hazard, who is better than whom, and where SMiLe falls behind most."""
    rates = [at(numbers["best"], hazard)[error].to_numpy() for hazard in HAZARDS]
    assert all(exceeds(rates[k + 1], rates[k]) for k in range(3))
    errors = {name: [per_episode(numbers, name, hazard, error) for hazard in HAZARDS] for name in LEARNERS}
    for of_one in errors.values():
        assert all(exceeds(of_one[k + 1], of_one[k]) for k in range(3))
    for k, hazard in enumerate(HAZARDS):
        best, half, smile, nassar = (errors[name][k] for name in (BEST, HALF, SMILE, NASSAR))
        assert exceeds(half, smile)
        assert exceeds(smile, nassar)
        assert exceeds(smile, best) if (error, hazard) == ("absolute", 0.01) else exceeds(best, smile)  # the exception
    gaps = [smile - nassar for smile, nassar in zip(errors[SMILE], errors[NASSAR], strict=True)]
    assert all(exceeds(gaps[0], gap) for gap in gaps[1:])


def test_verdicts(numbers: Tables) -> None:
    claims = FIGURE_3.claims(numbers)
    assert [claim.verdict for claim in claims] == [HOLDS] * 4 + [IN_PART] + [HOLDS] * 2 + [IN_PART] * 3 + [FAILS] * 2
    assert "7 of 8 cases; not for absolute, H = 0.01 (reversed)" in claims[4].why
    assert all(all(claim[:6]) for claim in claims), "every claim says where, what, against what and why"


def test_bars_of_one_standard_deviation_are_compared(numbers: Tables, tasks: dict[float, Episode]) -> None:
    expected: dict[str, list[str]] = {"episodes": [], "trials": []}
    for error in ERRORS:
        overlapping: dict[str, list[str]] = {"episodes": [], "trials": []}
        for hazard, task in tasks.items():
            off = np.stack([recursion(task, rate)[0] for rate in (smile_rate, NassarRate(hazard))])
            each = off**2 if error == "squared" else abs(off)
            low, high = each[1].mean(), each[0].mean()
            stds = {"episodes": each.mean(axis=2).std(axis=1, ddof=1), "trials": each.std(axis=(1, 2))}
            for over, (smile, nassar) in stds.items():
                if high - smile < low + nassar:
                    overlapping[over].append(f"{hazard:g}")
        for over, where in overlapping.items():
            expected[over].append(f"{error} at H = {', '.join(where)}")
    measured = FIGURE_3.claims(numbers)[7].measured
    for over, parts in expected.items():
        assert f"over {over}: {', '.join(parts)}" in measured


def test_bars_over_trials_include_the_spread_between_episodes(numbers: Tables) -> None:
    """If all trials of an episode were alike, bars over trials would be those over episodes."""
    uniform = numbers["errors"].assign(squared_std=0.0, absolute_std=0.0)
    measured = FIGURE_3.claims(numbers | {"errors": uniform})[7].measured
    over_trials, over_episodes = measured.split("over trials: ")[1].split("; over episodes: ")
    assert over_episodes == over_trials != "squared nowhere, absolute nowhere"


# The claims are decided by the numbers: other numbers, other verdicts

Change = Callable[[DataFrame], DataFrame]
BACKWARDS = dict(zip(HAZARDS, reversed(HAZARDS), strict=True))


def backwards(table: DataFrame) -> DataFrame:
    return table.assign(hazard=table.hazard.map(BACKWARDS))


def worse(learner: str) -> Change:
    """The same with a learner whose errors are larger than anybody's."""
    return lambda table: table.assign(**{error: table[error] + 100.0 * (table.learner == learner) for error in ERRORS})


def alike(*hazards: float) -> Change:
    """The same with Nassar 2010 as good as SMiLe at these hazards: better and worse by turns."""

    def change(table: DataFrame) -> DataFrame:
        table = table.sort_values(["learner", "hazard", "episode"], ignore_index=True)
        here = table.hazard.isin(hazards)
        for error in ERRORS:
            smile = table.loc[here & (table.learner == SMILE), error].to_numpy()
            table.loc[here & (table.learner == NASSAR), error] = smile + 0.1 * (-1.0) ** np.arange(len(smile))
        return table

    return change


def sharp(*hazards: float) -> Change:
    """The same with errors that hardly vary at these hazards, so that bars are too short to overlap."""

    def change(table: DataFrame) -> DataFrame:
        here, table = table.hazard.isin(hazards), table.copy()
        for error in ERRORS:
            means = table.groupby(["learner", "hazard"])[error].transform("mean")
            table.loc[here, error] = (means + 0.01 * (table[error] - means))[here]
            table.loc[here, f"{error}_std"] *= 0.01
        return table

    return change


@pytest.mark.parametrize(
    ("claim", "name", "change", "verdict"),
    [
        (0, "series", lambda t: t.assign(gamma=t.gamma + 1e-6), IN_PART),
        (0, "series", lambda t: t.assign(estimate=t.estimate + 1e-6, gamma=t.gamma + 1e-6), FAILS),
        (1, "gamma", lambda t: t.assign(jump=~t.jump), FAILS),
        (1, "gamma", lambda t: t.assign(gamma=0.5), IN_PART),
        (1, "gamma", lambda t: t.drop(index=[1, 4]), HOLDS),  # episodes without any jump, or nothing else
        (2, "best", backwards, FAILS),
        (3, "errors", backwards, FAILS),
        (4, "errors", worse(BEST), HOLDS),
        (4, "errors", worse(SMILE), FAILS),
        (5, "errors", worse(SMILE), FAILS),
        (6, "errors", worse(NASSAR), FAILS),
        (6, "errors", alike(*HAZARDS[2:]), IN_PART),
        (7, "errors", sharp(HAZARDS[0]), HOLDS),
        (7, "errors", sharp(*HAZARDS[1:]), FAILS),
        (8, "errors", alike(*HAZARDS[1:]), HOLDS),
        (8, "errors", alike(HAZARDS[0]), FAILS),
        (9, "errors", alike(HAZARDS[3]), HOLDS),
        (9, "errors", backwards, FAILS),
        (10, "errors", worse(EXACT), HOLDS),
        (10, "errors", lambda t: worse(EXACT)(t).where(t.hazard == HAZARDS[0], t), IN_PART),
        (11, "uncertainty", lambda t: t.assign(change=t.change + t.jump), HOLDS),
    ],
)
def test_claims_follow_the_numbers(numbers: Tables, claim: int, name: str, change: Change, verdict: str) -> None:
    assert FIGURE_3.claims(numbers | {name: change(numbers[name])})[claim].verdict == verdict


# The drawing


def test_the_drawing_shows_the_tables(numbers: Tables) -> None:
    import matplotlib.pyplot as plt

    figure = FIGURE_3.draw(numbers)
    panels: dict[str, Any] = {str(panel.get_label()): panel for panel in figure.axes}
    series, fixed = numbers["series"], numbers["fixed"]
    gamma = panels["B"].lines[0]
    np.testing.assert_array_equal(gamma.get_xydata(), series[["step", "gamma"]])
    np.testing.assert_array_equal(panels["B"].lines[1].get_xdata(), series.step[series.changed].iloc[1:])
    for error in ERRORS:
        dots = [line.get_xdata()[0] for line in panels[f"C {error}"].lines if line.get_marker() == "o"]
        best = [curve.rate.iloc[curve[error].argmin()] for _, curve in fixed.groupby("hazard")]
        assert dots == best
        drawn = {c.get_label(): c.lines[0].get_ydata().astype(float) for c in panels[f"D {error}"].containers}
        means = numbers["errors"].groupby(["learner", "hazard"])[error].mean()
        for learner in (SMILE, WIDE, BEST, HALF, NASSAR, EXACT):
            np.testing.assert_allclose(drawn[learner], means[learner])
    assert all(panel.get_ylabel() for panel in panels.values())
    plt.close(figure)

"""Searches: where they start, whether anything better exists, what is said about them, and priors for few responses.

Oracles are functions whose optima are known, SciPy's searches, and sums written out; dense grids are in test_optima.py.
"""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from pandas import DataFrame
from scipy import optimize, stats
from scipy.stats import qmc

from astonish import Delta, Gaussian, Smile
from astonish.core.numbers import Domain
from astonish.core.parameters import Parameter
from astonish.people.fit import Estimate, Model, compare_fits, fit, recover_parameters
from astonish.people.fit.description import describe
from astonish.people.fit.estimate import prepare
from astonish.people.fit.likelihood import Losses
from astonish.people.fit.search import (
    Box,
    Profiles,
    _chosen,
    best_starts,
    bottoms,
    choose,
    evenly,
    fit_shared,
    look_around,
    minimise,
    search,
    second_derivatives,
)
from astonish.people.fit.space import LIMIT, Space, usual
from astonish.people.tables import Columns, Trials, read_trials
from test_optima import CASES, simulated

ESTIMATES = CASES["estimates"].model
FREE = ["learning_rate", "response.noise"]


# What kinds of bottoms are found?


def test_of_a_profile_its_bottoms_and_what_is_lower_than_the_lowest_are_chosen() -> None:
    """Two equal values at a bottom count both; a value lower by rounding alone, and not at a bottom, does not."""
    values = np.arange(7.0)
    loss = np.array([4.0, 2.0, 2.0, 3.0, 5e-6, 0.0, 7.0])
    slope, here = np.zeros(7), np.arange(7) == 5
    profiles = Profiles(values[None, None, :, None], loss[None, None], slope[None, None], here[None, None])
    assert np.flatnonzero(bottoms(profiles)).tolist() == [1, 2]
    rows, begin = _chosen(profiles, np.array([1e-5]))
    assert (rows.tolist(), begin.ravel().tolist()) == ([0, 0], [1.0, 2.0])
    assert _chosen(profiles, np.array([1e-4]))[1].ravel().tolist() == [4.0, 1.0, 2.0]


def _box(low: Any, high: Any, **changes: Any) -> Box:
    low, high = (np.atleast_2d(np.asarray(end, float)) for end in (low, high))
    size = low.shape[1]
    masks = {"bounded": np.ones(size, bool), "rates": np.zeros(size, bool), "held": np.zeros(size, bool)}
    return Box(np.arange(len(low)), low, high, **({"limit": np.full(size, LIMIT)} | masks | changes))


def _of(function: Any) -> Any:
    """An objective for many rows from a function of one, which gives a value and a gradient."""

    def objective(xs: Any, _: Any) -> Any:
        found = [function(x) for x in xs]
        return np.array([value for value, _ in found]), np.array([slope for _, slope in found]).reshape(xs.shape)

    return objective


ONE = np.zeros(1, int)


def _wells(x: Any) -> Any:
    """Two wells along the first parameter, at -2 and 3, of which the second is deeper; a bowl along the other."""
    a, b = x
    value = -2 * np.exp(-((a + 2) ** 2)) - 3 * np.exp(-((a - 3) ** 2)) + 0.01 * a * a + (b - a) ** 2
    slope = 4 * (a + 2) * np.exp(-((a + 2) ** 2)) + 6 * (a - 3) * np.exp(-((a - 3) ** 2)) + 0.02 * a - 2 * (b - a)
    return value, [slope, 2 * (b - a)]


def test_another_well_is_found_along_a_profile() -> None:
    x, loss, _, ended = look_around(_of(_wells), _box([-5, -5], [5, 5]), np.array([[-2.0, -2.0]]))
    np.testing.assert_allclose(x[0], 3.0, atol=0.05)
    assert loss[0] == pytest.approx(_wells(x[0])[0])
    assert ended[0]


def test_agreement_counts_the_starts_that_led_to_the_best() -> None:
    starts = np.array([[[-2.0, -2.0], [3.0, 3.0], [-2.2, -2.2], [2.9, 2.5]]])
    found = search(_of(_wells), _box([-5, -5], [5, 5]), starts)
    assert found.starts_at_optimum[0] == 2
    alone = search(_of(_wells), _box([-5, -5], [5, 5]), starts[:, :1])
    assert alone.starts_at_optimum[0] == 0  # the only start did not lead there
    np.testing.assert_allclose(alone.x, found.x, atol=1e-4)


def test_an_optimum_at_a_bound_beyond_the_box_is_found() -> None:
    """A shallow well inside, and a slope that falls far outside of it to the bound."""

    def cliff(x: Any) -> Any:
        far = 1 / (1 + np.exp(-(x[0] - 9)))
        well = np.exp(-(x[0] ** 2))
        return -well - 2 * far, [2 * x[0] * well - 2 * far * (1 - far)]

    x, _, _, ended = look_around(_of(cliff), _box([-2.0], [2.0]), np.array([[0.1]]))
    assert x[0, 0] == LIMIT
    assert ended[0]


def test_two_optima_that_are_as_good_are_both_known() -> None:
    def even(x: Any) -> Any:
        return (x[0] ** 2 - 1) ** 2, [4 * x[0] * (x[0] ** 2 - 1)]

    found = search(_of(even), _box([-3.0], [3.0]), np.array([[[0.8], [-1.2]]]))
    assert sorted([found.x[0, 0], found.second_optimum[0, 0]]) == pytest.approx([-1, 1], abs=0.05)
    assert found.starts_at_optimum[0] == 2


def test_a_flat_ridge_is_no_second_optimum() -> None:
    def trough(x: Any) -> Any:
        return (x[0] + x[1]) ** 2, [2 * (x[0] + x[1])] * 2

    found = search(_of(trough), _box([-3, -3], [3, 3]), np.array([[[2.0, 1.0], [-2.0, -1.5]]]))
    assert found.starts_at_optimum[0] == 2
    assert np.isnan(found.second_optimum).all()
    assert found.converged[0]


def test_the_floor_of_a_narrow_valley_is_followed_to_its_end() -> None:
    """Its walls are a million times as steep as its floor, which falls for ever so slightly."""

    def valley(x: Any) -> Any:
        wall, floor = x[0] + x[1], x[0] - x[1]
        value = 1e4 * wall**2 + 0.002 * (floor - 8) ** 2
        return value, [2e4 * wall + 0.004 * (floor - 8), 2e4 * wall - 0.004 * (floor - 8)]

    x, loss, *_ = look_around(_of(valley), _box([-3, -3], [3, 3]), np.array([[0.3, -0.2]]))
    np.testing.assert_allclose(x, [[4.0, -4.0]], atol=1e-2)
    assert loss[0] < 1e-6


def test_a_kink_ends_a_search() -> None:
    def kink(x: Any) -> Any:
        return abs(x[0] - 0.3) + x[1] ** 2, [np.sign(x[0] - 0.3), 2 * x[1]]

    found = minimise(_of(kink), np.array([[2.0, 1.0]]), ONE, limit=LIMIT, tolerance=1e-9)
    assert found.stuck[0] or found.converged[0]
    x, _, _, ended = look_around(_of(kink), _box([-3, -3], [3, 3]), np.array([[2.0, 1.0]]))
    np.testing.assert_allclose(x, [[0.3, 0.0]], atol=1e-3)
    assert ended[0]


def test_a_search_has_not_ended_where_the_loss_jumps() -> None:
    """A bowl of steps that each fall and then jump up, as a likelihood does from which hypotheses are dropped."""

    def steps(x: Any) -> Any:
        return 0.1 * np.floor(10 * x[0]) ** 2 - 0.3 * (10 * x[0] % 1), [-3.0]

    found = minimise(_of(steps), np.array([[0.52]]), ONE, limit=LIMIT, tolerance=1e-9)
    assert not found.stuck[0]
    assert not found.converged[0]
    assert not look_around(_of(steps), _box([-3.0], [3.0]), np.array([[0.52]]))[3][0]


def test_a_search_has_not_ended_as_long_as_something_better_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("astonish.people.fit.search._ROUNDS", 1)  # one look, which finds the other well
    x, _, _, ended = look_around(_of(_wells), _box([-5, -5], [5, 5]), np.array([[-2.0, -2.0]]))
    assert x[0, 0] > 0
    assert not ended[0]


def test_a_parameter_without_bounds_that_grows_for_ever_has_not_ended() -> None:
    def falling(x: Any) -> Any:
        return -np.log1p(x[0] ** 2), [-2 * x[0] / (1 + x[0] ** 2)]

    free = {"bounded": np.zeros(1, bool), "limit": np.array([300.0])}
    x, _, _, ended = look_around(_of(falling), _box([-3.0], [3.0], **free), np.array([[1.0]]))
    assert abs(x[0, 0]) == 300
    assert not ended[0]


def test_what_is_held_stays() -> None:
    objective, start = _of(_wells), np.array([[1.0, 0.5]])
    held = np.array([False, True])
    found = minimise(objective, start, ONE, limit=LIMIT, tolerance=1e-12, fixed=held[None])
    assert found.x[0, 1] == 0.5
    best = optimize.minimize_scalar(lambda a: _wells([a, 0.5])[0], bounds=(0, 4), method="bounded").x
    assert found.x[0, 0] == pytest.approx(best, abs=1e-5)
    x, *_ = look_around(objective, _box([-5, -5], [5, 5], held=held), start)
    assert x[0, 1] == 0.5
    np.testing.assert_allclose(second_derivatives(objective, np.array([[0.0, 0.0]]), ONE)[0, 1], [-2, 2], rtol=1e-4)


# Where do searches start?


def test_points_are_more_even_than_random_ones() -> None:
    for dimensions in (1, 2, 3, 5):
        random = np.mean([qmc.discrepancy(np.random.default_rng(k).random((40, dimensions))) for k in range(20)])
        for seed in range(3):
            assert qmc.discrepancy(evenly(40, dimensions, seed)) < 0.5 * random
    points = np.sort(evenly(20, 1, 0)[:, 0])
    assert np.diff(points).max() < 2.7 / 20


def _table(people: int, steps: int = 30, scale: float = 1.0) -> DataFrame:
    """Made-up people of whom each sees numbers of another size."""
    rng, rows = np.random.default_rng(5), []
    for who in range(people):
        size, estimate = scale * 10.0**who, 0.0
        for _ in range(steps):
            x = size * (1 + 0.3 * rng.standard_normal())
            estimate += (0.2 + 0.1 * who) * (x - estimate) + 0.05 * size * rng.standard_normal()
            rows.append((f"p{who}", x, estimate))
    return DataFrame(rows, columns=["id", "x", "said"])


def _read(table: DataFrame) -> Trials:
    return read_trials(table, Columns("x", subject="id", response="said"), kind="continuous", responds_before=False)


def test_ranges_are_those_of_each_participant() -> None:
    trials = _read(_table(3))
    space = Space.of(ESTIMATES, FREE)
    low, high = usual(space, trials, of_each=True)
    np.testing.assert_allclose(space.constrained(low)[:, 0], 0.05)
    for row, own in enumerate(trials.responses):  # type: ignore[arg-type]
        assert np.exp(low[row, 1]) == pytest.approx(0.01 * np.ptp(own))
        assert np.exp(high[row, 1]) == pytest.approx(0.3 * np.ptp(own))
    assert np.exp(usual(space, trials)[1][1]) == pytest.approx(0.3 * np.ptp(trials.responses))  # type: ignore[arg-type]


def test_a_participant_is_fitted_the_same_whoever_else_there_is() -> None:
    trials = _read(_table(3))

    def starts(of: Trials) -> Any:
        space, data, none, *_ = prepare(ESTIMATES, of, FREE, None)
        box = Box.of(space, of, space.start(ESTIMATES))
        return best_starts(Losses(ESTIMATES, data, space, False, none, 8), box, 4, seed=0)

    everybody = fit(ESTIMATES, trials, FREE, starts=4)
    for who in ("p1", "p0"):
        alone, row = trials.only([who]), trials.subjects.index(who)
        np.testing.assert_array_equal(starts(alone)[0], starts(trials)[row])
        found = fit(ESTIMATES, alone, FREE, starts=4)
        np.testing.assert_allclose(found.unconstrained[0], everybody.unconstrained[row], atol=1e-6)
        assert found.starts_at_optimum[0] == everybody.starts_at_optimum[row]
    backwards = fit(ESTIMATES, trials.only(["p2", "p1", "p0"]), FREE, starts=4)
    np.testing.assert_allclose(backwards.unconstrained[::-1], everybody.unconstrained, atol=1e-6)


def test_starts_cover_all_rates_and_the_logarithms_of_what_has_one_bound() -> None:
    trials = _read(_table(1))
    space = Space.of(ESTIMATES, FREE)
    points = Box.of(space, trials, space.start(ESTIMATES)).points(evenly(200, 2, 0))
    rates, noises = space.constrained(points[0]).T
    on_its_own_scale = rates[::2]
    assert stats.kstest(on_its_own_scale, "uniform").statistic < 0.03
    low, high = (end[0, 1] for end in usual(space, trials, of_each=True))
    quarter = 0.25 * (high - low)
    wider = stats.uniform(low - quarter, 1.5 * (high - low))
    assert stats.kstest(np.log(noises), wider.cdf).statistic < 0.03


def test_where_no_usual_range_is_known_starts_are_about_the_models_own_value() -> None:
    space = Space(("learner.a",), (Parameter(Domain(0.0)),), (1.0,))
    box = Box.of(space, _read(_table(2)), np.array([1.5]))
    assert box.low.tolist() == [[-1.5], [-1.5]]
    assert box.high.tolist() == [[4.5], [4.5]]


def test_half_of_the_starts_are_the_best_and_half_are_not_chosen() -> None:
    shares = evenly(24, 2, 0)
    loss = np.square(shares - [0.2, 0.8]).sum(1)[None]
    loss[0, 5] = np.nan
    chosen = choose(shares, loss, 4)[0].tolist()
    assert chosen[0] == int(np.nanargmin(loss))
    assert chosen[2:] == [k for k in range(24) if k not in chosen[:2]][:2]
    assert len(set(choose(shares, loss, 10)[0])) == 10


def test_start_values_are_where_the_first_search_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[Any] = []

    def listening(objective: Any, box: Any, starts: Any, progress: Any = None) -> Any:
        heard.append(starts)
        return search(objective, box, starts, progress)

    monkeypatch.setattr("astonish.people.fit.estimate.search", listening)
    trials = _read(_table(2))
    fit(ESTIMATES, trials, FREE, start_values=[[0.2, 1.0], [0.4, 2.0]], starts=2)
    expected = Space.of(ESTIMATES, FREE).unconstrained([[0.2, 1.0], [0.4, 2.0]])
    np.testing.assert_allclose(heard[0][:, 0], expected)
    with pytest.raises(ValueError, match="starts = 0 is no search; give at least 1"):
        fit(ESTIMATES, trials, ["learning_rate"], starts=0)


# What is said about a fit?


def test_notes_are_plain() -> None:
    found = fit(ESTIMATES, _read(_table(2)), FREE, starts=2)
    assert found.notes == ("", "")
    second = np.array([[np.nan] * 2, [0.0, np.log(2.0)]])
    ended = replace(found, converged=np.array([False, True]), second_optimum=second)
    other = "another optimum is as good (learning_rate = 0.5, noise = 2; difference < 0.01)"
    assert ended.notes == ("the search did not end", other)
    edge = replace(found, unconstrained=found.unconstrained + np.array([[-30.0, 0.0], [0.0, 0.0]]))
    assert edge.notes[0] == "learning_rate is at its lower bound"


# Values that all participants share


def test_shared_values_are_not_left_at_a_local_optimum() -> None:
    """Everybody has two wells; most are deepest at -2, but those of the others outweigh these."""
    depths = np.array([[2.0, 1.5], [2.0, 1.6], [2.0, 1.7], [1.0, 8.0], [1.0, 9.0]])
    targets = np.array([0.5, -0.3, 0.2, 0.1, -0.4])

    def objective(xs: Any, who: Any) -> Any:
        (first, second), (a, b) = depths[who].T, xs.T
        left, right = first * np.exp(-((a + 2) ** 2)), second * np.exp(-((a - 3) ** 2))
        value = -left - right + (b - targets[who] * a) ** 2
        slope = 2 * (a + 2) * left + 2 * (a - 3) * right - 2 * targets[who] * (b - targets[who] * a)
        return value, np.stack([slope, 2 * (b - targets[who] * a)], 1)

    alone = np.array([[-2.0, -2.0], [-2.0, -2.0], [-2.0, -2.0], [3.0, 3.0], [3.0, 3.0]])
    shared = np.array([True, False])
    found, starts = fit_shared(objective, _box(np.full((5, 2), -5.0), np.full((5, 2), 5.0)), alone, shared, 3, seed=0)
    grid = np.linspace(-15, 15, 3001)
    total = -(depths[:, :1] * np.exp(-((grid + 2) ** 2)) + depths[:, 1:] * np.exp(-((grid - 3) ** 2))).sum(0)
    np.testing.assert_allclose(found.x[:, 0], grid[np.argmin(total)], atol=0.01)
    np.testing.assert_allclose(found.x[:, 1], targets * found.x[:, 0], atol=1e-3)
    assert found.converged.all()
    assert starts == 3


def test_shared_fits_are_those_of_one_search_for_everything() -> None:
    """Against SciPy on all parameters together, from the same people's best alone."""
    case = CASES["choices"]
    trials = simulated(case, 12, 60, seed=8)
    found = fit(case.model, trials, ["learning_rate"], shared=["beta"], starts=3)
    people = len(found.values)
    losses = Losses(found.model, found.data, found.space, True, found.prior, 8)

    def together(x: Any) -> tuple[float, Any]:
        rows = np.stack([x[:-1], np.full(people, x[-1])], 1)
        loss, gradient = losses(rows, np.arange(people))
        return loss.sum(), np.append(gradient[:, 0], gradient[:, 1].sum())

    bounds = [(-LIMIT, LIMIT)] * (people + 1)
    starts = [np.append(np.full(people, rate), beta) for rate in (-2.0, 0.0, 2.0) for beta in (0.0, 1.5)]
    best = min(optimize.minimize(together, x, jac=True, method="L-BFGS-B", bounds=bounds).fun for x in starts)
    assert -found.log_likelihood.sum() < best + 1e-3
    assert len(set(found.values[:, 1])) == 1
    assert found.converged.all()
    assert found.starts == 3
    assert set(found.people()["starts_at_optimum"]) == {f"{found.starts_at_optimum[0]} of 3"}


# Weak priors


def test_usual_priors_are_normal_about_the_middle_of_the_usual_range() -> None:
    trials = _read(_table(3))
    found = fit(ESTIMATES, trials, FREE, starts=2, priors="usual")
    mean, std = found.prior[0], found.prior[1] ** -0.5
    np.testing.assert_allclose(mean[:, 0], 0.0, atol=1e-12)
    np.testing.assert_allclose(std[:, 0], np.log(0.95 / 0.05))
    ranges = np.ptp(trials.responses, axis=1)  # type: ignore[arg-type]
    np.testing.assert_allclose(mean[:, 1], np.log(np.sqrt(0.01 * 0.3) * ranges))
    np.testing.assert_allclose(std[:, 1], 0.5 * np.log(30))
    plain = Losses(ESTIMATES, found.data, found.space, False, np.zeros((2, 2)), 1)
    for who in range(3):

        def loss(x: Any, who: int = who) -> float:
            prior = stats.norm.logpdf(x, mean[who], std[who]).sum()
            return float(plain(x[None], np.array([who]))[0][0] - prior)

        best = optimize.minimize(loss, found.unconstrained[who] + 0.2, method="Nelder-Mead", tol=1e-9)
        np.testing.assert_allclose(found.unconstrained[who], best.x, atol=1e-4)


def test_priors_are_described() -> None:
    trials = _read(_table(2))
    found = fit(ESTIMATES, trials, FREE, starts=1, priors="usual")
    assert found.method == (
        "values are maximum a posteriori: the most probable ones, given responses and priors; AIC and BIC take the "
        "likelihood at these values",
        "prior of learning_rate: its log-odds are normally distributed, 68 % of values between 0.05 and 0.95",
        "prior of noise: its logarithm is normally distributed, 68 % of values between 0.01 and 0.3, if each "
        "participant's responses were from 0 to 1",
    )
    table = found.table()
    np.testing.assert_allclose(table["prior_sd"].to_numpy().reshape(2, 2), found.prior[1] ** -0.5)
    assert np.isfinite(found.people()["log_evidence"]).all()
    partly = fit(ESTIMATES, trials, FREE, starts=1, priors={"learning_rate": (-1.0, 0.5)})
    assert partly.method[1].endswith("68 % of values between 0.182 and 0.378")
    assert partly.method[2] == "noise has no prior: where its values usually lie is not known"
    assert np.isnan(partly.table()["prior_mean"][1])
    plain = fit(ESTIMATES, trials, FREE, starts=1)
    assert plain.priors == plain.method == ()
    assert "prior_mean" not in plain.table()


@pytest.mark.parametrize(
    ("priors", "message"),
    [
        ("weak", "priors = 'weak' is not allowed; give 'usual', or means and standard deviations by name"),
        ({"start": (0.0, 1.0)}, "priors describes 'start', which is not free; free are learner.learning_rate"),
        ({"learning_rate": (0.0, 0.0)}, "is not allowed; give a mean and a standard deviation above 0"),
        ({"learning_rate": 1.0}, "is not allowed; give a mean and a standard deviation above 0"),
    ],
)
def test_other_priors_are_refused(priors: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        fit(ESTIMATES, _read(_table(1)), ["learning_rate"], starts=1, priors=priors)


def test_the_prior_of_a_shared_value_counts_once() -> None:
    """The mean of normal responses about a shared estimate, under a normal prior: precisions are added."""
    table = _table(3, scale=0.1)
    model = Model(Delta(0.3), Estimate(noise=1.0, anchored=False))
    weak = fit(model, _read(table), [], shared=["response.noise"], starts=2, priors={"response.noise": (0.7, 0.3)})
    squares = (np.where(weak.data.scored, weak.data.responses - weak.outputs.expected, 0.0) ** 2).sum()
    count = weak.responses.sum()

    def loss(x: float) -> float:
        return count * x + 0.5 * squares * np.exp(-2 * x) + 0.5 * ((x - 0.7) / 0.3) ** 2

    best = optimize.minimize_scalar(loss, bounds=(-5, 5), method="bounded", options={"xatol": 1e-10}).x
    np.testing.assert_allclose(weak.unconstrained[:, 0], best, atol=1e-5)
    assert weak.method[1].endswith("distributed, 68 % of values between 1.49 and 2.72")
    assert np.isnan(weak.log_evidence).all()


def test_the_evidence_of_a_fit_with_priors_is_an_integral() -> None:
    """By a grid over both parameters; Laplace's approximation is near to it for estimates."""
    found = fit(ESTIMATES, _read(_table(1)), FREE, starts=1, priors="usual")
    losses = Losses(ESTIMATES, found.data, found.space, False, found.prior, 64)
    half = 8 * found.unconstrained_error[0]
    axes = [np.linspace(x - h, x + h, 121) for x, h in zip(found.unconstrained[0], half, strict=True)]
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), -1).reshape(-1, 2)
    heights = -losses(grid, np.zeros(len(grid), int))[0]
    cell = np.prod([axis[1] - axis[0] for axis in axes])
    normal = 0.5 * np.log(found.prior[1, 0] / (2 * np.pi)).sum()
    integral = np.log(np.exp(heights - heights.max()).sum() * cell) + heights.max() + normal
    assert found.log_evidence[0] == pytest.approx(integral, abs=0.05)
    free_running = Model(Delta(0.3, start=1.0), Estimate(anchored=False))
    other = fit(free_running, found.trials, found.names, starts=1, priors="usual")
    table = compare_fits({"a": found, "b": other}, evidence="laplace").table
    assert table["log_evidence"]["a"] == pytest.approx(found.log_evidence.sum())


def test_few_choices_are_better_told_with_priors() -> None:
    case = CASES["choices"]
    trials = simulated(case, 80, 25, seed=9)
    alone = fit(case.model, trials, case.free, starts=2)
    assert alone.method == (
        f"{len(alone.values)} of {len(alone.values)} participants gave fewer than 100 responses for each free "
        "parameter: their values of the greatest likelihood may be far off; --weak-priors (priors='usual') is "
        "recommended",
    )
    truth = Space.of(case.model, case.free).constrained(np.array([[0.0, 1.0]]))[0]
    errors = []
    for priors in (None, "usual"):
        options: Any = {"participants": 80, "truth": [truth], "starts": 2, "priors": priors}
        again = recover_parameters(case.model, trials, case.free, **options)
        off = again.fit.unconstrained - again.fit.space.unconstrained(truth)
        errors.append(np.sqrt(np.square(off).mean(0)))
    assert (errors[1] < 0.4 * errors[0]).all()


@pytest.mark.parametrize("unit", [1e-9, 1e9])
def test_data_in_very_large_or_small_units_are_fitted_the_same(unit: float) -> None:
    frame = _slider()
    columns = Columns("x", response="b")
    trials, other = (read_trials(frame * scale, columns, responds_before=False) for scale in (1.0, unit))
    found = fit(Model(Delta(0.3), Estimate(noise=1.0)), trials, FREE)
    scaled = fit(Model(Delta(0.3), Estimate(noise=unit)), other, FREE)
    np.testing.assert_allclose(scaled.values / [1.0, unit], found.values, rtol=1e-4)
    assert scaled.notes == found.notes == ("",)
    assert describe(scaled)["at_bound"].tolist() == [0, 0]


def test_a_value_that_grows_without_end_is_said_and_left_out_of_means() -> None:
    frame = _slider().assign(b=lambda table: table["x"])  # every response is the last outcome, which is m = infinity
    frame["b"] += np.random.default_rng(3).normal(0, 0.01, len(frame))
    trials = read_trials(frame, Columns("x", response="b"), responds_before=False)
    found = fit(Model(Smile(Gaussian(noise=4.0)), Estimate(noise=1.0)), trials, ["m", "response.noise"])
    assert found.notes == ("m grows without end",)
    row = describe(found).iloc[0]
    assert (row["n"], row["at_bound"]) == (1, 1)
    assert np.isnan(row["mean"])
    assert row["median"] > 1e6


def _slider() -> DataFrame:
    """Two hundred outcomes whose mean jumps now and then, and responses of a delta rule with noise."""
    rng = np.random.default_rng(0)
    outcomes = np.repeat(rng.normal(0, 10, 10), 20) + rng.normal(0, 4, 200)
    responses, estimate = [], 0.0
    for outcome in outcomes:
        estimate += 0.4 * (outcome - estimate) + rng.normal(0, 2)
        responses.append(estimate)
    return DataFrame({"x": outcomes, "b": responses})

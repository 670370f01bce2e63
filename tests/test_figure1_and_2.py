"""Checks that the tables of Figures 1 and 2 agree with formulas written down here, and that these give the verdicts."""

from collections.abc import Callable, Iterator
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest
from pandas import DataFrame
from scipy import integrate, optimize, special, stats

from astonish.paper.figure import FAILS, HOLDS, IN_PART, Claim, RunSettings, Tables
from astonish.paper.figure1 import FIGURE_1
from astonish.paper.figure2 import FIGURE_2, by_sums, dirichlet, gaussian, grid, rule_claims
from oracles import dirichlet_divergence, normal_divergence

EPSILON = 0.05
ODDS = (1 - EPSILON) / (EPSILON / 3)
ELECTION = np.full((4, 4), EPSILON / 3) + (1 - EPSILON - EPSILON / 3) * np.eye(4)
OPINIONS = {"A": [0.75, 0.25, 0, 0], "B": [0, 0.25, 0.75, 0], "C": [0.25] * 4}
TALK = {"goldfish": [0.19, 0.01], "guns": [0.01, 0.19], "Tuesday": [0.001, 0.001]}


@pytest.fixture(scope="module")
def first() -> Tables:
    return FIGURE_1.compute(RunSettings(quick=True))


@pytest.fixture(scope="module")
def second() -> Tables:
    return FIGURE_2.compute(RunSettings(quick=True))


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    yield
    plt.close("all")


def near(value: Any) -> Any:
    return pytest.approx(value, rel=1e-9, abs=1e-9)


def corrected(belief: Any, likelihood: Any) -> float:
    """D[belief || scaled likelihood] over separate models, by SciPy (which scales the likelihood)."""
    return float(stats.entropy(belief, likelihood))


def claim(claims: list[Claim], where: str, words: str) -> Claim:
    """The one claim at this place that says these words."""
    [found] = [c for c in claims if c.where.startswith(where) and words in c.says]
    return found


FIRST = {"models", "election", "meanings", "joke", "parking"}
SECOND = {"beliefs", "joint", "predictions", "pair", "normal", "landscape", "bounds", "rule", "order"}


def test_the_tables_are_complete(first: Tables, second: Tables) -> None:
    assert set(first) == FIRST
    assert set(second) == SECOND
    assert not any(table.isna().any(axis=None) for table in (first | second).values())


def test_election(first: Tables) -> None:
    table = first["election"]
    assert first["models"].probability.to_numpy().reshape(4, 4) == near(ELECTION)
    assert len(table) == 12
    for row in table.itertuples():
        opinion, x = np.array(OPINIONS[row.colleague]), row.candidate - 1
        assert row.weight == opinion[x]
        assert row.shannon == near(-np.log(opinion @ ELECTION[:, x]))
        assert row.raw == near(-opinion @ np.log(ELECTION[:, x]))
        assert row.commitment == near(-stats.entropy(opinion))
        assert row.surprise == near(corrected(opinion, ELECTION[:, x]))


def test_joke(first: Tables) -> None:
    """Bayes' rule from an even belief gives the first word's own likelihood, scaled."""
    even, moved = np.array([0.5, 0.5]), np.array(TALK["goldfish"]) / sum(TALK["goldfish"])
    meanings = first["meanings"].set_index("belief")[["container", "vehicle"]]
    assert meanings.loc["before"].to_numpy() == near(even)
    assert meanings.loc["after"].to_numpy() == near(moved)
    assert meanings.loc["guns"].to_numpy() == near(moved[::-1])
    for row in first["joke"].itertuples():
        belief = {"before": even, "after": moved}[row.belief]
        assert row.surprise == near(corrected(belief, TALK[row.word]))
        assert row.shannon == near(-np.log(belief @ TALK[row.word]))


@pytest.mark.parametrize("kinds", [10, 1000])
def test_parking_lot_with_every_model_written_out(first: Tables, kinds: int) -> None:
    """Kind 0 is the red car, kind 1 the green one; the figure lumps the models that predict alike, here none are."""
    models = np.full((kinds, kinds), EPSILON / (kinds - 1))
    np.fill_diagonal(models, 1 - EPSILON)
    used = models[:, 0] ** 5 / (models[:, 0] ** 5).sum()
    even = np.full(kinds, 1 / kinds)
    table = first["parking"]
    rows = table[table.kinds == kinds].set_index(["driver", "car"])
    for x, car in enumerate(("red", "green BMW")):
        for driver, belief in (("undecided", even), ("used to red", used)):
            assert rows.loc[(driver, car), "surprise"] == near(corrected(belief, models[:, x]))
            assert rows.loc[(driver, car), "shannon"] == near(-np.log(belief @ models[:, x]))
        assert rows.loc[("slot", car), "surprise"] == near(0)
        assert rows.loc[("slot", car), "shannon"] == near(np.log(kinds))


def test_parking_lot_with_very_many_kinds(first: Tables) -> None:
    """The undecided driver's surprise in closed form."""
    n = 100_000
    table = first["parking"]
    [found] = table[(table.kinds == n) & (table.driver == "undecided") & (table.car == "green BMW")].surprise
    assert found == near(-np.log(n) - np.log(1 - EPSILON) / n - (1 - 1 / n) * np.log(EPSILON / (n - 1)))


def counted(kinds: int, mornings: int, seen: bool) -> tuple[float, float]:
    """S_cc and Shannon surprise of a Dirichlet belief at the car of all these mornings, or at another one.

    The divergence of one Dirichlet distribution from another (the paper's note 1 of Algorithm 2), with the numbers of
    cars put in: all kinds but two have a one in both.
    """
    red, other = (2.0, 1.0) if seen else (1.0, 2.0)  # of the scaled likelihood
    total = special.digamma(kinds + mornings)
    norms = special.gammaln(kinds + mornings) - special.gammaln(kinds + 1) - special.gammaln(1 + mornings)
    gaps = (1 + mornings - red) * (special.digamma(1 + mornings) - total) + (1 - other) * (special.digamma(1) - total)
    return norms + gaps, -np.log((1 + mornings if seen else 1) / (kinds + mornings))


@pytest.mark.parametrize("kinds", [10, 1000, 100_000])
def test_parking_lot_of_drivers_who_count(first: Tables, kinds: int) -> None:
    rows = first["parking"].set_index(["kinds", "driver", "car"]).loc[kinds]
    for driver, mornings in (("counting, undecided", 0), ("counting, used to red", 5)):
        for car in ("red", "green BMW"):
            found = rows.loc[(driver, car), ["surprise", "shannon"]].to_list()
            assert found == pytest.approx(counted(kinds, mornings, car == "red"), abs=1e-8)


def fold_belief(model: str, theta: Any) -> Any:
    right, left = stats.norm.pdf(theta, 2, 0.5), stats.norm.pdf(theta, -2, 0.5)
    return right if model == "committed" else (right + left) / 2


def test_pair_of_models_by_quadrature(second: Tables) -> None:
    """All terms of S_cc as integrals over theta, by SciPy's adaptive rule."""

    def integral(f: Any) -> float:
        halves = (integrate.quad(f, *ends, epsabs=1e-12, limit=200)[0] for ends in ((-6, 0), (0, 6)))
        return sum(halves)

    for row in second["pair"].itertuples():
        x, model = row.sample, row.model

        def belief(theta: float, model: str = model) -> float:
            return float(fold_belief(model, theta))

        def likely(theta: float, x: float = x) -> float:
            return float(stats.norm.pdf(x, abs(theta), 0.7))

        def minus_log(theta: float, x: float = x) -> float:
            return -float(stats.norm.logpdf(x, abs(theta), 0.7))

        raw = integral(lambda t: belief(t) * minus_log(t))
        scale = np.log(integral(likely))
        commitment = integral(lambda t: belief(t) * np.log(belief(t) or 1.0))
        found = [row.raw, row.scale, row.commitment, row.surprise, row.shannon]
        shannon = -np.log(integral(lambda t: belief(t) * likely(t)))
        assert found == pytest.approx([raw, scale, commitment, raw + scale + commitment, shannon], abs=5e-5)


def test_joint_density(second: Tables) -> None:
    """It is what the two factors make, and its margins are the tables of the margins."""
    joint = second["joint"]
    for model in ("committed", "open"):
        product = fold_belief(model, joint.theta) * stats.norm.pdf(joint.x, joint.theta.abs(), 0.7)
        assert joint[model].to_numpy() == pytest.approx(product, abs=2e-4)
        beliefs, predictions = second["beliefs"], second["predictions"]
        assert beliefs[model].to_numpy() == pytest.approx(fold_belief(model, beliefs.theta), abs=2e-4)
        assert predictions[model].to_numpy() == pytest.approx(
            stats.norm.pdf(predictions.x, 2, np.hypot(0.5, 0.7)), abs=1e-3
        )  # but for what is folded at 0


def test_normal_models(second: Tables) -> None:
    table = second["normal"]
    for model, variance in (("committed", 0.05), ("open", 0.5)):
        noise = 1 - variance
        x2 = table["sample"] ** 2
        raw = 0.5 * np.log(2 * np.pi * noise) + (x2 + variance) / (2 * noise)
        assert table[f"raw_{model}"].to_numpy() == near(raw.to_numpy())
        scaled = [normal_divergence(0, variance**0.5, x, noise**0.5) for x in table["sample"]]
        assert table[f"surprise_{model}"].to_numpy() == near(np.array(scaled))
        assert table[f"shannon_{model}"].to_numpy() == near(-stats.norm.logpdf(table["sample"]))


def moved(width: float, gamma: float) -> tuple[float, float]:
    """Mean and standard deviation of a normal belief around 0 after a step towards a sample at 2 with noise 1."""
    precision = gamma + (1 - gamma) / width**2
    return 2 * gamma / precision, precision**-0.5


@pytest.mark.parametrize(("name", "width"), [("equal", 1.0), ("narrow", 0.4)])
def test_landscape_and_bounds(second: Tables, name: str, width: float) -> None:
    table = second["landscape"]
    assert table[name].to_numpy() == near(np.array([normal_divergence(*moved(width, g), 2, 1) for g in table.gamma]))
    bounds = second["bounds"]
    rows = bounds[bounds.belief == name].set_index("share")
    most = normal_divergence(2, 1, 0, width)
    assert rows.bound.to_numpy() == near(most * rows.index.to_numpy())

    def excess(gamma: float) -> float:
        return normal_divergence(*moved(width, gamma), 0, width) - most / 2

    half = optimize.brentq(excess, 0, 1, xtol=1e-14)
    assert rows.gamma.to_numpy() == near(np.array([0, half, 1, 1, 1]))
    assert rows.surprise[0.5] == near(normal_divergence(*moved(width, half), 2, 1))


def test_bounded_step_in_closed_form(second: Tables) -> None:
    """For a belief as wide as the noise, gamma is the square root of the share (eq. 10)."""
    bounds = second["bounds"]
    rows = bounds[(bounds.belief == "equal") & (bounds.share <= 1)]
    assert rows.gamma.to_numpy() == near(np.sqrt(rows.share.to_numpy()))


def by_hand(parts: list[bool]) -> str:
    return HOLDS if all(parts) else IN_PART if any(parts) else FAILS


def test_verdicts_on_the_election(first: Tables) -> None:
    claims = FIGURE_1.claims(first)
    surprise = {(n, k): corrected(o, ELECTION[:, k - 1]) for n, o in OPINIONS.items() for k in (1, 2)}
    likely = [np.dot(o, ELECTION[:, 1]) for o in OPINIONS.values()]
    assert claim(claims, "Fig. 1A", "equally likely").verdict == by_hand([np.allclose(likely, 0.25)])
    entropy = {n: stats.entropy(o) for n, o in OPINIONS.items()}
    expected = by_hand([np.isclose(entropy["A"], entropy["B"]), entropy["C"] > entropy["A"]])
    assert claim(claims, "section 2.1", "equally committed").verdict == expected
    for place, gap, paper in (
        ("section 2.1 (a)", surprise["B", 1] - surprise["A", 1], 0.75 * np.log(ODDS)),
        ("section 2.1 (b)", surprise["A", 2] - surprise["A", 1], 0.5 * np.log(ODDS)),
        ("section 2.1 (c)", surprise["A", 2] - surprise["C", 2], 0.75 * np.log(3)),
    ):
        [found] = [c for c in claims if c.where.startswith(place)]
        assert found.verdict == by_hand([gap > 0, np.isclose(gap, paper)])
        assert f"{paper:.4f}" in found.paper
        assert f"{gap:.4f}" in found.measured


def test_verdicts_on_joke_and_parking_lot(first: Tables) -> None:
    claims = FIGURE_1.claims(first)
    goldfish = np.array(TALK["goldfish"]) / 0.2
    after, before = corrected(goldfish, TALK["guns"]), corrected([0.5, 0.5], TALK["guns"])
    joke = claim(claims, "Fig. 1B", "joke")
    assert joke.verdict == by_hand([after > before, before <= corrected(goldfish, TALK["goldfish"]) + 1e-9])
    assert f"{after:.3f}" in joke.measured
    assert f"{before:.3f}" in joke.measured
    n, sure = 1000, 1 - EPSILON
    other = EPSILON / (n - 1)
    undecided = -np.log(n) - np.log(sure) / n - (1 - 1 / n) * np.log(other)
    used, expected = -np.log(other), -np.log(sure)  # five mornings leave the other models nothing to speak of
    assert claim(claims, "Fig. 1C", "slot").verdict == by_hand([np.log(n) > expected and expected > 0])
    (open_, _), (seen, _), (unseen, _) = counted(n, 0, False), counted(n, 5, True), counted(n, 5, False)
    parts = [used > undecided and used > expected, unseen > open_ and unseen > seen]
    assert claim(claims, "section 2.1", "little red").verdict == by_hand(parts)
    alone = claim(claims, "section 2.1", "Without commitment")
    assert alone.verdict == by_hand([undecided <= expected, open_ <= seen])
    assert f"{undecided:.2f}" in alone.measured
    assert f"{open_:.2f}" in alone.measured
    finer = [np.log(99_999 / EPSILON) / used, counted(100_000, 5, False)[0] / unseen]
    details = claim(claims, "section 2.1", "details")
    assert details.verdict == by_hand([abs(ratio - 1) < 0.1 for ratio in finer])
    assert f"{used:.2f}" in details.measured
    assert f"{unseen:.2f}" in details.measured


def test_verdict_on_less_likely_data(first: Tables) -> None:
    """A word that is rare in any talk is less likely than guns, and less surprising to an even belief."""
    even = np.array([0.5, 0.5])
    rarer = even @ TALK["Tuesday"] < even @ TALK["guns"]
    more = corrected(even, TALK["Tuesday"]) >= corrected(even, TALK["guns"])
    assert rarer
    pairs = [(o, j, k) for o in OPINIONS.values() for j in range(4) for k in range(4)]
    in_order = all(
        corrected(o, ELECTION[:, j]) > corrected(o, ELECTION[:, k])
        for o, j, k in pairs
        if np.dot(o, ELECTION[:, j]) < np.dot(o, ELECTION[:, k]) - 1e-12
    )
    assert claim(FIGURE_1.claims(first), "section 2.1 (1)", "less likely").verdict == by_hand([in_order, more])


def test_verdicts_on_commitment(second: Tables) -> None:
    """Of two normal models with equal predictions, the less committed one is more surprised by what is far away."""
    claims = FIGURE_2.claims(second)

    def gap(x: float) -> float:
        return normal_divergence(0, 0.05**0.5, x, 0.95**0.5) - normal_divergence(0, 0.5**0.5, x, 0.5**0.5)

    theta, width = np.linspace(-6, 6, 4001), 12 / 4000
    one, other = (fold_belief(model, theta) for model in ("committed", "open"))
    surer = float(stats.entropy(other * width) - stats.entropy(one * width))
    loss = -stats.norm.logpdf(3.2, np.abs(theta), 0.7)
    raw = np.array([one @ loss, other @ loss]) * width
    predicted = np.array([one @ np.exp(-loss), other @ np.exp(-loss)]) * width
    turn = optimize.brentq(gap, 0, 3)
    found = claim(claims, "section 4.4", "more committed")
    assert found.verdict == by_hand([surer > 0, gap(3) > 0])
    assert f"equal at {turn:.2f} standard" in found.measured
    fold = claim(claims, "Fig. 2A", "same raw surprise")
    assert fold.verdict == by_hand([np.ptp(predicted) < 1e-9, np.ptp(raw) < 1e-9, surer > 0])
    assert f"raw {raw[0]:.4f} (committed)" in fold.measured
    assert f"more commitment by {surer:.4f}" in fold.measured


def test_verdict_on_the_four_terms(second: Tables) -> None:
    """Bayesian surprise, the one term that other tests leave out, by Bayes' rule on a grid."""
    theta = np.linspace(-6, 6, 4001)
    for row in second["pair"].itertuples():
        prior = fold_belief(row.model, theta)
        posterior = prior * stats.norm.pdf(row.sample, np.abs(theta), 0.7)
        assert row.bayesian == pytest.approx(float(stats.entropy(prior, posterior)), abs=5e-5)
        terms = row.shannon + row.bayesian + row.scale + row.commitment
        assert terms == near(row.surprise)
    assert claim(FIGURE_2.claims(second), "section 2.1 (1)", "sum of Shannon").verdict == HOLDS


def test_verdicts_on_the_way_to_the_sample(second: Tables) -> None:
    claims = FIGURE_2.claims(second)
    gamma = np.linspace(0, 1, 101)
    curves = [np.array([normal_divergence(*moved(w, g), 2, 1) for g in gamma]) for w in (1.0, 0.4)]
    falls = [bool((np.diff(c) < 0).all() and abs(c[-1]) < 1e-9) for c in curves]
    assert claim(claims, "Fig. 2B", "falls").verdict == by_hand(falls)
    off = [np.abs(c / c[0] - (1 - gamma) ** 2).max() for c in curves]
    parabola = claim(claims, "Fig. 2B", "parabola")
    assert parabola.verdict == by_hand([distance < 1e-9 for distance in off])
    assert f"{off[1]:.2f}" in parabola.measured
    bound = claim(claims, "section 2.2", "bound of zero")
    assert bound.verdict == HOLDS
    assert "0.000, 0.707, 1.000, 1.000, 1.000" in bound.measured


@pytest.mark.parametrize(
    ("table", "column", "rows", "where", "words"),
    [
        ("election", "shannon", {"colleague": "B", "candidate": 2}, "Fig. 1A", "equally likely"),
        ("election", "commitment", {"colleague": "B"}, "section 2.1", "equally committed"),
        ("election", "surprise", {"colleague": "B", "candidate": 1}, "section 2.1 (a)", "Candidate 1"),
        ("election", "surprise", {"colleague": "A", "candidate": 1}, "section 2.1 (b)", "Candidate 2"),
        ("election", "surprise", {"colleague": "C", "candidate": 2}, "section 2.1 (c)", "A and B more"),
        ("parking", "surprise", {"driver": "slot"}, "Fig. 1C", "slot"),
        ("parking", "surprise", {"driver": "undecided"}, "section 2.1", "little red"),
        ("parking", "surprise", {"driver": "counting, undecided"}, "section 2.1", "little red"),
        ("pair", "raw", {"model": "open"}, "Fig. 2A", "same raw"),
        ("pair", "surprise", {"model": "open"}, "section 2.1 (1)", "sum of"),
        ("landscape", "equal", {"gamma": 0.5}, "Fig. 2B", "falls"),
        ("bounds", "gamma", {"share": 10.0}, "section 2.2", "bound of zero"),
    ],
)
def test_a_claim_that_holds_would_not_with_other_numbers(
    request: pytest.FixtureRequest, table: str, column: str, rows: dict[str, Any], where: str, words: str
) -> None:
    """Where a number is moved by ten nats, the verdict that rests on it changes."""
    figure, name = (FIGURE_1, "first") if table in FIRST else (FIGURE_2, "second")
    numbers: Tables = request.getfixturevalue(name)
    assert claim(figure.claims(numbers), where, words).verdict == HOLDS
    changed = numbers[table].copy()
    here = np.logical_and.reduce([changed[key] == value for key, value in rows.items()])
    assert here.any()
    changed.loc[here, column] += 10
    assert claim(figure.claims(numbers | {table: changed}), where, words).verdict != HOLDS


@pytest.mark.parametrize(
    ("driver", "kinds", "words"),
    [("counting, undecided", 1000, "Without commitment"), ("counting, used to red", 100_000, "details")],
)
def test_a_claim_that_holds_in_part_would_not_with_other_numbers(
    first: Tables, driver: str, kinds: int, words: str
) -> None:
    """The part that holds is that of the drivers who count."""
    changed = first["parking"].copy()
    changed.loc[(changed.driver == driver) & (changed.kinds == kinds), "surprise"] += 10
    assert claim(FIGURE_1.claims(first), "section 2.1", words).verdict == IN_PART
    assert claim(FIGURE_1.claims(first | {"parking": changed}), "section 2.1", words).verdict == FAILS


def test_drawing_shows_the_numbers(first: Tables, second: Tables) -> None:
    """The table of the election, the bars of the parking lot, and the bounds' gamma are those computed."""
    drawing = FIGURE_1.draw(first)
    [table] = [axis.tables[0] for axis in drawing.axes if axis.tables]
    assert table[1, 1].get_text().get_text() == "0.250"
    assert table[1, 5].get_text().get_text() == f"{corrected(OPINIONS['A'], ELECTION[:, 1]):.2f}"
    lengths = [bar.get_width() for bar in drawing.axes[-1].patches]
    assert lengths[:3] == near([np.log(1000), np.log(1000), np.log(999 / EPSILON)])
    landscape = FIGURE_2.draw(second).axes[-2]
    dots = [line.get_xdata()[0] for line in landscape.lines if line.get_marker() == "o"]
    assert dots == near([0, np.sqrt(0.5), 1])


# The statements about the SMiLe rule in Figure 2

GAMMAS = (0.0, 0.3, 1.0)
COLUMNS = ["before", "after", "change", "forth", "variance"]


def five(divergence: Callable[[Any, Any], Any], old: Any, new: Any, scaled: Any, variance: float) -> list[float]:
    return [divergence(old, scaled), divergence(new, scaled), divergence(new, old), divergence(old, new), variance]


@pytest.mark.parametrize("gamma", GAMMAS)
@pytest.mark.parametrize("seed", [1, 2])
def test_sums_over_theta_are_the_integrals_of_normal_beliefs(seed: int, gamma: float) -> None:
    case: Any = gaussian(np.random.default_rng(seed))
    old, scaled = (float(case.belief.mean), 1 / float(case.belief.precision)), (case.x, case.family.noise**2)
    precision = gamma / scaled[1] + (1 - gamma) / old[1]
    new = ((gamma * scaled[0] / scaled[1] + (1 - gamma) * old[0] / old[1]) / precision, 1 / precision)
    square = 0.5 / old[1] - 0.5 / scaled[1]  # ln p / old = square theta^2 + line theta, and a constant
    line = scaled[0] / scaled[1] - old[0] / old[1]
    variance = 2 * square**2 * new[1] ** 2 + (2 * square * new[0] + line) ** 2 * new[1]
    found = by_sums(case, gamma)
    assert [found[name] for name in COLUMNS] == pytest.approx(
        five(lambda a, b: normal_divergence(a[0], a[1] ** 0.5, b[0], b[1] ** 0.5), old, new, scaled, variance),
        rel=1e-9,
        abs=1e-12,
    )


@pytest.mark.parametrize("gamma", GAMMAS)
@pytest.mark.parametrize("seed", [1, 2])
def test_sums_over_theta_are_the_integrals_of_dirichlet_beliefs(seed: int, gamma: float) -> None:
    case: Any = dirichlet(np.random.default_rng(seed))
    old, scaled = np.asarray(case.belief.alpha), 1.0 + (np.arange(3) == case.x)
    new = (1 - gamma) * old + gamma * scaled
    powers = scaled - old  # of theta in p / old
    variance = powers**2 @ special.polygamma(1, new) - powers.sum() ** 2 * special.polygamma(1, new.sum())
    found = by_sums(case, gamma)
    assert [found[name] for name in COLUMNS] == pytest.approx(
        five(dirichlet_divergence, old, new, scaled, variance), rel=1e-7, abs=1e-7
    )


@pytest.mark.parametrize("gamma", GAMMAS)
def test_sums_over_models_are_those_of_scipy(gamma: float) -> None:
    case: Any = grid(np.random.default_rng(1))
    old, likelihood = np.asarray(case.belief.weights), np.asarray(case.family.points)[:, case.x]
    new = likelihood**gamma * old ** (1 - gamma)
    ratio, probabilities = np.log(likelihood / old), new / new.sum()
    variance = probabilities @ ratio**2 - (probabilities @ ratio) ** 2
    found = by_sums(case, gamma)
    expected = five(stats.entropy, old, new, likelihood, variance)
    assert [found[name] for name in COLUMNS] == pytest.approx(expected, rel=1e-9, abs=1e-12)


def test_all_of_it_holds_and_the_table_is_complete(second: Tables) -> None:
    steps, order = second["rule"], second["order"]
    assert list(steps.groupby("family", sort=False).groups) == ["Gaussian", "Dirichlet", "grid"]
    assert [claim.verdict for claim in rule_claims(steps, order)] == [HOLDS] * 6
    assert (order.ready_gamma > order.gamma).all()
    np.testing.assert_allclose(order.reported, order.before, atol=1e-7)


Change = Callable[[DataFrame], DataFrame]
ONE = ("Gaussian",)
EVERY = ("Gaussian", "Dirichlet", "grid")


def changed(second: Tables, name: str, families: tuple[str, ...], columns: dict[str, Any]) -> list[Claim]:
    """The claims if these columns of the table had other values for these families."""
    table = second[name].copy()
    here = table.family.isin(families)
    for column, value in columns.items():
        table.loc[here, column] = value(table[here]) if callable(value) else value
    both = second | {name: table}
    return rule_claims(both["rule"], both["order"])


@pytest.mark.parametrize(("families", "verdict"), [(ONE, IN_PART), (EVERY, FAILS)])
@pytest.mark.parametrize(
    ("claim", "name", "columns"),
    [
        (0, "rule", {"after": lambda t: t.before + t.gamma * 1e-3}),  # more surprising than before
        (0, "rule", {"change_by_sums": lambda t: t.change + 1e-3}),  # library and sums disagree
        (1, "rule", {"bounded": lambda t: 1 - t.gamma}),
        (1, "rule", {"returned": lambda t: t.gamma + 1e-3}),
        (2, "rule", {"forth": lambda t: t.forth + 1e-3}),
        (3, "rule", {"variance": lambda t: 1.01 * t.variance}),
        (4, "rule", {"after": lambda t: t.before - 0.5}),  # the same impact for every gamma
        (5, "order", {"reported": lambda t: t.after}),
        (5, "order", {"ready": lambda t: t.ready + 1e-3}),
        (5, "order", {"after": lambda t: t.before}),  # nothing tells whether it came before or after
    ],
)
def test_claims_follow_the_numbers(
    second: Tables, claim: int, name: str, columns: dict[str, Any], families: tuple[str, ...], verdict: str
) -> None:
    assert changed(second, name, families, columns)[claim].verdict == verdict

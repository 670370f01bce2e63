"""Checks that the tables of Figures 1 and 2 agree with formulas written down here, and that these give the verdicts."""

from collections.abc import Callable, Iterator
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest
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


def test_bayesian_surprise_of_the_pair_on_a_grid(second: Tables) -> None:
    """The one term of S_cc that other tests leave out, by Bayes' rule."""
    theta = np.linspace(-6, 6, 4001)
    for row in second["pair"].itertuples():
        prior = fold_belief(row.model, theta)
        posterior = prior * stats.norm.pdf(row.sample, np.abs(theta), 0.7)
        assert row.bayesian == pytest.approx(float(stats.entropy(prior, posterior)), abs=5e-5)
        assert row.shannon + row.bayesian + row.scale + row.commitment == near(row.surprise)


def claim(tables: Tables, id: str) -> Claim:
    """The claim of Figure 1 or 2, by its tables."""
    figure = FIGURE_1 if tables.keys() == FIRST else FIGURE_2
    return {claim.id: claim for claim in figure.claims(tables)}[id]


@pytest.mark.parametrize(
    ("id", "verdict", "numbers"),
    [
        ("election.likelihood", HOLDS, ["0.2500, 0.2500, 0.2500"]),
        ("election.commitment", HOLDS, []),
        ("election.favourite", HOLDS, [f"= {0.75 * np.log(ODDS):.4f}", f"{0.75 * np.log(ODDS):.4f} nats more"]),
        ("election.outsider", HOLDS, [f"= {0.5 * np.log(ODDS):.4f}", f"{0.5 * np.log(ODDS):.4f} nats more"]),
        ("election.confidence", HOLDS, [f"= {0.75 * np.log(3):.4f}", f"{0.75 * np.log(3):.4f} nats above C"]),
        ("joke.committed", IN_PART, [f"{corrected(TALK['goldfish'], TALK['guns']):.3f} nats", "without it 0.830"]),
        ("parking.slot", HOLDS, []),
        ("parking.committed", HOLDS, []),
        ("parking.uncommitted", IN_PART, ["2.98", f"{counted(1000, 0, False)[0]:.2f}"]),
        ("parking.details", IN_PART, [f"{np.log(999 / EPSILON):.2f}", f"{counted(1000, 5, False)[0]:.2f}"]),
        ("surprise.less-likely", IN_PART, []),
        ("commitment.raw", HOLDS, ["raw 2.2867 (committed)", f"more commitment by {np.log(2):.4f}"]),
        ("commitment.predictions", IN_PART, ["equal at 1.45 standard"]),
        ("surprise.terms", HOLDS, []),
        ("step.minimum", HOLDS, []),
        ("step.parabola", IN_PART, ["0.46"]),
        ("bound.gamma", HOLDS, ["0.000, 0.707, 1.000, 1.000, 1.000"]),
    ],
)
def test_verdicts(first: Tables, second: Tables, id: str, verdict: str, numbers: list[str]) -> None:
    """What is said of tables that are held against formulas above."""
    found = claim(first if id.startswith(("election", "joke", "parking", "surprise.less")) else second, id)
    assert found.verdict == verdict
    assert all(number in f"{found.paper}; {found.measured}" for number in numbers)


@pytest.mark.parametrize(
    ("table", "rows", "id", "verdicts"),
    [
        ("election.shannon", {"colleague": "B", "candidate": 2}, "election.likelihood", [HOLDS, FAILS]),
        ("election.commitment", {"colleague": "B"}, "election.commitment", [HOLDS, IN_PART]),
        ("election.surprise", {"colleague": "B", "candidate": 1}, "election.favourite", [HOLDS, IN_PART]),
        ("election.surprise", {"colleague": "A", "candidate": 1}, "election.outsider", [HOLDS, FAILS]),
        ("election.surprise", {"colleague": "C", "candidate": 2}, "election.confidence", [HOLDS, FAILS]),
        ("parking.surprise", {"driver": "slot"}, "parking.slot", [HOLDS, FAILS]),
        ("parking.surprise", {"driver": "undecided"}, "parking.committed", [HOLDS, IN_PART]),
        ("parking.surprise", {"driver": "counting, undecided"}, "parking.committed", [HOLDS, IN_PART]),
        # The part that holds is that of the drivers who count
        ("parking.surprise", {"driver": "counting, undecided", "kinds": 1000}, "parking.uncommitted", [IN_PART, FAILS]),
        ("parking.surprise", {"driver": "counting, used to red", "kinds": 10**5}, "parking.details", [IN_PART, FAILS]),
        ("pair.raw", {"model": "open"}, "commitment.raw", [HOLDS, IN_PART]),
        ("pair.surprise", {"model": "open"}, "surprise.terms", [HOLDS, IN_PART]),
        ("landscape.equal", {"gamma": 0.5}, "step.minimum", [HOLDS, IN_PART]),
        ("bounds.gamma", {"share": 10.0}, "bound.gamma", [HOLDS, IN_PART]),
    ],
)
def test_a_claim_would_have_another_verdict_with_other_numbers(
    first: Tables, second: Tables, table: str, rows: dict[str, Any], id: str, verdicts: list[str]
) -> None:
    """Where a number is moved by ten nats, the verdict that rests on it changes."""
    name, _, column = table.partition(".")
    numbers = first if name in FIRST else second
    changed = numbers[name].copy()
    here = np.logical_and.reduce([changed[key] == value for key, value in rows.items()])
    assert here.any()
    changed.loc[here, column] += 10
    assert [claim(numbers, id).verdict, claim(numbers | {name: changed}, id).verdict] == verdicts


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

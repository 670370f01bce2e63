"""The statements about the SMiLe rule in Figure 2: are the sums right, and do the numbers decide the verdicts?

The oracles are the textbook's divergences and variances of normal and Dirichlet distributions.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from pandas import DataFrame
from scipy import special, stats

from astonish.paper.figure import FAILS, HOLDS, IN_PART, Claim, RunSettings, Tables
from astonish.paper.figure2 import FIGURE_2, by_sums, dirichlet, gaussian, grid, rule_claims

GAMMAS = (0.0, 0.3, 1.0)
COLUMNS = ["before", "after", "change", "forth", "variance"]


@pytest.fixture(scope="module")
def tables() -> Tables:
    return FIGURE_2.compute(RunSettings(3, quick=True))


def normal_divergence(a: Any, b: Any) -> Any:
    """D[a || b] of two normal distributions, each a mean and a variance."""
    return 0.5 * (np.log(b[1] / a[1]) + (a[1] + (a[0] - b[0]) ** 2) / b[1] - 1)


def dirichlet_divergence(a: Any, b: Any) -> Any:
    """The paper's note 1 of Algorithm 2."""
    norms = special.gammaln(a.sum()) - special.gammaln(a).sum() - special.gammaln(b.sum()) + special.gammaln(b).sum()
    return norms + (a - b) @ (special.digamma(a) - special.digamma(a.sum()))


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
        five(normal_divergence, old, new, scaled, variance), rel=1e-9, abs=1e-12
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


def test_all_of_it_holds_and_the_table_is_complete(tables: Tables) -> None:
    steps, order = tables["rule"], tables["order"]
    assert list(steps.groupby("family", sort=False).groups) == ["Gaussian", "Dirichlet", "grid"]
    assert [claim.verdict for claim in rule_claims(steps, order)] == [HOLDS] * 6
    assert (order.ready_gamma > order.gamma).all()
    np.testing.assert_allclose(order.reported, order.before, atol=1e-7)


Change = Callable[[DataFrame], DataFrame]
ONE = ("Gaussian",)
EVERY = ("Gaussian", "Dirichlet", "grid")


def changed(tables: Tables, name: str, families: tuple[str, ...], columns: dict[str, Any]) -> list[Claim]:
    """The claims if these columns of the table had other values for these families."""
    table = tables[name].copy()
    here = table.family.isin(families)
    for column, value in columns.items():
        table.loc[here, column] = value(table[here]) if callable(value) else value
    both = tables | {name: table}
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
    tables: Tables, claim: int, name: str, columns: dict[str, Any], families: tuple[str, ...], verdict: str
) -> None:
    assert changed(tables, name, families, columns)[claim].verdict == verdict

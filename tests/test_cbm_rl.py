"""Are our likelihood of choices, and its maximum, those that the cbm toolbox has published with its example?

The data is not part of the project: tests that need it are skipped where it is not there (see `published_data`).
"""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from validation import cbm_rl

from astonish.people.fit import compare_fits, fit
from published_data import published_data

PAGE = (Path(__file__).resolve().parents[1] / "docs" / "cbm_rl.md").read_text()
DATA, needs_data = published_data("cbm_rl", "choices")


@pytest.fixture(scope="module")
def data() -> Any:
    return cbm_rl.read(DATA)


@pytest.fixture(scope="module")
def fits(data: Any) -> Any:
    return {name: fit(model, data[0], free, starts=cbm_rl.STARTS) for name, (model, free) in cbm_rl.MODELS.items()}


def _row(name: str) -> list[float]:
    """The numbers in a row of the page."""
    row = re.search(rf"^  {re.escape(name)} +(.*)$", PAGE, re.MULTILINE)
    assert row
    return [float(number) for number in re.findall(r"[+-]?\d[\d.]*", row[1])]


def _by_hand(choices: Any, rewards: Any, rate: float, beta: float) -> float:
    """The log-likelihood of choices 0 and 1, in a plain loop."""
    values, total = [0.0, 0.0], 0.0
    for choice, reward in zip(choices, rewards, strict=True):
        total -= np.log1p(np.exp(beta * (values[1 - choice] - values[choice])))
        values[choice] += rate * (reward - values[choice])
    return total


@needs_data
def test_the_published_log_likelihood(data: Any) -> None:
    """-1456.1626 in all at the published parameters, each person's to all digits that are printed, and by hand."""
    trials, published = data
    found = cbm_rl.log_likelihood(trials, published)
    np.testing.assert_allclose(found, published["log_likelihood"], rtol=1e-12)
    assert found.sum() == pytest.approx(-1456.1626, abs=1e-4)
    for row in (0, 17, 39):
        rate, beta, _ = published.iloc[row]
        by_hand = _by_hand(trials.choices[row], trials.scalar_outcomes[row], rate, beta)
        assert found[row] == pytest.approx(by_hand, rel=1e-12)
    assert _row("at the published parameters") == pytest.approx([found.sum(), 0.0, 0.0], abs=1e-4)


@needs_data
def test_our_maximum_is_at_least_the_published_one_for_everybody(data: Any, fits: Any) -> None:
    apart = fits["one rate"].log_likelihood - data[1]["log_likelihood"].to_numpy()
    assert len(apart) == 40
    assert (apart >= 0).all()
    total = fits["one rate"].log_likelihood.sum()
    assert _row("at ours") == pytest.approx([total, apart.min(), apart.max()], abs=1e-4)


@needs_data
def test_a_second_rate_does_not_pay(fits: Any) -> None:
    one, two = fits["one rate"].log_likelihood, fits["two rates"].log_likelihood
    assert (two >= one - 1e-6).all()  # one rate is a special case of two
    table = compare_fits(fits).table
    assert table["difference"]["two rates"] > 0  # for these people were simulated with one
    for name, row in table.iterrows():
        apart = [row.difference, row.difference_se] if row.difference else [0.0]
        shown = [fits[name].log_likelihood.sum(), row.bic, *apart, row.best, row.protected]
        assert _row(str(name)) == pytest.approx(shown, abs=0.06)


@needs_data
@pytest.mark.parametrize("method", cbm_rl.METHODS)
def test_rate_and_beta_are_found_again_as_the_page_says(data: Any, method: str) -> None:
    summary = cbm_rl.recover(*data, cbm_rl.METHODS[method]).summary()
    for name, row in summary.iterrows():
        shown = [row.correlation, row.bias, row.rmse, row.coverage, row.at_bound]
        assert _row(f"{method}: {name}") == pytest.approx(shown, abs=0.03)
        assert row.coverage == pytest.approx(0.95, abs=3 * row.coverage_se)

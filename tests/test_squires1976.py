"""Does surprise explain the P300 of Squires et al. (1976) as Meyniel, Maheu & Dehaene (2016) published?

The data is not part of the project: tests that need it are skipped where it is not there (see `published_data`).
"""

import itertools
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pandas import DataFrame
from scipy import stats
from typer.testing import CliRunner
from validation import squires1976
from validation.squires1976 import CONDITIONS, OBSERVERS, PER_SET, explained, fit, sequences, surprise_by_pattern

from published_data import published_data

pytestmark = pytest.mark.computes

ROOT = Path(__file__).resolve().parents[1]
DATA, needs_data = published_data("squires1976", "amplitudes")
PATTERNS = ("ABABA", "BBBBA", "BAA", "A")


def _by_hand(stimuli: list[int], leak: float, observer: str) -> list[float]:
    """Surprise at each stimulus, from weights exp(-k / leak) of what was k stimuli ago, and one of each in advance."""
    found = [math.log(2)]
    for now in range(1, len(stimuli)):
        x, before = stimuli[now], stimuli[now - 1]
        pairs = list(itertools.pairwise(stimuli[:now]))
        if observer == "frequencies, leaky":
            events = [(0, stimulus) for stimulus in stimuli[:now]]
            before = 0
        elif observer == "transitions, leaky apart":
            events = [pair for pair in pairs if pair[0] == before]
        else:
            events = pairs
        counts = [1.0, 1.0]
        for ago, (here, there) in enumerate(reversed(events), start=1):
            if here == before:
                counts[there] += math.exp(-ago / leak)
        found.append(-math.log(counts[x] / sum(counts)))
    return found


@pytest.mark.parametrize("observer", OBSERVERS, ids=lambda observer: observer.name)
def test_surprise_by_pattern_is_that_of_counts_by_hand(observer: Any) -> None:
    stimuli, leak = (np.random.default_rng(3).random((3, squires1976.STIMULI)) < 0.4).astype(int), 7.0
    found = surprise_by_pattern(observer, leak, stimuli, PATTERNS)
    values: dict[str, list[float]] = {pattern: [] for pattern in PATTERNS}
    for series in stimuli.tolist():
        letters = "".join("BA"[stimulus] for stimulus in series)
        for at, value in enumerate(_by_hand(series, leak, observer.name)):
            for pattern in PATTERNS if at >= 4 else ():
                if letters[: at + 1].endswith(pattern):
                    values[pattern].append(value)
    np.testing.assert_allclose(found, [np.mean(values[pattern]) for pattern in PATTERNS], rtol=1e-9)


def test_complete_sequences_contain_every_pattern() -> None:
    rng = np.random.default_rng(0)
    complete = sequences(rng, 0.3, 20, complete=True)
    assert complete.shape == (20, squires1976.STIMULI)
    for series in complete.tolist():
        letters = "".join("BA"[stimulus] for stimulus in series)
        assert all(f"{number:04b}".replace("1", "A").replace("0", "B") + "A" in letters for number in range(16))
    assert complete.mean() > 0.31 > sequences(rng, 0.3, 200, complete=False).mean()


def test_the_regression_is_that_of_scipy() -> None:
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(2, 48))
    line = stats.linregress(x, y)
    error = np.mean((y - line.intercept - line.slope * x) ** 2)
    assert explained(x, y) == pytest.approx((line.rvalue**2, error))


@needs_data
def test_the_published_leaks_are_best_and_explain_as_much() -> None:
    amplitudes = squires1976.read(DATA)
    of_five, rng = amplitudes[amplitudes.index.str.len() == 5], np.random.default_rng(1)
    assert (len(amplitudes), len(of_five)) == (31, 16)
    stimuli = [sequences(rng, probability, PER_SET, complete=True) for probability in CONDITIONS]
    together, apart, frequencies = (fit(observer, of_five, stimuli) for observer in OBSERVERS)
    assert together.leak in range(15, 18)
    assert together.explained >= 0.74
    assert together.error == pytest.approx(0.4705, abs=0.04)
    assert frequencies.leak in range(10, 13)
    assert frequencies.explained == pytest.approx(0.658, abs=0.02)
    assert frequencies.error == pytest.approx(0.692, abs=0.04)
    assert apart.explained < together.explained - 0.05


@needs_data
def test_the_page_shows_what_the_command_prints() -> None:
    page = (ROOT / "docs" / "squires1976.md").read_text()
    amplitudes, rng = squires1976.read(DATA), np.random.default_rng(1)
    of_five = amplitudes[amplitudes.index.str.len() == 5]
    stimuli = [sequences(rng, probability, 20 * PER_SET, complete=True) for probability in CONDITIONS]
    for observer in OBSERVERS:
        row = re.search(rf"^  {observer.name} +(\d+) +([\d.]+) +([\d.]+)", page, re.MULTILINE)
        assert row
        leak, share, error = map(float, row.groups())
        surprise = np.concatenate([surprise_by_pattern(observer, leak, each, of_five.index) for each in stimuli])
        assert explained(surprise, of_five.to_numpy().T.ravel()) == pytest.approx((share, error), abs=6e-4)


def test_a_table_that_lacks_conditions_is_refused(tmp_path: Path) -> None:
    DataFrame({"pattern": ["A"], "p_a=0.5": [1.0]}).to_csv(tmp_path / squires1976.FILE, index=False)
    assert CliRunner().invoke(squires1976.app, ["--data", str(tmp_path)]).exit_code == 2

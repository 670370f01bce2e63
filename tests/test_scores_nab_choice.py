"""Are simulated series what is said of them, and is the best setting chosen?"""

import numpy as np
import pytest
from benchmarks.scores.nab_choice import (
    ROWS,
    STEPS,
    Parts,
    Setting,
    best_setting,
    grid,
    scored,
    simulated,
    spoil,
    windows_of,
)
from numpy.random import default_rng


def test_simulated_series_are_the_same_for_a_seed_and_others_for_another() -> None:
    one, again, other = simulated(1, 5), simulated(1, 5), simulated(2, 5)
    for name, series in one.items():
        assert np.array_equal(series.values, again[name].values)
        assert series.windows == again[name].windows
        assert not np.array_equal(series.values, other[name].values)


def test_windows_are_a_tenth_of_the_series_behind_the_probation_and_apart() -> None:
    assert windows_of(1000, [300, 700]) == ((275, 325), (675, 725))
    corpus = simulated(3, 40)
    assert {len(series.windows) for series in corpus.values()} == {1, 2, 3, 4}
    for series in corpus.values():
        rows, ends = len(series.values), [end for window in series.windows for end in window]
        assert ROWS[0] <= rows <= ROWS[1]
        assert np.isfinite(series.values).all()
        assert set(np.diff(series.times).astype(int)) <= set(STEPS)
        assert ends[0] >= series.probation
        assert ends[-1] < rows
        assert ends == sorted(ends)
        inside = sum(last - first + 1 for first, last in series.windows)
        assert inside == pytest.approx(0.1 * rows, abs=2 * len(series.windows))


@pytest.mark.parametrize("kind", ["spike", "shift", "variance", "rhythm"])
def test_an_anomaly_begins_at_its_row(kind: str) -> None:
    parts = Parts(np.zeros(100), np.ones(100), np.ones(100))
    spoil(default_rng(1), parts, kind, 40, 20, 24)
    changed = np.flatnonzero((parts.level != 0) | (parts.spread != 1) | (parts.beat != 1))
    assert changed[0] == 40
    assert np.array_equal(changed, np.arange(40, changed[-1] + 1))
    assert (changed[-1] == 99) == (kind == "shift")


def test_the_setting_with_the_highest_standard_score_is_chosen() -> None:
    few, many = {"reward_low_FP_rate": 0.0, "reward_low_FN_rate": 9.0}, {"reward_low_FP_rate": 9.0}
    table = {
        Setting(rest=1): {"standard": 2.0, **many},
        Setting(rest=2): {"standard": 5.0, **few},
        Setting(rest=3): {"standard": 5.0, **many},
        Setting(rest=4): {"standard": -3.0, **many},
    }
    assert best_setting(table) == Setting(rest=2)
    assert Setting() in grid()  # which stood before
    assert len(set(grid())) == 54


def test_settings_are_scored() -> None:
    table = dict(scored(simulated(4, 2), [Setting(), Setting(rest=10), Setting(falls=False)]))
    assert list(table) == [Setting(), Setting(rest=10), Setting(falls=False)]
    assert all(0 <= found["standard"] <= 100 for found in table.values())

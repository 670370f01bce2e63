"""Are numbers kept, trusted and thrown away as they should be?"""

from pathlib import Path

import numpy as np
import pytest
from pandas import DataFrame
from pandas.testing import assert_frame_equal

from astonish.paper import study as module
from astonish.paper.study import Study

AWKWARD = DataFrame({
    "number": [0.1 + 0.2, 1 / 3, -np.inf, np.nan, 5e-324, 1.7976931348623157e308],
    "name": ["None", "NA", "nan", "a,b", 'say "x"', "ü"],
    "whole": [2**53 + 1, 0, -1, 2, 3, 4],
    "true": [True, False, True, True, False, False],
})  # fmt: skip


def folder_or_none(kept: bool, tmp_path: Path) -> Path | None:
    return tmp_path if kept else None


@pytest.mark.parametrize("kept", [True, False])
def test_a_table_comes_back_to_the_last_digit(kept: bool, tmp_path: Path) -> None:
    study = Study(folder=folder_or_none(kept, tmp_path))
    bits = np.random.default_rng(1).integers(0, 2**64, 20_000, np.uint64).view(np.float64)
    many = DataFrame({"x": bits[np.isfinite(bits)]})
    assert_frame_equal(study.table("many", lambda: many), many, check_exact=True)
    assert_frame_equal(study.table("awkward", lambda: AWKWARD), AWKWARD, check_exact=True)


@pytest.mark.parametrize(("kept", "times"), [(True, 1), (False, 2)])
def test_a_kept_table_is_not_computed_again(kept: bool, times: int, tmp_path: Path) -> None:
    computed, told = [], []

    def compute() -> DataFrame:
        computed.append(1)
        return DataFrame({"x": [1]})

    for _ in range(2):  # as two runs of a program would
        study = Study(folder=folder_or_none(kept, tmp_path), told=told.append)
        assert not study.open()
        study.table("one", compute)
        assert study.has("one") == kept
    assert len(computed) == times
    assert told == ["one", "one"]


def test_a_table_that_fails_leaves_nothing(tmp_path: Path) -> None:
    told: list[str] = []
    with pytest.raises(ZeroDivisionError):
        Study(folder=tmp_path, told=told.append).table("one", lambda: DataFrame({"x": [1 // 0]}))
    assert not list(tmp_path.iterdir())
    assert not told


@pytest.mark.parametrize("change", ["seed", "quick", "code"])
def test_numbers_of_other_settings_are_removed(change: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "numbers"
    first = Study(seed=1, folder=folder)
    assert not first.open()
    first.table("one", lambda: DataFrame({"x": [1]}))
    (folder / "notes.txt").write_text("mine")
    if change == "code":
        monkeypatch.setattr(module, "_code", lambda: "of tomorrow")
    other = Study(seed=2 if change == "seed" else 1, quick=change == "quick", folder=folder)
    assert other.open()
    assert sorted(path.name for path in folder.iterdir()) == ["notes.txt", "settings.json"]
    assert other.table("one", lambda: DataFrame({"x": [2]}))["x"].tolist() == [2]
    assert not other.open()
    assert other.has("one")


@pytest.mark.parametrize("settings", [None, "{}", "\xff not JSON"])
def test_tables_of_somebody_else_are_refused_and_left(settings: str | None, tmp_path: Path) -> None:
    (tmp_path / "thesis.csv").write_text("years\n5\n")
    if settings is not None:
        (tmp_path / "settings.json").write_text(settings, encoding="latin-1")
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(FileExistsError, match=r"thesis\.csv; give a new folder"):
        Study(folder=tmp_path).open()
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_the_code_has_a_fingerprint_that_does_not_change_by_itself() -> None:
    assert module._code() == module._code()
    assert len(module._code()) == 16

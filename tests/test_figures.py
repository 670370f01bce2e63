"""Checks of every figure what all of them promise, and that its results are stored, trusted and computed again.

Of all: tables that are the same for the same seed, a drawing of the tables alone, sound claims.
"""

from collections.abc import Callable
from functools import cache
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest
from pandas import DataFrame
from pandas.testing import assert_frame_equal

import astonish
from astonish.paper.figure import (
    FAILS,
    HOLDS,
    IN_PART,
    MODULES,
    Drawing,
    Figure,
    RunSettings,
    Tables,
    chosen,
    claims_from_json,
    paper_figure,
)
from astonish.sweep import study

SHORT = chosen([])
every = pytest.mark.parametrize("figure", SHORT, ids=[figure.name for figure in SHORT])
VERDICTS = Path(str(astonish.__file__)).parent / "page" / "tour" / "verdicts.json"
QUICK = RunSettings(2, quick=True)
SHARES: dict[str, list[float]] = {}


@cache
def _tables(name: str) -> Tables:
    SHARES[name] = []
    return paper_figure(name).compute(QUICK, progress=SHARES[name].append)


def test_there_are_the_eight_figures_of_the_paper() -> None:
    ours = ["ceiling", "sweeps", "readings", "em", "cost", "drift", "links", "choices"]
    assert list(MODULES) == [*"12345678", *ours]
    assert [figure.name for figure in SHORT] == [*"12345678", *ours[:-1]]
    assert [figure.name for figure in chosen([], thorough=True)] == list(MODULES)


@every
def test_there_are_tables_and_progress_is_reported(figure: Figure) -> None:
    tables = _tables(figure.name)
    assert tables
    assert all(len(table) for table in tables.values())
    settings = len(figure.study(QUICK).settings)
    assert SHARES[figure.name] == pytest.approx([k / settings for k in range(settings + 1)])  # the bar counts on it


@every
def test_claims_are_complete_and_decided(figure: Figure) -> None:
    claims = figure.claims(_tables(figure.name))
    assert claims
    for claim in claims:
        assert claim.verdict in (HOLDS, IN_PART, FAILS)
        assert all(claim[:7])
        assert claim.says.endswith((".", "?"))
        assert claim.why.endswith(".")


@every
def test_the_page_of_verdicts_has_every_claim(figure: Figure) -> None:
    """Whoever adds or rewords a claim has to run `make verdicts`."""
    kept = {claim.id: claim for claim in claims_from_json(VERDICTS.read_text(encoding="utf-8"))}
    claims = figure.claims(_tables(figure.name))
    assert len({claim.id for claim in claims}) == len(claims)
    for claim in claims:
        stored = kept[claim.id]
        assert (stored.where, stored.says, stored.figure) == (claim.where, claim.says, figure.name)


@every
def test_a_drawing_has_labelled_axes(figure: Figure) -> None:
    drawing = figure.draw(_tables(figure.name))
    drawing.canvas.draw()
    assert figure.caption.endswith(".")
    if figure.name not in ("1", "4"):  # pictures rather than plots
        assert any(axis.get_xlabel() or drawing.get_supxlabel() for axis in drawing.axes)
        assert any(axis.get_ylabel() or drawing.get_supylabel() for axis in drawing.axes)
    plt.close(drawing)


LONG = ("1", "8", "readings", "em", "cost")


@pytest.mark.parametrize(
    "figure",
    [pytest.param(figure, marks=pytest.mark.hostile if figure.name in LONG else ()) for figure in SHORT],
    ids=[figure.name for figure in SHORT],
)
def test_the_same_seed_gives_the_same_numbers(figure: Figure) -> None:
    again = figure.compute(QUICK)
    assert list(again) == list(_tables(figure.name))
    for name, table in _tables(figure.name).items():
        assert table.equals(again[name])


# Tables and results are written, trusted and replaced

AWKWARD = DataFrame({
    "number": [0.1 + 0.2, 1 / 3, -np.inf, np.nan, 5e-324, 1.7976931348623157e308],
    "name": ["None", "NA", "nan", "a,b", 'say "x"', "ü"],
    "whole": [2**53 + 1, 0, -1, 2, 3, 4],
    "true": [True, False, True, True, False, False],
})  # fmt: skip


def _figure(**simulations: Callable[[RunSettings], DataFrame | Tables]) -> Figure:
    return Figure("9", "title", "caption", simulations, lambda _: Drawing(), lambda _: [])


@pytest.mark.parametrize("stored", [True, False])
def test_a_table_comes_back_to_the_last_digit(stored: bool, tmp_path: Path) -> None:
    bits = np.random.default_rng(1).integers(0, 2**64, 20_000, np.uint64).view(np.float64)
    many = DataFrame({"x": bits[np.isfinite(bits)]})
    figure = _figure(many=lambda _: many, two=lambda _: {"awkward": AWKWARD, "more": many})
    for _ in range(2):  # computed, and read
        tables = figure.compute(RunSettings(), tmp_path if stored else None)
        assert list(tables) == ["many", "awkward", "more"]
        assert_frame_equal(tables["many"], many, check_exact=True)
        assert_frame_equal(tables["awkward"], AWKWARD, check_exact=True)


def test_a_simulation_that_fails_leaves_no_table_and_the_others_are_kept(tmp_path: Path) -> None:
    computed: list[str] = []

    def good(_: RunSettings) -> DataFrame:
        computed.append("good")
        return DataFrame({"x": [1]})

    def bad(_: RunSettings) -> DataFrame:
        return DataFrame({"x": [1 // 0]})

    for _ in range(2):
        with pytest.raises(RuntimeError, match=r"Figure 9: bad failed:\n(.*\n)*ZeroDivisionError"):
            _figure(good=good, bad=bad).compute(RunSettings(), tmp_path)
    assert computed == ["good"]
    assert not list(tmp_path.glob("*.csv"))


@pytest.mark.parametrize("change", ["seed", "quick", "code"])
def test_results_of_other_settings_or_code_are_computed_again(
    change: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    _figure(one=lambda _: DataFrame({"x": [1]})).compute(RunSettings(1), tmp_path)
    if change == "code":
        monkeypatch.setattr(study, "code", lambda: "of tomorrow")
    said: list[str] = []
    other = RunSettings(2 if change == "seed" else 1, change == "quick")
    figure = _figure(one=lambda _: DataFrame({"x": [2]}))
    for _ in range(2):
        assert figure.compute(other, tmp_path, say=said.append)["one"]["x"].tolist() == [2]
    assert said == ["results of another study or of other code are computed again"]
    assert (tmp_path / "notes.txt").read_text() == "mine"

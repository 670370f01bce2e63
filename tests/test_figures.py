"""Checks of every figure what all of them promise: tables as announced, a drawing of the tables alone, sound claims."""

from functools import cache

import matplotlib.pyplot as plt
import pytest

from astonish.paper.claims import FAILS, HOLDS, IN_PART
from astonish.paper.figure import Figure
from astonish.paper.figures import FIGURES
from astonish.paper.study import Numbers, Study

every = pytest.mark.parametrize("figure", FIGURES, ids=[figure.name for figure in FIGURES])


TOLD: dict[str, list[str]] = {}


@cache
def _numbers(name: str) -> Numbers:
    TOLD[name] = []
    return {figure.name: figure for figure in FIGURES}[name].compute(Study(2, quick=True, told=TOLD[name].append))


def test_there_are_the_eight_figures_of_the_paper() -> None:
    assert [figure.name for figure in FIGURES][:8] == list("12345678")


@every
def test_the_tables_are_those_announced_and_not_empty(figure: Figure) -> None:
    numbers = _numbers(figure.name)
    assert tuple(numbers) == tuple(TOLD[figure.name]) == figure.tables  # the bar counts on it
    assert all(len(table) for table in numbers.values())


@every
def test_claims_are_complete_and_decided(figure: Figure) -> None:
    claims = figure.claims(_numbers(figure.name))
    assert claims
    for claim in claims:
        assert claim.verdict in (HOLDS, IN_PART, FAILS)
        assert all(claim)
        assert claim.says.endswith((".", "?"))
        assert claim.why.endswith(".")


@every
def test_a_drawing_has_labelled_axes(figure: Figure) -> None:
    drawing = figure.draw(_numbers(figure.name))
    drawing.canvas.draw()
    assert figure.caption.endswith(".")
    if figure.name not in ("1", "4"):  # pictures rather than plots
        assert any(axis.get_xlabel() or drawing.get_supxlabel() for axis in drawing.axes)
        assert any(axis.get_ylabel() or drawing.get_supylabel() for axis in drawing.axes)
    plt.close(drawing)


@every
def test_the_same_seed_gives_the_same_numbers(figure: Figure) -> None:
    again = figure.compute(Study(seed=2, quick=True))
    for name, table in _numbers(figure.name).items():
        assert table.equals(again[name])

"""Does a click on a sample explain it, with the numbers of the library, by keys, and without motion if so set?"""
# ruff: noqa: F811 - fixtures are imported, and named by the tests that use them

from typing import Any

import numpy as np
import pytest

pytest.importorskip("playwright.sync_api", reason="the browser is driven by playwright")
pytest.importorskip("starlette", reason="the page needs starlette")

from astonish import explain
from astonish.page.worlds import series
from test_browser import DEFAULTS, GAUSSIAN, _drawn, browser, home, pytestmark, visit  # noqa: F401

SENTENCE, TITLE = "#gaussian .explain .sentence", "#gaussian .explain .head h2"


def _sentence(name: str, at: int) -> str:
    """What the library says of a sample of the world that is shown first."""
    return explain(GAUSSIAN.assembled(name, DEFAULTS).learner, series(DEFAULTS, 1).samples, at).sentence


def _says(page: Any, sentence: str) -> None:
    page.wait_for_function(
        "([where, text]) => document.querySelector(where)?.textContent === text",
        arg=[SENTENCE, sentence],
        timeout=60000,
    )


def _heights(page: Any, plot: int, name: str) -> Any:
    found = page.evaluate(
        """([plot, name]) => Array.from(document.querySelectorAll("#gaussian .explain .plot")[plot].plotted
            .find(each => each.name.startsWith(name)).y)""",
        [plot, name],
    )
    return np.array(found)


def _places(page: Any) -> list[float]:
    """How far the animation had come, each time that it was drawn since this was last asked."""
    found: list[float] = page.evaluate(
        """() => {
            const section = document.querySelector("#gaussian .explain"), seen = window.places ?? [];
            window.places = [];
            window.watcher ??= new MutationObserver(() => window.places.push(Number(section.dataset.at)));
            window.watcher.observe(section, { attributeFilter: ["data-at"] });
            return seen;
        }"""
    )
    return found


def _click_on(page: Any, index: int) -> None:
    """Click on the marks of a sample in the first plot, which shows 200 of them from 0 to 201."""
    plot = page.locator("#gaussian .plot").first
    box = plot.evaluate(
        "plot => { const { x, width } = plot.querySelector('clipPath rect').getBBox(); return [x + 5, x + width - 5]; }"
    )
    left, right = box
    plot.click(position={"x": left + (right - left) * (index + 1) / 201, "y": 120})


def test_a_sample_is_explained_by_pointing_and_by_keys(visit: Any) -> None:
    page = visit("#tab=gaussian", reduced_motion="reduce")
    _drawn(page, "gaussian")
    assert page.locator("#gaussian .explain").is_hidden()
    _click_on(page, 93)
    _says(page, _sentence("smile", 93))
    assert page.inner_text(TITLE) == "Explain sample 94"
    learner, samples = GAUSSIAN.assembled("smile", DEFAULTS).learner, series(DEFAULTS, 1).samples
    found = explain(learner, samples, 93)
    assert found.drawing is not None
    assert found.terms is not None
    assert _heights(page, 0, "before") == pytest.approx(found.drawing.heights[0], rel=1e-9, abs=1e-12)
    assert _heights(page, 0, "after") == pytest.approx(found.drawing.heights[-2], rel=1e-9, abs=1e-12)  # at once
    assert _heights(page, 0, "scaled") == pytest.approx(found.drawing.heights[-1], rel=1e-9, abs=1e-12)
    bars = [_heights(page, 1, name)[0] for name in ("Shannon", "Bayesian", "log norm", "commitment")]
    assert bars == pytest.approx(list(found.terms.values()), rel=1e-6, abs=1e-9)
    assert _heights(page, 1, "S_cc")[0] == pytest.approx(sum(bars), rel=1e-6)
    label = page.locator("#gaussian .explain .plot").first.get_attribute("aria-label")
    assert found.sentence in label
    assert _places(page) == []
    page.locator("#gaussian .plot").first.press("ArrowRight")
    _says(page, _sentence("smile", 94))
    assert set(_places(page)) == {1.0}  # never anywhere between
    page.locator("#gaussian .explain button", has_text="Previous").press("ArrowLeft")
    _says(page, _sentence("smile", 93))
    page.select_option('select[name="gaussian.explained"]', "delta")
    _says(page, _sentence("delta", 93))
    assert page.locator("#gaussian .explain figure").nth(1).is_hidden()  # for there is no S_cc
    page.keyboard.press("Escape")
    assert page.locator("#gaussian .explain").is_hidden()
    assert page.evaluate("document.querySelectorAll('#gaussian .picked').length") == 0


def test_the_belief_moves_where_motion_is_welcome_and_a_link_opens_it(visit: Any) -> None:
    page = visit("#tab=gaussian&gaussian.pick=93", reduced_motion="no-preference")
    _says(page, _sentence("smile", 93))
    page.wait_for_selector('#gaussian .explain[data-at="1"]')
    assert _places(page) == []
    page.locator("#gaussian .explain button", has_text="Next").click()
    _says(page, _sentence("smile", 94))
    page.wait_for_selector('#gaussian .explain[data-at="1"]')
    places = _places(page)
    assert (places[0], places[-1]) == (0.0, 1.0)
    assert places == sorted(places)

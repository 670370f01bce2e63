"""Does the page stay honest and usable: stale numbers, history, small screens, wrong settings, plots, contrast?

And does a click on a sample explain it, with the numbers of the library, by keys, and without motion if so set?
"""
# ruff: noqa: F811 - fixtures are imported, and named by the tests that use them

import re
from typing import Any

import numpy as np
import pytest

from astonish.online.explanation import Explanation, explain
from astonish.page import server, worlds
from test_browser import (
    DEFAULTS,
    GAUSSIAN,
    _cells,
    _drawn,
    _plotted,
    _set,
    browser,  # noqa: F401
    home,  # noqa: F401
    pytestmark,  # noqa: F401
    visit,  # noqa: F401
)
from test_explorer_jobs import served

CSS = (server.STATIC / "style.css").read_text(encoding="utf-8")
DELTA = "#gaussian.learners=delta&gaussian.samples=40"


def _picked(page: Any) -> int:
    page.wait_for_timeout(300)
    return int(re.search(r"gaussian\.pick=(\d+)", page.url)[1])  # type: ignore[index]


def test_tabs_are_in_the_history_and_links_open_without_loading_the_page_again(visit: Any) -> None:
    page = visit(DELTA)
    _drawn(page, "gaussian")
    page.evaluate("() => { window.stayed = true; }")
    page.click("#tab-lab")
    _drawn(page, "lab")
    _set(page, "lab.m", 3, "lab")
    page.go_back()
    page.wait_for_selector("#gaussian:not([hidden])")
    page.go_forward()
    page.wait_for_selector("#lab:not([hidden])")
    assert page.input_value('input[name="lab.m number"]') == "3"
    page.evaluate("() => { location.hash = 'tab=lab&lab.m=0.5&gaussian.samples=40'; }")
    page.wait_for_function("() => document.querySelector('input[name=\"lab.m number\"]')?.value === '0.5'")
    page.go_back()
    page.wait_for_function("() => document.querySelector('input[name=\"lab.m number\"]')?.value === '0.5'")
    assert page.get_attribute("#tab-lab", "aria-selected") == "true"
    assert page.evaluate("() => window.stayed")


def test_what_does_not_apply_is_dropped_with_a_word(visit: Any) -> None:
    page = visit("#tab=lab&lab.family=beta&lab.own.noise=2&lab.own.ones=4&lab.flavour=7")
    _drawn(page, "lab")
    assert "flavour = 7" in page.inner_text("#notice")
    assert page.input_value('input[name="lab.own.ones number"]') == "4"
    page.wait_for_timeout(300)
    assert not re.search("noise|flavour", page.url)
    page.select_option('select[name="lab.family"]', "gaussian")
    page.wait_for_function("() => document.getElementById('notice').textContent.includes('ones = 4')")
    other = visit("#gaussian.noise=-1&gaussian.measure=joy&gaussian.learners=delta&gaussian.samples=40")
    _drawn(other, "gaussian")
    assert other.locator(".wrong:not([hidden])").all_inner_texts() == [
        "noise = -1 is not allowed; give a number from 0.1 to 20. It is still 4.",
        "measure of surprise = joy is not offered; it is Shannon surprise, -ln p(x) (nats).",
    ]


def test_a_number_that_is_not_allowed_is_named_beside_its_field(visit: Any) -> None:
    page = visit(DELTA)
    _drawn(page, "gaussian")
    box = page.locator('input[name="gaussian.noise number"]')
    box.fill("-1")
    sentence = "noise = -1 is not allowed; give a number from 0.1 to 20. It is still 4."
    assert page.locator(f"#{box.get_attribute('aria-describedby')}").inner_text() == sentence
    assert box.get_attribute("aria-invalid") == "true"
    _set(page, "gaussian.noise", 3, "gaussian")
    assert page.locator(".wrong:not([hidden])").count() == 0
    page.locator('input[name="gaussian.hazard"]').evaluate(
        "each => { each.value = -2; each.dispatchEvent(new Event('input')); }"
    )
    assert page.input_value('input[name="gaussian.hazard number"]') == "0.01"  # its slider goes through powers of ten


def test_the_page_asks_again_when_the_server_is_back(browser: Any, home: str) -> None:
    with browser.new_context() as context:
        page = context.new_page()
        with served(server.make_app(warm=False)) as address:
            page.goto(address + DELTA)
            _drawn(page, "gaussian")
        page.fill('input[name="gaussian.seed number"]', "77")
        page.wait_for_function("() => document.getElementById('problem').textContent.includes('Trying again')")
        assert page.get_attribute("#gaussian .views", "aria-busy") == "true"
        assert "earlier settings" in page.inner_text("#gaussian .outdated")
        before = _plotted(page, "gaussian", "samples")
        with served(server.make_app(warm=False), int(address.split(":")[-1].strip("/"))):
            page.wait_for_selector("#problem", state="hidden", timeout=20000)
            assert page.get_attribute("#gaussian .views", "aria-busy") == "false"
            assert page.locator("#gaussian .outdated").is_hidden()
            expected = worlds.series(DEFAULTS | {"samples": 40}, seed=77).samples
            assert _plotted(page, "gaussian", "samples") == pytest.approx(expected)
            assert _plotted(page, "gaussian", "samples") != pytest.approx(before)


def test_surprise_has_one_named_measure_and_the_winner_wins_on_average(visit: Any) -> None:
    page = visit("#gaussian.learners=smile+delta&gaussian.samples=40")
    _drawn(page, "gaussian")
    texts = page.locator("#gaussian .plot svg text").all_text_contents()
    assert "surprise: Shannon surprise, -ln p(x) (nats)" in texts
    assert "Not shown, for they do not have it: delta." in page.inner_text("#gaussian .views")
    assert len(page.evaluate("document.querySelector('#gaussian .plot').plotted.filter(m => m.panel === 1)")) == 2
    page.wait_for_function("() => document.querySelector('#gaussian tr.best') !== null")
    averages = GAUSSIAN.averages({"learners": ["smile", "delta"], "samples": 40})
    assert page.inner_text("#gaussian tr.best th") == averages["best"]
    for name, cells in _cells(page, "gaussian").items():
        mean, error = map(float, cells[2].split(" ± "))
        assert mean == pytest.approx(averages["learners"][name]["mean"], abs=0.51 * 10 ** -len(cells[2].split(".")[-1]))
        assert error == pytest.approx(averages["learners"][name]["error"], rel=0.06)
    assert averages["words"] in page.inner_text("#gaussian .views")
    page.fill('input[name="gaussian.noise number"]', "2")  # the averages of before are not shown beside it
    page.wait_for_function(
        "() => [...document.querySelectorAll('#gaussian tbody tr')].every(row => row.innerText.includes('...'))"
    )
    assert page.locator("#gaussian tr.best").count() == 0


def test_samples_are_read_and_picked_by_pointer_and_keys(visit: Any) -> None:
    page = visit(DELTA)
    _drawn(page, "gaussian")
    samples, plot = _plotted(page, "gaussian", "samples"), page.locator("#gaussian .plot").first
    box = plot.bounding_box()
    plot.hover(position={"x": 0.5 * box["width"], "y": 120})
    shown = page.inner_text("#gaussian .readout")
    at = int(re.search(r"sample (\d+)", shown)[1]) - 1  # type: ignore[index]
    assert f"samples: {samples[at]:.4g}" in shown
    plot.click(position={"x": 0.5 * box["width"], "y": 120})
    assert _picked(page) == at
    assert plot.get_attribute("role") == "slider"
    plot.focus()
    page.keyboard.press("ArrowRight")
    assert _picked(page) == at + 1
    assert f"samples: {samples[at + 1]:.4g}" in plot.get_attribute("aria-valuetext")
    page.keyboard.press("End")
    assert _picked(page) == 39
    assert page.locator("#gaussian .plot .picked").count() == 4


@pytest.mark.parametrize(("width", "height"), [(390, 844), (640, 450)])  # a phone, and a screen at 200 %
def test_the_plot_stays_in_view_and_a_swipe_scrolls(browser: Any, home: str, width: int, height: int) -> None:
    with browser.new_context(viewport={"width": width, "height": height}, has_touch=True, is_mobile=True) as context:
        page = context.new_page()
        page.goto(home + DELTA)
        _drawn(page, "gaussian")
        slider = page.locator('input[name="gaussian.samples"]')
        slider.evaluate("each => scrollTo(0, each.getBoundingClientRect().bottom + scrollY - innerHeight + 30)")
        plot, handle = page.locator("#gaussian .plot").first.bounding_box(), slider.bounding_box()
        assert plot["y"] >= 0
        assert plot["y"] + plot["height"] <= handle["y"] < height
        assert plot["y"] + plot["height"] < 0.62 * height  # there is room for controls
        page.evaluate("scrollTo(0, 0)")
        plot = page.locator("#gaussian .plot").first.bounding_box()
        touch = context.new_cdp_session(page)
        y = min(plot["y"] + 60, height - 20)
        touch.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [{"x": 150, "y": y}]})
        for moved in range(10, 150, 10):
            touch.send("Input.dispatchTouchEvent", {"type": "touchMove", "touchPoints": [{"x": 150, "y": y - moved}]})
        touch.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
        page.wait_for_function("() => scrollY > 60")
        page.wait_for_timeout(500)  # it comes to rest
        assert "gaussian.pick" not in page.url
        plot = page.locator("#gaussian .plot").first.bounding_box()
        page.touchscreen.tap(plot["x"] + 0.5 * plot["width"], plot["y"] + 60)
        assert 0 <= _picked(page) < 40
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth + 1")


def test_axes_have_round_numbers_and_rounding_errors_are_zero(visit: Any) -> None:
    page = visit(DELTA)
    found = page.evaluate("""async () => { const { scale, ticks, written } = await import("/static/axes.js");
        return [ticks([-1.1, 1.3], 5), ticks([0, 1e-3], 2), ticks([0.001, 200], 8, true), written(3e-17, 1),
          written(-0.5, 1), ticks([-0.1 - 0.2 + 0.3, 1], 2)[0], scale([1, 100], [0, 10], true)(10),
          scale([2, 4], [10, 0]).value(2.5)]; }""")
    assert found == [
        [[-1, "-1"], [-0.5, "-0.5"], [0, "0"], [0.5, "0.5"], [1, "1"]],
        [[0, "0"], [5e-4, "0.0005"], [1e-3, "0.001"]],
        [[10**k, f"{10**k:g}"] for k in range(-3, 3)],
        "0", "-0.5", [0, "0"], 5, 3.5,
    ]  # fmt: skip


# ---- explanations

SENTENCE, TITLE = "#gaussian .explain .sentence", "#gaussian .explain .head h2"


def _says(page: Any, name: str, at: int) -> Explanation:
    """Wait until the page says what the library says of a sample of the world that is shown first."""
    found = explain(GAUSSIAN.assembled(name, DEFAULTS).learner, worlds.series(DEFAULTS, 1).samples, at)
    says = "([where, text]) => document.querySelector(where)?.textContent === text"
    page.wait_for_function(says, arg=[SENTENCE, found.sentence], timeout=60000)
    return found


def _heights(page: Any, plot: int, name: str) -> Any:
    drawn = page.locator("#gaussian .explain .plot").nth(plot)
    return np.array(drawn.evaluate("(plot, name) => [...plot.plotted.find((m) => m.name.startsWith(name)).y]", name))


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
    left, right = plot.evaluate(
        "plot => { const { x, width } = plot.querySelector('clipPath rect').getBBox(); return [x + 5, x + width - 5]; }"
    )
    plot.click(position={"x": left + (right - left) * (index + 1) / 201, "y": 120})


def test_a_sample_is_explained_by_pointing_and_by_keys(visit: Any) -> None:
    page = visit("#tab=gaussian", reduced_motion="reduce")
    _drawn(page, "gaussian")
    assert page.locator("#gaussian .explain").is_hidden()
    _click_on(page, 93)
    found = _says(page, "smile", 93)
    assert page.inner_text(TITLE) == "Explain sample 94"
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
    _says(page, "smile", 94)
    assert set(_places(page)) == {1.0}  # never anywhere between
    page.locator("#gaussian .explain button", has_text="Previous").press("ArrowLeft")
    _says(page, "smile", 93)
    page.select_option('select[name="gaussian.explained"]', "delta")
    _says(page, "delta", 93)
    assert page.locator("#gaussian .explain figure").nth(1).is_hidden()  # for there is no S_cc
    page.keyboard.press("Escape")
    assert page.locator("#gaussian .explain").is_hidden()
    assert page.evaluate("document.querySelectorAll('#gaussian .picked').length") == 0


def test_the_belief_moves_where_motion_is_welcome_and_a_link_opens_it(visit: Any) -> None:
    page = visit("#tab=gaussian&gaussian.pick=93", reduced_motion="no-preference")
    _says(page, "smile", 93)
    page.wait_for_selector('#gaussian .explain[data-at="1"]')
    assert _places(page) == []
    page.locator("#gaussian .explain button", has_text="Next").click()
    _says(page, "smile", 94)
    page.wait_for_selector('#gaussian .explain[data-at="1"]')
    places = _places(page)
    assert (places[0], places[-1]) == (0.0, 1.0)
    assert places == sorted(places)


# ---- contrast, from the style sheet


def _luminance(colour: str) -> float:
    digits = colour.strip("#")
    channels = [int(2 * c, 16) for c in digits] if len(digits) == 3 else [int(digits[k : k + 2], 16) for k in (0, 2, 4)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in np.array(channels) / 255]
    return float(np.dot(linear, [0.2126, 0.7152, 0.0722]))


def _contrast(one: str, other: str) -> float:
    low, high = sorted((_luminance(one), _luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", [r":root \{", r':root\[data-theme="dark"\] \{'])
def test_lines_and_borders_are_seen_and_words_are_read(theme: str) -> None:
    block = re.search(theme + r"(.*?)\n\}", CSS, re.DOTALL)
    assert block is not None
    colours: dict[str, str] = dict(re.findall(r"--([\w-]+): (#\w+)", block[1]))
    series = [name for name in colours if name.startswith("series-")]
    assert len(series) == 7 == CSS.count("stroke: var(--series-")
    for name, least in [*((name, 3) for name in (*series, "edge")), ("text", 7), ("quiet", 4.5), ("accent", 4.5)]:
        for back in ("back", "panel"):
            assert _contrast(colours[name], colours[back]) >= least, (name, back)
    assert _contrast(colours["warn"], colours["warn-back"]) >= 4.5
    assert _contrast(colours["warn"], colours["panel"]) >= 4.5
    assert _contrast(colours["on-accent"], colours["accent"]) >= 4.5
    for rule in re.findall(r"^(?:button|select, input|\.drop) \{[^}]*border: [^;]*", CSS, re.MULTILINE):
        assert "var(--edge)" in rule

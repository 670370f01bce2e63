"""Does the tour work in a browser: keys, buttons, links, history, controls that break claims, small screens?"""
# ruff: noqa: F811 - fixtures are imported, and named by the tests that use them

from typing import Any

import numpy as np
import pytest

from astonish.page.tour.screens import SCREENS, TourTab
from test_browser import browser, home, pytestmark, visit  # noqa: F401

NAMES = list(SCREENS)
LIGHT = NAMES[:4]  # screens whose numbers take no time


def _stand_in(page: Any) -> Any:
    """From now on, screens that simulate show the answer of another one: their own numbers are tested elsewhere."""
    answer = TourTab().answer({"screen": "bound"})

    def answered(route: Any) -> None:
        asked = route.request.post_data_json
        route.fulfill(json=answer) if asked and asked["screen"] not in LIGHT else route.continue_()

    page.route("**/api/tour", answered)
    return page


def _shown(page: Any, number: int, answers: int = 1) -> None:
    """Wait until a screen has shown so many answers, and nothing on it moves any more."""
    page.wait_for_function(
        """([number, answers]) => { const all = [...document.querySelectorAll("#tour article")], one = all[number - 1];
            return one && !one.hidden && Number(one.dataset.answers ?? 0) >= answers
              && all.filter((each) => !each.hidden).length === 1; }""",
        arg=[number, answers],
        timeout=60000,
    )
    assert page.inner_text("#tour .progress") == f"{number} of {len(SCREENS)}"


def _found(page: Any) -> str:
    return str(page.inner_text("#tour article:not([hidden]) .found"))


def _bars(page: Any, name: str) -> Any:
    plot = page.locator("#tour article:not([hidden]) .plot")
    return np.array(plot.evaluate("(plot, name) => [...plot.plotted.find((each) => each.name === name).y]", name))


def test_the_tour_is_where_one_lands_and_goes_by_keys_and_buttons(visit: Any) -> None:
    page = _stand_in(visit())
    _shown(page, 1)
    assert page.get_attribute("#tab-tour", "aria-selected") == "true"
    assert _bars(page, "belief").tolist() == [0.5, 0.5]
    assert page.locator("#tour .told p").all_inner_texts() == ["Press the right arrow key, or Next line."]
    page.keyboard.press("ArrowRight")
    _shown(page, 1, 2)
    tipping = _bars(page, "belief")[0]
    page.wait_for_function("() => document.querySelector('#tour .plot').plotted[0].y[0] > 0.949")  # it moves there
    assert 0.5 <= tipping < 0.95
    page.keyboard.press("ArrowRight")
    page.click("#tour nav >> text=Next line")
    _shown(page, 1, 4)
    assert page.locator("#tour .told p").count() == 3
    assert _found(page).startswith("◐ holds in part at these settings.")
    assert page.locator("#tour nav").get_by_role("button", name="Next", exact=True).is_enabled()
    page.keyboard.press("ArrowRight")
    _shown(page, 2)
    page.locator("#tour nav").get_by_role("button", name="Next", exact=True).click()
    _shown(page, 3)
    page.keyboard.press("ArrowLeft")  # though a button has the focus
    _shown(page, 2)
    page.keyboard.press("End")
    _shown(page, len(SCREENS))
    assert page.locator("#tour nav").get_by_role("button", name="Next", exact=True).is_disabled()
    page.get_by_role("button", name="Screen 7:").click()
    _shown(page, 7)
    page.keyboard.press("Home")
    _shown(page, 1)
    assert page.locator("#tour .told p").count() == 3  # where it was left


def test_screens_are_in_the_history_and_links_lead_to_them(visit: Any) -> None:
    page = _stand_in(visit("#tab=tour&screen=3&tour.commitment.x=1"))
    _shown(page, 3)
    assert page.input_value('input[name="tour.commitment.x number"]') == "1"
    page.keyboard.press("ArrowRight")
    _shown(page, 4)
    page.click("#tab-lab")
    page.wait_for_selector("#lab:not([hidden])")
    page.go_back()
    _shown(page, 4)
    page.go_back()
    _shown(page, 3)
    page.go_forward()
    _shown(page, 4)
    page.evaluate("() => { location.hash = 'tab=tour&screen=2'; }")
    _shown(page, 2)
    page.evaluate("() => { location.hash = 'tab=tour&screen=1&tour.joke.line=2&tour.joke.first=Tuesday'; }")
    page.wait_for_function("() => document.querySelectorAll('#tour article:not([hidden]) .told p').length === 2")
    assert "Tuesday" in page.inner_text("#tour article:not([hidden]) .told")
    page.evaluate("() => { location.hash = 'tab=tour&screen=99'; }")
    _shown(page, len(SCREENS))
    page.wait_for_timeout(300)
    assert "screen=8" in page.url


def test_controls_break_claims_and_keep_their_keys(visit: Any) -> None:
    page = _stand_in(visit("#screen=2", reduced_motion="reduce"))
    _shown(page, 2)
    assert _found(page).startswith("✓ holds at these settings.")
    expected = TourTab().answer({"screen": "voters"})["sentence"]
    assert _found(page).endswith(expected)
    label = page.get_attribute("#tour article:not([hidden]) .plot", "aria-label")
    assert label == f"{SCREENS[NAMES[1]].title}. {expected}"
    page.focus('input[name="tour.voters.confidence"]')
    page.keyboard.press("ArrowRight")
    _shown(page, 2, 2)  # the slider moved, and the screen stayed
    assert _bars(page, "belief of C")[3] > 0.25
    page.get_by_role("button", name="Break it").click()
    _shown(page, 2, 3)
    assert _found(page).startswith("✗ does not hold at these settings.")
    assert len(set(_bars(page, "surprise at candidate 2").round(9))) == 1
    page.get_by_role("button", name="As in the paper").click()
    _shown(page, 2, 4)
    assert _found(page).startswith("✓ holds")
    page.click("#python")
    assert "elected" in str(page.text_content("#code"))
    page.keyboard.press("ArrowRight")  # a dialog is open
    page.click("#close")
    page.locator("#tour article:not([hidden]) .plot").focus()
    page.keyboard.press("ArrowRight")  # which reads the plot
    page.focus("#tab-tour")
    page.wait_for_timeout(50)
    assert page.inner_text("#tour .progress").startswith("2 ")
    verdict = page.inner_text("#tour article:not([hidden]) .claim")
    assert "✓ holds" in verdict
    assert "section 2.1 (c)" in verdict


def test_it_fits_a_phone_twofold_zoom_and_a_lecture_room(visit: Any) -> None:
    page = _stand_in(visit("#tour.joke.line=3", reduced_motion="reduce", color_scheme="dark"))
    _shown(page, 1)
    for width, height in ((1280, 720), (1920, 1080), (640, 450), (390, 844)):
        page.set_viewport_size({"width": width, "height": height})
        for number in range(1, len(SCREENS) + 1):
            page.evaluate("number => document.querySelectorAll('#tour .stations button')[number - 1].click()", number)
            _shown(page, number)
            page.wait_for_timeout(50)
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth + 1"), (width, number)
            bar = page.locator("#tour nav").bounding_box()
            assert bar["y"] + bar["height"] == pytest.approx(height, abs=1)  # it stays in place
            assert page.locator("#tour article:not([hidden]) .plot svg").bounding_box()["width"] <= width
    page.evaluate("document.querySelector('#tour article:not([hidden]) fieldset').scrollIntoView({block: 'end'})")
    plot, first = (page.locator(f"#tour article:not([hidden]) {part}").bounding_box() for part in (".plot", "fieldset"))
    assert 0 <= plot["y"] < plot["y"] + plot["height"] < first["y"] + 200  # it is in view while a control is used
    sizes = page.evaluate("[...document.querySelectorAll('#tour button, #tour input')].filter(e => e.offsetParent)"
                          ".map(e => e.getBoundingClientRect().height)")  # fmt: skip
    assert min(sizes) >= 24  # to be touched

"""Are the maze and a stream seen as they go on, with what belongs together on one screen?"""
# ruff: noqa: F811 - fixtures are imported, and named by the tests that use them

import itertools
import math
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from astonish import Bayes, Dirichlet, Smile, run
from astonish.page import worlds
from astonish.page.server import make_app
from astonish.watch.stream import Feed, Reading
from test_browser import _answering, _chosen, _drawn, _set, browser, pytestmark, sync_api, visit  # noqa: F401
from test_explorer_jobs import served

WIDE, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}


@pytest.fixture(scope="module")
def feed() -> Feed:
    return Feed()


@pytest.fixture(scope="module")
def home(feed: Feed, compiled_alike: None) -> Iterator[str]:
    with served(make_app(warm=False, feed=feed)) as address:
        yield address


def _press(page: Any, name: str) -> None:
    page.get_by_role("button", name=name, exact=True).click()


def _mode(learner: Any, rooms: Any, room: int) -> Any:
    """The mode of the belief about a room, from the moves out of it alone; counted by NumPy."""
    moves = [there - (there > room) for here, there in itertools.pairwise(rooms) if here == room]
    alpha = np.asarray(learner.belief(run(learner, moves).state).alpha) if moves else np.full(15, 2.0)
    return np.insert((alpha - 1) / (alpha - 1).sum(), room, 0.0)


def _check(page: Any, at: dict[str, float], switches: list[int], learners: dict[str, Any]) -> str:
    """The rooms and the trace are those of the library after so many steps; what the page says."""
    step = int(at["at"])
    way = worlds.walked(at["hazard"], int(at["seed"]), switches)
    rooms, environment = way.rooms[: step + 1], int(way.environment[max(step - 1, 0)])
    shown = page.evaluate(
        """() => document.querySelector('#maze .rooms').views.map(each => (
            { ...each, probabilities: [...each.probabilities] }))"""
    )
    drawn = page.evaluate(
        "() => document.querySelector('#maze .plot').plotted.map(each => ({ ...each, y: [...(each.y ?? [])] }))"
    )
    lines = [each for each in drawn if each["kind"] == "line"]
    assert [view["title"] for view in shown] == [f"{'AB'[environment]}: {name}" for name in learners]
    for k, (view, learner) in enumerate(zip(shown, learners.values(), strict=True)):
        assert view["here"] == rooms[-1]
        assert view["arrangement"] == [worlds.A, worlds.B][environment].tolist()
        assert view["probabilities"] == pytest.approx(_mode(learner, rooms, int(rooms[-1])), abs=1e-9)
        believed = np.stack([_mode(learner, rooms, room) for room in range(16)])
        error = np.mean(np.square(believed - worlds.DRAWN.transitions[environment]))
        assert lines[len(learners) + k]["y"][step - 1 : step] == pytest.approx([error] if step else [], rel=1e-9)
        assert (view["surprise"] is None) == (step == 0)
    text = str(page.locator("#maze .views [role=status]").first.inner_text())
    where = f"room {rooms[-1] + 1}, environment {'AB'[environment]}."
    assert text.startswith(f"After {step} step{'s' * (step != 1)}: {where}")
    assert page.locator("#maze .rooms").get_attribute("aria-label") == f"Rooms. {text}"
    return text


def test_the_agent_walks_and_the_environment_switches(visit: Any) -> None:
    page = visit("#tab=maze&maze.hazard=0&maze.second=bayes")
    _drawn(page, "maze")
    at: dict[str, float] = {"hazard": 0.0, "seed": 1, "at": 0}
    both = {"smile": Smile(Dirichlet(15), 0.1), "bayes": Bayes(Dirichlet(15))}
    _check(page, at, [], both)
    _set(page, "maze.seed", 4, "maze")
    page.fill('input[name="maze.at number"]', "30")
    _press(page, "Step")
    at |= {"seed": 4, "at": 31}
    _check(page, at, [], both)
    with _answering(page, "maze"):
        _press(page, "Switch environment")
    _press(page, "Step")
    at["at"] = 32
    _check(page, at, [31], both)
    page.select_option('select[name="maze.speed"]', "25")
    _press(page, "Play")
    page.wait_for_function("() => Number(document.querySelector('input[name=\"maze.at\"]').value) > 40")
    _press(page, "Pause")
    at["at"] = int(page.input_value('input[name="maze.at number"]'))
    here = _check(page, at, [31], both)
    page.wait_for_timeout(300)
    other = visit(re.sub(r"^[^#]*", "", page.url))  # the link shows the same
    _drawn(other, "maze")
    assert _check(other, at, [31], both) == here
    trace = page.locator("#maze .plot").first  # one goes back on the trace, by keys too
    trace.focus()
    trace.press("ArrowLeft")
    at["at"] -= 1
    _check(page, at, [31], both)
    page.locator("#maze details summary", has_text="matrix").click()
    page.wait_for_function("() => document.querySelector('#maze details .plot').plotted")
    maps = page.evaluate(
        "() => document.querySelector('#maze details .plot').plotted.map(each => each.z.map(row => [...row]))"
    )
    rooms = worlds.walked(0.0, 4, [31]).rooms[: int(at["at"]) + 1]
    for found, learner in zip(maps, both.values(), strict=False):
        for room in set(rooms[:-1].tolist()):
            assert found[room] == pytest.approx(_mode(learner, rooms, room), abs=1e-9)
    assert maps[-1] == worlds.DRAWN.transitions[1].tolist()
    _chosen(page, "maze.second", "none", "maze")
    with _answering(page, "maze"):
        _press(page, "Start over")
    _check(page, at | {"at": 0}, [], {"smile": both["smile"]})


@pytest.mark.parametrize(("size", "motion"), [(WIDE, "no-preference"), (PHONE, "reduce")])
def test_maze_trace_and_button_are_in_view_together(visit: Any, size: dict[str, int], motion: str) -> None:
    page = visit("#tab=maze&maze.at=400&maze.second=message-passing", viewport=size, reduced_motion=motion)
    _drawn(page, "maze")
    _press(page, "Step")
    found = page.evaluate(
        """() => ["#maze .views > .tools", "#maze .rooms svg", "#maze .plot svg"].map((part) => {
            const box = document.querySelector(part).getBoundingClientRect();
            return [box.top, box.bottom, box.left, box.right, box.height];
        })"""
    )
    for top, bottom, left, right, height in found:
        assert 0 <= top < bottom <= size["height"]
        assert 0 <= left < right <= size["width"]
        assert height > 30
    assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]
    ring = page.locator("#maze .ring").first  # it flashes, or else stays still
    moves = ring.evaluate("each => getComputedStyle(each).animationName")
    assert moves == ("flash" if motion == "no-preference" else "none")
    shares = page.evaluate("() => document.querySelector('#maze .rooms').views.map(each => each.surprise)")
    radii = [float(each.get_attribute("r")) for each in page.locator("#maze .ring").all()]
    assert radii == pytest.approx([14 + 32 * share for share in shares])  # the ring's size is the surprise
    assert "message-passing" in page.locator("#maze .controls").inner_text()
    assert "their mean is shown" in page.locator("#maze .controls").inner_text()


def test_a_stream_is_followed_as_it_comes(visit: Any, feed: Feed) -> None:
    page = visit("#tab=stream&stream.shown=50", viewport=PHONE)
    status = page.locator("#stream .now")
    sync_api.expect(status).to_have_text("Waiting for samples.", timeout=20000)
    feed.about, feed.code = "a follower", "follower = None"
    rng = np.random.default_rng(1)
    rows = [feed.add(x, Reading(x / 2, x / 2 - 1, x / 2 + 1, x * x, x > 2)) for x in rng.normal(size=200).tolist()]
    sync_api.expect(status).to_contain_text(f"200 samples, {feed.alarms} alarm", timeout=20000)
    rows += [
        feed.add(math.nan, Reading(1.0, math.nan, math.nan, math.nan, False)),
        feed.add(5.0, Reading(2, 1, 3, 9, True)),
    ]
    feed.is_over = True
    sync_api.expect(status).to_contain_text("202 samples", timeout=20000)
    sync_api.expect(status).to_contain_text("Estimate 2 (between 1 and 3); last surprise 9. The input has ended.")
    drawn = page.evaluate(
        """() => document.querySelector('#stream .plot').plotted.map(each => (
            { ...each, x: [...each.x], y: [...(each.y ?? [])], low: [...(each.low ?? [])] }))"""
    )
    by_name = {(each["kind"], each["name"]): each for each in drawn if each["panel"] == 0}
    last = rows[-50:]

    def numbers(values: Any) -> Any:
        return np.array([np.nan if each is None else each for each in values], float)

    assert np.array_equal(numbers(by_name["dots", "samples"]["y"]), [row.x for row in last], equal_nan=True)
    assert by_name["line", "estimate"]["x"] == [row.sample for row in last]
    assert by_name["line", "estimate"]["y"] == [row.estimate for row in last]
    assert by_name["rules", "alarms"]["x"] == [row.sample for row in last if row.alarm]
    band = next(each for each in drawn if each["kind"] == "band")
    assert np.array_equal(numbers(band["low"]), [row.low for row in last], equal_nan=True)
    surprise = next(each for each in drawn if each["kind"] == "line" and each["name"] == "surprise")
    assert np.array_equal(numbers(surprise["y"]), [row.surprise for row in last], equal_nan=True)
    assert page.locator("#stream .controls [role=status]").text_content() == "Alarm at sample 202"
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]

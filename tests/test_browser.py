"""Does the page work in a browser: controls, links, files, and nothing but this machine?

Needs Chromium (Debian: apt-get install chromium) and playwright.
"""

import contextlib
import io
import re
import shutil
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

sync_api = pytest.importorskip("playwright.sync_api", reason="the browser is driven by playwright")
uvicorn = pytest.importorskip("uvicorn", reason="the page needs uvicorn")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium here")

FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
TABLE = "who,x\n" + "".join(f"{who},{x}\n" for who in "ab" for x in (1.5, 2.0, 1.0, 9.0, 8.5, 9.25, 9.0, 8.75))


@pytest.fixture(scope="module")
def home() -> Iterator[str]:
    """The address of a page that is served as the command serves it."""
    from astonish.explorer.server import make_app

    listening = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(make_app(warm=False), log_level="warning", ws="none"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{listening.getsockname()[1]}/"
    server.should_exit = True
    thread.join(timeout=10)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with sync_api.sync_playwright() as play:
        chromium = play.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield chromium
        chromium.close()


class Heard:
    """What a page complained of, and whom it asked."""

    def __init__(self, page: Any) -> None:
        self.complaints: list[str] = []
        self.asked: list[str] = []
        page.on("console", lambda m: self.complaints.append(m.text) if m.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("request", lambda request: self.asked.append(request.url))


@pytest.fixture
def visit(browser: Any, home: str) -> Iterator[Callable[..., Any]]:
    """Opens the page at a place; afterwards nothing may have been complained of, or asked of anybody else."""
    opened: list[tuple[Any, Heard]] = []

    def go(place: str = "", **looks: Any) -> Any:
        context = browser.new_context(viewport={"width": 1280, "height": 900}, **looks)
        page = context.new_page()
        opened.append((context, Heard(page)))
        page.goto(home + place)
        return page

    yield go
    for context, heard in opened:
        context.close()
        assert heard.complaints == []
        assert [url for url in heard.asked if not url.startswith((home, "data:", f"blob:{home}"))] == []


def _drawn(page: Any, tab: str, answers: int = 1) -> None:
    """Wait until the tab has shown so many answers."""
    page.wait_for_function(
        "([tab, n]) => Number(document.getElementById(tab).dataset.answers ?? 0) >= n",
        arg=[tab, answers],
        timeout=60000,
    )
    page.wait_for_selector(f"#{tab} .main-svg", state="attached")


def _answers(page: Any, tab: str) -> int:
    return int(page.locator(f"#{tab}").get_attribute("data-answers") or 0)


def _lines(page: Any) -> str:
    page.click("#python")
    text = page.text_content("#code")
    page.click("#close")
    return str(text)


def _set(page: Any, name: str, value: Any, tab: str) -> None:
    before = _answers(page, tab)
    page.fill(f'input[name="{name} number"]', str(value))
    _drawn(page, tab, before + 1)


def test_sliders_and_learners_change_the_gaussian_world(visit: Any) -> None:
    page = visit()
    _drawn(page, "gaussian")
    for name, value, line in (
        ("m", 2.5, "m=2.5"), ("hazard", 0.2, "hazard=0.2"), ("noise", 1.5, "noise=1.5"), ("seed", 9, "(200, 9,"),
        ("samples", 60, "(60, 9,"),
    ):  # fmt: skip
        _set(page, f"gaussian.{name}", value, "gaussian")
        assert line in _lines(page)
    rows = page.locator("#gaussian tbody tr")
    assert rows.count() == 4
    page.check('input[name="gaussian.learners kalman"]')
    page.uncheck('input[name="gaussian.learners delta"]')
    page.wait_for_function("() => document.querySelector('#gaussian tbody').innerText.includes('kalman')")
    page.wait_for_function("() => !document.querySelector('#gaussian tbody').innerText.includes('delta')")
    traces = page.evaluate("document.querySelector('#gaussian .js-plotly-plot').data.map(each => each.name)")
    assert traces[:3] == ["jumps", "samples", "truth"]
    assert traces.count("kalman") == 4
    assert "delta" not in traces
    slider = page.locator('input[name="gaussian.m"]')
    slider.focus()
    before = _answers(page, "gaussian")
    slider.press("ArrowRight")
    _drawn(page, "gaussian", before + 1)
    assert "m=2.5," not in _lines(page)


def test_stale_answers_are_dropped(visit: Any) -> None:
    page = visit()
    _drawn(page, "gaussian")
    page.evaluate("""() => { const box = document.querySelector('input[name="gaussian.seed number"]');
        for (let seed = 100; seed <= 140; seed += 1) { box.value = seed; box.dispatchEvent(new Event("input")); } }""")
    page.wait_for_timeout(1500)
    assert "(200, 140," in _lines(page)
    assert _answers(page, "gaussian") < 10


def test_a_link_reproduces_the_view(visit: Any) -> None:
    page = visit()
    _drawn(page, "gaussian")
    _set(page, "gaussian.noise", 2.5, "gaussian")
    page.check('input[name="gaussian.learners leaky"]')
    page.wait_for_function("() => document.querySelector('#gaussian tbody').innerText.includes('leaky')")
    page.wait_for_timeout(400)
    table, lines = page.inner_text("#gaussian tbody"), _lines(page)
    other = visit(re.sub(r"^[^#]*", "", page.url))
    _drawn(other, "gaussian")
    assert other.inner_text("#gaussian tbody") == table
    assert _lines(other) == lines


def test_the_agent_walks_and_the_environment_switches(visit: Any) -> None:
    page = visit("#tab=maze&maze.seed=4&maze.leave=0")
    _drawn(page, "maze")
    status = page.locator("#maze .controls [role=status]")
    assert "After 0 steps" in status.inner_text()
    page.get_by_role("button", name="Step", exact=True).click()
    assert "After 1 step:" in status.inner_text()
    assert "environment A" in status.inner_text()
    page.get_by_role("button", name="Switch environment").click()
    _drawn(page, "maze", 2)
    page.get_by_role("button", name="Step", exact=True).click()
    assert "environment B" in status.inner_text()
    page.select_option('select[name="maze.speed"]', "25")
    page.get_by_role("button", name="Play").click()
    page.wait_for_function("() => Number(document.querySelector('input[name=\"maze.at\"]').value) > 20")
    page.get_by_role("button", name="Pause").click()
    here = status.inner_text()
    page.wait_for_timeout(400)
    assert status.inner_text() == here
    shown = page.evaluate("[...document.querySelectorAll('#maze .js-plotly-plot')].map(each => each.data.length)")
    assert shown == [6, 2, 4]
    step = int(re.search(r"After (\d+)", here)[1])  # type: ignore[index]
    length = page.evaluate("document.querySelectorAll('#maze .js-plotly-plot')[2].data[1].y.length")
    assert length == step
    page.wait_for_timeout(300)
    other = visit(re.sub(r"^[^#]*", "", page.url))
    _drawn(other, "maze")
    assert other.locator("#maze .controls [role=status]").inner_text() == here


def test_beliefs_are_shaped_and_observations_dropped(visit: Any) -> None:
    page = visit("#tab=lab")
    _drawn(page, "lab")
    _set(page, "lab.own.std", 0.5, "lab")
    assert "std=0.5" in _lines(page)
    assert page.locator("#lab tbody tr").count() >= 10
    before, box = _answers(page, "lab"), page.locator("#lab .plot").first.bounding_box()
    page.mouse.click(box["x"] + 0.3 * box["width"], box["y"] + 0.6 * box["height"])
    _drawn(page, "lab", before + 1)
    assert "x=2.0" not in _lines(page)
    for family in ("beta",):
        before = _answers(page, "lab")
        page.select_option('select[name="lab.family"]', family)
        _drawn(page, "lab", before + 1)
    before = _answers(page, "lab")
    page.select_option('select[name="lab.preset"]', label="Joke: guns, after goldfish")
    _drawn(page, "lab", before + 1)
    assert page.input_value('select[name="lab.family"]') == "joke"
    page.wait_for_timeout(400)
    other = visit(re.sub(r"^[^#]*", "", page.url))
    _drawn(other, "lab")
    assert other.inner_text("#lab tbody") == page.inner_text("#lab tbody")


def test_a_table_goes_in_and_comes_out(visit: Any, tmp_path: Path) -> None:
    path = tmp_path / "trials.csv"
    path.write_text(TABLE)
    page = visit("#tab=data")
    page.set_input_files('input[type="file"]', str(path))
    page.wait_for_function("() => document.querySelectorAll('select[name=\"data.outcome\"] option').length > 1")
    page.select_option('select[name="data.subject"]', "who")
    page.select_option('select[name="data.outcome"]', "x")
    _drawn(page, "data")
    assert page.locator('select[name="data.who"] option').all_inner_texts() == ["a", "b"]
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Download the table").click()
    kept = Path(waiting.value.path()).read_text().splitlines()
    assert len(kept) == 17
    assert kept[0].startswith("who,x,surprise")
    out = io.StringIO()
    with contextlib.chdir(tmp_path), contextlib.redirect_stdout(out):
        exec(compile(_lines(page), "<page>", "exec"), {})
    assert "learning_rate" in out.getvalue()


def test_what_is_wrong_is_said_on_the_page(browser: Any, home: str, tmp_path: Path) -> None:
    path = tmp_path / "odd.csv"
    path.write_text("")
    page = browser.new_page()
    page.goto(f"{home}#tab=data")
    page.set_input_files('input[type="file"]', str(path))
    page.wait_for_selector("#problem:not([hidden])")
    assert "empty" in page.inner_text("#problem")
    page.close()


@pytest.mark.parametrize("kind", ["png", "svg"])
def test_plots_are_saved(visit: Any, kind: str) -> None:
    page = visit()
    _drawn(page, "gaussian")
    with page.expect_download() as waiting:
        page.locator("#gaussian figcaption button", has_text=kind.upper()).click()
    content = Path(waiting.value.path()).read_bytes()
    assert waiting.value.suggested_filename == f"astonish-gaussian.{kind}"
    assert content.startswith(b"\x89PNG" if kind == "png" else b"<svg")
    assert len(content) > 5000


def test_tabs_go_by_keys_and_everything_has_a_name(visit: Any) -> None:
    page = visit()
    _drawn(page, "gaussian")
    page.focus("#tab-gaussian")
    for tab in ("maze", "lab", "data"):
        page.keyboard.press("ArrowRight")
        page.wait_for_selector(f"#{tab}:not([hidden]) .controls > *")
        assert page.get_attribute(f"#tab-{tab}", "aria-selected") == "true"
    nameless = page.evaluate("""[...document.querySelectorAll("input, select, button")].filter(each =>
        !(each.labels?.length || each.getAttribute("aria-label") || each.textContent.trim())).map(each => each.name)""")
    assert nameless == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 380])
def test_it_fits_the_screen_in_light_and_dark(visit: Any, scheme: str, width: int) -> None:
    page = visit("", color_scheme=scheme)
    page.set_viewport_size({"width": width, "height": 800})
    _drawn(page, "gaussian")
    time.sleep(0.3)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth + 1")
    back = page.evaluate("document.querySelector('#gaussian .js-plotly-plot')._fullLayout.paper_bgcolor")
    assert back == {"light": "#fff", "dark": "#15171a"}[scheme]
    page.click("#theme")  # light
    assert page.evaluate("document.querySelector('#gaussian .js-plotly-plot')._fullLayout.paper_bgcolor") == "#fff"

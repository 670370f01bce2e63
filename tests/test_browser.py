"""Does the page work in a browser: controls, links, files, and nothing but this machine?

Needs Chromium (Debian: apt-get install chromium) and playwright.
"""

import contextlib
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("playwright.sync_api", reason="the browser is driven by playwright")
pytest.importorskip("starlette", reason="the page needs starlette")

from playwright import sync_api
from scipy import stats

from astonish.page import worlds
from astonish.page.server import make_app
from astonish.paper.figure import RunSettings
from astonish.paper.figure1 import SIMULATIONS
from astonish.people.tables import Columns, read_trials
from astonish.people.tables.facts import choose
from astonish.people.tables.regressors import regressors
from test_explorer_jobs import served

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium here")

GAUSSIAN = worlds.GaussianTab()
DEFAULTS = {name: slider.default for name, slider in GAUSSIAN.sliders.items()}
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
TABLE = "who,run,x,here,there\n" + "".join(
    f"{who},{run},{x},{'left' if x < 5 else 'right'},right\n"
    for who in "ab"
    for run, x in ((1, 1.5), (1, 2.0), (1, 1.0), (1, 9.0), (1, 8.75), (2, 9.25), (2, 9.0), (2, 8.5))
)


@pytest.fixture(scope="module")
def home(compiled_alike: None) -> Iterator[str]:
    with served(make_app(warm=False)) as address:
        yield address


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
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}} | looks)
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
    shown = "([tab, n]) => Number(document.getElementById(tab).dataset.answers ?? 0) >= n"
    page.wait_for_function(shown, arg=[tab, answers], timeout=60000)
    page.wait_for_selector(f"#{tab} .plot svg", state="attached")


def _answers(page: Any, tab: str) -> int:
    return int(page.locator(f"#{tab}").get_attribute("data-answers") or 0)


def _lines(page: Any) -> str:
    page.click("#python")
    text = page.text_content("#code")
    page.click("#close")
    return str(text)


@contextlib.contextmanager
def _answering(page: Any, tab: str) -> Iterator[None]:
    """The server is asked anew in this block; after it, its answer is shown."""
    before = _answers(page, tab)
    yield
    _drawn(page, tab, before + 1)


def _set(page: Any, name: str, value: Any, tab: str) -> None:
    with _answering(page, tab):
        page.fill(f'input[name="{name} number"]', str(value))


def _pulled(page: Any, name: str, tab: str) -> float:
    """Move a slider by a key, and say what it then stands at."""
    slider = page.locator(f'input[name="{name}"]')
    slider.focus()
    at_the_end = slider.evaluate("each => Number(each.value) >= Number(each.max)")
    with _answering(page, tab):
        slider.press("ArrowLeft" if at_the_end else "ArrowRight")
    return float(page.input_value(f'input[name="{name} number"]'))


def _chosen(page: Any, name: str, value: str, tab: str) -> None:
    with _answering(page, tab):
        page.select_option(f'select[name="{name}"]', value)


def _cells(page: Any, tab: str, nth: int = 0) -> dict[str, list[str]]:
    """The rows of a table by their first cell."""
    rows = page.locator(f"#{tab} table").nth(nth).locator("tbody tr").all()
    cells = [row.locator("th, td").all_inner_texts() for row in rows]
    return {first: rest for first, *rest in cells}


def _plotted(page: Any, tab: str, name: str, nth: int = 0, plot: int = 0) -> Any:
    """The heights of a line, by its name; nth: of those that share it."""
    line = "(plot, [name, nth]) => [...plot.plotted.filter((each) => each.name === name)[nth].y]"
    heights = page.locator(f"#{tab} .plot").nth(plot).evaluate(line, [name, nth])
    return np.array([np.nan if height is None else height for height in heights])


def _gaussian_world(page: Any, at: dict[str, float], names: list[str]) -> None:
    """The table and the lines on the page are the library's own."""
    task, cells = worlds.series(at, int(at["seed"])), _cells(page, "gaussian")
    assert list(cells) == names
    assert _plotted(page, "gaussian", "samples") == pytest.approx(task.samples)
    assert _plotted(page, "gaussian", "truth") == pytest.approx(task.truth)
    for name in names:
        steps = worlds.followed(GAUSSIAN.assembled(name, at), task).steps
        off = np.abs(steps.estimate[: len(task.samples)] - task.truth)
        for nth, expected in enumerate((steps.estimate, steps.surprise, steps.learning_rate, off)):
            shown = _plotted(page, "gaussian", name, nth)
            assert shown == pytest.approx(expected[: len(task.samples)], rel=1e-9, abs=1e-12)
        assert [float(cell) for cell in cells[name][:2]] == pytest.approx([(off**2).mean(), off.mean()], rel=1e-3)


def test_every_slider_changes_the_gaussian_world(visit: Any) -> None:
    names = ["smile", "leaky", "delta", "pearce-hall", "kalman"]
    page = visit(f"#gaussian.measure=own&gaussian.learners={'+'.join(names)}")
    _drawn(page, "gaussian")
    at = dict(DEFAULTS)
    _gaussian_world(page, at, names)
    page.locator("#gaussian summary").click()
    for name, value in {"m": 2.5, "hazard": 0.2, "noise": 1.5, "seed": 9, "samples": 60, "learning_rate": 0.3,
                        "keep": 0.5, "salience": 0.9, "renewal": 0.8, "drift": 2.0}.items():  # fmt: skip
        _set(page, f"gaussian.{name}", value, "gaussian")
        at[name] = value
        _gaussian_world(page, at, names)
    for name in at:
        moved = _pulled(page, f"gaussian.{name}", "gaussian")
        assert moved != at[name]
        at[name] = moved
    _gaussian_world(page, at, names)


def test_every_learner_can_be_switched_on_and_off(visit: Any) -> None:
    page = visit("#gaussian.measure=own&gaussian.learners=none&gaussian.samples=50")
    _drawn(page, "gaussian")
    assert _cells(page, "gaussian") == {}
    for name in GAUSSIAN.learners:
        page.check(f'input[name="gaussian.learners {name}"]')
    rows, count = "n => document.querySelectorAll('#gaussian tbody tr').length === n", len(GAUSSIAN.learners)
    page.wait_for_function(rows, arg=count, timeout=60000)
    _gaussian_world(page, DEFAULTS | {"samples": 50}, GAUSSIAN.learners)
    page.uncheck('input[name="gaussian.learners delta"]')
    page.wait_for_function(rows, arg=count - 1)
    assert "delta" not in _cells(page, "gaussian")


def test_stale_answers_are_dropped(visit: Any) -> None:
    page = visit("#gaussian.learners=delta")
    _drawn(page, "gaussian")
    page.evaluate("""() => { const box = document.querySelector('input[name="gaussian.seed number"]');
        for (let seed = 100; seed <= 140; seed += 1) { box.value = seed; box.dispatchEvent(new Event("input")); } }""")
    page.wait_for_timeout(1500)
    assert "seed=140)" in _lines(page)
    assert _answers(page, "gaussian") < 10


AVERAGED = "() => !document.querySelector('#gaussian tbody').innerText.includes('...')"


def test_a_link_reproduces_the_view(visit: Any) -> None:
    page = visit("#gaussian.learners=smile+delta")
    _drawn(page, "gaussian")
    _set(page, "gaussian.noise", 2.5, "gaussian")
    page.check('input[name="gaussian.learners leaky"]')
    page.wait_for_function("() => document.querySelector('#gaussian tbody').innerText.includes('leaky')")
    page.wait_for_timeout(400)
    page.wait_for_function(AVERAGED)
    table, lines = page.inner_text("#gaussian tbody"), _lines(page)
    other = visit(re.sub(r"^[^#]*", "", page.url))
    _drawn(other, "gaussian")
    other.wait_for_function(AVERAGED)
    assert other.inner_text("#gaussian tbody") == table
    assert _lines(other) == lines


def _shaped(page: Any, noise: float, mean: float, std: float, x: float, m: float) -> None:
    """What the page says of a normal belief is what its formulas say."""
    surprise = np.log(noise / std) + (std**2 + (x - mean) ** 2) / (2 * noise**2) - 0.5
    most = np.log(std / noise) + (noise**2 + (x - mean) ** 2) / (2 * std**2) - 0.5
    shannon = -stats.norm.logpdf(x, mean, np.hypot(std, noise))
    cells = _cells(page, "lab")
    for name, value in {"confidence_corrected": surprise, "absolute_error": abs(x - mean), "shannon": shannon}.items():
        assert float(cells[name][0]) == pytest.approx(value, rel=1e-3)
    names = page.evaluate("document.querySelectorAll('#lab .plot')[1].plotted.map(each => each.name)")
    (line,) = [name for name in names if name and name.startswith("bound")]
    bound, limit = map(float, re.findall(r"[\d.]+(?:e[+-]?\d+)?", line))
    assert [bound, limit] == pytest.approx([most * m * surprise / (1 + m * surprise), most], rel=0.01)


def _click(page: Any, right: float, down: float) -> None:
    """Click on the plot of the lab, so many of its widths and heights from its corner."""
    box = page.locator("#lab .plot").first.bounding_box()
    with _answering(page, "lab"):
        page.mouse.click(box["x"] + right * box["width"], box["y"] + down * box["height"])


def test_beliefs_are_shaped_and_observations_dropped(visit: Any) -> None:
    page = visit("#tab=lab")
    _drawn(page, "lab")
    at = {"noise": 1.0, "mean": 0.0, "std": 1.0, "x": 2.0, "m": 0.1}
    _shaped(page, **at)
    for name, value in {"noise": 2.0, "mean": -1.0, "std": 0.5, "x": 3.0, "m": 0.7}.items():
        _set(page, "lab.m" if name == "m" else f"lab.own.{name}", value, "lab")
        at[name] = value
        _shaped(page, **at)
    for name in at:
        at[name] = _pulled(page, "lab.m" if name == "m" else f"lab.own.{name}", "lab")
    _shaped(page, **at)
    _click(page, 0.3, 0.6)
    dropped = float(page.input_value('input[name="lab.own.x number"]'))
    assert dropped != at["x"]
    _shaped(page, **at | {"x": dropped})
    _set(page, "lab.m", 0, "lab")  # which a slider through powers of ten cannot reach
    assert page.input_value('input[name="lab.m"]') == page.get_attribute('input[name="lab.m"]', "min")
    _shaped(page, **at | {"x": dropped, "m": 0.0})
    _set(page, "lab.m", at["m"], "lab")
    with _answering(page, "lab"):
        page.select_option('select[name="lab.preset"]', label="Joke: guns, after goldfish")
    assert page.input_value('select[name="lab.family"]') == "joke"
    joke: Any = SIMULATIONS["joke"](RunSettings())["joke"]
    heard = joke[(joke.word == "guns") & (joke.belief == "after")].surprise.item()
    assert float(_cells(page, "lab")["confidence_corrected"][0]) == pytest.approx(heard, rel=1e-3)
    page.wait_for_timeout(300)
    other = visit(re.sub(r"^[^#]*", "", page.url))
    _drawn(other, "lab")
    assert other.inner_text("#lab tbody") == page.inner_text("#lab tbody")
    _chosen(page, "lab.own.x", "0", "lab")
    assert page.input_value('select[name="lab.preset"]') == ""  # it is no longer the example
    assert "x=0" in _lines(page)
    _chosen(page, "lab.family", "gaussian", "lab")
    _shaped(page, noise=1.0, mean=0.0, std=1.0, x=2.0, m=at["m"])


def test_a_click_drops_the_observation_to_expect_there(visit: Any) -> None:
    page = visit("#tab=lab&lab.family=exponential")
    _drawn(page, "lab")
    _click(page, 0.5, 0.6)
    points = page.evaluate("[...document.querySelector('#lab .plot').plotted[0].x]")
    wait = float(page.input_value('input[name="lab.own.x number"]'))
    assert 0.1 < wait < 3.0
    assert min(abs(1 / wait - np.array(points))) < 0.2  # one over a rate that was drawn
    _chosen(page, "lab.family", "dirichlet", "lab")
    _click(page, 0.45, 0.7)
    assert page.input_value('select[name="lab.own.x"]') == "1"


def _measured(page: Any, path: Path, who: str, columns: Columns, learner: str, kind: str, **settings: float) -> Any:
    """The lines on the page are the library's own."""
    trials = read_trials(path, columns, kind=kind)
    table = regressors(choose(learner, trials, settings).learner, trials)
    own = table[table[columns.subject] == who] if columns.subject else table
    for line, name in (("surprise", "surprise"), ("learning rate", "learning_rate")):
        assert _plotted(page, "data", line) == pytest.approx(own[name].to_numpy(), rel=1e-9, nan_ok=True)
    return table


def test_a_table_goes_in_and_comes_out(visit: Any, tmp_path: Path) -> None:
    path = tmp_path / "trials.csv"
    path.write_text(TABLE)
    page = visit("#tab=data")
    page.set_input_files('input[type="file"]', str(path))
    page.wait_for_selector("#data tbody tr")
    assert _cells(page, "data")["a"] == ["1", "8.75", "right", "right"]  # the last row that is shown
    _drawn(page, "data")  # of the outcome, x, and the block, run, that were guessed
    _chosen(page, "data.learner", "delta", "data")
    _measured(page, path, "", Columns("x", block="run"), "delta", "continuous")
    _chosen(page, "data.subject", "who", "data")
    assert page.locator('select[name="data.who"] option').all_inner_texts() == ["a", "b"]
    _chosen(page, "data.block", "run", "data")
    columns = Columns("x", "who", "run")
    _measured(page, path, "a", columns, "delta", "continuous")
    with _answering(page, "data"):
        page.fill('input[name="data.set.learning_rate"]', "0.5")
    _chosen(page, "data.who", "b", "data")
    expected = _measured(page, path, "b", columns, "delta", "continuous", learning_rate=0.5)
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Download the table").click()
    kept = pd.read_csv(waiting.value.path())
    assert waiting.value.suggested_filename == "trials-surprise.csv"
    pd.testing.assert_frame_equal(kept, expected, check_dtype=False, rtol=1e-12)
    page.wait_for_timeout(300)
    link = re.sub(r"^[^#]*", "", page.url)
    other = visit(link)  # the file itself has to be given again
    other.set_input_files('input[type="file"]', str(path))
    _drawn(other, "data")
    _measured(other, path, "b", columns, "delta", "continuous", learning_rate=0.5)


def test_kinds_of_outcomes_and_the_example(visit: Any, tmp_path: Path) -> None:
    path = tmp_path / "trials.csv"
    path.write_text(TABLE)
    page = visit("#tab=data&data.learner=bayes&data.outcome=here&data.kind=categorical")
    page.set_input_files('input[type="file"]', str(path))
    _drawn(page, "data")
    _measured(page, path, "", Columns("here", block="run"), "bayes", "categorical")
    _chosen(page, "data.kind", "guessed", "data")
    _chosen(page, "data.to", "there", "data")
    _chosen(page, "data.kind", "transitions", "data")
    _measured(page, path, "", Columns(("here", "there"), block="run"), "bayes", "transitions")
    paid = visit("#tab=data&data.learner=delta&data.outcome=x&data.block=-")  # and no column of the block
    paid.set_input_files('input[type="file"]', str(path))
    _drawn(paid, "data")
    _chosen(paid, "data.choice", "here", "data")
    _measured(paid, path, "", Columns("x", choice="here"), "delta", "continuous")
    fresh = visit("#tab=data&data.learner=delta")
    fresh.get_by_role("button", name="Try an example").click()
    _drawn(fresh, "data")
    samples = worlds.series(DEFAULTS | {"samples": 120}, seed=3).samples
    assert _plotted(fresh, "data", "outcome") == pytest.approx(samples.round(2), abs=0.0051)


@pytest.mark.parametrize(("size", "word"), [(0, "empty"), (200 * 2**20, "more than 20 MB")])
def test_what_is_wrong_is_said_on_the_page(browser: Any, home: str, tmp_path: Path, size: int, word: str) -> None:
    path = tmp_path / "odd.csv"
    with path.open("wb") as file:
        file.truncate(size)
    page = browser.new_page()
    page.goto(f"{home}#tab=data")
    page.set_input_files('input[type="file"]', str(path))
    page.wait_for_selector("#problem:not([hidden])")
    assert word in page.inner_text("#problem")
    page.close()


def test_link_and_lines_are_copied(visit: Any) -> None:
    page = visit("#tab=lab&lab.m=3", permissions=["clipboard-read", "clipboard-write"])
    _drawn(page, "lab")
    page.click("#link")
    page.wait_for_function("() => document.getElementById('link').textContent === 'Copied'")
    assert page.evaluate("navigator.clipboard.readText()") == page.url
    page.click("#python")
    lines = page.text_content("#code")
    page.click("#copy")
    page.wait_for_function("() => document.getElementById('copy').textContent === 'Copied'")
    assert page.evaluate("navigator.clipboard.readText()") == lines
    assert "m=3.0" in lines


@pytest.mark.parametrize("kind", ["png", "svg"])
def test_plots_are_saved(visit: Any, kind: str) -> None:
    page = visit("#gaussian.learners=smile+delta")
    _drawn(page, "gaussian")
    with page.expect_download() as waiting:
        page.locator("#gaussian figcaption button", has_text=kind.upper()).first.click()
    content = Path(waiting.value.path()).read_bytes()
    assert waiting.value.suggested_filename == f"astonish-gaussian.{kind}"
    assert content.startswith(b"\x89PNG" if kind == "png" else b"<svg")
    assert len(content) > 5000


def test_a_secret_link_opens_the_page_and_leaves_its_address(browser: Any) -> None:
    app = make_app("0.0.0.0", warm=False, token="a-secret")
    with served(app) as home, contextlib.closing(browser.new_context()) as context:
        page = context.new_page()
        assert page.goto(f"{home}#tab=data").status == 403
        page.goto(f"{home}?token=a-secret#tab=data")
        page.wait_for_selector("#data .drop")
        page.wait_for_url(f"{home}#tab=data")
        page.reload()
        page.wait_for_selector("#data .drop")


def test_tabs_go_by_keys_and_everything_has_a_name(visit: Any) -> None:
    page = visit("#gaussian.learners=smile+delta")
    _drawn(page, "gaussian")
    page.focus("#tab-gaussian")
    for tab in ("maze", "lab", "data"):
        page.keyboard.press("ArrowRight")
        page.wait_for_selector(f"#{tab}:not([hidden]) .controls > *")
        assert page.get_attribute(f"#tab-{tab}", "aria-selected") == "true"
    nameless = page.evaluate("""[...document.querySelectorAll("input, select, button")].filter(each =>
        !(each.labels?.length || each.getAttribute("aria-label") || each.textContent.trim())).map(each => each.name)""")
    assert nameless == []


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 380)])
def test_it_fits_the_screen_in_light_and_dark(visit: Any, scheme: str, width: int) -> None:
    page = visit("#gaussian.learners=smile+delta", color_scheme=scheme)
    _drawn(page, "gaussian")
    text = "document.querySelector('#gaussian .plot text').getAttribute('fill')"
    assert page.evaluate(text) == {"light": "#1b1b1b", "dark": "#e8e8e8"}[scheme]
    page.set_viewport_size({"width": width, "height": 800})
    for tab in ("maze", "lab", "data", "gaussian"):
        page.click(f"#tab-{tab}")
        page.wait_for_selector(f"#{tab} .controls > *")
        if tab != "data":
            _drawn(page, tab)
        page.wait_for_timeout(100)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth + 1"), tab
    page.click("#theme")  # light
    assert page.evaluate(text) == "#1b1b1b"
    page.click("#theme")  # dark
    assert page.evaluate(text) == "#e8e8e8"

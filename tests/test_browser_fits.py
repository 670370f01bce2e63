"""Is a table that is dropped on the page fitted to the end: guesses, a question, results, files to keep, cancel?"""
# ruff: noqa: F811 - fixtures are imported, and named by the tests that use them

import io
import json
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from astonish import Delta
from astonish.page.jobs import Jobs, PageJob
from astonish.page.server import make_app
from astonish.people.fit import Estimate, Model, fit
from astonish.people.tables import Columns, Trials, read_trials
from test_browser import browser, pytestmark, visit  # noqa: F401
from test_explorer_jobs import followers, served

SECONDS = 120_000  # milliseconds that one waits, for a process that imports and compiles


TABLE = followers(("ann", "bob", "eve")).assign(site="lab")
TABLE.insert(1, "trial", np.tile(np.arange(1, 31), 3))


@pytest.fixture(scope="module")
def jobs() -> Jobs:
    return Jobs()


@pytest.fixture(scope="module")
def home(compiled_alike: None, jobs: Jobs) -> Iterator[str]:
    with served(make_app(warm=False, jobs=jobs)) as address:
        yield address


def _drop(page: Any, on: str) -> None:
    """Drop the table on something, and wait until its surprise is drawn."""
    page.evaluate(
        """([text, on]) => { const dataTransfer = new DataTransfer(), bubbles = true;
        dataTransfer.items.add(new File([text], "my trials.csv"));
        document.querySelector(on).dispatchEvent(new DragEvent("drop", { dataTransfer, bubbles })); }""",
        [TABLE.to_csv(index=False), on],
    )
    page.wait_for_selector("#data .plot svg", state="attached", timeout=SECONDS)


def _start(page: Any) -> None:
    page.locator(".fits").get_by_role("button", name=re.compile("^Start")).click()


def _compare(visit: Any) -> Any:
    """A page on which learners are about to be compared."""
    page = visit("#tab=data&data.learner=delta&data.fit=compare&data.responded=before")
    page.wait_for_selector("#data .drop")
    _drop(page, "body")
    return page


def _rows(page: Any, heading: str) -> dict[str, list[str]]:
    region = page.get_by_role("region", name=heading, exact=True)
    cells = [row.locator("th, td").all_inner_texts() for row in region.locator("tbody tr").all()]
    return {first: rest for first, *rest in cells}


def test_from_the_dropped_table_to_the_report(visit: Any) -> None:
    allowed = ["clipboard-read", "clipboard-write"]
    page = visit("#tab=lab&data.learner=delta&data.fit.starts=2", permissions=allowed)
    page.wait_for_selector("#lab .plot svg", state="attached", timeout=SECONDS)
    _drop(page, "#lab .plot")
    _looks_at_guesses(page)
    _start(page)
    _answers_a_question(page)
    page.get_by_text("Download everything (.zip)").wait_for(timeout=SECONDS)
    _reads_results(page)
    archive = _keeps_files(page)
    _copies(page, archive)


def _looks_at_guesses(page: Any) -> None:
    heads = page.locator("#data thead").first.locator("th").all_inner_texts()
    assert heads == ["id (subject)", "trial (trial)", "x (outcome)", "estimate (response)", "site"]
    assert page.get_by_text("guessed from its name").count() == 4
    assert page.get_by_text("The same in all rows: site.").is_visible()
    page.select_option('select[name="data.trial"]', "-")
    assert page.locator("#data thead").first.locator("th").nth(1).inner_text() == "trial"
    page.select_option('select[name="data.trial"]', "trial")
    assert page.get_by_text("guessed from its name").count() == 3  # this one was chosen


def _answers_a_question(page: Any) -> None:
    page.wait_for_selector(".question:not([hidden])", timeout=SECONDS)
    assert "Are the responses 'estimate' given before or after the outcome" in page.inner_text(".question")
    assert page.locator('.question select[name="data.responded"]').is_visible()
    names = page.locator(".question button").all_inner_texts()
    assert names == ["responded: before", "responded: after", "Try again"]
    page.get_by_role("button", name="responded: before").click()
    page.wait_for_selector(".question", state="hidden")
    assert page.input_value('.fits select[name="data.responded"]') == "before"  # back in its place


def _reads_results(page: Any) -> None:
    """They are those of the library."""
    trials: Trials = read_trials(TABLE, Columns("x", "id", trial="trial", response="estimate"), responds_before=True)
    found = fit(Model(Delta(start=0.0), Estimate()), trials, ["learning_rate", "response.noise"], starts=2)
    rows = _rows(page, "Parameters of delta, with 95 % intervals")
    assert list(rows) == ["ann", "bob", "eve"]
    for row, who in enumerate(rows):
        shown = [float(number) for number in re.findall(r"[\d.]+", rows[who][0])]
        expected = [part[row, 0] for part in (found.values, found.low, found.high)]
        assert shown == pytest.approx(expected, rel=0.005)
        assert float(rows[who][2]) == pytest.approx(found.bic[row], rel=0.005)
    drawn = page.evaluate("""Array.from(document.querySelector("[aria-label='Analysis of responses'] .plot").plotted,
        each => [each.name, Array.from(each.y)])""")
    lines = {name: np.array([np.nan if y is None else y for y in heights]) for name, heights in drawn}
    np.testing.assert_allclose(lines["response of ann"], trials.responses[0])
    np.testing.assert_allclose(lines["expected by delta"][1:], found.outputs.expected[0, 1:], rtol=1e-4)


def _keeps_files(page: Any) -> zipfile.ZipFile:
    with page.expect_download() as waiting:
        page.get_by_text("Download everything (.zip)").click()
    assert waiting.value.suggested_filename == "astonish-fit-my-trials.zip"
    archive = zipfile.ZipFile(io.BytesIO(Path(waiting.value.path()).read_bytes()))
    assert {"fit/report.html", "fit/parameters.csv", "fit/fit.png", "fit/script.py"} <= set(archive.namelist())
    with page.expect_download() as waiting:
        page.get_by_text("Download the report").click()
    report = Path(waiting.value.path()).read_bytes()
    assert report == archive.read("fit/report.html")
    with page.expect_popup() as opened:
        page.get_by_text("Open the report").click()
    opened.value.wait_for_load_state()
    assert "delta fitted to 3 participants" in opened.value.inner_text("body")
    margin = opened.value.evaluate("getComputedStyle(document.body).margin")
    assert margin == "0px"  # its own style sheet is allowed
    opened.value.close()
    return archive


def _copies(page: Any, archive: zipfile.ZipFile) -> None:
    for button, name in (("methods paragraph", "methods.txt"), ("BibTeX", "references.bib"), ("Python", "script.py")):
        page.get_by_role("button", name=f"Copy {'the ' * (name == 'methods.txt')}{button}").click()
        page.wait_for_function("() => document.getElementById('status').textContent === 'Copied'")
        assert page.evaluate("navigator.clipboard.readText()") == archive.read(f"fit/{name}").decode()
        page.evaluate("document.getElementById('status').textContent = ''")
    assert "astonish fit my-trials.csv --outcome x --subject id" in page.inner_text(".analysis")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth + 1")


def test_differences_of_bic_are_drawn(visit: Any) -> None:
    page = _compare(visit)
    _start(page)
    page.get_by_text("Download everything (.zip)").wait_for(timeout=SECONDS)
    plot = page.locator('.plot[aria-label^="Which learner has the least BIC"]')
    drawn = {mark["name"]: np.array(mark["y"]) for mark in plot.evaluate("each => each.plotted")}
    tables = {name: _rows(page, f"Parameters of {name}, with 95 % intervals") for name in drawn}
    bic = {name: np.array([float(cells[-2]) for cells in rows.values()]) for name, rows in tables.items()}
    least = np.min(list(bic.values()), axis=0)
    for name, heights in drawn.items():
        np.testing.assert_allclose(heights, bic[name] - least, atol=2)  # the table has three digits
    assert {"delta", "smile"} <= drawn.keys()
    assert np.min(list(drawn.values()), axis=0).tolist() == [0.0, 0.0, 0.0]
    words = plot.get_attribute("aria-label")
    assert all(f"{name} for {np.sum(heights == 0)}" in words for name, heights in drawn.items())


def test_cancel_and_a_closed_tab_end_it(visit: Any, jobs: Jobs) -> None:
    def started() -> PageJob:
        with page.expect_response(re.compile("/api/jobs/compare")) as answer:
            _start(page)
        job = jobs.find(json.loads(answer.value.body())["job"])
        assert job is not None
        return job

    page = _compare(visit)
    job = started()
    assert job.is_running
    with page.expect_response(re.compile("/cancel$")):
        page.locator(".fits").get_by_role("button", name="Cancel").click()
    page.get_by_text("Cancelled.").wait_for()
    page.wait_for_function("() => document.querySelector('.analysis progress').hidden")
    assert not job.is_running
    assert page.locator(".fits").get_by_role("button", name="Cancel").is_disabled()
    job = started()
    page.get_by_text("Starting").wait_for()
    page.close()
    assert job.stop.wait(20)
    job.end()  # it is over
    assert b"cancelled" in job.events[-1]


def test_a_link_to_a_table_says_what_is_missing_and_keeps_its_settings(visit: Any) -> None:
    page = visit("#tab=data&data.name=my+trials.csv&data.fit=compare&data.responded=before&data.response=estimate")
    page.wait_for_selector("#data .drop")
    assert page.get_by_text("This link is about a table that is not here: drop my trials.csv again.").is_visible()
    assert page.input_value('.fits select[name="data.responded"]') == "before"
    assert page.input_value('select[name="data.fit"]') == "compare"
    _drop(page, "body")
    assert page.input_value('.fits select[name="data.response"]') == "estimate"
    assert not page.get_by_text("This link is about").is_visible()

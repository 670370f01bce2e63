"""Does the button on a block of code copy what one would type, and nothing that was printed?

Needs Chromium (Debian: apt-get install chromium) and playwright.
"""

import shutil
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("playwright.sync_api", reason="the browser is driven by playwright")
from playwright import sync_api

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium here")
SCRIPT = Path(__file__).parent.parent / "docs" / "_static" / "copy.js"
SESSION = ">>> def f(x):\n...     return x\n...\n>>> print(f(2))\n2\n>>> # the end\n"


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A page from the disk, with a session, a cell and what the cell printed."""
    blocks = (SESSION, "x = 1\n\nprint(x)\n", "1\n")
    boxes = [f'<div class="highlight"><pre>{text.replace(">", "&gt;")}</pre></div>' for text in blocks]
    boxes[2] = f'<div class="cell_output">{boxes[2]}</div>'
    file = tmp_path_factory.mktemp("site") / "page.html"
    file.write_text(
        f'<script src="{SCRIPT.as_uri()}"></script><div class="bd-article">{"".join(boxes)}</div><textarea>'
    )
    with sync_api.sync_playwright() as play:
        chromium = play.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        opened = chromium.new_page()
        opened.clock.install()
        opened.goto(file.as_uri())
        opened.clock.pause_at(datetime.now() + timedelta(hours=1))  # "Copied" stays until a test lets time pass
        yield opened
        chromium.close()


def test_prompts_and_what_was_printed_are_left_out(page: Any) -> None:
    assert page.evaluate("text => typed(text)", SESSION) == "def f(x):\n    return x\n\nprint(f(2))\n# the end"
    assert page.evaluate("text => typed(text)", "$ astonish cite\nastonish: no\n") == "astonish cite"
    assert page.evaluate("text => typed(text)", "a = 1\n  b\n") == "a = 1\n  b"


def test_the_button_copies(page: Any) -> None:
    buttons = page.locator("button.copy-code")
    assert buttons.count() == 2  # none on what was printed
    buttons.nth(1).click()
    sync_api.expect(buttons.nth(1)).to_have_text("Copied")
    page.locator("textarea").focus()
    page.keyboard.press("Control+V")
    sync_api.expect(page.locator("textarea")).to_have_value("x = 1\n\nprint(x)")
    page.clock.run_for(3000)
    sync_api.expect(buttons.nth(1)).to_have_text("Copy")

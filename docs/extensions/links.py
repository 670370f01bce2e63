"""Does every link within the site lead somewhere, and does no page ask anybody else for anything?

Asked of the pages as they were written: a link or an anchor that is missing, or a script, style, picture or font that
would be loaded from elsewhere, is a warning, and warnings stop the build.
"""

import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

from sphinx.application import Sphinx
from sphinx.util.logging import getLogger

_LOADS = {("img", "src"), ("script", "src"), ("iframe", "src"), ("source", "src"), ("link", "href")}
_ELSEWHERE = re.compile(r"url\(\s*['\"]?(?:https?:)?//[^)]*\)|@import\s+['\"](?:https?:)?//[^'\"]*")


class Page(HTMLParser):
    """A page's anchors, what it links to, and what it loads."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.anchors: set[str] = {"", "top"}
        self.links: set[str] = set()
        self.loads: set[str] = set()
        self.feed(path.read_text())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in ("id", "name") and value:
                self.anchors.add(value)
            if name in ("href", "src") and value:
                (self.loads if (tag, name) in _LOADS else self.links).add(value)


def problems(root: Path) -> list[str]:
    """What is wrong with the pages in this folder, in sentences."""
    written = [path for path in sorted(root.rglob("*.html")) if "_static" not in path.parts]  # there lie templates
    pages = {path: Page(path) for path in written}
    found = [
        f"{path.relative_to(root)} {wrong}"
        for path, page in pages.items()
        for link in sorted(page.links | page.loads)
        if (wrong := _wrong(root, pages, path, link, link in page.loads))
    ]
    styles = [(path, _ELSEWHERE.findall(path.read_text())) for path in sorted(root.rglob("*.css"))]
    return found + [f"{path.relative_to(root)} loads {what}" for path, loads in styles for what in loads]


def _wrong(root: Path, pages: dict[Path, Page], path: Path, link: str, loaded: bool) -> str | None:
    parts = urlsplit(link)
    if parts.scheme == "data":
        return None
    if parts.scheme or parts.netloc:
        return f"loads {link}" if loaded else None
    place = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if not (place.is_file() and place.is_relative_to(root)):
        return f"links to {link}, which is not there"
    if place in pages and unquote(parts.fragment) not in pages[place].anchors:
        return f"links to {link}, which has no such place"
    return None


def _check(app: Sphinx, failure: Exception | None) -> None:
    if failure is None and app.builder.format == "html":
        for problem in problems(Path(app.outdir).resolve()):
            getLogger(__name__).warning(problem)


def setup(app: Sphinx) -> dict[str, bool]:
    """Ask when all else is done."""
    app.connect("build-finished", _check, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

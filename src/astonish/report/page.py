"""What does a report look like? One HTML file with its pictures in it, for any browser, offline."""

from base64 import b64encode
from collections.abc import Sequence
from html import escape
from importlib.metadata import version
from importlib.resources import files
from string import Template

_PER_REM = 25  # pixels of a figure, of which there are 200 to the inch


def page(title: str, lead: str, about: str, command: str, sections: Sequence[str], warning: str = "") -> str:
    """The whole page. lead: its message, in a sentence. command: what to type to get the same page."""
    template = files("astonish.report").joinpath("page.html").read_text(encoding="utf-8")
    return Template(template).substitute(
        title=escape(title),
        lead=escape(lead),
        warning=f'<p class="quick">{escape(warning)}</p>' if warning else "",
        about=escape(about),
        version=version("astonish"),
        command=escape(command),
        body="\n".join(sections),
    )


def section(heading: str, *parts: str) -> str:
    """A part of the page with a heading of its own."""
    return "\n".join([f"<section>\n<h2>{escape(heading)}</h2>", *parts, "</section>"])


def paragraph(text: str) -> str:
    """Plain text."""
    return f"<p>{escape(text)}</p>"


def html_table(columns: Sequence[str], rows: Sequence[str], looks: str, name: str) -> str:
    """A table that scrolls by itself where it is wider than the screen. rows: as `row` makes them."""
    head = "".join(f'<th scope="col">{escape(column)}</th>' for column in columns)
    body = "\n".join(rows)
    return (
        f'<div class="wide" role="region" tabindex="0" aria-label="{escape(name)}">\n<table class="{looks}">\n'
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table>\n</div>"
    )


def row(first: str, cells: Sequence[str], looks: str = "") -> str:
    """A row of plain text, the first cell of which says what it is about."""
    start = f'<tr class="{looks}">' if looks else "<tr>"
    return f'{start}<th scope="row">{escape(first)}</th>{"".join(f"<td>{escape(cell)}</td>" for cell in cells)}</tr>'


def picture(png: bytes, heading: str, name: str, caption: str) -> str:
    """A figure with its heading, and what it shows in words. It is as wide as it was drawn: 8 rem for an inch."""
    words, pixels = escape(caption), int.from_bytes(png[16:20])  # where the format has the width
    return (
        f'<h3 id="{escape(name)}">{escape(heading)}</h3>\n'
        f'<figure><img style="width: {pixels / _PER_REM:.4g}rem" src="data:image/png;base64,{b64encode(png).decode()}" '
        f'alt="{words}">\n'
        f"<figcaption>{words}</figcaption></figure>"
    )


def details(summary: str, *parts: str) -> str:
    """What is shown once somebody asks for it."""
    return "\n".join([f"<details><summary>{escape(summary)}</summary>", *parts, "</details>"])


def preformatted(text: str) -> str:
    """Text as it is, such as a command."""
    return f"<pre>{escape(text)}</pre>"

"""How results look: the style of all figures, and one HTML page for reports, with its pictures in it, offline."""

from base64 import b64encode
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from html import escape
from importlib.metadata import version
from importlib.resources import files
from io import BytesIO
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any

from astonish.core.refusal import naming_extra
from astonish.io.files import atomic_write

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Okabe & Ito's colours, told apart by colour-blind people too; they are Matplotlib's "okabe_ito"
BLACK, ORANGE, SKY, GREEN = "#000000", "#e69f00", "#56b4e9", "#009e73"
YELLOW, BLUE, VERMILLION, PURPLE = "#f0e442", "#0072b2", "#d55e00", "#cc79a7"
COLOURS = (BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY, BLACK, YELLOW)

STYLE: Any = {
    "axes.prop_cycle": f"cycler('color', {list(COLOURS)})",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "figure.dpi": 150,
    "font.size": 9,
    "legend.frameon": False,
    "lines.linewidth": 1.2,
    "pdf.fonttype": 42,
}
_ACROSS = 3  # panels in a row
_PER_REM = 25  # pixels of a figure, of which there are 200 to the inch


@contextmanager
def styled_figure(rows: int = 1, columns: int = 1, style: Any = None, **options: Any) -> "Iterator[tuple[Figure, Any]]":
    """Make a figure and its panels, to be drawn in the style of all figures within the block.

    Args:
        rows: Of panels.
        columns: Of panels.
        style: Further settings of Matplotlib.
        options: For `matplotlib.pyplot.subplots`.

    """
    with naming_extra("a plot needs"):
        import matplotlib as mpl
        import matplotlib.pyplot as plt

    with mpl.rc_context({**STYLE, **(style or {})}):
        yield plt.subplots(rows, columns, layout="constrained", **options)


@contextmanager
def styled_panels(count: int, width: float, height: float, margin: float = 0.0) -> "Iterator[tuple[Figure, Any]]":
    """Do the same for any number of panels of this size (in inches), three in a row."""
    rows, columns = -(-count // _ACROSS), min(_ACROSS, count)
    size = (width * columns + margin, height * rows)
    with styled_figure(rows, columns, figsize=size, squeeze=False) as (figure, axes):
        for axis in axes.flat[count:]:
            axis.set_axis_off()
        yield figure, axes.flat[:count]


@naming_extra("a plot needs")
def save_figure(figure: "Figure", stem: Path) -> bytes:
    """Write a figure as PNG and PDF, each complete or not at all, and close it; the answer is the PNG."""
    import matplotlib as mpl
    import matplotlib.pyplot as plt

    pictures, formats = {}, {".png": None, ".pdf": {"CreationDate": None}}
    with mpl.rc_context(STYLE):  # some settings count only when a file is made, such as fonts in PDF
        for ending, metadata in formats.items():
            buffer = BytesIO()  # in memory first: when the disk is full, the writer of PNG does not say so
            figure.savefig(buffer, format=ending[1:], dpi=200, metadata=metadata)
            pictures[ending] = buffer.getvalue()
    plt.close(figure)
    for ending, image in pictures.items():
        with atomic_write(stem.with_name(stem.name + ending)) as file:
            file.write(image)
    return pictures[".png"]


def page(title: str, lead: str, about: str, command: str, sections: Sequence[str], warning: str = "") -> str:
    """Write a whole page. lead: its message, in a sentence. command: what to type to get the same page."""
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
    """Write a part of the page with a heading of its own."""
    return "\n".join([f"<section>\n<h2>{escape(heading)}</h2>", *parts, "</section>"])


def paragraph(text: str) -> str:
    """Write plain text."""
    return f"<p>{escape(text)}</p>"


def html_table(columns: Sequence[str], rows: Sequence[str], looks: str, name: str) -> str:
    """Write a table that scrolls by itself where it is wider than the screen. rows: as `row` makes them."""
    head = "".join(f'<th scope="col">{escape(column)}</th>' for column in columns)
    body = "\n".join(rows)
    return (
        f'<div class="wide" role="region" tabindex="0" aria-label="{escape(name)}">\n<table class="{looks}">\n'
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table>\n</div>"
    )


def row(first: str, cells: Sequence[str], looks: str = "") -> str:
    """Write a row of plain text, the first cell of which says what it is about."""
    start = f'<tr class="{looks}">' if looks else "<tr>"
    return f'{start}<th scope="row">{escape(first)}</th>{"".join(f"<td>{escape(cell)}</td>" for cell in cells)}</tr>'


def picture(png: bytes, heading: str, name: str, caption: str) -> str:
    """Show a figure with its heading, and what it shows in words. It is as wide as it was drawn: 8 rem for an inch."""
    words, pixels = escape(caption), int.from_bytes(png[16:20])  # where the format has the width
    return (
        f'<h3 id="{escape(name)}">{escape(heading)}</h3>\n'
        f'<figure><img style="width: {pixels / _PER_REM:.4g}rem" src="data:image/png;base64,{b64encode(png).decode()}" '
        f'alt="{words}">\n'
        f"<figcaption>{words}</figcaption></figure>"
    )


def details(summary: str, *parts: str) -> str:
    """Hide parts until somebody asks for them."""
    return "\n".join([f"<details><summary>{escape(summary)}</summary>", *parts, "</details>"])


def preformatted(text: str) -> str:
    """Write text as it is, such as a command."""
    return f"<pre>{escape(text)}</pre>"

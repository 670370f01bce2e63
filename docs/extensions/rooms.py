"""The rooms of the source as a picture, drawn from the layers in `pyproject.toml` that import-linter checks."""

import tomllib
from html import escape
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.parsers.rst import Directive
from sphinx.application import Sphinx

ROOT = Path(__file__).parents[2]
WIDTH, HEIGHT, GAP = 760, 30, 10


def layers() -> list[list[str]]:
    """The layers, the highest first: rooms that stand side by side in each.

    >>> layers()[0]
    ['cli']
    """
    content = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contract = content["tool"]["importlinter"]["contracts"][0]
    return [[room.strip().removeprefix("astonish.") for room in row.split("|")] for row in contract["layers"]]


def picture() -> str:
    """An SVG: each room may import those in lower rows, and none above or beside it."""
    rows = layers()
    height = len(rows) * (HEIGHT + GAP) + GAP
    boxes = []
    for k, row in enumerate(rows):
        width = (WIDTH - GAP * (len(row) + 1)) / len(row)
        for column, room in enumerate(row):
            x, y = GAP + column * (width + GAP), GAP + k * (HEIGHT + GAP)
            boxes.append(
                f'<rect x="{x:.0f}" y="{y}" width="{width:.0f}" height="{HEIGHT}" rx="4" fill="none" '
                f'stroke="currentColor"/><text x="{x + width / 2:.0f}" y="{y + 20}" text-anchor="middle" '
                f'fill="currentColor" font-size="14">{escape(room)}</text>'
            )
    label = "Rooms of the source in rows: each imports only what stands below it. " + "; ".join(map(", ".join, rows))
    return (
        f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escape(label)}" '
        f'xmlns="http://www.w3.org/2000/svg" style="max-width: {WIDTH}px">{"".join(boxes)}</svg>'
    )


class Rooms(Directive):
    """`{rooms}`: the picture."""

    def run(self) -> list[Any]:
        """The picture as a node of the page."""
        return [nodes.raw("", picture(), format="html")]


def setup(app: Sphinx) -> dict[str, bool]:
    """Make the directive known."""
    app.add_directive("rooms", Rooms)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

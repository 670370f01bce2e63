"""How does a command leave tables, pictures and pages behind? Whole, or not at all."""

from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from astonish.files import whole
from astonish.page import row
from astonish.page import table as as_html

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame


def table(frame: "DataFrame", path: Path) -> None:
    """As CSV."""
    with whole(path) as file:
        frame.to_csv(file, index=False, lineterminator="\n")


def text(words: str, path: Path) -> None:
    """As a file of UTF-8."""
    with whole(path) as file:
        file.write(words.encode())


def drawing(figure: "Figure", stem: Path) -> bytes:
    """As PNG and PDF; the answer is the PNG."""
    import matplotlib.pyplot as plt

    pictures = {}
    for ending, more in ((".png", {"dpi": 200}), (".pdf", {"metadata": {"CreationDate": None}})):
        buffer = BytesIO()
        figure.savefig(buffer, format=ending[1:], **more)  # type: ignore[arg-type]
        pictures[ending] = buffer.getvalue()
        with whole(stem.with_suffix(ending)) as file:
            file.write(pictures[ending])
    plt.close(figure)
    return pictures[".png"]


def shown(frame: "DataFrame", name: str) -> str:
    """For a page, numbers short."""
    rows = [row(_short(cells[0]), [_short(cell) for cell in cells[1:]]) for cells in frame.itertuples(index=False)]
    return as_html([str(column) for column in frame.columns], rows, "numbers", name)


def _short(cell: Any) -> str:
    return f"{cell:.4g}" if isinstance(cell, float) else str(cell)

"""How are figures and a report made from numbers, so that the same numbers give the same files?"""

from collections.abc import Callable, Sequence
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import matplotlib.pyplot as plt

from astonish.files import whole
from astonish.paper.figure import Figure
from astonish.paper.report import Result, html, markdown
from astonish.paper.study import Study
from astonish.plot import STYLE

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing


def reproduce(
    figures: Sequence[Figure], study: Study, out: Path, begins: Callable[[Figure], Any] = lambda _: None
) -> list[Result]:
    """Compute and draw the figures into the folder, and a report on all of them.

    begins: is called with every figure before it is computed.
    """
    results = [_make(figure, study, out, begins) for figure in figures]
    _keep(out / "report.md", markdown(results, study).encode())
    _keep(out / "report.html", html(results, study).encode())
    return results


def _make(figure: Figure, study: Study, out: Path, begins: Callable[[Figure], Any]) -> Result:
    begins(figure)
    numbers = figure.compute(study)
    drawing = figure.draw(numbers)
    with mpl.rc_context(STYLE):  # some settings count only when a file is made, such as fonts in PDF
        png, pdf = _picture(drawing, "png"), _picture(drawing, "pdf")
    plt.close(drawing)
    _keep(out / f"{figure.stem}.png", png)
    _keep(out / f"{figure.stem}.pdf", pdf)
    return Result(figure, figure.claims(numbers), png)


def _picture(drawing: "Drawing", kind: str) -> bytes:
    """In memory first: told that the disk is full, the writer of PNG forgets why it failed."""
    file = BytesIO()
    drawing.savefig(file, format=kind, dpi=200, metadata={"CreationDate": None} if kind == "pdf" else None)
    return file.getvalue()


def _keep(path: Path, content: bytes) -> None:
    with whole(path) as file:
        file.write(content)

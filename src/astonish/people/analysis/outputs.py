"""How does an analysis write tables, figures and its report?"""

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from astonish.core.refusal import not_installed
from astonish.io.files import atomic_write, write_text
from astonish.people.analysis.console import Console
from astonish.report.page import html_table, page, paragraph, picture, row

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame

UNFINISHED = "unfinished"  # the folder of what is kept until an analysis is done
_SHOWN = 10  # participants of whom it is said why they are left out


def write_table(frame: "DataFrame", path: Path) -> None:
    """Write a table as .csv, .tsv or .parquet, completely or not at all."""
    from astonish.io.text_table import write_separated

    with atomic_write(path) as file:
        if path.suffix.lower() != ".parquet":
            write_separated(frame, file, "\t" if path.suffix.lower() == ".tsv" else ",")
            return
        try:
            frame.to_parquet(file, engine="pyarrow", index=False)
        except ImportError:
            raise ValueError(f"{not_installed(f'{path} needs', 'pyarrow')}, or give a .csv") from None


def finish(
    console: Console,
    out: Path,
    title: str,
    lead: str,
    sections: Sequence[str],
    command: str,
    about: str = "",
    excluded: Mapping[str, str] | None = None,
) -> None:
    """Write the report, remove what was kept of unfinished fits, and show who is left out and where the report is.

    lead: the message of the report, in a sentence, which was shown before.
    """
    write_text(out / "report.html", page(title, lead, about, command, sections))
    shutil.rmtree(out / UNFINISHED, ignore_errors=True)
    left = list((excluded or {}).items())
    for who, why in left[:_SHOWN]:
        console.show(f"left out: {who}, {why}")
    if len(left) > _SHOWN:
        console.show(f"left out: {len(left) - _SHOWN} more, see the report")
    console.show(f"Report: {out / 'report.html'}")


def shown(frame: "DataFrame", name: str) -> str:
    """A table for a report, with short numbers."""
    short = frame.map(lambda cell: str(cell) if not isinstance(cell, float) else "-" if cell != cell else f"{cell:.4g}")
    rows = [row(first, cells) for first, *cells in short.itertuples(index=False)]
    return html_table([str(column).replace("_", " ") for column in frame.columns], rows, "numbers", name)


def in_lines(frame: "DataFrame") -> str:
    """A table for the terminal, with short numbers."""
    return str(frame.to_string(index=False, float_format="{:.4g}".format, na_rep="-"))


def drawn(figure: "Figure", stem: Path, heading: str, caption: str) -> str:
    """A figure for a report, which is also saved beside it as PNG and PDF."""
    from astonish.report.style import save_figure

    return picture(save_figure(figure, stem), heading, stem.name, caption)


def left_out(excluded: Mapping[str, str]) -> list[str]:
    """Who is left out, and why, for a report."""
    return [paragraph(f"Left out: {who}, {why}.") for who, why in excluded.items()]


def file_name(model: str) -> str:
    """The name of a model as that of a file.

    >>> file_name("smile:m,noise")
    'smile-m-noise'
    """
    return "".join(letter if letter.isalnum() else "-" for letter in model)

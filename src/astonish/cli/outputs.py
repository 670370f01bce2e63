"""How does a command write tables, figures and its report?"""

import shlex
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from astonish.io.files import atomic_write, write_text
from astonish.refusal import not_installed
from astonish.report.page import html_table, page, paragraph, picture, row

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame

UNFINISHED = "unfinished"  # the folder of what is kept until a command is done


def write_table(frame: "DataFrame", path: Path) -> None:
    """Write a table as .csv, .tsv or .parquet, completely or not at all."""
    with atomic_write(path) as file:
        if path.suffix.lower() != ".parquet":
            frame.to_csv(file, sep="\t" if path.suffix.lower() == ".tsv" else ",", index=False, lineterminator="\n")
            return
        try:
            frame.to_parquet(file, engine="pyarrow", index=False)
        except ImportError:
            raise ValueError(f"{not_installed(f'{path} needs', 'pyarrow')}, or give a .csv") from None


def finish(
    out: Path,
    title: str,
    lead: str,
    sections: Sequence[str],
    about: str = "",
    excluded: Mapping[str, str] | None = None,
) -> None:
    """Write the report, remove what was kept of unfinished fits, and print who is left out and where the report is."""
    write_text(out / "report.html", page(title, lead, about, shlex.join(["astonish", *sys.argv[1:]]), sections))
    shutil.rmtree(out / UNFINISHED, ignore_errors=True)
    for who, why in (excluded or {}).items():
        print(f"left out: {who}, {why}")
    print(f"Report: {out / 'report.html'}")


def shown(frame: "DataFrame", name: str) -> str:
    """A table for a report, with short numbers."""
    short = frame.map(lambda cell: f"{cell:.4g}" if isinstance(cell, float) else str(cell))
    rows = [row(first, cells) for first, *cells in short.itertuples(index=False)]
    return html_table([str(column) for column in frame.columns], rows, "numbers", name)


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

"""How do all figures look, and how are they saved?"""

from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from astonish.core.refusal import check_installed, naming_extra
from astonish.io.files import atomic_write

check_installed("a plot needs", "matplotlib")
with naming_extra("a plot needs"):
    from cycler import cycler  # which comes with it

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Okabe & Ito's colours, told apart by colour-blind people too; they are Matplotlib's "okabe_ito"
BLACK, ORANGE, SKY, GREEN = "#000000", "#e69f00", "#56b4e9", "#009e73"
YELLOW, BLUE, VERMILLION, PURPLE = "#f0e442", "#0072b2", "#d55e00", "#cc79a7"

STYLE: Any = {
    "axes.prop_cycle": cycler(color=[BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY, BLACK, YELLOW]),
    "axes.spines.top": False,
    "axes.spines.right": False,
    "figure.dpi": 150,
    "font.size": 9,
    "legend.frameon": False,
    "lines.linewidth": 1.2,
    "pdf.fonttype": 42,
}


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
    for ending, picture in pictures.items():
        with atomic_write(stem.with_name(stem.name + ending)) as file:
            file.write(picture)
    return pictures[".png"]

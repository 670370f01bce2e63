"""Which figures are there, and which of them does a name mean?"""

import re
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path

from astonish.paper import liakoni2021
from astonish.paper.against_em import FIGURE_7
from astonish.paper.ceiling import CEILING
from astonish.paper.commitment import FIGURE_2
from astonish.paper.examples import FIGURE_1
from astonish.paper.figure import Figure
from astonish.paper.gaussian import FIGURE_3
from astonish.paper.heatmaps import FIGURE_8
from astonish.paper.matrices import FIGURE_6
from astonish.paper.rooms import FIGURE_4
from astonish.paper.sweeps import SWEEPS
from astonish.paper.switches import FIGURE_5

FIGURES: Sequence[Figure] = (
    FIGURE_1, FIGURE_2, FIGURE_3, FIGURE_4, FIGURE_5, FIGURE_6, FIGURE_7, FIGURE_8, CEILING, SWEEPS,
)  # fmt: skip


def chosen(names: Sequence[str], data: Path | None = None) -> list[Figure]:
    """The figures of these names, each once and in the paper's order; all of the paper's when there are no names.

    data: the folder of published numbers that `liakoni2021` is compared with.

    >>> [figure.name for figure in chosen(["ceiling", "fig3", "Figure 1", "3"])]
    ['1', '3', 'ceiling']
    """
    wanted = {_known(name) for name in names}
    if data is not None and liakoni2021.NAME not in wanted:
        raise ValueError(f"--data {data} is read by {liakoni2021.NAME} alone; name it, or leave --data out")
    found = [figure for figure in FIGURES if not names or figure.name in wanted]
    return [*found, liakoni2021.against(data)] if liakoni2021.NAME in wanted else found


def _known(name: str) -> str:
    known = [*(figure.name for figure in FIGURES), liakoni2021.NAME]
    bare = re.sub(r"^fig(ure)?[ .]*", "", name.strip().lower())
    if bare in known:
        return bare
    close = get_close_matches(bare, known, n=1)
    guess = f"did you mean {close[0]}? Known are" if close else "known are"
    raise ValueError(f"there is no figure {name!r}; {guess} {', '.join(known[:-1])} and {known[-1]}")

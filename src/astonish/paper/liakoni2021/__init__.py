"""Do our learners make the errors that were published?

An independent test of eight learners: their errors in the Gaussian task of Liakoni, Modirshanechi, Gerstner & Brea
(2021, section 2.3.1 and Figure 3), at the authors' parameters, next to those in the authors' tables, which are not part
of this library.
"""

import shlex
from functools import partial
from pathlib import Path

from astonish.paper.figure import Figure
from astonish.paper.liakoni2021 import comparison, drawing, numbers, published
from astonish.paper.liakoni2021.comparison import told

NAME = "liakoni2021"
CAPTION = (
    "Mean squared errors of eight learners that follow a mean drawn anew from N(0, 1) before each sample with a "
    "probability, the hazard, of 0.005 to 0.1, from samples with noise of standard deviation 0.1 to 5: those published "
    "by Liakoni et al. (2021) and ours, each over ten series of 100000 steps, at the parameters that they found best. "
    "A: one against the other, ours on series of our own. B: difference over its standard error, by learner and "
    "hazard; within the grey band, three standard errors to either side, it is put down to chance. Red strokes: our "
    "errors on the very series that the authors drew. Their series for all values of noise and hazard share their "
    "seeds, and all learners see the same series, so that the dots are not independent of each other."
)


def against(folder: Path | None) -> Figure:
    """The comparison with the numbers in a folder; a ValueError says what is needed if they are not there."""
    if folder is None:
        raise ValueError(published.NEEDED)
    published.read(folder)
    compute = partial(numbers.compute, folder)
    title, option = "Published errors of eight learners", f"--data {shlex.quote(str(folder))}"
    return Figure(NAME, title, CAPTION, numbers.TABLES, compute, drawing.draw, comparison.claims, option)


__all__ = ["NAME", "against", "told"]

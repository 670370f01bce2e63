"""Figure 2: how far may a surprise move a mind?

Faraji, Preuschoff & Gerstner (2018), sections 2.1, 2.2, 4.4 and 4.5.
"""

from astonish.paper.commitment import claims, drawing, numbers
from astonish.paper.commitment.numbers import NORMALS, WIDTHS
from astonish.paper.figure import Figure

CAPTION = (
    "Commitment, and the way to the sample. A: two internal models that predict the same. A sample x is the size of "
    "theta plus normal noise; one person knows the sign of theta (committed, blue), the other does not (open, red). "
    "Contours: joint density of x and theta. Top: the two predictive densities, which coincide. Right: the beliefs, "
    "and the scaled likelihood of the sample X (purple), the same for both. B: surprise at a sample two noise widths "
    "away, if it came again after a step of size gamma, for a normal belief as wide as the noise (black, a parabola) "
    f"and for one of {WIDTHS['narrow']:g} times its width (grey, rescaled to the same start). Lines: the gamma that "
    "three bounds on the change lead to. C (not in the paper): two normal models with equal predictions of variance 1, "
    f"beliefs of variance {NORMALS['committed']:g} and {NORMALS['open']:g}: by how much the more committed one is more "
    "surprised."
)
FIGURE_2 = Figure(
    "2", "Commitment, and surprise minimisation within a bound", CAPTION, tuple(numbers.TABLES),
    numbers.compute, drawing.draw, claims.claims,
)  # fmt: skip

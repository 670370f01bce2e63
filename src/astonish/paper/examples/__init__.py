"""Figure 1: who is surprised by what?

Faraji, Preuschoff & Gerstner (2018), sections 2.1 and 4.2 to 4.4.
"""

from astonish.paper.examples import claims, drawing, numbers
from astonish.paper.examples.numbers import MANY, MORNINGS, RARE
from astonish.paper.figure import Figure

CAPTION = (
    "Who is surprised? A: three colleagues' beliefs over four models of an election; model k gives candidate k the "
    f"probability {1 - RARE:g} and the others an equal share of the rest. Below: how likely each candidate is to each "
    "colleague, and the confidence-corrected surprise (nats) at two outcomes; candidate 2 is as likely to all three. "
    "B: a joke. The word goldfish, nineteen times as common in talk of containers as in talk of military vehicles, "
    "moves an even belief about the word tank (Bayes' rule); guns, as telling in the other direction, then contradicts "
    f"it. C: a green car in the slot next to yours, one of {MANY} kinds. To the driver who cares only about a free "
    "slot, all of his models (a quiet, a usual, a busy day) make every kind equally likely, and he finds the models "
    f"equally likely too. The others have one model per kind, which gives it the probability {1 - RARE:g}; one driver "
    f"is undecided among them, the other has seen the red car on {MORNINGS} mornings (Bayes' rule). Last row: the red "
    "car is there as usual."
)
FIGURE_1 = Figure(
    "1", "Examples of surprise", CAPTION, tuple(numbers.TABLES), numbers.compute, drawing.draw, claims.claims
)

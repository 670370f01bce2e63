"""Which model explains people best, and how sure is that?"""

from astonish.people.comparison.criteria import Selection, compare_fits
from astonish.people.comparison.cross_validation import HeldOut, compare_elpd, compare_mse, held_out
from astonish.people.comparison.loo import psis_loo
from astonish.people.comparison.random_effects import select

__all__ = ["HeldOut", "Selection", "compare_elpd", "compare_fits", "compare_mse", "held_out", "psis_loo", "select"]

"""Which model explains people best, and how sure is that?"""

from astonish.fit.comparison.criteria import Selection, compare_fits
from astonish.fit.comparison.cross_validation import HeldOut, compare_elpd, compare_mse, held_out
from astonish.fit.comparison.loo import psis_loo
from astonish.fit.comparison.random_effects import select

__all__ = ["HeldOut", "Selection", "compare_elpd", "compare_fits", "compare_mse", "held_out", "psis_loo", "select"]

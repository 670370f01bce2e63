"""Comparison of models of people: which one explains them best, and how sure that is."""

import astonish.people.fit  # noqa: F401  which exports what is here, too, and so has to come first
from astonish.people.comparison.prediction import HeldOut, compare_elpd, compare_mse, held_out, psis_loo
from astonish.people.comparison.selection import Selection, compare_fits, select

__all__ = ["HeldOut", "Selection", "compare_elpd", "compare_fits", "compare_mse", "held_out", "psis_loo", "select"]

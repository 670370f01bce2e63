"""Which learner is right for which data?"""

from astonish.compare.table import Comparison, compare

__all__ = ["Comparison", "compare"]

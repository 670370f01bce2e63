"""Which learner is right for which data?"""

from astonish.scoring.comparison import Comparison, compare

__all__ = ["Comparison", "compare"]

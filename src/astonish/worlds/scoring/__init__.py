"""Which learner is right for which data?"""

from astonish.worlds.scoring.comparison import Comparison, compare

__all__ = ["Comparison", "compare"]

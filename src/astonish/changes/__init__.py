"""Has the world changed, and when?"""

from astonish.changes.detector import Detector
from astonish.changes.segments import change_points, run_lengths

__all__ = ["Detector", "change_points", "run_lengths"]

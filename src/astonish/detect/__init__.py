"""Has the world changed, and when?"""

from astonish.detect.changepoints import change_points, run_lengths
from astonish.detect.detector import Detector

__all__ = ["Detector", "change_points", "run_lengths"]

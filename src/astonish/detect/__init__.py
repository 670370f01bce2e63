"""Has the world changed, and when?"""

from astonish.detect.changepoints import change_points, run_lengths
from astonish.detect.detector import Detector
from astonish.detect.posterior import ChangePosterior, change_posterior
from astonish.detect.usual import usual_detector

__all__ = ["ChangePosterior", "Detector", "change_points", "change_posterior", "run_lengths", "usual_detector"]

"""Has the world changed, when, and how sure is that?"""

from astonish.detect.changepoints import change_points, run_lengths
from astonish.detect.detector import Detector
from astonish.detect.monitoring import MonitorStep, StreamMonitor, monitor
from astonish.detect.periods import find_period
from astonish.detect.posterior import ChangePosterior, change_posterior
from astonish.detect.usual import usual_detector

__all__ = [
    "ChangePosterior", "Detector", "MonitorStep", "StreamMonitor", "change_points", "change_posterior", "find_period",
    "monitor", "run_lengths", "usual_detector",
]  # fmt: skip

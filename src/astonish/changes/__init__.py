"""Has the world changed, when, and how sure is that?"""

from astonish.changes.changepoints import change_points, run_lengths
from astonish.changes.detector import Detector
from astonish.changes.monitoring import MonitorStep, StreamMonitor, monitor
from astonish.changes.periods import find_period
from astonish.changes.posterior import ChangePosterior, change_posterior
from astonish.changes.usual import usual_detector

__all__ = [
    "ChangePosterior", "Detector", "MonitorStep", "StreamMonitor", "change_points", "change_posterior", "find_period",
    "monitor", "run_lengths", "usual_detector",
]  # fmt: skip

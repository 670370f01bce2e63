"""Has the world changed, when, and how sure is that?"""

from astonish.changes.changepoints import ChangePosterior, change_points, change_posterior, run_lengths
from astonish.changes.detector import Detector, usual_detector
from astonish.changes.monitoring import MonitorStep, StreamMonitor, find_period, monitor

__all__ = [
    "ChangePosterior", "Detector", "MonitorStep", "StreamMonitor", "change_points", "change_posterior", "find_period",
    "monitor", "run_lengths", "usual_detector",
]  # fmt: skip

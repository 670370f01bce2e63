"""Has the world changed, and when?"""

from astonish.detect.changepoints import change_points, run_lengths
from astonish.detect.detector import Detector
from astonish.detect.monitoring import MonitorStep, StreamMonitor, monitor
from astonish.detect.periods import find_period

__all__ = ["Detector", "MonitorStep", "StreamMonitor", "change_points", "find_period", "monitor", "run_lengths"]

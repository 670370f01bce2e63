"""How does a monitor, which knows nothing of a stream beforehand, follow one on standard input?"""

from collections.abc import Callable
from typing import Any

from astonish.changes.monitoring import find_period, monitor
from astonish.models.assemble import arguments
from astonish.watch.feed import Reading


class MonitorFollower:
    """A monitor, as a `Follower`. given: what it was made with."""

    def __init__(self, **given: Any) -> None:
        self._monitor, self._given = monitor(**given), given

    @property
    def description(self) -> str:
        period = self._given["period"]
        repeats = "no period" if period is None else f"period {period:.4g}"
        rate = f"{self._monitor.false_alarm_rate:g} false alarms per sample at first, and fewer later"
        return f"Monitor ({repeats}); {rate}, if the stream stays as it was"

    @property
    def code(self) -> str:
        return f"from astonish import monitor\n\nfollower = monitor({arguments(self._given)})"

    def update(self, x: float) -> Reading:
        step = self._monitor.update(x)
        return Reading(step.estimate, step.low, step.high, step.surprise, step.alarm)


def monitor_for(
    first: list[float],
    period: float | None,
    false_alarm_rate: float | None,
    say: Callable[[str], None] = lambda _: None,
) -> MonitorFollower:
    """The monitor of a stream. first: samples in which a period is looked for, if none is given; `say` is told it."""
    if period is None:
        period = find_period(first) if first else None
        found = "none" if period is None else f"{period:.4g} samples"
        say(f"astonish: period in the first {len(first)} samples: {found}; --period gives another one")
    rate = {} if false_alarm_rate is None else {"false_alarm_rate": false_alarm_rate}
    return MonitorFollower(period=period, **rate)

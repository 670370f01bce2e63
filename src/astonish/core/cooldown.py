"""The cool-down after an alarm: for so many samples after one there is no other."""

import numpy as np

from astonish.core.numbers import BoolArray


def alarm_and_wait(above: bool, wait: int, cooldown: int) -> tuple[bool, int]:
    """Decide whether a sample gives an alarm, and for how many samples after it there is none.

    Args:
        above: Whether the signal at the sample is above its threshold.
        wait: For how many samples, this one included, there is no alarm.
        cooldown: For how many samples after an alarm there is no other.

    """
    alarm = above and wait == 0
    return alarm, cooldown if alarm else max(wait - 1, 0)


def spaced(above: BoolArray, cooldown: int) -> BoolArray:
    """Give alarms where the signal is above its threshold, but none within `cooldown` samples after another.

    Args:
        above: Where the signal is above its threshold, a series in each row.
        cooldown: For how many samples after an alarm there is no other.

    >>> spaced(np.array([[True, True, True, True, False]]), 1).astype(int).tolist()
    [[1, 0, 1, 0, 0]]

    """
    alarms = np.zeros_like(above)
    for row, alarm in zip(above, alarms, strict=True):
        free = 0
        for at in np.flatnonzero(row).tolist():
            if at >= free:
                alarm[at], free = True, at + cooldown + 1
    return alarms

"""What did each sample of a stream give, and what do others see of it while it goes on?"""

from collections import deque
from threading import Lock
from typing import NamedTuple, Protocol

KEPT = 1000  # rows; the page shows no more


class Reading(NamedTuple):
    """What is known after a sample.

    low, high: between which what is estimated lies, as far as is believed; NaN for learners that hold no belief.
    surprise: NaN where the sample is missing. alarm: whether the world seems to have changed.
    """

    estimate: float
    low: float
    high: float
    surprise: float
    alarm: bool


class Follower(Protocol):
    """Anything that follows a stream of numbers, of which NaN is a missing one.

    description: what it is, in words. code: the lines of Python that make it, as `follower`.
    """

    @property
    def description(self) -> str: ...

    @property
    def code(self) -> str: ...

    def update(self, x: float) -> Reading:
        """Learn from a sample, and say what is known then; ValueError, and nothing learned, if it is not allowed."""


class Row(NamedTuple):
    """A sample, counted from 1, and its reading."""

    sample: int
    x: float
    estimate: float
    low: float
    high: float
    surprise: float
    alarm: bool


class Feed:
    """The last rows of a stream and counts of all; one thread adds to it, and others may look at it.

    about: what follows the stream, once that is known. is_over: whether no more samples will come.
    """

    def __init__(self, kept: int = KEPT) -> None:
        self.about, self.code, self.is_over = "", "", False
        self._rows: deque[Row] = deque(maxlen=kept)
        self._alarms: deque[int] = deque(maxlen=kept)
        self._missing = self._alarm_count = 0
        self._lock = Lock()

    def add(self, x: float, reading: Reading) -> Row:
        """The row of the next sample."""
        with self._lock:
            row = Row(self.samples + 1, x, *reading)
            self._rows.append(row)
            self._missing += x != x  # of all numbers, NaN alone is not equal to itself
            if row.alarm:
                self._alarm_count += 1
                self._alarms.append(row.sample)
            return row

    @property
    def samples(self) -> int:
        """How many samples there were, missing ones included."""
        return self._rows[-1].sample if self._rows else 0

    @property
    def missing(self) -> int:
        return self._missing

    @property
    def alarms(self) -> int:
        return self._alarm_count

    @property
    def last_alarms(self) -> list[int]:
        """The samples that gave the last alarms."""
        with self._lock:
            return list(self._alarms)

    def rows(self, after: int = 0) -> list[Row]:
        """The rows that are kept of the samples after one."""
        with self._lock:
            newer = min(self.samples - after, len(self._rows))
            return [self._rows[k] for k in range(len(self._rows) - newer, len(self._rows))] if newer > 0 else []

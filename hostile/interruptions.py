"""Is a sample, or a batch, learned completely or not at all, whatever interrupts it?"""

import sys
from functools import partial
from itertools import count
from typing import Any

from attack import Report
from test_interrupted import MAKERS, bank, interrupted_at, outcomes, signal_at_random

ALL = {
    **MAKERS,
    "bank of numbers": partial(bank, int, False, "xla"),
    "bank of strings that evicts": partial(bank, str, True, "xla"),
}
ENOUGH = 2_000  # signals, beside which every call is interrupted


def attack(signals: int) -> Report:
    """An exception at every call, or at some if there are few signals, and so many signals at random times."""
    failures: list[str] = []
    calls, sys.unraisablehook = 0, lambda _: None  # what interrupts the end of a generator is only printed
    for name, make in ALL.items():
        try:
            calls += _interrupted(make, max(ENOUGH // signals, 1))
            signal_at_random(make, signals // len(ALL), seed=14)
        except AssertionError as problem:
            failures.append(f"{name}: {problem}")
    tried = f"an exception at each of the {calls:,} calls inside an update, and a timer's signal at a random time"
    happened = "as before the update or as after it, every time, and it went on"
    return Report("Interruptions", tried, calls + signals, happened, failures)


def _interrupted(make: Any, step: int) -> int:
    """Interrupt it at every call, or at every so many; how many these are."""
    places = count(0, step)
    return sum(1 for _ in outcomes(make, lambda work: interrupted_at(next(places), work)))

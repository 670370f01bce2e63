"""What is an attack, and how is what it found written down?"""

import random
import sys
import time
from collections.abc import Callable
from typing import NamedTuple


class Report(NamedTuple):
    """What came of an attack. tried: what was done. times: how often. failures: what went wrong, in sentences."""

    name: str
    tried: str
    times: int
    happened: str
    failures: list[str]
    seconds: float = 0.0


def timed(attack: Callable[..., Report], *given: object) -> Report:
    """An attack, with how long it took; an exception that escapes it is a failure like any other."""
    print(f"{attack.__module__}: ", end="", flush=True)
    start = time.perf_counter()
    try:
        report = attack(*given)
    except Exception as problem:
        report = Report(attack.__module__, "", 0, "", [f"it broke off: {type(problem).__name__}: {problem}"])
    report = report._replace(seconds=time.perf_counter() - start)
    print(f"{report.times:,} times, {len(report.failures)} failures, {report.seconds:.0f} s", flush=True)
    for failure in report.failures[:10]:
        print(f"  {failure}", file=sys.stderr)
    return report


def flipped(content: bytes, rng: random.Random) -> tuple[bytes, int]:
    """The same bytes with one bit changed, and which."""
    bit = rng.randrange(8 * len(content))
    spoiled = bytearray(content)
    spoiled[bit // 8] ^= 1 << bit % 8
    return bytes(spoiled), bit

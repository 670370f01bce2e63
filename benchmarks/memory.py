"""How much memory does a process hold after ever more updates of a stream? A program of its own, on Linux.

Writes the megabytes after each of the numbers of updates named as arguments.
"""

import json
import sys
from pathlib import Path

from astonish import Gaussian, Smile, Stream


def held() -> float:
    """Megabytes now; not the peak, for that is reached in compiling and would hide what comes after."""
    status = dict(line.split(":") for line in Path("/proc/self/status").read_text().splitlines())
    return int(status["VmRSS"].split()[0]) / 1024


def after(counts: list[int]) -> list[float]:
    """What is held after that many updates of one stream."""
    stream, done, sizes = Stream(Smile(Gaussian(noise=1.0))), 0, []
    for count in counts:
        for i in range(done, count):
            stream.update(i % 10)
        done = count
        sizes.append(held())
    return sizes


if __name__ == "__main__":
    print(json.dumps(after([int(count) for count in sys.argv[1:]])))

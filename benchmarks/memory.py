"""How much memory does a process hold after ever more updates of a stream? A program of its own, on Linux.

Arguments: which learner, and some numbers of updates. Writes the megabytes after each of these.
"""

import json
import sys
from pathlib import Path

from astonish import Gaussian, MessagePassing, ParticleFilter, Smile, Stream
from astonish.learners.base import Learner

LEARNERS: dict[str, Learner] = {
    "smile": Smile(Gaussian(noise=1.0)),
    "message_passing": MessagePassing(Gaussian(noise=1.0)),
    "particles": ParticleFilter(Gaussian(noise=1.0)),
}


def held() -> float:
    """Megabytes now; not the peak, for that is reached in compiling and would hide what comes after."""
    status = dict(line.split(":") for line in Path("/proc/self/status").read_text().splitlines())
    return int(status["VmRSS"].split()[0]) / 1024


def after(name: str, counts: list[int]) -> list[float]:
    """What is held after that many updates of one stream."""
    stream, done, sizes = Stream(LEARNERS[name]), 0, []
    for count in counts:
        for i in range(done, count):
            stream.update(i % 10)
        done = count
        sizes.append(held())
    return sizes


if __name__ == "__main__":
    print(json.dumps(after(sys.argv[1], [int(count) for count in sys.argv[2:]])))

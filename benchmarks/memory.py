"""How much memory does a process hold after ever more updates of a stream? On Linux."""

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
    """Return the megabytes that are held after each of these numbers of updates of one stream."""
    stream, done, sizes = Stream(LEARNERS[name]), 0, []
    for count in counts:
        for i in range(done, count):
            stream.update(i % 10)
        done = count
        sizes.append(held())
    return sizes

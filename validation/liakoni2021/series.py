"""Which samples do the learners see? Those of the authors, or others of the same kind.

Before each sample the mean is drawn anew from N(0, 1) with probability `hazard`; the sample is the mean plus noise of
standard deviation `sigma` (Liakoni et al. 2021, section 2.3.1). The authors' program is in Julia, and draws its series
from the seeds 1, 2, 3 and so on.
"""

from collections.abc import Callable
from functools import cache
from threading import Lock
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from validation.liakoni2021.julia import Julia

Floats = NDArray[np.float64]
STEPS, SERIES = 100_000, 10  # of the authors, for hazards of 0.005 or more


class Run(NamedTuple):
    """The world a series comes from, the learner's parameter in that world, and which of several series it is."""

    sigma: float
    hazard: float
    parameter: float | None
    series: int

    def seeds(self, seed: int) -> list[int]:
        """Seeds of its own, for the same chance in every learner."""
        return [seed, round(1e6 * self.sigma), round(1e6 * self.hazard), self.series]


Draw = Callable[[Run, int], tuple[Floats, Floats]]


def new(seed: int) -> Draw:
    """Other series: so many samples of a run, and the mean behind each."""

    def draw(run: Run, steps: int) -> tuple[Floats, Floats]:
        rng = np.random.default_rng(run.seeds(seed))
        changed = rng.random(steps) < run.hazard
        changed[0] = True
        means = rng.standard_normal(steps)[np.maximum.accumulate(np.where(changed, np.arange(steps), 0))]
        return means + run.sigma * rng.standard_normal(steps), means

    return draw


def theirs(run: Run, steps: int) -> tuple[Floats, Floats]:
    """The authors' series: the first of the samples that they drew, and the mean behind each."""
    with _ONE_AT_A_TIME:  # who waits finds them drawn
        _, noise = _first_and_noise(run.series + 1)
        means = _means(run.series + 1, run.hazard)
    return (means + run.sigma * noise)[:steps], means[:steps]


_ONE_AT_A_TIME = Lock()


@cache
def _first_and_noise(seed: int) -> tuple[float, Floats]:
    """The mean before the first step, and the noise of all; of one more sample, at the start, no use was made."""
    julia = Julia(seed)
    first, _ = julia.randn(), julia.randn()
    return first, np.array([julia.randn() for _ in range(STEPS)])


@cache
def _means(seed: int, hazard: float) -> Floats:
    """The mean behind every sample. Changes have a generator of their own, of the same seed."""
    julia, (mean, _) = Julia(seed), _first_and_noise(seed)
    means = []
    for _ in range(STEPS):
        if julia.rand() < hazard:
            mean = julia.randn()
        means.append(mean)
    return np.array(means)

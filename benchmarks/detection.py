"""Do detectors keep to their rate of false alarms, and how soon do they notice a change, against river's?

Astonish's learners are told the noise, and those that ask for it how often the mean jumps; river's detectors are told
nothing, but are tuned, as ours are, to the same rate of alarms on the same series in which nothing changes.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from astonish import Delta, Detector, Gaussian, MessagePassing, Nassar2010, Smile, VarSmile
from astonish.changes.detector import quiet_samples, rate_of_false_alarms, waits
from astonish.worlds.gaussian_jumps import Episode, many_gaussian_jumps
from environment import ask
from timing import Target, at_most, show, size

SERIES, LENGTH, NOISE, BURN_IN = *size((24, 1_250), (4, 300)), 4.0, 50
RATE, ASKED = size(
    (0.002, 0.01), (0.015, 0.015)
)  # alarms per sample: to compare detectors at, which river's can keep to, and to check ours by
MANY = size(100, 2)  # series for that check
BoolArray = NDArray[np.bool_]


class World(NamedTuple):
    """How often the mean jumps, and how long after a jump an alarm still counts as noticing it."""

    hazard: float
    window: int

    @property
    def name(self) -> str:
        return f"a jump every {1 / self.hazard:.0f} samples"


PAPER, CALM = World(0.066, 10), World(0.005, 50)


def report() -> list[Target]:
    return [*rates(), *delays()]


def rates() -> list[Target]:
    """False alarms, asked and measured, of detectors whose thresholds come from their learners' own models."""
    task = jumps(PAPER, MANY, seed=12)
    worlds = ((null(MANY, seed=11), np.zeros_like(task.changed)), (task.samples, task.changed))
    measured = {}
    for name, (learner, within) in detectors(PAPER).items():
        if isinstance(learner, Delta):
            continue  # which has no model of its samples
        detector = Detector.simulated(learner, ASKED, within=within, burn_in=BURN_IN)
        measured[name] = [false_rate(alarms(detector, xs), changed, PAPER.window) for xs, changed in worlds]
    show(
        f"Detector.simulated: false alarms per 1000 samples; asked: {1000 * ASKED:g}; {MANY} series of {LENGTH}",
        ["", "no change", "the paper's task"],
        [[name, *(f"{1000 * rate:.1f}" for rate in both)] for name, both in measured.items()],
    )
    worst = max(abs(rate / ASKED - 1) for both in measured.values() for rate in both)
    return [at_most("detection: false alarms, off what was asked", 20, 100 * worst, "%")]


def delays() -> list[Target]:
    """How soon a jump is noticed, all detectors having the same rate of alarms where nothing changes."""
    still, worlds = null(SERIES, seed=13), {w.name: jumps(w, SERIES, seed=14) for w in (PAPER, CALM)}
    theirs = ask(
        "alarms",
        null=still.tolist(),
        worlds={name: world.samples.tolist() for name, world in worlds.items()},
        rate=RATE,
        burn_in=BURN_IN,
    )
    targets = []
    for world in (PAPER, CALM):
        given = ours(world, still, worlds[world.name].samples)
        given |= {name: (marks(where["null"]), marks(where[world.name])) for name, where in theirs.items()}
        scores = {name: score(quiet, busy, worlds[world.name].changed, world) for name, (quiet, busy) in given.items()}
        show(
            f"Detection, {world.name}: {SERIES} series of {LENGTH}, the same for all; delays in samples",
            ["", "alarms per 1000, no change", "false per 1000, here", "median delay", f"within {world.window}"],
            [cells(name, of_it, world) for name, of_it in scores.items()],
        )
        targets += soonest(world, scores)
    return targets


def soonest(world: World, scores: dict[str, "Score"]) -> list[Target]:
    """The best of ours against the best of river's, by median delay; a median that does not exist is no competitor."""
    medians: dict[bool, list[float]] = {True: [], False: []}
    for name, of_it in scores.items():
        medians[name.startswith("river")].append(of_it.median)
    if not medians[True]:
        return []
    ratio = float(np.nanmin(medians[False]) / np.nanmin(medians[True]))
    return [at_most(f"detection: median delay, {world.name}, to river's best", 1, ratio, "x")]


class Score(NamedTuple):
    """Alarms per 1000 samples where nothing changes, and where something does; and how soon jumps are noticed."""

    null: float
    false: float
    median: float
    share: float


def cells(name: str, of_it: Score, world: World) -> list[str]:
    median = f"> {world.window}" if np.isnan(of_it.median) else f"{of_it.median:.0f}"
    return [name, f"{of_it.null:.2f}", f"{of_it.false:.2f}", median, f"{of_it.share:.0%}"]


def score(quiet: BoolArray, busy: BoolArray, changed: BoolArray, world: World) -> Score:
    noticed = waits(busy[:, BURN_IN:], changed[:, BURN_IN:], world.window)
    null_rate = false_rate(quiet, np.zeros_like(quiet), world.window)
    here = false_rate(busy, changed, world.window)
    return Score(1000 * null_rate, 1000 * here, noticed.median(), noticed.share(world.window))


def detectors(world: World) -> dict[str, tuple[Any, int]]:
    """Learners, and within how many samples the change may lie that they are asked for."""
    family, hazard = Gaussian(NOISE), world.hazard
    prior = family.prior(mean=0.0, std=40 / 12**0.5)  # as wide as the range of the means
    exact = MessagePassing(family, hazard, prior)
    return {
        **{f"message passing, within {some}": (exact, some) for some in (world.window, 10)},
        "message passing": (exact, 1),
        "VarSMiLe": (VarSmile(family, hazard / (1 - hazard), prior), 1),
        "Nassar 2010": (Nassar2010(NOISE, hazard), 1),
        "SMiLe, m = 0.1": (Smile(family), 1),
        "delta rule, rate 0.1": (Delta(0.1), 1),
    }


def ours(world: World, still: Any, samples: Any) -> dict[str, tuple[BoolArray, BoolArray]]:
    """Alarms where nothing changes, and in the world."""
    never = np.zeros(still.shape, bool)
    given = {}
    for name, (learner, within) in detectors(world).items():
        detector = Detector.calibrated(learner, still, RATE, within=within, burn_in=BURN_IN, changed=never)
        given[name] = (alarms(detector, still), alarms(detector, samples))
    return given


def alarms(detector: Detector, many: Any) -> BoolArray:
    return np.stack([detector.alarms(xs) for xs in many])


def marks(places: list[list[int]]) -> BoolArray:
    """Alarms as a table, from their places."""
    table = np.zeros((len(places), LENGTH), bool)
    for row, at in zip(table, places, strict=True):
        row[at] = True
    return table


def false_rate(given: BoolArray, changed: BoolArray, window: int) -> float:
    return rate_of_false_alarms(given, quiet_samples(changed, window, BURN_IN))


def null(count: int, seed: int) -> NDArray[np.float64]:
    """Series in which the mean never jumps."""
    rng = np.random.default_rng(seed)
    return rng.uniform(-20, 20, (count, 1)) + NOISE * rng.standard_normal((count, LENGTH))


def jumps(world: World, count: int, seed: int) -> Episode:
    return many_gaussian_jumps(LENGTH, [[seed, i] for i in range(count)], world.hazard, NOISE)

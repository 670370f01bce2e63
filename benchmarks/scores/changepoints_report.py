"""What does `python -m benchmarks.scores changepoints` print?"""

from collections.abc import Callable
from pathlib import Path

import numpy as np

from astonish.beliefs import NormalGamma
from astonish.changes import Detector, change_points, run_lengths
from astonish.core.numbers import FloatArray
from astonish.learners import MessagePassing

from .annotated import read_folder
from .changepoints import covering, f1
from .report import laid_out

HAZARD, RATE, WITHIN, HYPOTHESES = 0.01, 0.001, 20, 500


def learner(hypotheses: int = HYPOTHESES) -> MessagePassing:
    """For series with mean 0 and standard deviation 1, whose level and noise jump every 100 samples."""
    return MessagePassing(NormalGamma(), HAZARD, NormalGamma().prior(weight=0.1, shape=1.0), hypotheses)


def nothing(_: FloatArray) -> list[int]:
    """No change at all."""
    return []


def offline(xs: FloatArray) -> list[int]:
    """The most probable history, given the whole series."""
    return change_points(learner(), xs).tolist()


def online(detector: Detector, xs: FloatArray) -> list[int]:
    """For each alarm, when the last change most probably was, given the samples up to the alarm."""
    alarms = np.flatnonzero(detector.alarms(xs))
    if not len(alarms):
        return []
    lengths = run_lengths(detector.learner, xs, WITHIN)[alarms]
    observed = np.flatnonzero(~np.isnan(xs))
    seen = np.searchsorted(observed, alarms)  # run lengths count samples that are not missing
    return sorted({int(observed[at - back]) for at, back in zip(seen, lengths.argmax(axis=1), strict=True)})


def changepoints_table(folder: Path, progress: Callable[[float], None], say: Callable[[str], None]) -> str:
    """Covering and F1 of every series, and their means."""
    read = read_folder(folder)
    for name, why in read.left_out.items():
        say(f"{name} is left out: {why}")
    detector = Detector.simulated(learner(50), RATE, within=WITHIN, burn_in=WITHIN)
    methods = {"no change": nothing, "change_points": offline, "online": lambda xs: online(detector, xs)}
    header = ["series", "samples", *(f"{name}, {what}" for what in ("covering", "F1") for name in methods)]
    scores = []
    for k, each in enumerate(read.series):
        found = [find(standardised(each.values)) for find in methods.values()]
        covers = [covering(each.annotations, places, len(each.values)) for places in found]
        scores.append([*covers, *(f1(each.annotations, places) for places in found)])
        progress((k + 1) / len(read.series))
    names = [[each.name, str(len(each.values))] for each in read.series]
    rows = [[*name, *(f"{score:.3f}" for score in row)] for name, row in zip(names, scores, strict=True)]
    return laid_out(header, [*rows, ["mean", "", *(f"{score:.3f}" for score in np.mean(scores, axis=0))]])


def standardised(values: FloatArray) -> FloatArray:
    """With mean 0 and standard deviation 1 over the whole series, as that benchmark gives it to all methods."""
    std = float(np.nanstd(values))
    return (values - np.nanmean(values)) / (std if std > 0 else 1.0)

"""How soon do drift detectors find known changes, all of them having the same rate of false alarms?

Every detector is tuned to this rate on streams of the same noise in which nothing changes; then it sees streams in
which something does. An alarm belongs to a change from its first sample until a tolerance after its end. More alarms
for the same change count neither for it nor against it. Waiting for a change that is missed ends with the tolerance.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib.util import find_spec
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np

from astonish.changes import usual_detector
from astonish.core.numbers import FloatArray

from .report import laid_out
from .rivals import Rival, alarms, rivals, tuned
from .streams import LabelledStream, settings, still, stream

RATE, BURN_IN = 0.001, 100
OURS = "astonish"
_NAMES = {"found": "found", "delay": "delay", "false": "false per 1000", "f1": "F1"}
USUAL = {"gaussian": "mean", "student": "mean", "bernoulli": "proportion", "poisson": "rate"}
WITHOUT_RIVER = "river is not installed, so its detectors are left out; pip install 'astonish[river]'"
Detect = Callable[[Sequence[FloatArray]], list[Any]]


class Size(NamedTuple):
    """How many streams: without a change, with changes, and with the one rare change."""

    still: int
    streams: int
    rare: int


FULL, QUICK = Size(60, 60, 200), Size(10, 3, 6)


class Tally(NamedTuple):
    """Sums over streams, or one row per stream: what was found, missed, waited for, and false."""

    found: Any
    missed: Any
    waited: Any
    false: Any
    quiet: Any

    def measures(self) -> dict[str, Any]:
        """Share of changes found, mean delay, false alarms per 1000 samples, and F1."""
        changes = self.found + self.missed
        return {
            "found": self.found / changes,
            "delay": self.waited / changes,
            "false": 1000 * self.false / self.quiet,
            "f1": 2 * self.found / (2 * self.found + self.missed + self.false),
        }


class Result(NamedTuple):
    """How one detector did in one setting: each measure, and its interval over streams (95 %, by bootstrap)."""

    kind: str
    noise: str
    detector: str
    measures: dict[str, float]
    low: dict[str, float]
    high: dict[str, float]


def has_river() -> bool:
    """Whether there are rivals."""
    return find_spec("river") is not None


def run_drift(size: Size, progress: Callable[[float], None]) -> list[Result]:
    """All detectors in all settings."""
    done, results = 0, []
    todo = settings()
    by_noise = {noise: [kind for kind, each in todo if each == noise] for _, noise in todo}
    for noise, kinds in by_noise.items():
        quiet = np.stack([still(noise, [21, k]) for k in range(size.still)])
        streams = {kind: [stream(kind, noise, [22, k]) for k in range(_count(kind, size))] for kind in kinds}
        for name, detectors in _detectors(noise, kinds, quiet):
            for kind in kinds:
                given = detectors[kind]([each.samples for each in streams[kind]])
                results.append(_result(kind, noise, name, score(streams[kind][: len(given)], given)))
            done += 1
            progress(done / len(by_noise) / (6 if has_river() else 1))
    return sorted(results, key=lambda each: todo.index((each.kind, each.noise)))


def _count(kind: str, size: Size) -> int:
    return size.rare if kind == "rare" else size.streams


def _detectors(noise: str, kinds: list[str], quiet: FloatArray) -> Iterator[tuple[str, dict[str, Detect]]]:
    """Names, and for each kind of change what gives alarms: ours by the named default for it, river's the same."""
    heavy = noise == "student"
    usual = {"variance" if kind == "variance" else USUAL[noise] for kind in kinds}
    made = {each: usual_detector(each, quiet, RATE, heavy_tails=heavy) for each in usual}
    ours = {kind: made["variance" if kind == "variance" else USUAL[noise]] for kind in kinds}
    yield OURS, {kind: partial(_ours, detector) for kind, detector in ours.items()}
    if not has_river():
        return
    for rival in rivals(noise, float(np.sqrt(quiet.var(axis=1).mean()))):
        value = tuned(rival, list(quiet[: rival.most]), RATE, BURN_IN)
        yield f"river {rival.name}", dict.fromkeys(kinds, partial(_theirs, rival, value))


def _ours(detector: Any, many: Sequence[FloatArray]) -> list[Any]:
    return [np.flatnonzero(detector.alarms(xs)) for xs in many]


def _theirs(rival: Rival, value: float, many: Sequence[FloatArray]) -> list[Any]:
    return [alarms(rival.make(value), xs) for xs in many[: rival.most]]


def score(streams: Sequence[LabelledStream], given: Sequence[Any]) -> Tally:
    """What alarms are worth, one row per stream. given: the places of alarms in each.

    >>> one = LabelledStream(np.zeros(1000), changes=(300, 600), ends=(400, 700))
    >>> [row.tolist() for row in score([one], [np.array([305, 320, 450])])]
    [[1.0], [1.0], [106.0], [1.0], [700.0]]
    """
    rows = []
    for each, places in zip(streams, given, strict=True):
        late = places[places >= BURN_IN]
        own = [late[(late >= start) & (late < end)] for start, end in zip(each.changes, each.ends, strict=True)]
        spans = list(zip(each.changes, each.ends, strict=True))
        found = sum(len(one) > 0 for one in own)
        waited = sum(
            one[0] - start + 1 if len(one) else end - start for one, (start, end) in zip(own, spans, strict=True)
        )
        quiet = len(each.samples) - BURN_IN - sum(end - start for start, end in spans)
        rows.append((found, len(own) - found, waited, len(late) - sum(map(len, own)), quiet))
    return Tally(*np.array(rows, float).T)


def _result(kind: str, noise: str, detector: str, rows: Tally) -> Result:
    """The measures of all streams together, with intervals from streams that are drawn again."""
    total = Tally(*(part.sum() for part in rows))
    picks = np.random.default_rng(3).integers(len(rows.found), size=(2000, len(rows.found)))
    again = Tally(*(part[picks].sum(axis=1) for part in rows)).measures()
    low, high = ({name: float(np.quantile(each, at)) for name, each in again.items()} for at in (0.025, 0.975))
    return Result(kind, noise, detector, {name: float(x) for name, x in total.measures().items()}, low, high)


def drift_table(results: Sequence[Result]) -> str:
    """Every detector in every setting."""
    header = ["change", "noise", "detector", *_NAMES.values()]
    rows = [[each.kind, each.noise, each.detector, *(_cell(each, name) for name in _NAMES)] for each in results]
    return laid_out(header, rows, left=3)


def _cell(result: Result, name: str) -> str:
    value, low, high = (part[name] for part in (result.measures, result.low, result.high))
    if name == "found":
        return f"{value:.1%} ({low:.0%} to {high:.0%})"
    digits = 1 if name == "delay" else 2
    return f"{value:.{digits}f} ({low:.{digits}f} to {high:.{digits}f})"


def summary_table(results: Sequence[Result]) -> str:
    """Per setting: our default, the best of the others in each measure, and who is ahead."""
    header = ["change", "noise", "found", "best of river", "delay", "best of river", "F1", "best of river", "ahead"]
    rows, ahead = [], {}
    for (kind, noise), group in groupby(results, lambda each: (each.kind, each.noise)):
        both = list(group)
        ours, theirs = both[0], both[1:]
        row, better = [kind, noise], []
        for name in ("found", "delay", "f1"):
            row.append(_short(name, ours))
            best = _best(name, theirs)
            row.append("-" if best is None else f"{_short(name, best)} {best.detector.removeprefix('river ')}")
            if best is not None and _is_better(name, best, ours):
                better.append(f"river's {best.detector.removeprefix('river ')} ({_NAMES[name]})")
        ahead[kind, noise] = not [each for each in better if "(F1)" not in each]
        rows.append([*row, "; ".join(better) or OURS if theirs else "-"])
    return "\n\n".join([laid_out(header, rows, left=2), _verdict(ahead, any(row[-1] != "-" for row in rows))])


def _short(name: str, result: Result) -> str:
    value = result.measures[name]
    return f"{value:.1%}" if name == "found" else f"{value:.1f}" if name == "delay" else f"{value:.2f}"


def _best(name: str, results: Sequence[Result]) -> Result | None:
    sign = -1 if name == "delay" else 1
    return max(results, key=lambda each: sign * each.measures[name], default=None)


def _is_better(name: str, one: Result, other: Result) -> bool:
    a, b = one.measures[name], other.measures[name]
    return a < b if name == "delay" else a > b


def _verdict(ahead: dict[tuple[str, str], bool], compared: bool) -> str:
    if not compared:
        return "There is nothing to compare with."
    won = sum(ahead.values())
    asked = {each: yes for each, yes in ahead.items() if each[0] in ("abrupt", "rare")}
    lost = ", ".join(f"{kind} {noise}" for (kind, noise), yes in asked.items() if not yes)
    rate = f"At {1000 * RATE:g} false alarm per 1000 samples where nothing changes"
    count = f"astonish finds at least as many changes as the best of river's, and no later, in {won} of {len(ahead)}"
    last = f"{sum(asked.values())} of {len(asked)} that are abrupt or rare{f' (not {lost})' if lost else ''}"
    return f"{rate}, {count} settings; among them are {last}."

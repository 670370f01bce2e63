"""What does `python -m benchmarks.scores drift` print?"""

from collections.abc import Sequence
from itertools import groupby

from .drift import OURS, RATE, Result
from .report import laid_out

_NAMES = {"found": "found", "delay": "delay", "false": "false per 1000", "f1": "F1"}


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

"""What does the paper say, what was measured, and does it hold?"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

HOLDS, IN_PART, FAILS = "holds", "holds in part", "does not hold as stated"


class Claim(NamedTuple):
    """One statement of the paper, checked.

    id: its stable name, by which documents and pages refer to it. where: its place in the paper. says: the statement,
    in our words. paper: the paper's value. measured: ours, with a confidence interval over episodes where there are
    episodes, at the paper's own parameters and in its own quantity. verdict: `HOLDS`, `IN_PART` or `FAILS`. why: one or
    two sentences; what holds at other settings is said here. ours: whether the statement is a finding of our own.
    seeds: with how many of several seeds the verdict is the same. figure: the name of the figure whose numbers decide
    it.
    """

    id: str
    where: str
    says: str
    paper: str
    measured: str
    verdict: str
    why: str
    ours: bool = False
    seeds: str = ""
    figure: str = ""


class Interval(NamedTuple):
    """A mean (or median), and the ends of its 95 % confidence interval."""

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        mean, low, high = (f"{number:.3g}" if abs(number) < 1000 else f"{number:.0f}" for number in self)
        return f"{mean} ({low} to {high})"


def interval(episodes: ArrayLike) -> Interval:
    """The mean of one number per episode (those that are not NaN), and Student's interval for it.

    >>> print(interval([1.0, 2.0, 3.0]))
    2 (-0.484 to 4.48)
    """
    from scipy.special import stdtrit

    values = np.asarray(episodes, float)
    values = values[~np.isnan(values)]
    if len(values) < 2:
        return Interval(float(values.mean()) if len(values) else np.nan, np.nan, np.nan)
    half = stdtrit(len(values) - 1, 0.975) * values.std(ddof=1) / np.sqrt(len(values))
    return Interval(values.mean(), values.mean() - half, values.mean() + half)


def median(episodes: ArrayLike) -> Interval:
    """The median of one number per episode (those that are not NaN), and an interval for it from their order alone.

    The interval runs between two of the numbers, chosen by the binomial distribution, whatever theirs is.

    >>> print(median(range(1, 22)))
    11 (6 to 16)
    """
    from scipy import stats  # which takes a second

    values = np.sort(np.asarray(episodes, float))
    values = values[~np.isnan(values)]
    if len(values) < 6:
        return Interval(float(np.median(values)) if len(values) else np.nan, np.nan, np.nan)
    first = int(stats.binom.ppf(0.025, len(values), 0.5)) - 1
    return Interval(float(np.median(values)), values[first], values[len(values) - 1 - first])


def verdict(parts: Any) -> str:
    """`HOLDS` if all parts of a claim do, `FAILS` if none does."""
    held = [bool(part) for part in parts]
    return HOLDS if all(held) else IN_PART if any(held) else FAILS


def same(a: Any, b: Any) -> bool:
    """Equal to within rounding.

    >>> same([0.1 + 0.2, 1.0], [0.3, 1.0]), same(0.3, 0.31)
    (True, False)
    """
    return bool(np.allclose(a, b, rtol=0, atol=1e-9))


def listed(values: Any, form: str = "g") -> str:
    """Numbers as a claim tells them.

    >>> listed([0.5, 2], ".2f")
    '0.50, 2.00'
    """
    return ", ".join(f"{value:{form}}" for value in values)

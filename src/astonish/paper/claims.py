"""What does the paper say, what was measured, and does it hold?"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

HOLDS, IN_PART, FAILS = "holds", "holds in part", "does not hold as stated"


class Claim(NamedTuple):
    """One statement of the paper, checked.

    where: its place in the paper. says: the statement, in our words. paper: the paper's value. measured: ours, with a
    confidence interval over episodes where there are episodes. verdict: `HOLDS`, `IN_PART` or `FAILS`. why: one
    sentence.
    """

    where: str
    says: str
    paper: str
    measured: str
    verdict: str
    why: str


class Interval(NamedTuple):
    """A mean, and the ends of its 95 % confidence interval."""

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.mean:.3g} ({self.low:.3g} to {self.high:.3g})"


def interval(episodes: ArrayLike) -> Interval:
    """The mean of one number per episode (those that are not NaN), and Student's interval for it.

    >>> print(interval([1.0, 2.0, 3.0]))
    2 (-0.484 to 4.48)
    """
    values = np.asarray(episodes, float)
    values = values[~np.isnan(values)]
    if len(values) < 2:
        return Interval(float(values.mean()) if len(values) else np.nan, np.nan, np.nan)
    half = stats.t.ppf(0.975, len(values) - 1) * values.std(ddof=1) / np.sqrt(len(values))
    return Interval(values.mean(), values.mean() - half, values.mean() + half)


def verdict(parts: Any) -> str:
    """`HOLDS` if all parts of a claim do, `FAILS` if none does."""
    held = [bool(part) for part in parts]
    return HOLDS if all(held) else IN_PART if any(held) else FAILS

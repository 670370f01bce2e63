"""How sure is each past change: how probable is one at each place, and how exactly is its place known?

Message passing knows, after every sample, how probable each time of the last change is, given the samples up to there
(Adams & MacKay 2007). Given that a segment ends there, later samples say nothing more about where it began. So going
back from the last sample, the probability that a segment begins at a place is a sum over all ends: the probability of
the end, times that of the beginning given the end (Fearnhead 2006; Fearnhead & Liu 2007). These are sums of
probabilities, in which nothing cancels, and what underflows is below 1e-300. Logarithms are needed on the way forward
only, where the learner has them.
"""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from astonish.changes.changepoints import dated, most_probable, read_dated, starts_of
from astonish.core.numbers import COUNT, OPEN_PROBABILITY, FloatArray, double
from astonish.core.refusal import naming_extra
from astonish.learners.base import Learner

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame

MOST = 2**27  # pairs of a sample and a hypothesis: about 2 GB of memory
Places = NDArray[np.intp]


class ChangePosterior(NamedTuple):
    """What all samples say about past changes. A place is the index of the sample just before which there was one.

    places: those of the most probable history, as `change_points` gives them.
    probability: for each sample, how probable a change just before it is. 0 at the first sample that was observed, and
    at samples that are missing: a change during a gap counts at the end of the gap.
    low, high: for each of `places`, an interval of places (ends included), the shortest around it that holds at least
    `level` of the posterior probability of where the change was, if there was exactly one in its window. Windows are
    parted half-way between one of `places` and the next.
    held: how much of it the interval holds: more than `level` where a single place has much of it.
    in_interval: how probable it is that there was a change, or several, in the interval at all.
    dropped: how much probability was dropped with hypotheses, at most, summed over samples; 0 if all is exact.
    samples: the series as it was read.
    """

    places: Places
    probability: FloatArray
    low: Places
    high: Places
    held: FloatArray
    in_interval: FloatArray
    level: float
    dropped: float
    samples: Any

    @property
    def expected(self) -> float:
        """The expected number of changes."""
        return float(self.probability.sum())

    @naming_extra("a table needs")
    def to_frame(self) -> "DataFrame":
        """One row per change in the most probable history; `probability` is that of exactly this place."""
        from pandas import DataFrame

        at = {"place": self.places, "probability": self.probability[self.places], "low": self.low, "high": self.high}
        return DataFrame(at | {"held": self.held, "in_interval": self.in_interval})

    def plot(self) -> "Figure":
        """The series with its changes and their intervals, and the probability of a change at each place."""
        from astonish.report.views import plot_changes

        return plot_changes(self)


def change_posterior(
    learner: Learner, xs: Any, *, level: float = 0.95, hypotheses: int | None = None
) -> ChangePosterior:
    """How probable a change at each place is, given the whole series, with an interval for the place of each change.

    learner: a `MessagePassing`; how many hypotheses it keeps otherwise does not matter here. xs: a series, read as
    `run` does. level: how much of the probability of its place an interval holds.
    hypotheses: how many times of the last change are kept in mind at each sample. All of them, if left out: this is
    exact, and takes time and memory that grow with the square of the length (2000 samples: a second or so). With fewer,
    the least probable is dropped at each sample, and `dropped` says how much that was.

    >>> from astonish import Gaussian, MessagePassing
    >>> learner = MessagePassing(Gaussian(), hazard=0.05, prior=Gaussian().prior(std=3.0))
    >>> found = change_posterior(learner, [0.1, -0.2, 0.3, 1.3, 2.9, 3.3, 2.8])
    >>> found.places.tolist(), found.probability.round(2).tolist()
    ([4], [0.0, 0.02, 0.07, 0.32, 0.47, 0.05, 0.02])
    >>> found.low.tolist(), found.high.tolist(), round(found.expected, 2)
    ([1], [4], 0.95)
    """
    OPEN_PROBABILITY.check("level", level)
    samples, observed = read_dated(learner, xs)
    count = int(observed.sum())
    with double():
        last = dated(learner.with_change_times(_how_many(count, hypotheses)), samples, observed)
        ages = np.asarray(most_probable(last))
        table = _Table.of(np.asarray(last.ages)[:count], np.asarray(last.weights)[:count])
    found = np.array(starts_of(ages, count), np.intp)
    begins = table.begins()
    windows = _windows(found, count)
    alone = table.last_of_its_group(begins, windows) * table.nothing_before_in_group(windows)
    intervals = [_interval(alone, windows, k, place, level) for k, place in enumerate(found.tolist())]
    low, high = np.array([each[:2] for each in intervals], np.intp).reshape(-1, 2).T
    held = np.array([each[2] for each in intervals])
    where = np.flatnonzero(observed)
    probability = np.zeros(len(observed))
    probability[where[1:]] = np.minimum(begins[1:count], 1.0)
    inside = _sums_within(table, begins, low, high)
    ends = where[low], where[high]
    return ChangePosterior(where[found], probability, *ends, held, inside, float(level), table.dropped(), samples)


def _how_many(count: int, hypotheses: int | None) -> int:
    """How many hypotheses to keep: one of a few numbers, since each has to be compiled; refused if memory is short."""
    if hypotheses is not None:
        COUNT.check("hypotheses", hypotheses)
    exact = (1 << max(count - 1, 63).bit_length()) + 2  # one more than there can be: the first sample has two
    wanted = exact if hypotheses is None else min(int(hypotheses), exact)
    if count * wanted > MOST:
        need = f"{count} samples with {wanted} hypotheses each need too much memory"
        raise ValueError(f"{need}; give hypotheses={max(MOST // count, 1)} or fewer, or a shorter series")
    return wanted


class _Table(NamedTuple):
    """After each sample, one per row: where the present segment may have begun, and how probable that is.

    A place counts samples that were observed; 0 is the beginning of the series. There is a column per hypothesis.
    """

    starts: NDArray[np.intp]
    weights: FloatArray

    @classmethod
    def of(cls, ages: Any, weights: FloatArray) -> "_Table":
        ends = np.arange(1, len(ages) + 1)[:, None]
        return cls(np.clip(ends - ages, 0, None).astype(np.intp), weights)  # empty slots have weight 0

    def begins(self) -> FloatArray:
        """How probable it is, given all samples, that a segment begins at each place; 1 at the very end."""
        count = len(self.starts)
        found = np.zeros(count + 1)
        found[count] = 1.0
        for end in range(count, 0, -1):
            found[:end] += found[end] * np.bincount(self.starts[end - 1], self.weights[end - 1], minlength=end)
        return found

    def last_of_its_group(self, begins: FloatArray, groups: Any) -> FloatArray:
        """How probable it is that a segment begins at each place and none begins later in the same group of places."""
        count = len(self.starts)
        other = groups[1:][:, None] != groups[self.starts]
        joint = begins[1:][:, None] * self.weights * other
        return np.asarray(np.bincount(self.starts.ravel(), joint.ravel(), minlength=count + 1), np.float64)

    def nothing_before_in_group(self, groups: Any) -> FloatArray:
        """How probable it is, if a segment begins at a place, that none begins earlier in the same group of places."""
        other = groups[1:][:, None] != groups[self.starts]
        return np.append(1.0, (self.weights * other).sum(axis=1))

    def dropped(self) -> float:
        """How much probability was dropped at most: the least probable hypothesis was, at every sample without room."""
        return float(self.weights.min(axis=1).sum())  # an empty slot, while there is one, has weight 0


def _windows(found: Places, count: int) -> Any:
    """To which of the found changes each place belongs, parted half-way; the beginning and the end to none."""
    middles = (found[:-1] + found[1:]) // 2
    windows = np.searchsorted(middles, np.arange(count + 1), side="left")
    windows[0], windows[-1] = -1, -2
    return windows


def _interval(alone: FloatArray, windows: Any, k: int, place: int, level: float) -> tuple[int, int, float]:
    """The shortest run of places around this one that holds so much of the probability in the window of change k.

    Its first and its last place, and how much it holds.
    """
    window = np.flatnonzero(windows == k)
    first, at = int(window[0]), place - int(window[0])
    sums = np.append(0.0, np.cumsum(alone[window]))
    sums /= sums[-1]
    lows = np.arange(at + 1)
    ends = np.maximum(np.searchsorted(sums, sums[lows] + level), at + 1)  # one behind the last place
    best = int(np.argmin(np.where(ends < len(sums), ends - lows, len(sums))))
    end = min(int(ends[best]), len(sums) - 1)
    return first + best, first + end - 1, float(sums[end] - sums[best])


def _sums_within(table: _Table, begins: FloatArray, low: Places, high: Places) -> FloatArray:
    """How probable it is that a segment, or several, begin in each of these intervals."""
    groups = -1 - np.arange(len(begins))  # every place by itself
    for k, (first, last) in enumerate(zip(low, high, strict=True)):
        groups[first : last + 1] = k
    sums = np.append(0.0, np.cumsum(table.last_of_its_group(begins, groups)))
    return np.minimum(sums[high + 1] - sums[low], 1.0)

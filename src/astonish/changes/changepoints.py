"""Past changes: the most probable history, how long ago the last change was, and how sure each change and its place is.

All are read off message passing (Adams & MacKay 2007). If the last change came so many samples ago, then what happened
before it is judged by the samples before it alone; so the probability of a whole history of changes is a product of
probabilities that the learner had on its way, and the best history is found going forward (Fearnhead & Liu 2007). Where
there are more samples than hypotheses, the least probable of these is dropped: merged ones have no times.

Given that a segment ends at a sample, later samples say nothing more about where it began. So going back from the last
sample, the probability that a segment begins at a place is a sum over all ends: the probability of the end, times that
of the beginning given the end (Fearnhead 2006; Fearnhead & Liu 2007). These are sums of probabilities, in which nothing
cancels, and what underflows is below 1e-300. Logarithms are needed on the way forward only, where the learner has them.
"""

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import NDArray

from astonish.core.numbers import COUNT, OPEN_PROBABILITY, BoolArray, FloatArray, Number, as_double, double
from astonish.core.programs import compiled, loop
from astonish.core.refusal import naming_extra
from astonish.core.samples import read_series
from astonish.learners.base import LastChange, Learner, check, scan
from astonish.online.series import to_common_length

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame

MOST = 2**27  # pairs of a sample and a hypothesis: about 2 GB of memory
Places = NDArray[np.intp]


def change_points(learner: Learner, xs: Any) -> NDArray[np.intp]:
    """The most probable history: the indices of the samples just before which the world changed.

    learner: a `MessagePassing`. xs: a series, read as `run` does; an index counts missing samples too.
    How sure each of them is: `change_posterior`.

    >>> from astonish import Gaussian, MessagePassing
    >>> change_points(MessagePassing(Gaussian(), hazard=0.01), [0.1, -0.2, 0.3, 8.1, 7.9, 8.3]).tolist()
    [3]
    """
    samples, observed = read_dated(learner, xs)
    with double():
        ages = np.asarray(most_probable(dated(learner.with_change_times(), samples, observed)))
    return np.flatnonzero(observed)[starts_of(ages, int(observed.sum()))]


def starts_of(ages: NDArray[np.intp], now: int) -> list[int]:
    """Where segments begin, but for the first, if each that ends with a sample is as long as its age says.

    >>> starts_of(np.array([1, 2, 1, 2, 3]), now=5)
    [2]
    """
    starts = []
    while now > 0:  # from the last change back to the first
        now -= int(ages[now - 1])
        starts.append(now)
    return starts[-2::-1]


def run_lengths(learner: Learner, xs: Any, longest: int) -> FloatArray:
    """The probability, after each sample, that 1, 2, ... `longest` samples have come since the last change.

    A row per sample, a column per length. A row sums to less than 1 if it may have been more of them. A missing sample
    changes nothing.

    >>> from astonish import Gaussian, MessagePassing
    >>> run_lengths(MessagePassing(Gaussian(), hazard=0.01), [0.1, 0.2, 8.0], longest=3).round(2).tolist()
    [[1.0, 0.0, 0.0], [0.01, 0.99, 0.0], [0.92, 0.01, 0.07]]
    """
    COUNT.check("longest", longest)
    samples, observed = read_dated(learner, xs)
    with double():
        xs, seen = to_common_length((samples, observed))
        given = as_double(learner.with_change_times()), xs, seen, len(observed), int(longest)
        return np.asarray(_run_lengths(*given))[: len(observed)]


def read_dated(learner: Learner, xs: Any) -> tuple[Any, BoolArray]:
    """The samples of a series, and which were observed; refused if the learner cannot date the last change."""
    check(learner)
    with double():
        last = learner.last_change(learner.init())
    if last is None or last.log_weights is None:
        kind = type(learner).__name__
        raise ValueError(f"{kind} keeps no hypotheses about when the world changed last; give a MessagePassing")
    return read_series(learner.samples, xs)


@partial(compiled, static_argnums=4)
def _run_lengths(learner: Learner, samples: Any, observed: Array, length: Number, longest: int) -> Any:
    def probabilities(state: Any) -> Any:
        last: Any = learner.last_change(state)
        return last.run_lengths(longest)

    return scan(learner, samples, None, observed, probabilities, length).estimate


def dated(learner: Learner, samples: Any, observed: BoolArray) -> LastChange:
    """When the last change was, after each sample that was observed; rows beyond these are there, and are zero."""
    xs = to_common_length(jax.tree.map(lambda part: part[observed], samples))
    return _dated(as_double(learner), xs, int(observed.sum()))


@compiled
def _dated(learner: Learner, samples: Any, length: Number) -> Any:
    return scan(learner, samples, read=learner.last_change, length=length).estimate


@compiled
def most_probable(last: Any) -> Array:
    """For each sample: how long ago the last change was in the most probable history up to there."""

    def further(best: Array, at: tuple[Array, Array, Array]) -> tuple[Array, Array]:
        """best[k]: ln of the probability, among all histories of the first k samples, of the most probable one."""
        now, ages, log_weights = at
        scores = log_weights + best[now - ages]
        first = jnp.argmax(scores)
        return best.at[now].set(scores[first]), ages[first]

    steps = len(last.ages)
    at = jnp.arange(1, steps + 1), last.ages, last.log_weights
    return loop(further, jnp.zeros(steps + 1), at)[1]


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
    >>> posterior = change_posterior(learner, [0.1, -0.2, 0.3, 1.3, 2.9, 3.3, 2.8])
    >>> posterior.places.tolist(), posterior.probability.round(2).tolist()
    ([4], [0.0, 0.02, 0.07, 0.32, 0.47, 0.05, 0.02])
    >>> posterior.low.tolist(), posterior.high.tolist(), round(posterior.expected, 2)
    ([1], [4], 0.95)
    """
    OPEN_PROBABILITY.check("level", level)
    if hypotheses is not None:
        COUNT.check("hypotheses", hypotheses)
    samples, observed = read_dated(learner, xs)
    where = np.flatnonzero(observed)
    count = len(where)
    with double():
        last = dated(learner.with_change_times(_hypotheses_kept(count, hypotheses)), samples, observed)
        history = starts_of(np.asarray(most_probable(last)), count)
        ages, weights = np.asarray(last.ages)[:count], np.asarray(last.weights)[:count]

    # From here on a place counts samples that were observed. After each sample, in a row: where the present segment may
    # have begun, and in `weights` how probable that is; an empty slot has weight 0.
    starts = np.clip(np.arange(1, count + 1)[:, None] - ages, 0, None).astype(np.intp)
    begins = np.zeros(count + 1)  # how probable it is, given all samples, that a segment begins at each place
    begins[count] = 1.0
    for end in range(count, 0, -1):
        begins[:end] += begins[end] * np.bincount(starts[end - 1], weights[end - 1], minlength=end)

    def last_of_its_group(groups: Any) -> FloatArray:
        """How probable it is that a segment begins at each place and none begins later in the same group of places."""
        joint = begins[1:][:, None] * weights * (groups[1:][:, None] != groups[starts])
        return np.asarray(np.bincount(starts.ravel(), joint.ravel(), minlength=count + 1), np.float64)

    # Windows are parted half-way between changes; the beginning and the end belong to none. Alone: a segment begins at
    # the place, and no other in its window, later or earlier.
    places = np.array(history, np.intp)
    windows = np.searchsorted((places[:-1] + places[1:]) // 2, np.arange(count + 1), side="left")
    windows[0], windows[-1] = -1, -2
    earlier = (weights * (windows[1:][:, None] != windows[starts])).sum(axis=1)
    alone = last_of_its_group(windows) * np.append(1.0, earlier)
    low, high, held = np.zeros_like(places), np.zeros_like(places), np.zeros(len(places))
    for k, place in enumerate(places):
        window = np.flatnonzero(windows == k)
        first, end, held[k] = _shortest_interval(alone[window], place - window[0], level)
        low[k], high[k] = window[[first, end - 1]]

    groups = -1 - np.arange(count + 1)  # every place by itself, but those of an interval together
    for k in range(len(places)):
        groups[low[k] : high[k] + 1] = k
    sums = np.append(0.0, np.cumsum(last_of_its_group(groups)))
    in_interval = np.minimum(sums[high + 1] - sums[low], 1.0)
    probability = np.zeros(len(observed))
    probability[where[1:]] = np.minimum(begins[1:count], 1.0)
    dropped = float(weights.min(axis=1).sum())  # the least probable hypothesis was, at every sample without room
    ends = where[low], where[high]
    return ChangePosterior(where[places], probability, *ends, held, in_interval, float(level), dropped, samples)


def _hypotheses_kept(count: int, hypotheses: int | None) -> int:
    """How many hypotheses to keep: one of a few numbers, since each has to be compiled; refused if memory is short."""
    exact = (1 << max(count - 1, 63).bit_length()) + 2  # one more than there can be: the first sample has two
    kept = exact if hypotheses is None else min(int(hypotheses), exact)
    if count * kept > MOST:
        need = f"{count} samples with {kept} hypotheses each need too much memory"
        raise ValueError(f"{need}; give hypotheses={max(MOST // count, 1)} or fewer, or a shorter series")
    return kept


def _shortest_interval(alone: FloatArray, at: int, level: float) -> tuple[int, int, float]:
    """Find the shortest run of places around one that holds so much of the probability in its window.

    Its first place, the one behind its last, and how much it holds.
    """
    sums = np.append(0.0, np.cumsum(alone))
    sums /= sums[-1]
    lows = np.arange(at + 1)
    ends = np.maximum(np.searchsorted(sums, sums[lows] + level), at + 1)  # one behind the last place
    first = int(np.argmin(np.where(ends < len(sums), ends - lows, len(sums))))
    end = min(int(ends[first]), len(sums) - 1)
    return first, end, float(sums[end] - sums[first])

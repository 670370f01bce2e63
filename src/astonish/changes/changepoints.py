"""Where were the changes? The most probable history, and how long ago the last change was; `posterior` says how sure.

Both answers are read off message passing (Adams & MacKay 2007). If the last change came so many samples ago, then what
happened before it is judged by the samples before it alone; so the probability of a whole history of changes is a
product of probabilities that the learner had on its way, and the best history is found going forward (Fearnhead & Liu
2007). Where there are more samples than hypotheses, the least probable of these is dropped: merged ones have no times.
"""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import NDArray

from astonish.core.numbers import COUNT, BoolArray, FloatArray, Number, as_double, double
from astonish.core.programs import compiled, loop
from astonish.core.samples import read_series
from astonish.learners.base import LastChange, Learner, check, scan
from astonish.online.series import to_common_length


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

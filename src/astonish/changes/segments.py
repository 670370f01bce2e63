"""Where were the changes?

Both answers are read off message passing (Adams & MacKay 2007). If the last change came so many samples ago, then what
happened before it is judged by the samples before it alone; so the probability of a whole history of changes is a
product of probabilities that the learner had on its way, and the best history is found going forward (Fearnhead & Liu
2007).
"""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import NDArray

from astonish.domain import Domain, Numbers, check_parameters
from astonish.learner import Learner, scan
from astonish.learners import MessagePassing
from astonish.precision import as_double, double
from astonish.samples import read_series


def change_points(learner: Learner, xs: Any) -> NDArray[np.intp]:
    """The most probable history: the indices of the samples just before which the world changed.

    learner: a `MessagePassing`. xs: a series, read as `run` does; an index counts missing samples too.

    >>> from astonish import Gaussian
    >>> change_points(MessagePassing(Gaussian(), hazard=0.01), [0.1, -0.2, 0.3, 8.1, 7.9, 8.3]).tolist()
    [3]
    """
    learner, samples, observed = _read(learner, xs)
    with double():
        ages = np.asarray(_most_probable(as_double(learner), jax.tree.map(lambda part: part[observed], samples)))
    return np.flatnonzero(observed)[_walked_back(ages)]


def run_lengths(learner: Learner, xs: Any, longest: int) -> Numbers:
    """The probability, after each sample, that 1, 2, ... `longest` samples have come since the last change.

    A row per sample, a column per length. A row sums to less than 1 if it may have been more of them. A missing sample
    changes nothing.

    >>> from astonish import Gaussian
    >>> run_lengths(MessagePassing(Gaussian(), hazard=0.01), [0.1, 0.2, 8.0], longest=3).round(2).tolist()
    [[1.0, 0.0, 0.0], [0.01, 0.99, 0.0], [0.92, 0.01, 0.07]]
    """
    Domain(1, whole=True).check("longest", longest)
    learner, samples, observed = _read(learner, xs)
    with double():
        return np.asarray(_run_lengths(as_double(learner), samples, observed, int(longest)))


def _read(learner: Learner, xs: Any) -> tuple[MessagePassing, Any, NDArray[np.bool_]]:
    if not isinstance(learner, MessagePassing):
        kind = type(learner).__name__
        raise ValueError(f"{kind} keeps no hypotheses about when the world changed last; give a MessagePassing")
    check_parameters(learner)
    return learner, *read_series(learner.samples, xs)


@partial(jax.jit, static_argnums=3)
def _run_lengths(learner: MessagePassing, samples: Any, observed: Array, longest: int) -> Any:
    return scan(learner, samples, None, observed, lambda state: learner.run_lengths(state, longest)).estimate


@jax.jit
def _most_probable(learner: MessagePassing, samples: Any) -> Array:
    """For each sample: how long ago the last change was in the most probable history up to there."""
    ages, log_weights = scan(learner, samples, read=lambda state: (state.ages, state.log_weights)).estimate

    def further(best: Array, at: tuple[Array, Array, Array]) -> tuple[Array, Array]:
        """best[k]: ln of the probability, among all histories of the first k samples, of the most probable one."""
        now, ages, log_weights = at
        scores = log_weights + best[now - ages]
        first = jnp.argmax(scores)
        return best.at[now].set(scores[first]), ages[first]

    steps = len(ages)
    return jax.lax.scan(further, jnp.zeros(steps + 1), (jnp.arange(1, steps + 1), ages, log_weights))[1]


def _walked_back(ages: NDArray[np.int32]) -> list[int]:
    """From change to change, from the last to the first, given how long ago each one was where the next one came."""
    starts, now = [], len(ages)
    while now > 0:
        now -= int(ages[now - 1])
        starts.append(now)
    return starts[-2::-1]

"""How does a learner follow a stream, one sample at a time?"""

import math
import os
from collections import deque
from collections.abc import Callable
from functools import cache
from threading import Lock
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from astonish.checks import read_state
from astonish.deprecated import renamed_fields
from astonish.io.state import load_state, save_state
from astonish.learner import Learner, State, advance, check
from astonish.packing import Packing
from astonish.precision import as_double, double
from astonish.samples import read_one

__all__ = ["Step", "Stream"]


@renamed_fields(rate="learning_rate", change="change_probability")
class Step(NamedTuple):
    """What `Stream.update` returns: plain numbers (an estimate of several numbers is a NumPy array).

    change_probability: of a change just before the sample; NaN if the learner does not estimate it.
    """

    estimate: Any
    surprise: float
    learning_rate: float
    change_probability: float = math.nan


class Stream:
    """A learner and its state: feed it samples as they come, from as many threads as you like.

    An update that is interrupted, by Ctrl-C or any other exception, is made completely or not at all.

    >>> from astonish import Gaussian, Smile
    >>> stream = Stream(Smile(Gaussian(noise=1.0)))
    >>> for x in (0.1, -0.2, 5.0):
    ...     step = stream.update(x)
    >>> round(step.estimate, 2), round(step.surprise, 1)
    (3.73, 12.5)
    """

    def __init__(self, learner: Learner, state: State | None = None) -> None:
        check(learner)
        self.learner = learner
        self._samples = learner.samples
        with double():
            self._learner = jax.device_put(as_double(learner))
            start = as_double(learner.init()) if state is None else read_state(learner, state)
            self._packing = Packing.of(start)
            self._step = _stepper(self._packing)
            estimate = jnp.asarray(learner.estimate(start))
            self._shape = estimate.shape
            small, large = self._packing.pack(start)
            small = jnp.concatenate([small, jnp.zeros(3), jnp.ravel(estimate)])  # laid out as `_stepper` does
            self._kept = deque([(small, _copied(large))], maxlen=1)
        self._compiled_for: set[Any] = set()  # types of samples
        self._lock = Lock()

    def __repr__(self) -> str:
        return f"Stream({self.learner})"

    def __reduce__(self) -> tuple[Any, ...]:
        return Stream, (self.learner, self.state)  # compiled code is not pickled

    @property
    def state(self) -> State:
        """The learner's state, in NumPy's arrays."""
        with self._lock:  # since an update overwrites large arrays
            small, large = self.packed
            return self._packing.unpack(np.array(small), [np.array(leaf) for leaf in large])

    @property
    def estimate(self) -> Any:
        """The present estimate."""
        return self.last_step.estimate

    @property
    def last_step(self) -> Step:
        """What the last sample that was not missing gave."""
        numbers, at = np.asarray(self.packed[0]), self._packing.size  # behind the state in its vector
        estimate = numbers[at + 3 :].reshape(self._shape) if self._shape else numbers.item(at + 3)
        return Step(estimate, numbers.item(at), numbers.item(at + 1), numbers.item(at + 2))

    @property
    def packed(self) -> tuple[Array, list[Array]]:
        """The state and the last step, as compiled code keeps them: another object after each update."""
        return self._kept[0]

    def update(self, x: Any) -> Step:
        """Learn from one sample. One that is missing (None, NaN) changes nothing; one that is not allowed neither."""
        sample = read_one(self._samples, x)
        if sample is None:
            return self.last_step._replace(surprise=math.nan, learning_rate=0.0, change_probability=math.nan)
        with self._lock, double():
            small, large = self.packed
            if large:
                self._compile(small, large, sample)
            # One call of compiled code overwrites the old state and keeps the new one, so that no exception can come
            # between the two.
            self._kept.extend(map(self._step, (self._learner,), (small,), (large,), (sample,)))
            return self.last_step

    def _compile(self, small: Array, large: list[Array], sample: Any) -> None:
        """Have the step compiled, by a step from a copy, before anything is overwritten by it."""
        types = tuple(map(type, jax.tree.leaves(sample)))
        if types not in self._compiled_for:
            self._step(self._learner, small, _copied(large), sample)
            self._compiled_for.add(types)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the state to a file; `Stream.load` goes on exactly where this left off."""
        save_state(path, self.state, self.learner)

    @classmethod
    def load(cls, path: str | os.PathLike[str], learner: Learner, other_learner: bool = False) -> "Stream":
        """A stream that goes on from a saved state. other_learner: even if it is the state of another learner."""
        return cls(learner, load_state(path, learner, other_learner))


def _copied(leaves: list[Array]) -> list[Array]:
    return [jnp.array(leaf, copy=True) for leaf in leaves]


@cache
def _stepper(packing: Packing) -> Callable[..., tuple[Array, list[Array]]]:
    """A compiled step for all streams whose states are packed in the same way."""

    @jax.jit(donate_argnums=2)
    def step(learner: Learner, small: Array, large: list[Array], x: Any) -> tuple[Array, list[Array]]:
        """The new state, packed, followed by surprise, learning rate, change probability and estimate."""
        new, info = advance(learner, packing.unpack(small, large), x)
        small, large = packing.pack(new)
        change = jnp.nan if info.change_probability is None else info.change_probability
        outputs = (info.surprise, info.learning_rate, change, learner.estimate(new))
        return jnp.concatenate([small, *(jnp.ravel(output).astype(small.dtype) for output in outputs)]), large

    return step

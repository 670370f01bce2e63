"""How does a learner follow a stream, one sample at a time?"""

import math
import os
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

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
    """A learner and its state: feed it samples as they come.

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
            start = as_double(learner.init() if state is None else state)
            self._packing = Packing.of(start)
            self._step = _stepper(self._packing)
            estimate = jnp.asarray(learner.estimate(start))
            self._shape = estimate.shape
            small, large = self._packing.pack(start)
            self._small = jnp.concatenate([small, jnp.zeros(3), jnp.ravel(estimate)])  # laid out as `_stepper` does
            self._large = [jnp.array(leaf, copy=True) for leaf in large]

    def __repr__(self) -> str:
        return f"Stream({self.learner})"

    def __reduce__(self) -> tuple[Any, ...]:
        return Stream, (self.learner, self.state)  # compiled code is not pickled

    @property
    def state(self) -> State:
        """The learner's state, in NumPy's arrays."""
        return self._packing.unpack(np.array(self._small), [np.array(leaf) for leaf in self._large])

    @property
    def estimate(self) -> Any:
        """The present estimate."""
        return self._last_step().estimate

    def update(self, x: Any) -> Step:
        """Learn from one sample. One that is missing (None, NaN) changes nothing; one that is not allowed neither."""
        sample = read_one(self._samples, x)
        if sample is None:
            return self._last_step()._replace(surprise=math.nan, learning_rate=0.0, change_probability=math.nan)
        with double():
            self._small, self._large = self._step(self._learner, self._small, self._large, sample)
        return self._last_step()

    def _last_step(self) -> Step:
        """What the last step gave: it follows the state in its vector."""
        numbers, at = np.asarray(self._small), self._packing.size
        estimate = numbers[at + 3 :].reshape(self._shape) if self._shape else numbers.item(at + 3)
        return Step(estimate, numbers.item(at), numbers.item(at + 1), numbers.item(at + 2))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the state to a file; `Stream.load` goes on exactly where this left off."""
        save_state(path, self.state)

    @classmethod
    def load(cls, path: str | os.PathLike[str], learner: Learner) -> "Stream":
        """A stream that goes on from a saved state."""
        return cls(learner, load_state(path, learner))


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

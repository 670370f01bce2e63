"""Streams: a learner that is fed one sample at a time."""

import os
from collections import deque
from collections.abc import Callable
from functools import cache
from threading import Lock
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from astonish.core.cooldown import alarm_and_wait
from astonish.core.numbers import BoolArray, as_double, double
from astonish.core.parameters import read_state
from astonish.core.programs import Packing
from astonish.core.samples import read_one, read_series
from astonish.engines.native import program_for
from astonish.io.state import load_state, save_state
from astonish.learners.base import ANSWERS, MISSED, Learner, State, Step, Steps, advance, check, first_state
from astonish.online.series import through

__all__ = ["Stream"]


class Stream:
    """A learner and its state: feed it samples as they come, from as many threads as you like.

    An update that is interrupted, by Ctrl-C or any other exception, is made completely or not at all.
    engine: "native" or "xla"; left out, native where `astonish[native]` is installed and can compile the learner.

    >>> from astonish import Gaussian, Smile
    >>> stream = Stream(Smile(Gaussian(noise=1.0)))
    >>> for x in (0.1, -0.2, 5.0):
    ...     step = stream.update(x)
    >>> round(step.estimate, 2), round(step.surprise, 1)
    (3.73, 12.5)
    >>> stream.update_many([5.1, 4.9]).learning_rate.round(2).tolist()
    [0.29, 0.17]
    """

    def __init__(self, learner: Learner, state: State | None = None, engine: str | None = None) -> None:
        check(learner)
        self.learner = learner
        self.wanted_engine = "xla" if engine == "xla" else None  # elsewhere too: the other may not be there
        with double():
            start = first_state(learner) if state is None else read_state(learner, state)
            packing = Packing.of(start)
            program = program_for(learner, start, packing, engine)
            self._steps: Any = _steps(program, learner, start, packing)
        self._update: Callable[[Any], Step] = self._steps.updater()
        if type(self).update is Stream.update:  # then the function itself is there, without a call in between
            self.update = self._update  # type: ignore[method-assign]

    def __repr__(self) -> str:
        return f"Stream({self.learner})"

    def __reduce__(self) -> tuple[Any, ...]:
        return Stream, (self.learner, self.state, self.wanted_engine)  # compiled code is not pickled

    @property
    def engine(self) -> str:
        """What computes the steps: "native" or "xla"."""
        return self._steps.engine

    @property
    def state(self) -> State:
        """The learner's state, in NumPy's arrays."""
        return self._steps.state()

    @property
    def estimate(self) -> Any:
        """The present estimate."""
        return self.last_step.estimate

    @property
    def last_step(self) -> Step:
        """What the last sample that was not missing gave."""
        return self._steps.last()

    def update(self, x: Any) -> Step:
        """Learn from one sample. One that is missing (None, NaN) changes nothing; one that is not allowed neither."""
        return self._update(x)

    def update_many(self, xs: Any) -> Steps:
        """Learn from many samples, given as `run` takes them, and answer for each; from all or, if refused, from none.

        Much faster than as many updates.
        """
        steps: Steps = self._steps.update_many(*read_series(self.learner.samples, xs))
        return steps

    def watch(self, signal: str, threshold: float, cooldown: int, wait: int, alarm: bool) -> Any:
        """For detectors: what learns from samples and says whether an answer of the step exceeds a threshold."""
        return self._steps.watch(Step._fields.index(signal), threshold, cooldown, wait, alarm)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the state to a file; `Stream.load` goes on exactly where this left off."""
        save_state(path, self.state, self.learner)

    @classmethod
    def load(cls, path: str | os.PathLike[str], learner: Learner, other_learner: bool = False) -> "Stream":
        """A stream that goes on from a saved state. other_learner: even if it is the state of another learner."""
        return cls(learner, load_state(path, learner, other_learner))


def _steps(program: Any, learner: Learner, start: State, packing: Packing) -> Any:
    """What takes the steps: compiled code, or XLA where there is none."""
    if program is None:
        return _XlaSteps(learner, start, packing)
    from astonish.engines.native.streams import NativeSteps

    return NativeSteps(program, learner, start, packing)


class _XlaSteps:
    """A learner and its state, of which XLA computes the next one."""

    engine = "xla"

    def __init__(self, learner: Learner, start: State, packing: Packing) -> None:
        self._samples, self._packing, self._step = learner.samples, packing, _stepper(packing)
        self._learner = jax.device_put(as_double(learner))
        estimate = jnp.asarray(learner.estimate(start))
        self._shape = estimate.shape
        small, large = packing.pack(start)
        answers = jnp.zeros(len(MISSED)), jnp.ravel(estimate)
        small = jnp.concatenate([small, *answers])  # laid out as `_stepper` does
        self.kept = deque([(small, _copied(large))], maxlen=1)  # another object after each update
        self._compiled_for: set[Any] = set()  # types of samples
        self._lock = Lock()

    def updater(self) -> Callable[[Any], Step]:
        return self.update

    def state(self) -> State:
        with self._lock:  # since an update overwrites large arrays
            small, large = self.kept[0]
            return self._packing.unpack(np.array(small), [np.array(leaf) for leaf in large])

    def last(self) -> Step:
        answers = np.asarray(self.kept[0][0])[self._packing.size :]  # behind the state in its vector
        estimate = answers[len(MISSED) :]
        return Step(estimate.reshape(self._shape) if self._shape else estimate.item(), *answers[: len(MISSED)].tolist())

    def update(self, x: Any) -> Step:
        sample = read_one(self._samples, x)
        if sample is None:
            return Step(self.last().estimate, *MISSED)
        with self._lock, double():
            small, large = self.kept[0]
            if large:
                self._compile(small, large, sample)
            # One call of compiled code overwrites the old state and keeps the new one, so that no exception can come
            # between the two.
            self.kept.extend(map(self._step, (self._learner,), (small,), (large,), (sample,)))
            return self.last()

    def update_many(self, samples: Any, observed: BoolArray) -> Steps:
        with self._lock, double():
            steps = through(self._learner, samples, observed, self._packing.unpack(*self.kept[0]))
            if observed.any():
                last = int(np.flatnonzero(observed)[-1])
                estimate, *numbers = (np.nan if answer is None else answer[last] for answer in steps[: len(ANSWERS)])
                new, large = self._packing.pack(steps.state)
                self.kept.append((jnp.concatenate([new, jnp.array(numbers), jnp.ravel(estimate)]), large))
            return steps._replace(state=None)

    def watch(self, signal: int, threshold: float, cooldown: int, wait: int, alarm: bool) -> "_XlaWatch":
        return _XlaWatch(self, signal, threshold, cooldown, wait, alarm)

    def _compile(self, small: Array, large: list[Array], sample: Any) -> None:
        """Have the step compiled, by a step from a copy, before anything is overwritten by it."""
        types = tuple(map(type, jax.tree.leaves(sample)))
        if types not in self._compiled_for:
            self._step(self._learner, small, _copied(large), sample)
            self._compiled_for.add(types)


class _XlaWatch:
    """Whether a number of each step exceeds a threshold, and no alarm was given within the cool-down before."""

    def __init__(self, steps: _XlaSteps, signal: int, threshold: float, cooldown: int, wait: int, alarm: bool) -> None:
        self._steps, self._signal, self._cooldown, self.threshold = steps, signal, cooldown, threshold
        self._after = (steps.kept[0], wait, alarm)  # a step, for how long there is no alarm, and whether it gave one
        self._lock = Lock()

    def updater(self) -> Callable[[Any], bool]:
        return self.update

    def update(self, x: Any) -> bool:
        with self._lock:
            _, wait = self._alarm_and_wait()
            before = self._steps.kept[0]
            self._steps.update(x)
            if self._steps.kept[0] is before:  # the sample is missing
                alarm, wait = alarm_and_wait(False, wait, self._cooldown)
                self._after = (before, wait, alarm)
            return self._alarm_and_wait()[0]

    @property
    def alarm(self) -> bool:
        """Whether the last sample gave an alarm."""
        with self._lock:
            return self._alarm_and_wait()[0]

    def now(self) -> tuple[State, bool, int]:
        """The state, whether the last sample gave an alarm, and for how many samples there is none; of one moment."""
        with self._lock:
            return self._steps.state(), *self._alarm_and_wait()

    def _alarm_and_wait(self) -> tuple[bool, int]:
        """Computed from the last step whenever it is not known, as after an update that was interrupted."""
        last, wait, alarm = self._after
        if self._steps.kept[0] is not last:
            alarm, wait = alarm_and_wait(self._steps.last()[self._signal] > self.threshold, wait, self._cooldown)
            self._after = (self._steps.kept[0], wait, alarm)
        return alarm, wait


def _copied(leaves: list[Array]) -> list[Array]:
    return [jnp.array(leaf, copy=True) for leaf in leaves]


@cache
def _stepper(packing: Packing) -> Callable[..., tuple[Array, list[Array]]]:
    """A compiled step for all streams whose states are packed in the same way."""

    @jax.jit(donate_argnums=2)
    def step(learner: Learner, small: Array, large: list[Array], x: Any) -> tuple[Array, list[Array]]:
        """The new state, packed, followed by the numbers that the step gave, and the estimate."""
        new, info = advance(learner, packing.unpack(small, large), x)
        small, large = packing.pack(new)
        answers = (*(jnp.nan if number is None else number for number in info), learner.estimate(new))
        return jnp.concatenate([small, *(jnp.ravel(answer).astype(small.dtype) for answer in answers)]), large

    return step

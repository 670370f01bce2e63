"""Series and streams: a learner that goes through a whole series, through many at once, or sample by sample."""

import os
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from operator import attrgetter
from threading import Lock
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from astonish.core.cooldown import alarm_and_wait
from astonish.core.numbers import BoolArray, as_double, double
from astonish.core.parameters import read_state
from astonish.core.programs import Packing, compiled
from astonish.core.refusal import naming_extra
from astonish.core.samples import read_one, read_series
from astonish.engines import program_for
from astonish.io.state import load_state, save_state
from astonish.learners.base import (
    ANSWERS,
    MISSED,
    Learner,
    State,
    Step,
    Steps,
    advance,
    check,
    failed,
    first_state,
    scan,
    scan_many,
    wide,
)

__all__ = ["History", "Stream", "run", "run_many"]

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame
    from xarray import Dataset

OPTIONS = {
    "xla_cpu_prefer_vector_width": "512",  # wide vector units are used in full
    "xla_gpu_autotune_level": "0",  # what is fastest by a hair would be chosen again every time, with other last digits
}
_one = compiled(scan, compiler_options=OPTIONS)
_many = compiled(scan_many, compiler_options=OPTIONS)


@dataclass(frozen=True, repr=False)
class History:
    """What a learner did in a series, in NumPy's float64.

    samples: the series as it was read, a missing sample as NaN (in integer parts: as an allowed value).
    observed: which samples were not missing.
    steps: what each step gave, and the state at the end; its fields can be had of the history itself.
    """

    learner: Learner
    samples: Any
    observed: BoolArray
    steps: Steps

    estimate = property(attrgetter("steps.estimate"), doc="Estimate after each sample.")
    surprise = property(attrgetter("steps.surprise"), doc="Surprise of each sample, in the learner's own measure.")
    learning_rate = property(attrgetter("steps.learning_rate"), doc="Weight of each sample in the estimate after it.")
    change_probability = property(
        attrgetter("steps.change_probability"),
        doc="Probability of a change just before each sample; None if not estimated.",
    )
    state = property(attrgetter("steps.state"), doc="State at the end, from which `run` and `Stream` go on.")

    @property
    def problem(self) -> str:
        """A sentence if an approximation that the learner rests on failed (see `Learner.failures`), else empty."""
        failures = self.learner.failures(self.state)
        return failed(self.learner, float(failures)) if failures is not None and failures > 0 else ""

    def __len__(self) -> int:
        return len(self.observed)

    def __repr__(self) -> str:
        missing = int((~self.observed).sum())
        return f"History of {len(self)} samples, {missing} of them missing\n  learner: {self.learner}\n  {self.steps}"

    def _repr_html_(self) -> str:
        return str(self.to_frame().to_html(max_rows=20))

    def columns(self) -> dict[str, Any]:
        """Return samples, which of them were observed, and what the steps gave, as columns of a table."""
        parts = jax.tree.leaves(self.samples)
        names = ["sample"] if len(parts) == 1 else [f"sample_{i}" for i in range(len(parts))]
        columns: dict[str, Any] = {}
        for name, part in zip(names, parts, strict=True):
            columns |= wide(name, part)
        return columns | {"observed": self.observed} | self.steps.columns()

    @naming_extra("a table needs")
    def to_frame(self) -> "DataFrame":
        """Return a table with one row per sample."""
        from pandas import DataFrame

        return DataFrame(self.columns())

    @naming_extra("a data set needs")
    def to_xarray(self) -> "Dataset":
        """Return a data set along "time", with a variable for each column of `to_frame`."""
        from xarray import Dataset

        return Dataset({name: ("time", values) for name, values in self.columns().items()})

    def plot(self) -> "Figure":
        """Plot samples and estimates, surprise and learning rate, one above the other."""
        from astonish.report.views import plot_history

        return plot_history(self)


def run(learner: Learner, xs: Any, state: State | None = None, engine: str | None = None) -> History:
    """Run a learner over a series, in double precision.

    xs: a list, array, or column of samples, None, NaN or masked where one is missing. For samples of several parts (a
    context and an outcome, features and a response) a tuple of columns, or rows.
    state: where to go on from: the `state` of an earlier history or stream.
    engine: what computes it, "native" or "xla"; see `Stream`.

    >>> from astonish import Gaussian, Smile
    >>> run(Smile(Gaussian(noise=1.0)), [0.1, -0.2, 5.0, 5.1]).learning_rate.round(2).tolist()
    [0.02, 0.05, 0.75, 0.29]
    """
    check(learner)
    samples, observed = read_series(learner.samples, xs)
    with double():
        start = first_state(learner) if state is None else read_state(learner, state)
        steps = _run(learner, samples, observed, start, engine)
    return _history(learner, samples, observed, steps)


def state_before(learner: Learner, samples: Any, observed: BoolArray, at: int) -> State:
    """The state just before a sample, counted from 0, of a series that was read. To be called in double precision."""
    start = first_state(learner)
    if at == 0:
        return start
    head = jax.tree.map(lambda part: part[:at], samples)
    return _run(learner, head, observed[:at], start, None).state


def _run(learner: Learner, samples: Any, observed: BoolArray, start: State, engine: str | None) -> Steps:
    """What a learner makes of a series that was read, by the engine that is asked for or fits best."""
    program = program_for(learner, start, Packing.of(start), engine)
    if program is None:
        return _through(as_double(learner), samples, observed, start)
    return program.run(learner, start, samples, observed)


def _through(learner: Learner, samples: Any, observed: BoolArray, start: State) -> Steps:
    """What XLA makes of a series that was read, in NumPy's arrays."""
    xs, seen = to_common_length(samples), None if observed.all() else to_common_length(observed)
    steps = jax.device_get(_one(learner, xs, start, seen, length=len(observed)))
    return jax.tree.map(lambda part: part[: len(observed)], steps._replace(state=None))._replace(state=steps.state)


def run_many(learner: Learner, many: Sequence[Any]) -> list[History]:
    """Run a learner over many series at once, each from the learner's own start; lengths may differ.

    >>> from astonish import Gaussian, Smile
    >>> [len(h) for h in run_many(Smile(Gaussian()), [[0.5, 1.0], [2.0, 2.0, 2.0]])]
    [2, 3]
    """
    check(learner)
    read = [read_series(learner.samples, xs) for xs in many]
    if not read:
        raise ValueError("there are no series; give at least one")
    length = max(len(observed) for _, observed in read)
    at = np.arange(_common_length(length))  # behind its end, the last sample of a series is repeated, and masked
    side_by_side = jax.tree.map(
        lambda *parts: np.stack([part.take(at, axis=0, mode="clip") for part in parts], axis=1),
        *(samples for samples, _ in read),
    )
    seen = np.stack([observed.take(at, mode="clip") & (at < len(observed)) for _, observed in read], axis=1)
    mask = None if seen[:length].all() else seen
    with double():
        steps = jax.device_get(_many(as_double(learner), side_by_side, mask, length))
    columns, form = jax.tree.flatten(steps._replace(state=None))
    states, form_of_state = jax.tree.flatten(steps.state)  # taken apart once, for there may be thousands of series
    histories = []
    for i, (samples, observed) in enumerate(read):
        alone = jax.tree.unflatten(form, [column[: len(observed), i] for column in columns])
        state = jax.tree.unflatten(form_of_state, [leaf[i] for leaf in states])
        histories.append(_history(learner, samples, observed, alone._replace(state=state)))
    return histories


def to_common_length(parts: Any, axis: int = 0, least: int = 64) -> Any:
    """Arrays with their last row repeated up to one of a few lengths, since every length has to be compiled.

    least: the shortest of these lengths, which are powers of 2. Whoever reads them needs the length too, as `scan`.

    >>> to_common_length(np.arange(100)).shape
    (128,)
    """

    def longer(part: Any) -> Any:
        more = np.zeros((part.ndim, 2), int)
        more[axis, 1] = _common_length(part.shape[axis], least) - part.shape[axis]
        return np.pad(part, more, "edge" if part.shape[axis] else "constant")

    return jax.tree.map(longer, parts)


def _common_length(length: int, least: int = 64) -> int:
    return max(least, 1 << (length - 1).bit_length())


def _history(learner: Learner, samples: Any, observed: BoolArray, steps: Steps) -> History:
    def gapped(part: Any) -> Any:
        if observed.all():
            return part
        where = observed.reshape(-1, *[1] * (part.ndim - 1))
        return np.where(where, part, np.nan) if part.dtype.kind == "f" else part

    return History(learner, jax.tree.map(gapped, samples), observed, jax.tree.map(np.asarray, steps))


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
            self._steps: Any = program.stream(learner, start) if program else _XlaSteps(learner, start, packing)
        self._update: Callable[[Any], Step] = self._steps.updater()
        if type(self).update is Stream.update:  # then the function itself is there, without a call in between
            self.update = self._update  # type: ignore[assignment, method-assign]

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
        return self._steps.update_many(*read_series(self.learner.samples, xs))

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


class _XlaSteps:
    """A learner and its state, of which XLA computes the next one."""

    engine = "xla"

    def __init__(self, learner: Learner, start: State, packing: Packing) -> None:
        self._samples, self._packing, self._step = learner.samples, packing, _stepper(packing)
        self._learner = jax.device_put(as_double(learner))
        estimate = jnp.asarray(learner.estimate(start))
        self._shape = estimate.shape
        small, large = packing.pack(start)
        small = jnp.concatenate([small, jnp.zeros(len(MISSED)), jnp.ravel(estimate)])  # laid out as `_stepper` does
        large = jax.tree.map(jnp.copy, large)
        self.kept = deque([(small, large)], maxlen=1)  # another object after each update
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
            if large:  # compile it by a step from a copy, before anything is overwritten by it
                types = tuple(map(type, jax.tree.leaves(sample)))
                if types not in self._compiled_for:
                    self._step(self._learner, small, jax.tree.map(jnp.copy, large), sample)
                    self._compiled_for.add(types)
            # One call of compiled code overwrites the old state and keeps the new one, so that no exception can come
            # between the two.
            self.kept.extend(map(self._step, (self._learner,), (small,), (large,), (sample,)))
            return self.last()

    def update_many(self, samples: Any, observed: BoolArray) -> Steps:
        with self._lock, double():
            steps = _through(self._learner, samples, observed, self._packing.unpack(*self.kept[0]))
            if observed.any():
                last = int(np.flatnonzero(observed)[-1])
                estimate, *numbers = (np.nan if answer is None else answer[last] for answer in steps[: len(ANSWERS)])
                new, large = self._packing.pack(steps.state)
                self.kept.append((jnp.concatenate([new, jnp.array(numbers), jnp.ravel(estimate)]), large))
            return steps._replace(state=None)

    def watch(self, *about: Any) -> "_XlaWatch":
        return _XlaWatch(self, *about)


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

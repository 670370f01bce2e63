"""How does a learner go through a whole series, or through many at once?"""

from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from astonish.core.numbers import BoolArray, as_double, double
from astonish.core.parameters import read_state
from astonish.core.programs import Packing, compiled
from astonish.core.refusal import naming_extra
from astonish.core.samples import read_series
from astonish.engines.native import program_for
from astonish.learners.base import Learner, State, Steps, check, failed, first_state, scan, scan_many, wide

__all__ = ["History", "run", "run_many"]

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
    packing = Packing.of(start)
    program = program_for(learner, start, packing, engine)
    if program is None:
        return through(as_double(learner), samples, observed, start)
    from astonish.engines.native.streams import run_series

    return run_series(program, learner, start, packing, samples, observed)


def through(learner: Learner, samples: Any, observed: BoolArray, start: State) -> Steps:
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
    size = _common_length(length)
    samples = jax.tree.map(lambda *parts: _side_by_side(parts, size), *(samples for samples, _ in read))
    whole = all(len(observed) == length and observed.all() for _, observed in read)
    with double():
        mask = None if whole else _side_by_side([observed for _, observed in read], size)
        steps = jax.device_get(_many(as_double(learner), samples, mask, length))
    columns, form = jax.tree.flatten(steps._replace(state=None))
    states, form_of_state = jax.tree.flatten(steps.state)  # taken apart once, for there may be thousands of series
    histories = []
    for i, (samples, observed) in enumerate(read):
        own = jax.tree.unflatten(form, [column[: len(observed), i] for column in columns])
        state = jax.tree.unflatten(form_of_state, [leaf[i] for leaf in states])
        histories.append(_history(learner, samples, observed, own._replace(state=state)))
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


def _side_by_side(parts: Sequence[Any], length: int) -> Any:
    """Series along the second axis, the last row of each repeated (that of its mask: False) up to the length."""
    table = np.zeros((len(parts), length, *parts[0].shape[1:]), parts[0].dtype)
    for row, part in zip(table, parts, strict=True):
        row[: len(part)] = part
        if len(part) and part.dtype != bool:
            row[len(part) :] = part[-1]
    return np.ascontiguousarray(table.swapaxes(0, 1))


def _history(learner: Learner, samples: Any, observed: BoolArray, steps: Steps) -> History:
    def gapped(part: Any) -> Any:
        if observed.all():
            return part
        where = observed.reshape(-1, *[1] * (part.ndim - 1))
        return np.where(where, part, np.nan) if part.dtype.kind == "f" else part

    return History(learner, jax.tree.map(gapped, samples), observed, jax.tree.map(np.asarray, steps))

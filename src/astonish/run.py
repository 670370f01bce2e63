"""What does a learner make of a whole series, or of many?"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from astonish.domain import Numbers, check_parameters
from astonish.learner import Learner, State, Trace, scan
from astonish.precision import as_double, double
from astonish.samples import Mask, read_series

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame

OPTIONS = {
    "xla_cpu_prefer_vector_width": "512",  # wide vector units are used in full
    "xla_gpu_autotune_level": "0",  # what is fastest by a hair would be chosen anew, with other last digits, every time
}
_one = jax.jit(scan, compiler_options=OPTIONS)
_STEPS_FIRST = Trace(1, 1, 1, 0, 1)  # type: ignore[arg-type] # as the loop leaves them: another order would be a copy
_many = jax.jit(jax.vmap(scan, in_axes=(None, 0, None, 0), out_axes=_STEPS_FIRST), compiler_options=OPTIONS)


@dataclass(frozen=True)
class History:
    """A learner's way through a series, in NumPy's float64: after each sample what it thought and how it felt about it.

    samples: the series as it was read, a missing sample as NaN (in integer parts: as its stand-in).
    state: the state at the end, from which `run` and `Stream` go on.
    change: how probable a change just before each sample is, once it is known; None if the learner does not ask.
    """

    learner: Learner
    samples: Any
    observed: Mask
    estimate: Numbers
    surprise: Numbers
    rate: Numbers
    state: State
    change: Numbers | None = None

    def __len__(self) -> int:
        return len(self.surprise)

    def to_frame(self) -> "DataFrame":
        """One row per sample."""
        from pandas import DataFrame

        return DataFrame(_table(self))

    def plot(self) -> "Figure":
        """Samples and estimates, surprise and rate, one above the other."""
        from astonish.plot import history

        return history(self)


def run(learner: Learner, xs: Any, state: State | None = None) -> History:
    """Run a learner over a series, in double precision.

    xs: a list, array, or column of samples, None or NaN where one is missing. For samples of several parts (a context
    and an outcome, features and a response) a tuple of columns, or rows.
    state: where to go on from: the `state` of an earlier history or stream.

    >>> from astonish import Gaussian, Smile
    >>> run(Smile(Gaussian(noise=1.0)), [0.1, -0.2, 5.0, 5.1]).rate.round(2).tolist()
    [0.02, 0.05, 0.75, 0.29]
    """
    check_parameters(learner)
    samples, observed = read_series(learner.samples, xs)
    with double():
        mask = None if observed.all() else observed
        start = None if state is None else as_double(state)
        trace = jax.device_get(_one(as_double(learner), samples, start, mask))
    return _history(learner, samples, observed, trace)


def run_many(learner: Learner, many: Sequence[Any]) -> list[History]:
    """Run a learner over many series at once, each from the learner's own start; lengths may differ.

    >>> from astonish import Gaussian, Smile
    >>> [len(h) for h in run_many(Smile(Gaussian()), [[0.5, 1.0], [2.0, 2.0, 2.0]])]
    [2, 3]
    """
    check_parameters(learner)
    read = [read_series(learner.samples, xs) for xs in many]
    if not read:
        raise ValueError("there are no series; give at least one")
    length = max(len(observed) for _, observed in read)
    samples = jax.tree.map(lambda *parts: np.stack([_padded(part, length) for part in parts]), *(s for s, _ in read))
    observed = np.stack([_padded(observed, length) for _, observed in read])
    with double():
        mask = None if observed.all() else observed
        trace = jax.device_get(_many(as_double(learner), samples, None, mask))
    return [_cut(learner, read[i], trace, i) for i in range(len(read))]


def _cut(learner: Learner, read: tuple[Any, Mask], trace: Trace, i: int) -> History:
    samples, observed = read
    estimate, surprise, rate, change = jax.tree.map(
        lambda part: part[: len(observed), i], (trace.estimate, trace.surprise, trace.rate, trace.change)
    )
    state = jax.tree.map(lambda leaf: leaf[i], trace.state)
    return _history(learner, samples, observed, Trace(estimate, surprise, rate, state, change))


def _padded(part: Any, length: int) -> Any:
    """`part`, its last row repeated (its mask: False) up to the length."""
    extra = np.repeat(part[-1:], length - len(part), axis=0)
    return np.concatenate([part, np.zeros_like(extra) if part.dtype == bool else extra])


def _history(learner: Learner, samples: Any, observed: Mask, trace: Trace) -> History:
    def gapped(part: Any) -> Any:
        where = observed.reshape(-1, *[1] * (part.ndim - 1))
        return np.where(where, part, np.nan) if part.dtype.kind == "f" else part

    return History(learner, jax.tree.map(gapped, samples), observed, *jax.tree.map(np.asarray, tuple(trace)))


def _table(history: History) -> dict[str, Any]:
    parts = jax.tree.leaves(history.samples)
    names = ["sample"] if len(parts) == 1 else [f"sample_{i}" for i in range(len(parts))]
    columns = dict(zip(names, parts, strict=True)) | {"observed": history.observed, "estimate": history.estimate}
    flat: dict[str, Any] = {}
    for name, values in columns.items():
        flat |= wide(name, values)
    flat |= {"surprise": history.surprise, "rate": history.rate}
    return flat if history.change is None else flat | {"change": history.change}


def wide(name: str, values: Any) -> dict[str, Any]:
    """A column, or one for each of several numbers.

    >>> list(wide("estimate", np.zeros((5, 2))))
    ['estimate_0', 'estimate_1']
    """
    if values.ndim == 1:
        return {name: values}
    flat = values.reshape(len(values), math.prod(values.shape[1:]))
    return {f"{name}_{k}": flat[:, k] for k in range(flat.shape[1])}

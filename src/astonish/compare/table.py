"""Which learner is best here: how wrong, how slow after a change, how well calibrated, and at what cost?"""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from astonish.changes.alarms import Mask, check_lengths, check_rate, labelled, quiet_samples
from astonish.compare import scores
from astonish.domain import POSITIVE, Domain, Numbers, as_numbers
from astonish.learner import Learner
from astonish.run import History, run_many
from astonish.tasks.gaussian_jumps import Episode

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame

_ROUNDS = 3  # of timing, the best of which counts


@dataclass(frozen=True)
class Comparison:
    """What `compare` has found.

    table: a row for each learner; `compare` says what the columns are.
    after_change: the mean absolute error with the 1st, 2nd, ... sample after a change, its standard error over changes,
    and the error when all is quiet; a row for each learner and sample.
    reliability: of the learners that give a probability of a change, for samples of similar probabilities: their mean,
    how often there was a change, its standard error, and how many samples there were.
    """

    table: "DataFrame"
    after_change: "DataFrame"
    reliability: "DataFrame"

    def __repr__(self) -> str:
        return str(self.table.to_string(float_format="{:.4g}".format))

    def plot(self) -> "Figure":
        """Error after a change and on the whole, calibration, and cost."""
        from astonish.compare.drawing import comparison

        return comparison(self)


def compare(
    learners: Mapping[str, Learner],
    samples: Any,
    truth: Any = None,
    changed: Any = None,
    *,
    window: int = 20,
    factor: float = 1.5,
    rate: float = 0.01,
    cooldown: int = 10,
) -> Comparison:
    """Run learners over the same series, and say how each of them did.

    samples: an `Episode` of `tasks.gaussian_jumps`, or of many; or a series as `run` takes it, with
    changed: True where the world changed just before a sample, and
    truth: what the estimate should have been after each sample, if that is known.
    For many series of one length, give a row of each to each of these.

    The columns of the table; what does not apply, or would rest on too few samples, is NaN:

    - `squared_error`, `absolute_error`: of the estimate after each sample, a mean over its numbers, over samples and
      over series, with standard errors over series (`_se`);
    - `recovery`: with which sample after a change the mean absolute error is back within `factor` times the quiet one,
      which is the error `window` samples or more after a change;
    - `detection_delay`, `detected`: with which sample after a change the median alarm comes, and for what share of
      changes there is one within `window` samples, if alarms are given at a threshold on the probability of a change
      (else on surprise) that gives `rate` false alarms per quiet sample in these very series, with a `cooldown`;
    - `brier`, `brier_skill`: the mean squared error of the probability of a change, and what part of it would be gained
      over always saying how often there is a change: 1 is perfect, 0 useless;
    - `microseconds`: per sample, all series side by side, measured now.

    >>> from astonish import Delta, Gaussian, Smile
    >>> from astonish.tasks.gaussian_jumps import many_gaussian_jumps
    >>> learners = {"SMiLe": Smile(Gaussian(noise=4.0)), "delta rule": Delta(0.2)}
    >>> compare(learners, many_gaussian_jumps(steps=500, seeds=range(10))).table["absolute_error"].round(1).to_dict()
    {'SMiLe': 1.9, 'delta rule': 3.0}
    """
    from pandas import DataFrame

    _check(learners, window, factor)
    check_rate(rate, cooldown)
    world = _world(samples, truth, changed, window)
    accounts = {name: _account(name, learner, world) for name, learner in learners.items()}
    curves = {name: scores.after_change(a.errors, world.changed, world.quiet, window) for name, a in accounts.items()}
    rows = {
        name: {
            **scores.mean_errors(a.errors),
            **scores.recovery(curves[name], factor),
            **scores.detection(a.signals, world.changed, world.quiet, window, rate, cooldown),
            **scores.brier(a.change, world.changed),
            "microseconds": 1e6 * a.seconds / a.signals.size,
        }
        for name, a in accounts.items()
    }
    reliability = {name: scores.reliability(a.change, world.changed) for name, a in accounts.items()}
    table = DataFrame.from_dict(rows, orient="index")
    return Comparison(table, _stacked(curves), _stacked(reliability))


@dataclass(frozen=True)
class World:
    """What there was to learn, a row for each series.

    truth: None if unknown. changed: except before the first sample, when nobody had learned anything yet. quiet: where
    neither the start nor a change is near.
    """

    series: list[Any]
    truth: Numbers | None
    changed: Mask
    quiet: Mask


@dataclass(frozen=True)
class Account:
    """What a learner made of all series: errors of its estimates, probabilities of a change (NaN if it gives none)."""

    errors: Numbers
    change: Numbers
    signals: Numbers
    seconds: float


def _world(samples: Any, truth: Any, changed: Any, window: int) -> World:
    if isinstance(samples, Episode):
        if truth is not None or changed is not None:
            raise ValueError("an Episode knows its truth and changes; give it alone, or its samples with your own")
        samples, truth, changed = samples
    if changed is None:
        raise ValueError(
            "changed is missing; give True for each sample just before which the world changed, else False"
        )
    series, marks = labelled(samples, changed)
    assert marks is not None  # since changed is not
    numbers = None if truth is None else as_numbers("truth", truth)
    if numbers is not None:
        numbers = numbers[None] if np.ndim(changed) == 1 else numbers
    start = np.zeros_like(marks)
    start[:, 0] = True
    return World(series, numbers, marks & ~start, quiet_samples(marks | start, window, 0))


def _account(name: str, learner: Learner, world: World) -> Account:
    try:
        histories = run_many(learner, world.series)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None
    check_lengths(histories, world.changed)
    seconds = min(_seconds(learner, world) for _ in range(_ROUNDS))
    surprise = np.stack([history.surprise for history in histories])
    change = np.full_like(surprise, np.nan)
    if histories[0].change is not None:
        change[:, 1:] = np.stack([np.asarray(history.change)[1:] for history in histories])
    signals = surprise if histories[0].change is None else change
    return Account(_errors(name, histories, world), change, signals, seconds)


def _errors(name: str, histories: list[History], world: World) -> Numbers:
    estimate = np.stack([history.estimate for history in histories])
    if world.truth is None:
        return np.full_like(estimate, np.nan)
    if world.truth.shape != estimate.shape:
        raise ValueError(
            f"truth has shape {world.truth.shape}, but what {name} estimates has shape {estimate.shape} (series, "
            "samples, numbers); give a truth of that shape, or learners that estimate the same"
        )
    return estimate - world.truth


def _seconds(learner: Learner, world: World) -> float:
    start = time.perf_counter()
    run_many(learner, world.series)
    return time.perf_counter() - start


def _stacked(tables: dict[str, scores.Columns]) -> "DataFrame":
    """One table of all, with the learner's name in its first column."""
    from pandas import DataFrame

    counts = [len(next(iter(columns.values()))) for columns in tables.values()]
    names = next(iter(tables.values()))
    together = {key: np.concatenate([columns[key] for columns in tables.values()]) for key in names}
    return DataFrame({"learner": np.repeat(np.array(list(tables), object), counts), **together})


def _check(learners: Mapping[str, Learner], window: int, factor: float) -> None:
    if not isinstance(learners, Mapping) or not learners:
        raise ValueError(f'got {learners!r}; give learners by name, such as {{"SMiLe": Smile(Gaussian())}}')
    Domain(1, whole=True).check("window", window)
    POSITIVE.check("factor", factor)

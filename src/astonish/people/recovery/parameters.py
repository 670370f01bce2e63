"""Does a fit find the parameters of simulated participants, and how many trials does it need?"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from pandas import DataFrame, concat

from astonish.core.domain import COUNT, BoolArray, FloatArray
from astonish.people.fit.estimate import Progress, fit, part_of
from astonish.people.fit.likelihood import Model
from astonish.people.fit.result import SURE, Fit
from astonish.people.fit.space import Priors, Space
from astonish.people.recovery.simulation import known_people
from astonish.people.tables import Trials

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_NOMINAL = 0.95


@dataclass(frozen=True)
class Recovery:
    """What simulated participants were like, a row each, and what a fit to their responses has found."""

    participants: tuple[str, ...]
    truth: FloatArray
    fit: Fit

    @property
    def names(self) -> tuple[str, ...]:
        """The free parameters, by their shortest names."""
        return self.fit.names

    def table(self) -> DataFrame:
        """A row for each participant and parameter: what it was, what was found, and its 95 % interval."""
        people, count = self.truth.shape
        notes = dict(zip(self.fit.trials.subjects, self.fit.notes, strict=True)) | dict(self.fit.excluded)
        return DataFrame({
            "participant": np.repeat(np.array(self.participants, object), count),
            "parameter": np.tile(np.array(self.names, object), people),
            "true": self.truth.ravel(),
            "found": self._of_all(self.fit.values).ravel(),
            "low": self._of_all(self.fit.low).ravel(),
            "high": self._of_all(self.fit.high).ravel(),
            "note": np.repeat(np.array([notes[name] for name in self.participants], object), count),
        })  # fmt: skip

    def summary(self) -> DataFrame:
        """A row for each parameter; all numbers are on the unconstrained scale (logarithms, or log-odds).

        - `participants`: those for whom a value inside the bounds was found; the columns up to `rmse` are about them;
        - `correlation` of true and found with its 95 % interval (Fisher 1921), the mean error (`bias`), and its root
          mean square (`rmse`);
        - `width`: the median width of the 95 % interval;
        - `coverage`: how often it holds the true value, of those who have one. `coverage_se`: how far an interval that
          is as it should be would be off, with so many participants;
        - `at_bound`: for how many the value found is at a bound. `not_told`: for how many more there is no interval, or
          no value, since the responses do not tell.
        """
        return DataFrame([self._row(k) for k in range(len(self.names))], index=list(self.names))

    def plot(self) -> "Figure":
        """True and found values of each parameter."""
        from astonish.people.recovery.plot import plot_recovery

        return plot_recovery(self)

    def __repr__(self) -> str:
        return str(self.summary().to_string(float_format="{:.3g}".format))

    def inside(self) -> BoolArray:
        """Where a value was found that is not at a bound, a row for each participant."""
        return np.asarray(self._edges == 0)

    @property
    def _edges(self) -> FloatArray:
        return self._of_all(self.fit.space.at_bound(self.fit.unconstrained))

    def _row(self, k: int) -> dict[str, float]:
        inside, spread = self.inside()[:, k], self._of_all(self.fit.unconstrained_error)[:, k]
        true, found = self.fit.space.unconstrained(self.truth)[:, k], self._of_all(self.fit.unconstrained)[:, k]
        error, sure = (found - true)[inside], inside & np.isfinite(spread)
        held = np.abs(found - true)[sure] <= SURE * spread[sure]
        bound = int((np.abs(self._edges[:, k]) == 1).sum())
        related = correlation(true[inside], found[inside])
        low, high = _interval(related, int(inside.sum()))
        return {
            "participants": int(inside.sum()),
            "correlation": related,
            "correlation_low": low,
            "correlation_high": high,
            "bias": _mean(error),
            "rmse": _mean(error**2) ** 0.5,
            "width": float(np.median(2 * SURE * spread[sure])) if sure.any() else np.nan,
            "coverage": _mean(held),
            "coverage_se": (_NOMINAL * (1 - _NOMINAL) / sure.sum()) ** 0.5 if sure.any() else np.nan,
            "at_bound": bound,
            "not_told": len(true) - int(sure.sum()) - bound,
        }

    def _of_all(self, values: FloatArray) -> FloatArray:
        """Rows of those who were fitted among those of all; NaN for the others."""
        full = np.full((len(self.participants), values.shape[1]), np.nan)
        full[[self.participants.index(name) for name in self.fit.trials.subjects]] = values
        return full


def recover_parameters(
    model: Model,
    trials: Trials,
    free: Iterable[str],
    *,
    participants: int = 200,
    truth: Any = None,
    spread: Mapping[str, float] | None = None,
    priors: Priors = None,
    seed: int = 0,
    starts: int = 5,
    checkpoint: Path | None = None,
    progress: Progress | None = None,
) -> Recovery:
    """Simulate participants whose parameters are known, in these very trials, and see whether a fit finds them again.

    trials: of real participants, or from `plan_trials`. Simulated ones go through them in turn, and
    respond wherever they did.
    truth: the parameters of the simulated participants. Left out, they are drawn about those of the model, on the
    unconstrained scale (logarithms of what has one bound, log-odds of what has two): normal, with a standard deviation
    of a sixth of the range in which values usually lie, or what `spread` says by name. A `Fit`: those of its
    participants about whom there is nothing to note, at random. Else a table with a column for each parameter, or an
    array with them in the order of `free`, whose rows are taken in turn.
    priors, starts, checkpoint, progress: as for `fit`.

    >>> from astonish import Delta
    >>> from astonish.people.fit import Estimate, Model
    >>> from astonish.people.recovery import plan_trials
    >>> from astonish.worlds.gaussian_jumps import many_gaussian_jumps
    >>> task = plan_trials(many_gaussian_jumps(100, seeds=range(20)), responds_before=False)
    >>> model = Model(Delta(learning_rate=0.4), Estimate(noise=2.0))
    >>> found = recover_parameters(model, task, ["learning_rate"], participants=20, starts=1)
    >>> found.summary()[["participants", "correlation"]].round(2).to_dict("index")
    {'learning_rate': {'participants': 20, 'correlation': 0.99}}
    """
    space = Space.of(model, free, trials)
    made, values = known_people(model, trials, space, participants, truth, spread, seed)
    how: dict[str, Any] = {"priors": priors, "starts": starts, "seed": seed, "checkpoint": checkpoint}
    found = fit(model, made, space.names, progress=progress, **how)
    return Recovery(made.subjects, values, found)


@dataclass(frozen=True)
class TrialsNeeded:
    """What is found of the same simulated participants in their first trials, by how many those are."""

    recoveries: Mapping[int, Recovery]

    def table(self) -> DataFrame:
        """A row for each number of trials and parameter, with the columns of `Recovery.summary`."""
        parts = {count: found.summary() for count, found in self.recoveries.items()}
        return concat(parts, names=["trials", "parameter"]).reset_index()

    def plot(self) -> "Figure":
        """Correlation of true and found, and the width of the interval, over the number of trials."""
        from astonish.people.recovery.plot import plot_trials_needed

        return plot_trials_needed(self)

    def __repr__(self) -> str:
        return str(self.table().to_string(index=False, float_format="{:.3g}".format))


def trials_needed(
    model: Model,
    trials: Trials,
    free: Iterable[str],
    counts: Sequence[int] = (50, 100, 200, 400, 800),
    *,
    participants: int = 100,
    truth: Any = None,
    spread: Mapping[str, float] | None = None,
    priors: Priors = None,
    seed: int = 0,
    starts: int = 5,
    checkpoint: Path | None = None,
    progress: Progress | None = None,
) -> TrialsNeeded:
    """Simulate participants, and see how well a fit to the first trials of each would find their parameters.

    trials: of real participants, of whom those with enough trials are used; or from `plan_trials` with as many
    trials as the largest of `counts`. All else as for `recover_parameters`.
    """
    space, counts = Space.of(model, free, trials), sorted(set(counts))
    made, values = known_people(model, _long_enough(trials, counts), space, participants, truth, spread, seed)
    assert made.responses is not None  # they were simulated
    how: dict[str, Any] = {"priors": priors, "starts": starts, "seed": seed, "checkpoint": checkpoint}
    recoveries = {}
    for k, count in enumerate(counts):  # the trials stay, so that nothing needs to be compiled anew
        early = np.arange(made.rows.shape[1]) < count
        first = replace(made, responses=np.where(early, made.responses, np.nan), scored=made.scored & early)
        found = fit(model, first, space.names, progress=part_of(progress, k, len(counts)), **how)
        recoveries[count] = Recovery(made.subjects, values, found)
    return TrialsNeeded(recoveries)


def _long_enough(trials: Trials, counts: Sequence[int]) -> Trials:
    if not counts:
        raise ValueError("counts is empty; give at least one number of trials")
    COUNT.check("counts", counts)
    lengths = (trials.rows >= 0).sum(axis=1)
    long = [name for name, length in zip(trials.subjects, lengths, strict=True) if length >= counts[-1]]
    if not long:
        raise ValueError(
            f"nobody has {counts[-1]} trials, the longest series has {lengths.max()}; give counts up to that, or a "
            "longer task, as plan_trials makes it"
        )
    return trials.only(long)


def correlation(a: FloatArray, b: FloatArray) -> float:
    """Pearson's; NaN where there are fewer than three, or one of them does not vary."""
    if len(a) < 3 or np.ptp(a) == 0 or np.ptp(b) == 0:
        return np.nan
    return float(np.corrcoef(a, b)[0, 1])


def _interval(correlation: float, count: int) -> tuple[float, float]:
    """The 95 % interval of a correlation over so many pairs: normal on Fisher's scale (1921)."""
    if count < 4 or not abs(correlation) < 1:
        return np.nan, np.nan
    half = SURE / (count - 3) ** 0.5
    return float(np.tanh(np.arctanh(correlation) - half)), float(np.tanh(np.arctanh(correlation) + half))


def _mean(values: Any) -> float:
    return float(np.mean(values)) if len(values) else np.nan

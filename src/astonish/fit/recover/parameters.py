"""Would we find the parameters if we knew them?"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from astonish.domain import Numbers
from astonish.fit.estimate import Told, fit
from astonish.fit.likelihood import Model
from astonish.fit.recover.plan import repeated
from astonish.fit.recover.simulated import answered, drawn
from astonish.fit.recover.truth import true_values
from astonish.fit.result import SURE, Fit
from astonish.fit.space import Space
from astonish.samples import Mask
from astonish.table import Trials

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame

_NOMINAL = 0.95


@dataclass(frozen=True)
class Recovery:
    """What simulated participants were like, a row each, and what a fit to their responses has found."""

    participants: tuple[str, ...]
    truth: Numbers
    fit: Fit

    @property
    def names(self) -> tuple[str, ...]:
        """The free parameters, by their shortest names."""
        return self.fit.names

    def table(self) -> "DataFrame":
        """A row for each participant and parameter: what it was, what was found, and its 95 % interval."""
        from pandas import DataFrame

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

    def summary(self) -> "DataFrame":
        """A row for each parameter; all numbers are about the scale of the search (logarithms, or log-odds).

        - `participants`: those for whom a value inside the bounds was found; the next four columns are about them;
        - `correlation` of true and found, the mean error (`bias`), and its root mean square (`rmse`);
        - `width`: the median width of the 95 % interval;
        - `coverage`: how often it holds the true value, of those who have one. `coverage_se`: how far an interval that
          is as it should be would be off, with so many participants;
        - `at_bound`: for how many the value found is at a bound. `not_told`: for how many more there is no interval, or
          no value, since the responses do not tell.
        """
        from pandas import DataFrame

        rows = [self._row(k) for k in range(len(self.names))]
        return DataFrame(rows, index=list(self.names))

    def plot(self) -> "Figure":
        """True and found values of each parameter."""
        from astonish.fit.recover.drawing import recovery

        return recovery(self)

    def __repr__(self) -> str:
        return str(self.summary().to_string(float_format="{:.3g}".format))

    def inside(self) -> Mask:
        """Where a value was found that is not at a bound, a row for each participant."""
        edges = self._of_all(self.fit.space.at_bound(self.fit.places))
        return np.asarray(edges == 0)

    def _row(self, k: int) -> dict[str, float]:
        inside, spread = self.inside()[:, k], self._of_all(self.fit.spread)[:, k]
        true, found = self.fit.space.places(self.truth)[:, k], self._of_all(self.fit.places)[:, k]
        error, sure = (found - true)[inside], inside & np.isfinite(spread)
        held = np.abs(found - true)[sure] <= SURE * spread[sure]
        bound = int((np.abs(self._of_all(self.fit.space.at_bound(self.fit.places))[:, k]) == 1).sum())
        return {
            "participants": int(inside.sum()),
            "correlation": correlation(true[inside], found[inside]),
            "bias": _mean(error),
            "rmse": _mean(error**2) ** 0.5,
            "width": float(np.median(2 * SURE * spread[sure])) if sure.any() else np.nan,
            "coverage": _mean(held),
            "coverage_se": (_NOMINAL * (1 - _NOMINAL) / sure.sum()) ** 0.5 if sure.any() else np.nan,
            "at_bound": bound,
            "not_told": len(true) - int(sure.sum()) - bound,
        }

    def _of_all(self, values: Numbers) -> Numbers:
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
    seed: int = 0,
    starts: int = 5,
    keep: Path | None = None,
    told: Told | None = None,
) -> Recovery:
    """Simulate participants whose parameters are known, in these very trials, and see whether a fit finds them again.

    trials: of real participants, or `planned`. Simulated ones go through them in turn, and respond wherever they did.
    truth: the parameters of the simulated participants. Left out, they are drawn about those of the model, on the scale
    of the search (logarithms of what has one bound, log-odds of what has two): normal, with a standard deviation of 0.7
    for parameters of the learner and of 0.3 for those of the response, or what `spread` says by name. A `Fit`: those of
    its participants about whom there is nothing to note, at random. Else a table with a column for each parameter, or
    an array with them in the order of `free`, whose rows are taken in turn.
    starts, keep, told: as for `fit`.

    >>> from astonish import Delta
    >>> from astonish.fit import Estimate, Model
    >>> from astonish.fit.recover import planned
    >>> from astonish.tasks.gaussian_jumps import many_gaussian_jumps
    >>> task = planned(many_gaussian_jumps(100, seeds=range(20)), before=False)
    >>> model = Model(Delta(rate=0.4), Estimate(noise=2.0))
    >>> found = recover_parameters(model, task, ["rate"], participants=20, starts=1)
    >>> found.summary()[["participants", "correlation"]].round(2).to_dict("index")
    {'rate': {'participants': 20, 'correlation': 0.98}}
    """
    space = Space.of(model, free)
    made, values = known_people(model, trials, space, participants, truth, spread, seed)
    found = fit(model, made, space.names, starts=starts, seed=seed, keep=keep, told=told)
    return Recovery(made.subjects, values, found)


def known_people(
    model: Model,
    trials: Trials,
    space: Space,
    participants: int,
    truth: Any,
    spread: Mapping[str, float] | None,
    seed: int,
    part: int = 0,
) -> tuple[Trials, Numbers]:
    """Simulated participants, and their parameters. part: which of several groups with one seed these are."""
    values = true_values(model, space, participants, truth, spread, np.random.default_rng([seed, part]))
    alike = repeated(trials, participants)
    responses = drawn(model, alike, space, values, jax.random.fold_in(jax.random.key(seed), part))
    return answered(alike, responses), values


def in_all(told: Told | None, part: int, parts: int) -> Told | None:
    """What to tell of one of several fits, so that who hears it knows how far all of them are."""
    return None if told is None else lambda share: told((part + share) / parts)


def correlation(a: Numbers, b: Numbers) -> float:
    """Pearson's; NaN where there are fewer than three, or one of them does not vary."""
    if len(a) < 3 or np.ptp(a) == 0 or np.ptp(b) == 0:
        return np.nan
    return float(np.corrcoef(a, b)[0, 1])


def _mean(values: Any) -> float:
    return float(np.mean(values)) if len(values) else np.nan

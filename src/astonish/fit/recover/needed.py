"""How many trials are needed to find the parameters?"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from astonish.domain import Domain
from astonish.fit.estimate import Told, fit
from astonish.fit.likelihood import Model
from astonish.fit.recover.parameters import Recovery, in_all, known_people
from astonish.fit.space import Space
from astonish.table import Trials

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame


@dataclass(frozen=True)
class Needed:
    """What is found of the same simulated participants in their first trials, by how many those are."""

    recoveries: Mapping[int, Recovery]

    def table(self) -> "DataFrame":
        """A row for each number of trials and parameter, with the columns of `Recovery.summary`."""
        from pandas import concat

        parts = {count: found.summary() for count, found in self.recoveries.items()}
        return concat(parts, names=["trials", "parameter"]).reset_index()

    def plot(self) -> "Figure":
        """Correlation of true and found, and the width of the interval, over the number of trials."""
        from astonish.fit.recover.drawing import needed

        return needed(self)

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
    seed: int = 0,
    starts: int = 5,
    keep: Path | None = None,
    told: Told | None = None,
) -> Needed:
    """Simulate participants, and see how well a fit to the first trials of each would find their parameters.

    trials: of real participants, of whom those with enough trials are used; or of a task `planned` with as many trials
    as the largest of `counts`. All else as for `recover_parameters`.
    """
    space, counts = Space.of(model, free), sorted(set(counts))
    made, values = known_people(model, _long_enough(trials, counts), space, participants, truth, spread, seed)
    recoveries = {}
    for k, count in enumerate(counts):
        heard = in_all(told, k, len(counts))
        found = fit(model, _first(made, count), space.names, starts=starts, seed=seed, keep=keep, told=heard)
        recoveries[count] = Recovery(made.subjects, values, found)
    return Needed(recoveries)


def _long_enough(trials: Trials, counts: Sequence[int]) -> Trials:
    if not counts:
        raise ValueError("counts is empty; give at least one number of trials")
    Domain(1, whole=True).check("counts", counts)
    lengths = (trials.rows >= 0).sum(axis=1)
    long = [name for name, length in zip(trials.subjects, lengths, strict=True) if length >= counts[-1]]
    if not long:
        raise ValueError(
            f"nobody has {counts[-1]} trials, the longest series has {lengths.max()}; give counts up to that, or a "
            "longer task, as planned makes it"
        )
    return trials.only(long)


def _first(trials: Trials, count: int) -> Trials:
    """Without the responses of later trials; these stay, so that nothing needs to be compiled anew."""
    early = np.arange(trials.rows.shape[1]) < count
    assert trials.responses is not None  # they were drawn
    return replace(trials, responses=np.where(early, trials.responses, np.nan), scored=trials.scored & early)

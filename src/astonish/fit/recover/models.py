"""Would we choose the right model if we knew it?"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from astonish.fit.estimate import Told, fit
from astonish.fit.likelihood import Model, tasks
from astonish.fit.recover.parameters import in_all, known_people
from astonish.fit.recover.plan import repeated
from astonish.fit.recover.simulated import answered
from astonish.fit.result import Fit
from astonish.fit.space import Space
from astonish.table import Trials

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame

CRITERIA = ("bic", "aic")


@dataclass(frozen=True)
class Confusion:
    """Which model was chosen for participants who were simulated with each.

    table: a row for each participant and fitted model, with the criteria by which to choose; less is better.
    """

    names: tuple[str, ...]
    table: "DataFrame"

    def chosen(self, criterion: str = "bic") -> "DataFrame":
        """A row for each participant: the model that simulated it, and the one that would be chosen."""
        if criterion not in CRITERIA:
            raise ValueError(f"criterion = {criterion!r} is not known; give one of {', '.join(CRITERIA)}")
        best = self.table.loc[self.table.groupby("participant", sort=False)[criterion].idxmin()]
        return best.rename(columns={"fitted": "chosen"})[["participant", "simulated", "chosen"]].reset_index(drop=True)

    def matrix(self, criterion: str = "bic") -> "DataFrame":
        """How probable it is that a model (column) is chosen, given the one that is true (row)."""
        counts = self._counts(criterion)
        return counts.div(counts.sum(axis=1), axis=0)

    def inverse(self, criterion: str = "bic") -> "DataFrame":
        """How probable it is that a model (row) is true, given the one chosen (column), if all are as likely before.

        NaN below a model that is never chosen.
        """
        matrix = self.matrix(criterion)
        return matrix.div(matrix.sum(axis=0).replace(0.0, np.nan), axis=1)

    def plot(self, criterion: str = "bic") -> "Figure":
        """The matrix and its inverse, as heat maps."""
        from astonish.fit.recover.drawing import confusion

        return confusion(self, criterion)

    def __repr__(self) -> str:
        return str(self.matrix().to_string(float_format="{:.3g}".format))

    def _counts(self, criterion: str) -> "DataFrame":
        from pandas import crosstab

        chosen = self.chosen(criterion)
        counts = crosstab(chosen["simulated"], chosen["chosen"])
        true = [name for name in self.names if name in set(self.table["simulated"])]
        return counts.reindex(index=true, columns=list(self.names), fill_value=0)


def recover_models(
    models: Mapping[str, tuple[Model, Iterable[str]]],
    trials: Trials,
    *,
    participants: int = 100,
    simulated: Iterable[str] | None = None,
    truth: Mapping[str, Any] | None = None,
    spread: Mapping[str, Mapping[str, float]] | None = None,
    seed: int = 0,
    starts: int = 5,
    keep: Path | None = None,
    told: Told | None = None,
) -> Confusion:
    """Simulate participants with each model, fit all models to each of them, and see which would be chosen.

    models: by name, each with the names of its free parameters. participants: so many are simulated with each.
    simulated: the names of the models to simulate with; all, if left out. Participants are the same either way.
    truth, spread: by the name of the model, what `recover_parameters` takes. starts, keep, told: as for `fit`.
    """
    free = {name: tuple(names) for name, (_, names) in models.items()}
    true = list(models if simulated is None else simulated)
    _check(models, trials, {"simulated": dict.fromkeys(true), "truth": truth or {}, "spread": spread or {}})
    groups = []
    for k, (name, (model, _)) in enumerate(models.items()):
        if name in true:
            space, about = Space.of(model, free[name]), ((truth or {}).get(name), (spread or {}).get(name))
            groups.append(known_people(model, trials, space, participants, *about, seed, k)[0])
    together = repeated(groups[0], participants * len(groups))
    everyone = answered(together, np.concatenate([group.responses for group in groups]))
    fits = {
        name: fit(model, everyone, free[name], starts=starts, seed=seed, keep=keep, told=in_all(told, k, len(models)))
        for k, (name, (model, _)) in enumerate(models.items())
    }
    names = [name for name in models if name in true]
    return Confusion(tuple(models), _table(fits, names, everyone.subjects, participants))


def _check(models: Mapping[str, Any], trials: Trials, said: Mapping[str, Mapping[str, Any]]) -> None:
    if len(models) < 2:
        raise ValueError(f"there are {len(models)} models to choose from; give at least two, by name")
    if not said["simulated"]:
        raise ValueError("simulated = [] names no model; give at least one of them, or leave it out")
    for word, by_name in said.items():
        unknown = [name for name in by_name if name not in models]
        if unknown:
            raise ValueError(f"{word} names {unknown[0]!r}, which is no model; known are {', '.join(models)}")
    first, *others = models
    explained = tasks(models[first][0], trials).scored
    for name in others:
        if not np.array_equal(tasks(models[name][0], trials).scored, explained):
            raise ValueError(
                f"{first} and {name} do not explain the same responses, so neither can be chosen for explaining them "
                "better; give responses that are anchored in all models, or in none"
            )


def _table(fits: Mapping[str, Fit], true: Sequence[str], participants: tuple[str, ...], each: int) -> "DataFrame":
    """Of the participants whom all models could be fitted to. true: who simulated them, so many by each."""
    from pandas import DataFrame, concat

    source = {who: true[k // each] for k, who in enumerate(participants)}
    parts = [
        DataFrame({
            "participant": list(found.trials.subjects),
            "simulated": [source[who] for who in found.trials.subjects],
            "fitted": name,
            "log_likelihood": found.log_likelihood,
            "aic": found.aic,
            "bic": found.bic,
            "note": list(found.notes),
        })
        for name, found in fits.items()
    ]  # fmt: skip
    table = concat(parts, ignore_index=True)
    shared = set.intersection(*(set(found.trials.subjects) for found in fits.values()))
    return table[table["participant"].isin(shared)].reset_index(drop=True)

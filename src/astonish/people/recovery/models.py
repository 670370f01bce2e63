"""Is the model chosen with which participants were simulated?"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from pandas import DataFrame, concat, crosstab

from astonish.people.fit.estimate import Progress, fit, part_of
from astonish.people.fit.likelihood import Model, participant_data
from astonish.people.fit.result import Fit
from astonish.people.fit.space import Space
from astonish.people.recovery.plan import repeated
from astonish.people.recovery.simulation import known_people, with_responses
from astonish.people.tables import Trials

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CRITERIA = ("bic", "aic")


@dataclass(frozen=True)
class Confusion:
    """Which model was chosen for participants who were simulated with each.

    table: a row for each participant and fitted model, with the criteria by which to choose; less is better.
    """

    names: tuple[str, ...]
    table: DataFrame

    def chosen(self, criterion: str = "bic") -> DataFrame:
        """A row for each participant: the model that simulated it, and the one that would be chosen."""
        if criterion not in CRITERIA:
            raise ValueError(f"criterion = {criterion!r} is not known; give one of {', '.join(CRITERIA)}")
        best = self.table.loc[self.table.groupby("participant", sort=False)[criterion].idxmin()]
        return best.rename(columns={"fitted": "chosen"})[["participant", "simulated", "chosen"]].reset_index(drop=True)

    def matrix(self, criterion: str = "bic") -> DataFrame:
        """How probable it is that a model (column) is chosen, given the one that is true (row)."""
        chosen = self.chosen(criterion)
        shares = crosstab(chosen["simulated"], chosen["chosen"], normalize="index")
        true = [name for name in self.names if name in set(self.table["simulated"])]
        return shares.reindex(index=true, columns=list(self.names), fill_value=0.0)

    def inverse(self, criterion: str = "bic") -> DataFrame:
        """How probable it is that a model (row) is true, given the one chosen (column), if all are as likely before.

        NaN below a model that is never chosen.
        """
        matrix = self.matrix(criterion)
        return matrix.div(matrix.sum(axis=0).replace(0.0, np.nan), axis=1)

    def plot(self, criterion: str = "bic") -> "Figure":
        """The matrix and its inverse, as heat maps."""
        from astonish.people.recovery.plot import plot_confusion

        return plot_confusion(self, criterion)

    def __repr__(self) -> str:
        return str(self.matrix().to_string(float_format="{:.3g}".format))


def recover_models(
    models: Mapping[str, tuple[Model, Iterable[str]]],
    trials: Trials,
    *,
    participants: int = 100,
    simulated: Iterable[str] | None = None,
    truth: Mapping[str, Any] | None = None,
    spread: Mapping[str, Mapping[str, float]] | None = None,
    priors: Literal["usual"] | None = None,
    seed: int = 0,
    starts: int = 5,
    checkpoint: Path | None = None,
    progress: Progress | None = None,
) -> Confusion:
    """Simulate participants with each model, fit all models to each of them, and see which would be chosen.

    models: by name, each with the names of its free parameters. participants: so many are simulated with each.
    simulated: the names of the models to simulate with; all, if left out. Participants are the same either way.
    truth, spread: by the name of the model, what `recover_parameters` takes.
    priors, starts, checkpoint, progress: as for `fit`.
    """
    true, truth, spread = list(models if simulated is None else simulated), truth or {}, spread or {}
    _check(models, trials, {"simulated": dict.fromkeys(true), "truth": truth, "spread": spread})
    spaces = {name: Space.of(model, free, trials) for name, (model, free) in models.items()}
    groups = {}
    for k, (name, (model, _)) in enumerate(models.items()):
        if name in true:
            about = truth.get(name), spread.get(name)
            groups[name] = known_people(model, trials, spaces[name], participants, *about, seed, k)[0]
    together = repeated(next(iter(groups.values())), participants * len(groups))
    seconds = [group.second for group in groups.values() if group.second is not None]
    responses = np.concatenate([group.responses for group in groups.values()])
    everyone = with_responses(together, responses, np.concatenate(seconds) if seconds else None)
    how: dict[str, Any] = {"priors": priors, "starts": starts, "seed": seed, "checkpoint": checkpoint}
    fits = {
        name: fit(model, everyone, spaces[name].names, progress=part_of(progress, k, len(models)), **how)
        for k, (name, (model, _)) in enumerate(models.items())
    }
    sources = [name for name in groups for _ in range(participants)]
    return Confusion(tuple(models), _table(fits, dict(zip(everyone.subjects, sources, strict=True))))


def _check(models: Mapping[str, Any], trials: Trials, given: Mapping[str, Mapping[str, Any]]) -> None:
    if len(models) < 2:
        raise ValueError(f"there are {len(models)} models to choose from; give at least two, by name")
    if not given["simulated"]:
        raise ValueError("simulated = [] names no model; give at least one of them, or leave it out")
    for word, by_name in given.items():
        unknown = [name for name in by_name if name not in models]
        if unknown:
            raise ValueError(f"{word} names {unknown[0]!r}, which is no model; known are {', '.join(models)}")
    first, *others = models
    explained = participant_data(models[first][0], trials).scored
    for name in others:
        if not np.array_equal(participant_data(models[name][0], trials).scored, explained):
            raise ValueError(
                f"{first} and {name} do not explain the same responses, so neither can be chosen for explaining them "
                "better; give responses that are anchored in all models, or in none"
            )


def _table(fits: Mapping[str, Fit], true: Mapping[str, str]) -> DataFrame:
    """Of the participants whom all models could be fitted to. true: by participant, the model that simulated it."""
    table = concat([found.people().assign(fitted=name) for name, found in fits.items()], ignore_index=True)
    table["simulated"] = table["participant"].map(true)
    in_all = table.groupby("participant")["fitted"].transform("size") == len(fits)
    columns = ["participant", "simulated", "fitted", "log_likelihood", "aic", "bic", "note"]
    return table.loc[in_all, columns].reset_index(drop=True)

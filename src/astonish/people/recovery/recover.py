"""Recovery of the parameters of simulated participants by a fit, and of the model that they were simulated with."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from pandas import DataFrame, concat, crosstab

from astonish.core.numbers import COUNT, FloatArray
from astonish.people.fit.estimate import Progress, fit, part_of
from astonish.people.fit.likelihood import Model, participant_data
from astonish.people.fit.result import SURE, Fit
from astonish.people.fit.space import Priors, Space
from astonish.people.recovery.simulation import known_people, repeated, with_responses
from astonish.people.tables import Trials
from astonish.report.style import BLUE, styled_figure, styled_panels

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CRITERIA = ("bic", "aic")
_NOMINAL = 0.95
_MARKERS = "osD^vP*X"
_MARKS = 4  # labels on an axis, which are values of the parameter


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
        fit, rows = self.fit, []
        truths, values = fit.space.unconstrained(self.truth), self._of_all(fit.unconstrained)
        edges, spreads = self._of_all(fit.space.at_bound(fit.unconstrained)), self._of_all(fit.unconstrained_error)
        for true, value, edge, spread in zip(truths.T, values.T, edges.T, spreads.T, strict=True):
            inside, bound = edge == 0, int((np.abs(edge) == 1).sum())  # NaN of those who were not fitted
            error, count, sure = (value - true)[inside], int(inside.sum()), inside & np.isfinite(spread)
            related, low, high = correlation(true[inside], value[inside]), np.nan, np.nan
            if count > 3 and abs(related) < 1:  # normal on Fisher's scale (1921)
                low, high = np.tanh(np.arctanh(related) + np.array([-SURE, SURE]) / (count - 3) ** 0.5).tolist()
            rows.append({
                "participants": count,
                "correlation": related,
                "correlation_low": low,
                "correlation_high": high,
                "bias": float(np.mean(error)) if count else np.nan,
                "rmse": float(np.mean(error**2)) ** 0.5 if count else np.nan,
                "width": float(np.median(2 * SURE * spread[sure])) if sure.any() else np.nan,
                "coverage": float(np.mean(np.abs(value - true)[sure] <= SURE * spread[sure])) if sure.any() else np.nan,
                "coverage_se": (_NOMINAL * (1 - _NOMINAL) / sure.sum()) ** 0.5 if sure.any() else np.nan,
                "at_bound": bound,
                "not_told": len(true) - int(sure.sum()) - bound,
            })  # fmt: skip
        return DataFrame(rows, index=list(self.names))

    def plot(self) -> "Figure":
        """Draw a panel for each parameter: the values found over the true ones, with their 95 % intervals."""
        with styled_panels(len(self.names), 3.0, 3.2) as (figure, axes):
            for k, (axis, (name, row)) in enumerate(zip(axes, self.summary().iterrows(), strict=True)):
                space, edges = self.fit.space.only(k), self.fit.space.at_bound(self.fit.unconstrained)
                inside = self._of_all(edges)[:, k] == 0
                columns = (self.truth, *map(self._of_all, (self.fit.values, self.fit.low, self.fit.high)))
                true, value, low, high = (space.unconstrained(part[inside, k : k + 1])[:, 0] for part in columns)
                bars = np.nan_to_num(np.abs([value - low, high - value]))  # below an upper bound, ends change places
                axis.errorbar(true, value, yerr=bars, fmt="o", ms=2.5, color=BLUE, elinewidth=0.5, alpha=0.6)
                seen = np.concatenate([true, value])
                seen = seen[np.isfinite(seen)]
                least, most = (seen.min(), seen.max()) if len(seen) else (0.0, 1.0)
                room = 0.08 * max(most - least, 1e-3)
                ends = least - room, most + room
                axis.plot(ends, ends, color="0.3", lw=0.8, ls="--")
                marks = np.linspace(*ends, 2 * _MARKS + 1)[1::2]
                labels = [f"{mark:.2g}" for mark in space.constrained(marks[:, None])[:, 0]]
                axis.set_xticks(marks, labels)
                axis.set_yticks(marks, labels)
                axis.set(xlabel="true", ylabel="found", aspect="equal", xlim=ends, ylim=ends)
                left_out = int(row["at_bound"] + row["not_told"])
                title = f"{name}: r = {row['correlation']:.2f}\n95 % interval: {100 * row['coverage']:.0f} %"
                axis.set_title(title + (f"; {left_out} not told" if left_out else ""))
        return figure

    def __repr__(self) -> str:
        return str(self.summary().to_string(float_format="{:.3g}".format))

    def _of_all(self, values: FloatArray) -> FloatArray:
        """Put the rows of those who were fitted among those of all; NaN for the others."""
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
    options: dict[str, Any] = {"priors": priors, "starts": starts, "seed": seed, "checkpoint": checkpoint}
    return Recovery(made.subjects, values, fit(model, made, space.names, progress=progress, **options))


@dataclass(frozen=True)
class TrialsNeeded:
    """What is found of the same simulated participants in their first trials, by how many those are."""

    recoveries: Mapping[int, Recovery]

    def table(self) -> DataFrame:
        """A row for each number of trials and parameter, with the columns of `Recovery.summary`."""
        parts = {count: recovery.summary() for count, recovery in self.recoveries.items()}
        return concat(parts, names=["trials", "parameter"]).reset_index()

    def plot(self) -> "Figure":
        """Draw correlation of true and found, and the median width of the interval, over the number of trials."""
        table = self.table()
        panels = {"correlation": "correlation of true and found", "width": "width of the 95 % interval"}
        with styled_figure(1, 2, figsize=(7, 2.8)) as (figure, axes):
            for axis, (column, label) in zip(axes, panels.items(), strict=True):
                for (name, own), marker in zip(table.groupby("parameter", sort=False), cycle(_MARKERS), strict=False):
                    axis.plot(own["trials"], own[column], marker=marker, ms=4, label=name)
                axis.set_xscale("log")
                axis.set_xticks(list(self.recoveries), [str(count) for count in self.recoveries])
                axis.minorticks_off()
                axis.set(xlabel="trials", ylabel=label)
                axis.grid(lw=0.3)
            axes[0].set_ylim(min(0.0, table["correlation"].min()), 1.02)
            axes[1].set_ylim(0, None)
            axes[0].legend(loc="lower right")
        return figure

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
    if not counts:
        raise ValueError("counts is empty; give at least one number of trials")
    COUNT.check("counts", counts)
    lengths = (trials.rows >= 0).sum(axis=1)
    long = [name for name, length in zip(trials.subjects, lengths, strict=True) if length >= counts[-1]]
    if not long:
        problem = f"nobody has {counts[-1]} trials, the longest series has {lengths.max()}"
        raise ValueError(f"{problem}; give counts up to that, or a longer task, as plan_trials makes it")
    made, values = known_people(model, trials.only(long), space, participants, truth, spread, seed)
    assert made.responses is not None  # they were simulated
    options: dict[str, Any] = {"priors": priors, "starts": starts, "seed": seed, "checkpoint": checkpoint}
    recoveries = {}
    for k, count in enumerate(counts):  # the trials stay, so that nothing needs to be compiled anew
        early = np.arange(made.rows.shape[1]) < count
        first = replace(made, responses=np.where(early, made.responses, np.nan), scored=made.scored & early)
        refit = fit(model, first, space.names, progress=part_of(progress, k, len(counts)), **options)
        recoveries[count] = Recovery(made.subjects, values, refit)
    return TrialsNeeded(recoveries)


def correlation(a: FloatArray, b: FloatArray) -> float:
    """Correlate two variables (Pearson); NaN where there are fewer than three, or one of them does not vary."""
    if len(a) < 3 or np.ptp(a) == 0 or np.ptp(b) == 0:
        return np.nan
    return float(np.corrcoef(a, b)[0, 1])


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
        """Draw two heat maps: the model chosen given the true one, and the true one given the model chosen."""
        count = len(self.names)
        size = 1.1 + 0.55 * count
        panels = {"P(chosen | true)": self.matrix(criterion), "P(true | chosen)": self.inverse(criterion)}
        no_frame = {"axes.spines.left": False, "axes.spines.bottom": False}
        with styled_figure(1, 2, no_frame, figsize=(2 * size + 1.4, size + 0.6), sharey=True) as (figure, axes):
            for axis, (title, matrix) in zip(axes, panels.items(), strict=True):
                image = axis.imshow(matrix, vmin=0, vmax=1, cmap="cividis")
                for i, j in np.ndindex(count, count):
                    share = float(matrix.to_numpy()[i, j])
                    text = "-" if np.isnan(share) else f"{share:.2f}"
                    axis.text(j, i, text, ha="center", va="center", color="white" if share < 0.5 else "black")
                axis.set_xticks(range(count), list(self.names), rotation=45, ha="right", rotation_mode="anchor")
                axis.set_yticks(range(count), list(self.names))
                axis.tick_params(length=0)
                axis.set(title=title, xlabel=f"chosen by {criterion.upper()}")
            axes[0].set_ylabel("true")
            figure.colorbar(image, ax=list(axes), shrink=0.8)
        return figure

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
    options: dict[str, Any] = {"priors": priors, "starts": starts, "seed": seed, "checkpoint": checkpoint}
    fits = {
        name: fit(model, everyone, spaces[name].names, progress=part_of(progress, k, len(models)), **options)
        for k, (name, (model, _)) in enumerate(models.items())
    }
    sources = [name for name in groups for _ in range(participants)]
    # Of the participants whom all models could be fitted to
    table = concat([fitted.people().assign(fitted=name) for name, fitted in fits.items()], ignore_index=True)
    table["simulated"] = table["participant"].map(dict(zip(everyone.subjects, sources, strict=True)))
    in_all = table.groupby("participant")["fitted"].transform("size") == len(fits)
    columns = ["participant", "simulated", "fitted", "log_likelihood", "aic", "bic", "note"]
    return Confusion(tuple(models), table.loc[in_all, columns].reset_index(drop=True))


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
            problem = f"{first} and {name} do not explain the same responses"
            advice = "give responses that are anchored in all models, or in none"
            raise ValueError(f"{problem}, so neither can be chosen for explaining them better; {advice}")

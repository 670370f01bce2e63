"""Which model explains people best, and how sure is that?"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from pandas import DataFrame

from astonish.core.domain import FloatArray
from astonish.people.comparison.random_effects import ModelFrequencies, select
from astonish.people.fit.description import mse, r_squared
from astonish.people.fit.result import Fit

if TYPE_CHECKING:
    from matplotlib.figure import Figure

EVIDENCE = ("bic", "laplace")


@dataclass(frozen=True)
class Selection:
    """What `compare_fits` has found.

    table: a row for each model; `compare_fits` says what the columns are. people: a row for each participant and model,
    with the probability that the participant uses it. baseline: the model to which the others are compared.
    shares: how many people use each model. excluded: who is left out, and why.
    """

    table: DataFrame
    people: DataFrame
    baseline: str
    shares: ModelFrequencies
    excluded: dict[str, str]

    def __repr__(self) -> str:
        return str(self.table.to_string(float_format="{:.4g}".format))

    def plot(self) -> "Figure":
        """A: each participant's difference in BIC to the baseline. B: how many people use each model."""
        from astonish.people.comparison.plot import plot_selection

        return plot_selection(self)


def compare_fits(fits: Mapping[str, Fit], baseline: str | None = None, evidence: str = "bic") -> Selection:
    """Compare models that were fitted to the same responses.

    fits: by the names of their models. baseline: the model to which the others are compared; the first if left out.
    evidence: what stands for a participant's log-evidence: "bic" is -BIC/2, "laplace" is `Fit.log_evidence`, for which
    all free parameters need priors.
    Participants who could not be fitted with one model are left out of all.

    The columns of the table, where less of AIC and BIC is better:

    - `parameters`: how many were free; `log_likelihood`, `aic`, `bic`: summed over participants;
    - `r_squared`, `mse`: means over participants, see `goodness`; the latter is NaN of choices;
    - `mean_aic`, `mean_bic`, `difference`: means over participants; the last is of BIC less that of the baseline, with
      its standard error (`difference_se`);
    - `best`, `better`: for how many participants BIC is the least of all, and less than the baseline's;
    - `share`, `share_std`: the share of people who use the model, and how uncertain that is; `exceedance`: the
      probability that no other model is used by more people; `protected`: the same, given that differences may be
      due to chance. See `random_effects.select`;
    - `at_bound`, `unfinished`: for how many participants a parameter is at its bound, and the search did not end.
    """
    if evidence not in EVIDENCE:
        raise ValueError(f"evidence = {evidence!r} is not allowed; give one of {', '.join(EVIDENCE)}")
    place = baseline_place(fits, baseline)
    subjects, excluded = _participants(fits)
    rows = {name: [fit.trials.subjects.index(who) for who in subjects] for name, fit in fits.items()}
    _check_same_responses(fits, subjects, rows)
    scores = {
        part: np.stack([np.asarray(getattr(fit, part))[rows[name]] for name, fit in fits.items()], 1)
        for part in ("log_likelihood", "aic", "bic", *(["log_evidence"] if evidence == "laplace" else []))
    }
    bic, names = scores["bic"], list(fits)
    shares = select(-0.5 * bic if evidence == "bic" else _known(scores["log_evidence"], subjects, names))
    columns = {
        "parameters": [len(fit.space) for fit in fits.values()],
        **{part: values.sum(0) for part, values in scores.items()},
        "r_squared": [r_squared(fit)[rows[name]].mean() for name, fit in fits.items()],
        "mse": [mse(fit)[rows[name]].mean() for name, fit in fits.items()],
        "mean_aic": scores["aic"].mean(0),
        "mean_bic": bic.mean(0),
        **compared(bic, place, np.mean),
        **share_columns(shares),
        "at_bound": [int((fit.space.at_bound(fit.unconstrained) != 0).any(1).sum()) for fit in fits.values()],
        "unfinished": [int((~fit.converged).sum()) for fit in fits.values()],
    }
    people = {
        "participant": np.repeat(np.array(subjects, object), len(fits)),
        "model": np.tile(np.array(names, object), len(subjects)),
        **{part: values.ravel() for part, values in scores.items()},
        "difference": (bic - bic[:, [place]]).ravel(),
        "probability": shares.attribution.ravel(),
    }
    return Selection(DataFrame(columns, names), DataFrame(people), names[place], shares, excluded)


def compared(scores: FloatArray, place: int, total: Any) -> dict[str, FloatArray]:
    """Columns about models, compared with the one at `place`; `compare_fits` says what they are.

    scores: a row for each participant, a column for each model; less is better. total: over participants, `np.mean` or
    `np.sum`.
    """
    apart, count = scores - scores[:, [place]], len(scores)
    error = apart.std(0, ddof=1) / np.sqrt(count) if count > 1 else np.full(scores.shape[1], np.nan)
    return {
        "difference": total(apart, axis=0),
        "difference_se": error * (count if total is np.sum else 1),
        "best": np.bincount(scores.argmin(1), minlength=scores.shape[1]),
        "better": (apart < 0).sum(0),
    }


def share_columns(shares: ModelFrequencies) -> dict[str, FloatArray]:
    """Columns about how many people use each model; `compare_fits` says what they are."""
    return {
        "share": shares.mean,
        "share_std": shares.std,
        "exceedance": shares.exceedance,
        "protected": shares.protected,
    }


def baseline_place(models: Mapping[str, Any], baseline: str | None) -> int:
    """Which model the others are compared to: the one named, or the first."""
    if not isinstance(models, Mapping) or len(models) < 2:
        raise ValueError(
            f'got {models!r}; give two models or more by name, such as {{"SMiLe": ..., "delta rule": ...}}'
        )
    if baseline is not None and baseline not in models:
        raise ValueError(f"baseline = {baseline!r} is none of the models; give one of {', '.join(models)}")
    return 0 if baseline is None else list(models).index(baseline)


def _participants(fits: Mapping[str, Fit]) -> tuple[list[str], dict[str, str]]:
    """Those whom all models explain, and why others are left out."""
    excluded: dict[str, str] = {}
    for name, fit in fits.items():
        for who, why in fit.excluded.items():
            excluded.setdefault(who, why if who in fit.trials.excluded else f"{why} ({name})")
    everyone = dict.fromkeys(who for fit in fits.values() for who in fit.trials.subjects)
    for name, fit in fits.items():
        absent = [who for who in everyone if who not in excluded and who not in fit.trials.subjects]
        if absent:
            raise ValueError(f"{name} was not fitted to participant {absent[0]}; fit all models to the same trials")
    subjects = [who for who in everyone if who not in excluded]
    if not subjects:
        why = "; ".join(f"{who}: {reason}" for who, reason in list(excluded.items())[:3])
        raise ValueError(
            f"there is no participant whom all models explain ({why}); give participants with more responses"
        )
    return subjects, excluded


def _check_same_responses(fits: Mapping[str, Fit], subjects: list[str], rows: Mapping[str, list[int]]) -> None:
    first, *others = fits
    for k, who in enumerate(subjects):
        explained = {name: np.flatnonzero(fit.data.scored[rows[name][k]]) for name, fit in fits.items()}
        responses = {name: np.asarray(fit.data.responses[rows[name][k]])[explained[name]] for name, fit in fits.items()}
        for name in others:
            if not np.array_equal(explained[first], explained[name]):
                counts = f"{len(explained[first])} responses of participant {who}, but {name} {len(explained[name])}"
                what = f"{first} explains {counts} or others"
            elif not np.array_equal(responses[first], responses[name]):
                what = f"the responses of participant {who} are not the same for {first} and {name}"
            else:
                continue
            raise ValueError(f"{what}; fit all models to the same trials, and let all of them be anchored, or none")


def _known(evidence: FloatArray, subjects: list[str], names: list[str]) -> FloatArray:
    """The log-evidence, or a refusal where it is not known."""
    unknown = np.argwhere(~np.isfinite(evidence))
    if len(unknown):
        who, name = subjects[unknown[0][0]], names[unknown[0][1]]
        raise ValueError(
            f"the log-evidence of {name} for participant {who} is not known; fit it with priors for all free parameters"
        )
    return evidence

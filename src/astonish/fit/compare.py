"""Which model explains people best, and how sure is that?"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from astonish.domain import Numbers
from astonish.fit.result import Fit
from astonish.fit.selection import Shares, select

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame

EVIDENCE = ("bic", "laplace")


@dataclass(frozen=True)
class Selection:
    """What `compare_fits` has found.

    table: a row for each model; `compare_fits` says what the columns are. people: a row for each participant and model,
    with the probability that the participant uses it. baseline: the model to which the others are compared.
    shares: how many people use each model. excluded: who is left out, and why.
    """

    table: "DataFrame"
    people: "DataFrame"
    baseline: str
    shares: Shares
    excluded: dict[str, str]

    def __repr__(self) -> str:
        return str(self.table.to_string(float_format="{:.4g}".format))

    def plot(self) -> "Figure":
        """A: each participant's difference in BIC to the baseline. B: how many people use each model."""
        from astonish.fit.selection_plot import selection

        return selection(self)


def compare_fits(fits: Mapping[str, Fit], baseline: str | None = None, evidence: str = "bic") -> Selection:
    """Compare models that were fitted to the same responses.

    fits: by the names of their models. baseline: the model to which the others are compared; the first if left out.
    evidence: what stands for a participant's log-evidence: "bic" is -BIC/2, "laplace" is `Fit.log_evidence`, for which
    all free parameters need priors.
    Participants who could not be fitted with one model are left out of all.

    The columns of the table, where less of AIC and BIC is better:

    - `parameters`: how many were free; `log_likelihood`, `aic`, `bic`: summed over participants;
    - `mean_aic`, `mean_bic`, `difference`: means over participants; the last is of BIC less that of the baseline, with
      its standard error (`difference_se`);
    - `best`, `better`: for how many participants BIC is the least of all, and less than the baseline's;
    - `share`, `share_std`: the share of people who use the model, and how uncertain that is; `exceedance`: the
      probability that no other model is used by more people; `protected`: the same, given that differences may be
      chance. See `selection.select`.
    """
    from pandas import DataFrame

    baseline = _check(fits, baseline, evidence)
    subjects, excluded = _participants(fits)
    rows = {name: [fit.trials.subjects.index(who) for who in subjects] for name, fit in fits.items()}
    _check_same_responses(fits, subjects, rows)
    scores = {
        part: np.stack([np.asarray(getattr(fit, part))[rows[name]] for name, fit in fits.items()], 1)
        for part in ("log_likelihood", "aic", "bic", *(["log_evidence"] if evidence == "laplace" else []))
    }
    shares = select(-0.5 * scores["bic"] if evidence == "bic" else _known(scores["log_evidence"], subjects, list(fits)))
    place = list(fits).index(baseline)
    columns = {
        "parameters": [len(fit.space) for fit in fits.values()],
        **{part: values.sum(0) for part, values in scores.items()},
        "mean_aic": scores["aic"].mean(0),
        "mean_bic": scores["bic"].mean(0),
        **differences(scores["bic"], place, np.mean),
        **winners(-scores["bic"], place),
        **shares_of(shares),
    }
    people = {
        "participant": np.repeat(np.array(subjects, object), len(fits)),
        "model": np.tile(np.array(list(fits), object), len(subjects)),
        **{part: values.ravel() for part, values in scores.items()},
        "difference": (scores["bic"] - scores["bic"][:, [place]]).ravel(),
        "probability": shares.attribution.ravel(),
    }
    return Selection(DataFrame(columns, list(fits)), DataFrame(people), baseline, shares, excluded)


def differences(scores: Numbers, place: int, total: Any) -> dict[str, Numbers]:
    """The mean, or sum, over participants of what sets each model apart from the baseline, and its standard error."""
    apart, count = scores - scores[:, [place]], len(scores)
    error = apart.std(0, ddof=1) / np.sqrt(count) if count > 1 else np.full(scores.shape[1], np.nan)
    return {"difference": total(apart, axis=0), "difference_se": error * (count if total is np.sum else 1)}


def winners(goodness: Numbers, place: int) -> dict[str, Numbers]:
    """For how many participants each model is best, and better than the baseline."""
    best = np.bincount(goodness.argmax(1), minlength=goodness.shape[1])
    return {"best": best, "better": (goodness > goodness[:, [place]]).sum(0)}


def shares_of(shares: Shares) -> dict[str, Numbers]:
    """What is known of the share of people who use each model, as columns of a table."""
    return {
        "share": shares.mean,
        "share_std": shares.std,
        "exceedance": shares.exceedance,
        "protected": shares.protected,
    }


def _check(fits: Mapping[str, Fit], baseline: str | None, evidence: str) -> str:
    if evidence not in EVIDENCE:
        raise ValueError(f"evidence = {evidence!r} is not allowed; give one of {', '.join(EVIDENCE)}")
    return baseline_of(fits, baseline)


def baseline_of(models: Mapping[str, Any], baseline: str | None) -> str:
    """The model to which the others are compared: the one named, or the first."""
    if not isinstance(models, Mapping) or len(models) < 2:
        raise ValueError(
            f'got {models!r}; give two models or more by name, such as {{"SMiLe": ..., "delta rule": ...}}'
        )
    if baseline is not None and baseline not in models:
        raise ValueError(f"baseline = {baseline!r} is none of the models; give one of {', '.join(models)}")
    return next(iter(models)) if baseline is None else baseline


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
        place, answers = _explained(fits[first], rows[first][k])
        for name in others:
            where, told = _explained(fits[name], rows[name][k])
            if not np.array_equal(place, where):
                what = (
                    f"{first} explains {len(place)} responses of participant {who}, but {name} {len(where)} or others"
                )
            elif not np.array_equal(answers, told):
                what = f"the responses of participant {who} are not the same for {first} and {name}"
            else:
                continue
            raise ValueError(f"{what}; fit all models to the same trials, and let all of them be anchored, or none")


def _explained(fit: Fit, row: int) -> tuple[Any, Numbers]:
    """In which trials, and what they are."""
    where = np.flatnonzero(fit.task.scored[row])
    return where, np.asarray(fit.task.responses[row])[where]


def _known(evidence: Numbers, subjects: list[str], names: list[str]) -> Numbers:
    unknown = np.argwhere(~np.isfinite(evidence))
    if len(unknown):
        who, name = subjects[unknown[0][0]], names[unknown[0][1]]
        raise ValueError(
            f"the log-evidence of {name} for participant {who} is not known; fit it with priors for all free parameters"
        )
    return evidence

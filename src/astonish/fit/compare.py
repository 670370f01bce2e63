"""Which model explains people best, and how sure is that?"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from astonish.domain import Domain, Numbers
from astonish.fit.held_out import HeldOut
from astonish.fit.result import Fit
from astonish.fit.selection import Shares, select

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame

EVIDENCE = ("bic", "laplace")
DOUBTFUL = 0.7  # Pareto's k beyond which importance weights are not to be trusted (Vehtari et al. 2024)


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
        **_differences(scores["bic"], place, np.mean),
        **_winners(-scores["bic"], place),
        **_shares(shares),
    }
    people = {
        "participant": np.repeat(np.array(subjects, object), len(fits)),
        "model": np.tile(np.array(list(fits), object), len(subjects)),
        **{part: values.ravel() for part, values in scores.items()},
        "difference": (scores["bic"] - scores["bic"][:, [place]]).ravel(),
        "probability": shares.attribution.ravel(),
    }
    return Selection(DataFrame(columns, list(fits)), DataFrame(people), baseline, shares, excluded)


def compare_elpd(elpd: Mapping[str, HeldOut | Any], baseline: str | None = None) -> "DataFrame":
    """Compare models by how well they predict what they were not fitted to.

    elpd: by the names of models, what `held_out` or `psis_loo` gives; or numbers from elsewhere: a row for each
    participant and a column for each trial (NaN where there is none), or one number for each participant. More is
    better.

    The columns: `elpd`, the sum of all; `difference`, to that of the baseline (the first model if left out), with its
    standard error over participants; the others as in `compare_fits`, with these predictions as evidence. A few
    responses of which a model was all too sure may outweigh all others in a sum: look at `better` as well. Of
    `psis_loo`, `doubtful` is the share of predictions that are not to be trusted.

    >>> compare_elpd({"one": [-3.0, -4.0, -6.0], "other": [-4.0, -6.0, -6.5]})[["elpd", "difference", "best"]]
           elpd  difference  best
    one   -13.0         0.0     3
    other -16.5        -3.5     0
    """
    from pandas import DataFrame

    names, baseline = list(elpd), _baseline(elpd, baseline)
    each = _each(elpd)
    place, shares = names.index(baseline), select(each)
    columns = {
        "elpd": each.sum(0),
        **_differences(each, place, np.sum),
        **_winners(each, place),
        **_shares(shares),
    }
    if any(_trust(part) is not None for part in elpd.values()):
        columns["doubtful"] = np.array([_doubtful(_trust(part)) for part in elpd.values()])
    return DataFrame(columns, names)


def _differences(scores: Numbers, place: int, total: Any) -> dict[str, Numbers]:
    """The mean, or sum, over participants of what sets each model apart from the baseline, and its standard error."""
    apart, count = scores - scores[:, [place]], len(scores)
    error = apart.std(0, ddof=1) / np.sqrt(count) if count > 1 else np.full(scores.shape[1], np.nan)
    return {"difference": total(apart, axis=0), "difference_se": error * (count if total is np.sum else 1)}


def _winners(goodness: Numbers, place: int) -> dict[str, Numbers]:
    best = np.bincount(goodness.argmax(1), minlength=goodness.shape[1])
    return {"best": best, "better": (goodness > goodness[:, [place]]).sum(0)}


def _shares(shares: Shares) -> dict[str, Numbers]:
    return {
        "share": shares.mean,
        "share_std": shares.std,
        "exceedance": shares.exceedance,
        "protected": shares.protected,
    }


def _check(fits: Mapping[str, Fit], baseline: str | None, evidence: str) -> str:
    if evidence not in EVIDENCE:
        raise ValueError(f"evidence = {evidence!r} is not allowed; give one of {', '.join(EVIDENCE)}")
    return _baseline(fits, baseline)


def _baseline(models: Mapping[str, Any], baseline: str | None) -> str:
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


def _each(elpd: Mapping[str, Any]) -> Numbers:
    """A row for each participant, a column for each model."""
    _check_same_people({name: part.subjects for name, part in elpd.items() if isinstance(part, HeldOut)})
    read = {name: _numbers(name, part) for name, part in elpd.items()}
    first, *others = read
    there = {name: [np.flatnonzero(~np.isnan(row)).tolist() for row in part] for name, part in read.items()}
    for name in others:
        if there[name] != there[first]:
            counts = [sum(map(len, there[which])) for which in (first, name)]
            raise ValueError(
                f"{first} predicts {counts[0]} responses, and {name} {counts[1]} or others; "
                "give predictions of the same ones"
            )
    return np.stack([np.nansum(part, axis=1) for part in read.values()], 1)


def _trust(part: Any) -> Numbers | None:
    return part.pareto_k if isinstance(part, HeldOut) else None


def _doubtful(trust: Numbers | None) -> float:
    return float("nan") if trust is None else float((trust[~np.isnan(trust)] > DOUBTFUL).mean())


def _check_same_people(subjects: Mapping[str, tuple[str, ...]]) -> None:
    for name, who in subjects.items():
        first, known = next(iter(subjects.items()))
        if who != known:
            odd = sorted({*who} ^ {*known}) or who
            raise ValueError(
                f"{first} and {name} differ in participant {odd[0]}; give both the same participants, by only(...)"
            )


def _numbers(name: str, part: Any) -> Numbers:
    values = np.asarray(part.log_likelihood if isinstance(part, HeldOut) else part, np.float64)
    if values.ndim not in (1, 2):
        raise ValueError(f"{name} has shape {values.shape}; give a row for each participant, a column for each trial")
    Domain().check(name, values[~np.isnan(values)])
    return values[:, None] if values.ndim == 1 else values

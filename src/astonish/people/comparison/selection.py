"""Comparison of models that were fitted to the same responses: criteria, and how many people use each model.

The latter by random-effects Bayesian model selection: Stephan, Penny, Daunizeau, Moran & Friston (2009), with the
protection against probability of Rigoux, Stephan, Friston & Daunizeau (2014).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import cycle, islice
from textwrap import wrap
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from pandas import DataFrame
from scipy.special import digamma, gammainc, gammainccinv, gammaincinv, gammaln, logsumexp, softmax, stdtrit, xlogy

from astonish.core.numbers import POSITIVE, Domain, FloatArray
from astonish.people.fit.description import mse, r_squared
from astonish.people.fit.result import Fit
from astonish.report.style import COLOURS, styled_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

EVIDENCE = ("bic", "laplace")
_ROUNDS, _SETTLED = 10_000, 1e-12
_NODES = 4001  # of the integral, whose integrand is smooth: errors are below 1e-9
_NEVER = 1e-18
_GOLDEN = 0.6180339887498949  # steps of this size spread dots evenly, however many there are


class ModelFrequencies(NamedTuple):
    """What is known of the share of people who use each model.

    alpha: of the Dirichlet distribution of these shares; less its prior, it is a number of people.
    attribution: how probable each model is for each participant, a row each. mean, std: of the shares.
    exceedance: the probability that a model is used by more people than any other. risk: the probability that all are
    used by equally many, and what looks like a difference is chance. protected: `exceedance`, given that risk.
    """

    alpha: FloatArray
    attribution: FloatArray
    mean: FloatArray
    std: FloatArray
    exceedance: FloatArray
    risk: float
    protected: FloatArray


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
        table, names = self.table, list(self.table.index)
        colours = list(islice(cycle(COLOURS), len(names)))
        size = (7, 1.4 + 0.45 * len(names))
        with styled_figure(1, 2, sharey=True, figsize=size, width_ratios=(3, 2)) as (figure, (left, right)):
            from matplotlib.lines import Line2D
            from matplotlib.patches import Patch

            _differences(left, self, colours)
            protected: Any = {"marker": "D", "ms": 5, "ls": "", "mfc": "white", "color": "black"}
            right.barh(range(len(names)), table["share"], 0.6, color=colours, alpha=0.6)
            right.errorbar(
                table["share"], range(len(names)), xerr=table["share_std"], fmt="none", ecolor="0.2", capsize=2
            )
            right.plot(table["protected"], range(len(names)), **protected, clip_on=False, zorder=3)
            right.set(xlabel="probability", xlim=(0, 1.02))
            labels = ["\n".join(wrap(name.replace(":", ": ").replace(",", ", "), 22)) for name in names]
            left.set_yticks(range(len(names)), labels)
            left.set_ylim(len(names) - 0.5, -0.5)
            for axis, letter in ((left, "A"), (right, "B")):
                axis.set_title(letter, loc="left", fontweight="bold")
                axis.grid(axis="x", lw=0.3)
                axis.set_axisbelow(True)
            legend = [
                Line2D([], [], ls="", marker="o", ms=3, color="0.5", label="a participant"),
                Line2D([], [], ls="-", marker="D", ms=4, color="black", label="mean, 95 % interval"),
                Patch(color="0.7", label="share of people, sd"),
                Line2D([], [], **protected, label="protected exceedance probability"),
            ]
            figure.legend(handles=legend, loc="outside upper center", ncols=4, fontsize=7)
        return figure


def _differences(axis: Any, found: Selection, colours: list[str]) -> None:
    """Draw a dot for each participant, and the mean with a 95 % confidence interval."""
    axis.axvline(0, color="0.4", lw=0.8)
    for place, (name, colour) in enumerate(zip(found.table.index, colours, strict=True)):
        if name == found.baseline:
            continue
        apart = found.people.loc[found.people["model"] == name, "difference"].to_numpy()
        height = place + 0.5 * (np.arange(len(apart)) * _GOLDEN % 1 - 0.5)
        axis.plot(apart, height, "o", ms=3, mew=0, color=colour, alpha=0.5)
        mean, error = found.table["difference"][name], found.table["difference_se"][name]
        wide = error * stdtrit(max(len(apart) - 1, 1), 0.975)
        axis.errorbar(mean, place, xerr=np.nan_to_num(wide), fmt="D", ms=4, color="black", capsize=3, zorder=3)
    axis.set_xlabel(f"BIC relative to {found.baseline} (less is better)")


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
      due to chance. See `select`;
    - `at_bound`, `unfinished`: for how many participants a parameter is at its bound, and the search did not end.
    """
    if evidence not in EVIDENCE:
        raise ValueError(f"evidence = {evidence!r} is not allowed; give one of {', '.join(EVIDENCE)}")
    place, names = baseline_place(fits, baseline), list(fits)
    subjects, excluded = _participants(fits)
    rows = {name: [fit.trials.subjects.index(who) for who in subjects] for name, fit in fits.items()}
    _check_same_responses(fits, subjects, rows)
    scores = {
        part: np.stack([np.asarray(getattr(fit, part))[rows[name]] for name, fit in fits.items()], 1)
        for part in ("log_likelihood", "aic", "bic", *(["log_evidence"] if evidence == "laplace" else []))
    }
    bic, log_evidence = scores["bic"], scores.get("log_evidence", -0.5 * scores["bic"])
    for row, column in np.argwhere(~np.isfinite(log_evidence)) if evidence == "laplace" else ():
        missing = f"the log-evidence of {names[column]} for participant {subjects[row]} is not known"
        raise ValueError(f"{missing}; fit it with priors for all free parameters")
    shares = select(log_evidence)
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
    """Compare models with the one at `place`, in columns that `compare_fits` describes.

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
    """Tell how many people use each model, in columns that `compare_fits` describes."""
    parts = {"share": shares.mean, "share_std": shares.std}
    return parts | {"exceedance": shares.exceedance, "protected": shares.protected}


def baseline_place(models: Mapping[str, Any], baseline: str | None) -> int:
    """Find the place of the model to which the others are compared: the one named, or the first."""
    if not isinstance(models, Mapping) or len(models) < 2:
        example = '{"SMiLe": ..., "delta rule": ...}'
        raise ValueError(f"got {models!r}; give two models or more by name, such as {example}")
    if baseline is not None and baseline not in models:
        raise ValueError(f"baseline = {baseline!r} is none of the models; give one of {', '.join(models)}")
    return 0 if baseline is None else list(models).index(baseline)


def _participants(fits: Mapping[str, Fit]) -> tuple[list[str], dict[str, str]]:
    """List those whom all models explain, and why others are left out."""
    excluded: dict[str, str] = {}
    for name, fit in fits.items():
        for who, why in fit.excluded.items():
            excluded.setdefault(who, why if who in fit.trials.excluded else f"{why} ({name})")
    everyone = dict.fromkeys(who for fit in fits.values() for who in fit.trials.subjects)
    subjects = [who for who in everyone if who not in excluded]
    for name, fit in fits.items():
        absent = [who for who in subjects if who not in fit.trials.subjects]
        if absent:
            raise ValueError(f"{name} was not fitted to participant {absent[0]}; fit all models to the same trials")
    if not subjects:
        why = "; ".join(f"{who}: {reason}" for who, reason in list(excluded.items())[:3])
        problem = f"there is no participant whom all models explain ({why})"
        raise ValueError(f"{problem}; give participants with more responses")
    return subjects, excluded


def _check_same_responses(fits: Mapping[str, Fit], subjects: list[str], rows: Mapping[str, list[int]]) -> None:
    first, *others = fits
    for k, who in enumerate(subjects):
        explained = {name: np.flatnonzero(fit.data.scored[rows[name][k]]) for name, fit in fits.items()}
        responses = {name: np.asarray(fit.data.responses[rows[name][k]])[explained[name]] for name, fit in fits.items()}
        for name in others:
            if not np.array_equal(explained[first], explained[name]):
                counts = f"{len(explained[first])} responses of participant {who}, but {name} {len(explained[name])}"
                problem = f"{first} explains {counts} or others"
            elif not np.array_equal(responses[first], responses[name]):
                problem = f"the responses of participant {who} are not the same for {first} and {name}"
            else:
                continue
            raise ValueError(f"{problem}; fit all models to the same trials, and let all of them be anchored, or none")


def select(log_evidence: Any, prior: float = 1.0) -> ModelFrequencies:
    """Find how many people use each model, from its log-evidence for each participant (a row) and model (a column).

    prior: of the Dirichlet distribution before anything is known, for each model; 1 is a flat one.

    >>> shares = select([[0.0, -5.0], [-1.0, -7.0], [0.0, -4.0], [-9.0, -8.0]])
    >>> shares.mean.round(2), shares.exceedance.round(2), shares.protected.round(2), round(shares.risk, 2)
    (array([0.77, 0.23]), array([0.93, 0.07]), array([0.74, 0.26]), 0.45)
    """
    evidence = Domain().check("log_evidence", log_evidence)
    if evidence.ndim != 2 or not evidence.size:
        form = "give a row for each participant, a column per model"
        raise ValueError(f"log_evidence has shape {evidence.shape}; {form}")
    POSITIVE.check("prior", prior)
    models = evidence.shape[1]
    alpha = np.full(models, float(prior))
    for _ in range(_ROUNDS):
        attribution = softmax(evidence + digamma(alpha), axis=1)
        before, alpha = alpha, prior + attribution.sum(0)
        if np.abs(alpha - before).max() < _SETTLED * len(evidence):
            break
    mean = alpha / alpha.sum()
    std = np.sqrt(mean * (1 - mean) / (alpha.sum() + 1))
    # By how much the log-evidence that shares differ exceeds that of all shares being equal (Rigoux et al., appendix)
    expected = digamma(alpha) - digamma(alpha.sum())  # of the logarithms of the shares
    gain = (attribution * (evidence + expected)).sum() + (prior - 1) * expected.sum()
    gain += gammaln(models * prior) - models * gammaln(prior)
    gain += gammaln(alpha).sum() - gammaln(alpha.sum()) - ((alpha - 1) * expected).sum()  # entropies of the posterior
    gain -= xlogy(attribution, attribution).sum()
    gain -= (logsumexp(evidence, axis=1) - np.log(models)).sum()
    risk = float(1 / (1 + np.exp(np.clip(gain, -700, 700))))
    most = exceedance(alpha)
    return ModelFrequencies(alpha, attribution, mean, std, most, risk, (1 - risk) * most + risk / models)


def exceedance(alpha: Any) -> FloatArray:
    """Find the probability that each share is the largest of all, if shares have this Dirichlet distribution.

    Shares are proportional to independent gamma variables, so it is one integral for each: over the values of one
    variable, the probability that all others are below. It is taken over their logarithms, where trapezoids converge
    faster than any power of their number.
    """
    alpha = POSITIVE.check("alpha", alpha)
    low = np.log(np.maximum(gammaincinv(alpha, _NEVER), np.finfo(np.float64).tiny))
    logs = np.linspace(low, np.log(gammainccinv(alpha, _NEVER)), _NODES, axis=1)
    density = np.exp(alpha[:, None] * logs - np.exp(logs) - gammaln(alpha)[:, None])
    below = gammainc(alpha[:, None, None], np.exp(logs))
    below[np.diag_indices(len(alpha))] = 1.0
    probabilities = (density * below.prod(0)).sum(1) * (logs[:, 1] - logs[:, 0])
    return np.asarray(probabilities / probabilities.sum())

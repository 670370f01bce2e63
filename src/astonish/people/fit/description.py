"""Tables that describe a fit: parameters over participants, tests of differences, and behaviour beside the model's.

Tests are made on the unconstrained scale (logarithms of what has one bound, log-odds of what has two), on which values
at a bound are infinitely far away: participants with such a value are left out of means, intervals and correlations,
but not of tests by ranks.
"""

from collections.abc import Callable, Mapping
from itertools import combinations
from typing import Any

import numpy as np
from pandas import DataFrame, Series, concat
from scipy import stats

from astonish.core.names import ResponseKind
from astonish.core.numbers import BoolArray, FloatArray
from astonish.core.special import difference
from astonish.people.fit.likelihood import last_of_block
from astonish.people.fit.result import Fit
from astonish.people.tables.cells import in_order

COLUMNS = (
    "parameter", "comparison", "people", "left_out", "difference", "low", "high", "statistic", "df", "p", "effect_size",
    "p_ranks", "p_holm",
)  # fmt: skip
PEOPLE = "people"
LAGS = range(-2, 7)  # trials from a change of the world: 0 is the first outcome after it
_FEWEST = 3  # people for a test
_BINS = 8


# Parameters over participants


def describe(fit: Fit, by_group: bool = False) -> DataFrame:
    """Describe each parameter, a row each, of participants who have one of their own; or of those of each group.

    n: participants. mean, sd, median, q25, q75: of their values; mean and sd without those that grow without end.
    at_bound: how many are at a bound; unfinished: how many searches did not end.
    """
    edges, endless = fit.space.at_bound(fit.unconstrained), fit.space.endless(fit.unconstrained)
    groups: dict[Any, BoolArray] = members(fit) if by_group else {None: np.ones(len(fit.values), bool)}
    rows = []
    for k, name in enumerate(fit.names):
        shared = fit.space.names[k] in fit.shared
        for label, those in groups.items() if not (by_group and shared) else ():
            here = np.flatnonzero(those)[: 1 if shared else None]
            values, finite = fit.values[here, k], fit.values[here, k][~endless[here, k]]
            q25, median, q75 = np.quantile(values, [0.25, 0.5, 0.75])
            rows.append({
                "parameter": f"{name} (shared)" if shared else name,
                **({"group": str(label)} if by_group else {}),
                "n": len(values),
                "mean": finite.mean() if len(finite) else np.nan,
                "sd": finite.std(ddof=1) if len(finite) > 1 else np.nan,
                "median": median, "q25": q25, "q75": q75,
                "at_bound": int((edges[here, k] != 0).sum()),
                "unfinished": int((~fit.converged[those]).sum()),
            })  # fmt: skip
    return DataFrame(rows)


def members(fit: Fit) -> dict[Any, BoolArray]:
    """Mark the participants of each group, if groups are known."""
    groups = fit.trials.group if fit.trials.group is not None else ()
    return {label: np.array([own == label for own in groups]) for label in in_order(set(groups))}


def correlations(fit: Fit) -> DataFrame:
    """Correlate parameters over participants, by ranks (Spearman 1904), so that values at a bound do not outweigh all.

    Strong ones may be people's, or a fault of the model: see what `recover_parameters` finds.
    """
    own = [k for k, name in enumerate(fit.space.names) if name not in fit.shared]
    names = [fit.names[k] for k in own]
    return DataFrame(fit.values[:, own], columns=names).corr(method="spearman")


# Tests of differences


def differences(fit: Fit) -> DataFrame:
    """Test each parameter for differences between groups and conditions, and along covariates: a row for each test.

    - two groups, each pair of them: Welch's (1947) t-test of the difference of means, with its 95 % interval and
      Hedges' (1981) g; by ranks, the test of Mann & Whitney (1947);
    - three groups or more, all at once (`comparison` is "all groups"): by ranks, that of Kruskal & Wallis (1952);
    - covariates: Pearson's correlation (as `difference` and `effect_size`) with Fisher's interval; by ranks Spearman's;
    - two conditions, each pair of them: the t-test of differences within people, with its interval and Cohen's d of
      these differences; by ranks, that of Wilcoxon (1945).

    people, left_out: in the test, and left out since a value is at a bound. p_holm: p, or where there is none p_ranks,
    adjusted for all tests of this table (Holm 1979).
    """
    rows: list[dict[str, Any]] = []
    edges, values, inside = fit.space.at_bound(fit.unconstrained), {}, {}
    for k, name in enumerate(fit.names):
        if fit.space.names[k] not in fit.shared:
            values[name], inside[name] = fit.unconstrained[:, k], np.asarray(edges[:, k] == 0)

    def add(name: str, comparison: str, left_out: Any, ranks: float, test: dict[str, Any]) -> None:
        about = {"parameter": name, "comparison": comparison, "left_out": int(np.sum(left_out)), "p_ranks": ranks}
        rows.append(about | test)

    groups = members(fit)
    for name, x in values.items():
        known = inside[name]
        for (one, first), (other, second) in combinations(groups.items(), 2):
            ranks = _p(stats.mannwhitneyu, x[first], x[second])
            add(name, f"{one} - {other}", (first | second) & ~known, ranks, _welch(x[first & known], x[second & known]))
        if len(groups) > 2:
            ranks = _p(stats.kruskal, *(x[those] for those in groups.values()))
            add(name, "all groups", 0, ranks, {"people": len(x)})
    for name, x in values.items():
        known = inside[name]
        for covariate, numbers in fit.trials.covariates.items():
            ranks = _p(stats.spearmanr, numbers, x)
            add(name, f"with {covariate}", ~known, ranks, _pearson(numbers[known], x[known]))
    for places in fit.space.by_condition.values():
        names = [fit.names[k] for k in places]
        for (one, first), (other, second) in combinations(zip(names, fit.trials.conditions, strict=True), 2):
            known, apart = inside[one] & inside[other], values[one] - values[other]
            comparison = f"{first} - {second}"
            add(one.partition("[")[0], comparison, ~known, _p(stats.wilcoxon, apart), _paired(apart[known]))
    table = DataFrame(rows, columns=list(COLUMNS))
    if len(table):
        table["p_holm"] = _holm(table["p"].fillna(table["p_ranks"]).to_numpy(np.float64))
    return table


def _welch(a: FloatArray, b: FloatArray) -> dict[str, Any]:
    """Test the difference of two means by Welch's t-test."""
    if min(len(a), len(b)) < _FEWEST:
        return {"people": len(a) + len(b)}
    degrees, apart = len(a) + len(b) - 2, a.mean() - b.mean()
    pooled = np.sqrt(((len(a) - 1) * a.var(ddof=1) + (len(b) - 1) * b.var(ddof=1)) / degrees)
    unbiased = 1 - 3 / (4 * degrees - 1)
    test = stats.ttest_ind(a, b, equal_var=False)
    return _tested(test, people=len(a) + len(b), difference=apart, df=test.df, effect_size=unbiased * apart / pooled)


def _paired(apart: FloatArray) -> dict[str, Any]:
    """Test the mean of differences within people by a t-test."""
    if len(apart) < _FEWEST:
        return {"people": len(apart)}
    test, mean = stats.ttest_1samp(apart, 0.0), apart.mean()
    return _tested(test, people=len(apart), difference=mean, df=test.df, effect_size=mean / apart.std(ddof=1))


def _pearson(a: FloatArray, b: FloatArray) -> dict[str, Any]:
    """Test a correlation."""
    if len(a) < _FEWEST + 1 or np.ptp(a) == 0 or np.ptp(b) == 0:
        return {"people": len(a)}
    test = stats.pearsonr(a, b)
    return _tested(test, people=len(a), difference=test.statistic, df=len(a) - 2, effect_size=test.statistic)


def _tested(test: Any, **about: Any) -> dict[str, Any]:
    low, high = test.confidence_interval(0.95)
    return about | {"low": low, "high": high, "statistic": test.statistic, "p": test.pvalue}


def _p(test: Callable[..., Any], *samples: FloatArray) -> float:
    """Return the p-value of a test; NaN where there are too few people, or they are all alike."""
    alike = [np.ptp(sample) == 0 for sample in samples]
    if min(map(len, samples)) < _FEWEST or (any(alike) if test is stats.spearmanr else alike[0]):
        return np.nan
    return float(test(*samples).pvalue)


def _holm(p: FloatArray) -> FloatArray:
    """Adjust p-values for their number: each is the largest of those up to it, times how many are left."""
    known = np.flatnonzero(np.isfinite(p))
    order = known[np.argsort(p[known], kind="stable")]
    adjusted = np.full(len(p), np.nan)
    steps = np.maximum.accumulate(p[order] * (len(order) - np.arange(len(order))))
    adjusted[order] = np.minimum(steps, 1.0)
    return adjusted


# How well responses are explained


def squared_errors(fit: Fit) -> FloatArray | None:
    """Square the difference between each response and the one expected, a row for each participant; None of choices.

    NaN where nothing was to be explained. Of angles, the difference is the shorter way round.
    """
    if fit.trials.response_kind == ResponseKind.CHOICE:
        return None
    off = difference(fit.data.responses, fit.outputs.expected, fit.model.learner.period)
    return np.where(fit.data.scored, np.square(np.asarray(off)), np.nan)


def mse(fit: Fit) -> FloatArray:
    """Compute the mean squared error of each participant's responses; NaN of choices."""
    errors = squared_errors(fit)
    return np.full(len(fit.values), np.nan) if errors is None else np.nanmean(errors, axis=1)


def probability_of_choices(fit: Fit) -> FloatArray:
    """Return how probable each choice was to the model; NaN where none was to be explained."""
    made = np.where(fit.data.scored, fit.data.responses, 0).astype(int)
    own = np.take_along_axis(np.asarray(fit.outputs.probabilities), made[..., None], -1)[..., 0]
    return np.where(fit.data.scored, np.maximum(own, np.finfo(float).tiny), np.nan)


def r_squared(fit: Fit) -> FloatArray:
    """Compute the share of the variance of each participant's responses, about their mean, that the model explains.

    Of choices, the share of the log-likelihood of choosing at random that is gained (McFadden 1974). Either may be
    negative, and neither is about a second response. NaN of angles, which have no variance in this sense.
    """
    errors = squared_errors(fit)
    if errors is None:
        at_random = -fit.data.scored.sum(1) * np.log(max(len(fit.trials.choice_labels), 2))
        return np.asarray(1 - np.nansum(np.log(probability_of_choices(fit)), axis=1) / at_random)
    if fit.model.learner.period is not None:
        return np.full(len(fit.values), np.nan)
    responses = np.where(fit.data.scored, fit.data.responses, np.nan)
    spread = np.nansum(np.square(responses - np.nanmean(responses, axis=1, keepdims=True)), axis=1)
    return np.asarray(1 - np.nansum(errors, axis=1) / spread)


# What people do after an outcome, and what the model does


def steps(fit: Fit) -> DataFrame:
    """List responses that follow another one of their block, and an outcome between the two, a row each.

    error: from the last response to that outcome. step: from the last response to this one. model_error, model_step:
    the same of the model; of one that does not go on from responses, from its own last expectation. lag: trials since
    the world last changed (0: the first outcome after a change), NaN if the table does not say so.
    """
    expected, responses, period = fit.outputs.expected, fit.outputs.responses, fit.model.learner.period
    last, outcome, there = transitions(fit)
    before = last if fit.model.response.anchored else last_of_block(expected, fit.trials.starts)
    numbers = {
        "error": difference(outcome, last, period),
        "step": difference(responses, last, period),
        "model_error": difference(outcome, before, period),
        "model_step": difference(expected, before, period),
    }
    return _listed(fit, there, numbers)


def repeats(fit: Fit) -> DataFrame:
    """List choices that follow another one of their block, a row each.

    repeated: 1 if it is the same, else 0; model_repeated: how probable that was. outcome: between the two, less the
    participant's mean, so that above 0 it was better than usual; lag: as in `steps`.
    """
    last, outcome, there = transitions(fit)
    if fit.trials.options is None:  # a prediction was right, or it was wrong
        outcome = (outcome == last) - 0.5
    else:
        outcome = outcome - np.nanmean(np.where(there, outcome, np.nan), axis=1, keepdims=True)
    same = np.where(there, last, 0).astype(int)[..., None]
    probability = np.take_along_axis(fit.outputs.probabilities, same, -1)[..., 0]
    repeated = fit.outputs.responses == last
    return _listed(fit, there, {"repeated": repeated, "model_repeated": probability, "outcome": outcome})


def rates_by_error(fits: Mapping[str, Fit]) -> DataFrame:
    """Compute learning rates of people and of each model, for errors of each size, in bins with equally many.

    A row for each bin and who it is of: `error`, its mean size; `rate`, the slope of steps on errors through zero, a
    mean over participants, with its standard error; `people`, how many of them there are.
    """
    tables = {name: steps(fit) for name, fit in fits.items()}
    sizes = np.abs(next(iter(tables.values()))["error"].to_numpy())
    edges = np.unique(np.quantile(sizes[np.isfinite(sizes)], np.linspace(0, 1, _BINS + 1)))

    def binned(name: str, table: DataFrame, error: str, step: str) -> DataFrame:
        table = table.assign(bin=np.searchsorted(edges[1:-1], np.abs(table[error].to_numpy()), side="right"))
        sizes = table[error].abs().groupby(table["bin"]).mean().rename("error")
        return _mean_rates(name, table, "bin", error, step).join(sizes, on="bin")

    return _beside(tables, binned, ("error", "step"))


def rates_around_changes(fits: Mapping[str, Fit]) -> DataFrame | None:
    """Do the same for trials before and after the world changed; None if the table does not say when.

    Of choices, `rate` is how often the last one is repeated.
    """
    choices = next(iter(fits.values())).outputs.probabilities is not None
    tables = {name: (repeats if choices else steps)(fit) for name, fit in fits.items()}
    if next(iter(tables.values()))["lag"].isna().all():
        return None
    columns = ("", "repeated") if choices else ("error", "step")
    return _beside(tables, lambda name, table, *of: _mean_rates(name, table, "lag", *of), columns)


def repeats_by_outcome(fits: Mapping[str, Fit]) -> DataFrame:
    """Compute how often people, and each model, repeat a choice after an outcome worse, or better, than usual."""
    tables = {name: repeats(fit) for name, fit in fits.items()}
    for table in tables.values():
        table["after"] = np.where(table["outcome"] > 0, "better", "worse")
    return _beside(tables, lambda name, table, *of: _mean_rates(name, table, "after", *of), ("", "repeated"))


def between(fit: Fit, values: FloatArray) -> FloatArray:
    """Return what is known of the outcome between a response and the one before; NaN where it was not seen.

    It is the outcome of the response's own trial, or of the trial before.
    """
    seen = np.where(fit.trials.observed, values, np.nan)
    return np.where(fit.trials.starts, np.nan, np.roll(seen, 1, axis=1)) if fit.trials.responds_before else seen


def transitions(fit: Fit) -> tuple[FloatArray, FloatArray, BoolArray]:
    """Return the response before each, the outcome between both, and whether both are there and it is explained."""
    last, outcome = last_of_block(fit.outputs.responses, fit.trials.starts), between(fit, fit.trials.scalar_outcomes)
    return last, outcome, np.asarray(fit.data.scored, bool) & np.isfinite(last) & np.isfinite(outcome)


def _listed(fit: Fit, there: BoolArray, numbers: Mapping[str, Any]) -> DataFrame:
    """List numbers of some trials, with the participant, and trials since the world last changed in the block.

    Just before a change, they are trials until then (negative).
    """
    changed, starts = fit.trials.changed, fit.trials.starts
    lags, block, at = np.full(starts.shape, np.nan), np.cumsum(starts, axis=1), np.arange(starts.shape[1])
    for row, change in np.argwhere(changed & ~starts) if changed is not None else ():
        lag = at - change
        near = (lag >= LAGS[0]) & (lag <= LAGS[-1]) & (block[row] == block[row, change])
        free = near & ((lag >= 0) | np.isnan(lags[row]))  # what follows one change is not what comes before the next
        lags[row, free] = lag[free]
    who = np.repeat(np.array(fit.trials.subjects, object), there.sum(axis=1))
    columns = {**numbers, "lag": between(fit, lags)}
    return DataFrame({
        "participant": who, **{name: np.asarray(values, np.float64)[there] for name, values in columns.items()}
    })  # fmt: skip


def _beside(
    tables: Mapping[str, DataFrame], summarise: Callable[..., DataFrame], columns: tuple[str, str]
) -> DataFrame:
    """Summarise what people did, and what each model did. columns: of errors (empty for none) and steps."""
    of_model = [f"model_{column}" if column else "" for column in columns]
    parts = [summarise(PEOPLE, next(iter(tables.values())), *columns)]
    parts += [summarise(name, table, *of_model) for name, table in tables.items()]
    return concat(parts, ignore_index=True)


def _mean_rates(name: str, table: DataFrame, key: str, error: str, step: str) -> DataFrame:
    """Compute, for each value of `key`, the mean over participants of a slope (or, without errors, of a mean)."""
    known = table.dropna(subset=[key, step])
    weight = known[error] if error else Series(1.0, known.index)
    parts = DataFrame({"top": known[step] * weight, "bottom": weight * weight})
    sums = parts.groupby([known[key], known["participant"]]).sum()
    rates = (sums["top"] / sums["bottom"].where(sums["bottom"] > 0)).dropna().groupby(level=0)
    summary = DataFrame({"rate": rates.mean(), "se": rates.sem(), "people": rates.size()})
    return summary.reset_index(names=key).assign(of=name)

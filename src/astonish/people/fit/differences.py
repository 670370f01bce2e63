"""Do parameters differ between groups or conditions, or go with a covariate? The classical tests.

On the unconstrained scale (logarithms of what has one bound, log-odds of what has two), on which values at a bound are
infinitely far away: participants with such a value are left out of means, intervals and correlations, but not of tests
by ranks.
"""

from collections.abc import Callable, Iterator
from itertools import combinations
from typing import Any

import numpy as np
from pandas import DataFrame
from scipy import stats

from astonish.core.numbers import BoolArray, FloatArray
from astonish.people.fit.result import Fit
from astonish.people.tables.cells import in_order

COLUMNS = (
    "parameter", "comparison", "people", "left_out", "difference", "low", "high", "statistic", "df", "p", "effect_size",
    "p_ranks", "p_holm",
)  # fmt: skip
_FEWEST = 3  # people for a test


def differences(fit: Fit) -> DataFrame:
    """A row for each test of each parameter.

    - two groups, each pair of them: Welch's (1947) t-test of the difference of means, with its 95 % interval and
      Hedges' (1981) g; by ranks, the test of Mann & Whitney (1947);
    - three groups or more, all at once (`comparison` is "all groups"): by ranks, that of Kruskal & Wallis (1952);
    - covariates: Pearson's correlation (as `difference` and `effect_size`) with Fisher's interval; by ranks Spearman's;
    - two conditions, each pair of them: the t-test of differences within people, with its interval and Cohen's d of
      these differences; by ranks, that of Wilcoxon (1945).

    people, left_out: in the test, and left out since a value is at a bound. p_holm: p, or where there is none p_ranks,
    adjusted for all tests of this table (Holm 1979).
    """
    rows = [*_of_groups(fit), *_of_covariates(fit), *_of_conditions(fit)]
    table = DataFrame(rows, columns=list(COLUMNS))
    if len(table):
        table["p_holm"] = _holm(table["p"].fillna(table["p_ranks"]).to_numpy(np.float64))
    return table


def _of_groups(fit: Fit) -> Iterator[dict[str, Any]]:
    if fit.trials.group is None:
        return
    labels = in_order(set(fit.trials.group))
    for name, values, inside in _each_parameter(fit):
        parts = {label: np.array([own == label for own in fit.trials.group]) for label in labels}
        for one, other in combinations(labels, 2):
            a, b = (values[parts[label] & inside] for label in (one, other))
            both = parts[one] | parts[other]
            about = {"parameter": name, "comparison": f"{one} - {other}", "left_out": int((both & ~inside).sum())}
            ranks = _p(stats.mannwhitneyu, values[parts[one]], values[parts[other]])
            yield about | _welch(a, b) | {"p_ranks": ranks}
        if len(labels) > 2:
            yield {
                "parameter": name,
                "comparison": "all groups",
                "people": len(values),
                "left_out": 0,
                "p_ranks": _p(stats.kruskal, *(values[own] for own in parts.values())),
            }


def _of_covariates(fit: Fit) -> Iterator[dict[str, Any]]:
    for name, values, inside in _each_parameter(fit):
        for covariate, numbers in fit.trials.covariates.items():
            about = {"parameter": name, "comparison": f"with {covariate}", "left_out": int((~inside).sum())}
            yield about | _pearson(numbers[inside], values[inside]) | {"p_ranks": _p(stats.spearmanr, numbers, values)}


def _of_conditions(fit: Fit) -> Iterator[dict[str, Any]]:
    own = {name: (values, inside) for name, values, inside in _each_parameter(fit)}
    for names in fit.space.by_condition.values():
        short = [fit.names[fit.space.names.index(name)] for name in names]
        for (one, first), (other, second) in combinations(zip(short, fit.trials.conditions, strict=True), 2):
            (a, a_inside), (b, b_inside) = own[one], own[other]
            inside = a_inside & b_inside
            about: dict[str, Any] = {"parameter": one.partition("[")[0], "comparison": f"{first} - {second}"}
            about["left_out"] = int((~inside).sum())
            yield about | _paired(a[inside] - b[inside]) | {"p_ranks": _p(stats.wilcoxon, a - b)}


def _each_parameter(fit: Fit) -> Iterator[tuple[str, FloatArray, BoolArray]]:
    """Of each parameter of participants' own: its short name, unconstrained values, and which are not at a bound."""
    edges = fit.space.at_bound(fit.unconstrained)
    for k, name in enumerate(fit.names):
        if fit.space.names[k] not in fit.shared:
            yield name, fit.unconstrained[:, k], np.asarray(edges[:, k] == 0)


def _welch(a: FloatArray, b: FloatArray) -> dict[str, Any]:
    """The difference of two means, and what Welch's test says of it."""
    if min(len(a), len(b)) < _FEWEST:
        return {"people": len(a) + len(b)}
    found = stats.ttest_ind(a, b, equal_var=False)
    low, high = found.confidence_interval(0.95)
    degrees = len(a) + len(b) - 2
    pooled = np.sqrt(((len(a) - 1) * a.var(ddof=1) + (len(b) - 1) * b.var(ddof=1)) / degrees)
    unbiased = 1 - 3 / (4 * degrees - 1)
    return _tested(len(a) + len(b), a.mean() - b.mean(), low, high, found, unbiased * (a.mean() - b.mean()) / pooled)


def _paired(apart: FloatArray) -> dict[str, Any]:
    """The mean of differences within people, and what the t-test says of it."""
    if len(apart) < _FEWEST:
        return {"people": len(apart)}
    found = stats.ttest_1samp(apart, 0.0)
    low, high = found.confidence_interval(0.95)
    return _tested(len(apart), apart.mean(), low, high, found, apart.mean() / apart.std(ddof=1))


def _pearson(a: FloatArray, b: FloatArray) -> dict[str, Any]:
    """A correlation, with its interval."""
    if len(a) < _FEWEST + 1 or np.ptp(a) == 0 or np.ptp(b) == 0:
        return {"people": len(a)}
    found = stats.pearsonr(a, b)
    low, high = found.confidence_interval(0.95)
    about = {"people": len(a), "difference": found.statistic, "low": low, "high": high, "df": len(a) - 2}
    return about | {"statistic": found.statistic, "p": found.pvalue, "effect_size": found.statistic}


def _tested(people: int, difference: float, low: float, high: float, found: Any, size: float) -> dict[str, Any]:
    about = {"people": people, "difference": difference, "low": low, "high": high, "statistic": found.statistic}
    return about | {"df": found.df, "p": found.pvalue, "effect_size": size}


def _p(test: Callable[..., Any], *samples: FloatArray) -> float:
    """The p-value of a test; NaN where there are too few people, or they are all alike."""
    alike = [np.ptp(sample) == 0 for sample in samples]
    if min(map(len, samples)) < _FEWEST or (any(alike) if test is stats.spearmanr else alike[0]):
        return np.nan
    return float(test(*samples).pvalue)


def _holm(p: FloatArray) -> FloatArray:
    """p-values adjusted for their number: each is the largest of those up to it, times how many are left."""
    known = np.flatnonzero(np.isfinite(p))
    order = known[np.argsort(p[known], kind="stable")]
    adjusted = np.full(len(p), np.nan)
    steps = np.maximum.accumulate(p[order] * (len(order) - np.arange(len(order))))
    adjusted[order] = np.minimum(steps, 1.0)
    return adjusted

"""How good were estimates, and probabilities of a change, now that the truth is known?

All tables have a series in every row. Where something cannot be told, for want of samples or of a signal, it is NaN.
"""

import math

import numpy as np

from astonish.changes.alarms import FEWEST, Mask, since_change, spaced, threshold_at, waits
from astonish.domain import Numbers

_BINS = 10  # of the probability of a change, in the table of reliability
Row = dict[str, float]
Columns = dict[str, Numbers]


def mean_errors(errors: Numbers) -> Row:
    """Squared and absolute error, with standard errors over series. errors: series by samples by numbers estimated."""
    row: Row = {}
    for name, size in (("squared_error", errors**2), ("absolute_error", np.abs(errors))):
        by_series = size.reshape(len(size), -1).mean(axis=1)
        row |= {name: by_series.mean(), f"{name}_se": _standard_error(by_series)}
    return row


def after_change(errors: Numbers, changed: Mask, quiet: Mask, window: int) -> Columns:
    """The mean absolute error with the 1st, 2nd, ... sample after a change, and when all is quiet."""
    sizes = np.abs(errors).reshape(*changed.shape, -1).mean(axis=2)
    ago = since_change(changed)
    at = [sizes[ago == lag] for lag in range(window)]
    return {
        "sample": np.arange(1.0, window + 1),
        "error": np.array([_mean(some) for some in at]),
        "error_se": np.array([_standard_error(some) for some in at]),
        "quiet_error": np.full(window, _mean(sizes[quiet])),
    }


def recovery(curve: Columns, factor: float) -> Row:
    """With which sample after a change the error is back within `factor` times the quiet one."""
    back = np.flatnonzero(curve["error"] <= factor * curve["quiet_error"])
    return {"recovery": curve["sample"][back[0]] if len(back) else math.nan}


def detection(signals: Numbers, changed: Mask, quiet: Mask, window: int, rate: float, cooldown: int) -> Row:
    """How soon, and how often, a detector with this rate of false alarms notices a change."""
    row = {"detection_delay": math.nan, "detected": math.nan}
    if (quiet & ~np.isnan(signals)).sum() * rate < FEWEST:
        return row
    alarms = spaced(signals > threshold_at(signals, quiet, rate, cooldown), cooldown)
    noticed = waits(alarms, changed, window)
    return {"detection_delay": noticed.median(), "detected": noticed.share(window)}


def brier(change: Numbers, changed: Mask) -> Row:
    """The mean squared error of the probability of a change, and what is gained over always saying how often one comes.

    Brier (1950). NaN in `change` is left out.
    """
    known = ~np.isnan(change)
    outcome = changed[known].astype(np.float64)
    score, reference = _mean((change[known] - outcome) ** 2), outcome.var() if known.any() else 0.0
    return {"brier": score, "brier_skill": 1 - score / reference if reference > 0 else math.nan}


def reliability(change: Numbers, changed: Mask) -> Columns:
    """Samples of similar probabilities of a change: their mean, and how often there was one.

    >>> table = reliability(np.array([[0.1, 0.1, 0.9]]), np.array([[False, True, True]]))
    >>> table["predicted"].tolist(), table["observed"].tolist()
    ([0.1, 0.9], [0.5, 1.0])
    """
    known = ~np.isnan(change)
    bins = np.minimum((change[known] * _BINS).astype(int), _BINS - 1)
    samples = np.bincount(bins, minlength=_BINS)
    some = samples > 0
    count = samples[some].astype(np.float64)
    predicted = np.bincount(bins, change[known], _BINS)[some] / count
    observed = np.bincount(bins, changed[known], _BINS)[some] / count
    spread = np.sqrt(observed * (1 - observed) / count)
    return {"predicted": predicted, "observed": observed, "observed_se": spread, "samples": count}


def _mean(values: Numbers) -> float:
    return float(values.mean()) if values.size else math.nan


def _standard_error(values: Numbers) -> float:
    return float(values.std(ddof=1) / math.sqrt(len(values))) if len(values) > 1 else math.nan

"""Which files does a fit leave behind?"""

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from pandas import DataFrame

    from astonish.fit.result import Fit


def trial_by_trial(fit: "Fit") -> "DataFrame":
    """The table of trials, row for row, and what the fitted model makes of each.

    Empty where a participant was excluded, or nothing was to be explained.
    """
    frame = fit.trials.frame.copy()
    there = fit.trials.rows >= 0
    for name, values in {
        "expected_response": np.where(fit.task.scored, fit.account.expected, np.nan),
        "log_likelihood": np.where(fit.task.scored, fit.account.log_likelihood, np.nan),
        "fitted_learning_rate": np.where(fit.trials.observed, fit.account.rate, np.nan),
        "fitted_surprise": np.where(fit.trials.observed, fit.account.surprise, np.nan),
    }.items():
        column = np.full(len(frame), np.nan)
        column[fit.trials.rows[there]] = values[there]
        frame[name] = column
    return frame

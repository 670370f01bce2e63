"""What did one trial of a participant do to a learner?"""

from dataclasses import replace
from typing import Any

import jax
import numpy as np

from astonish.core.names import MEASURED, OutcomeKind
from astonish.core.numbers import Domain
from astonish.learners.base import Learner
from astonish.online.explanation import Explanation, explain
from astonish.people.tables.trials import Trials


def explain_trial(learner: Learner, trials: Trials, subject: str, at: float) -> Explanation:
    """Explain a trial of a participant, after those of the same block that came before it; see `explain`.

    at: which of the participant's trials, counted from 0.

    >>> from pandas import DataFrame
    >>> from astonish import Dirichlet, Smile
    >>> from astonish.people.tables import Columns, read_trials
    >>> table = DataFrame({"saw": ["red", "red", "green", "blue"]})
    >>> trials = read_trials(table, Columns("saw"))
    >>> explain_trial(Smile(Dirichlet(3), m=1.0), trials, "1", at=3).sentence[:42]
    'Expected blue with probability .26 and saw'
    """
    if trials.given:
        given = ", ".join(trials.given)
        raise ValueError(f"{given} is given trial by trial, which cannot be explained yet; read the table without it")
    if subject not in trials.subjects:
        raise ValueError(f"there is no participant {subject!r}; give one of {', '.join(trials.subjects)}")
    row = trials.subjects.index(subject)
    places = np.flatnonzero(trials.rows[row] >= 0)
    Domain(0, len(places) - 1, whole=True).check("at", at)
    last = int(places[int(at)])
    first = int(np.flatnonzero(trials.starts[row, : last + 1])[-1])
    gone = ~trials.observed[row, first : last + 1]

    def column(part: Any) -> Any:
        values = part[row, first : last + 1]
        return np.ma.array(values, mask=np.broadcast_to(gone.reshape(-1, *[1] * (values.ndim - 1)), values.shape))

    found = explain(learner, jax.tree.map(column, trials.outcomes), last - first, *_words(trials, row, last))
    return replace(found, at=int(at))


def _words(trials: Trials, row: int, at: int) -> tuple[str, str]:
    """What to call the outcome, and where it belongs; empty where numbers say it."""
    outcome = trials.scalar_outcomes[row, at]
    if trials.options is not None:
        return "", f"for option {trials.options[trials.choices[row, at]]}"
    if trials.kind in MEASURED or not trials.labels:
        return "", ""
    before = trials.kind == OutcomeKind.TRANSITIONS
    return str(trials.labels[int(outcome)]), f"after {trials.labels[trials.outcomes[0][row, at]]}" if before else ""

"""Which column of a table may be what, by its name and by what it holds? Guesses, to be shown to whoever asked."""

import re
from typing import Any

import pandas as pd

from astonish.people.tables.order import TRIAL
from astonish.people.tables.questions import CHOSEN, PAID, WHO, is_called

_BLOCK = re.compile(r"(.*[_. ])?(block|session|run)s?([_. ]?(no|nr|num|number|index|idx|id|n|#))?", re.IGNORECASE)
_HAPPENED = re.compile(r"(outcome|observation|sample|stimulus|target|x)([_. ]?\d*)", re.IGNORECASE)
_ANSWERED = re.compile(r"response|respond|estimate|prediction|predict|guess|answer|belief|bucket")
_GROUP = re.compile(r"(group|cohort|diagnosis)([_. ]?(id|name))?", re.IGNORECASE)
_CONDITION = re.compile(r"(condition|cond|context)([_. ]?(id|name|no))?", re.IGNORECASE)
_REPEATED = 3  # rows that a participant, a block, a group or a condition has at least, on average


def guessed_columns(frame: pd.DataFrame) -> dict[str, str]:
    """Names of columns by their meaning: subject, block, trial, outcome, response or choice, group and condition.

    A choice and what it paid are found together: the outcome is then the reward. A column has one meaning at most, and
    one that is the same in all rows has none.

    >>> guessed_columns(pd.DataFrame({"id": list("aaabbb"), "x": [3, 1, 4, 1, 5, 9], "estimate": [2, 7, 1, 8, 2, 8]}))
    {'subject': 'id', 'outcome': 'x', 'response': 'estimate'}
    """
    left = [str(name) for name in frame.columns if frame[name].nunique() > 1]
    found: dict[str, str] = {}

    def take(meaning: str, fits: Any) -> None:
        name = next((name for name in left if fits(name)), None)
        if name is not None:
            found[meaning] = name
            left.remove(name)

    def labels(name: str) -> bool:
        return bool(frame[name].nunique() <= len(frame) / _REPEATED)

    take("subject", lambda name: WHO.fullmatch(name) and labels(name))
    take("block", lambda name: _BLOCK.fullmatch(name) and labels(name))
    within = [found[meaning] for meaning in ("subject", "block") if meaning in found]
    take("trial", lambda name: TRIAL.fullmatch(name) and not frame.duplicated([*within, name]).any())
    take("group", lambda name: _GROUP.fullmatch(name) and _one_for_each(frame, found.get("subject"), name))
    take("condition", lambda name: _CONDITION.fullmatch(name) and labels(name))
    if any(is_called(name, CHOSEN) for name in left) and any(is_called(name, PAID) for name in left):
        take("choice", lambda name: is_called(name, CHOSEN) and labels(name))
    if "choice" in found:
        take("outcome", lambda name: is_called(name, PAID))
        return found
    take("outcome", lambda name: _HAPPENED.fullmatch(name) or is_called(name, PAID))
    take("response", lambda name: is_called(name, _ANSWERED) or is_called(name, CHOSEN))
    return found


def constant_columns(frame: pd.DataFrame) -> list[str]:
    """The names of columns that are the same in all rows, so that they tell nothing."""
    return [str(name) for name in frame.columns if frame[name].nunique(dropna=False) <= 1]


def _one_for_each(frame: pd.DataFrame, subject: str | None, name: str) -> bool:
    """Whether a column says the same in all rows of a participant."""
    return subject is not None and bool((frame.groupby(subject)[name].nunique() <= 1).all())

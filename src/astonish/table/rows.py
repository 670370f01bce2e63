"""What do the rows of a table say, and which of them cannot be used?"""

import re
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from astonish.domain import Numbers
from astonish.table import cells, meaning
from astonish.table.columns import Columns

_COUNTERS = re.compile(r"(.*[_. ])?(trial|onset|timestamp)([_. ]?(no|nr|num|number|index|id|n))?", re.IGNORECASE)


class Said(NamedTuple):
    """What the rows say, column by column, and by position what is wrong with them."""

    subjects: Any
    blocks: Numbers
    outcomes: tuple[Numbers, ...]
    responses: Numbers | None
    given: dict[str, Numbers]
    problems: dict[int, str]


def read_rows(frame: pd.DataFrame, columns: Columns, understood: meaning.Meaning, response_range: Any) -> Said:
    """All columns that have a meaning, read; a row with several problems has the first of them."""
    names = ["1"] * len(frame) if columns.subject is None else frame[columns.subject]
    subjects = cells.names(pd.Series(names, name=columns.subject))
    blocks = np.zeros(len(frame)) if columns.block is None else _blocks(subjects.values, frame[columns.block])
    read = [
        meaning.read(frame[name], labels)
        for name, labels in zip(columns.outcomes, _outcome_labels(understood), strict=True)
    ]
    given = {parameter: cells.numbers(frame[name]) for parameter, name in columns.given.items()}
    problems = [_blank(frame), cells.missing(subjects, str(columns.subject))]
    problems += [{int(at): f"{columns.block} is empty" for at in np.flatnonzero(np.isnan(blocks))}]
    problems += [part.problems for part in (*read, *given.values())]
    problems += [cells.missing(part, columns.given[parameter]) for parameter, part in given.items()]
    responses = None
    if columns.response is not None:
        answers = meaning.read(frame[columns.response], _choice_labels(understood))
        responses = answers.values
        problems += [answers.problems, _outside(answers.values, columns.response, response_range)]
    problems += [_doubles(frame, subjects.values)]
    first = {at: reason for part in reversed(problems) for at, reason in part.items()}
    values = {parameter: part.values for parameter, part in given.items()}
    return Said(subjects.values, blocks, tuple(part.values for part in read), responses, values, first)


def _outcome_labels(understood: meaning.Meaning) -> list[Any]:
    if understood.kind == "transitions":
        return [understood.contexts, understood.labels]
    return [None if understood.kind == "continuous" else understood.labels]


def _choice_labels(understood: meaning.Meaning) -> Any:
    return understood.labels if understood.response_kind == "choice" else None


def _blocks(subjects: Any, column: "pd.Series[Any]") -> Numbers:
    """A number for each row, which differs between a participant's successive blocks; NaN where it is not known."""
    found = cells.names(column).values
    numbers = pd.factorize(found)[0].astype(np.float64)
    known = pd.notna(found) & pd.notna(subjects)
    if _is_flag(subjects[known], found[known]):
        begins = pd.Series((found == "1").astype(np.float64))
        numbers = begins.groupby(pd.Series(subjects).fillna("")).cumsum().to_numpy()
    return np.where(pd.notna(found), numbers, np.nan)


def _is_flag(subjects: Any, found: Any) -> bool:
    """Whether a block column marks first trials: only 0 and 1, 1 at the start of all, and never twice in a row."""
    if not set(found) <= {"0", "1"}:
        return False
    rows = pd.Series(found == "1").groupby(pd.Series(subjects))
    return bool(rows.first().all()) and not any((part & part.shift(fill_value=False)).any() for _, part in rows)


def _blank(frame: pd.DataFrame) -> dict[int, str]:
    if frame.shape[1] < 2:
        return {}
    return {int(at): "the line is empty" for at in np.flatnonzero(frame.isna().all(axis=1))}


def _outside(responses: Numbers, name: str, allowed: tuple[float, float] | None) -> dict[int, str]:
    if allowed is None:
        return {}
    low, high = allowed
    outside = np.flatnonzero((responses < low) | (responses > high))
    return {int(at): f"{name} = {responses[at]:g} is outside the range from {low:g} to {high:g}" for at in outside}


def _doubles(frame: pd.DataFrame, subjects: Any) -> dict[int, str]:
    """Rows that are there twice: the same in all columns as the participant's row before, the trial's number included.

    Without a column that counts trials, or tells the time, rows may well be the same.
    """
    who = pd.Series(subjects, frame.index).fillna("")
    counters = [name for name in frame.columns if _COUNTERS.fullmatch(str(name)) and _counts(frame[name], who)]
    if not counters:
        return {}
    earlier = frame.groupby(who, sort=False).shift()
    same = ((frame == earlier) | (frame.isna() & earlier.isna())).all(axis=1) & frame[counters[0]].notna()
    return {int(at): f"the row is there twice, with {counters[0]} the same" for at in np.flatnonzero(same)}


def _counts(column: "pd.Series[Any]", who: "pd.Series[Any]") -> bool:
    """Whether a column differs from row to row, as a rule."""
    steps = pd.Series(cells.numbers(column).values, column.index).groupby(who, sort=False).diff().dropna()
    return len(steps) > 0 and float((steps != 0).mean()) > 0.5

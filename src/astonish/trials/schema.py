"""What do the columns of a table of trials mean, what do its rows hold, and which of them cannot be used?"""

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from astonish.domain import Numbers
from astonish.kinds import MEASURED, OutcomeKind, ResponseKind
from astonish.trials import cells
from astonish.trials.cells import Cells, few
from astonish.trials.trials import Columns

_BINARY = (0, 1)
_COUNTERS = re.compile(r"(.*[_. ])?(trial|onset|timestamp)([_. ]?(no|nr|num|number|index|id|n))?", re.IGNORECASE)


class Schema(NamedTuple):
    """How outcomes and responses are to be read.

    labels: of outcomes, or else of choices; None if both are numbers. contexts: the labels of the first column of a
    pair. guessed: what was not given, and has been concluded from the data.
    """

    kind: str
    response_kind: str | None
    labels: tuple[Any, ...] | None
    contexts: tuple[Any, ...] | None
    guessed: tuple[str, ...]


class ParsedRows(NamedTuple):
    """The values of the rows, column by column, and by position what is wrong with them."""

    subjects: Any
    blocks: Numbers
    outcomes: tuple[Numbers, ...]
    responses: Numbers | None
    given: dict[str, Numbers]
    problems: dict[int, str]


def infer_schema(
    frame: pd.DataFrame, columns: Columns, kind: str | None, response_kind: str | None, labels: Sequence[Any] | None
) -> Schema:
    """The schema as far as it was given, completed by what the columns hold."""
    outcomes = [frame[name] for name in columns.outcomes]
    response = None if columns.response is None else frame[columns.response]
    _check(len(outcomes), kind, response, response_kind)
    guessed = tuple(name for name, asked in (("kind", kind), ("response_kind", response_kind)) if asked is None)
    listed = None if labels is None else tuple(map(cells.label, labels))
    kind = kind or _kind(outcomes, listed)
    if response is not None:
        response_kind = response_kind or _response_kind(response, kind, outcomes[-1])
    known = listed or _labels(kind, outcomes, response if response_kind == "choice" else None)
    if kind == "binary" and len(known) != 2:
        raise ValueError(f"{outcomes[0].name} holds {few(known)}, which are not two outcomes; give kind='categorical'")
    contexts = None
    if kind == "transitions":  # indices of labels if these share any with the outcomes; else of labels of their own
        found = _found(outcomes[0])
        contexts = known if found & set(known) else cells.in_order(found)
    return Schema(kind, response_kind, known, contexts, guessed)


def parse_rows(frame: pd.DataFrame, columns: Columns, schema: Schema, response_range: Any) -> ParsedRows:
    """All columns that have a meaning, read; a row with several problems has the first of them."""
    names = ["1"] * len(frame) if columns.subject is None else frame[columns.subject]
    subjects = cells.names(pd.Series(names, name=columns.subject))
    blocks = np.zeros(len(frame)) if columns.block is None else _blocks(subjects.values, frame[columns.block])
    labels = [schema.contexts, schema.labels][-len(columns.outcomes) :] if schema.kind not in MEASURED else [None]
    outcomes = [_read(frame[name], own) for name, own in zip(columns.outcomes, labels, strict=True)]
    given = {parameter: cells.numbers(frame[name]) for parameter, name in columns.given.items()}
    blank = np.flatnonzero(frame.isna().all(axis=1)) if frame.shape[1] > 1 else ()
    problems = [{int(at): "the line is empty" for at in blank}, cells.missing(subjects, str(columns.subject))]
    problems += [{int(at): f"{columns.block} is empty" for at in np.flatnonzero(np.isnan(blocks))}]
    problems += [part.problems for part in (*outcomes, *given.values())]
    problems += [cells.missing(part, columns.given[parameter]) for parameter, part in given.items()]
    responses = None
    if columns.response is not None:
        read = _read(frame[columns.response], schema.labels if schema.response_kind == "choice" else None)
        responses = read.values
        problems += [read.problems, _outside(responses, columns.response, response_range)]
    problems += [_doubles(frame, subjects.values)]
    first = {at: reason for part in reversed(problems) for at, reason in part.items()}
    values = {parameter: part.values for parameter, part in given.items()}
    return ParsedRows(subjects.values, blocks, tuple(part.values for part in outcomes), responses, values, first)


def _check(outcomes: int, kind: str | None, response: Any, response_kind: str | None) -> None:
    if kind not in (None, *OutcomeKind):
        raise ValueError(f"kind = {kind!r} is not allowed; give one of {', '.join(OutcomeKind)}")
    if kind is not None and (kind == "transitions") != (outcomes == 2):
        raise ValueError(f"kind = {kind!r} does not fit; give a pair of outcome columns for transitions, else one")
    if response_kind not in (None, *ResponseKind):
        raise ValueError(f"response_kind = {response_kind!r} is not allowed; give one of {', '.join(ResponseKind)}")
    if response_kind == "circular" and kind != "circular":
        raise ValueError("response_kind = 'circular' is for responses to angles; give kind='circular', too")
    if response_kind is not None and response is None:
        raise ValueError(f"response_kind = {response_kind!r}, but no response was named; name its column")


def _kind(outcomes: Sequence["pd.Series[Any]"], labels: Any) -> str:
    if len(outcomes) == 2:
        return "transitions"
    if labels is not None or cells.is_text(outcomes[0]):
        return "categorical"
    return "binary" if _only(outcomes[0], _BINARY) else "continuous"


def _response_kind(response: "pd.Series[Any]", kind: str, outcome: "pd.Series[Any]") -> str:
    if cells.is_text(response):
        return "choice"
    if kind == "circular":
        return "circular"
    numbered = kind in ("categorical", "transitions") and not cells.is_text(outcome)
    return "choice" if _only(response, tuple(_found(outcome)) if numbered else _BINARY) else "continuous"


def _only(column: "pd.Series[Any]", allowed: tuple[Any, ...]) -> bool:
    values = cells.numbers(column).values
    seen = values[np.isfinite(values)]
    return len(seen) > 0 and bool(np.isin(seen, allowed).all())


def _found(column: "pd.Series[Any]") -> set[Any]:
    return {label for label in cells.labels(column).values.tolist() if label is not None}


def _labels(kind: str, outcomes: Sequence["pd.Series[Any]"], choices: "pd.Series[Any] | None") -> Any:
    """Labels of outcomes, and of choices among them; for outcomes that are numbers, those of choices alone."""
    chosen = set() if choices is None else _found(choices)
    if kind in MEASURED:
        return cells.in_order(chosen) or None
    happened = _found(outcomes[-1])
    if kind == "binary" and not cells.is_text(outcomes[-1]):
        happened = set(_BINARY)
    if chosen and not chosen & happened:
        raise ValueError(
            f"the choices {few(cells.in_order(chosen))} are none of the outcomes {few(cells.in_order(happened))}; "
            "write each choice as the outcome that it predicts"
        )
    if kind == "binary":
        return cells.in_order(happened)
    if kind == "transitions" and happened & _found(outcomes[0]):
        happened |= _found(outcomes[0])
    return cells.in_order(happened | chosen)


def _read(column: "pd.Series[Any]", labels: tuple[Any, ...] | None) -> Cells:
    """A column as numbers, or where there are labels as their indices."""
    if labels is None:
        return cells.numbers(column)
    found = cells.labels(column)
    place = {label: index for index, label in enumerate(labels)}
    strange = {
        at: f"{column.name} = {label!r} is none of {few(labels)}"
        for at, label in enumerate(found.values.tolist())
        if label is not None and label not in place
    }
    indices = np.array([place.get(label, np.nan) for label in found.values.tolist()], np.float64)
    return Cells(indices, found.problems | strange)


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


def _outside(responses: Numbers, name: str, allowed: tuple[float, float] | None) -> dict[int, str]:
    low, high = allowed or (-np.inf, np.inf)
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

"""What do the rows of a table hold, which of them cannot be used, and which responses?"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from astonish.core.names import MEASURED, OutcomeKind
from astonish.core.numbers import FloatArray
from astonish.people.tables import cells, order, questions
from astonish.people.tables.cells import Cells, few
from astonish.people.tables.design import design_columns
from astonish.people.tables.schema import Schema
from astonish.people.tables.trials import Columns

Range = tuple[float, float] | None


class ParsedRows(NamedTuple):
    """The values of the rows, column by column.

    order: the rows by participant, and in the order of the trials. problems: by position, what is wrong with a row.
    unread: the same of responses, whose rows are used nevertheless. notes: what else was noticed.
    payoffs: by name, columns that say what options paid. design: by name, those of conditions, groups, covariates and
    changes. second: second responses.
    """

    subjects: Any
    blocks: FloatArray
    outcomes: tuple[FloatArray, ...]
    responses: FloatArray | None
    given: dict[str, FloatArray]
    order: NDArray[np.intp]
    problems: dict[int, str]
    unread: dict[int, str]
    payoffs: dict[str, FloatArray]
    design: dict[str, Any]
    second: FloatArray | None
    notes: tuple[str, ...] = ()


def parse_rows(
    frame: pd.DataFrame, columns: Columns, schema: Schema, scale: Range, lines: NDArray[np.intp], unit: str
) -> ParsedRows:
    """All columns that have a meaning, read; a row with several problems has the first of them."""
    names = ["1"] * len(frame) if columns.subject is None else frame[columns.subject]
    subjects = cells.names(pd.Series(names, name=columns.subject))
    who = pd.factorize(subjects.values)[0]
    labels = [schema.contexts, schema.labels][-len(columns.outcomes) :] if schema.kind not in MEASURED else [None]
    outcomes = [_read(frame[name], own) for name, own in zip(columns.outcomes, labels, strict=True)]
    given = {parameter: cells.numbers(frame[name]) for parameter, name in columns.given.items()}
    needed = [(columns.subject, subjects), *_block_and_trial(frame, columns)]
    needed += [(columns.given[parameter], part) for parameter, part in given.items()]
    needed += [(columns.condition, cells.labels(frame[columns.condition]))] if columns.condition else []
    payoffs = {name: _read(frame[name], labels[-1]) for name in (*columns.counterfactual, *columns.payoffs)}
    first = _first_problems(frame, needed, [*outcomes, *payoffs.values()], who)
    good = np.ones(len(frame), bool)
    good[list(first)] = False
    blocks, rows = _blocks_and_order(frame, columns, who)
    notes = [] if columns.subject else questions.of_whom(frame)
    if columns.trial is not None:
        order.check_different(who, blocks, frame[columns.trial], good, lines, unit)
    else:
        notes += order.check_counters(frame, who, blocks, good, lines, unit)
    notes += order.returns(who, blocks, rows[good[rows]], columns.block)
    responses, unread = _responses(frame, columns, schema, scale)
    second = Cells(None, {}) if columns.second_response is None else cells.numbers(frame[columns.second_response])
    return ParsedRows(
        subjects.values,
        blocks,
        tuple(part.values for part in outcomes),
        responses,
        {parameter: part.values for parameter, part in given.items()},
        rows,
        first,
        {at: reason for at, reason in (second.problems | unread).items() if good[at]},
        {name: part.values for name, part in payoffs.items()},
        design_columns(frame, columns),
        second.values,
        tuple(notes),
    )


def _first_problems(
    frame: pd.DataFrame, needed: Sequence[tuple[str | None, Cells]], outcomes: Sequence[Cells], who: Any
) -> dict[int, str]:
    """By position, what is wrong with a row. needed: columns of which no cell may be missing, by name."""
    blank = np.flatnonzero(frame.isna().all(axis=1)) if frame.shape[1] > 1 else ()
    problems = [{int(at): "the line is empty" for at in blank}]
    problems += [part.problems | cells.missing(part, str(name)) for name, part in needed]
    problems += [*(part.problems for part in outcomes), order.doubles(frame, who)]
    return {at: reason for part in reversed(problems) for at, reason in part.items()}


def _block_and_trial(frame: pd.DataFrame, columns: Columns) -> Iterator[tuple[str, Cells]]:
    if columns.block is not None:
        yield columns.block, cells.names(frame[columns.block])
    if columns.trial is not None:
        trial = frame[columns.trial]
        yield columns.trial, cells.names(trial) if cells.is_text(trial) else cells.numbers(trial)


def _read(column: "pd.Series[Any]", labels: tuple[Any, ...] | None) -> Cells:
    """A column as numbers, or where there are labels as their indices, whatever letters are capital in either."""
    if labels is None:
        return cells.numbers(column)
    found = cells.labels(column)
    codes, different = pd.factorize(found.values)
    exact = {label: index for index, label in enumerate(labels)}
    place = {cells.folded(label): index for label, index in exact.items()}
    place = {} if len(place) < len(exact) else place  # where capital letters tell labels apart
    known = [exact.get(label, place.get(cells.folded(label), np.nan)) for label in different]
    indices = np.array([*known, np.nan], np.float64)[codes]
    strange = {
        int(at): f"{column.name} = {found.values[at]!r} is none of {few(labels)}"
        for at in np.flatnonzero(np.isnan(indices) & (codes >= 0))
    }
    return Cells(indices, found.problems | strange)


def _responses(
    frame: pd.DataFrame, columns: Columns, schema: Schema, scale: Range
) -> tuple[FloatArray | None, dict[int, str]]:
    """The responses, and why some could not be read. scale: those that mean 0 and 1."""
    if columns.response is None:
        return None, {}
    choices = schema.options or schema.labels
    values, problems = _read(frame[columns.response], choices if schema.response_kind == "choice" else None)
    if scale is None or schema.response_kind == "choice":
        return values, problems
    low, high = scale
    scaled = (values - low) / (high - low)
    if schema.kind == OutcomeKind.BINARY:
        name = f"the scale from {low:g} to {high:g}"
        beyond = np.flatnonzero((scaled < 0) | (scaled > 1))
        problems |= {int(at): f"{columns.response} = {values[at]:g} is outside {name}" for at in beyond}
        scaled[beyond] = np.nan
    return scaled, problems


def without_impossible(column: "pd.Series[Any]", allowed: Range) -> Cells:
    """The responses without those outside of a range, as a column; and by position which these are."""
    if allowed is None:
        return Cells(column, {})
    low, high = allowed
    values = cells.numbers(column).values
    if cells.is_text(column):
        raise ValueError(
            f"response_range = {allowed!r} (--range) is for numbers, but {column.name} holds text; leave it out, or "
            "list what can occur as labels (--label)"
        )
    outside = (values < low) | (values > high)
    sentence = f"is outside the range from {low:g} to {high:g}"
    problems = {int(at): f"{column.name} = {values[at]:g} {sentence}" for at in np.flatnonzero(outside)}
    return Cells(column.mask(pd.Series(outside, column.index)) if outside.any() else column, problems)


def _blocks_and_order(frame: pd.DataFrame, columns: Columns, who: Any) -> tuple[FloatArray, NDArray[np.intp]]:
    """A number for each row, which differs between a participant's successive blocks; and the rows in order."""
    trial = None if columns.trial is None else frame[columns.trial]
    rows = order.by_trial(who, trial)
    if columns.block is None:
        return np.zeros(len(frame)), rows
    found = cells.names(frame[columns.block]).values
    marks = _are_marks(found, who, rows[pd.notna(found)[rows] & (who >= 0)[rows]])
    if marks and (trial is None or not order.repeats(who, trial)):
        blocks = np.empty(len(frame))
        blocks[rows] = pd.Series((found == "1")[rows].astype(np.float64)).groupby(who[rows]).cumsum().to_numpy()
        return blocks, rows
    blocks = _numbered(found)
    return blocks, rows if trial is None or not order.repeats(who, trial) else order.by_trial(who, trial, blocks)


def _numbered(found: Any) -> FloatArray:
    """Blocks by the numbers that they have, or else in the order in which they come."""
    codes, different = pd.factorize(found)
    own = pd.to_numeric(pd.Series(different, dtype=object), errors="coerce").to_numpy(np.float64)
    return np.append(np.arange(len(own)) if np.isnan(own).any() else own, np.nan)[codes]


def _are_marks(found: Any, who: Any, rows: NDArray[np.intp]) -> bool:
    """Whether a block column marks first trials: only 0 and 1, and 1 never twice in a row."""
    if not set(pd.unique(found[rows])) <= {"0", "1"}:
        return False
    marks, same = found[rows] == "1", np.diff(who[rows], prepend=-1) == 0
    return bool(marks.any()) and not (marks[1:] & marks[:-1] & same[1:]).any()

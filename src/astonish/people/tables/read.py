"""How are the rows of a table sorted into participants, blocks and trials?"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from astonish.core.names import MEASURED
from astonish.core.numbers import BoolArray
from astonish.people.tables import cells, questions
from astonish.people.tables.choices import with_choices
from astonish.people.tables.design import with_design
from astonish.people.tables.missing import check_missing
from astonish.people.tables.rows import ParsedRows, Range, parse_rows, without_impossible
from astonish.people.tables.schema import Schema, infer_schema
from astonish.people.tables.source import TableRows, open_rows
from astonish.people.tables.trials import Columns, Rejected, Trials

LEAST = 3  # outcomes that a participant needs at least


def read_trials(
    source: Any,
    columns: Columns,
    *,
    kind: str | None = None,
    response_kind: str | None = None,
    responds_before: bool | None = None,
    labels: Sequence[Any] | None = None,
    response_range: tuple[float, float] | None = None,
    response_scale: tuple[float, float] | None = None,
    missing: Sequence[Any] | None = None,
    decimal: str | None = None,
    options: Sequence[Any] | None = None,
) -> Trials:
    """Read a table with a row for each trial, in the order of the trials unless `columns` names a `trial`.

    source: a file (.csv, .tsv, .parquet, .xlsx; text also with .gz), or a DataFrame. Cells that are empty, NA or NaN
    are missing. Rows that cannot be used are left out, and `rejected` says why; a response that cannot be used is
    missing, and `unread` says why.
    kind: of the outcome: "continuous", "binary", "categorical", "transitions" or "circular"; guessed when left out, but
    angles ("circular") are taken for other numbers unless it is given.
    response_kind: "continuous", "choice" or "circular"; guessed when left out.
    responds_before: whether a response is given before the outcome of its trial is seen; needed if there are responses.
    labels: the outcomes that can occur, in order, so that the first of two is 0; those that do occur when left out.
    response_range: the smallest and the largest response that is possible, as they are written.
    response_scale: the responses that mean 0 and 1, such as (0, 100) for percentages, or (7, 1) if 7 means never.
    missing: what else means that a cell is missing, such as [-999].
    decimal: "," or "."; recognised when left out.
    options: what can be chosen, in order, if columns name a choice; what was chosen by anybody when left out. Choices
    come before their outcomes, so that `responds_before` is not needed.

    >>> from pandas import DataFrame
    >>> table = DataFrame({"who": ["a", "a", "b", "a", "a"], "x": [1.5, None, 3.0, 2.5, 2.0]})
    >>> trials = read_trials(table, Columns("x", subject="who"))
    >>> trials.outcomes, trials.observed
    (array([[1.5, 0. , 2.5, 2. ]]), array([[ True, False,  True,  True]]))
    >>> print(trials.preview())
    participants: 1 (by who), of 4 trials in one block
    outcome x: continuous (guessed), from 1.5 to 2.5; 1 missing
    excluded participants: 1
      b: 1 outcome, fewer than 3
    """
    _check_request(columns, responds_before, response_range, response_scale)
    rows = open_rows(source, columns.subject, columns.measured, decimal)
    columns.check(list(rows.frame.columns), rows.doubled)
    if not len(rows.frame):
        why = f" that can be read ({next(iter(rows.rejected.values()))})" if rows.rejected else ""
        raise ValueError(f"the table has no rows{why}; give at least one")
    frame = rows.frame.copy(deep=False)  # of which cells are left out, while the table stays as it is written
    for name in columns.named:
        frame[name] = cells.without(frame[name], missing or ())
    impossible: dict[int, str] = {}
    if columns.response is not None:
        frame[columns.response], impossible = without_impossible(frame[columns.response], response_range)
    if missing is None:
        check_missing(frame, columns, labels, options)
    scaled = response_kind or ("continuous" if response_scale else None)
    schema = infer_schema(frame, columns, kind, scaled, labels, options)
    parsed = parse_rows(frame, columns, schema, response_scale, rows.lines, rows.unit)
    _check_some(rows, parsed)
    trials = _to_arrays(rows.frame, columns, schema, parsed, bool(responds_before) or columns.choice is not None)
    return _described(trials, rows, parsed, impossible, response_scale)


def _check_request(columns: Columns, responds_before: bool | None, response_range: Any, response_scale: Any) -> None:
    if columns.choice is not None and responds_before is False:
        raise ValueError("a choice comes before its outcome; leave out responds_before (--responded)")
    if columns.response is not None and columns.choice is None and responds_before is None:
        raise ValueError(
            f"are the responses {columns.response!r} given before or after the outcome of their trial is seen? Give "
            "responds_before=True for predictions of the outcome in the same row, responds_before=False for estimates "
            "that have taken it into account (in the command: --responded before, or after)"
        )
    ranges = {"response_range": response_range, "response_scale": response_scale}
    if columns.response is None and (columns.ignore or any(ranges.values())):
        raise ValueError(
            "ignore, response_range and response_scale are about responses; name the column of the response"
        )
    for name, ends in ranges.items():
        if ends is not None and (len(ends) != 2 or ends[0] == ends[1] or not np.isfinite(ends).all()):
            raise ValueError(f"{name} = {ends!r} is not allowed; give a pair (low, high)")
    if response_range is not None and response_range[0] > response_range[1]:
        raise ValueError(f"response_range = {response_range!r} is not allowed; give a pair (low, high)")


def _check_some(rows: TableRows, parsed: ParsedRows) -> None:
    """Refuse if all rows, or all responses, could not be read."""
    unused, unread = parsed.problems, parsed.unread
    if len(unused) == len(rows.frame):
        raise ValueError(
            f"all {len(unused)} rows were rejected, the first of them ({rows.unit} {rows.lines[min(unused)]}) because "
            f"{unused[min(unused)]}; give other columns, or another kind"
        )
    if parsed.responses is not None and unread and np.isnan(parsed.responses).all():
        raise ValueError(
            f"none of the responses could be read, the first of them ({rows.unit} {rows.lines[min(unread)]}) because "
            f"{unread[min(unread)]}; give another column, or another kind (--response-kind)"
        )


def _described(trials: Trials, rows: TableRows, parsed: ParsedRows, impossible: dict[int, str], scale: Range) -> Trials:
    """The same with what is to be said about it."""
    left = {int(rows.lines[at]): reason for at, reason in parsed.problems.items()} | dict(rows.rejected)
    unread = {int(rows.lines[at]): reason for at, reason in (impossible | parsed.unread).items()}
    ask = questions.another_scale(trials) if trials.response_kind == "continuous" and scale is None else ""
    return replace(
        trials,
        rejected=tuple(Rejected(line, left[line]) for line in sorted(left)),
        unread=tuple(Rejected(line, unread[line]) for line in sorted(unread.keys() - left.keys())),
        unit=rows.unit,
        response_scale=scale,
        another_scale=ask,
        notes=(*(f"file: {said}" for said in rows.said), *(f"note: {note}" for note in parsed.notes)),
    )


def _to_arrays(
    frame: pd.DataFrame, columns: Columns, schema: Schema, parsed: ParsedRows, responds_before: bool
) -> Trials:
    """Rows become series, one for each participant."""
    good = np.ones(len(frame), bool)
    good[list(parsed.problems)] = False
    kept = np.flatnonzero(good)
    codes, names = pd.factorize(parsed.subjects[kept])
    present = ~np.any([np.isnan(part[kept]) for part in parsed.outcomes], axis=0)
    seen = np.bincount(codes, weights=present, minlength=len(names))
    few = {
        name: f"{int(count) or 'no'} outcome{'' if count == 1 else 's'}, fewer than {LEAST}"
        for name, count in zip(names, seen, strict=True)
        if count < LEAST
    }
    if len(few) == len(names):
        raise ValueError(f"no participant has {LEAST} outcomes or more; give more trials, or another subject column")
    rows = _places(codes, seen >= LEAST, (np.cumsum(good) - 1)[parsed.order[good[parsed.order]]])
    there = rows >= 0

    def series(values: Any) -> Any:
        return values[kept][rows]

    observed = there & present[rows]
    parts = [np.where(observed, series(part), 0.0) for part in parsed.outcomes]
    if schema.kind not in MEASURED:
        parts = [part.astype(np.int32) for part in parts]
    blocks = series(parsed.blocks)
    starts = there & np.concatenate([there[:, :1], blocks[:, 1:] != blocks[:, :-1]], axis=1)
    responses = None if parsed.responses is None else np.where(there, series(parsed.responses), np.nan)
    flags = [cells.flags(frame[name]) for name in columns.ignore]
    ignored = series(np.any([np.zeros(len(frame), bool), *flags], axis=0))
    if responds_before and columns.choice is None:  # then the response to this outcome is the next one of the block
        ignored = np.concatenate([np.zeros_like(ignored[:, :1]), ignored[:, :-1]], axis=1) & ~starts
    scored = np.zeros_like(there) if responses is None else np.isfinite(responses) & ~ignored
    given = {name: series(values) for name, values in parsed.given.items()}
    filled = {name: np.where(there, values, values[:, :1]) for name, values in given.items()}  # allowed in padding too
    trials = Trials(
        frame=_with_numbers(frame.iloc[kept].reset_index(drop=True), columns, schema),
        subjects=tuple(name for name in names if name not in few),
        outcomes=parts[0] if len(parts) == 1 else tuple(parts),
        observed=observed,
        starts=starts,
        rows=rows,
        responses=responses,
        scored=scored,
        given=filled,
        responds_before=responds_before,
        kind=schema.kind,
        response_kind=schema.response_kind,
        labels=schema.labels,
        rejected=(),
        excluded=few,
        columns=columns,
        guessed=schema.guessed,
        second=None if parsed.second is None else np.where(there, series(parsed.second), np.nan),
    )
    if schema.options is not None:
        paid = {name: series(values) for name, values in parsed.payoffs.items()}
        trials = with_choices(trials, schema.options, paid)
    return with_design(trials, {name: values[kept] for name, values in parsed.design.items()})


def _with_numbers(frame: pd.DataFrame, columns: Columns, schema: Schema) -> pd.DataFrame:
    """Columns of numbers as such, if it was only for rejected rows that they were read as text."""
    names = [*columns.given.values()]
    names += columns.outcomes if schema.kind in MEASURED else ()
    names += [str(columns.response)] if schema.response_kind in MEASURED else []
    texts = {name: frame[name] for name in names if not pd.api.types.is_numeric_dtype(frame[name])}
    read = {name: pd.to_numeric(column, errors="coerce") for name, column in texts.items()}
    return frame.assign(**{name: read[name] for name in texts if not (read[name].isna() & texts[name].notna()).any()})


def _places(codes: NDArray[np.intp], usable: BoolArray, order: NDArray[np.intp]) -> NDArray[np.intp]:
    """Where the trials of each usable participant are among the rows; -1 after the last. order: of the trials."""
    sorted_rows = order[np.argsort(codes[order], kind="stable")]
    everyone = np.split(sorted_rows, np.cumsum(np.bincount(codes))[:-1])
    lists = [places for places, use in zip(everyone, usable, strict=True) if use]
    rows = np.full((len(lists), max(map(len, lists))), -1, np.intp)
    for row, places in zip(rows, lists, strict=True):
        row[: len(places)] = places
    return rows

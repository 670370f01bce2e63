"""How are the rows of a table sorted into participants, blocks and trials?"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from astonish.deprecated import renamed_arguments
from astonish.domain import Mask
from astonish.kinds import MEASURED
from astonish.trials import cells
from astonish.trials.schema import ParsedRows, Schema, infer_schema, parse_rows
from astonish.trials.source import open_rows
from astonish.trials.trials import Columns, Rejected, Trials

LEAST = 3  # outcomes that a participant needs at least


@renamed_arguments(before="responds_before")
def read_trials(
    source: Any,
    columns: Columns,
    *,
    kind: str | None = None,
    response_kind: str | None = None,
    responds_before: bool | None = None,
    labels: Sequence[Any] | None = None,
    response_range: tuple[float, float] | None = None,
) -> Trials:
    """Read a table with a row for each trial, in the order of the trials.

    source: a file (.csv, .tsv, .parquet; text also with .gz), or a DataFrame. Cells that are empty, NA or NaN are
    missing. Rows that cannot be used are left out, and `rejected` says why.
    kind: of the outcome: "continuous", "binary", "categorical", "transitions" or "circular"; guessed when left out, but
    angles ("circular") are taken for other numbers unless it is given.
    response_kind: "continuous", "choice" or "circular"; guessed when left out.
    responds_before: whether a response is given before the outcome of its trial is seen; needed if there are responses.
    labels: the outcomes that can occur, in order; those that do occur when left out.
    response_range: the smallest and the largest response that is possible.

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
    _check_request(columns, responds_before, response_range)
    rows = open_rows(source, columns.subject)
    columns.check(list(rows.frame.columns))
    if not len(rows.frame):
        raise ValueError("the table has no rows; give at least one")
    schema = infer_schema(rows.frame, columns, kind, response_kind, labels)
    parsed = parse_rows(rows.frame, columns, schema, response_range)
    rejected = tuple(Rejected(int(rows.lines[at]), reason) for at, reason in sorted(parsed.problems.items()))
    if len(rejected) == len(rows.frame):
        line, reason = rejected[0]
        raise ValueError(
            f"all {len(rejected)} rows were rejected, the first of them ({rows.unit} {line}) because {reason}; "
            "give other columns, or another kind"
        )
    trials = _to_arrays(rows.frame, columns, schema, parsed, bool(responds_before))
    return replace(trials, rejected=rejected, unit=rows.unit)


def _check_request(columns: Columns, responds_before: bool | None, response_range: Any) -> None:
    if columns.response is not None and responds_before is None:
        raise ValueError(
            f"are the responses {columns.response!r} given before or after the outcome of their trial is seen? Give "
            "responds_before=True for predictions of the outcome in the same row, responds_before=False for estimates "
            "that have taken it into account (in the command: --responded before, or after)"
        )
    if columns.response is None and (columns.ignore or response_range is not None):
        raise ValueError("ignore and response_range are about responses; name the column of the response")
    if response_range is not None and not response_range[0] < response_range[1]:
        raise ValueError(f"response_range = {response_range} is not allowed; give the smaller number first")


def _to_arrays(
    frame: pd.DataFrame, columns: Columns, schema: Schema, parsed: ParsedRows, responds_before: bool
) -> Trials:
    """Rows become series, one for each participant."""
    kept = np.setdiff1d(np.arange(len(frame)), np.array(list(parsed.problems), np.intp))
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
    rows = _places(codes, seen >= LEAST)
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
    if responds_before:  # then the response to this outcome is the next one of the block
        ignored = np.concatenate([np.zeros_like(ignored[:, :1]), ignored[:, :-1]], axis=1) & ~starts
    scored = np.zeros_like(there) if responses is None else np.isfinite(responses) & ~ignored
    given = {name: series(values) for name, values in parsed.given.items()}
    filled = {name: np.where(there, values, values[:, :1]) for name, values in given.items()}  # allowed in padding too
    return Trials(
        frame=_cleaned(frame.iloc[kept].reset_index(drop=True), columns, schema),
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
    )


def _cleaned(frame: pd.DataFrame, columns: Columns, schema: Schema) -> pd.DataFrame:
    """Columns of numbers as such, if it was only for rejected rows that they were read as text."""
    names = [*columns.given.values()]
    names += columns.outcomes if schema.kind in MEASURED else ()
    names += [str(columns.response)] if schema.response_kind in MEASURED else []
    texts = [name for name in names if not pd.api.types.is_numeric_dtype(frame[name])]
    return frame.assign(**{name: pd.to_numeric(frame[name], errors="coerce") for name in texts})


def _places(codes: NDArray[np.intp], usable: Mask) -> NDArray[np.intp]:
    """Where the trials of each usable participant are among the rows; -1 after the last."""
    everyone = np.split(np.argsort(codes, kind="stable"), np.cumsum(np.bincount(codes))[:-1])
    lists = [places for places, use in zip(everyone, usable, strict=True) if use]
    rows = np.full((len(lists), max(map(len, lists))), -1, np.intp)
    for row, places in zip(rows, lists, strict=True):
        row[: len(places)] = places
    return rows

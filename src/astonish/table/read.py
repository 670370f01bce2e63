"""How are the rows of a table sorted into participants, blocks and trials?"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from astonish.domain import Numbers
from astonish.samples import Mask
from astonish.table import cells, meaning
from astonish.table.columns import Columns
from astonish.table.rows import Said, read_rows
from astonish.table.source import open_rows
from astonish.table.trials import Rejected, Trials

LEAST = 3  # outcomes without which nothing can be said of a participant


def read_trials(
    source: Any,
    columns: Columns,
    *,
    kind: str | None = None,
    response_kind: str | None = None,
    before: bool | None = None,
    labels: Sequence[Any] | None = None,
    response_range: tuple[float, float] | None = None,
) -> Trials:
    """Read a table with a row for each trial, in the order of the trials.

    source: a file (.csv, .tsv, .parquet; text also with .gz), or a DataFrame. Cells that are empty, NA or NaN are
    missing. Rows that cannot be used are left out, and `rejected` says why.
    kind: of the outcome: "continuous", "binary", "categorical" or "transitions"; guessed when left out.
    response_kind: "continuous" or "choice"; guessed when left out.
    before: whether a response is given before the outcome of its trial is seen. Needed if there are responses.
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
    _check_request(columns, before, response_range)
    rows = open_rows(source, columns.subject)
    columns.check(list(rows.frame.columns))
    outcomes = [rows.frame[name] for name in columns.outcomes]
    response = None if columns.response is None else rows.frame[columns.response]
    understood = meaning.understand(outcomes, response, kind, response_kind, labels)
    read = read_rows(rows.frame, columns, understood, response_range)
    rejected = tuple(Rejected(int(rows.lines[at]), reason) for at, reason in sorted(read.problems.items()))
    kept = np.setdiff1d(np.arange(len(rows.frame)), np.array(list(read.problems), np.intp))
    if not len(kept):
        raise ValueError(_nothing(rejected, rows.unit))
    trials = _laid_out(rows.frame, columns, understood, read, kept, bool(before))
    return replace(trials, rejected=rejected, unit=rows.unit)


def _check_request(columns: Columns, before: bool | None, response_range: Any) -> None:
    if columns.response is not None and before is None:
        raise ValueError(
            f"are the responses {columns.response!r} given before or after the outcome of their trial is seen? Give "
            "before=True for predictions of the outcome in the same row, before=False for estimates that have taken "
            "it into account (in the command: --response-time before, or after)"
        )
    if columns.response is None and (columns.ignore or response_range is not None):
        raise ValueError("ignore and response_range are about responses; name the column of the response")
    if response_range is not None and not response_range[0] < response_range[1]:
        raise ValueError(f"response_range = {response_range} is not allowed; give the smaller number first")


def _nothing(rejected: Sequence[Rejected], unit: str) -> str:
    if not rejected:
        return "the table has no rows; give at least one"
    line, reason = rejected[0]
    return (
        f"all {len(rejected)} rows were rejected, the first of them ({unit} {line}) because {reason}; "
        "give other columns, or another kind"
    )


def _laid_out(
    frame: pd.DataFrame,
    columns: Columns,
    understood: meaning.Meaning,
    read: Said,
    kept: NDArray[np.intp],
    before: bool,
) -> Trials:
    """Rows become series, one for each participant."""
    codes, names = pd.factorize(read.subjects[kept])
    present = ~np.any([np.isnan(part[kept]) for part in read.outcomes], axis=0)
    seen = np.bincount(codes, weights=present, minlength=len(names))
    few = {name: _too_few(int(number)) for name, number in zip(names, seen, strict=True) if number < LEAST}
    if len(few) == len(names):
        raise ValueError(f"no participant has {LEAST} outcomes or more; give more trials, or another subject column")
    rows = _places(codes, seen >= LEAST)
    there = rows >= 0

    def series(values: Any) -> Any:
        return values[kept][rows]

    observed = there & present[rows]
    parts = [np.where(observed, series(part), 0.0) for part in read.outcomes]
    if understood.kind != "continuous":
        parts = [part.astype(np.int32) for part in parts]
    blocks = series(read.blocks)
    starts = there & np.concatenate([there[:, :1], blocks[:, 1:] != blocks[:, :-1]], axis=1)
    responses = None if read.responses is None else np.where(there, series(read.responses), np.nan)
    ignored = np.zeros(len(frame), bool)
    for name in columns.ignore:
        ignored |= cells.flags(frame[name])
    unexplained = _following(series(ignored), starts) if before else series(ignored)
    scored = np.zeros_like(there) if responses is None else np.isfinite(responses) & ~unexplained
    return Trials(
        frame=_cleaned(frame.iloc[kept].reset_index(drop=True), columns, understood),
        subjects=tuple(name for name in names if name not in few),
        outcomes=parts[0] if len(parts) == 1 else tuple(parts),
        observed=observed,
        starts=starts,
        rows=rows,
        responses=responses,
        scored=scored,
        given={name: _held(series(values), there) for name, values in read.given.items()},
        before=before,
        kind=understood.kind,
        response_kind=understood.response_kind,
        labels=understood.labels,
        rejected=(),
        excluded=few,
        columns=columns,
        guessed=understood.guessed,
    )


def _following(marked: Mask, starts: Mask) -> Mask:
    """The trials that come next in the block."""
    return np.concatenate([np.zeros_like(marked[:, :1]), marked[:, :-1]], axis=1) & ~starts


def _cleaned(frame: pd.DataFrame, columns: Columns, understood: meaning.Meaning) -> pd.DataFrame:
    """Columns of numbers as such, if it was only for rejected rows that they were read as text."""
    names = [*columns.given.values()]
    names += columns.outcomes if understood.kind == "continuous" else ()
    names += [str(columns.response)] if understood.response_kind == "continuous" else []
    texts = [name for name in names if not pd.api.types.is_numeric_dtype(frame[name])]
    return frame.assign(**{name: pd.to_numeric(frame[name], errors="coerce") for name in texts})


def _too_few(number: int) -> str:
    return f"{number or 'no'} outcome{'' if number == 1 else 's'}, fewer than {LEAST}"


def _places(codes: NDArray[np.intp], usable: Mask) -> NDArray[np.intp]:
    """Where the trials of each usable participant are among the rows; -1 after the last."""
    ends = np.cumsum(np.bincount(codes))
    lists = [
        part for part, use in zip(np.split(np.argsort(codes, kind="stable"), ends[:-1]), usable, strict=True) if use
    ]
    rows = np.full((len(lists), max(map(len, lists))), -1, np.intp)
    for row, places in zip(rows, lists, strict=True):
        row[: len(places)] = places
    return rows


def _held(values: Numbers, there: Mask) -> Numbers:
    """The first value, which is an allowed one, in place of padding."""
    return np.where(there, values, values[:, :1])

"""Tables as trials: what the columns mean, what each row holds, and series for each participant."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import jax
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from astonish.core.names import MEASURED, OutcomeKind, ResponseKind
from astonish.core.numbers import BoolArray, FloatArray
from astonish.people.tables import cells
from astonish.people.tables.cells import Cells, few
from astonish.people.tables.files import TableRows, open_rows
from astonish.people.tables.trials import Columns, Rejected, Trials

LEAST = 3  # outcomes that a participant needs at least
_BINARY = (0, 1)
_STRANGE = 0.1  # so many choices that are not one of two outcomes are no mistakes
_TWO = (_BINARY, (-1, 1), (1, 2))  # pairs of numbers that stand for two outcomes
_YES = (
    ("no", "yes"), ("n", "y"), ("false", "true"), ("f", "t"), ("loss", "win"), ("lose", "win"), ("lost", "won"),
    ("incorrect", "correct"), ("wrong", "right"), ("miss", "hit"), ("off", "on"), ("absent", "present"),
    ("failure", "success"), ("fail", "pass"), ("bad", "good"), ("low", "high"), ("down", "up"), ("tails", "heads"),
    ("negative", "positive"), ("unrewarded", "rewarded"), ("nogo", "go"), ("no-go", "go"),
)  # fmt: skip

_Range = tuple[float, float] | None
_Listed = Sequence[Any] | None


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

    Args:
        source: A file (.csv, .tsv, .parquet, .xlsx; text also with .gz), or a DataFrame. Cells that are empty, NA or
            NaN are missing. Rows that cannot be used are left out, and `rejected` says why; a response that cannot be
            used is missing, and `unread` says why.
        columns: What the columns mean.
        kind: Of the outcome: "continuous", "binary", "categorical", "transitions" or "circular"; guessed when left
            out, but angles ("circular") are taken for other numbers unless it is given.
        response_kind: "continuous", "choice" or "circular"; guessed when left out.
        responds_before: Whether a response is given before the outcome of its trial is seen; needed if there are
            responses.
        labels: The outcomes that can occur, in order, so that the first of two is 0; those that do occur when left out.
        response_range: The smallest and the largest response that is possible, as they are written.
        response_scale: The responses that mean 0 and 1, such as (0, 100) for percentages, or (7, 1) if 7 means never.
        missing: What else means that a cell is missing, such as [-999].
        decimal: "," or "."; recognised when left out.
        options: What can be chosen, in order, if columns name a choice; what was chosen by anybody when left out.
            Choices come before their outcomes, so that `responds_before` is not needed.

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
    ranges = {"response_range": response_range, "response_scale": response_scale}
    _check_request(columns, kind, response_kind, responds_before, ranges)
    rows = open_rows(source, columns.subject, columns.measured, decimal)
    columns.check(list(rows.frame.columns), rows.doubled)
    if not len(rows.frame):
        why = f" that can be read ({next(iter(rows.rejected.values()))})" if rows.rejected else ""
        raise ValueError(f"the table has no rows{why}; give at least one")
    frame = rows.frame.copy(deep=False)  # of which cells are left out, while the table stays as it is written
    for name in columns.named:
        frame[name] = cells.without(frame[name], missing or ())
    unread: dict[int, str] = {}
    if columns.response is not None and response_range is not None:
        frame[columns.response], unread = _within(frame[columns.response], response_range)
    if missing is None:
        cells.check_missing(frame, columns, labels, options)
    if response_scale is not None:
        response_kind = response_kind or "continuous"
    schema = _infer_schema(frame, columns, kind, response_kind, labels, options)
    values, order, problems, strange, notes = parse_rows(frame, columns, schema, response_scale, rows)
    trials = _to_series(rows.frame, columns, schema, values, order, bool(responds_before))
    trials = _with_design(trials, frame.iloc[np.sort(order)])
    left = {int(rows.lines[at]): reason for at, reason in problems.items()} | dict(rows.rejected)
    unread = {int(rows.lines[at]): reason for at, reason in (unread | strange).items()}
    ask = cells.another_scale(trials) if trials.response_kind == "continuous" and response_scale is None else ""
    return replace(
        trials,
        rejected=tuple(Rejected(line, left[line]) for line in sorted(left)),
        unread=tuple(Rejected(line, unread[line]) for line in sorted(unread.keys() - left.keys())),
        unit=rows.unit,
        response_scale=response_scale,
        another_scale=ask,
        notes=(*(f"file: {said}" for said in rows.said), *(f"note: {note}" for note in notes)),
    )


def _check_request(
    columns: Columns, kind: str | None, response_kind: str | None, responds_before: bool | None, ranges: dict[str, Any]
) -> None:
    """Refuse what contradicts itself, whatever the table holds."""
    if columns.choice is not None and responds_before is False:
        raise ValueError("a choice comes before its outcome; leave out responds_before (--responded)")
    if columns.response is not None and columns.choice is None and responds_before is None:
        raise ValueError(
            f"are the responses {columns.response!r} given before or after the outcome of their trial is seen? Give "
            "responds_before=True for predictions of the outcome in the same row, responds_before=False for estimates "
            "that have taken it into account (in the command: --responded before, or after)"
        )
    if columns.response is None and (columns.ignore or any(ranges.values())):
        options = "ignore, response_range and response_scale"
        raise ValueError(f"{options} are about responses; name the column of the response")
    for name, ends in ranges.items():
        is_pair = ends is None or (len(ends) == 2 and ends[0] != ends[1] and np.isfinite(ends).all())
        if not is_pair or (ends and name == "response_range" and ends[0] > ends[1]):
            raise ValueError(f"{name} = {ends!r} is not allowed; give a pair (low, high)")
    if kind not in (None, *OutcomeKind):
        raise ValueError(f"kind = {kind!r} is not allowed; give one of {', '.join(OutcomeKind)}")
    if kind is not None and (kind == "transitions") != (len(columns.outcomes) == 2):
        raise ValueError(f"kind = {kind!r} does not fit; give a pair of outcome columns for transitions, else one")
    if response_kind not in (None, *ResponseKind):
        raise ValueError(f"response_kind = {response_kind!r} is not allowed; give one of {', '.join(ResponseKind)}")
    if response_kind == "circular" and kind != "circular":
        raise ValueError("response_kind = 'circular' is for responses to angles; give kind='circular', too")
    if response_kind is not None and columns.response is None:
        raise ValueError(f"response_kind = {response_kind!r}, but no response was named; name its column")


def _within(column: "pd.Series[Any]", allowed: tuple[float, float]) -> Cells:
    """Leave out responses outside of a range; and say by position which these are."""
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


# What the columns mean


class _Schema(NamedTuple):
    """How outcomes and responses are to be read.

    labels: of outcomes, or else of choices; None if both are numbers. contexts: the labels of the first column of a
    pair. options: what can be chosen, if outcomes are consequences of choices. guessed: what was not given, and has
    been concluded from the data.
    """

    kind: str
    response_kind: str | None
    labels: tuple[Any, ...] | None
    contexts: tuple[Any, ...] | None
    options: tuple[Any, ...] | None
    guessed: tuple[str, ...]


def _infer_schema(
    frame: pd.DataFrame,
    columns: Columns,
    kind: str | None,
    response_kind: str | None,
    labels: _Listed,
    options: _Listed,
) -> _Schema:
    """Complete the schema that was given by what the columns hold; ask where that may be wrong.

    Rewards of -1 and 1, or of 1 and 2, are numbers; other such outcomes stand for two labels.
    """
    outcomes = [frame[name] for name in columns.outcomes]
    response = None if columns.response is None else frame[columns.response]
    guessed = tuple(name for name, asked in (("kind", kind), ("response_kind", response_kind)) if asked is None)
    chosen = _option_labels(frame, columns, options)
    if chosen is not None:
        response, response_kind = None, "choice"
    listed = None
    if labels is not None:  # of outcomes that were read as true and false, TRUE is 1
        truth = {} if cells.is_text(outcomes[-1]) else {"false": 0, "true": 1}
        listed = tuple(truth.get(str(label).strip().lower(), cells.label(label)) for label in labels)
    for column in () if listed is not None else outcomes if response is None else (*outcomes, response):
        cells.check_alike(column, "labels (--label)")
    if chosen is not None and options is None:
        cells.check_alike(frame[columns.choice], "options (--options)")
    kind = kind or _kind(outcomes, response, listed, two_are_binary=chosen is None)
    if response is not None:
        response_kind = response_kind or _response_kind(response, kind, outcomes[-1])
    every = listed or _labels(kind, outcomes, response if response_kind == "choice" else None)
    if kind == "binary" and len(every) != 2:
        raise ValueError(f"{outcomes[0].name} holds {few(every)}, which are not two outcomes; give kind='categorical'")
    contexts = None
    if kind == "transitions":  # indices of labels if these share any with the outcomes; else of labels of their own
        before = cells.different_labels(outcomes[0])
        contexts = every if before & set(every) else cells.in_order(before)
    return _Schema(kind, response_kind, every, contexts, chosen, guessed)


def _option_labels(frame: pd.DataFrame, columns: Columns, options: Sequence[Any] | None) -> tuple[Any, ...] | None:
    """List the options among which people choose, in order: those given, or chosen; None if there are no choices."""
    if columns.choice is None:
        return None
    chosen = cells.different_labels(frame[columns.choice])
    labels = cells.in_order(chosen) if options is None else tuple(map(cells.label, options))
    if len(labels) < 2:
        only = f"only {few(labels)}" if labels else "nothing"
        raise ValueError(f"{columns.choice} holds {only}, which is no choice; name all options (--options A,B)")
    if len(set(labels)) < len(labels):
        raise ValueError(f"options = {few(labels)} names one twice; give each once")
    for option, names in (("counterfactual", columns.counterfactual), ("payoff", columns.payoffs)):
        other_of_two = option == "counterfactual" and len(labels) == 2 and len(names) == 1
        if len(names) not in (0, len(labels)) and not other_of_two:
            wanted = f"a column for each of the options {few(labels)}, in this order"
            raise ValueError(f"--{option} was given {len(names)} times; give {wanted}")
    return labels


def _kind(outcomes: Sequence["pd.Series[Any]"], response: Any, labels: Any, two_are_binary: bool) -> str:
    if len(outcomes) == 2:
        return "transitions"
    if labels is not None:
        return "binary" if len(labels) == 2 else "categorical"
    if cells.is_text(outcomes[0]):
        happened = cells.different_labels(outcomes[0])
        other = response is not None and cells.is_text(response) and _mostly_other(response, happened, _STRANGE)
        return "binary" if len(happened) == 2 and not other else "categorical"
    values = cells.different_numbers(outcomes[0])
    two = two_are_binary and any(np.array_equal(values, pair) for pair in _TWO)
    return "binary" if two or (len(values) and np.isin(values, _BINARY).all()) else "continuous"


def _response_kind(response: "pd.Series[Any]", kind: str, outcome: "pd.Series[Any]") -> str:
    if cells.is_text(response):
        if kind in MEASURED:
            chosen = cells.in_order(cells.different_labels(response))
            raise ValueError(cells.choice_beside_numbers(outcome.name, response.name, chosen))
        return "choice"
    if kind == "circular":
        return "circular"
    made, happened = cells.different_numbers(response), cells.different_numbers(outcome)
    possible = _BINARY if np.isin(happened, _BINARY).all() else happened  # both may occur if either does
    if kind not in MEASURED and not cells.is_text(outcome) and len(made) and np.isin(made, possible).all():
        cells.check_prediction(outcome.name, response.name)
        return "choice"
    cells.check_numbers(outcome.name, response, kind)
    return "continuous"


def _labels(kind: str, outcomes: Sequence["pd.Series[Any]"], choices: "pd.Series[Any] | None") -> Any:
    """List the labels of outcomes, and of choices among them; for outcomes that are numbers, those of choices alone."""
    chosen = set() if choices is None else cells.different_labels(choices)
    if kind in MEASURED:
        return cells.in_order(chosen) or None
    happened = cells.different_labels(outcomes[-1])
    if kind == "binary" and (happened <= set(_BINARY) or happened > set(_BINARY)):
        happened = set(_BINARY)
    if choices is not None and _mostly_other(choices, happened, _STRANGE if kind == "binary" else 1.0):
        strange, every = few(cells.in_order(chosen - happened)), few(cells.in_order(happened))
        ask = f"the choices {strange} are none of the outcomes {every}; write each choice as the outcome that it"
        raise ValueError(f"{ask} predicts, or {cells.bandit(outcomes[-1].name, choices.name)}")
    if kind == "binary":  # in order, but such as yes after such as no
        two = cells.in_order(happened)
        return two[::-1] if tuple(str(label).lower() for label in reversed(two)) in _YES else two
    if kind == "transitions" and happened & cells.different_labels(outcomes[0]):
        happened |= cells.different_labels(outcomes[0])
    return cells.in_order(happened | chosen)


def _mostly_other(choices: "pd.Series[Any]", happened: set[Any], share: float) -> bool:
    """Whether as large a share of the choices are none of the outcomes."""
    made = [label for label in cells.labels(choices).values if label is not None]
    return len(made) > 0 and sum(label not in happened for label in made) >= share * len(made)


# What each row holds


class _RowValues(NamedTuple):
    """What the rows hold, by the meaning of the columns; payoffs by their names. Then the same, trial by trial."""

    subjects: Any
    blocks: FloatArray
    outcomes: tuple[FloatArray, ...]
    responses: FloatArray | None
    second: FloatArray | None
    given: dict[str, FloatArray]
    payoffs: dict[str, FloatArray]
    ignored: BoolArray


def parse_rows(
    frame: pd.DataFrame, columns: Columns, schema: _Schema, scale: _Range, rows: TableRows
) -> tuple[_RowValues, NDArray[np.intp], dict[int, str], dict[int, str], list[str]]:
    """Read all columns that have a meaning.

    Return the values of the rows; the rows that can be used, by participant and trial; by position, the first thing
    that is wrong with each other row; the same of responses, whose rows are used nevertheless; and notes.
    """
    names = ["1"] * len(frame) if columns.subject is None else frame[columns.subject]
    subjects = cells.names(pd.Series(names, name=columns.subject))
    who = pd.factorize(subjects.values)[0]
    labels = [schema.contexts, schema.labels][-len(columns.outcomes) :] if schema.kind not in MEASURED else [None]
    outcomes = [_read(frame[name], listed) for name, listed in zip(columns.outcomes, labels, strict=True)]
    payoffs = {name: _read(frame[name], labels[-1]) for name in (*columns.counterfactual, *columns.payoffs)}
    given = {parameter: cells.numbers(frame[name]) for parameter, name in columns.given.items()}
    responses, unread = _responses(frame, columns, schema, scale)
    second = Cells(None, {}) if columns.second_response is None else cells.numbers(frame[columns.second_response])

    # Rows that cannot be used: those without a cell that is needed, or with one that cannot be read
    needed = [(columns.subject, subjects)]
    needed += [(columns.block, cells.names(frame[columns.block]))] if columns.block else []
    trial = None if columns.trial is None else frame[columns.trial]
    if trial is not None:
        needed += [(columns.trial, cells.names(trial) if cells.is_text(trial) else cells.numbers(trial))]
    needed += [(columns.given[parameter], part) for parameter, part in given.items()]
    needed += [(columns.condition, cells.labels(frame[columns.condition]))] if columns.condition else []
    problems = cells.doubles(frame, who)
    for part in reversed([*outcomes, *payoffs.values()]):
        problems |= part.problems
    for name, part in reversed(needed):
        empty = {int(at): f"{name} is empty" for at in np.flatnonzero(pd.isna(part.values))}
        problems |= empty | part.problems
    blank = np.flatnonzero(frame.isna().all(axis=1)) if frame.shape[1] > 1 else ()
    problems |= {int(at): "the line is empty" for at in blank}
    good = np.ones(len(frame), bool)
    good[list(problems)] = False

    # The order of the trials
    blocks, order = _blocks_and_order(frame, columns, who)
    order = order[good[order]]
    notes = [] if columns.subject else cells.of_whom(frame)
    notes += cells.check_order(frame, columns.trial, who, blocks, good, rows.where)
    notes += cells.returns(who, blocks, order, columns.block)
    if not len(order):
        raise ValueError(
            f"all {len(problems)} rows were rejected, the first of them ({rows.where([min(problems)])}) "
            f"because {problems[min(problems)]}; give other columns, or another kind"
        )
    unread = {at: reason for at, reason in (second.problems | unread).items() if good[at]}
    if responses is not None and unread and np.isnan(responses).all():
        raise ValueError(
            f"none of the responses could be read, the first of them ({rows.where([min(unread)])}) because "
            f"{unread[min(unread)]}; give another column, or another kind (--response-kind)"
        )
    values = _RowValues(
        subjects.values,
        blocks,
        tuple(part.values for part in outcomes),
        responses,
        second.values,
        {parameter: part.values for parameter, part in given.items()},
        {name: part.values for name, part in payoffs.items()},
        np.any([np.zeros(len(frame), bool), *(cells.flags(rows.frame[name]) for name in columns.ignore)], axis=0),
    )
    return values, order, problems, unread, notes


def _read(column: "pd.Series[Any]", labels: tuple[Any, ...] | None) -> Cells:
    """Read a column as numbers, or where there are labels as their indices, whatever letters are capital in either."""
    if labels is None:
        return cells.numbers(column)
    written = cells.labels(column)
    codes, different = pd.factorize(written.values)
    exact = {label: index for index, label in enumerate(labels)}
    place = {cells.folded(label): index for label, index in exact.items()}
    place = {} if len(place) < len(exact) else place  # where capital letters tell labels apart
    places = [exact.get(label, place.get(cells.folded(label), np.nan)) for label in different]
    indices = np.array([*places, np.nan], np.float64)[codes]
    strange = {
        int(at): f"{column.name} = {written.values[at]!r} is none of {few(labels)}"
        for at in np.flatnonzero(np.isnan(indices) & (codes >= 0))
    }
    return Cells(indices, written.problems | strange)


def _responses(frame: pd.DataFrame, columns: Columns, schema: _Schema, scale: _Range) -> Cells:
    """Read the responses, and say why some could not be. scale: those that mean 0 and 1."""
    if columns.response is None:
        return Cells(None, {})
    choices = schema.options or schema.labels
    values, problems = _read(frame[columns.response], choices if schema.response_kind == "choice" else None)
    if scale is None or schema.response_kind == "choice":
        return Cells(values, problems)
    low, high = scale
    scaled = (values - low) / (high - low)
    if schema.kind == OutcomeKind.BINARY:
        name = f"the scale from {low:g} to {high:g}"
        beyond = np.flatnonzero((scaled < 0) | (scaled > 1))
        problems |= {int(at): f"{columns.response} = {values[at]:g} is outside {name}" for at in beyond}
        scaled[beyond] = np.nan
    return Cells(scaled, problems)


def _blocks_and_order(frame: pd.DataFrame, columns: Columns, who: Any) -> tuple[FloatArray, NDArray[np.intp]]:
    """Number rows so that a participant's successive blocks differ; and order them by participant and trial."""
    ranks = np.zeros(len(frame)) if columns.trial is None else cells.ranks(frame[columns.trial])
    order = np.lexsort((ranks, who))  # stable: rows that are equal stay as they come in the file
    if columns.block is None:
        return np.zeros(len(frame)), order
    written = cells.names(frame[columns.block]).values
    numbered = pd.DataFrame({"who": who, "trial": ranks}).dropna()
    unique = columns.trial is None or not numbered.duplicated().any()
    if unique and _are_marks(written, who, order[pd.notna(written)[order] & (who >= 0)[order]]):
        blocks = np.empty(len(frame))
        blocks[order] = pd.Series((written == "1")[order].astype(np.float64)).groupby(who[order]).cumsum().to_numpy()
        return blocks, order
    # Blocks by the numbers that they have, or else in the order in which they come
    codes, different = pd.factorize(written)
    numbers = pd.to_numeric(pd.Series(different, dtype=object), errors="coerce").to_numpy(np.float64)
    blocks = np.append(np.arange(len(numbers)) if np.isnan(numbers).any() else numbers, np.nan)[codes]
    return blocks, order if unique else np.lexsort((ranks, blocks, who))


def _are_marks(found: Any, who: Any, rows: NDArray[np.intp]) -> bool:
    """Whether a block column marks first trials: only 0 and 1, and 1 never twice in a row."""
    if not set(pd.unique(found[rows])) <= {"0", "1"}:
        return False
    marks, same = found[rows] == "1", np.diff(who[rows], prepend=-1) == 0
    return bool(marks.any()) and not (marks[1:] & marks[:-1] & same[1:]).any()


# Series for each participant


def _to_series(
    table: pd.DataFrame, columns: Columns, schema: _Schema, values: _RowValues, order: NDArray[np.intp], before: bool
) -> Trials:
    """Make rows of the table series, one for each participant.

    order: rows that can be used. before: whether a response is given before the outcome of its trial is seen.
    """
    kept = np.sort(order)
    codes, names = pd.factorize(values.subjects[kept])
    present = ~np.any([np.isnan(part[kept]) for part in values.outcomes], axis=0)
    counts = np.bincount(codes, weights=present, minlength=len(names))
    excluded = {
        name: f"{int(count) or 'no'} outcome{'' if count == 1 else 's'}, fewer than {LEAST}"
        for name, count in zip(names, counts, strict=True)
        if count < LEAST
    }
    if len(excluded) == len(names):
        raise ValueError(f"no participant has {LEAST} outcomes or more; give more trials, or another subject column")

    # The rows of each participant in the order of the trials, padded by -1
    order = np.searchsorted(kept, order)
    everyone = np.split(order[np.argsort(codes[order], kind="stable")], np.cumsum(np.bincount(codes))[:-1])
    lists = [places for name, places in zip(names, everyone, strict=True) if name not in excluded]
    rows = np.full((len(lists), max(map(len, lists))), -1, np.intp)
    for row, places in zip(rows, lists, strict=True):
        row[: len(places)] = places
    there = rows >= 0
    series = jax.tree.map(lambda part: part[kept][rows], values)
    observed = there & present[rows]
    parts = [np.where(observed, part, 0.0) for part in series.outcomes]
    if schema.kind not in MEASURED:
        parts = [part.astype(np.int32) for part in parts]
    starts = there & np.concatenate([there[:, :1], series.blocks[:, 1:] != series.blocks[:, :-1]], axis=1)

    # Responses to explain: if given before outcomes, that to an outcome is the next one of the block
    responses = None if series.responses is None else np.where(there, series.responses, np.nan)
    ignored = series.ignored
    if before and columns.choice is None:
        ignored = np.concatenate([np.zeros_like(ignored[:, :1]), ignored[:, :-1]], axis=1) & ~starts
    trials = Trials(
        frame=_with_numbers(table.iloc[kept].reset_index(drop=True), columns, schema),
        subjects=tuple(name for name in names if name not in excluded),
        outcomes=parts[0] if len(parts) == 1 else tuple(parts),
        observed=observed,
        starts=starts,
        rows=rows,
        responses=responses,
        scored=np.zeros_like(there) if responses is None else np.isfinite(responses) & ~ignored,
        given={
            name: np.where(there, value := series.given[name], value[:, :1]) for name in columns.given
        },  # as allowed
        responds_before=before or columns.choice is not None,
        kind=schema.kind,
        response_kind=schema.response_kind,
        labels=schema.labels,
        rejected=(),
        excluded=excluded,
        columns=columns,
        guessed=schema.guessed,
        second=None if series.second is None else np.where(there, series.second, np.nan),
    )
    return trials if schema.options is None else _with_choices(trials, schema.options, series.payoffs)


def _with_numbers(frame: pd.DataFrame, columns: Columns, schema: _Schema) -> pd.DataFrame:
    """Make columns numbers, if it was only for rejected rows that they were read as text."""
    names = [*columns.given.values()]
    names += columns.outcomes if schema.kind in MEASURED else ()
    names += [str(columns.response)] if schema.response_kind in MEASURED else []
    for name in names:
        read = pd.to_numeric(frame[name], errors="coerce")
        if not (read.isna() & frame[name].notna()).any():
            frame[name] = read
    return frame


def _with_choices(trials: Trials, options: tuple[Any, ...], columns: Mapping[str, FloatArray]) -> Trials:
    """Make trials whose outcomes are rewards trials of choices with consequences.

    columns: those that say what options paid, shown or not, in the form of `trials.outcomes`.
    """
    assert trials.responses is not None  # the choices
    chosen, there, names = np.isfinite(trials.responses), trials.rows >= 0, trials.columns
    choices = np.where(chosen, trials.responses, 0).astype(np.int32)
    observed = trials.observed & chosen
    rewards = np.where(observed, trials.outcomes, 0).astype(trials.outcomes.dtype)
    outcomes: tuple[Any, ...] = choices, rewards
    payoffs = None
    if names.payoffs:
        payoffs = np.stack([columns[name] for name in names.payoffs], -1)
        if np.isnan(payoffs[there]).any():
            raise ValueError(f"--payoff {' '.join(names.payoffs)} has empty cells; give what each option would pay")
        paid = np.take_along_axis(payoffs, choices[..., None], -1)[..., 0]
        for row, at in np.argwhere(observed & (paid != trials.outcomes))[:1]:
            seen = f"{trials.outcomes[row, at]:g} was paid, but the payoff is {paid[row, at]:g}"
            where = f"on trial {at + 1} of participant {trials.subjects[row]}"
            raise ValueError(f"{where} {seen}; name payoffs in the order of the options")
    if names.counterfactual:  # one column is about the one not chosen of two
        others = np.stack([columns[name] for name in names.counterfactual], -1)
        chosen_option = np.arange(len(options)) == choices[..., None]
        paid = np.where(chosen_option, rewards[..., None], others)
        shown = np.isfinite(paid) & there[..., None]
        outcomes = choices, np.where(shown, paid, 0).astype(rewards.dtype), shown.astype(np.int32)
        if payoffs is None and shown[observed].all():
            payoffs = np.where(shown, paid, np.nan)
    return replace(trials, outcomes=outcomes, observed=observed, options=options, payoffs=payoffs)


def _with_design(trials: Trials, frame: pd.DataFrame) -> Trials:
    """Add conditions, changes, and the groups and covariates of participants, as far as columns are named.

    frame: the rows of the trials. Participants about whom something is not known are excluded.
    """
    columns, there = trials.columns, trials.rows >= 0
    if columns.condition is not None:
        conditions = cells.in_order(cells.different_labels(frame[columns.condition]))
        if len(conditions) < 2:
            raise ValueError(f"{columns.condition} is {few(conditions)} on all trials; name a column that differs")
        codes = _read(frame[columns.condition], conditions).values.astype(np.int32)
        trials = replace(trials, conditions=conditions, condition=np.where(there, codes[trials.rows], 0))
    if columns.change is not None:
        trials = replace(trials, changed=there & cells.flags(frame[columns.change])[trials.rows])

    # What is known of participants
    values = {}
    if columns.group is not None:
        values[columns.group] = _of_participants(trials, columns.group, cells.labels(frame[columns.group]).values)
    for name in columns.covariates:
        numbers, problems = cells.numbers(frame[name])
        if problems:
            raise ValueError(f"{next(iter(problems.values()))}; give a number for each participant")
        values[name] = _of_participants(trials, name, numbers)
    unknown = {
        trials.subjects[row]: f"{name} is empty"
        for name, about in values.items()
        for row in np.flatnonzero(pd.isna(about))
    }
    if len(unknown) == len(trials):
        raise ValueError(f"{next(iter(unknown.values()))} for every participant; name a column that is known")
    group = values.pop(columns.group) if columns.group else None
    trials = replace(trials, group=group, covariates=values, excluded=trials.excluded | unknown)
    trials = trials.only([who for who in trials.subjects if who not in unknown]) if unknown else trials
    if trials.group is not None and len(set(trials.group)) < 2:
        raise ValueError(f"{columns.group} is {trials.group[0]!r} for everybody; name a column that differs")
    for name, numbers in trials.covariates.items():
        if np.ptp(numbers) == 0:
            raise ValueError(f"{name} is {numbers[0]:g} for everybody; name a column that differs")
    return trials


def _of_participants(trials: Trials, name: str, values: Any) -> NDArray[Any]:
    """Find what a column says about each participant; missing where it says nothing."""
    is_label = values.dtype == object
    about = np.full(len(trials), None if is_label else np.nan, values.dtype)
    for row, places in enumerate(trials.rows):
        different = pd.unique(pd.Series(values[places[places >= 0]]).dropna())
        if len(different) > 1:
            option = "--condition" if is_label else "--per-trial"
            both = f"{name} is {different[0]} and {different[1]} for participant {trials.subjects[row]}"
            raise ValueError(f"{both}; a group and a covariate are one for each participant ({option} is about trials)")
        about[row : row + len(different)] = different
    return about

"""Which condition is a trial of, which group does a participant belong to, and what else is known about them?"""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from astonish.people.tables import cells
from astonish.people.tables.trials import Columns, Trials


def design_columns(frame: pd.DataFrame, columns: Columns) -> dict[str, Any]:
    """What the rows say of conditions, groups, covariates and changes, by the names of the columns.

    Of labels objects, None where there is none; of covariates numbers; of changes whether there was one.
    """
    found: dict[str, Any] = {}
    for name in (columns.condition, columns.group):
        if name is not None:
            found[name] = cells.labels(frame[name]).values
    for name in columns.covariates:
        read = cells.numbers(frame[name])
        if read.problems:
            raise ValueError(f"{next(iter(read.problems.values()))}; give a number for each participant")
        found[name] = read.values
    if columns.change is not None:
        found[columns.change] = cells.flags(frame[columns.change])
    return found


def with_design(trials: Trials, rows: dict[str, Any]) -> Trials:
    """The trials with their conditions, and the groups and covariates of participants, as far as columns are named.

    rows: what `design_columns` says of each row. Participants about whom something is not known are excluded.
    """
    columns, there = trials.columns, trials.rows >= 0
    if columns.condition is not None:
        found = rows[columns.condition]
        conditions = cells.in_order(set(found))
        if len(conditions) < 2:
            raise ValueError(
                f"{columns.condition} is {cells.few(conditions)} on all trials; name a column that differs"
            )
        place = {label: index for index, label in enumerate(conditions)}
        codes = np.array([place[label] for label in found], np.int32)
        trials = replace(trials, conditions=conditions, condition=np.where(there, codes[trials.rows], 0))
    if columns.change is not None:
        trials = replace(trials, changed=there & rows[columns.change][trials.rows])
    names = [*([columns.group] if columns.group else []), *columns.covariates]
    values = {name: _of_participants(trials, name, rows[name]) for name in names}
    unknown = {
        trials.subjects[row]: f"{name} is empty" for name, own in values.items() for row in np.flatnonzero(pd.isna(own))
    }
    if len(unknown) == len(trials):
        raise ValueError(f"{next(iter(unknown.values()))} for every participant; name a column that is known")
    group = values.get(str(columns.group))
    trials = replace(
        trials,
        group=None if group is None else np.asarray(group, object),
        covariates={name: np.asarray(values[name], np.float64) for name in columns.covariates},
        excluded=trials.excluded | unknown,
    )
    trials = trials.only([who for who in trials.subjects if who not in unknown]) if unknown else trials
    _check_differ(trials)
    return trials


def _of_participants(trials: Trials, name: str, values: Any) -> NDArray[Any]:
    """What a column says about each participant; missing where it says nothing."""
    is_label = values.dtype == object
    found = np.full(len(trials), None if is_label else np.nan, values.dtype)
    for row, places in enumerate(trials.rows):
        own = pd.unique(pd.Series(values[places[places >= 0]]).dropna())
        if len(own) > 1:
            what = "--condition" if is_label else "--per-trial"
            both = f"{name} is {own[0]} and {own[1]} for participant {trials.subjects[row]}"
            raise ValueError(f"{both}; a group and a covariate are one for each participant ({what} is about trials)")
        if len(own):
            found[row] = own[0]
    return found


def _check_differ(trials: Trials) -> None:
    """Refuse groups and covariates that are the same for everybody."""
    if trials.group is not None and len(set(trials.group)) < 2:
        raise ValueError(f"{trials.columns.group} is {trials.group[0]!r} for everybody; name a column that differs")
    for name, values in trials.covariates.items():
        if np.ptp(values) == 0:
            raise ValueError(f"{name} is {values[0]:g} for everybody; name a column that differs")

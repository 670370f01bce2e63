"""What will an experiment be like for which there are no responses yet, or too few participants?"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from pandas import DataFrame

from astonish.domain import Domain
from astonish.table import Columns, Trials, read_trials
from astonish.tasks.gaussian_jumps import Episode

_WHO, _OUTCOME, _BLOCK, _RESPONSE = "participant", "outcome", "block", "response"


def planned(
    samples: Any,
    *,
    before: bool,
    response_kind: str = "continuous",
    kind: str | None = None,
    labels: Sequence[Any] | None = None,
    blocks: int | None = None,
    given: Mapping[str, Any] | None = None,
) -> Trials:
    """The trials of a task in which each participant is to respond on every trial; the responses hold a place only.

    samples: the outcomes, a row for each participant, a column for each trial, NaN where none is shown; for
    transitions a pair of such tables (from, to); or an `Episode` of `tasks.gaussian_jumps`.
    before: whether a response is to be given before the outcome of its trial is seen.
    response_kind, kind, labels: as `read_trials` takes them. blocks: how many trials make a block, if there are any.
    given: values of a learner's parameters, such as noise, trial by trial.

    >>> from astonish.tasks.gaussian_jumps import many_gaussian_jumps
    >>> trials = planned(many_gaussian_jumps(100, seeds=range(30)), before=False, blocks=50)
    >>> trials.outcomes.shape, trials.starts.sum(axis=1).tolist()[:3]
    ((30, 100), [2, 2, 2])
    """
    tables = [np.atleast_2d(np.asarray(part)) for part in _parts(samples)]
    people, steps = tables[0].shape
    values = {name: np.broadcast_to(np.asarray(part), (people, steps)) for name, part in (given or {}).items()}
    outcomes = (_OUTCOME,) if len(tables) == 1 else ("from", "to")
    shown = tables[-1].ravel()
    anything = 0.0 if response_kind == "continuous" else next(x for x in shown.tolist() if x == x and x is not None)
    frame = DataFrame({
        _WHO: np.repeat(np.arange(1, people + 1), steps),
        **({} if blocks is None else {_BLOCK: np.tile(_block_of(steps, blocks), people)}),
        **{name: table.ravel() for name, table in zip(outcomes, tables, strict=True)},
        **{name: table.ravel() for name, table in values.items()},
        _RESPONSE: anything,
    })  # fmt: skip
    columns = Columns(
        outcomes[0] if len(outcomes) == 1 else (outcomes[0], outcomes[1]),
        subject=_WHO,
        block=None if blocks is None else _BLOCK,
        response=_RESPONSE,
        given={name: name for name in values},
    )
    return read_trials(frame, columns, kind=kind, response_kind=response_kind, before=before, labels=labels)


def repeated(trials: Trials, participants: int) -> Trials:
    """As many participants, named 1, 2, ..., who go through the trials of those that there are, in turn."""
    Domain(1, whole=True).check("participants", participants)
    names = tuple(str(k + 1) for k in range(participants))
    again = trials.at(np.arange(participants) % len(trials), names)
    there, who = again.rows >= 0, trials.columns.subject or _WHO
    frame = trials.frame.iloc[again.rows[there]].reset_index(drop=True)
    frame[who] = np.repeat(np.array(names, object), there.sum(axis=1))
    rows = np.where(there, np.cumsum(there).reshape(there.shape) - 1, -1)
    return replace(again, frame=frame, rows=rows, excluded={}, columns=replace(trials.columns, subject=who))


def _parts(samples: Any) -> tuple[Any, ...]:
    if isinstance(samples, Episode):
        return (samples.samples,)
    parts = samples if isinstance(samples, tuple) else (samples,)
    shapes = [np.shape(part) for part in parts]
    if len(set(shapes)) > 1 or len(parts) > 2 or len(shapes[0]) not in (1, 2) or 0 in shapes[0]:
        shown = " and ".join(map(str, shapes))
        raise ValueError(f"samples have shape {shown}; give a row for each participant, of one column for each trial")
    return parts


def _block_of(steps: int, size: int) -> Any:
    Domain(1, whole=True).check("blocks", size)
    return np.arange(steps) // size

"""The trials of a task for simulated participants: planned before there are any, or those of real ones again."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from pandas import DataFrame

from astonish.core.numbers import COUNT
from astonish.people.tables import Columns, Trials, read_trials
from astonish.people.tables.trials import free_name
from astonish.worlds.bandit import Bandit
from astonish.worlds.gaussian_jumps import Episode

_WHO, _BLOCK, _RESPONSE, _SECOND = "participant", "block", "response", "second"


def plan_trials(
    samples: Any,
    *,
    responds_before: bool | None = None,
    response_kind: str = "continuous",
    kind: str | None = None,
    labels: Sequence[Any] | None = None,
    blocks: int | None = None,
    given: Mapping[str, Any] | None = None,
    counterfactual: bool = False,
    second: bool = False,
) -> Trials:
    """The trials of a task in which each participant is to respond on every trial; the responses hold a place only.

    samples: the outcomes, a row for each participant, a column for each trial, NaN where none is shown; for
    transitions a pair of such tables (from, to); or an `Episode` of `tasks.gaussian_jumps`, or a `Bandit` of
    `tasks.bandit`, of which each participant is to choose an option.
    responds_before: whether a response is to be given before the outcome of its trial is seen; choices among options
    always are.
    response_kind, kind, labels: as `read_trials` takes them. blocks: how many trials make a block, if there are any.
    given: values of a learner's parameters, such as noise, trial by trial. counterfactual: of a bandit, whether it is
    shown what the options that were not chosen would have paid. second: whether there is to be a second response, such
    as a reaction time.

    >>> from astonish.worlds.gaussian_jumps import many_gaussian_jumps
    >>> trials = plan_trials(many_gaussian_jumps(100, seeds=range(30)), responds_before=False, blocks=50)
    >>> trials.outcomes.shape, trials.starts.sum(axis=1).tolist()[:3]
    ((30, 100), [2, 2, 2])
    """
    common: dict[str, Any] = {"subject": _WHO, "block": None if blocks is None else _BLOCK}
    common |= {"given": {name: name for name in given or {}}, "second_response": _SECOND if second else None}
    asked: dict[str, Any] = {"kind": kind, "labels": labels, "responds_before": responds_before}
    if isinstance(samples, Bandit):
        columns, tables = _of_bandit(samples, counterfactual, common)
        asked["options"] = range(1, len(columns.payoffs) + 1)
    else:
        tables = {name: np.atleast_2d(part) for name, part in _parts(samples).items()}
        columns = Columns(tuple(tables) if len(tables) > 1 else next(iter(tables)), response=_RESPONSE, **common)  # type: ignore[arg-type]
        asked["response_kind"] = response_kind
    taken = next((name for name in given or {} if name in (_WHO, _BLOCK, _RESPONSE, _SECOND, *tables)), None)
    if taken is not None:
        raise ValueError(f"given names {taken!r}, which is a column of the plan itself; give its whole name")
    people, steps = next(iter(tables.values())).shape
    frame = DataFrame({_WHO: np.repeat(np.arange(1, people + 1), steps)})
    if blocks is not None:
        COUNT.check("blocks", blocks)
        frame[_BLOCK] = np.tile(np.arange(steps) // blocks, people)
    for name, values in (*tables.items(), *(given or {}).items()):
        frame[name] = np.broadcast_to(np.asarray(values), (people, steps)).ravel()
    if second:
        frame[_SECOND] = 1.0
    if columns.choice is None:
        frame[_RESPONSE] = 0.0 if response_kind != "choice" else frame[columns.outcomes[-1]].dropna().iloc[0]
    return replace(read_trials(frame, columns, missing=(), **asked), another_scale="")


def _of_bandit(bandit: Bandit, counterfactual: bool, common: dict[str, Any]) -> tuple[Columns, dict[str, Any]]:
    """The columns of a table in which everybody chooses the first option of a bandit, and what is in them."""
    payoffs = bandit.payoffs if bandit.payoffs.ndim == 3 else bandit.payoffs[None]
    tables = {f"payoff_{k + 1}": payoffs[..., k] for k in range(payoffs.shape[-1])}
    names = tuple(tables)
    columns = Columns(
        "reward", choice="choice", payoffs=names, counterfactual=names if counterfactual else (), **common
    )
    return columns, {"choice": np.ones(payoffs.shape[:2], int), "reward": payoffs[..., 0], **tables}


def repeated(trials: Trials, participants: int) -> Trials:
    """As many participants, named 1, 2, ... in a new column, who go through the trials of those there are, in turn."""
    COUNT.check("participants", participants)
    names = tuple(str(k + 1) for k in range(participants))
    again = trials.at(np.arange(participants) % len(trials), names)
    there, who = again.rows >= 0, free_name(f"simulated_{_WHO}", trials.frame)
    frame = trials.frame.iloc[again.rows[there]].reset_index(drop=True)
    frame[who] = np.repeat(np.array(names, object), there.sum(axis=1))
    rows = np.where(there, np.cumsum(there).reshape(there.shape) - 1, -1)
    return replace(again, frame=frame, rows=rows, excluded={}, columns=replace(trials.columns, subject=who))


def _parts(samples: Any) -> dict[str, Any]:
    """The outcomes by the names of their columns."""
    if isinstance(samples, Episode):
        return {"outcome": samples.samples}
    parts = samples if isinstance(samples, tuple) else (samples,)
    shapes = [np.shape(part) for part in parts]
    if len(set(shapes)) > 1 or len(parts) > 2 or len(shapes[0]) not in (1, 2) or 0 in shapes[0]:
        shown = " and ".join(map(str, shapes))
        raise ValueError(f"samples have shape {shown}; give a row for each participant, of one column for each trial")
    return dict(zip(("outcome",) if len(parts) == 1 else ("from", "to"), parts, strict=True))

"""Simulated participants: the trials of a task, planned before there are any, their parameters and responses."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from pandas import DataFrame

from astonish.core.numbers import COUNT, Domain, FloatArray, as_double, double
from astonish.core.parameters import check_parameters
from astonish.core.programs import compiled
from astonish.learners.base import check
from astonish.people.fit.likelihood import Model, ParticipantData, participant_data, simulate
from astonish.people.fit.result import Fit
from astonish.people.fit.space import Space, usual
from astonish.people.tables import Columns, Trials, read_trials
from astonish.people.tables.trials import chosen_anew, free_name, paid_columns, with_payoffs
from astonish.worlds.bandit import Bandit
from astonish.worlds.gaussian_jumps import Episode

_WHO, _BLOCK, _RESPONSE, _SECOND = "participant", "block", "response", "second"
_NARROW = 6.0  # the width of the usual range, over the standard deviation of the values drawn
_UNKNOWN = 0.5  # that standard deviation where no usual range is known

Spread = Mapping[str, float] | None


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
    """Plan the trials of a task in which each participant is to respond on every trial; responses hold a place only.

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
    if isinstance(samples, Bandit):  # everybody chooses the first option
        payoffs = samples.payoffs if samples.payoffs.ndim == 3 else samples.payoffs[None]
        tables: dict[str, Any] = {f"payoff_{k + 1}": payoffs[..., k] for k in range(payoffs.shape[-1])}
        names = tuple(tables)
        others = names if counterfactual else ()
        columns = Columns("reward", choice="choice", payoffs=names, counterfactual=others, **common)
        tables = {"choice": np.ones(payoffs.shape[:2], int), "reward": payoffs[..., 0], **tables}
        asked["options"] = range(1, len(names) + 1)
    else:
        parts = samples.samples if isinstance(samples, Episode) else samples
        parts = parts if isinstance(parts, tuple) else (parts,)
        shapes = [np.shape(part) for part in parts]
        if len(set(shapes)) > 1 or len(parts) > 2 or len(shapes[0]) not in (1, 2) or 0 in shapes[0]:
            form = "give a row for each participant, of one column for each trial"
            raise ValueError(f"samples have shape {' and '.join(map(str, shapes))}; {form}")
        outcomes: Any = "outcome" if len(parts) == 1 else ("from", "to")
        tables = dict(zip(np.atleast_1d(outcomes).tolist(), map(np.atleast_2d, parts), strict=True))
        columns = Columns(outcomes, response=_RESPONSE, **common)
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


def repeated(trials: Trials, participants: int) -> Trials:
    """Make participants, named 1, 2, ... in a new column, who go through the trials of those there are, in turn."""
    COUNT.check("participants", participants)
    names = tuple(str(k + 1) for k in range(participants))
    again = trials.at(np.arange(participants) % len(trials), names)
    there, who = again.rows >= 0, free_name(f"simulated_{_WHO}", trials.frame)
    frame = trials.frame.iloc[again.rows[there]].reset_index(drop=True)
    frame[who] = np.repeat(np.array(names, object), there.sum(axis=1))
    rows = np.where(there, np.cumsum(there).reshape(there.shape) - 1, -1)
    return replace(again, frame=frame, rows=rows, excluded={}, columns=replace(trials.columns, subject=who))


def simulate_responses(
    model: Model, trials: Trials, values: Mapping[str, Any] | None = None, *, seed: int = 0
) -> Trials:
    """Simulate a response of the model wherever there is one now, in the same trials.

    values: parameters by name that are other than in the model, each a number, or one number for each participant.

    >>> from astonish import Delta
    >>> from astonish.people.fit import Estimate, Model
    >>> from astonish.people.recovery import plan_trials
    >>> trials = plan_trials([[1.0, 2.0, 3.0], [1.0, 2.0, 4.0]], responds_before=False)
    >>> model = Model(Delta(), Estimate(noise=1e-6, anchored=False))
    >>> simulate_responses(model, trials, {"learning_rate": [0.5, 1.0]}).responses.round(3).tolist()
    [[0.5, 1.25, 2.125], [1.0, 2.0, 4.0]]
    """
    space, people = Space.of(model, values or {}, trials), len(trials)
    numbers = np.zeros((people, len(space)))
    for k, value in enumerate((values or {}).values()):
        column = space.domains[k].check(space.names[k], value)
        if column.shape not in ((), (people,)):
            form = f"give one number, or one for each of {people} participants"
            raise ValueError(f"{space.names[k]} has shape {column.shape}; {form}")
        numbers[:, k] = column
    with double():
        key = jax.random.key(seed)
    return _simulate(model, with_payoffs(trials, seed), space, numbers, key)


def known_people(
    model: Model, trials: Trials, space: Space, participants: int, truth: Any, spread: Spread, seed: int, part: int = 0
) -> tuple[Trials, FloatArray]:
    """Simulate participants with known parameters. part: the number of this group among several with one seed."""
    values = true_values(model, trials, space, participants, truth, spread, np.random.default_rng([seed, part]))
    with double():
        key = jax.random.fold_in(jax.random.key(seed), part)
    again = repeated(with_payoffs(trials, seed), participants)
    return _simulate(model, again, space, values, key), values


def true_values(
    model: Model, trials: Trials, space: Space, participants: int, truth: Any, spread: Spread, rng: np.random.Generator
) -> FloatArray:
    """Find values of the free parameters, a row for each participant; `recover_parameters` says where from."""
    COUNT.check("participants", participants)
    if truth is None:
        noise = rng.standard_normal((participants, len(space)))
        return space.constrained(space.start(model) + _spread(model, trials, space, spread or {}) * noise)
    if spread:
        raise ValueError("spread says how a truth is drawn, but truth was given; give one of them")
    if isinstance(truth, Fit):  # drawn from participants about whose fit there is nothing to note
        well = np.flatnonzero([not note for note in truth.notes])
        if not len(well):
            raise ValueError("no participant of this fit was fitted without a note; give other values for truth")
        missing = [name for name in space.names if name not in truth.space.names]
        if missing:
            raise ValueError(f"{missing[0]} was not found by the fit given as truth; it knows {', '.join(truth.names)}")
        order = [truth.space.names.index(name) for name in space.names]
        return truth.values[rng.choice(well, participants)][:, order]
    if isinstance(truth, Mapping | DataFrame):
        columns = {
            full: np.asarray(truth[name]) for name in truth for full in Space.of(model, [str(name)], trials).names
        }
        missing = [name for name in space.names if name not in columns]
        if missing:
            raise ValueError(f"truth does not say {missing[0]}; give a column for it, or do not have it free")
        truth = np.stack([columns[name] for name in space.names], axis=-1)
    rows = np.asarray(truth)
    if rows.ndim != 2 or rows.shape[1] != len(space) or not len(rows):
        wanted = f"a row for each participant, with {', '.join(space.names)}"
        raise ValueError(f"truth has shape {rows.shape}; give {wanted}")
    checked = [domain.check(*column) for domain, *column in zip(space.domains, space.names, rows.T, strict=True)]
    return np.stack(checked, axis=-1)[np.arange(participants) % len(rows)]


def _spread(model: Model, trials: Trials, space: Space, spread: Mapping[str, float]) -> FloatArray:
    """Find standard deviations on the unconstrained scale: those given, or a sixth of the usual range."""
    stuck = np.flatnonzero(space.at_bound(space.start(model)))
    if len(stuck):
        name = space.names[stuck[0]]
        raise ValueError(f"{name} of the model is at its bound, so none can be drawn about it; give truth, or another")
    low, high = usual(space, trials)
    stds = np.nan_to_num(np.abs(high - low) / _NARROW, nan=_UNKNOWN)
    for name, std in spread.items():
        for full in Space.of(model, [name], trials).names:
            if full not in space.names:
                raise ValueError(f"spread names {full}, which is not free; give some of {', '.join(space.names)}")
            stds[space.names.index(full)] = Domain(0.0).check(f"spread of {name}", std)
    return stds


def _simulate(model: Model, trials: Trials, space: Space, values: FloatArray, key: Array) -> Trials:
    """Simulate responses in these trials. values: of the parameters, a row for each participant."""
    check_parameters(model)
    check(model.learner)
    data = participant_data(model, trials)._replace(payoffs=trials.payoffs)
    with double():
        made = _sampled(*as_double((model, data, values)), key, space, trials.responds_before)
        responses, second = jax.device_get(made)
    return with_responses(trials, np.asarray(responses, np.float64), second)


@partial(compiled, static_argnums=(4, 5))
def _sampled(
    model: Model, data: ParticipantData, values: Array, key: Array, space: Space, responds_before: bool
) -> Any:
    """Responses, and second ones if there are any: a row for each participant, NaN where there is none."""

    def of_one(data: ParticipantData, own: Array, who: Array) -> tuple[Array, Array | None]:
        made = simulate(space.put(model, own), data, responds_before, jax.random.fold_in(key, who))
        return made.responses, made.second

    return jax.vmap(of_one)(data, values, jnp.arange(len(data.starts)))


def with_responses(trials: Trials, responses: FloatArray, second: FloatArray | None = None) -> Trials:
    """Put these responses into the trials, with what follows from them, also in their table, which has no others."""
    columns = {str(trials.columns.response): trials.as_written(responses)}
    made = replace(trials, responses=responses, another_scale="", unread=())
    if second is not None:
        made, columns[str(trials.columns.second_response)] = replace(made, second=second), second
    if trials.options is not None:
        made = chosen_anew(made, responses)
        columns |= paid_columns(made)
    there, cells = trials.rows >= 0, {}
    for name, values in columns.items():
        cells[name] = np.full(len(trials.frame), None if values.dtype == object else np.nan, values.dtype)
        cells[name][trials.rows[there]] = values[there]
    return replace(made, frame=trials.frame.assign(**cells))

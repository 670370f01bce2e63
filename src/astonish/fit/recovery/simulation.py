"""Participants who behave as a model says: the trials they go through, their parameters, and their responses."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from pandas import DataFrame

from astonish.checks import check_parameters
from astonish.deprecated import renamed_arguments
from astonish.domain import COUNT, Domain, Numbers, resolve, with_parameters
from astonish.fit.likelihood import Model, ParticipantData, participant_data, simulate
from astonish.fit.result import Fit
from astonish.fit.space import Space
from astonish.learner import check
from astonish.loops import compiled
from astonish.precision import as_double, double
from astonish.tasks.gaussian_jumps import Episode
from astonish.trials import Columns, Trials, read_trials

_NARROW = 6.0  # the width of the usual range, over the standard deviation of the values drawn
_UNKNOWN = 0.5  # that standard deviation where no usual range is known
_WHO, _BLOCK, _RESPONSE = "participant", "block", "response"

Spread = Mapping[str, float] | None


@renamed_arguments(before="responds_before")
def plan_trials(
    samples: Any,
    *,
    responds_before: bool,
    response_kind: str = "continuous",
    kind: str | None = None,
    labels: Sequence[Any] | None = None,
    blocks: int | None = None,
    given: Mapping[str, Any] | None = None,
) -> Trials:
    """The trials of a task in which each participant is to respond on every trial; the responses hold a place only.

    samples: the outcomes, a row for each participant, a column for each trial, NaN where none is shown; for
    transitions a pair of such tables (from, to); or an `Episode` of `tasks.gaussian_jumps`.
    responds_before: whether a response is to be given before the outcome of its trial is seen.
    response_kind, kind, labels: as `read_trials` takes them. blocks: how many trials make a block, if there are any.
    given: values of a learner's parameters, such as noise, trial by trial.

    >>> from astonish.tasks.gaussian_jumps import many_gaussian_jumps
    >>> trials = plan_trials(many_gaussian_jumps(100, seeds=range(30)), responds_before=False, blocks=50)
    >>> trials.outcomes.shape, trials.starts.sum(axis=1).tolist()[:3]
    ((30, 100), [2, 2, 2])
    """
    tables = [np.atleast_2d(np.asarray(part)) for part in _parts(samples)]
    people, steps = tables[0].shape
    columns = Columns(
        "outcome" if len(tables) == 1 else ("from", "to"),
        subject=_WHO,
        block=None if blocks is None else _BLOCK,
        response=_RESPONSE,
        given={name: name for name in given or {}},
    )
    frame = DataFrame({_WHO: np.repeat(np.arange(1, people + 1), steps)})
    if blocks is not None:
        COUNT.check("blocks", blocks)
        frame[_BLOCK] = np.tile(np.arange(steps) // blocks, people)
    for name, values in (*zip(columns.outcomes, tables, strict=True), *(given or {}).items()):
        frame[name] = np.broadcast_to(np.asarray(values), (people, steps)).ravel()
    frame[_RESPONSE] = 0.0 if response_kind != "choice" else frame[columns.outcomes[-1]].dropna().iloc[0]
    asked: dict[str, Any] = {"kind": kind, "response_kind": response_kind, "labels": labels}
    return read_trials(frame, columns, responds_before=responds_before, **asked)


def repeated(trials: Trials, participants: int) -> Trials:
    """As many participants, named 1, 2, ..., who go through the trials of those that there are, in turn."""
    COUNT.check("participants", participants)
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


def simulate_responses(
    model: Model, trials: Trials, values: Mapping[str, Any] | None = None, *, seed: int = 0
) -> Trials:
    """The same trials, with a response of the model wherever there is one now.

    values: parameters by name that are other than in the model, each a number, or one number for each participant.

    >>> from astonish import Delta
    >>> from astonish.fit import Estimate, Model
    >>> from astonish.fit.recovery import plan_trials
    >>> trials = plan_trials([[1.0, 2.0, 3.0], [1.0, 2.0, 4.0]], responds_before=False)
    >>> model = Model(Delta(), Estimate(noise=1e-6, anchored=False))
    >>> simulate_responses(model, trials, {"learning_rate": [0.5, 1.0]}).responses.round(3).tolist()
    [[0.5, 1.25, 2.125], [1.0, 2.0, 4.0]]
    """
    space, people = Space.of(model, values or {}), len(trials)
    numbers = np.zeros((people, len(space)))
    for k, value in enumerate((values or {}).values()):
        column = space.domains[k].check(space.names[k], value)
        if column.shape not in ((), (people,)):
            form = f"give one number, or one for each of {people} participants"
            raise ValueError(f"{space.names[k]} has shape {column.shape}; {form}")
        numbers[:, k] = column
    with double():
        key = jax.random.key(seed)
    return _with_responses(model, trials, space, numbers, key)


def known_people(
    model: Model, trials: Trials, space: Space, participants: int, truth: Any, spread: Spread, seed: int, part: int = 0
) -> tuple[Trials, Numbers]:
    """Simulated participants, and their parameters. part: the number of this group among several with one seed."""
    values = true_values(model, trials, space, participants, truth, spread, np.random.default_rng([seed, part]))
    with double():
        key = jax.random.fold_in(jax.random.key(seed), part)
    return _with_responses(model, repeated(trials, participants), space, values, key), values


def true_values(
    model: Model, trials: Trials, space: Space, participants: int, truth: Any, spread: Spread, rng: np.random.Generator
) -> Numbers:
    """The values of the free parameters, a row for each participant; `recover_parameters` says where from."""
    COUNT.check("participants", participants)
    if truth is None:
        middle, stds = space.start(model), _spread(model, trials, space, spread or {})
        return space.constrained(middle + stds * rng.standard_normal((participants, len(space))))
    if spread:
        raise ValueError("spread says how a truth is drawn, but truth was given; give one of them")
    if isinstance(truth, Fit):
        return _as_found(truth, space, participants, rng)
    if isinstance(truth, Mapping | DataFrame):
        columns = {resolve(model, str(name)).path: np.asarray(truth[name]) for name in truth}
        missing = [name for name in space.names if name not in columns]
        if missing:
            raise ValueError(f"truth does not say {missing[0]}; give a column for it, or do not have it free")
        truth = np.stack([columns[name] for name in space.names], axis=-1)
    rows = np.asarray(truth)
    if rows.ndim != 2 or rows.shape[1] != len(space) or not len(rows):
        wanted = f"a row for each participant, with {', '.join(space.names)}"
        raise ValueError(f"truth has shape {rows.shape}; give {wanted}")
    known = [domain.check(*own) for domain, *own in zip(space.domains, space.names, rows.T, strict=True)]
    return np.stack(known, axis=-1)[np.arange(participants) % len(rows)]


def _spread(model: Model, trials: Trials, space: Space, spread: Mapping[str, float]) -> Numbers:
    """Standard deviations on the unconstrained scale: those given, or a sixth of the usual range."""
    stuck = np.flatnonzero(space.at_bound(space.start(model)))
    if len(stuck):
        name = space.names[stuck[0]]
        raise ValueError(f"{name} of the model is at its bound, so none can be drawn about it; give truth, or another")
    low, high = space.usual(trials)
    stds = np.nan_to_num(np.abs(high - low) / _NARROW, nan=_UNKNOWN)
    for name, std in spread.items():
        path = resolve(model, name).path
        if path not in space.names:
            raise ValueError(f"spread names {path}, which is not free; give some of {', '.join(space.names)}")
        stds[space.names.index(path)] = Domain(0.0).check(f"spread of {name}", std)
    return stds


def _as_found(found: Fit, space: Space, participants: int, rng: np.random.Generator) -> Numbers:
    """Of participants drawn at random from those about whose fit there is nothing to note."""
    well = np.flatnonzero([not note for note in found.notes])
    if not len(well):
        raise ValueError("no participant of this fit was fitted without a note; give other values for truth")
    missing = [name for name in space.names if name not in found.space.names]
    if missing:
        raise ValueError(f"{missing[0]} was not found by the fit given as truth; it knows {', '.join(found.names)}")
    columns = [found.space.names.index(name) for name in space.names]
    return found.values[rng.choice(well, participants)][:, columns]


def _with_responses(model: Model, trials: Trials, space: Space, values: Numbers, key: Array) -> Trials:
    """The trials with simulated responses. values: of the parameters, a row for each participant."""
    check_parameters(model)
    check(model.learner)
    data = participant_data(model, trials)
    own = {name: values[:, k] for k, name in enumerate(space.names)}
    with double():
        responses = np.asarray(_sampled(*as_double((model, data, own)), key, trials.responds_before), np.float64)
    return with_responses(trials, responses)


@partial(compiled, static_argnums=4)
def _sampled(model: Model, data: ParticipantData, own: dict[str, Array], key: Array, responds_before: bool) -> Array:
    """Responses, a row for each participant; NaN where there is none."""

    def each(data: ParticipantData, values: dict[str, Array], who: Array) -> Array:
        return simulate(with_parameters(model, values), data, responds_before, jax.random.fold_in(key, who)).responses

    return jax.vmap(each)(data, own, jnp.arange(len(data.starts)))


def with_responses(trials: Trials, responses: Numbers) -> Trials:
    """The same trials with these responses, in their table too."""
    column, there, labels = str(trials.columns.response), trials.rows >= 0, trials.labels or ()
    values: Any = responses[there]
    if trials.response_kind == "choice":
        values = [None if np.isnan(index) else labels[int(index)] for index in values]
    cells = trials.frame[column].to_numpy(object if trials.response_kind == "choice" else np.float64, copy=True)
    cells[trials.rows[there]] = values
    return replace(trials, responses=responses, frame=trials.frame.assign(**{column: cells}))

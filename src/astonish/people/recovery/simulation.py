"""Participants who behave as a model says: their parameters, and their responses."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from pandas import DataFrame

from astonish.core.checks import check_parameters
from astonish.core.domain import COUNT, Domain, FloatArray
from astonish.core.precision import as_double, double
from astonish.core.xla_kernels import compiled
from astonish.learners.base import check
from astonish.people.fit.likelihood import Model, ParticipantData, participant_data, simulate
from astonish.people.fit.result import Fit
from astonish.people.fit.space import Space
from astonish.people.fit.usual import usual
from astonish.people.recovery.plan import repeated
from astonish.people.tables import Trials
from astonish.people.tables.trials import chosen_anew, paid_columns, with_payoffs

_NARROW = 6.0  # the width of the usual range, over the standard deviation of the values drawn
_UNKNOWN = 0.5  # that standard deviation where no usual range is known

Spread = Mapping[str, float] | None


def simulate_responses(
    model: Model, trials: Trials, values: Mapping[str, Any] | None = None, *, seed: int = 0
) -> Trials:
    """The same trials, with a response of the model wherever there is one now.

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
    return _with_responses(model, with_payoffs(trials, seed), space, numbers, key)


def known_people(
    model: Model, trials: Trials, space: Space, participants: int, truth: Any, spread: Spread, seed: int, part: int = 0
) -> tuple[Trials, FloatArray]:
    """Simulated participants, and their parameters. part: the number of this group among several with one seed."""
    values = true_values(model, trials, space, participants, truth, spread, np.random.default_rng([seed, part]))
    with double():
        key = jax.random.fold_in(jax.random.key(seed), part)
    again = repeated(with_payoffs(trials, seed), participants)
    return _with_responses(model, again, space, values, key), values


def true_values(
    model: Model, trials: Trials, space: Space, participants: int, truth: Any, spread: Spread, rng: np.random.Generator
) -> FloatArray:
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
    known = [domain.check(*own) for domain, *own in zip(space.domains, space.names, rows.T, strict=True)]
    return np.stack(known, axis=-1)[np.arange(participants) % len(rows)]


def _spread(model: Model, trials: Trials, space: Space, spread: Mapping[str, float]) -> FloatArray:
    """Standard deviations on the unconstrained scale: those given, or a sixth of the usual range."""
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


def _as_found(found: Fit, space: Space, participants: int, rng: np.random.Generator) -> FloatArray:
    """Of participants drawn at random from those about whose fit there is nothing to note."""
    well = np.flatnonzero([not note for note in found.notes])
    if not len(well):
        raise ValueError("no participant of this fit was fitted without a note; give other values for truth")
    missing = [name for name in space.names if name not in found.space.names]
    if missing:
        raise ValueError(f"{missing[0]} was not found by the fit given as truth; it knows {', '.join(found.names)}")
    columns = [found.space.names.index(name) for name in space.names]
    return found.values[rng.choice(well, participants)][:, columns]


def _with_responses(model: Model, trials: Trials, space: Space, values: FloatArray, key: Array) -> Trials:
    """The trials with simulated responses. values: of the parameters, a row for each participant."""
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

    def each(data: ParticipantData, own: Array, who: Array) -> tuple[Array, Array | None]:
        made = simulate(space.put(model, own), data, responds_before, jax.random.fold_in(key, who))
        return made.responses, made.second

    return jax.vmap(each)(data, values, jnp.arange(len(data.starts)))


def with_responses(trials: Trials, responses: FloatArray, second: FloatArray | None = None) -> Trials:
    """The same trials with these responses, and what follows from them, also in their table, which has no others."""
    columns = {str(trials.columns.response): trials.as_written(responses)}
    made = replace(trials, responses=responses, another_scale="", unread=())
    if second is not None:
        made, columns[str(trials.columns.second_response)] = replace(made, second=second), second
    if trials.options is not None:
        made = chosen_anew(made, responses)
        columns |= {name: trials.outcomes_as_written(values) for name, values in paid_columns(made).items()}
    return replace(made, frame=trials.frame.assign(**{name: _cells(trials, each) for name, each in columns.items()}))


def _cells(trials: Trials, values: Any) -> Any:
    """A column of the table with these values on all trials, and none elsewhere."""
    there = trials.rows >= 0
    cells = np.full(len(trials.frame), None if values.dtype == object else np.nan, values.dtype)
    cells[trials.rows[there]] = values[there]
    return cells

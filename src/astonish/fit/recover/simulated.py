"""What would participants answer who are as a model says?"""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from astonish.blocks import with_parameters
from astonish.domain import Numbers, check_parameters
from astonish.fit.likelihood import Model, Task, simulate, tasks
from astonish.fit.space import Space
from astonish.precision import as_double, double
from astonish.table import Trials


def simulated(model: Model, trials: Trials, values: Mapping[str, Any] | None = None, *, seed: int = 0) -> Trials:
    """The same trials, with a response of the model wherever there is one now.

    values: parameters by name that are other than in the model, each a number, or one number for each participant.

    >>> from astonish import Delta
    >>> from astonish.fit import Estimate, Model
    >>> from astonish.fit.recover import planned
    >>> trials = planned([[1.0, 2.0, 3.0], [1.0, 2.0, 4.0]], before=False)
    >>> model = Model(Delta(), Estimate(noise=1e-6, anchored=False))
    >>> simulated(model, trials, {"rate": [0.5, 1.0]}).responses.round(3).tolist()
    [[0.5, 1.25, 2.125], [1.0, 2.0, 4.0]]
    """
    space = Space.of(model, values or {})
    numbers = [
        _each(name, domain.check(name, value), len(trials))
        for name, domain, value in zip(space.names, space.domains, (values or {}).values(), strict=True)
    ]
    responses = drawn(model, trials, space, np.array(numbers).T.reshape(len(trials), -1), jax.random.key(seed))
    return answered(trials, responses)


def drawn(model: Model, trials: Trials, space: Space, values: Numbers, key: Array) -> Numbers:
    """Responses of all participants, a row each, whose parameters are the rows of `values`; NaN where there is none."""
    check_parameters(model)
    task = tasks(model, trials)
    own = {name: values[:, k] for k, name in enumerate(space.names)}
    with double():
        given = jax.tree.map(jnp.asarray, as_double((model, task, own)))
        return np.asarray(_answers(*given, key, trials.before), np.float64)


@partial(jax.jit, static_argnums=4)
def _answers(model: Model, task: Task, own: dict[str, Array], key: Array, before: bool) -> Array:
    def each(task: Task, values: dict[str, Array], person: Array) -> Array:
        account = simulate(with_parameters(model, values), task, before, jax.random.fold_in(key, person))
        return account.responses

    return jax.vmap(each)(task, own, jnp.arange(len(task.starts)))


def answered(trials: Trials, responses: Numbers) -> Trials:
    """The same trials with these responses, in their table too."""
    column, there = str(trials.columns.response), trials.rows >= 0
    told = responses[there].tolist()
    cells = trials.frame[column].to_numpy(object if trials.response_kind == "choice" else np.float64, copy=True)
    cells[trials.rows[there]] = told if trials.response_kind != "choice" else [_label(trials, x) for x in told]
    frame = trials.frame.assign(**{column: cells})
    return replace(trials, responses=responses, frame=frame)


def _label(trials: Trials, index: float) -> Any:
    return None if np.isnan(index) else (trials.labels or ())[int(index)]


def _each(name: str, values: Numbers, people: int) -> Numbers:
    if values.shape not in ((), (people,)):
        raise ValueError(f"{name} has shape {values.shape}; give one number, or one for each of {people} participants")
    return np.broadcast_to(values, people)

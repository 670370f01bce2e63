"""The loss of each participant: minus the logarithm of the posterior density, and its derivatives, on all cores."""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.extend.core import Literal

from astonish.core.numbers import FloatArray, as_double, double
from astonish.core.programs import compiled, loop
from astonish.online.series import OPTIONS
from astonish.people.fit.likelihood import Model, ParticipantData, TrialCarry, begin, given_trial
from astonish.people.fit.space import Space

BATCH = 64  # rows of parameters in one call


class Losses:
    """The losses of participants at given parameters, and their gradients.

    prior: means and precisions of normal priors on the unconstrained scale, for all participants (a row each) or for
    each of them; a precision of 0 is no prior.
    """

    def __init__(
        self,
        model: Model,
        data: ParticipantData,
        space: Space,
        responds_before: bool,
        prior: FloatArray,
        batch: int = BATCH,
    ) -> None:
        with double():
            self._model, self._data = jax.tree.map(jnp.asarray, as_double((model, data)))
        self._space, self._responds_before = space, responds_before
        each = prior[:, None] if prior.ndim == 2 else prior
        self._prior = np.broadcast_to(each, (2, len(data.responses), len(space)))
        self._batch = batch  # always the same, so that nothing is compiled twice
        self._pool = ThreadPoolExecutor(os.cpu_count())

    def __call__(self, xs: FloatArray, who: Any) -> tuple[FloatArray, FloatArray]:
        """The loss of participant `who` at each row of unconstrained parameters, and its gradient."""
        count, size = len(xs), self._batch
        if not count:
            return np.zeros(0), np.zeros(xs.shape)
        short = -count % size
        filled = np.concatenate([xs, np.repeat(xs[-1:], short, 0)]).reshape(-1, size, xs.shape[1])
        whose = np.concatenate([who, np.repeat(who[-1:], short)]).reshape(-1, size)
        batches = list(self._pool.map(self._batch_of, filled, whose))
        losses, gradients = (np.concatenate(parts)[:count] for parts in zip(*batches, strict=True))
        return losses, gradients

    def _batch_of(self, xs: FloatArray, who: Any) -> Any:
        given = self._model, self._data, self._prior[:, who], xs, who, self._space, self._responds_before
        with double():
            return jax.device_get(_losses_and_gradients(*given))


@partial(compiled, static_argnums=(5, 6), compiler_options=OPTIONS)
def _losses_and_gradients(
    model: Model, data: ParticipantData, prior: Any, xs: Any, who: Any, space: Space, responds_before: bool
) -> tuple[Array, Array]:
    own = jax.tree.map(lambda part: part[who], data)
    log_likelihood, gradient = log_likelihoods_and_gradients(model, own, space, responds_before, xs)
    off = xs - prior[0]
    return 0.5 * (prior[1] * off * off).sum(1) - log_likelihood, prior[1] * off - gradient


def log_likelihoods_and_gradients(
    model: Model, data: ParticipantData, space: Space, responds_before: bool, xs: Array
) -> tuple[Array, Array]:
    """The log-likelihood of each participant's responses at unconstrained parameters of their own, and its gradient.

    Parameters are few and trials many, so derivatives go forward with the trials: what is carried from one to the next
    has its derivatives beside it. That this is one loop, and not the derivative of a loop as `jax.jacfwd` makes it,
    halves the time to compile it; with directions outermost, participants are next to each other in memory.
    What no parameter changes, such as what message passing believes under each hypothesis, has no derivatives.
    """
    people, count = xs.shape
    directions = jnp.broadcast_to(jnp.eye(count, dtype=xs.dtype)[:, None], (count, people, count))
    values, steepness, _ = _along(lambda xs: (jax.vmap(space.constrain)(xs), None), xs)(
        directions
    )  # once, not per trial

    def first(value: Array, own: ParticipantData) -> TrialCarry:
        return begin(space.put(model, value), own)

    def one(value: Array, memory: TrialCarry, at: ParticipantData) -> Any:
        return given_trial(space.put(model, value), responds_before, memory, at)

    moves = _moving(first, one, values[0], jax.tree.map(lambda part: part[0], data))

    def start(values: Array) -> tuple[Any, Any]:
        return _split(jax.vmap(first)(values, data), moves)

    def step(carry: Any, at: ParticipantData) -> tuple[Any, None]:
        (moving, total), (tangents, gradient), still = carry

        def trial(values: Array, moving: Any) -> tuple[Any, Any]:
            memory, outputs = jax.vmap(one)(values, _merge(moving, still), at)
            moved, others = _split(memory, moves)
            return (moved, outputs.log_likelihood), others

        (moving, more), (tangents, steeper), still = _along(trial, values, moving)(steepness, tangents)
        return ((moving, total + more), (tangents, gradient + steeper), still), None

    moving, tangents, still = _along(start, values)(steepness)
    zeros = jnp.zeros(people, xs.dtype), jnp.zeros((count, people), xs.dtype)
    by_trial = jax.tree.map(lambda part: jnp.swapaxes(part, 0, 1), data)
    end = loop(step, ((moving, zeros[0]), (tangents, zeros[1]), still), by_trial)[0]
    return end[0][1], end[1][1].T


def _along(function: Callable[..., Any], *at: Any) -> Callable[..., Any]:
    """The values of a function here, its derivatives along each of several directions, and what has none."""
    return jax.vmap(lambda *along: jax.jvp(function, at, along, has_aux=True), out_axes=(None, 0, None))


def _moving(
    first: Callable[..., TrialCarry], trial: Callable[..., Any], values: Array, data: ParticipantData
) -> TrialCarry:
    """Which of the numbers that are carried from trial to trial change with the parameters."""
    at = jax.tree.map(lambda part: part[0], data)
    memory, structure = jax.tree.flatten(jax.eval_shape(first, values, data))
    moves = _changing(first, [True], values, data)
    while True:
        more = _changing(
            lambda *given: trial(*given)[0], [True, *moves], values, jax.tree.unflatten(structure, memory), at
        )
        if all(before or not now for before, now in zip(moves, more, strict=True)):
            return jax.tree.unflatten(structure, moves)
        moves = [before or now for before, now in zip(moves, more, strict=True)]


def _changing(function: Callable[..., Any], inputs: list[bool], *given: Any) -> list[bool]:
    """Which numbers that a function returns change smoothly with its first inputs, of which some are said to change."""
    program = jax.make_jaxpr(function)(*given).jaxpr
    changing = {variable for variable, does in zip(program.invars, inputs, strict=False) if does}
    for line in program.eqns:
        if any(not isinstance(each, Literal) and each in changing for each in line.invars):
            changing |= {each for each in line.outvars if jnp.issubdtype(each.aval.dtype, jnp.floating)}
    return [not isinstance(each, Literal) and each in changing for each in program.outvars]


def _split(memory: TrialCarry, moves: TrialCarry) -> tuple[Any, Any]:
    """The numbers that have derivatives, and those that have none, such as counts."""
    some = jax.tree.map(lambda leaf, does: leaf if does else None, memory, moves)
    return some, jax.tree.map(lambda leaf, does: None if does else leaf, memory, moves)


def _merge(some: Any, others: Any) -> TrialCarry:
    """The memory that was split so."""
    memory: TrialCarry = jax.tree.map(
        lambda a, b: b if a is None else a, some, others, is_leaf=lambda leaf: leaf is None
    )
    return memory

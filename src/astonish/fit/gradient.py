"""How does the probability of someone's responses change with the parameters?

Parameters are few and trials many, so derivatives go forward with the trials: what is carried from one to the next
carries its derivatives along. That this is one loop, and not a derivative of a loop, halves the time to compile it.
"""

from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from astonish.fit.likelihood import Memory, Model, Task, begin, given
from astonish.fit.space import Space


def with_slope(model: Model, task: Task, space: Space, before: bool, place: Array) -> tuple[Array, Array]:
    """The log-likelihood of one participant's responses at a place, and its derivatives."""
    alone = jax.tree.map(lambda part: jnp.asarray(part)[None], task)
    log_likelihood, slope = with_slopes(model, alone, space, before, place[None])
    return log_likelihood[0], slope[0]


def with_slopes(model: Model, tasks: Task, space: Space, before: bool, places: Array) -> tuple[Array, Array]:
    """The log-likelihoods of the responses of participants, each at a place of their own, and their derivatives.

    Participants are next to each other in memory, and directions are not: so that steps are taken by whole vectors.
    """
    people, count = places.shape
    directions = jnp.broadcast_to(jnp.eye(count, dtype=places.dtype)[:, None], (count, people, count))
    like = jax.eval_shape(lambda: begin(model, jax.tree.map(lambda part: part[0], tasks)))

    @jax.vmap
    def start(place: Array, task: Task) -> tuple[list[Array], list[Array]]:
        return _parted(begin(space.put(model, place), task))

    @jax.vmap
    def step(place: Array, moving: list[Array], still: list[Array], at: Task) -> tuple[Any, list[Array]]:
        memory, account = given(space.put(model, place), before, _joined(like, moving, still), at)
        changed, others = _parted(memory)
        return (changed, account.log_likelihood), others

    def through(carry: Any, at: Task) -> tuple[Any, None]:
        moving, still, turning, total, slope = carry

        def turn(direction: Array, turning: list[Array]) -> Any:
            onward = (places, moving), (direction, turning)
            return jax.jvp(lambda place, moving: step(place, moving, still, at), *onward, has_aux=True)

        (moving, more), (turning, steeper), still = jax.vmap(turn, out_axes=(None, 0, None))(directions, turning)
        return (moving, still, turning, total + more, slope + steeper), None

    def turned(direction: Array) -> Any:
        return jax.jvp(lambda places: start(places, tasks), (places,), (direction,), has_aux=True)

    moving, turning, still = jax.vmap(turned, out_axes=(None, 0, None))(directions)
    nothing = jnp.zeros(people, places.dtype), jnp.zeros((count, people), places.dtype)
    by_trial = jax.tree.map(lambda part: jnp.swapaxes(part, 0, 1), tasks)
    end = jax.lax.scan(through, (moving, still, turning, *nothing), by_trial)[0]
    return end[3], end[4].T


def _parted(memory: Memory) -> tuple[list[Array], list[Array]]:
    """The numbers that have derivatives, and those that have none, such as counts."""
    leaves = jax.tree.leaves(memory)
    return [leaf for leaf in leaves if _moves(leaf)], [leaf for leaf in leaves if not _moves(leaf)]


def _joined(like: Memory, moving: list[Array], still: list[Array]) -> Memory:
    """The memory that was parted so."""
    some, others = iter(moving), iter(still)
    leaves = [next(some if _moves(leaf) else others) for leaf in jax.tree.leaves(like)]
    memory: Memory = jax.tree.unflatten(jax.tree.structure(like), leaves)
    return memory


def _moves(leaf: Any) -> bool:
    return bool(jnp.issubdtype(leaf.dtype, jnp.floating))

"""Online expectation-maximisation for environments that switch (Mongillo & Deneve 2008; the paper's section 4.12).

The learner knows that there are several environments, each with its own probabilities of going from room to room, and
learns these probabilities, those of a switch, and where it is. The statistics phi of equation 37 are needed only summed
over the environment before (for the rooms) or over the rooms (for the switches), so only these two sums are kept.
"""

from typing import Annotated, Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from astonish.core.numbers import NOT_NEGATIVE, OPEN_PROBABILITY, PROBABILITY, WHOLE, Domain, Number, limits, random_key
from astonish.core.parameters import REQUIRED, parameter
from astonish.learners.base import Learner, StepInfo


class Environments(NamedTuple):
    """What the learner has found out.

    where: the probability of being in each environment (q). room: the room left last. steps: how many samples so far.
    switches: statistics of switches, `[now, from, to]`. moves: of moves, `[now, environment, room, next room]`.
    first: the probabilities of moves with which it started, `[environment, room, next room]`.
    """

    where: Annotated[Array, NOT_NEGATIVE]
    room: Annotated[Array, WHOLE]
    steps: Annotated[Array, WHOLE]
    switches: Annotated[Array, NOT_NEGATIVE]
    moves: Annotated[Array, NOT_NEGATIVE]
    first: Annotated[Array, NOT_NEGATIVE]


_SEVERAL = Domain(2, whole=True)


class OnlineEM(Learner):
    """Samples are pairs (room, next room). It reports Shannon's surprise, and the rate of its statistics."""

    rooms: int = parameter(REQUIRED, _SEVERAL, (4, 20), "how many rooms there are", static=True)
    environments: int = parameter(2, _SEVERAL, (2, 4), "how many environments there are", static=True)
    learning_rate: Number = parameter(0.001, PROBABILITY, (0.0001, 0.01), "weight of the newest sample (eta)")
    switch: Number = parameter(0.1, OPEN_PROBABILITY, (0.001, 0.2), "probability of a switch that it starts from")
    frozen: Number = parameter(2000, WHOLE, (0, 5000), "samples that only fill the statistics")
    seed: Number = parameter(0, WHOLE, (0, 1000), "seed of the random first probabilities of moves")
    name: ClassVar[str] = "online-em"
    surprise_measure: ClassVar[str] = "shannon"

    @property
    def samples(self) -> tuple[Domain, Domain]:
        room = Domain(0, self.rooms - 1, whole=True)
        return room, room

    def init(self) -> Environments:
        some, rooms = self.environments, self.rooms
        key = random_key(self.seed)
        first = jax.random.dirichlet(key, jnp.ones(rooms), (some, rooms), dtype=jnp.result_type(float))
        where, zero = jnp.full(some, 1 / some), jnp.zeros((), jnp.int32)
        switches, moves = jnp.zeros((some, some, some)), jnp.zeros((some, some, rooms, rooms))
        return Environments(where, room=zero, steps=zero, switches=switches, moves=moves, first=first)

    def step(self, state: Environments, x: tuple[Number, Number]) -> tuple[Environments, StepInfo]:
        here, there = (jnp.asarray(part).astype(jnp.int32) for part in x)
        likelihood = self.moves_from(state, here)[:, there]
        least = limits(likelihood).eps ** 2  # what was never seen is not impossible
        joint = self.switches(state) * jnp.maximum(likelihood, least)[None]  # P(to, there | from)
        evidence = state.where @ joint.sum(-1)
        pull = joint / evidence  # equation 36, [from, to]
        rate = jnp.asarray(self.learning_rate, likelihood.dtype)
        news = rate * state.where[:, None] * pull  # of having been in `from` and being in `to`
        carried = (1 - rate) * pull
        k = jnp.arange(self.environments)
        switches = jnp.einsum("l...,lh->h...", state.switches, carried).at[k, :, k].add(news.T)  # equation 37
        moves = jnp.einsum("l...,lh->h...", state.moves, carried).at[k, k, here, there].add(news.sum(0))
        after = Environments(state.where @ pull, here, state.steps + 1, switches, moves, state.first)  # eq. 35
        return after, StepInfo(-jnp.log(evidence), rate)

    def estimate(self, state: Environments) -> Array:
        """The probabilities of each next room from the room left last, wherever the learner is."""
        return state.where @ self.moves_from(state, state.room)

    def in_context(self, state: Environments, x: tuple[Number, Number]) -> tuple[Learner, Environments, Any]:
        return self, state._replace(room=jnp.asarray(x[0]).astype(jnp.int32)), x

    def context_of(self, x: tuple[Number, Number]) -> str:
        return f"in room {x[0]}"

    def switches(self, state: Environments) -> Array:
        """The probabilities of going from one environment to another (P, eq. 38)."""
        some = self.environments
        switch = jnp.asarray(self.switch) / (some - 1)
        first = jnp.where(jnp.eye(some, dtype=bool), 1 - self.switch, switch)
        return self._learned(state, state.switches.sum(0), first)

    def moves(self, state: Environments) -> Array:
        """The probabilities of going from room to room in each environment (T, eq. 38)."""
        return self._learned(state, state.moves.sum(0), state.first)

    def moves_from(self, state: Environments, room: Array) -> Array:
        """The probabilities of each next room from one room, in each environment."""
        return self._learned(state, state.moves[:, :, room].sum(0), state.first[:, room])

    def _learned(self, state: Environments, counts: Array, first: Array) -> Array:
        """Counts as probabilities; the first ones as long as they are frozen, or there is nothing to count."""
        total = (counts @ jnp.ones(counts.shape[-1], counts.dtype))[..., None]  # the compiler adds up one by one
        learned = (state.steps >= self.frozen) & (total > limits(total).tiny)
        return jnp.where(learned, counts * (1 / jnp.where(learned, total, 1.0)), first)

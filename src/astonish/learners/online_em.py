"""Online expectation-maximisation for environments that switch (Mongillo & Deneve 2008; the paper's section 4.12).

The learner knows that there are several environments, each with its own chances of going from room to room, and
learns these chances, those of a switch, and where it is. The statistics phi of equation 37 are needed only summed over
the environment before (for the rooms) or over the rooms (for the switches), so only these two sums are kept.
"""

from dataclasses import field
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from astonish.config import config
from astonish.domain import Domain, parameter
from astonish.learner import Info
from astonish.precision import Number, limits


class Environments(NamedTuple):
    """What the learner has found out.

    where: the probability of being in each environment (q). room: the room left last. steps: how many samples so far.
    switches: statistics of switches, `[now, from, to]`. moves: of moves, `[now, environment, room, next room]`.
    first: the chances of moves with which it started, `[environment, room, next room]`.
    """

    where: Array
    room: Array
    steps: Array
    switches: Array
    moves: Array
    first: Array


@config
class OnlineEM:
    """Samples are pairs (room, next room). It reports Shannon's surprise; its rate is that of its statistics.

    rate: the weight of the newest sample in the statistics (eta). switch: the chance of a switch that it starts from.
    frozen: so many samples only fill the statistics. seed: of the random first chances, which make environments differ.
    """

    rooms: int = field(metadata={"static": True, "domain": Domain(2, whole=True)})
    environments: int = field(default=2, metadata={"static": True, "domain": Domain(2, whole=True)})
    rate: Number = parameter(default=0.001, domain=Domain(0.0, 1.0))
    switch: Number = parameter(default=0.1, domain=Domain(0.0, 1.0, open=True))
    frozen: Number = parameter(default=2000, domain=Domain(0, whole=True))
    seed: Number = parameter(default=0, domain=Domain(0, whole=True))

    @property
    def samples(self) -> tuple[Domain, Domain]:
        room = Domain(0, self.rooms - 1, whole=True)
        return room, room

    def init(self) -> Environments:
        some, rooms = self.environments, self.rooms
        key = jax.random.key(jnp.asarray(self.seed).astype(jnp.result_type(int)))
        first = jax.random.dirichlet(key, jnp.ones(rooms), (some, rooms), dtype=jnp.result_type(float))
        return Environments(
            where=jnp.full(some, 1 / some),
            room=jnp.zeros((), jnp.int32),
            steps=jnp.zeros((), jnp.int32),
            switches=jnp.zeros((some, some, some)),
            moves=jnp.zeros((some, some, rooms, rooms)),
            first=first,
        )

    def step(self, state: Environments, x: tuple[Number, Number]) -> tuple[Environments, Info]:
        here, there = (jnp.asarray(part).astype(jnp.int32) for part in x)
        likelihood = self.moves_from(state, here)[:, there]
        least = limits(likelihood).eps ** 2  # what was never seen is not impossible
        joint = self.switches(state) * jnp.maximum(likelihood, least)  # P(to, there | from)
        evidence = state.where @ joint.sum(-1)
        pull = joint / evidence  # equation 36, [from, to]
        rate = jnp.asarray(self.rate, likelihood.dtype)
        news = rate * state.where[:, None] * pull  # of having been in `from` and being in `to`
        carried = (1 - rate) * pull
        each = jnp.arange(self.environments)
        switches = jnp.einsum("l...,lh->h...", state.switches, carried).at[each, :, each].add(news.T)  # equation 37
        moves = jnp.einsum("l...,lh->h...", state.moves, carried).at[each, each, here, there].add(news.sum(0))
        after = Environments(state.where @ pull, here, state.steps + 1, switches, moves, state.first)  # eq. 35
        return after, Info(-jnp.log(evidence), rate)

    def estimate(self, state: Environments) -> Array:
        """The chances of each next room from the room left last, wherever the learner is."""
        return state.where @ self.moves_from(state, state.room)

    def switches(self, state: Environments) -> Array:
        """The chances of going from one environment to another (P, eq. 38)."""
        some = self.environments
        switch = jnp.asarray(self.switch) / (some - 1)
        first = jnp.where(jnp.eye(some, dtype=bool), 1 - self.switch, switch)
        return self._learned(state, state.switches.sum(0), first)

    def moves(self, state: Environments) -> Array:
        """The chances of going from room to room in each environment (T, eq. 38)."""
        return self._learned(state, state.moves.sum(0), state.first)

    def moves_from(self, state: Environments, room: Array) -> Array:
        """The chances of each next room from one room, in each environment."""
        return self._learned(state, state.moves[:, :, room].sum(0), state.first[:, room])

    def _learned(self, state: Environments, counts: Array, first: Array) -> Array:
        """Counts as chances; the first ones as long as they are frozen, or there is nothing to count."""
        total = (counts @ jnp.ones(counts.shape[-1], counts.dtype))[..., None]  # the compiler adds up one by one
        learned = (state.steps >= self.frozen) & (total > limits(total).tiny)
        return jnp.where(learned, counts * (1 / jnp.where(learned, total, 1.0)), first)

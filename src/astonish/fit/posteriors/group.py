"""How probable are the parameters of many people, given what they did and that people are alike?

Each participant's places (on the scale of the search) are normally distributed around the mean of their group. What is
in common is little, what is each one's own is much; a sampler takes long steps only if all directions look alike to it.
So each participant is described by how far they are from where their own responses and their group, weighed against
each other, would have them: near zero, with a spread near one, whatever the group is like. Few responses: that is the
distance from the group. Many: the distance from one's own best fit.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.scipy.linalg import cho_solve, solve_triangular
from numpy.typing import NDArray

from astonish.fit.gradient import with_slopes
from astonish.fit.likelihood import Model, Task
from astonish.fit.space import Space


@dataclass(frozen=True)
class Roles:
    """Which of the free parameters are each participant's own, and which are the same for all, by their columns.

    grouped: those of one's own whose mean and spread in the group are to be found.
    """

    own: tuple[int, ...]
    grouped: tuple[int, ...]
    shared: tuple[int, ...]

    @property
    def among(self) -> NDArray[np.intp]:
        """Where those are among one's own."""
        return np.array([self.own.index(k) for k in self.grouped], np.intp)

    @property
    def common(self) -> int:
        """How many numbers describe what is in common."""
        return 2 * len(self.grouped) + len(self.shared)


class Prior(NamedTuple):
    """What is expected of each free parameter, on the scale of the search.

    mean, std: of the group's mean; of a shared value; or, where the group is known, of participants themselves.
    spread: the scale of the half-normal distribution of the group's standard deviation.
    """

    mean: Any
    std: Any
    spread: Any


class Likeness(NamedTuple):
    """Each participant's log-likelihood as a parabola: `-x precision x / 2 + pull x`, and what is in common, roughly.

    centre, scale: of the group's means, the logarithms of its standard deviations, and the shared values.
    """

    precision: Any
    pull: Any
    centre: Any
    scale: Any


class Common(NamedTuple):
    """What participants have in common: mean and standard deviation of one's own places, and the shared places."""

    mean: Any
    std: Any
    shared: Any


class Data(NamedTuple):
    """All that the probability of parameters depends on."""

    model: Model
    task: Task
    prior: Prior
    likeness: Likeness


def potential(roles: Roles, space: Space, before: bool, data: Data) -> Any:
    """Minus the logarithm of the posterior density, as a function of what the sampler moves; all but a constant."""

    def energy(z: dict[str, Array]) -> Array:
        common, places, volume = unfolded(roles, data.prior, data.likeness, z)
        own = places[:, np.array(roles.own, int)]
        within = -0.5 * jnp.square((own - common.mean) / common.std) - jnp.log(common.std)
        likelihood = log_likelihood(space, before, data.model, data.task, places)
        return -(_log_prior(roles, data.prior, common) + within.sum() + volume + likelihood)

    return energy


def _log_prior(roles: Roles, prior: Prior, common: Common) -> Array:
    """Of what is in common, standard deviations being measured by their logarithms."""
    grouped, shared = np.array(roles.grouped, int), np.array(roles.shared, int)
    mean, std = common.mean[roles.among], common.std[roles.among]
    of_means = -0.5 * jnp.square((mean - prior.mean[grouped]) / prior.std[grouped])
    of_spreads = -0.5 * jnp.square(std / prior.spread[grouped]) + jnp.log(std)
    of_shared = -0.5 * jnp.square((common.shared - prior.mean[shared]) / prior.std[shared])
    return of_means.sum() + of_spreads.sum() + of_shared.sum()


def unfolded(roles: Roles, prior: Prior, likeness: Likeness, z: dict[str, Array]) -> tuple[Common, Array, Array]:
    """What is in common, everyone's places, and the logarithm of the volume that a unit of the sampler's is there."""
    common = _common(roles, prior, likeness, z.get("common", jnp.zeros(0)))
    people, count = likeness.pull.shape
    places = jnp.broadcast_to(jnp.zeros(count).at[np.array(roles.shared, int)].set(common.shared), (people, count))
    if not roles.own:
        return common, places, jnp.zeros(())
    own, shared = np.array(roles.own, int), np.array(roles.shared, int)
    precision = likeness.precision[:, own[:, None], own] + jnp.diag(common.std**-2)
    crossed = likeness.precision[:, own[:, None], shared] @ common.shared
    pull = likeness.pull[:, own] - crossed + common.mean * common.std**-2
    root = jnp.linalg.cholesky(precision)
    expected = cho_solve((root, True), pull[..., None])
    away = solve_triangular(root, z["own"][..., None], lower=True, trans="T")
    volume = -jnp.log(jnp.diagonal(root, axis1=-2, axis2=-1)).sum()
    return common, places.at[:, own].set((expected + away)[..., 0]), volume


def _common(roles: Roles, prior: Prior, likeness: Likeness, z: Array) -> Common:
    place = likeness.centre + likeness.scale * z
    found, own = len(roles.grouped), np.array(roles.own, int)
    mean = prior.mean[own].at[roles.among].set(place[:found])
    std = prior.std[own].at[roles.among].set(jnp.exp(place[found : 2 * found]))
    return Common(mean, std, place[2 * found :])


@partial(jax.custom_vjp, nondiff_argnums=(0, 1))
def log_likelihood(space: Space, before: bool, model: Model, task: Task, places: Array) -> Array:
    """Of all responses of all participants; its derivatives, by the places alone, come with it."""
    return with_slopes(model, task, space, before, places)[0].sum()


def _forward(space: Space, before: bool, model: Model, task: Task, places: Array) -> tuple[Array, Array]:
    values, slopes = with_slopes(model, task, space, before, places)
    return values.sum(), slopes


def _backward(_space: Space, _before: bool, slopes: Array, weight: Array) -> tuple[None, None, Array]:
    return None, None, weight * slopes


log_likelihood.defvjp(_forward, _backward)

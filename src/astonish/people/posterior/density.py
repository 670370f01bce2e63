"""How probable are the parameters of many participants, given their responses and a group they come from?

Each participant's unconstrained parameters are normally distributed around the mean of the group, which may be linear
in groups and covariates (see `design`). A sampler takes long
steps only where every direction has the same scale. So what it moves is standardised: each participant's distance from
the mean, in standard deviations, of a Laplace approximation that weighs their own responses against the group. With few
responses that is the distance from the group (the non-centred form), with many the distance from one's own best fit
(the centred form), and anything between the two.
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

from astonish.people.fit.likelihood import Model, ParticipantData, log_likelihoods_and_gradients
from astonish.people.fit.space import Space


@dataclass(frozen=True)
class ParameterBlocks:
    """Which of the free parameters are each participant's own, and which are the same for all, by their columns.

    grouped: those of one's own whose mean and standard deviation in the group are to be found. coefficients: how many
    numbers each such mean depends on: 1, unless there are groups or covariates.
    """

    own: tuple[int, ...]
    grouped: tuple[int, ...]
    shared: tuple[int, ...]
    coefficients: int = 1

    @property
    def among(self) -> NDArray[np.intp]:
        """Where those are among one's own."""
        return np.array([self.own.index(k) for k in self.grouped], np.intp)

    @property
    def common(self) -> int:
        """How many numbers describe what participants have in common."""
        return (self.coefficients + 1) * len(self.grouped) + len(self.shared)

    def split(self, values: Any) -> tuple[Any, Any, Any]:
        """These numbers apart: coefficients, a row for each mean; logarithms of standard deviations; shared values."""
        count = len(self.grouped)
        ends = count * self.coefficients, count * (self.coefficients + 1)
        coefficients = values[: ends[0]].reshape(count, self.coefficients)
        return coefficients, values[ends[0] : ends[1]], values[ends[1] :]


class Prior(NamedTuple):
    """What is expected of each free parameter, on the unconstrained scale.

    mean, std: of the group's mean; of a shared value; or, where the group is known, of participants themselves.
    spread: the scale of the half-normal distribution of the group's standard deviation, and the standard deviation of
    the effects of groups and covariates.
    """

    mean: Any
    std: Any
    spread: Any


class Laplace(NamedTuple):
    """Each participant's log-likelihood as `-x precision x / 2 + information x`, and what is in common, roughly.

    centre, scale: of the coefficients of the group's means (those of the first parameter first), the logarithms of its
    standard deviations, and the shared values.
    """

    precision: Any
    information: Any
    centre: Any
    scale: Any


class Common(NamedTuple):
    """What participants have in common.

    coefficients: of the means of grouped parameters, a row for each. mean: of participants' own parameters, a row for
    each participant. std: their standard deviation. shared: the shared values.
    """

    coefficients: Any
    mean: Any
    std: Any
    shared: Any


class Target(NamedTuple):
    """All that the posterior density depends on. design: the matrix of `design.Design`."""

    model: Model
    data: ParticipantData
    prior: Prior
    laplace: Laplace
    design: Any


def potential(roles: ParameterBlocks, space: Space, responds_before: bool, target: Target) -> Any:
    """Minus the logarithm of the posterior density, but for a constant, as a function of what the sampler moves."""

    def energy(z: dict[str, Array]) -> Array:
        common, xs, log_volume = to_parameters(roles, target, z)
        own = xs[:, np.array(roles.own, int)]
        within = -0.5 * jnp.square((own - common.mean) / common.std) - jnp.log(common.std)
        likelihood = log_likelihood(space, responds_before, target.model, target.data, xs)
        return -(_log_prior(roles, target.prior, common) + within.sum() + log_volume + likelihood)

    return energy


def _log_prior(roles: ParameterBlocks, prior: Prior, common: Common) -> Array:
    """Of what is in common, standard deviations being measured by their logarithms."""
    grouped, shared = np.array(roles.grouped, int), np.array(roles.shared, int)
    first, effects, std = common.coefficients[:, 0], common.coefficients[:, 1:], common.std[roles.among]
    of_means = -0.5 * jnp.square((first - prior.mean[grouped]) / prior.std[grouped])
    of_effects = -0.5 * jnp.square(effects / prior.spread[grouped][:, None])
    of_stds = -0.5 * jnp.square(std / prior.spread[grouped]) + jnp.log(std)
    of_shared = -0.5 * jnp.square((common.shared - prior.mean[shared]) / prior.std[shared])
    return of_means.sum() + of_effects.sum() + of_stds.sum() + of_shared.sum()


def to_parameters(roles: ParameterBlocks, target: Target, z: dict[str, Array]) -> tuple[Common, Array, Array]:
    """What is in common, everyone's unconstrained parameters, and the logarithm of the Jacobian determinant."""
    laplace = target.laplace
    common = _common(roles, target, z.get("common", jnp.zeros(0)))
    people, count = laplace.information.shape
    own, shared = np.array(roles.own, int), np.array(roles.shared, int)
    xs = jnp.broadcast_to(jnp.zeros(count).at[shared].set(common.shared), (people, count))
    if not roles.own:
        return common, xs, jnp.zeros(())
    precision = laplace.precision[:, own[:, None], own] + jnp.diag(common.std**-2)
    crossed = laplace.precision[:, own[:, None], shared] @ common.shared
    information = laplace.information[:, own] - crossed + common.mean * common.std**-2
    root = jnp.linalg.cholesky(precision)
    mean = cho_solve((root, True), information[..., None])
    distance = solve_triangular(root, z["own"][..., None], lower=True, trans="T")
    log_volume = -jnp.log(jnp.diagonal(root, axis1=-2, axis2=-1)).sum()
    return common, xs.at[:, own].set((mean + distance)[..., 0]), log_volume


def _common(roles: ParameterBlocks, target: Target, z: Array) -> Common:
    coefficients, log_stds, shared = roles.split(target.laplace.centre + target.laplace.scale * z)
    own = np.array(roles.own, int)
    alone = jnp.broadcast_to(target.prior.mean[own], (len(target.design), len(own)))
    mean = alone.at[:, roles.among].set(target.design @ coefficients.T)
    std = target.prior.std[own].at[roles.among].set(jnp.exp(log_stds))
    return Common(coefficients, mean, std, shared)


@partial(jax.custom_vjp, nondiff_argnums=(0, 1))
def log_likelihood(space: Space, responds_before: bool, model: Model, data: ParticipantData, xs: Array) -> Array:
    """Of all responses of all participants; its derivatives, by the parameters alone, come with it."""
    return log_likelihoods_and_gradients(model, data, space, responds_before, xs)[0].sum()


def _forward(space: Space, responds_before: bool, model: Model, data: ParticipantData, xs: Array) -> tuple[Array, Any]:
    values, gradients = log_likelihoods_and_gradients(model, data, space, responds_before, xs)
    return values.sum(), gradients


def _backward(_space: Space, _before: bool, gradients: Array, weight: Array) -> tuple[None, None, Array]:
    return None, None, weight * gradients


log_likelihood.defvjp(_forward, _backward)

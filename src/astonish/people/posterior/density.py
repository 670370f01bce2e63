"""The posterior density of the parameters of many participants, given their responses and a group they come from.

Each participant's unconstrained parameters are normally distributed around the mean of the group, which may be linear
in groups and covariates (see `Design`). A sampler takes long steps only where every direction has the same scale. So
what it moves is standardised: each participant's distance from the mean, in standard deviations, of a Laplace
approximation that weighs their own responses against the group. With few responses that is the distance from the group
(the non-centred form), with many the distance from one's own best fit (the centred form), and anything between the two.
"""

from dataclasses import dataclass
from itertools import combinations
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.scipy.linalg import cho_solve, solve_triangular
from numpy.typing import NDArray

from astonish.core.numbers import FloatArray
from astonish.people.fit.likelihood import BATCH, Losses, Model, ParticipantData, log_likelihoods_and_gradients
from astonish.people.fit.search import minimise, second_derivatives
from astonish.people.fit.space import Space, effects
from astonish.people.tables import Trials
from astonish.people.tables.cells import in_order

_STARTS = 4
_TOLERANCE = 1e-3  # a difference in log-likelihood that does not matter
_SHARED_STD = 0.02  # about how far from a value that all share each search may end
_ROUNDS = 50
_LEAST_STD = 0.05  # of a group to begin with
_LEAST_WEIGHT = 1e-3  # of one's own responses against the group
_LOG_STDS = (-7.0, 4.0, 221)  # the grid of logarithms of a group's standard deviation


@dataclass(frozen=True)
class Design:
    """What is known of participants, as the matrix of a linear model with a row for each.

    Its first column is 1, so that the first coefficient is the mean over groups at the mean of all covariates.
    Covariates are standardised. Groups have one column less than there are groups, made such that effects of groups add
    up to zero and none of them is special: all have the same prior (Rouder, Morey, Speckman & Province 2012).

    groups: their labels, in order. covariates: their names, with mean and standard deviation of each.
    """

    matrix: FloatArray
    groups: tuple[Any, ...]
    covariates: dict[str, tuple[float, float]]

    @property
    def means(self) -> dict[str, FloatArray]:
        """By group, the weights of the coefficients whose sum is the group's mean; of all, without groups."""
        if not self.groups:
            return {"": np.eye(self.matrix.shape[1])[0]}
        codes = np.pad(effects(len(self.groups)), ((0, 0), (0, len(self.covariates))))
        return {str(label): np.append(1.0, own) for label, own in zip(self.groups, codes, strict=True)}

    @property
    def contrasts(self) -> dict[str, FloatArray]:
        """By name, weights of coefficients: differences between groups, and what one unit of a covariate does."""
        pairs = combinations(self.means.items(), 2) if self.groups else ()
        differences = {f"{one} - {other}": own - others for (one, own), (other, others) in pairs}
        rows = np.eye(self.matrix.shape[1])[self.matrix.shape[1] - len(self.covariates) :]
        slopes = zip(rows, self.covariates.items(), strict=True)
        return differences | {f"per unit of {name}": row / std for row, (name, (_, std)) in slopes}


def design_of(trials: Trials) -> Design:
    """Make the design of these participants, with their groups and covariates, as far as any are known."""
    parts = [np.ones((len(trials), 1))]
    groups: tuple[Any, ...] = ()
    if trials.group is not None:
        groups = in_order(set(trials.group))
        parts.append(effects(len(groups))[[groups.index(label) for label in trials.group]])
    scales = {name: (float(values.mean()), float(values.std())) for name, values in trials.covariates.items()}
    for name, (mean, std) in scales.items():
        if std == 0:
            raise ValueError(f"{name} is {mean:g} for everybody who can be fitted; leave it out")
        parts.append((trials.covariates[name] - mean)[:, None] / std)
    matrix = np.concatenate(parts, axis=1)
    if np.linalg.matrix_rank(matrix) < matrix.shape[1]:
        raise ValueError("groups and covariates cannot be told apart, for some of them determine others; leave one out")
    return Design(matrix, groups, scales)


# What the sampler moves, and its density


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
    def columns(self) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]:
        """The three as arrays."""
        own, grouped, shared = (np.array(part, np.intp) for part in (self.own, self.grouped, self.shared))
        return own, grouped, shared

    @property
    def among(self) -> NDArray[np.intp]:
        """Where the grouped ones are among one's own."""
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
    """Make minus the logarithm of the posterior density, but for a constant, a function of what the sampler moves."""
    prior = target.prior
    own, grouped, shared = roles.columns

    def energy(z: dict[str, Array]) -> Array:
        common, xs, log_volume = to_parameters(roles, target, z)
        # Of what is in common, standard deviations being measured by their logarithms
        first, effects, std = common.coefficients[:, 0], common.coefficients[:, 1:], common.std[roles.among]
        of_means = -0.5 * jnp.square((first - prior.mean[grouped]) / prior.std[grouped])
        of_effects = -0.5 * jnp.square(effects / prior.spread[grouped][:, None])
        of_stds = -0.5 * jnp.square(std / prior.spread[grouped]) + jnp.log(std)
        of_shared = -0.5 * jnp.square((common.shared - prior.mean[shared]) / prior.std[shared])
        in_common = of_means.sum() + of_effects.sum() + of_stds.sum() + of_shared.sum()
        # Of participants, given that, and of their responses
        within = -0.5 * jnp.square((xs[:, own] - common.mean) / common.std) - jnp.log(common.std)
        # Whose derivatives, by the parameters alone, come with it
        fixed = jax.lax.stop_gradient(xs)
        likelihoods = log_likelihoods_and_gradients(target.model, target.data, space, responds_before, fixed)
        values, gradients = jax.lax.stop_gradient(likelihoods)
        of_responses = values.sum() + (gradients * (xs - fixed)).sum()
        return -(in_common + within.sum() + log_volume + of_responses)

    return energy


def to_parameters(roles: ParameterBlocks, target: Target, z: dict[str, Array]) -> tuple[Common, Array, Array]:
    """Compute what is in common, everyone's unconstrained parameters, and the log of the Jacobian determinant."""
    laplace, prior, (own, _, shared) = target.laplace, target.prior, roles.columns
    people, count = laplace.information.shape
    coefficients, log_stds, values = roles.split(laplace.centre + laplace.scale * z.get("common", jnp.zeros(0)))
    alone = jnp.broadcast_to(prior.mean[own], (people, len(own)))
    mean = alone.at[:, roles.among].set(target.design @ coefficients.T)
    std = prior.std[own].at[roles.among].set(jnp.exp(log_stds))
    common = Common(coefficients, mean, std, values)
    xs = jnp.broadcast_to(jnp.zeros(count).at[shared].set(values), (people, count))
    if not roles.own:
        return common, xs, jnp.zeros(())
    precision = laplace.precision[:, own[:, None], own] + jnp.diag(std**-2)
    crossed = laplace.precision[:, own[:, None], shared] @ values
    information = laplace.information[:, own] - crossed + mean * std**-2
    root = jnp.linalg.cholesky(precision)
    mode = cho_solve((root, True), information[..., None])
    distance = solve_triangular(root, z["own"][..., None], lower=True, trans="T")
    log_volume = -jnp.log(jnp.diagonal(root, axis1=-2, axis2=-1)).sum()
    return common, xs.at[:, own].set((mode + distance)[..., 0]), log_volume


# Starts and scales


def laplace_approximation(
    model: Model,
    data: ParticipantData,
    space: Space,
    responds_before: bool,
    roles: ParameterBlocks,
    prior: Prior,
    design: FloatArray,
    seed: int,
) -> Laplace:
    """Approximate each log-likelihood at its mode: first under a wide prior, then under the group that this gives.

    No result rests on that: it gives chains their starts and scales.
    """
    people, (_, grouped, shared) = len(data.responses), roles.columns
    variance = np.square(prior.std)
    variance[grouped] += np.square(prior.spread[grouped])
    normal = np.stack([prior.mean, 1 / variance])
    starts = np.repeat(prior.mean[None], people * _STARTS, 0).reshape(people, _STARTS, -1)
    starts[:, 1:] += np.random.default_rng(seed).standard_normal((people, _STARTS - 1, len(space)))
    everyone, size = np.arange(people), min(BATCH, people * _STARTS)
    losses = Losses(model, data, space, responds_before, normal, size)
    whose = np.repeat(everyone, _STARTS)
    ends = minimise(losses, starts.reshape(len(whose), -1), whose, limit=space.limit, tolerance=_TOLERANCE)
    best = np.argmin(ends.loss.reshape(people, _STARTS), 1)
    modes = ends.x.reshape(people, _STARTS, -1)[everyone, best]
    first = _at_modes(roles, prior, design, modes, second_derivatives(losses, modes, everyone), normal)
    coefficients, log_stds, values = roles.split(first.centre)
    means = design @ coefficients.T
    normal[:, grouped] = means.mean(0), 1 / (np.exp(2 * log_stds) + means.var(0))  # of all, whatever their group
    normal[0, shared], normal[1, shared] = values, _SHARED_STD**-2
    losses = Losses(model, data, space, responds_before, normal, size)
    modes = minimise(losses, modes, everyone, limit=space.limit, tolerance=_TOLERANCE).x
    return _at_modes(roles, prior, design, modes, second_derivatives(losses, modes, everyone), normal)


def _at_modes(
    roles: ParameterBlocks, prior: Prior, design: FloatArray, modes: FloatArray, hessian: FloatArray, normal: FloatArray
) -> Laplace:
    """Find the parabola of each log-likelihood from mode and Hessian of a loss that includes a normal prior.

    Also about where what is in common is, and how sure that is, by expectation-maximisation.
    """
    bare = hessian - np.diag(normal[1])
    bare = np.where(np.isfinite(bare).all((1, 2), keepdims=True), bare, 0.0)
    values, axes = np.linalg.eigh(0.5 * (bare + bare.transpose(0, 2, 1)))
    precision = (axes * np.maximum(values, 0.0)[:, None]) @ axes.transpose(0, 2, 1)
    information = np.einsum("pij,pj->pi", precision, modes) + normal[1] * (modes - normal[0])
    (own, grouped, shared), among = roles.columns, roles.among
    mean, std = np.repeat(prior.mean[own][None], len(modes), 0), prior.std[own].copy()
    fitted = design @ np.linalg.pinv(design)  # the regression of anything on the design
    mean[:, among] = (fitted @ modes[:, own])[:, among]
    std[among] = np.maximum((modes[:, own] - mean).std(0)[among], _LEAST_STD)
    shared_precision = prior.std[shared] ** -2.0
    for _ in range(_ROUNDS):
        covariance = np.linalg.inv(precision[:, own[:, None], own] + np.diag(std**-2.0))
        alone = np.einsum("pij,pj->pi", covariance, information[:, own] + mean * std**-2.0)
        cross = precision[:, shared[:, None], own]
        total = (precision[:, shared[:, None], shared] - cross @ covariance @ cross.transpose(0, 2, 1)).sum(0)
        total += np.diag(shared_precision)
        linear = (information[:, shared] - np.einsum("pij,pj->pi", cross, alone)).sum(0)
        value = np.linalg.solve(total, linear + shared_precision * prior.mean[shared])
        means = alone - np.einsum("pij,pkj,k->pi", covariance, cross, value)
        variances = np.diagonal(covariance, axis1=1, axis2=2)
        mean[:, among] = (fitted @ means)[:, among]
        std[among] = np.maximum(np.sqrt((np.square(means - mean) + variances).mean(0)[among]), _LEAST_STD)
    weight = np.maximum(1 - variances / np.square(std), _LEAST_WEIGHT)
    modes, variances = (means - mean) / weight + mean, variances / weight  # of the responses alone
    groups = [_group(modes[:, at], variances[:, at], design, prior, k) for at, k in zip(among, grouped, strict=True)]
    both = np.array(groups).reshape(-1, 2, roles.coefficients + 1)  # centre and scale of coefficients and of a log std
    (centres, scales), (logs, log_scales) = both[..., :-1].swapaxes(0, 1), both[..., -1].T
    shared_std = np.sqrt(np.diagonal(np.linalg.inv(total)))
    scale = np.concatenate([scales.ravel(), log_scales, shared_std])
    return Laplace(precision, information, np.concatenate([centres.ravel(), logs, value]), scale)


def _group(
    modes: FloatArray, variances: FloatArray, design: FloatArray, prior: Prior, k: int
) -> tuple[FloatArray, FloatArray]:
    """Find posterior mean and std of the coefficients of a group's mean, and of the log of its standard deviation.

    By a grid of the latter, given which the former are those of a linear regression. For parameter `k`.
    """
    logs, columns = np.linspace(*_LOG_STDS), design.shape[1]
    expected = np.eye(columns)[0] * prior.mean[k]
    certain = np.array([prior.std[k], *[prior.spread[k]] * (columns - 1)]) ** -2.0
    weight = 1 / (np.exp(2 * logs)[:, None] + variances)
    precision = np.einsum("gp,pi,pj->gij", weight, design, design) + np.diag(certain)
    linear = (weight * modes) @ design + certain * expected
    coefficients = np.linalg.solve(precision, linear[..., None])[..., 0]
    misfit = (weight * np.square(modes - coefficients @ design.T)).sum(1)
    misfit += (certain * np.square(coefficients - expected)).sum(1)
    log = 0.5 * (np.log(weight).sum(1) - np.linalg.slogdet(precision)[1] - misfit) + logs
    log -= 0.5 * np.square(np.exp(logs) / prior.spread[k])
    probability = np.exp(log - log.max())
    probability /= probability.sum()
    centre, log_centre = probability @ coefficients, probability @ logs
    within = np.diagonal(np.linalg.inv(precision), axis1=1, axis2=2)
    variance = probability @ (np.square(coefficients - centre) + within)
    scales = np.append(np.sqrt(variance), np.sqrt(probability @ np.square(logs - log_centre)))
    return np.append(centre, log_centre), scales

"""Roughly, what do the responses of each participant say, and what do those of all say together?

Each log-likelihood is approximated by a parabola. No result rests on that: it gives chains their starts and scales.
"""

import numpy as np

from astonish.core.domain import FloatArray
from astonish.people.fit.likelihood import BATCH, Losses, Model, ParticipantData
from astonish.people.fit.search import minimise, second_derivatives
from astonish.people.fit.space import Space
from astonish.people.posterior.density import Laplace, ParameterBlocks, Prior

_STARTS = 4
_TOLERANCE = 1e-3  # a difference in log-likelihood that does not matter
_SHARED_STD = 0.02  # about how far from a value that all share each search may end
_ROUNDS = 50
_LEAST_STD = 0.05  # of a group to begin with
_LEAST_WEIGHT = 1e-3  # of one's own responses against the group
_LOG_STDS = (-7.0, 4.0, 221)  # the grid of logarithms of a group's standard deviation


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
    """The approximation at each participant's mode: first under a wide prior, then under the group that this gives."""
    people, grouped = len(data.responses), np.array(roles.grouped, int)
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
    (coefficients, log_stds, values), shared = roles.split(first.centre), np.array(roles.shared, int)
    means = design @ coefficients.T
    normal[:, grouped] = means.mean(0), 1 / (np.exp(2 * log_stds) + means.var(0))  # of all, whatever their group
    normal[0, shared], normal[1, shared] = values, _SHARED_STD**-2
    losses = Losses(model, data, space, responds_before, normal, size)
    modes = minimise(losses, modes, everyone, limit=space.limit, tolerance=_TOLERANCE).x
    return _at_modes(roles, prior, design, modes, second_derivatives(losses, modes, everyone), normal)


def _at_modes(
    roles: ParameterBlocks, prior: Prior, design: FloatArray, modes: FloatArray, hessian: FloatArray, normal: FloatArray
) -> Laplace:
    """The parabola of each log-likelihood, from mode and Hessian of a loss that includes a normal prior."""
    bare = hessian - np.diag(normal[1])
    bare = np.where(np.isfinite(bare).all((1, 2), keepdims=True), bare, 0.0)
    values, axes = np.linalg.eigh(0.5 * (bare + bare.transpose(0, 2, 1)))
    precision = (axes * np.maximum(values, 0.0)[:, None]) @ axes.transpose(0, 2, 1)
    information = np.einsum("pij,pj->pi", precision, modes) + normal[1] * (modes - normal[0])
    return Laplace(precision, information, *_centre_and_scale(roles, prior, design, precision, information, modes))


def _centre_and_scale(
    roles: ParameterBlocks,
    prior: Prior,
    design: FloatArray,
    precision: FloatArray,
    information: FloatArray,
    modes: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """About where what is in common is, and how sure that is, by expectation-maximisation."""
    own, shared = np.array(roles.own, int), np.array(roles.shared, int)
    grouped, among = np.array(roles.grouped, int), roles.among
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
    found = np.array(groups).reshape(-1, 2, roles.coefficients + 1)  # centre and scale of coefficients and of a log std
    (centres, scales), (logs, log_scales) = found[..., :-1].swapaxes(0, 1), found[..., -1].T
    shared_std = np.sqrt(np.diagonal(np.linalg.inv(total)))
    return np.concatenate([centres.ravel(), logs, value]), np.concatenate([scales.ravel(), log_scales, shared_std])


def _group(
    modes: FloatArray, variances: FloatArray, design: FloatArray, prior: Prior, k: int
) -> tuple[FloatArray, FloatArray]:
    """Of the coefficients of a group's mean, and the logarithm of its standard deviation: posterior mean and std.

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

"""Roughly, what do the responses of each participant say, and what do those of all say together?

Each log-likelihood is approximated by a parabola. No result rests on that: it gives chains their starts and scales.
"""

from typing import Any

import numpy as np

from astonish.domain import Numbers
from astonish.fit.bfgs import minimise
from astonish.fit.likelihood import Model, ParticipantData
from astonish.fit.objective import BATCH, Losses
from astonish.fit.posterior.density import Laplace, Prior, Roles
from astonish.fit.space import Space

_STARTS = 4
_TOLERANCE = 1e-3  # a difference in log-likelihood that does not matter
_SHARED_STD = 0.02  # about how far from a value that all share each search may end
_ROUNDS = 50
_LEAST_STD = 0.05  # of a group to begin with
_LEAST_WEIGHT = 1e-3  # of one's own responses against the group
_LOG_STDS = (-7.0, 4.0, 221)  # the grid of logarithms of a group's standard deviation


def laplace_approximation(
    model: Model, data: ParticipantData, space: Space, responds_before: bool, roles: Roles, prior: Prior, seed: int
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
    first = _at_modes(roles, prior, modes, losses.hessian(modes, everyone), normal)
    found, shared = len(grouped), np.array(roles.shared, int)
    normal[:, grouped] = first.centre[:found], np.exp(-2 * first.centre[found : 2 * found])
    normal[0, shared], normal[1, shared] = first.centre[2 * found :], _SHARED_STD**-2
    losses = Losses(model, data, space, responds_before, normal, size)
    modes = minimise(losses, modes, everyone, limit=space.limit, tolerance=_TOLERANCE).x
    return _at_modes(roles, prior, modes, losses.hessian(modes, everyone), normal)


def _at_modes(roles: Roles, prior: Prior, modes: Numbers, hessian: Numbers, normal: Numbers) -> Laplace:
    """The parabola of each log-likelihood, from mode and Hessian of a loss that includes a normal prior."""
    bare = hessian - np.diag(normal[1])
    bare = np.where(np.isfinite(bare).all((1, 2), keepdims=True), bare, 0.0)
    values, axes = np.linalg.eigh(0.5 * (bare + bare.transpose(0, 2, 1)))
    precision = (axes * np.maximum(values, 0.0)[:, None]) @ axes.transpose(0, 2, 1)
    information = np.einsum("pij,pj->pi", precision, modes) + normal[1] * (modes - normal[0])
    return Laplace(precision, information, *_centre_and_scale(roles, prior, precision, information, modes))


def _centre_and_scale(
    roles: Roles, prior: Prior, precision: Numbers, information: Numbers, modes: Numbers
) -> tuple[Numbers, Numbers]:
    """About where what is in common is, and how sure that is, by expectation-maximisation."""
    own, shared = np.array(roles.own, int), np.array(roles.shared, int)
    grouped, among = np.array(roles.grouped, int), roles.among
    mean, std = prior.mean[own].copy(), prior.std[own].copy()
    mean[among] = modes[:, own].mean(0)[among]
    std[among] = np.maximum(modes[:, own].std(0)[among], _LEAST_STD)
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
        mean[among] = means.mean(0)[among]
        std[among] = np.maximum(np.sqrt((np.square(means - mean) + variances).mean(0)[among]), _LEAST_STD)
    weight = np.maximum(1 - variances / np.square(std), _LEAST_WEIGHT)
    modes, variances = (means - mean) / weight + mean, variances / weight  # of the responses alone
    groups = [_group(modes[:, at], variances[:, at], prior, k) for at, k in zip(among, grouped, strict=True)]
    centres, scales = np.array(groups).reshape(-1, 2, 2).transpose(1, 2, 0)
    shared_std = np.sqrt(np.diagonal(np.linalg.inv(total)))
    return np.concatenate([*centres, value]), np.concatenate([*scales, shared_std])


def _group(modes: Numbers, variances: Numbers, prior: Prior, k: int) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
    """Of a group's mean, and of the logarithm of its standard deviation: the posterior mean and std, by a grid.

    Returns both means, and both standard deviations, of parameter `k`.
    """
    logs = np.linspace(*_LOG_STDS)
    weight = 1 / (np.exp(2 * logs)[:, None] + variances)
    precision = weight.sum(1) + prior.std[k] ** -2.0
    mean = (weight @ modes + prior.mean[k] * prior.std[k] ** -2.0) / precision
    misfit = (weight * np.square(modes - mean[:, None])).sum(1) + np.square((mean - prior.mean[k]) / prior.std[k])
    log = 0.5 * (np.log(weight).sum(1) - np.log(precision) - misfit - np.square(np.exp(logs) / prior.spread[k])) + logs
    chance = np.exp(log - log.max())
    chance /= chance.sum()
    centre, log_centre = chance @ mean, chance @ logs
    variance = chance @ (np.square(mean - centre) + 1 / precision)
    return (centre, log_centre), (np.sqrt(variance), np.sqrt(chance @ np.square(logs - log_centre)))

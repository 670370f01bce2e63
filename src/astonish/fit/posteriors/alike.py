"""Roughly, what do someone's responses say, and what do those of all participants say together?

Each log-likelihood is taken for a parabola. Nothing that is concluded rests on that: it is where chains start, and the
scale on which they move.
"""

from typing import Any

import numpy as np

from astonish.domain import Numbers
from astonish.fit.likelihood import Model, Task
from astonish.fit.losses import TOGETHER, Losses
from astonish.fit.posteriors.group import Likeness, Prior, Roles
from astonish.fit.search import minimise
from astonish.fit.space import Space

_STARTS = 4
_SMALL = 1e-3  # a difference in log-likelihood that does not matter
_TIGHT = 0.02  # about how far from a value that all share each search may end
_ROUNDS = 50
_NARROW = 0.05  # the least standard deviation of a group to begin with
_HARDLY = 1e-3  # less than this is nothing
_LOGS = (-7.0, 4.0, 221)  # logarithms of the standard deviations that a group may have


def alike(model: Model, task: Task, space: Space, before: bool, roles: Roles, prior: Prior, seed: int) -> Likeness:
    """What each participant's responses say, roughly: by searches that expect little, then by some that know more."""
    people, grouped = len(task.responses), np.array(roles.grouped, int)
    wide = np.square(prior.std)
    wide[grouped] += np.square(prior.spread[grouped])
    expected = np.stack([prior.mean, 1 / wide])
    begin = np.repeat(prior.mean[None], people * _STARTS, 0).reshape(people, _STARTS, -1)
    begin[:, 1:] += np.random.default_rng(seed).standard_normal((people, _STARTS - 1, len(space)))
    everyone, size = np.arange(people), min(TOGETHER, people * _STARTS)
    losses = Losses(model, task, space, before, expected, size)
    ends = minimise(
        losses, begin.reshape(people * _STARTS, -1), np.repeat(everyone, _STARTS), furthest=space.furthest, small=_SMALL
    )
    best = np.argmin(ends.loss.reshape(people, _STARTS), 1)
    places = ends.place.reshape(people, _STARTS, -1)[everyone, best]
    first = _parabolas(roles, prior, places, losses.curvature(places, everyone), expected)
    found, shared = len(grouped), np.array(roles.shared, int)
    expected[:, grouped] = first.centre[:found], np.exp(-2 * first.centre[found : 2 * found])
    expected[0, shared], expected[1, shared] = first.centre[2 * found :], _TIGHT**-2
    losses = Losses(model, task, space, before, expected, size)
    places = minimise(losses, places, everyone, furthest=space.furthest, small=_SMALL).place
    return _parabolas(roles, prior, places, losses.curvature(places, everyone), expected)


def _parabolas(roles: Roles, prior: Prior, places: Numbers, curvature: Numbers, expected: Numbers) -> Likeness:
    """The parabolas that touch each log-likelihood where a search under `expected` ended, and what they say together.

    curvature: of the loss there, what is expected included. What is in common is found by expectation-maximisation.
    """
    bare = curvature - np.diag(expected[1])
    bare = np.where(np.isfinite(bare).all((1, 2), keepdims=True), bare, 0.0)
    heights, axes = np.linalg.eigh(0.5 * (bare + bare.transpose(0, 2, 1)))
    precision = (axes * np.maximum(heights, 0.0)[:, None]) @ axes.transpose(0, 2, 1)
    pull = np.einsum("pij,pj->pi", precision, places) + expected[1] * (places - expected[0])
    centre, scale = _gathered(roles, prior, precision, pull, places)
    return Likeness(precision, pull, centre, scale)


def _gathered(
    roles: Roles, prior: Prior, precision: Numbers, pull: Numbers, places: Numbers
) -> tuple[Numbers, Numbers]:
    """About where what is in common is, and how sure that is."""
    own, shared = np.array(roles.own, int), np.array(roles.shared, int)
    grouped, among = np.array(roles.grouped, int), roles.among
    mean, std = prior.mean[own].copy(), prior.std[own].copy()
    mean[among] = places[:, own].mean(0)[among]
    std[among] = np.maximum(places[:, own].std(0)[among], _NARROW)
    weight = prior.std[shared] ** -2.0
    for _ in range(_ROUNDS):
        spread = np.linalg.inv(precision[:, own[:, None], own] + np.diag(std**-2.0))
        alone = np.einsum("pij,pj->pi", spread, pull[:, own] + mean * std**-2.0)
        cross = precision[:, shared[:, None], own]
        solid = (precision[:, shared[:, None], shared] - cross @ spread @ cross.transpose(0, 2, 1)).sum(0)
        solid += np.diag(weight)
        drawn = (pull[:, shared] - np.einsum("pij,pj->pi", cross, alone)).sum(0) + weight * prior.mean[shared]
        value = np.linalg.solve(solid, drawn)
        middle = alone - np.einsum("pij,pkj,k->pi", spread, cross, value)
        width = np.diagonal(spread, axis1=1, axis2=2)
        mean[among] = middle.mean(0)[among]
        off = np.square(middle - mean) + width
        std[among] = np.maximum(np.sqrt(off.mean(0)[among]), _NARROW)
    told = np.maximum(1 - width / np.square(std), _HARDLY)  # how much of a place is told by responses, not by the group
    said = (middle - mean) / told + mean
    groups = [_group(said[:, at], (width / told)[:, at], prior, k) for at, k in zip(among, grouped, strict=True)]
    means, stds = np.array(groups).reshape(-1, 2, 2).transpose(1, 2, 0)
    sure = np.sqrt(np.diagonal(np.linalg.inv(solid)))
    return np.concatenate([means[0], stds[0], value]), np.concatenate([means[1], stds[1], sure])


def _group(said: Numbers, width: Numbers, prior: Prior, k: int) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
    """Mean and standard deviation of a group's mean, and of the logarithm of its standard deviation, by a grid.

    said: what the responses of each participant say, with this variance, of parameter `k`.
    """
    logs = np.linspace(*_LOGS)
    weight = 1 / (np.exp(2 * logs)[:, None] + width)
    precision = weight.sum(1) + prior.std[k] ** -2.0
    mean = (weight @ said + prior.mean[k] * prior.std[k] ** -2.0) / precision
    misfit = (weight * np.square(said - mean[:, None])).sum(1) + np.square((mean - prior.mean[k]) / prior.std[k])
    log = 0.5 * (np.log(weight).sum(1) - np.log(precision) - misfit - np.square(np.exp(logs) / prior.spread[k])) + logs
    chance = np.exp(log - log.max())
    chance /= chance.sum()
    middle, centre = chance @ mean, chance @ logs
    spread = chance @ (np.square(mean - middle) + 1 / precision)
    return (middle, np.sqrt(spread)), (centre, np.sqrt(chance @ np.square(logs - centre)))

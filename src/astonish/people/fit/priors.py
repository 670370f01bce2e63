"""What is expected of parameters before any response is seen? Normal priors on the unconstrained scale.

With "usual" they say where people's values usually lie (see `domain.Parameter`): about the middle of that range, with a
standard deviation of half its width. They are weak, and keep values that few responses hardly tell from going astray.
"""

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from astonish.core.numbers import FloatArray, as_numbers
from astonish.models.parameters import short_names
from astonish.people.fit.space import Space
from astonish.people.fit.usual import usual, usual_of_each
from astonish.people.tables import Trials

USUAL = "usual"
FEW = {"choice": 100}  # responses for each free parameter, below which priors help much: docs/searches.md has numbers
_FEW = 10  # of responses of other kinds, which tell more each
Priors = Mapping[str, tuple[float, float]] | Literal["usual"] | None


def normal_priors(model: Any, space: Space, trials: Trials, priors: Priors, shared: tuple[str, ...] = ()) -> FloatArray:
    """Means and precisions, by participant and parameter; a precision of 0 is no prior.

    shared: full names of parameters that have one value for all participants; as their prior counts once, each
    participant has a part of it.
    """
    people, same = len(trials), np.isin(space.names, shared)
    prior = np.zeros((2, people, len(space)))
    if isinstance(priors, str):
        if priors != USUAL:
            form = "'usual', or means and standard deviations by name"
            raise ValueError(f"priors = {priors!r} is not allowed; give {form}")
        mean, std = usual_priors(*usual_of_each(space, trials))
        of_all = usual_priors(*usual(space, trials))
        mean, std = np.where(same, of_all[0], mean), np.where(same, of_all[1], std)
        known = ~np.isnan(mean)
        prior[0][known], prior[1][known] = mean[known], std[known] ** -2.0
    else:
        for k, (mean, std) in by_column(model, trials, space, priors or {}, 2, "priors").items():
            prior[:, :, k] = np.array([mean, std**-2.0])[:, None]
    prior[1] = np.where(same, prior[1] / people, prior[1])
    return prior


def usual_priors(low: FloatArray, high: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Means and standard deviations of what lies usually between these ends."""
    return 0.5 * (low + high), 0.5 * np.abs(high - low)


def by_column(
    model: Any, trials: Trials, space: Space, given: Mapping[str, Any], count: int, what: str
) -> dict[int, FloatArray]:
    """What is given about parameters, by their columns. count: how many numbers are given about each, 1 or 2.

    Of a parameter that differs between conditions, it is about each of them, or about their mean if that is searched.
    """
    found: dict[int, FloatArray] = {}
    for name, value in given.items():
        names = Space.of(model, [name], trials).names
        if names[0] not in space.names:
            raise ValueError(f"{what} describes {name!r}, which is not free; free are {', '.join(space.names)}")
        numbers = as_numbers(f"{what}[{name!r}]", value)
        if numbers.shape != (2,)[: count - 1] or not np.isfinite(numbers).all() or numbers.flat[-1] <= 0:
            form = "a mean and a standard deviation above 0" if count == 2 else "a number above 0"
            raise ValueError(f"{what}[{name!r}] = {value!r} is not allowed; give {form}, on the unconstrained scale")
        found |= {space.names.index(each): numbers for each in (names if space.basis is None else names[:1])}
    return found


def in_words(space: Space, prior: FloatArray, shared: tuple[str, ...] = ()) -> tuple[str, ...]:
    """What the priors are, a sentence for each parameter; empty where there is none at all.

    prior: as `normal_priors` gives it. shared: full names of parameters that have one value for all participants.
    """
    if not prior[1].any():
        return ()
    count = np.where(np.isin(space.names, shared), prior.shape[1], 1.0)
    mean, precision = prior[0], np.where(prior[1] > 0, prior[1] * count, np.nan)
    low, high = np.sort([space.constrained(mean + side * precision**-0.5) for side in (-1, 1)], axis=0)
    return tuple(_sentence(name, space, k, low[:, k], high[:, k]) for k, name in enumerate(short_names(space.names)))


def method_in_words(
    space: Space, prior: FloatArray, shared: tuple[str, ...], responses: FloatArray, kind: str
) -> tuple[str, ...]:
    """What kind of estimates these are, or should be, in sentences; none if there is nothing to say about that.

    responses: how many each participant gave. kind: of the response model.
    """
    if prior[1].any():
        what = "values are maximum a posteriori: the most probable ones, given responses and priors"
        return (f"{what}; AIC and BIC take the likelihood at these values", *in_words(space, prior, shared))
    enough = FEW.get(kind, _FEW)
    few = int((responses < enough * len(space)).sum())
    if not few:
        return ()
    who = f"{few} of {len(responses)} participants gave fewer than {enough} responses for each free parameter"
    advice = "--weak-priors (priors='usual') is recommended"
    return (f"{who}: their values of the greatest likelihood may be far off; {advice}",)


def _sentence(name: str, space: Space, k: int, low: FloatArray, high: FloatArray) -> str:
    if np.isnan(low[0]):
        return f"{name} has no prior: where its values usually lie is not known"
    domain, known = space.domains[k], space.known[k]
    one_bound = "its logarithm is" if domain.low == 0 else "the logarithm of its distance from the bound is"
    scale = ("its value is", one_bound, "its log-odds are")[domain.has_low + domain.has_high]
    ends = f"{low[0]:.3g} and {high[0]:.3g}"
    if np.ptp(low) > 0 and known.usual is not None:
        of = "responses" if space.names[k].startswith("response.") else "outcomes"
        ends = f"{known.usual[0]:g} and {known.usual[1]:g}, if each participant's {of} were from 0 to 1"
    return f"prior of {name}: {scale} normally distributed, 68 % of values between {ends}"

"""What do participants have in common, and how sure can we be of each?

On the scale of the search (logarithms of what has one bound, log-odds of what has two), for each free parameter:

    mean of the group                  ~ Normal(where the model's own value is, 2)
    standard deviation of the group    ~ HalfNormal(1)
    place of each participant          ~ Normal(mean of the group, standard deviation of the group)

A shared parameter is the same for all, and expected as the mean of a group is. The posterior is drawn from by NumPyro's
No-U-Turn sampler.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from astonish.domain import Domain, Numbers, as_numbers
from astonish.fit.estimate import Told, prepared, usable
from astonish.fit.likelihood import Model
from astonish.fit.posteriors.alike import alike
from astonish.fit.posteriors.chains import drawn
from astonish.fit.posteriors.group import Data, Prior, Roles
from astonish.fit.posteriors.posterior import Posterior, gathered
from astonish.fit.space import Space, full_name
from astonish.precision import as_double
from astonish.table import Trials

WIDE, SPREAD = 2.0, 1.0  # what is expected of a group if nothing is said


def hierarchical(
    model: Model,
    trials: Trials,
    free: Iterable[str],
    *,
    shared: Iterable[str] = (),
    priors: Mapping[str, tuple[float, float]] | None = None,
    spreads: Mapping[str, float] | None = None,
    known: Mapping[str, tuple[float, float]] | None = None,
    draws: int = 1000,
    warmup: int = 150,
    chains: int = 4,
    accept: float | None = None,
    seed: int = 0,
    told: Told | None = None,
) -> Posterior:
    """Draw from the posterior of the free parameters of all participants, and of what these have in common.

    model: its values are what to expect of the free parameters, and what the others have.
    free: names of parameters, short or in full: "m", "learner.family.noise", "response.noise".
    shared: which of these are the same for all participants.
    priors: for some of these, mean and standard deviation of the group's mean, or of the shared value, in place of
    those above. spreads: the scale of the half-normal distribution of the group's standard deviation.
    known: for some of these, mean and standard deviation of participants, if the group is not to be found; with all
    of them known, each participant is looked at alone.
    draws, warmup: of each chain, those that count and those before. accept: the mean probability to accept a place to
    which the sampler goes; nearer to 1 its steps are smaller, which helps against divergences. told: hears which
    share of the draws is done.
    """
    for name, number in {"draws": draws, "warmup": warmup, "chains": chains}.items():
        Domain(1, whole=True).check(name, number)
    Domain(0, 1, open=True).check("accept", 0.5 if accept is None else accept)
    same = Space.of(model, shared).names
    names = tuple(dict.fromkeys((*Space.of(model, free).names, *same)))
    trials, excluded = usable(model, trials, names)
    space, task, _ = prepared(model, trials, names, None)
    alone = _described(model, space, known or {}, 2, "known")
    roles = _roles(space, same, alone, len(trials))
    prior = _prior(model, space, alone, priors or {}, spreads or {})
    likeness = alike(model, task, space, trials.before, roles, prior, seed)
    data = Data(*as_double((model, task, prior, likeness)))
    found = drawn(
        roles,
        space,
        trials.before,
        data,
        draws=draws,
        warmup=warmup,
        chains=chains,
        accept=accept,
        seed=seed,
        told=told,
    )
    return gathered(model, trials, space, task, roles, data, found, excluded)


def _described(model: Model, space: Space, said: Mapping[str, Any], count: int, what: str) -> dict[int, Numbers]:
    """What is said of parameters, by their columns."""
    found = {}
    for name, numbers in said.items():
        full = full_name(model, name)
        if full not in space.names:
            raise ValueError(f"{what} describes {name!r}, which is not free; free are {', '.join(space.names)}")
        given = as_numbers(f"{what}[{name!r}]", numbers)
        if given.shape != (2,)[: count - 1] or not np.isfinite(given).all() or given.flat[-1] <= 0:
            form = "a mean and a standard deviation above 0" if count == 2 else "a number above 0"
            raise ValueError(f"{what}[{name!r}] = {numbers!r} is not allowed; give {form}, on the scale of the search")
        found[space.names.index(full)] = given
    return found


def _roles(space: Space, same: tuple[str, ...], alone: Mapping[int, Numbers], people: int) -> Roles:
    shared = tuple(k for k, name in enumerate(space.names) if name in same)
    both = [space.names[k] for k in shared if k in alone]
    if both:
        raise ValueError(f"{both[0]} is both shared and known; a shared parameter has no group, so give priors instead")
    own = tuple(k for k in range(len(space)) if k not in shared)
    grouped = tuple(k for k in own if k not in alone)
    if grouped and people < 2:
        raise ValueError(
            f"one participant is no group, so that {space.names[grouped[0]]} of a group cannot be found; "
            "give known={...}, or name it in shared"
        )
    return Roles(own, grouped, shared)


def _prior(
    model: Model, space: Space, alone: Mapping[int, Numbers], priors: Mapping[str, Any], spreads: Mapping[str, Any]
) -> Prior:
    mean, std = space.start(model), np.full(len(space), WIDE)
    spread = np.full(len(space), SPREAD)
    for k, given in (_described(model, space, priors, 2, "priors") | dict(alone)).items():
        mean[k], std[k] = given
    for k, given in _described(model, space, spreads, 1, "spreads").items():
        spread[k] = given
    return Prior(mean, std, spread)

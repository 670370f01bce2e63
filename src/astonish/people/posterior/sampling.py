"""What do participants have in common, and how sure can we be of each?

On the unconstrained scale (logarithms of what has one bound, log-odds of what has two), for each free parameter:

    mean of the group                  ~ Normal(the model's own value, half the width of the usual range)
    standard deviation of the group    ~ HalfNormal(a quarter of that width)
    effect of a group, or of a covariate ~ Normal(0, a quarter of that width)
    value of each participant          ~ Normal(mean of the group, standard deviation of the group)

The usual range is where the parameter says that people's values lie (see `domain.Parameter`); where it does not say so,
the two scales are 2 and 1. A shared parameter is the same for all, and has the prior of a group's mean. NumPyro's
No-U-Turn sampler draws from the posterior.
"""

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from astonish.core.domain import COUNT, OPEN_PROBABILITY, FloatArray
from astonish.core.precision import as_double, double
from astonish.people.fit.estimate import Progress, prepare
from astonish.people.fit.likelihood import Model
from astonish.people.fit.space import Space, by_column, usual, usual_priors
from astonish.people.posterior.density import ParameterBlocks, Prior, Target, to_parameters
from astonish.people.posterior.design import design_of
from astonish.people.posterior.laplace import laplace_approximation
from astonish.people.posterior.nuts import sample
from astonish.people.posterior.result import Posterior
from astonish.people.tables import Trials

_STD = 2.0  # of a group's mean, where no usual range is known


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
    progress: Progress | None = None,
) -> Posterior:
    """Draw from the posterior of the free parameters of all participants, and of what these have in common.

    model: its values are the prior means of the free parameters, and what the others have.
    free: names of parameters, short or in full: "m", "learner.family.noise", "response.noise".
    shared: which of these are the same for all participants.
    priors: for some of these, mean and standard deviation of the group's mean, or of the shared value; if left out, the
    model's own value, and half the width of the range in which people's values usually lie, on the unconstrained scale.
    spreads: the scale of the half-normal distribution of the group's standard deviation; if left out, a quarter of that
    width. Where no such range is known, these are 2 and 1.
    known: for some of these, mean and standard deviation of participants, if the group is not to be found; with all
    of them known, each participant is looked at alone.
    draws, warmup: of each chain, those that count and those before. accept: the mean probability to accept a step of
    the sampler; nearer to 1 its steps are smaller, which helps against divergences.
    progress: is called now and then with the share of the draws that are done.
    After an interruption (Ctrl-C) the draws made so far are kept, if there are enough of them; `warnings` says so.
    """
    for name, number in {"draws": draws, "warmup": warmup, "chains": chains}.items():
        COUNT.check(name, number)
    OPEN_PROBABILITY.check("accept", 0.5 if accept is None else accept)
    same = Space.of(model, shared, trials).names
    names = tuple(dict.fromkeys((*Space.of(model, free, trials).names, *same)))
    space, data, _, trials, excluded = prepare(model, trials, names)
    space = space.contrasted()
    alone = by_column(model, trials, space, known or {}, 2, "known")
    design = design_of(trials)
    roles = _roles(space, same, alone, len(trials), design.columns)
    std = np.nan_to_num(usual_priors(*usual(space, trials))[1], nan=_STD)
    prior = Prior(space.start(model), std, std / 2)
    for k, given in (by_column(model, trials, space, priors or {}, 2, "priors") | alone).items():
        prior.mean[k], prior.std[k] = given
    for k, given in by_column(model, trials, space, spreads or {}, 1, "spreads").items():
        prior.spread[k] = given
    laplace = laplace_approximation(model, data, space, trials.responds_before, roles, prior, design.matrix, seed)
    target = Target(*as_double((model, data, prior, laplace, design.matrix)))
    how: Any = {"draws": draws, "warmup": warmup, "chains": chains, "accept": accept, "seed": seed}
    found = sample(roles, space, trials.responds_before, target, progress=progress, **how)
    with double():
        common, xs = jax.device_get(_common_and_own(roles, jax.tree.map(jnp.asarray, target), found.z))
    parts = common.coefficients, common.std[..., roles.among], xs, found, excluded, design
    return Posterior(model, trials, space, data, roles, *parts, (chains, draws))


def _roles(
    space: Space, same: tuple[str, ...], alone: Mapping[int, FloatArray], people: int, coefficients: int
) -> ParameterBlocks:
    """Which parameters are shared, which are each participant's own, and which of those have a group."""
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
    return ParameterBlocks(own, grouped, shared, coefficients)


@partial(jax.jit, static_argnums=0)
def _common_and_own(roles: ParameterBlocks, target: Target, z: Any) -> Any:
    """What participants have in common, and their parameters, at each draw of each chain."""
    return jax.vmap(jax.vmap(lambda each: to_parameters(roles, target, each)[:2]))(z)

"""Draws from the posterior of what participants have in common, and of the parameters of each.

On the unconstrained scale (logarithms of what has one bound, log-odds of what has two), for each free parameter:

    mean of the group                  ~ Normal(the model's own value, half the width of the usual range)
    standard deviation of the group    ~ HalfNormal(a quarter of that width)
    effect of a group, or of a covariate ~ Normal(0, a quarter of that width)
    value of each participant          ~ Normal(mean of the group, standard deviation of the group)

The usual range is where the parameter says that people's values lie (see `domain.Parameter`); where it does not say so,
the two scales are 2 and 1. A shared parameter is the same for all, and has the prior of a group's mean.

The No-U-Turn sampler (Hoffman & Gelman 2014) is NumPyro's. Its kernel is called directly: a model in NumPyro's
language takes longer for as many effective draws, and its chains cannot be interrupted. It draws on all cores: one
thread per chain, in pieces between which it can be stopped.
"""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import nullcontext
from functools import lru_cache, partial
from threading import Event, Lock
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from astonish.core.numbers import COUNT, OPEN_PROBABILITY, as_double, double
from astonish.core.programs import compiled
from astonish.core.refusal import naming_extra
from astonish.online.series import OPTIONS
from astonish.people.fit.estimate import Progress, prepare
from astonish.people.fit.likelihood import Model
from astonish.people.fit.space import Space, by_column, usual
from astonish.people.posterior.density import (
    ParameterBlocks,
    Prior,
    Target,
    design_of,
    laplace_approximation,
    potential,
    to_parameters,
)
from astonish.people.posterior.result import Drawn, Posterior
from astonish.people.tables import Trials

with naming_extra("posteriors need"):
    from numpyro.infer.hmc import hmc
    from numpyro.infer.util import ParamInfo

_STD = 2.0  # of a group's mean, where no usual range is known
PIECE = 10  # draws between two checks whether to go on
LEAST = 20  # draws of a chain that are worth keeping
MANY = 100  # dimensions
ACCEPTED, ACCEPTED_OF_MANY = 0.8, 0.65  # the latter is best where there are many (Beskos et al. 2013), and steps cost
SHORT, LONG = 3, 6  # how often a path may double its length during warm-up, and later
_HIGH = 1e10  # instead of the energy at the start, which the first path leaves: computing it would compile all twice
_OFTEN = 0.1  # seconds between two reports


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
    space, data, _, trials, excluded, same = prepare(model, trials, free, shared=shared)
    space = space.contrasted()
    alone = by_column(model, trials, space, known or {}, 2, "known")
    design = design_of(trials)
    # Which parameters are shared, which are each participant's own, and which of those have a group
    common = tuple(k for k, name in enumerate(space.names) if name in same)
    both = [space.names[k] for k in common if k in alone]
    if both:
        raise ValueError(f"{both[0]} is both shared and known; a shared parameter has no group, so give priors instead")
    own = tuple(k for k in range(len(space)) if k not in common)
    grouped = tuple(k for k in own if k not in alone)
    if grouped and len(trials) < 2:
        missing = f"one participant is no group, so that {space.names[grouped[0]]} of a group cannot be found"
        raise ValueError(f"{missing}; give known={{...}}, or name it in shared")
    roles = ParameterBlocks(own, grouped, common, design.matrix.shape[1])
    # What is expected of them, and draws
    std = np.nan_to_num(0.5 * np.abs(np.subtract(*usual(space, trials))), nan=_STD)
    prior = Prior(space.start(model), std, std / 2)
    for k, given in (by_column(model, trials, space, priors or {}, 2, "priors") | alone).items():
        prior.mean[k], prior.std[k] = given
    for k, given in by_column(model, trials, space, spreads or {}, 1, "spreads").items():
        prior.spread[k] = given
    laplace = laplace_approximation(model, data, space, trials.responds_before, roles, prior, design.matrix, seed)
    target = Target(*as_double((model, data, prior, laplace, design.matrix)))
    few = roles.common + len(trials) * len(own) < MANY
    accept = accept or (ACCEPTED if few else ACCEPTED_OF_MANY)
    kernel = _kernel(roles, space, trials.responds_before, warmup, accept)
    drawn = sample(kernel, target, draws, warmup, chains, seed, progress)
    with double():
        in_common, xs = jax.device_get(_common_and_own(roles, jax.tree.map(jnp.asarray, target), drawn.z))
    parts = in_common.coefficients, in_common.std[..., roles.among], xs, drawn, excluded, design
    return Posterior(model, trials, space, data, roles, *parts, (chains, draws))


@partial(jax.jit, static_argnums=0)
def _common_and_own(roles: ParameterBlocks, target: Target, z: Any) -> Any:
    """Compute what participants have in common, and their parameters, at each draw of each chain."""
    return jax.vmap(jax.vmap(lambda moved: to_parameters(roles, target, moved)[:2]))(z)


def sample(
    kernel: tuple[Any, Any], target: Target, draws: int, warmup: int, chains: int, seed: int, progress: Progress | None
) -> Drawn:
    """Draw from the posterior by this many chains, each from a start of its own; the same seed, the same draws.

    After an interruption (Ctrl-C), the draws made so far: equally many of each chain, and of as many chains as makes
    most of them. If these are too few, the interruption goes on.
    """
    begin, piece = kernel
    total, stop, first, done = warmup + draws, Event(), Lock(), [0] * chains
    with double():
        moved = jax.tree.map(jnp.asarray, target)
        keys = jax.random.split(jax.random.key(seed), chains)

    def chain(which: int) -> list[Any]:
        pieces: list[Any] = []
        with double():
            state = begin(moved, keys[which])
            for _ in range(-(-total // PIECE)):
                if stop.is_set():
                    break
                with first if not pieces else nullcontext():  # one thread compiles, the others wait for it
                    state, drawn = piece(moved, state)
                pieces.append(jax.device_get(drawn))
                done[which] = min(done[which] + PIECE, total)
        return pieces

    def report() -> None:
        if progress is not None:
            progress(sum(done) / (chains * total))

    pieces = _all(chain, chains, stop, report)
    keep, end = _most([min(PIECE * len(part), total) for part in pieces], warmup, total)
    long = (jax.tree.map(lambda *parts: np.concatenate(parts)[:end], *pieces[which]) for which in keep)
    whole = jax.tree.map(lambda *rows: np.stack(rows), *long)
    kept = jax.tree.map(lambda part: part[:, warmup:], whole)
    return kept._replace(warmup_steps=whole.n_steps[:, :warmup].sum(1))


def _most(lengths: Sequence[int], warmup: int, total: int) -> tuple[list[int], int]:
    """Choose which chains to keep, and how far: where most draws come together, of two chains or more.

    >>> _most([150, 150, 90, 20], warmup=50, total=150), _most([150, 150, 150, 20], 50, 150)
    (([0, 1], 150), ([0, 1, 2], 150))
    """
    longest = sorted(range(len(lengths)), key=lambda which: -lengths[which])
    least = min(2, len(lengths))
    ends = {count: lengths[longest[count - 1]] for count in range(least, len(lengths) + 1)}
    count = max(ends, key=lambda count: (count * max(ends[count] - warmup, 0), count))
    if ends[count] - warmup < min(LEAST, total - warmup):
        raise KeyboardInterrupt
    return sorted(longest[:count]), ends[count]


def _all(chain: Callable[[int], Any], chains: int, stop: Event, report: Callable[[], None]) -> list[Any]:
    """Run all chains; after an error or an interruption all chains stop at their next piece."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        try:
            futures = [pool.submit(chain, which) for which in range(chains)]
            running = set(futures)
            while running:
                over, running = wait(running, _OFTEN)
                for future in over:
                    future.result()
                report()
        except KeyboardInterrupt:
            pass  # what is drawn by then may be enough
        finally:
            stop.set()
        return [future.result() for future in futures]


@lru_cache(maxsize=16)  # so that nothing is compiled twice
def _kernel(roles: ParameterBlocks, space: Space, responds_before: bool, warmup: int, accept: float) -> tuple[Any, Any]:
    """Compile two functions: the first state of a chain, and its next draws."""
    init, go_on = hmc(potential_fn_gen=partial(potential, roles, space, responds_before), algo="NUTS")

    def begin(target: Target, key: Any) -> Any:
        first, second = jax.random.split(key)
        one, other = jax.random.split(first)
        people, own = len(target.laplace.information), len(roles.own)
        # A point about as probable as one drawn from the posterior itself
        z = {"common": jax.random.normal(one, (roles.common,))} if roles.common else {}
        z |= {"own": jax.random.normal(other, (people, own))} if own else {}
        return init(
            ParamInfo(z, jnp.asarray(_HIGH), jax.tree.map(jnp.zeros_like, z)),
            warmup,
            step_size=2 * (roles.common + people * own) ** -0.25,
            adapt_mass_matrix=False,  # every direction has scale 1 already; estimates from few draws would undo that
            target_accept_prob=accept,
            max_tree_depth=(SHORT, LONG),
            model_args=(target,),
            rng_key=second,
        )

    def draw(target: Target, state: Any, _: None) -> tuple[Any, Drawn]:
        new = go_on(state, (target,))
        size = new.adapt_state.step_size
        return new, Drawn(new.z, new.diverging, new.num_steps, new.accept_prob, new.energy, size, new.num_steps)

    def piece(target: Target, state: Any) -> tuple[Any, Drawn]:
        return jax.lax.scan(partial(draw, target), state, None, length=PIECE)

    return compiled(begin, compiler_options=OPTIONS), compiled(piece, compiler_options=OPTIONS)

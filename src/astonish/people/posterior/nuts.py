"""Draws from the posterior, on all cores: one thread per chain, in pieces between which it can be stopped.

After an interruption, what was drawn so far is kept, if there is enough of it.

The No-U-Turn sampler (Hoffman & Gelman 2014) is NumPyro's. Its kernel is called directly: a model in NumPyro's
language takes longer for as many effective draws, and its chains cannot be interrupted.
"""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import nullcontext
from functools import lru_cache, partial
from threading import Event, Lock
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from astonish.core.numbers import FloatArray, double
from astonish.core.programs import compiled
from astonish.core.refusal import naming_extra
from astonish.online.series import OPTIONS
from astonish.people.fit.estimate import Progress
from astonish.people.fit.space import Space
from astonish.people.posterior.density import ParameterBlocks, Target, potential

with naming_extra("posteriors need"):
    from numpyro.infer.hmc import hmc
    from numpyro.infer.util import ParamInfo

PIECE = 10  # draws between two checks whether to go on
LEAST = 20  # draws of a chain that are worth keeping
MANY = 100  # dimensions
ACCEPTED, ACCEPTED_OF_MANY = 0.8, 0.65  # the latter is best where there are many (Beskos et al. 2013), and steps cost
SHORT, LONG = 3, 6  # how often a path may double its length during warm-up, and later
_HIGH = 1e10  # instead of the energy at the start, which the first path leaves: computing it would compile all twice
_OFTEN = 0.1  # seconds between two reports


class Drawn(NamedTuple):
    """What the chains drew, a row for each, and statistics of the sampler.

    z: what the sampler moves. steps: evaluations of the gradient, and warmup_steps those before the first draw.
    accepted: the mean probability to accept a point of the path. energy: of position and momentum.
    """

    z: dict[str, Any]
    diverging: NDArray[np.bool_]
    steps: NDArray[np.intp]
    accepted: FloatArray
    energy: FloatArray
    step_size: FloatArray
    warmup_steps: NDArray[np.intp]


def sample(
    roles: ParameterBlocks,
    space: Space,
    responds_before: bool,
    target: Target,
    *,
    draws: int,
    warmup: int,
    chains: int,
    accept: float | None,
    seed: int,
    progress: Progress | None,
) -> Drawn:
    """Draw from the posterior by this many chains, each from a start of its own; the same seed, the same draws.

    After an interruption (Ctrl-C), the draws made so far: equally many of each chain, and of as many chains as makes
    most of them. If these are too few, the interruption goes on.
    """
    dimensions = roles.common + len(target.laplace.information) * len(roles.own)
    accept = accept or (ACCEPTED if dimensions < MANY else ACCEPTED_OF_MANY)
    begin, piece = _kernel(roles, space, responds_before, warmup, accept)
    total, stop, first, done = warmup + draws, Event(), Lock(), [0] * chains
    with double():
        known = jax.tree.map(jnp.asarray, target)
        keys = jax.random.split(jax.random.key(seed), chains)

    def chain(which: int) -> list[Any]:
        found: list[Any] = []
        with double():
            state = begin(known, keys[which])
            for _ in range(-(-total // PIECE)):
                if stop.is_set():
                    break
                with first if not found else nullcontext():  # one thread compiles, the others wait for it
                    state, drawn = piece(known, state)
                found.append(jax.device_get(drawn))
                done[which] = min(done[which] + PIECE, total)
        return found

    def report() -> None:
        if progress is not None:
            progress(sum(done) / (chains * total))

    pieces = _all(chain, chains, stop, report)
    keep, end = _most([min(PIECE * len(each), total) for each in pieces], warmup, total)
    long = (jax.tree.map(lambda *parts: np.concatenate(parts)[:end], *pieces[which]) for which in keep)
    whole = jax.tree.map(lambda *rows: np.stack(rows), *long)
    kept = jax.tree.map(lambda part: part[:, warmup:], whole)
    return kept._replace(warmup_steps=whole.steps[:, :warmup].sum(1))


def _most(lengths: Sequence[int], warmup: int, total: int) -> tuple[list[int], int]:
    """Which chains to keep, and how far: where most draws come together, of two chains or more.

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
    """Every chain's draws; after an error or an interruption all chains stop at their next piece."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        try:
            futures = [pool.submit(chain, which) for which in range(chains)]
            running = set(futures)
            while running:
                over, running = wait(running, _OFTEN)
                for future in over:
                    future.result()
                report()
            return [future.result() for future in futures]
        except KeyboardInterrupt:
            stop.set()
            return [future.result() for future in futures]
        except BaseException:
            stop.set()
            raise


@lru_cache(maxsize=16)  # so that nothing is compiled twice
def _kernel(roles: ParameterBlocks, space: Space, responds_before: bool, warmup: int, accept: float) -> tuple[Any, Any]:
    """Compiled functions: the first state of a chain, and its next draws."""
    init, go_on = hmc(potential_fn_gen=partial(potential, roles, space, responds_before), algo="NUTS")

    def begin(target: Target, key: Any) -> Any:
        first, second = jax.random.split(key)
        z = _start(roles, target, first)
        return init(
            ParamInfo(z, jnp.asarray(_HIGH), jax.tree.map(jnp.zeros_like, z)),
            warmup,
            step_size=2 * (roles.common + len(target.laplace.information) * len(roles.own)) ** -0.25,
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


def _start(roles: ParameterBlocks, target: Target, key: Any) -> dict[str, Any]:
    """A point about as probable as one drawn from the posterior itself."""
    one, other = jax.random.split(key)
    common = {"common": jax.random.normal(one, (roles.common,))} if roles.common else {}
    people = len(target.laplace.information)
    return common | ({"own": jax.random.normal(other, (people, len(roles.own)))} if roles.own else {})

"""How are all cores kept busy drawing from a posterior? A chain is a thread's work, in pieces that can be stopped.

The No-U-Turn sampler (Hoffman & Gelman 2014) is NumPyro's.
"""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import nullcontext
from dataclasses import dataclass
from functools import lru_cache, partial
from importlib.util import find_spec
from threading import Event, Lock
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from astonish.domain import Numbers
from astonish.fit.estimate import Told
from astonish.fit.posteriors.group import Data, Roles, potential
from astonish.fit.space import Space
from astonish.precision import double
from astonish.run import OPTIONS

if find_spec("numpyro") is None:
    raise ModuleNotFoundError(
        "posteriors need NumPyro, which is not installed; pip install 'astonish[posteriors]'", name="numpyro"
    )

from numpyro.infer.hmc import hmc
from numpyro.infer.util import ParamInfo

PIECE = 10  # draws between two looks at whether to go on
MANY = 100  # dimensions
ACCEPTED, ACCEPTED_OF_MANY = 0.8, 0.65  # the latter is best where there are many (Beskos et al. 2013), and steps cost
SHORT, LONG = 3, 6  # how often a path may double its length during warm-up, and later
_HIGH = 1e10  # instead of the energy at the start, which the first path leaves: computing it would compile all twice
_OFTEN = 0.1  # seconds between two reports


class Drawn(NamedTuple):
    """What chains drew, a row for each: what the sampler moves, and how it fared.

    steps: evaluations of the gradient, and warmup_steps those before the first draw. accepted: the mean probability to
    accept a place on the path. energy: of the place and its momentum.
    """

    z: dict[str, Any]
    diverging: NDArray[np.bool_]
    steps: NDArray[np.intp]
    accepted: Numbers
    energy: Numbers
    step_size: Numbers
    warmup_steps: NDArray[np.intp]


def drawn(
    roles: Roles,
    space: Space,
    before: bool,
    data: Data,
    *,
    draws: int,
    warmup: int,
    chains: int,
    accept: float | None,
    seed: int,
    told: Told | None,
) -> Drawn:
    """Draw from the posterior by this many chains, each from a start of its own; the same seed, the same draws."""
    dimensions = roles.common + len(data.likeness.pull) * len(roles.own)
    kernel = _kernel(roles, space, before, warmup, accept or (ACCEPTED if dimensions < MANY else ACCEPTED_OF_MANY))
    total, stop, first, done = warmup + draws, Event(), Lock(), [0] * chains
    with double():
        known = jax.tree.map(jnp.asarray, data)
        keys = jax.random.split(jax.random.key(seed), chains)

    def chain(which: int) -> Any:
        found: list[Any] = []
        with double():
            state = _begin(kernel, known, keys[which])
            for _ in range(-(-total // PIECE)):
                if stop.is_set():
                    break
                with first if not found else nullcontext():  # one thread compiles, the others wait for it
                    state, piece = _piece(kernel, known, state)
                found.append(jax.device_get(piece))
                done[which] = min(done[which] + PIECE, total)
        return jax.tree.map(lambda *parts: np.concatenate(parts), *found)

    def report() -> None:
        if told is not None:
            told(sum(done) / (chains * total))

    whole = jax.tree.map(lambda *rows: np.stack(rows), *_all(chain, chains, stop, report))
    kept = jax.tree.map(lambda part: part[:, warmup:total], whole)
    return kept._replace(warmup_steps=whole.steps[:, :warmup].sum(1))


def _all(chain: Callable[[int], Any], chains: int, stop: Event, report: Callable[[], None]) -> list[Any]:
    """Every chain's draws; should anything go wrong, or someone lose patience, all chains stop at their next piece."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        try:
            futures = [pool.submit(chain, which) for which in range(chains)]
            going = set(futures)
            while going:
                over, going = wait(going, _OFTEN)
                for future in over:
                    future.result()
                report()
            return [future.result() for future in futures]
        except BaseException:
            stop.set()
            raise


@dataclass(frozen=True, eq=False)
class Kernel:
    """How a chain begins, and goes on."""

    begin: Callable[..., Any]
    go_on: Callable[..., Any]


@lru_cache(maxsize=16)  # so that nothing is compiled twice
def _kernel(roles: Roles, space: Space, before: bool, warmup: int, accept: float) -> Kernel:
    energy = partial(potential, roles, space, before)
    start, go_on = hmc(potential_fn_gen=energy, algo="NUTS")

    def begin(data: Data, key: Any) -> Any:
        first, second = jax.random.split(key)
        z = _somewhere(roles, data, first)
        return start(
            ParamInfo(z, jnp.asarray(_HIGH), jax.tree.map(jnp.zeros_like, z)),
            warmup,
            step_size=2 * (roles.common + len(data.likeness.pull) * len(roles.own)) ** -0.25,
            adapt_mass_matrix=False,  # all directions look alike already; estimates from few draws would undo that
            target_accept_prob=accept,
            max_tree_depth=(SHORT, LONG),
            model_args=(data,),
            rng_key=second,
        )

    return Kernel(begin, go_on)


def _somewhere(roles: Roles, data: Data, key: Any) -> dict[str, Any]:
    """A place about as probable as one drawn from the posterior itself."""
    one, other = jax.random.split(key)
    people = len(data.likeness.pull)
    common = {"common": jax.random.normal(one, (roles.common,))} if roles.common else {}
    return common | ({"own": jax.random.normal(other, (people, len(roles.own)))} if roles.own else {})


@partial(jax.jit, static_argnums=0, compiler_options=OPTIONS)
def _begin(kernel: Kernel, data: Data, key: Any) -> Any:
    return kernel.begin(data, key)


@partial(jax.jit, static_argnums=0, compiler_options=OPTIONS)
def _piece(kernel: Kernel, data: Data, state: Any) -> tuple[Any, Drawn]:
    def draw(state: Any, _: None) -> tuple[Any, Drawn]:
        new = kernel.go_on(state, (data,))
        size = new.adapt_state.step_size
        told = Drawn(new.z, new.diverging, new.num_steps, new.accept_prob, new.energy, size, new.num_steps)
        return new, told

    return jax.lax.scan(draw, state, None, length=PIECE)

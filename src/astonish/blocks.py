"""How does a learner go through blocks of trials, some of its parameters given trial by trial?"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from astonish.domain import Domain, parameters
from astonish.learner import Info, Learner, State, advance

Read = Callable[[Learner, State, State, Any, Info], Any]


def scan_blocks(
    learner: Learner, xs: Any, observed: Array, starts: Array, given: Mapping[str, Array], read: Read
) -> Any:
    """Run a learner over trials, from its own start in each block, and note what `read` makes of every step.

    starts: True where a block begins. given: values of parameters, trial by trial, by their path in the learner.
    read: gets the learner of the trial, its state before and after, the sample, and the `Info` of the step.
    """

    def step(state: State, at: Any) -> tuple[State, Any]:
        x, seen, start, values = at
        now = with_parameters(learner, values)
        begun = jax.tree.map(lambda fresh, old: jnp.where(start, fresh, old), now.init(), state)
        new, info = advance(now, begun, x, seen)
        return new, read(now, begun, new, x, info)

    first = with_parameters(learner, {path: values[0] for path, values in given.items()}).init()
    return jax.lax.scan(step, jax.tree.map(jnp.asarray, first), (xs, observed, starts, dict(given)))[1]


def with_parameters(thing: Any, values: Mapping[str, Any]) -> Any:
    """The same learner with other values of some parameters.

    >>> from astonish import Gaussian, Smile
    >>> with_parameters(Smile(Gaussian(1.0), m=0.1), {"family.noise": 5.0})
    Smile(family=Gaussian(noise=5.0), m=0.1, prior=None, reference=None)
    """
    for path, value in values.items():
        first, _, rest = path.partition(".")
        part = with_parameters(getattr(thing, first), {rest: value}) if rest else value
        thing = replace(thing, **{first: part})
    return thing


def path_of(learner: Learner, name: str) -> tuple[str, Domain]:
    """Where in a learner the parameter of this name is, and which values it takes.

    >>> from astonish import Gaussian, Smile
    >>> path_of(Smile(Gaussian()), "noise")[0]
    'family.noise'
    """
    found = {path: domain for path, _, domain in parameters(learner)}
    for path, domain in found.items():
        if name in (path, path.rsplit(".", 1)[-1]) and not domain.is_index:
            return path, domain
    names = ", ".join(path.rsplit(".", 1)[-1] for path, domain in found.items() if not domain.is_index)
    raise ValueError(f"{type(learner).__name__} has no parameter {name!r} to be given by a column; it has {names}")

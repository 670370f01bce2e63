"""Section 2.4 of the paper, the mean that jumps: how wrong are learners about it, at which parameters?"""

from collections.abc import Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from astonish.catalogue import has, learner_for
from astonish.domain import POSITIVE, Domain
from astonish.fit import planned
from astonish.learner import Learner, scan
from astonish.run import OPTIONS
from astonish.studies.grid import Words, checked, own_parameters, spanned
from astonish.studies.lanes import Lanes, side_by_side
from astonish.studies.summary import by_setting
from astonish.sweep import Result, Setting, Study, Together
from astonish.tasks.gaussian_jumps import Episode, many_gaussian_jumps, truths

LOW, HIGH = -20.0, 20.0
WHOLE = Domain(1, whole=True)
WORLD = {
    "hazard": (0.066, Domain(0.0, 1.0, open=True)),
    "noise": (4.0, POSITIVE),
    "seed": (1, Domain(0, 2**32 - 1, whole=True)),
    "episodes": (50, WHOLE),
    "steps": (1000, WHOLE),
}
_NUMBERS = planned([[LOW, 0.0, HIGH]], before=False)  # all that needs to be known to choose a learner for numbers


def study(world: Words, learners: Sequence[Words]) -> Study:
    """All worlds with all learners, each at all its parameters."""
    settings = spanned("gaussian", checked("[study]", world, WORLD), learners)
    for setting in settings.values():
        learner_of(setting, WORLD)  # refused now, rather than once for each
    return Study(settings, compute, by_setting, together=Together(many, alike, size, memory))


def learner_of(setting: Setting, world: Mapping[str, Any]) -> Learner:
    """The learner of a setting; it is told what it might know about the world, unless it is told otherwise."""
    name = setting["learner"]
    known = truths(setting["hazard"], setting["noise"], LOW, HIGH)
    if name == "smile":
        del known["std"]  # as uncertain as one sample leaves it, as in the paper
    told = {word: value for word, value in known.items() if has(name, _NUMBERS, word)}
    return learner_for(name, _NUMBERS, {**told, **own_parameters(setting, world)})


def episodes(setting: Setting) -> Episode:
    """The world of a setting; an episode is the same whatever the others are."""
    seeds = [[setting["seed"], episode] for episode in range(setting["episodes"])]
    return many_gaussian_jumps(setting["steps"], seeds, setting["hazard"], setting["noise"], LOW, HIGH)


def compute(setting: Setting) -> Result:
    """Squared and absolute errors, a mean for each episode."""
    return many([setting])[0]


def many(settings: Sequence[Setting]) -> list[Result]:
    """The same for several settings that are alike."""
    worlds = [episodes(setting) for setting in settings]
    pairs = zip(settings, worlds, strict=True)
    parts = [Lanes(learner_of(setting, WORLD), (world.samples, world.truth)) for setting, world in pairs]
    return side_by_side(_errors, parts)


def alike(setting: Setting) -> Any:
    """Learners of one kind, in series of one length."""
    return jax.tree.structure(learner_of(setting, WORLD)), setting["steps"]


def size(setting: Setting) -> int:
    """How many episodes there are."""
    return setting["episodes"]


def memory(setting: Setting) -> float:
    """Samples, truth, and what a learner says after each sample."""
    return 64.0 * setting["steps"]


def _errors_of_one(learner: Learner, samples: Array, truth: Array) -> dict[str, Array]:
    off = scan(learner, samples).estimate - truth
    return {"squared_error": jnp.square(off).mean(), "absolute_error": jnp.abs(off).mean()}


_errors = jax.jit(jax.vmap(_errors_of_one), compiler_options=OPTIONS)

"""Section 2.4 of the paper, the mean that jumps: how wrong are learners about it, at which parameters?"""

from collections.abc import Collection
from functools import partial

import jax.numpy as jnp
from jax import Array

from astonish.core.names import OutcomeKind
from astonish.core.numbers import COUNT, OPEN_PROBABILITY, POSITIVE
from astonish.learners.base import Learner, scan
from astonish.models.parameters import Outcomes, assemble, known_facts
from astonish.sweep.kinds.grid import SEED, World, own_parameters, study_in
from astonish.sweep.study import Setting
from astonish.worlds.gaussian_jumps import Episode, facts, many_gaussian_jumps

LOW, HIGH = -20.0, 20.0
ALLOWED = {
    "hazard": (0.066, OPEN_PROBABILITY),
    "noise": (4.0, POSITIVE),
    "seed": (1, SEED),
    "episodes": (50, COUNT),
    "steps": (1000, COUNT),
}


def learner_of(setting: Setting, world: Collection[str] = ALLOWED.keys()) -> Learner:
    """The learner of a setting; the facts about the world decide parameters that are not set.

    world: the options of a setting that are about the world rather than about the learner.
    """
    known = known_facts(facts(setting["hazard"], setting["noise"], LOW, HIGH))
    return assemble(setting["learner"], Outcomes(OutcomeKind.CONTINUOUS, known), own_parameters(setting, world)).learner


def episodes(setting: Setting) -> Episode:
    """The episodes of a setting; each is the same whatever the others are."""
    seeds = [[setting["seed"], episode] for episode in range(setting["episodes"])]
    return many_gaussian_jumps(setting["steps"], seeds, setting["hazard"], setting["noise"], LOW, HIGH)


def _errors(learner: Learner, samples: Array, truth: Array, _: Array) -> dict[str, Array]:
    """Squared and absolute errors, means over an episode."""
    off = scan(learner, samples).estimate - truth
    return {"squared_error": jnp.square(off).mean(), "absolute_error": jnp.abs(off).mean()}


study = partial(study_in, World("gaussian", ALLOWED, learner_of, episodes, _errors))

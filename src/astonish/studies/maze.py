"""Section 2.4 of the paper, the maze that switches: how wrong are learners about it, at which parameters?"""

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from astonish.beliefs import Dirichlet
from astonish.catalogue import BELIEVERS, settable
from astonish.domain import Domain, check_parameters
from astonish.learner import PerContext
from astonish.paper.agents import ROOMS, errors_of_one, others
from astonish.run import OPTIONS
from astonish.studies.gaussian import WHOLE, memory, size
from astonish.studies.grid import Words, checked, own_parameters, spanned
from astonish.studies.lanes import Lanes, side_by_side
from astonish.studies.summary import by_setting
from astonish.sweep import Result, Setting, Study, Together
from astonish.tasks.maze import A, B, maze, walk

LEARNERS = ("smile", "varsmile", "bayes", "leaky")  # with one belief, which is compared with the truth
WORLD = {
    "hazard": (0.005, Domain(0.0, 1.0)),
    "seed": (1, Domain(0, 2**32 - 1, whole=True)),
    "episodes": (20, WHOLE),
    "steps": (20000, WHOLE),
}


def study(world: Words, learners: Sequence[Words]) -> Study:
    """All worlds with all learners, each at all its parameters."""
    settings = spanned("maze", checked("[study]", world, WORLD), learners)
    for setting in settings.values():
        learner_of(setting)  # refused now, rather than once for each
    return Study(settings, compute, by_setting, together=Together(many, alike, size, memory))


def learner_of(setting: Setting) -> PerContext:
    """The learner of a setting, with a belief for each room."""
    name = setting["learner"]
    if name not in LEARNERS:
        raise ValueError(f"there is no learner {name!r} for the maze; give one of {', '.join(LEARNERS)}")
    own = own_parameters(setting, WORLD)
    for word in own:
        if word not in settable(BELIEVERS[name]):
            raise ValueError(f"{name} has no {word!r}; it has {', '.join(settable(BELIEVERS[name])) or 'nothing'}")
    learner = PerContext(BELIEVERS[name](Dirichlet(ROOMS - 1), **own), ROOMS)
    check_parameters(learner)
    return learner


def compute(setting: Setting) -> Result:
    """The error in the environment of the moment, a mean for each walk: of all steps, and of the last quarter."""
    return many([setting])[0]


def many(settings: Sequence[Setting]) -> list[Result]:
    """The same for several settings that are alike."""
    return side_by_side(_errors, [Lanes(learner_of(setting), _series(setting)) for setting in settings])


def alike(setting: Setting) -> Any:
    """Learners of one kind, in walks of one length."""
    return jax.tree.structure(learner_of(setting)), setting["steps"]


def _series(setting: Setting) -> tuple[Any, ...]:
    seeds = [[setting["seed"], episode] for episode in range(setting["episodes"])]
    walks = walk(maze(A, B), setting["steps"], seeds, (setting["hazard"], setting["hazard"]))
    truth = others(maze(A, B).transitions)
    return walks.choices, np.stack([truth] * len(seeds)), walks.environment


def _errors_of_one(learner: PerContext, samples: Any, truth: Array, environment: Array) -> dict[str, Array]:
    errors = errors_of_one(learner, samples, truth)
    now = jnp.where(environment == 0, errors[:, 0], errors[:, 1])
    return {"error": now.mean(), "late_error": now[-(len(now) // 4 + 1) :].mean()}


_errors = jax.jit(jax.vmap(_errors_of_one), compiler_options=OPTIONS)

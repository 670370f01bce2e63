"""Section 2.4 of the paper, the maze that switches: how wrong are learners about it, at which parameters?"""

from collections.abc import Sequence
from functools import partial
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array

from astonish.core.names import OutcomeKind
from astonish.core.numbers import COUNT, PROBABILITY
from astonish.learners import PerContext
from astonish.learners.base import Learner
from astonish.models.parameters import Outcomes, assemble, known_facts
from astonish.online.measures import check_holds_a_belief
from astonish.paper.agents import ROOMS, errors_of_one
from astonish.paper.figure import RunSettings
from astonish.paper.figure8 import study_of
from astonish.sweep.kinds import SEED, Options, World, checked_options, own_parameters, study_in
from astonish.sweep.study import Setting, Study
from astonish.worlds.maze import A, B, maze, others, walk

ALLOWED = {"hazard": (0.005, PROBABILITY), "seed": (1, SEED), "episodes": (20, COUNT), "steps": (20000, COUNT)}


def _learner(setting: Setting) -> Learner:
    """The learner of a setting, with a belief for each room, which is compared with the truth."""
    outcomes = Outcomes(OutcomeKind.TRANSITIONS, known_facts({}), labels=ROOMS - 1, contexts=ROOMS)
    learner = assemble(setting["learner"], outcomes, own_parameters(setting, ALLOWED), contexts="apart").learner
    check_holds_a_belief(learner)
    return learner


def _series(setting: Setting) -> tuple[Any, ...]:
    seeds = [[setting["seed"], episode] for episode in range(setting["episodes"])]
    walks = walk(maze(A, B), setting["steps"], seeds, (setting["hazard"], setting["hazard"]))
    return walks.choices, np.stack([others(maze(A, B).transitions)] * len(seeds)), walks.environment


def _errors(learner: PerContext, samples: Any, truth: Array, environment: Array) -> dict[str, Array]:
    """The error in the environment of the moment, a mean over a walk: of all steps, and of the last quarter."""
    errors = errors_of_one(learner, samples, truth)
    now = jnp.where(environment == 0, errors[:, 0], errors[:, 1])
    return {"error": now.mean(), "late_error": now[-(len(now) // 4 + 1) :].mean()}


study = partial(study_in, World("maze", ALLOWED, _learner, _series, _errors))


def study_of_figure8(world: Options, learners: Sequence[Options]) -> Study:
    """Figure 8 of the paper, its 120 million learner-steps on many machines. quick: small, to see that it works."""
    if learners:
        raise ValueError("figure8 has learners of its own; leave out [[learner]]")
    quick = world.get("quick", False)
    if not isinstance(quick, bool):
        raise ValueError(f"[study]: quick = {quick!r} is not known; give true or false")
    options = {option: value for option, value in world.items() if option != "quick"}
    seed = checked_options(options, {"seed": (1, SEED)})["seed"]
    if isinstance(seed, list):
        raise ValueError(f"[study]: seed = {seed} are several, and a figure has one; give one")
    return study_of(RunSettings(seed, quick))

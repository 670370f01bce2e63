"""Recovery over a grid of designs: are parameters found, or the right model chosen, with how many trials?"""

from collections.abc import Sequence
from functools import partial
from typing import Any

from astonish.core.numbers import COUNT, POSITIVE, Domain
from astonish.models.parameters import find_parameter, parameters
from astonish.models.registry import LEARNERS
from astonish.people.fit import Estimate, Model, plan_trials, recover_models, recover_parameters
from astonish.people.tables import Trials
from astonish.sweep.kinds import gaussian
from astonish.sweep.kinds.grid import Options, combinations, settings_of, summary
from astonish.sweep.study import Result, Setting, Study

DESIGN = {
    "trials": (200, COUNT),
    "hazard": gaussian.ALLOWED["hazard"],
    "noise": gaussian.ALLOWED["noise"],
    "response_noise": (2.0, POSITIVE),
    "participants": (100, Domain(3, whole=True)),
    "starts": (5, COUNT),
    "seed": gaussian.ALLOWED["seed"],
}
_learner = partial(gaussian.learner_of, world={*DESIGN, "rivals"})


def study(world: Options, learners: Sequence[Options]) -> Study:
    """All designs with all learners; the parameters given are those about which participants' own are drawn."""
    return Study(settings_of("recovery", world, learners, DESIGN, _learner), _recover_parameters, summary)


def study_of_models(world: Options, learners: Sequence[Options]) -> Study:
    """All designs with all learners, of whom each is true once; all of them are fitted.

    The parameters given are those about which participants' own are drawn. Of a learner that is not the true one, only
    what is not fitted matters, and where a list is given for it, its first.
    """
    names = [learner["learner"] for learner in learners]
    twice = [name for name in names if names.count(name) > 1]
    if len(names) < 2 or twice:
        problem = f"{twice[0]} is named twice" if twice else "there is one learner"
        raise ValueError(f"{problem}, and one is to be chosen among several; give at least two, each once")
    rivals = [combinations(learner)[0] for learner in learners]
    settings = settings_of("models", world, learners, DESIGN, _learner)
    with_rivals = {name: {**setting, "rivals": rivals} for name, setting in settings.items()}
    return Study(with_rivals, _recover_models, lambda known: summary(known).drop(columns="rivals"))


def _recover_parameters(setting: Setting) -> Result:
    """For each free parameter the columns of `Recovery.summary`."""
    model, free = candidate(setting)
    table = recover_parameters(model, designed(setting), free, **_simulation(setting)).summary()
    return {f"{name}.{column}": float(table.loc[name, column]) for name in table.index for column in table.columns}


def _recover_models(setting: Setting) -> Result:
    """For how many of the participants that the setting's learner simulated each model would be chosen, as a share."""
    design = {word: setting[word] for word in DESIGN}
    models = {rival["learner"]: candidate({**design, **rival}) for rival in setting["rivals"]}
    models[setting["learner"]] = candidate(setting)
    found = recover_models(models, designed(setting), simulated=[setting["learner"]], **_simulation(setting))
    return {f"chosen.{name}": share for name, share in found.matrix().loc[setting["learner"]].items()}


def designed(setting: Setting) -> Trials:
    """The trials that participants would go through."""
    world = gaussian.episodes({**setting, "episodes": setting["participants"], "steps": setting["trials"]})
    return plan_trials(world, responds_before=False)


def candidate(setting: Setting) -> tuple[Model, list[str]]:
    """The model of a setting, and its free parameters."""
    model = Model(_learner(setting), Estimate(setting["response_noise"]))
    free = LEARNERS.find(setting["learner"]).free
    own = parameters(model.learner, "learner.")
    return model, [*(find_parameter(own, name).path for name in free), "response.noise"]


def _simulation(setting: Setting) -> dict[str, Any]:
    """How many participants are simulated, and how they are fitted."""
    return {word: setting[word] for word in ("participants", "starts", "seed")}

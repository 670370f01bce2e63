"""Would parameters be found, with how many trials, in which world? Recovery over a grid of designs."""

from collections.abc import Sequence
from typing import Any

from astonish.catalogue import FREE
from astonish.domain import POSITIVE, Domain
from astonish.fit import Estimate, Model, planned, recover_parameters
from astonish.studies.gaussian import WHOLE, WORLD, episodes, learner_of
from astonish.studies.grid import Words, checked, spanned
from astonish.studies.summary import by_setting
from astonish.sweep import Result, Setting, Study
from astonish.table import Trials

DESIGN = {
    "trials": (200, WHOLE),
    "hazard": WORLD["hazard"],
    "noise": WORLD["noise"],
    "response_noise": (2.0, POSITIVE),
    "participants": (100, Domain(3, whole=True)),
    "starts": (5, WHOLE),
    "seed": WORLD["seed"],
}


def study(world: Words, learners: Sequence[Words]) -> Study:
    """All designs with all learners; the parameters given are those about which participants' own are drawn."""
    settings = spanned("recovery", checked("[study]", world, DESIGN), learners)
    for setting in settings.values():
        learner_of(setting, DESIGN)  # refused now, rather than once for each
    return Study(settings, compute, by_setting)


def compute(setting: Setting) -> Result:
    """For each free parameter the columns of `Recovery.summary`."""
    model, free = candidate(setting)
    table = recover_parameters(model, designed(setting), free, **simulation(setting)).summary()
    return {f"{name}.{column}": float(table.loc[name, column]) for name in table.index for column in table.columns}


def designed(setting: Setting) -> Trials:
    """The trials that participants would go through."""
    world = episodes({**setting, "episodes": setting["participants"], "steps": setting["trials"]})
    return planned(world, before=False)


def simulation(setting: Setting) -> dict[str, Any]:
    """How many participants are simulated, and how they are fitted."""
    return {word: setting[word] for word in ("participants", "starts", "seed")}


def candidate(setting: Setting) -> tuple[Model, list[str]]:
    """The model of a setting, and its free parameters."""
    model = Model(learner_of(setting, DESIGN), Estimate(setting["response_noise"]))
    return model, [*FREE[setting["learner"]], "response.noise"]

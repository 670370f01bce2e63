"""Which model would be chosen, with how many trials, in which world? Model recovery over a grid of designs."""

from collections.abc import Mapping, Sequence

from pandas import DataFrame

from astonish.fit import recover_models
from astonish.studies.gaussian import learner_of
from astonish.studies.grid import Words, checked, combinations, setting_of, spanned
from astonish.studies.recovery import DESIGN, candidate, designed, simulation
from astonish.studies.summary import by_setting
from astonish.sweep import Result, Setting, Study

_RIVALS = "rivals"


def study(world: Words, learners: Sequence[Words]) -> Study:
    """All designs with all learners, of whom each is true once; all of them are fitted.

    The parameters given are those about which participants' own are drawn. Of a learner that is not the true one, only
    what is not fitted matters, and where a list is given for it, its first.
    """
    names = [learner["name"] for learner in learners]
    twice = [name for name in names if names.count(name) > 1]
    if len(names) < 2 or twice:
        told = f"{twice[0]} is named twice" if twice else "there is one learner"
        raise ValueError(f"{told}, and one is to be chosen among several; give at least two, each once")
    rivals = [setting_of(combinations(learner)[0]) for learner in learners]
    settings = {
        name: {**setting, _RIVALS: rivals}
        for name, setting in spanned("models", checked("[study]", world, DESIGN), learners).items()
    }
    for setting in settings.values():
        for one in _all(setting):
            learner_of(one, DESIGN)  # refused now, rather than once for each
    return Study(settings, compute, _summary)


def compute(setting: Setting) -> Result:
    """For how many of the participants that the setting's learner simulated each model would be chosen, as a share."""
    models = {one["learner"]: candidate(one) for one in _all(setting)}
    found = recover_models(models, designed(setting), simulated=[setting["learner"]], **simulation(setting))
    return {f"chosen.{name}": share for name, share in found.matrix().loc[setting["learner"]].items()}


def _all(setting: Setting) -> list[Setting]:
    """The setting for each of the models: its own for the true one."""
    own = {word: value for word, value in setting.items() if word != _RIVALS}
    design = {word: own[word] for word in DESIGN}
    return [own if rival["learner"] == own["learner"] else {**design, **rival} for rival in setting[_RIVALS]]


def _summary(known: Mapping[str, Result]) -> DataFrame:
    """A row for each setting: the rows of confusion matrices."""
    return by_setting({name: {w: x for w, x in about.items() if w != _RIVALS} for name, about in known.items()})

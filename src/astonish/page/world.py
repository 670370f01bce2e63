"""Learners in a world about which the facts are known: what the Gaussian world and the maze share."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import ClassVar

from astonish.core.domain import Parameter
from astonish.core.kinds import Contexts
from astonish.models.parameters import Assembly, Outcomes, Specification, assemble
from astonish.models.registry import LEARNERS, title
from astonish.page.controls import Json, Slider, Values, described, slider_for

MEASURES = {  # of surprise, as the page calls them
    "shannon": "Shannon surprise, -ln p(x) (nats)",
    "absolute_error": "size of the prediction error (units of the samples)",
    "confidence_corrected": "confidence-corrected surprise (nats)",
    "bayes_factor": "logarithm of the Bayes factor (nats)",
    "bayesian": "Bayesian surprise (nats)",
    "own": "each learner's own measure",
}


class WorldTab(ABC):
    """A tab on which learners are set. more: names of learners that are offered beside those of the catalogue.

    world: what can be set of the world. between: the numbers between which outcomes lie. contexts: how learners learn
    about contexts (see `assemble.choose`).
    """

    world: ClassVar[Mapping[str, Slider]]
    between: ClassVar[tuple[float, float]] = (0.0, 1.0)
    contexts: ClassVar[Contexts | None] = None

    def __init__(self, more: Sequence[str] = ()) -> None:
        start = self.outcomes({name: slider.default for name, slider in self.world.items()})
        self.learners = [name for name in (*LEARNERS.classes(), *more) if start.kind in LEARNERS.find(name).takes]
        self.owners: dict[str, list[str]] = {}  # the learners that are given each parameter
        own: dict[str, Parameter] = {}
        for name in self.learners:
            known = Specification.of(name, start).settable
            for word in LEARNERS.find(name).free:
                if not {word, known[word].fact} & self.world.keys():  # which is set of the world itself
                    self.owners.setdefault(word, []).append(name)
                    own.setdefault(word, known[word])
        self.own = {}
        for word, each in own.items():
            fact = start.facts(each.fact, {})
            default, of = None if fact is None else fact.value, [title(name) for name in self.owners[word]]
            self.own[word] = slider_for(word, each, self.between, default, of)
        self.sliders = {**self.own, **self.world}

    @abstractmethod
    def outcomes(self, at: Values) -> Outcomes:
        """The outcomes of the world, if it is set like this."""

    def controls(self) -> Json:
        """What can be set, for the page; parameters of the first learner before all others."""
        first = {word: slider for word, slider in self.own.items() if self.learners[0] in self.owners[word]}
        more = {word: slider for word, slider in self.own.items() if word not in first}
        return {"sliders": described({**first, **self.world}), "more": described(more), "learners": self.learners}

    def assembled(self, name: str, at: Values) -> Assembly:
        """A learner that is given the facts about this world, and what is set for it."""
        own = {word: at[word] for word, names in self.owners.items() if name in names}
        return assemble(name, self.outcomes(at), own, contexts=self.contexts)


def settings_of(assembly: Assembly) -> str:
    """The parameters of a learner, for the page."""
    return ", ".join(f"{word} {value:.4g}" for word, value in assembly.settings.items() if value is not None)

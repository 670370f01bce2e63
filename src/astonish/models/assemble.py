"""From a specification to a learner: its name, the outcomes that it is for, and what was set.

Whatever was not set is decided by facts about the outcomes, and listed as assumed.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, NamedTuple

from astonish.beliefs import Rows
from astonish.core.names import Contexts, OutcomeKind
from astonish.core.numbers import Domain
from astonish.core.parameters import Parameter, check_parameters, declared
from astonish.core.refusal import unknown
from astonish.learners import PerContext, PerOption
from astonish.learners.base import Learner
from astonish.models.parameters import NamedParameter, find_parameter, short_names
from astonish.models.registry import FAMILIES, LEARNERS, title

Settings = Mapping[str, float]
LEARNER = "learner."  # before the names of its parameters, as in a model
_CONTEXTS: Mapping[Contexts, str] = {
    "together": "contexts together: all of them are forgotten, or thought to change, at every sample",
    "apart": "contexts apart: a sample changes the belief about its own context alone",
}


class Fact(NamedTuple):
    """A number, and in words where it comes from."""

    value: float
    source: str


class Outcomes(NamedTuple):
    """What a learner has to know about the outcomes that it is for.

    facts: from the name of a fact, such as "noise", and what was set, to its value; None if it is not known.
    labels: how many outcomes there are, if they are labels. contexts: how many contexts, for transitions.
    options: how many options there are to choose from, if outcomes are what a choice pays. counterfactual: whether
    outcomes of options that were not chosen are shown, too.
    """

    kind: str
    facts: Callable[[str, Settings], Fact | None]
    labels: int = 0
    contexts: int = 0
    options: int = 0
    counterfactual: bool = False


class Assembly(NamedTuple):
    """A learner, and how it was put together.

    assumed: what was assumed for it because it was not set, in sentences. code: the learner in Python.
    classes: those that the code names. settings: all that can be set, and its value; None where the learner decides.
    """

    learner: Learner
    assumed: tuple[str, ...]
    code: str
    classes: tuple[type, ...]
    settings: dict[str, float | None]


def known_facts(values: Mapping[str, float]) -> Callable[[str, Settings], Fact | None]:
    """The facts about a world in which all of them are known."""
    return lambda name, _: Fact(values[name], "as it is") if name in values else None


@dataclass(frozen=True)
class Specification:
    """A learner before it is made: its class, the family that it runs on, and the outcomes that it is for.

    name: by which it was asked for. family: None if it runs on none. contexts: whether it learns about contexts
    together or apart, if that was asked for.
    """

    name: str
    learner: Any
    family: Any
    outcomes: Outcomes
    contexts: Contexts | None = None

    @classmethod
    def of(
        cls, name: str, outcomes: Outcomes, family: str | None = None, contexts: Contexts | None = None
    ) -> "Specification":
        """Find the classes for such outcomes; see `choose`."""
        learner = LEARNERS.find_for(name, outcomes.kind)
        home = None
        if runs_on_family(learner):
            home = FAMILIES.find_for(family or FAMILIES.names_for(outcomes.kind)[0], outcomes.kind)
        elif family is not None:
            raise ValueError(f"{learner.__name__} runs on no family of beliefs; leave out the family {title(family)}")
        return cls(name, learner, home, outcomes, contexts)

    @cached_property
    def parameters(self) -> dict[str, NamedParameter]:
        """All that can be set, by its path in a model: of the learner, its family, its first belief and reference."""
        known = declared(self.learner)
        if self.family is not None:
            first = self.family.prior_parameters
            around = {f"family.{name}": each for name, each in declared(self.family).items() if name != "size"}
            known = {**known, **around, **first}
            for name, each in first.items() if _has(self.learner, "reference") else ():
                about = f"{name} of the reference belief"
                known[f"reference.{name}"] = each._replace(default=None, fact="", symbol="", about=about)
        if self.outcomes.options:
            known["decay"] = declared(PerOption)["decay"]
        return {LEARNER + name: NamedParameter(LEARNER + name, each.default, each) for name, each in known.items()}

    @property
    def settable(self) -> dict[str, Parameter]:
        """What is known of all that can be set, by short names.

        >>> list(Specification.of("smile", Outcomes("binary", known_facts({}))).settable)
        ['m', 'ones', 'zeros', 'reference.ones', 'reference.zeros']
        """
        short = short_names(self.parameters)
        return {name: each.known for name, each in zip(short, self.parameters.values(), strict=True)}

    @property
    def defaults(self) -> dict[str, float | None]:
        """The value of all that can be set if nothing is; None where outcomes decide, or the learner itself.

        >>> Specification.of("delta", Outcomes("continuous", known_facts({}))).defaults
        {'learning_rate': 0.1, 'start': None}
        """
        return {name: None if known.from_data else known.default for name, known in self.settable.items()}

    def given(self, settings: Settings) -> dict[str, float]:
        """What was set, by short names; refused if the learner has no such parameter."""
        short = dict(zip(self.parameters, self.settable, strict=True))
        return {
            short[find_parameter(self.parameters, word, title(self.name)).path]: value
            for word, value in settings.items()
        }

    def make(self, settings: Settings | None = None) -> Assembly:
        """Make the learner with these settings; what was not set is decided by facts about the outcomes."""
        kind, home, outcomes, allowed = self.learner, self.family, self.outcomes, self.settable
        learned = self._contexts()
        given = self.given(settings or {})
        undecided = [word for word, known in allowed.items() if known.fact and word not in {*given, *kind.own_defaults}]
        facts = {word: outcomes.facts(allowed[word].fact, given) for word in undecided}
        assumed = {word: fact for word, fact in facts.items() if fact is not None}
        values = {word: fact.value for word, fact in assumed.items()} | given
        own = {word: _number(known.domain, values[word]) for word, known in declared(kind).items() if word in values}
        if home is None:
            learner, code, classes = kind(**own), f"{kind.__name__}({arguments(own)})", [kind]
        else:
            learner, code = self._on_family(own, values, learned == "together")
            classes = [kind, home]
        caution = learner.caution()
        if learned == "together":
            classes.append(Rows)
        elif learned == "apart":
            learner, code = PerContext(learner, outcomes.contexts), f"PerContext({code}, {outcomes.contexts})"
            classes.append(PerContext)
        if outcomes.options:
            more: dict[str, Any] = {"decay": values["decay"]} if "decay" in values else {}
            more |= {"counterfactual": True} if outcomes.counterfactual else {}
            words = ", ".join(filter(None, [code, str(outcomes.options), arguments(more)]))
            learner, code = PerOption(learner, outcomes.options, **more), f"PerOption({words})"
            classes.append(PerOption)
        check_parameters(learner)
        sentences = [f"{word} = {fact.value:.4g}, {fact.source}" for word, fact in assumed.items()]
        if learned is not None and self.contexts is None:
            sentences.append(_CONTEXTS[learned])
        sentences += [caution] if caution else []
        set_to = {word: values.get(word, known.default) for word, known in allowed.items()}
        return Assembly(learner, tuple(sentences), code, tuple(classes), set_to)

    def _contexts(self) -> Contexts | None:
        """How the learner is to learn about contexts; None where outcomes have none."""
        asked, kind = self.contexts, self.outcomes.kind
        if asked is not None and asked not in _CONTEXTS:
            raise unknown("way to learn about contexts", asked, _CONTEXTS)
        if kind != OutcomeKind.TRANSITIONS:
            if asked is not None:
                raise ValueError(f"outcomes that are {kind} have no contexts; leave out contexts {asked}")
            return None
        if asked == "together" and self.family is None:
            name = self.learner.__name__
            raise ValueError(f"{name} runs on no family of beliefs, so contexts are apart; leave out together")
        usual: Contexts = self.learner.usual_contexts
        return asked or usual

    def _on_family(self, own: dict[str, Any], values: Settings, rows: bool) -> tuple[Any, str]:
        """A learner on its family, or on rows of it, and the code for it."""
        kind, home = self.learner, self.family
        around = {word: values[word] for word in declared(home) if word in values}
        if "size" in declared(home):
            around["size"] = self.outcomes.labels
        first = {word: values[word] for word in home.prior_parameters if word in values}
        family, code = home(**around), f"{home.__name__}({arguments(around)})"
        if rows:
            contexts = self.outcomes.contexts
            family, code = Rows(family, contexts), f"Rows({code}, {contexts})"
        parts = {"prior": family.prior(**first)}
        codes = [code, arguments(own), f"prior={code}.prior({arguments(first)})"]
        other = {word: values[name] for word in home.prior_parameters if (name := f"reference.{word}") in values}
        if _has(kind, "reference") and (other or not family.proper_likelihood):
            other = first | other  # where nothing else is set, as the first belief
            parts["reference"] = family.prior(**other)
            codes.append(f"reference={code}.prior({arguments(other)})")
        return kind(family, **own, **parts), f"{kind.__name__}({', '.join(filter(None, codes))})"


def assemble(
    name: str,
    outcomes: Outcomes,
    settings: Settings | None = None,
    family: str | None = None,
    contexts: Contexts | None = None,
) -> Assembly:
    """Make the learner of this name for such outcomes, and say what was assumed for it; see `choose`."""
    return Specification.of(name, outcomes, family, contexts).make(settings)


def runs_on_family(learner: Any) -> bool:
    """Whether a class of learners runs on a family of beliefs."""
    return _has(learner, "family")


def _has(kind: Any, name: str) -> bool:
    return name in {field.name for field in fields(kind)}


def arguments(values: Mapping[str, Any]) -> str:
    """Arguments by name, as they are written in Python."""
    return ", ".join(f"{word}={value!r}" for word, value in values.items())


def imports(classes: Iterable[type], *names: str) -> list[str]:
    """The lines of Python that import these classes, and what else is needed of the library, by name.

    >>> imports([PerContext], "run")
    ['from astonish import PerContext, run']
    """
    found: dict[str, set[str]] = {"astonish": set(names)}
    for kind in classes:
        own = kind.__module__.startswith("astonish.")
        found.setdefault("astonish" if own else kind.__module__, set()).add(kind.__name__)
    return [f"from {place} import {', '.join(sorted(found[place]))}" for place in sorted(found)]


def _number(domain: Domain, value: float) -> float:
    return int(value) if domain.whole and float(value).is_integer() else float(value)

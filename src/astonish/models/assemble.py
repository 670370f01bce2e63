"""How is a learner put together from its name, the outcomes that it is for, and what was set?

Whatever was not set is decided by facts about the outcomes, and listed as assumed.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from typing import Any, NamedTuple

from astonish.beliefs import Rows
from astonish.core.checks import check_parameters
from astonish.core.domain import Domain, Parameter, by_name, declared
from astonish.core.kinds import Contexts, OutcomeKind
from astonish.core.refusal import unknown
from astonish.learners import PerContext, PerOption
from astonish.learners.base import Learner
from astonish.models.parameters import REFERENCE, settable
from astonish.models.registry import FAMILIES, LEARNERS, title

Settings = Mapping[str, float]
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


def assemble(
    name: str,
    outcomes: Outcomes,
    settings: Settings | None = None,
    family: str | None = None,
    contexts: Contexts | None = None,
) -> Assembly:
    """The learner of this name for such outcomes, and what was assumed for it; see `choose`."""
    kind = LEARNERS.find_for(name, outcomes.kind)
    home = family_class(kind, outcomes.kind, family)
    learned = _contexts(kind, home, outcomes, contexts)
    allowed = allowed_settings(kind, home, outcomes)
    given = by_name(settings or {}, allowed)
    for word in given:
        if word not in allowed:
            raise unknown("parameter", word, allowed, of=title(name))
    undecided = [word for word, known in allowed.items() if known.fact and word not in {*given, *kind.own_defaults}]
    facts = {word: outcomes.facts(allowed[word].fact, given) for word in undecided}
    assumed = {word: fact for word, fact in facts.items() if fact is not None}
    values = {word: fact.value for word, fact in assumed.items()} | given
    own = {word: _number(known.domain, values[word]) for word, known in declared(kind).items() if word in values}
    if home is None:
        learner, code, classes = kind(**own), f"{kind.__name__}({arguments(own)})", [kind]
    else:
        learner, code = _on_family(kind, home, own, values, outcomes, learned == "together")
        classes = [kind, home]
    caution = learner.caution()
    if learned == "together":
        classes.append(Rows)
    elif learned == "apart":
        learner, code = PerContext(learner, outcomes.contexts), f"PerContext({code}, {outcomes.contexts})"
        classes.append(PerContext)
    if outcomes.options:
        learner, code = _per_option(learner, code, outcomes, values)
        classes.append(PerOption)
    check_parameters(learner)
    sentences = [f"{word} = {fact.value:.4g}, {fact.source}" for word, fact in assumed.items()]
    if learned is not None and contexts is None:
        sentences.append(_CONTEXTS[learned])
    sentences += [caution] if caution else []
    set_to = {word: values.get(word, known.default) for word, known in allowed.items()}
    return Assembly(learner, tuple(sentences), code, tuple(classes), set_to)


def allowed_settings(kind: Any, home: Any, outcomes: Outcomes) -> dict[str, Parameter]:
    """What can be set of a class of learners on a family, for such outcomes."""
    return settable(kind, home) | ({"decay": declared(PerOption)["decay"]} if outcomes.options else {})


def _per_option(learner: Any, code: str, outcomes: Outcomes, values: Settings) -> tuple[Any, str]:
    """A copy of a learner for each option, and the code for it."""
    more: dict[str, Any] = {"decay": values["decay"]} if "decay" in values else {}
    more |= {"counterfactual": True} if outcomes.counterfactual else {}
    words = ", ".join(filter(None, [code, str(outcomes.options), arguments(more)]))
    return PerOption(learner, outcomes.options, **more), f"PerOption({words})"


def _contexts(kind: Any, home: Any, outcomes: Outcomes, asked: Contexts | None) -> Contexts | None:
    """How a class of learners is to learn about contexts; None where outcomes have none."""
    if asked is not None and asked not in _CONTEXTS:
        raise unknown("way to learn about contexts", asked, _CONTEXTS)
    if outcomes.kind != OutcomeKind.TRANSITIONS:
        if asked is not None:
            raise ValueError(f"outcomes that are {outcomes.kind} have no contexts; leave out contexts {asked}")
        return None
    if asked == "together" and home is None:
        raise ValueError(f"{kind.__name__} runs on no family of beliefs, so contexts are apart; leave out together")
    return asked or kind.usual_contexts


def family_class(learner: Any, kind: str, family: str | None = None) -> Any:
    """The family on which a class of learners runs, for outcomes of this kind; None if it runs on none."""
    if not runs_on_family(learner):
        if family is not None:
            raise ValueError(f"{learner.__name__} runs on no family of beliefs; leave out the family {title(family)}")
        return None
    return FAMILIES.find_for(family or FAMILIES.names_for(kind)[0], kind)


def runs_on_family(learner: Any) -> bool:
    """Whether a class of learners runs on a family of beliefs."""
    return "family" in {field.name for field in fields(learner)}


def usual_settings(name: str, kind: str) -> dict[str, float | None]:
    """All that can be set of a learner, and its default; None where a fact about the outcomes decides, or itself.

    >>> usual_settings("leaky", "binary")
    {'keep': 0.9, 'ones': 1.0, 'zeros': 1.0}
    >>> usual_settings("delta", "continuous")
    {'learning_rate': 0.1, 'start': None}
    """
    learner = LEARNERS.find_for(name, kind)
    allowed = settable(learner, family_class(learner, kind))
    return {word: None if known.from_data else known.default for word, known in allowed.items()}


def _on_family(
    kind: Any, home: Any, own: dict[str, Any], values: Settings, outcomes: Outcomes, rows: bool
) -> tuple[Any, str]:
    """A learner on its family, or on rows of it, and the code for it."""
    around = {word: values[word] for word in declared(home) if word in values}
    if "size" in declared(home):
        around["size"] = outcomes.labels
    first = {word: values[word] for word in home.prior_parameters if word in values}
    family, code = home(**around), f"{home.__name__}({arguments(around)})"
    if rows:
        family, code = Rows(family, outcomes.contexts), f"Rows({code}, {outcomes.contexts})"
    parts = {"prior": family.prior(**first)}
    codes = [code, arguments(own), f"prior={code}.prior({arguments(first)})"]
    other = {word: values[REFERENCE + word] for word in home.prior_parameters if REFERENCE + word in values}
    if "reference" in {f.name for f in fields(kind)} and (other or not family.proper_likelihood):
        other = first | other  # where nothing else is set, as the first belief
        parts["reference"] = family.prior(**other)
        codes.append(f"reference={code}.prior({arguments(other)})")
    return kind(family, **own, **parts), f"{kind.__name__}({', '.join(filter(None, codes))})"


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

"""How is a learner put together from its name, the outcomes that it is for, and what was set?

Whatever was not set is decided by facts about the outcomes, and listed as assumed.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from typing import Any, NamedTuple

import numpy as np

from astonish.beliefs import Rows
from astonish.catalogue import FAMILIES, LEARNERS, REFERENCE, settable, title
from astonish.checks import check_parameters
from astonish.domain import Domain, Parameter, by_name, declared
from astonish.kinds import Contexts, OutcomeKind
from astonish.learner import Learner
from astonish.learners import PerContext, PerOption
from astonish.refusal import unknown
from astonish.special import wrapped
from astonish.trials import Trials

Settings = Mapping[str, float]
_OF_A_RANGE = {"spread": "std", "range": "scale"}  # facts that need different outcomes, and parameters they decide
_CONTEXTS: Mapping[Contexts, str] = {
    "together": "contexts together: all of them are forgotten, or thought to change, at every sample",
    "apart": "contexts apart: a sample changes the belief about its own context alone",
}
_HALF = 0.6745  # half of a normal distribution is within so many standard deviations


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


def outcomes_of(trials: Trials) -> Outcomes:
    """What a learner has to know about the outcomes of a table."""
    count = int(trials.outcomes[0].max()) + 1 if trials.kind == OutcomeKind.TRANSITIONS else 0
    return Outcomes(
        trials.kind,
        lambda *asked: fact_of(trials, *asked),
        len(trials.labels or ()),
        count,
        len(trials.options or ()),
        bool(trials.columns.counterfactual),
    )


def learner_for(
    name: str,
    trials: Trials,
    settings: Settings | None = None,
    family: str | None = None,
    contexts: Contexts | None = None,
) -> Learner:
    """The learner of this name for the outcomes of a table; see `choose`."""
    return choose(name, trials, settings, family, contexts).learner


def choose(
    name: str,
    trials: Trials,
    settings: Settings | None = None,
    family: str | None = None,
    contexts: Contexts | None = None,
) -> Assembly:
    """The learner of this name for the outcomes of a table, and what was assumed for it.

    name: of a learner, or where its class is: `file.py:Class` or `module:Class`. settings: parameters of the learner,
    its family and its first belief by name, such as m, noise or mean. family: by name, or where its class is; the usual
    one for outcomes of this kind when left out. contexts: for transitions, whether the learner forgets, or suspects
    changes, in all contexts "together", or learns in each of them "apart"; as is usual for it when left out.

    >>> from pandas import DataFrame
    >>> from astonish.trials import Columns, read_trials
    >>> trials = read_trials(DataFrame({"x": [1.0, 9.0, 2.0, 8.0]}), Columns("x"))
    >>> chosen = choose("nassar2012", trials, {"noise": 2.0, "hazard": 0.2})
    >>> chosen.learner
    Nassar2012(noise=2.0, hazard=0.2, low=1.0, high=9.0, start=None, ...)
    >>> chosen.assumed
    ('low = 1, the smallest outcome', 'high = 9, the largest outcome')
    """
    return assemble(name, outcomes_of(trials), settings, family, contexts)


def fact_of(trials: Trials, name: str, settings: Mapping[str, float]) -> Fact | None:
    """A fact about outcomes that are numbers: noise, drift, low, high, middle, spread or range; None for any other.

    About angles: period and concentration.

    settings: parameters that were set, on which others depend.
    """
    if name == "noise":
        return _noise(trials)
    if name == "period":
        return Fact(2 * math.pi, "for angles in radians; set 360 for degrees")
    if name == "concentration":
        return _concentration(trials, settings.get("period", 2 * math.pi))
    if name == "drift":
        return Fact(0.1 * (settings["noise"] if "noise" in settings else _noise(trials).value), "a tenth of noise")
    low, high = trials.outcome_range
    if name in _OF_A_RANGE and low == high:
        raise ValueError(f"{_OF_A_RANGE[name]} cannot be estimated from outcomes that are all {low:g}; set it")
    known = {
        "low": Fact(low, "the smallest outcome"),
        "high": Fact(high, "the largest outcome"),
        "middle": Fact(0.5 * (low + high), "the middle of the range of outcomes"),
        "spread": Fact((high - low) / math.sqrt(12), "as of a mean anywhere in the range of outcomes"),
        "range": Fact(high - low, "the range of outcomes"),
    }
    return known.get(name)


def _noise(trials: Trials) -> Fact:
    if "noise" in trials.given:
        return _median(trials, "noise")
    if trials.kind == OutcomeKind.BINARY:
        return Fact(0.5, "the standard deviation of 0 and 1, if they are equally frequent")
    if trials.options is not None:
        return Fact(_reward_noise(trials), "the standard deviation of what an option pays a participant")
    return Fact(_median_noise(trials, "noise"), "from the median difference of successive outcomes")


def _concentration(trials: Trials, period: float) -> Fact:
    if "concentration" in trials.given:
        return _median(trials, "concentration")
    radians = 2 * math.pi / period * _median_noise(trials, "concentration", period)
    return Fact(radians**-2, "from the median difference of successive outcomes")


def _median(trials: Trials, name: str) -> Fact:
    column = trials.columns.given[name]
    return Fact(float(np.median(trials.given[name])), f"the median of {column}, which gives it trial by trial")


def _median_noise(trials: Trials, name: str, period: float | None = None) -> float:
    """The standard deviation of outcomes from trial to trial. name: of the parameter that needs it."""
    successive = trials.observed[:, 1:] & trials.observed[:, :-1] & ~trials.starts[:, 1:]
    steps: Any = np.diff(trials.scalar_outcomes)[successive]
    sizes = np.abs(steps if period is None else wrapped(steps, period))
    noise = float(np.median(sizes)) / (_HALF * math.sqrt(2)) if len(sizes) else 0.0
    if noise == 0:
        raise ValueError(f"{name} cannot be estimated from outcomes that hardly differ from trial to trial; set {name}")
    return noise


def _reward_noise(trials: Trials) -> float:
    """The standard deviation of rewards about the mean that an option pays a participant."""
    rewards, squares, count = trials.scalar_outcomes, 0.0, 0
    for row, option in np.ndindex(len(trials), len(trials.options or ())):
        own = rewards[row][trials.observed[row] & (trials.choices[row] == option)]
        squares, count = squares + float(np.square(own - own.mean()).sum()) if len(own) else squares, count + len(own)
    if not squares:
        raise ValueError("noise cannot be estimated from options that always pay the same; set noise")
    return math.sqrt(squares / count)


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

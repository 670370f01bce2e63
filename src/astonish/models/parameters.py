"""Parameters of learners, families and models by name, and learners made from a specification of them.

Whatever a specification does not set is decided by facts about the outcomes, and listed as assumed.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, cast

from astonish.beliefs import Rows
from astonish.core.names import Contexts, OutcomeKind
from astonish.core.parameters import Parameter, check_parameters, declared
from astonish.core.refusal import unknown
from astonish.learners import PerContext, PerOption
from astonish.learners.base import Learner
from astonish.models.registry import CATALOGUES, FAMILIES, LEARNERS, find_any, title

Settings = Mapping[str, float]
LEARNER = "learner."  # before the names of its parameters, as in a model
_CONTEXTS: Mapping[Contexts, str] = {
    "together": "contexts together: all of them are forgotten, or thought to change, at every sample",
    "apart": "contexts apart: a sample changes the belief about its own context alone",
}


class NamedParameter(NamedTuple):
    """A parameter of a learner or model: where it is, its value, and what is known about it."""

    path: str
    value: Any
    known: Parameter


def parameters(thing: Any, path: str = "") -> dict[str, NamedParameter]:
    """Look through a learner or model, its family and all else that it is made of; without what is left out (None).

    Args:
        thing: A learner or model; or a class, of which the parameters have their defaults, and those of the first
            belief of a family are among them.
        path: What comes before the names, such as "learner.".

    >>> from astonish import Gaussian, Smile
    >>> {path: each.value for path, each in parameters(Smile(Gaussian(3.0))).items()}
    {'family.noise': 3.0, 'm': 0.1}
    >>> list(parameters(Gaussian, "family."))
    ['family.noise', 'family.mean', 'family.std']
    """
    if isinstance(thing, type):
        every = {**declared(thing), **getattr(thing, "prior_parameters", {})}
        return {path + name: NamedParameter(path + name, known.default, known) for name, known in every.items()}
    inside: dict[str, NamedParameter] = {}
    for field in fields(thing) if is_dataclass(thing) else ():
        value, where = getattr(thing, field.name), path + field.name
        if "parameter" in field.metadata and value is not None:
            inside[where] = NamedParameter(where, value, field.metadata["parameter"])
        if not isinstance(value, type):
            inside |= parameters(value, f"{where}.")
    return inside


def with_parameters(thing: Any, values: Mapping[str, Any]) -> Any:
    """Make the same learner with other values of some parameters, by their paths in it.

    >>> from astonish import Gaussian, Smile
    >>> with_parameters(Smile(Gaussian(1.0), m=0.1), {"family.noise": 5.0})
    Smile(family=Gaussian(noise=5.0), m=0.1, prior=None, reference=None)
    """
    for path, value in values.items():
        first, _, rest = path.partition(".")
        part = with_parameters(getattr(thing, first), {rest: value}) if rest else value
        thing = replace(thing, **{first: part})
    return thing


def find_parameter(among: Mapping[str, NamedParameter], word: str, of: str = "") -> NamedParameter:
    """Find the parameter that a word means, or refuse the word.

    A word is the end of a path or a symbol in its place, perhaps after some of the parts that lead to it: in a model,
    `noise`, `family.noise` and `learner.noise` may all mean `learner.family.noise`. What lies further out comes first:
    `offset` is not `sensor.offset`, if both are there.

    Args:
        among: Parameters by path: those of a learner or model (see `parameters`), or of a specification, before it is
            made.
        word: What somebody wrote.
        of: What the parameter would belong to, for the refusal.

    >>> from astonish import Delta, Gaussian, Smile
    >>> find_parameter(parameters(Smile(Gaussian())), "noise").path, find_parameter(parameters(Delta()), "alpha").path
    ('family.noise', 'learning_rate')
    """
    meant = matching(among, word)
    if not meant:
        raise unknown("parameter", word, short_names(among), of)
    if len(meant) > 1:
        raise ValueError(f"{word!r} may be {' or '.join(each.path for each in meant)}; give the whole name")
    return meant[0]


def matching(among: Mapping[str, NamedParameter], word: str) -> list[NamedParameter]:
    """Find all parameters that a word may mean, by their names; else by their symbols."""
    by_symbol = {f"{path.rpartition('.')[0]}.{each.known.symbol}": each for path, each in among.items()}
    return next(([named[path] for path in paths] for named in (among, by_symbol) if (paths := _meant(named, word))), [])


def short_names(names: Iterable[str]) -> tuple[str, ...]:
    """Leave out what is not needed to tell names apart.

    >>> short_names(("learner.m", "learner.family.noise", "response.noise[0.5]"))
    ('m', 'family.noise', 'response.noise[0.5]')
    """
    names = tuple(names)
    paths, short = dict.fromkeys(name.partition("[")[0] for name in names), {}
    for path in paths:
        parts = path.split(".")
        ends = (".".join(parts[k:]) for k in reversed(range(len(parts))))
        short[path] = next(end for end in ends if _meant(paths, end) == [path])
    return tuple(short[path] + bracket + label for path, bracket, label in (name.partition("[") for name in names))


def _meant(paths: Iterable[str], word: str) -> list[str]:
    """Find the paths that a word may mean; one alone if all others only lead further in."""
    parts = word.split(".")
    ends = [path for path in paths if path.endswith(parts[-1]) and _leads(parts, path.split("."))]
    return next(([path] for path in ends if all(_leads(path.split("."), end.split(".")) for end in ends)), ends)


def _leads(parts: list[str], path: list[str]) -> bool:
    """Tell whether a path ends with the last of these parts, and goes through the others in their order."""
    rest = iter(path[:-1])
    return parts[-1] == path[-1] and all(part in rest for part in parts[:-1])


# From a specification to a learner


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
    """Look facts up, about a world in which all of them are known."""
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
            known |= around | first
            for name, parameter in first.items() if _has(self.learner, "reference") else ():
                about = f"{name} of the reference belief"
                known[f"reference.{name}"] = parameter._replace(default=None, fact="", symbol="", about=about)
        if self.outcomes.options:
            known["decay"] = declared(PerOption)["decay"]
        paths = {LEARNER + name: parameter for name, parameter in known.items()}
        return {path: NamedParameter(path, parameter.default, parameter) for path, parameter in paths.items()}

    @property
    def settable(self) -> dict[str, Parameter]:
        """Knowledge of all that can be set, by short names.

        >>> list(Specification.of("smile", Outcomes("binary", known_facts({}))).settable)
        ['m', 'ones', 'zeros', 'reference.ones', 'reference.zeros']
        """
        short = short_names(self.parameters)
        return {name: parameter.known for name, parameter in zip(short, self.parameters.values(), strict=True)}

    @property
    def defaults(self) -> dict[str, float | None]:
        """The value of all that can be set if nothing is; None where outcomes decide, or the learner itself.

        >>> Specification.of("delta", Outcomes("continuous", known_facts({}))).defaults
        {'learning_rate': 0.1, 'start': None}
        """
        return {name: None if known.from_data else known.default for name, known in self.settable.items()}

    def given(self, settings: Settings) -> dict[str, float]:
        """Give settings their short names; refused if the learner has no such parameter."""
        short, of = dict(zip(self.parameters, self.settable, strict=True)), title(self.name)
        return {short[find_parameter(self.parameters, word, of).path]: value for word, value in settings.items()}

    def make(self, settings: Settings | None = None) -> Assembly:
        """Make the learner with these settings; what was not set is decided by facts about the outcomes."""
        kind, home, outcomes, allowed = self.learner, self.family, self.outcomes, self.settable
        learned = self._contexts()
        given = self.given(settings or {})
        undecided = [word for word, known in allowed.items() if known.fact and word not in {*given, *kind.own_defaults}]
        facts = {word: outcomes.facts(allowed[word].fact, given) for word in undecided}
        assumed = {word: fact for word, fact in facts.items() if fact is not None}
        values = {word: fact.value for word, fact in assumed.items()} | given
        own = {word: float(values[word]) for word in declared(kind) if word in values}
        own |= {word: int(value) for word, value in own.items() if allowed[word].domain.whole and value.is_integer()}
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
        """Decide how the learner is to learn about contexts; None where outcomes have none."""
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
        return asked or cast(Contexts, self.learner.usual_contexts)

    def _on_family(self, own: dict[str, Any], values: Settings, rows: bool) -> tuple[Any, str]:
        """Make a learner on its family, or on rows of it, and the code for it."""
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
    """Tell whether a class of learners runs on a family of beliefs."""
    return _has(learner, "family")


def _has(kind: Any, name: str) -> bool:
    return name in {field.name for field in fields(kind)}


def arguments(values: Mapping[str, Any]) -> str:
    """Write arguments by name, as in Python."""
    return ", ".join(f"{word}={value!r}" for word, value in values.items())


def imports(classes: Iterable[type], *names: str) -> list[str]:
    """Write the lines of Python that import these classes, and what else is needed of the library, by name.

    >>> imports([PerContext], "run")
    ['from astonish import PerContext, run']
    """
    modules: dict[str, set[str]] = {"astonish": set(names)}
    for kind in classes:
        own = kind.__module__.startswith("astonish.")
        modules.setdefault("astonish" if own else kind.__module__, set()).add(kind.__name__)
    return [f"from {module} import {', '.join(sorted(modules[module]))}" for module in sorted(modules)]


# For the documentation, and `astonish learners`


def described(words: Iterable[str] = ()) -> Iterator[tuple[str, list[str]]]:
    """Give a heading and some lines for each class that is named; for all that can be, if none is."""
    called: dict[Any, list[str]] = {}
    for catalogue in CATALOGUES:
        for name, kind in catalogue.by_name().items():
            called.setdefault(kind, []).append(name)
    for kind in [find_any(word) for word in words] or called:
        names = ", ".join(called.get(kind) or [kind.name or kind.__name__])
        lines = [(kind.__doc__ or "").partition("\n")[0], f"takes: {', '.join(kind.takes)}"]
        for word, (_, _, known) in parameters(kind).items():
            about = in_words(known)
            usual = f"; usually {about['usual']}" if about["usual"] else ""
            symbol = f" ({known.symbol})" if known.symbol else ""
            lines.append(f"{word}{symbol} = {about['default']}: {known.about} ({about['values']}{usual})")
        yield names, lines


def in_words(known: Parameter) -> dict[str, str]:
    """Write what is known about a parameter."""
    usual = "" if known.usual is None else f"{known.usual[0]:g} to {known.usual[1]:g}"
    units = ", for outcomes from 0 to 1" if known.has_units and usual else ""
    default = "from the data" if known.from_data else "none" if known.default is None else f"{known.default:g}"
    return {"default": default, "values": str(known.domain), "usual": usual + units, "about": known.about}

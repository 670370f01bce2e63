"""Which learner does a name mean, for a table of trials?

Whatever nobody has said about it is taken from the data, and said.
"""

import inspect
from collections.abc import Mapping
from dataclasses import fields
from difflib import get_close_matches
from typing import Any, NamedTuple

from astonish.beliefs import Beta, Dirichlet, Gaussian
from astonish.defaults import SUGGESTED, suggested
from astonish.domain import Domain, check_parameters
from astonish.learner import Learner, PerContext
from astonish.learners import (
    Bayes,
    Delta,
    Kalman,
    Leaky,
    MessagePassing,
    Nassar2010,
    Nassar2012,
    NassarGaussian2010,
    NassarGaussian2012,
    ParticleFilter,
    PearceHall,
    Smile,
    VarSmile,
)
from astonish.table import Trials

BELIEVERS: dict[str, Any] = {  # they run on any outcomes
    "smile": Smile,
    "varsmile": VarSmile,
    "bayes": Bayes,
    "leaky": Leaky,
    "message-passing": MessagePassing,
    "particle-filter": ParticleFilter,
}
FOLLOWERS: dict[str, Any] = {"delta": Delta, "pearce-hall": PearceHall}  # of numbers, 0 and 1 among them
TRACKERS: dict[str, Any] = {  # of a mean behind noise
    "kalman": Kalman,
    "nassar2010": Nassar2010,
    "nassar2012": Nassar2012,
    "reduced-bayes": Nassar2012,
    "nassar-gaussian2010": NassarGaussian2010,
    "nassar-gaussian2012": NassarGaussian2012,
}
NAMES = (*BELIEVERS, *FOLLOWERS, *TRACKERS)
FREE: dict[str, tuple[str, ...]] = {  # what is usually found by fitting
    "smile": ("m",),
    "varsmile": ("m",),
    "bayes": (),
    "leaky": ("keep",),
    "message-passing": ("hazard",),
    "particle-filter": ("hazard",),
    "delta": ("rate",),
    "pearce-hall": ("salience", "renewal"),
    "kalman": ("drift",),
    **dict.fromkeys(list(TRACKERS)[1:], ("hazard",)),
}
_FAMILIES: dict[str, Any] = {"continuous": Gaussian, "binary": Beta, "categorical": Dirichlet, "transitions": Dirichlet}
_PARTS = ("family", "prior", "reference", "size", "_kind")
_LEFT_ALONE = (  # what these learners themselves know best
    (Smile, "std"),  # as uncertain as one sample leaves it
    (Nassar2012, "start"),  # the middle between low and high
)


class Choice(NamedTuple):
    """A learner, and what was assumed because nobody said otherwise, in sentences."""

    learner: Learner
    assumed: tuple[str, ...]


def learner_for(name: str, trials: Trials, settings: Mapping[str, float] | None = None) -> Learner:
    """The learner of this name for the outcomes of a table.

    settings: parameters of the learner, its family and its prior by name, such as m, noise or mean.
    """
    return choose(name, trials, settings).learner


def choose(name: str, trials: Trials, settings: Mapping[str, float] | None = None) -> Choice:
    """The learner of this name, and what was assumed for it.

    >>> from pandas import DataFrame
    >>> from astonish.table import Columns, read_trials
    >>> trials = read_trials(DataFrame({"x": [1.0, 9.0, 2.0, 8.0]}), Columns("x"))
    >>> choice = choose("nassar2012", trials, {"noise": 2.0, "hazard": 0.2})
    >>> choice.learner
    Nassar2012(noise=2.0, hazard=0.2, low=1.0, high=9.0, start=None, ...)
    >>> choice.assumed
    ('low = 1, the smallest outcome', 'high = 9, the largest outcome')
    """
    kind, family = _known(name, trials.kind), _family(name, trials.kind)
    said, allowed = dict(settings or {}), settable(kind, family)
    for word in said:
        if word not in allowed:
            raise ValueError(f"{name} has no {word!r}; {_guess(word, allowed, 'it has')}")
    unsaid = [word for word in allowed if word not in said and (kind, word) not in _LEFT_ALONE]
    found = {word: suggested(word, trials, said) for word in unsaid if word in SUGGESTED}
    learner = _built(kind, family, {word: each.value for word, each in found.items()} | said, trials)
    check_parameters(learner)
    return Choice(learner, tuple(f"{word} = {each.value:.4g}, {each.source}" for word, each in found.items()))


def has(name: str, trials: Trials, word: str) -> bool:
    """Whether the learner of this name has a parameter of that name."""
    return word in settable(_known(name, trials.kind), _family(name, trials.kind))


def names_for(kind: str) -> tuple[str, ...]:
    """The learners of outcomes of a kind."""
    return {"continuous": NAMES, "binary": (*BELIEVERS, *FOLLOWERS)}.get(kind, tuple(BELIEVERS))


def defaults(name: str, kind: str) -> dict[str, float | None]:
    """All that can be set of a learner, and what it is unless somebody says so; None where the data tell, or itself.

    >>> defaults("leaky", "binary")
    {'keep': 0.9, 'ones': 0.0, 'zeros': 0.0}
    >>> defaults("delta", "continuous")
    {'rate': 0.1, 'start': None}
    """
    learner, family = _known(name, kind), _family(name, kind)
    found: dict[str, Any] = {f.name: f.default for f in fields(learner)}
    if family is not None:
        found |= {word: each.default for word, each in inspect.signature(family.prior).parameters.items()}
    return {word: None if word in SUGGESTED else found[word] for word in settable(learner, family)}


def settable(kind: Any, family: Any = None) -> tuple[str, ...]:
    """The parameters of a kind of learner, of its family and of its prior."""
    own = tuple(f.name for f in fields(kind) if f.name not in _PARTS)
    if family is None:
        return own
    around = (f.name for f in fields(family) if f.name not in _PARTS)
    return (*own, *around, *(word for word in inspect.signature(family.prior).parameters if word != "self"))


def _known(name: str, kind: str) -> Any:
    if name not in NAMES:
        raise ValueError(f"there is no learner {name!r}; {_guess(name, NAMES, 'known are')}")
    if name not in names_for(kind):
        raise ValueError(
            f"{name} does not learn from outcomes that are {kind}; give one of {', '.join(names_for(kind))}"
        )
    return {**BELIEVERS, **FOLLOWERS, **TRACKERS}[name]


def _family(name: str, kind: str) -> Any:
    return _FAMILIES[kind] if name in BELIEVERS else None


def _guess(word: str, known: tuple[str, ...], start: str) -> str:
    close = get_close_matches(word, known, n=1)
    listed = f"{start} {', '.join(known)}"
    return f"did you mean {close[0]!r}? {listed[0].upper()}{listed[1:]}" if close else listed


def _built(kind: Any, family: Any, values: Mapping[str, float], trials: Trials) -> Learner:
    own = {f.name: _number(f.metadata.get("domain"), values[f.name]) for f in fields(kind) if f.name in values}
    if family is None:
        return kind(**own)
    around = {f.name: values[f.name] for f in fields(family) if f.name in values}
    if family is Dirichlet:
        around["size"] = len(trials.labels or ())
    chosen = family(**around)
    first = {word: values[word] for word in inspect.signature(chosen.prior).parameters if word in values}
    learner = kind(chosen, prior=chosen.prior(**first), **own)
    return PerContext(learner, int(trials.outcomes[0].max()) + 1) if trials.kind == "transitions" else learner


def _number(domain: Domain | None, value: float) -> float:
    whole = domain is not None and domain.whole and float(value).is_integer()
    return int(value) if whole else float(value)

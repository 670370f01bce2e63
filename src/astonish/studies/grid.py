"""Which settings do lists of values span? All their combinations, each with a readable name."""

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

from astonish.domain import Domain

Words = Mapping[str, Any]
UNNAMED = ("episodes", "steps", "participants", "starts")  # sizes


def combinations(words: Words) -> list[dict[str, Any]]:
    """One of each list with one of each other; what is no list is the same in all.

    >>> combinations({"m": [0.1, 0.2], "seed": 1})
    [{'m': 0.1, 'seed': 1}, {'m': 0.2, 'seed': 1}]
    """
    for word, values in words.items():
        if values == []:
            raise ValueError(f"{word} = [] has no values; give at least one")
    lists = [values if isinstance(values, list) else [values] for values in words.values()]
    return [dict(zip(words, chosen, strict=True)) for chosen in product(*lists)]


def spanned(kind: str, world: Words, learners: Sequence[Words]) -> dict[str, dict[str, Any]]:
    """All worlds with all learners, each at all its parameters, by name; sizes are not part of the name.

    >>> list(spanned("maze", {"seed": [7, 8], "steps": 100}, [{"name": "smile", "m": 0.1}]))
    ['maze/smile/m=0.1/seed=7', 'maze/smile/m=0.1/seed=8']
    """
    settings = {}
    for own, around in ((a, b) for learner in learners for a in combinations(learner) for b in combinations(world)):
        setting = {**setting_of(own), **around}
        parts = [f"{word}={value}" for word, value in setting.items() if word not in (*UNNAMED, "learner")]
        settings["/".join([kind, own["name"], *parts])] = setting
    return settings


def setting_of(learner: Words) -> dict[str, Any]:
    """What a setting says of its learner, whose values are chosen."""
    return {"learner": learner["name"], **{word: value for word, value in learner.items() if word != "name"}}


def own_parameters(setting: Words, world: Words) -> dict[str, float]:
    """What a setting says about its learner, rather than about the world."""
    own = {word: value for word, value in setting.items() if word != "learner" and word not in world}
    for word, value in own.items():
        number(f"{setting['learner']}: {word}", value)
    return own


def checked(where: str, words: Words, allowed: Mapping[str, tuple[Any, Domain]]) -> dict[str, Any]:
    """What is said and, where nothing is said, what is usual; refused where it is not allowed.

    allowed: the usual value and the domain of each word, in order.
    """
    unknown = [word for word in words if word not in allowed]
    if unknown:
        raise ValueError(f"{where} has {unknown[0]!r}, which is not known; give some of {', '.join(allowed)}")
    found = {word: words.get(word, usual) for word, (usual, _) in allowed.items()}
    for word, values in found.items():
        for value in values if isinstance(values, list) else [values]:
            number(f"{where}: {word}", value)
            allowed[word][1].check(f"{where}: {word}", value)
    return found


def number(name: str, value: Any) -> None:
    """Refuse what is not one number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{name} = {value!r} is not a number; give one, or a list of them")

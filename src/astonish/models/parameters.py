"""Parameters of learners, families and models: their values, what is known of them, and which one a word means."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, NamedTuple

from astonish.core.parameters import Parameter, declared
from astonish.core.refusal import unknown
from astonish.models.registry import CATALOGUES, Catalogue, find_any


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
    found = {}
    for field in fields(thing) if is_dataclass(thing) else ():
        value, where = getattr(thing, field.name), path + field.name
        if "parameter" in field.metadata and value is not None:
            found[where] = NamedParameter(where, value, field.metadata["parameter"])
        if not isinstance(value, type):
            found |= parameters(value, f"{where}.")
    return found


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
    paths = dict.fromkeys(name.partition("[")[0] for name in names)
    short = {}
    for path in paths:
        parts = path.split(".")
        ends = (".".join(parts[k:]) for k in reversed(range(len(parts))))
        short[path] = next(end for end in ends if _meant(paths, end) == [path])
    return tuple(short[path] + bracket + label for path, bracket, label in (name.partition("[") for name in names))


def _meant(paths: Iterable[str], word: str) -> list[str]:
    """The paths that a word may mean; one alone if all others only lead further in."""
    parts = word.split(".")
    found = [path for path in paths if path.endswith(parts[-1]) and _leads(parts, path.split("."))]
    return next(([path] for path in found if all(_leads(path.split("."), each.split(".")) for each in found)), found)


def _leads(parts: list[str], path: list[str]) -> bool:
    """Whether a path ends with the last of these parts, and goes through the others in their order."""
    rest = iter(path[:-1])
    return parts[-1] == path[-1] and all(part in rest for part in parts[:-1])


def table(catalogue: Catalogue) -> list[dict[str, str]]:
    """A row for each parameter of each class, for the documentation."""
    rows = []
    for name, kind in catalogue.classes().items():
        own = [{"parameter": word, **in_words(known)} for word, (_, _, known) in parameters(kind).items()]
        rows += [{"name": name, "class": kind.__name__, **row} for row in own or [{"parameter": "none"}]]
    return rows


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
    """What is known about a parameter."""
    usual = "" if known.usual is None else f"{known.usual[0]:g} to {known.usual[1]:g}"
    units = ", for outcomes from 0 to 1" if known.has_units and usual else ""
    default = "from the data" if known.from_data else "none" if known.default is None else f"{known.default:g}"
    return {"default": default, "values": str(known.domain), "usual": usual + units, "about": known.about}

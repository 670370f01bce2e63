"""Parameters by name, and what is known of them in words."""

from collections.abc import Iterable, Iterator
from dataclasses import fields
from typing import Any

from astonish.core.domain import Parameter, declared
from astonish.models.registry import CATALOGUES, Catalogue, find_any

REFERENCE = "reference."  # before the name of a parameter of the reference belief


def settable(learner: Any, family: Any = None) -> dict[str, Parameter]:
    """The parameters of a class of learners, of its family, of its first belief and of its reference, by name.

    >>> from astonish import Beta, Smile
    >>> list(settable(Smile, Beta))
    ['m', 'ones', 'zeros', 'reference.ones', 'reference.zeros']
    """
    around = {} if family is None else known_parameters(family)
    own = {**declared(learner), **{name: known for name, known in around.items() if name != "size"}}
    if family is None or "reference" not in {field.name for field in fields(learner)}:
        return own
    for name, known in family.prior_parameters.items():
        own[REFERENCE + name] = known._replace(default=None, fact="", about=f"{name} of the reference belief")
    return own


def known_parameters(kind: Any) -> dict[str, Parameter]:
    """The parameters of a class; of a family, those of its first belief too."""
    return {**declared(kind), **getattr(kind, "prior_parameters", {})}


def table(catalogue: Catalogue) -> list[dict[str, str]]:
    """A row for each parameter of each class, for the documentation."""
    rows = []
    for name, kind in catalogue.classes().items():
        own = [{"parameter": word, **in_words(known)} for word, known in known_parameters(kind).items()]
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
        for word, known in known_parameters(kind).items():
            words = in_words(known)
            usual = f"; usually {words['usual']}" if words["usual"] else ""
            symbol = f" ({known.symbol})" if known.symbol else ""
            lines.append(f"{word}{symbol} = {words['default']}: {known.about} ({words['values']}{usual})")
        yield names, lines


def in_words(known: Parameter) -> dict[str, str]:
    """What is known about a parameter."""
    usual = "" if known.usual is None else f"{known.usual[0]:g} to {known.usual[1]:g}"
    units = ", for outcomes from 0 to 1" if known.has_units and usual else ""
    default = "from the data" if known.from_data else "none" if known.default is None else f"{known.default:g}"
    return {"default": default, "values": str(known.domain), "usual": usual + units, "about": known.about}

"""Which learners, families of beliefs and response models are there, by name?

Those that the library exports, those that installed packages announce by an entry point, and those that somebody names
by their file or module: `my_models.py:Mine`, `package.module:Mine`.
"""

import importlib.util
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import fields, is_dataclass
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, NamedTuple
from warnings import warn

from astonish import beliefs, learners, responses
from astonish.core.domain import Parameter, declared
from astonish.core.refusal import unknown
from astonish.learners.base import Learner
from astonish.responses import Response
from astonish.theory.expfam import Family


class Catalogue(NamedTuple):
    """All classes of one sort.

    what: what one of them is called. base: the class from which all of them are derived. exports: the package that has
    the library's own. group: the entry points by which other packages announce theirs.
    """

    what: str
    base: type
    exports: Any
    group: str

    def classes(self) -> dict[str, Any]:
        """Those that can be named, in the order of the exports, the library's own first."""
        return dict(_classes(self, tuple(sys.path)))

    def by_name(self) -> dict[str, Any]:
        """The classes by all their names, other names of the same class included."""
        return {name: kind for known, kind in self.classes().items() for name in _names(known, kind)}

    def names_for(self, kind: str) -> tuple[str, ...]:
        """The names of those that take outcomes, or responses, of this kind."""
        return tuple(name for name, found in self.by_name().items() if kind in found.takes)

    def find(self, name: str) -> Any:
        """The class that is meant by a name, or by `file.py:Class` or `module:Class`."""
        if ":" in name:
            return self._load(name)
        if name not in self.by_name():
            raise unknown(self.what, name, self.by_name())
        return self.by_name()[name]

    def find_for(self, name: str, kind: str) -> Any:
        """The same, refused if it does not take outcomes, or responses, of this kind."""
        found = self.find(name)
        if kind not in found.takes:
            able = ", ".join(self.names_for(kind)) or "none that is known"
            raise ValueError(f"the {self.what} {name} does not take {kind} data; give one of {able}")
        return found

    def _load(self, name: str) -> Any:
        kind = load_object(name)
        self._check(name, kind)
        return kind

    def _check(self, name: str, kind: Any) -> None:
        if not isinstance(kind, type) or self.base not in kind.__mro__ or not is_dataclass(kind):
            advice = f"give a class derived from {self.base.__module__}.{self.base.__name__}"
            raise ValueError(
                f"{name} is no {self.what}; {advice} and marked with astonish.core.pytree.pytree_dataclass"
            )


REFERENCE = "reference."  # before the name of a parameter of the reference belief
LEARNERS = Catalogue("learner", Learner, learners, "astonish.learners")
FAMILIES = Catalogue("family", Family, beliefs, "astonish.families")
RESPONSES = Catalogue("response model", Response, responses, "astonish.responses")
_ALL = (LEARNERS, FAMILIES, RESPONSES)


def title(name: str) -> str:
    """A name without where it comes from.

    >>> title("my_models.py:Mine"), title("smile")
    ('Mine', 'smile')
    """
    return name.rpartition(":")[2]


def settable(learner: Any, family: Any = None) -> dict[str, Parameter]:
    """The parameters of a class of learners, of its family, of its first belief and of its reference, by name.

    >>> list(settable(learners.Smile, beliefs.Beta))
    ['m', 'ones', 'zeros', 'reference.ones', 'reference.zeros']
    """
    around = {} if family is None else known_parameters(family)
    own = {**declared(learner), **{name: known for name, known in around.items() if name != "size"}}
    if family is None or "reference" not in {field.name for field in fields(learner)}:
        return own
    for name, known in family.prior_parameters.items():
        own[REFERENCE + name] = known._replace(default=None, fact="", about=f"{name} of the reference belief")
    return own


def find_any(name: str) -> Any:
    """The learner, family or response model that is meant by a name."""
    for catalogue in _ALL:
        with suppress(ValueError):
            return catalogue.find(name)
    if ":" in name:
        return RESPONSES.find(name)  # to be refused
    every = [known for catalogue in _ALL for known in catalogue.by_name()]
    raise unknown("learner, family or response model", name, every)


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


def described(kinds: Iterable[Any] = ()) -> Iterator[tuple[str, list[str]]]:
    """A heading and some lines for each class; for all that can be named, if none is given."""
    for kind in list(kinds) or [kind for catalogue in _ALL for kind in catalogue.classes().values()]:
        names = ", ".join([kind.name or kind.__name__, *getattr(kind, "aliases", ())])
        lines = [(kind.__doc__ or "").partition("\n")[0], f"takes: {', '.join(kind.takes)}"]
        for word, known in known_parameters(kind).items():
            words = in_words(known)
            usual = f"; usually {words['usual']}" if words["usual"] else ""
            called = f"{word} ({known.symbol})" if known.symbol else word
            lines.append(f"{called} = {words['default']}: {known.about} ({words['values']}{usual})")
        yield names, lines


def in_words(known: Parameter) -> dict[str, str]:
    """What is known about a parameter."""
    usual = "" if known.usual is None else f"{known.usual[0]:g} to {known.usual[1]:g}"
    units = ", for outcomes from 0 to 1" if known.has_units and usual else ""
    default = "from the data" if known.from_data else "none" if known.default is None else f"{known.default:g}"
    return {"default": default, "values": str(known.domain), "usual": usual + units, "about": known.about}


@cache
def _classes(catalogue: Catalogue, _: tuple[str, ...]) -> dict[str, Any]:
    """The classes that can be named on this path: found once, since it takes a hundredth of a second."""
    own = [getattr(catalogue.exports, name) for name in catalogue.exports.__all__]
    found = {kind.name: kind for kind in own if isinstance(kind, type) and kind.name and kind.takes}  # type: ignore[attr-defined]
    for announced in entry_points(group=catalogue.group):
        taken = {name: kind for known, kind in found.items() for name in _names(known, kind)}
        try:
            kind = announced.load()
            catalogue._check(announced.value, kind)
            for name in _names(kind.name or announced.name, kind):
                if taken.get(name, kind) is not kind:
                    raise ValueError(f"the name {name!r} is taken by {taken[name].__module__}.{taken[name].__name__}")
        except Exception as problem:  # whatever another package does
            wrong = f"{announced.value} ({type(problem).__name__}: {problem}); mend that package, or remove it"
            warn(f"the {catalogue.what} {announced.name!r} of another package is left out: {wrong}", stacklevel=3)
        else:
            found[kind.name or announced.name] = kind
    return found


def _names(name: str, kind: Any) -> tuple[str, ...]:
    return name, *getattr(kind, "aliases", ())


def load_object(name: str) -> Any:
    """What is meant by `file.py:Name` or `module:Name`."""
    place, _, wanted = name.rpartition(":")
    module = _file(place) if place.endswith(".py") else _module(place)
    found = getattr(module, wanted, None)
    if found is None:
        raise ValueError(f"{place} has no {wanted!r}; give the name of a class in it, as in {place}:Mine")
    return found


def _module(place: str) -> Any:
    try:
        return import_module(place)
    except Exception as problem:
        wrong = f"{place!r} could not be imported ({type(problem).__name__}: {problem})"
        raise ValueError(f"{wrong}; give file.py:Class, or module:Class") from problem


def _file(place: str) -> Any:
    path = Path(place).expanduser().resolve()
    if not path.is_file():
        raise ValueError(f"there is no file {place!r}; give file.py:Class, or module:Class")
    loaded = sys.modules.get(path.stem)
    if loaded is not None and getattr(loaded, "__file__", None) == str(path):
        return loaded
    if loaded is not None:
        raise ValueError(f"{place} has the name of another module, {path.stem}; rename the file")
    spec: Any = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module  # so that what it defines can be pickled
    try:
        spec.loader.exec_module(module)
    except Exception as problem:
        del sys.modules[path.stem]
        raise ValueError(f"{place} could not be run ({type(problem).__name__}: {problem}); mend it") from problem
    return module

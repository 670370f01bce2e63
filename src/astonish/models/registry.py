"""Learners, families of beliefs and response models by name.

A name is in the table of a room (see `astonish.core.names`), or announced by an installed package as an entry point,
`my-name = my_package.module:Mine`; else it is a file or module and a class, `my_models.py:Mine`, `package.module:Mine`.
Names are listed without importing JAX.
"""

import importlib.util
import sys
from contextlib import suppress
from dataclasses import is_dataclass
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, NamedTuple
from warnings import warn

from astonish.core.names import rows
from astonish.core.refusal import unknown


class Catalogue(NamedTuple):
    """All classes of one sort.

    what: what one of them is called. room: where the library's own are. base: the class from which all are derived.
    group: the entry points by which other packages announce theirs.
    """

    what: str
    room: str
    base: str
    group: str

    @property
    def names(self) -> list[str]:
        """All names, without importing a class: the library's own, then those that packages announce."""
        own = [name for row in rows(self.room) for name in row.names]
        return list(dict.fromkeys([*own, *sorted(_entry_points(tuple(sys.path)).select(group=self.group).names)]))

    def classes(self) -> dict[str, Any]:
        """The classes that can be named, each by its first name, in the order in which they are listed."""
        first: dict[Any, str] = {}
        for name, kind in self.by_name().items():
            first.setdefault(kind, name)
        return {name: kind for kind, name in first.items()}

    def by_name(self) -> dict[str, Any]:
        """The classes by all their names."""
        return {name: load_object(place) for name, place in self._own().items()} | _announced(self, tuple(sys.path))

    def names_for(self, kind: str) -> tuple[str, ...]:
        """The names of those that take outcomes, or responses, of this kind."""
        return tuple(name for name, known in self.by_name().items() if kind in known.takes)

    def find(self, name: str) -> Any:
        """Find the class that is meant by a name, or by `file.py:Class` or `module:Class`."""
        if name in self._own():
            return load_object(self._own()[name])
        if ":" in name:
            return self.check(name, load_object(name))
        by_name = self.by_name()
        if name not in by_name:
            raise unknown(self.what, name, by_name)
        return by_name[name]

    def find_for(self, name: str, kind: str) -> Any:
        """Find the same, and refuse it if it does not take outcomes, or responses, of this kind."""
        named = self.find(name)
        if kind not in named.takes:
            able = ", ".join(self.names_for(kind)) or "none that is known"
            raise ValueError(f"the {self.what} {name} does not take {kind} data; give one of {able}")
        return named

    def check(self, name: str, kind: Any) -> Any:
        """Return a class, or refuse what is not one of this sort."""
        if not isinstance(kind, type) or load_object(self.base) not in kind.__mro__ or not is_dataclass(kind):
            raise ValueError(f"{name} is no {self.what}; give a class derived from {self.base.replace(':', '.')}")
        return kind

    def _own(self) -> dict[str, str]:
        return {name: f"{row.module}:{row.name}" for row in rows(self.room) for name in row.names}


LEARNERS = Catalogue("learner", "astonish.learners", "astonish.learners.base:Learner", "astonish.learners")
FAMILIES = Catalogue("family", "astonish.beliefs", "astonish.theory.expfam:Family", "astonish.families")
RESPONSES = Catalogue("response model", "astonish.responses", "astonish.responses.base:Response", "astonish.responses")
CATALOGUES = (LEARNERS, FAMILIES, RESPONSES)


def title(name: str) -> str:
    """Leave out where a name comes from.

    >>> title("my_models.py:Mine"), title("smile")
    ('Mine', 'smile')
    """
    return name.rpartition(":")[2]


def find_any(name: str) -> Any:
    """Find the learner, family or response model that is meant by a name."""
    for catalogue in CATALOGUES:
        with suppress(ValueError):
            return catalogue.find(name)
    if ":" in name:
        return RESPONSES.find(name)  # to be refused
    every = [known for catalogue in CATALOGUES for known in catalogue.by_name()]
    raise unknown("learner, family or response model", name, every)


def load_object(name: str) -> Any:
    """Import what is meant by `file.py:Name` or `module:Name`."""
    place, _, wanted = name.rpartition(":")
    if place.endswith(".py"):
        module = _run_file(place)
    else:
        try:
            module = import_module(place)
        except Exception as problem:
            wrong = f"{place!r} could not be imported ({type(problem).__name__}: {problem})"
            raise ValueError(f"{wrong}; give file.py:Class, or module:Class") from problem
    if getattr(module, wanted, None) is None:
        raise ValueError(f"{place} has no {wanted!r}; give the name of a class in it, as in {place}:Mine")
    return getattr(module, wanted)


def _run_file(place: str) -> Any:
    """Run a file as a module of its name."""
    path = Path(place).expanduser().resolve()
    if not path.is_file():
        raise ValueError(f"there is no file {place!r}; give file.py:Class, or module:Class")
    loaded = sys.modules.get(path.stem)
    if loaded is not None:
        if getattr(loaded, "__file__", None) == str(path):
            return loaded
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


@cache
def _entry_points(_: tuple[str, ...]) -> Any:
    """Read what packages on this path announce: once, since it takes a hundredth of a second."""
    return entry_points()


@cache
def _announced(catalogue: Catalogue, path: tuple[str, ...]) -> dict[str, Any]:
    """Load the classes that packages on this path announce, by name."""
    classes: dict[str, Any] = {}
    for entry in _entry_points(path).select(group=catalogue.group):
        taken = catalogue._own() | {name: f"{kind.__module__}:{kind.__name__}" for name, kind in classes.items()}
        try:
            kind = catalogue.check(entry.value, entry.load())
            names = (kind.name or entry.name, *getattr(kind, "aliases", ()))
            for name in names:
                if name in taken and load_object(taken[name]) is not kind:
                    raise ValueError(f"the name {name!r} is taken by {taken[name].replace(':', '.')}")
        except Exception as problem:  # whatever another package does
            wrong = f"{entry.value} ({type(problem).__name__}: {problem}); mend that package, or remove it"
            warn(f"the {catalogue.what} {entry.name!r} of another package is left out: {wrong}", stacklevel=3)
        else:
            classes |= dict.fromkeys(names, kind)
    return classes

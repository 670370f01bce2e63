"""Which names were others before, and still work for one release? Each gives a DeprecationWarning with the new name."""

import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial, wraps
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, TypeVar

T = TypeVar("T")

MODULES = {
    "astonish.table": "astonish.trials",
    "astonish.regressors": "astonish.trials.regressors",
    "astonish.bids": "astonish.trials.bids",
    "astonish.changes": "astonish.detect",
    "astonish.sweep": "astonish.study",
    "astonish.studies": "astonish.study.kinds",
    "astonish.fit.recover": "astonish.fit.recovery",
    "astonish.fit.responses": "astonish.responses",
    "astonish.fit.posteriors": "astonish.fit.posterior",
}
NAMES = {  # old name -> the module and the name that it has there now
    "astonish.surprises": ("astonish.measures", "measure"),
    "astonish.learner.PerContext": ("astonish.learners.per_context", "PerContext"),
    "astonish.catalogue.choose": ("astonish.assemble", "choose"),
    "astonish.catalogue.learner_for": ("astonish.assemble", "learner_for"),
    "astonish.fit.planned": ("astonish.fit", "plan_trials"),
    "astonish.fit.simulated": ("astonish.fit", "simulate_responses"),
    "astonish.fit.recovery.planned": ("astonish.fit", "plan_trials"),
    "astonish.fit.recovery.simulated": ("astonish.fit", "simulate_responses"),
    "astonish.study.Together": ("astonish.study", "Batching"),
    "astonish.study.run_sweep": ("astonish.study", "run_study"),
    "astonish.study.Sweep": ("astonish.study", "StudyResult"),
    "astonish.interop.river.SurpriseRegressor": ("astonish.interop.river", "OnlineSurpriseRegressor"),
}


def warn(old: str, new: str, frames: int = 3) -> None:
    """Warn that a name is old, so many frames above: at the place where it was used."""
    warnings.warn(f"{old} is now {new}; the old name goes with the next release", DeprecationWarning, stacklevel=frames)


def old_name(module: str, name: str) -> Any:
    """What an old name of a module means now; an AttributeError if it is no old name."""
    if f"{module}.{name}" not in NAMES:
        raise AttributeError(f"module {module!r} has no attribute {name!r}")
    place, now = NAMES[f"{module}.{name}"]
    warn(f"{module}.{name}", f"{place}.{now}")
    return getattr(import_module(place), now)


def renamed_fields(**names: str) -> Callable[[type[T]], type[T]]:
    """A class whose fields can still be read by their old names."""

    def read(old: str, new: str, thing: Any) -> Any:
        warn(f"{type(thing).__name__}.{old}", new)
        return getattr(thing, new)

    def decorate(cls: type[T]) -> type[T]:
        for old, new in names.items():
            if not hasattr(cls, old):  # else the old name means something else now
                setattr(cls, old, property(partial(read, old, new), doc=f"Now `{new}`."))
        return cls

    return decorate


def renamed_arguments(**names: str) -> Callable[[T], T]:
    """A function, or a class, that still takes arguments by their old names; a class keeps these as `old_names`."""

    def translated(function: Any, called: str) -> Any:
        @wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            return function(*args, **by_new_names(names, kwargs, called))

        return call

    def decorate(target: Any) -> Any:
        if not isinstance(target, type):
            return translated(target, target.__qualname__)
        constructor = "__new__" if issubclass(target, tuple) else "__init__"
        setattr(target, constructor, translated(getattr(target, constructor), target.__name__))
        target.old_names = names  # type: ignore[attr-defined]
        return renamed_fields(**names)(target)

    return decorate


def by_new_names(names: Mapping[str, str], values: Mapping[str, T], called: str) -> dict[str, T]:
    """Values by the new names of what they are for. names: from old to new. called: what takes the values."""
    for old in names.keys() & values.keys():
        warn(f"{called}({old}=...)", f"{names[old]}=...", frames=4)
    return {names.get(word, word): value for word, value in values.items()}


class _OldModules(MetaPathFinder, Loader):
    """Finds modules by their old names."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        return ModuleSpec(name, self) if name in MODULES else None

    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        new = MODULES[module.__name__]
        warn(module.__name__, new, frames=9)
        sys.modules[module.__name__] = import_module(new)


if not any(type(finder).__name__ == "_OldModules" for finder in sys.meta_path):
    sys.meta_path.append(_OldModules())

"""Surprise-driven learning: how surprising is each observation, and how far should it change a mind?

Implements Faraji, Preuschoff & Gerstner (2018), "Balancing New Against Old Information: The Role of Surprise in
Learning", Neural Computation 30(1).

What is exported is imported when it is first used, so that the command answers without waiting for JAX.
"""

from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from astonish.beliefs import *
    from astonish.changes import *
    from astonish.io.state import *
    from astonish.learners import *
    from astonish.learners.base import *
    from astonish.online.bank import *
    from astonish.online.explanation import *
    from astonish.online.measures import *
    from astonish.online.series import *
    from astonish.people.fit.estimate import fit as fit
    from astonish.theory import expfam as expfam, rule as rule, surprise as surprise
    from astonish.worlds.scoring import *

__version__ = "0.1.0"
_ROOMS = {module.name for module in iter_modules(__path__)}
_THEORY = ("expfam", "rule", "surprise")
_EXPORTERS = (
    "beliefs", "learners.base", "learners", "online.series", "online.measures", "online.explanation",
    "online.bank", "changes", "worlds.scoring", "io.state",
)  # fmt: skip


def __getattr__(name: str) -> Any:
    """What is exported under this name."""
    if name == "__all__":
        return [exported for exported in __dir__() if exported != "fit"]  # which needs pandas
    if name == "fit":
        return import_module("astonish.people.fit").fit
    if name in _ROOMS:
        return import_module(f"astonish.{name}")
    if name in _THEORY:
        return import_module(f"astonish.theory.{name}")
    for exporter in () if name.startswith("_") else _EXPORTERS:
        module = import_module(f"astonish.{exporter}")
        if name in module.__all__:
            globals()[name] = getattr(module, name)
            return globals()[name]
    raise AttributeError(f"module 'astonish' has no attribute {name!r}")


def __dir__() -> list[str]:
    exported = [name for each in _EXPORTERS for name in import_module(f"astonish.{each}").__all__]
    return sorted({*exported, *_THEORY, "fit"})

"""Fits of models to people's responses, their comparison, and whether parameters would be found again."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from astonish.core.refusal import naming_extra
from astonish.responses import *

with naming_extra("fits need"):
    from astonish.people.fit.estimate import fit
    from astonish.people.fit.likelihood import Model
    from astonish.people.fit.result import Fit

if TYPE_CHECKING:
    from astonish.people.comparison import *
    from astonish.people.recovery import *

__all__ = [
    "CircularEstimate", "Confidence", "Estimate", "Fit", "HeldOut", "LogReactionTime", "Model", "Readout", "Selection",
    "Softmax", "StickyEstimate", "UnitSquare", "compare_elpd", "compare_fits", "compare_mse", "fit", "held_out",
    "plan_trials", "psis_loo", "recover_models", "recover_parameters", "select", "simulate_responses", "trials_needed",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """Import what is exported from rooms that need this one when it is first used."""
    for room in ("comparison", "recovery") if name in __all__ else ():
        with naming_extra("fits need"):
            module = import_module(f"astonish.people.{room}")
        if name in module.__all__:
            return getattr(module, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

"""Which parameters, and which learner, explain what people did?"""

from astonish.core.refusal import naming_extra
from astonish.responses import (
    CircularEstimate,
    Confidence,
    Estimate,
    LogReactionTime,
    Readout,
    Softmax,
    StickyEstimate,
    UnitSquare,
)

with naming_extra("fits need"):
    from astonish.people.comparison.prediction import HeldOut, compare_elpd, compare_mse, held_out, psis_loo
    from astonish.people.comparison.selection import Selection, compare_fits, select
    from astonish.people.fit.estimate import fit
    from astonish.people.fit.likelihood import Model
    from astonish.people.fit.result import Fit
    from astonish.people.recovery.recover import recover_models, recover_parameters, trials_needed
    from astonish.people.recovery.simulation import plan_trials, simulate_responses

__all__ = [
    "CircularEstimate", "Confidence", "Estimate", "Fit", "HeldOut", "LogReactionTime", "Model", "Readout", "Selection",
    "Softmax", "StickyEstimate", "UnitSquare", "compare_elpd", "compare_fits", "compare_mse", "fit", "held_out",
    "plan_trials", "psis_loo", "recover_models", "recover_parameters", "select", "simulate_responses", "trials_needed",
]  # fmt: skip

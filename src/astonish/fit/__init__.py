"""Which parameters, and which learner, explain what people did?"""

from astonish.refusal import naming_extra
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
    from astonish.fit.comparison import (
        HeldOut,
        Selection,
        compare_elpd,
        compare_fits,
        compare_mse,
        held_out,
        psis_loo,
        select,
    )
    from astonish.fit.estimate import fit
    from astonish.fit.likelihood import Model
    from astonish.fit.recovery import plan_trials, recover_models, recover_parameters, simulate_responses, trials_needed
    from astonish.fit.result import Fit

__all__ = [
    "CircularEstimate", "Confidence", "Estimate", "Fit", "HeldOut", "LogReactionTime", "Model", "Readout", "Selection",
    "Softmax", "StickyEstimate", "UnitSquare", "compare_elpd", "compare_fits", "compare_mse", "fit", "held_out",
    "plan_trials", "psis_loo", "recover_models", "recover_parameters", "select", "simulate_responses", "trials_needed",
]  # fmt: skip

"""Which parameters, and which learner, explain what people did?"""

from astonish.fit.compare import Selection, compare_fits
from astonish.fit.estimate import fit
from astonish.fit.held_out import HeldOut, held_out
from astonish.fit.likelihood import Model
from astonish.fit.loo import psis_loo
from astonish.fit.predictions import compare_elpd
from astonish.fit.recover import planned, recover_models, recover_parameters, simulated, trials_needed
from astonish.fit.responses import Estimate, Readout, Softmax, StickyEstimate
from astonish.fit.result import Fit
from astonish.fit.selection import select

__all__ = [
    "Estimate",
    "Fit",
    "HeldOut",
    "Model",
    "Readout",
    "Selection",
    "Softmax",
    "StickyEstimate",
    "compare_elpd",
    "compare_fits",
    "fit",
    "held_out",
    "planned",
    "psis_loo",
    "recover_models",
    "recover_parameters",
    "select",
    "simulated",
    "trials_needed",
]

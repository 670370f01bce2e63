"""Which parameters, and which learner, explain what people did?"""

from astonish.fit.estimate import fit
from astonish.fit.likelihood import Model
from astonish.fit.recover import planned, recover_models, recover_parameters, simulated, trials_needed
from astonish.fit.responses import Estimate, Readout, Softmax, StickyEstimate
from astonish.fit.result import Fit

__all__ = [
    "Estimate",
    "Fit",
    "Model",
    "Readout",
    "Softmax",
    "StickyEstimate",
    "fit",
    "planned",
    "recover_models",
    "recover_parameters",
    "simulated",
    "trials_needed",
]

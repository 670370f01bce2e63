"""Would we find the parameters, and the right model, if we knew them?

What to find out before any model is fitted to people (Wilson & Collins 2019).
"""

from astonish.fit.recover.models import Confusion, recover_models
from astonish.fit.recover.needed import Needed, trials_needed
from astonish.fit.recover.parameters import Recovery, recover_parameters
from astonish.fit.recover.plan import planned
from astonish.fit.recover.simulated import simulated

__all__ = [
    "Confusion",
    "Needed",
    "Recovery",
    "planned",
    "recover_models",
    "recover_parameters",
    "simulated",
    "trials_needed",
]

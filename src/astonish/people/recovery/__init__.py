"""Would we find the parameters, and the right model, if we knew them?

What to find out before any model is fitted to people (Wilson & Collins 2019).
"""

from astonish.people.recovery.models import Confusion, recover_models
from astonish.people.recovery.parameters import Recovery, TrialsNeeded, recover_parameters, trials_needed
from astonish.people.recovery.plan import plan_trials
from astonish.people.recovery.simulation import simulate_responses

__all__ = [
    "Confusion", "Recovery", "TrialsNeeded", "plan_trials", "recover_models", "recover_parameters",
    "simulate_responses", "trials_needed",
]  # fmt: skip

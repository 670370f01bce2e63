"""Recovery of known parameters, and of the right model, before any is fitted to people (Wilson & Collins 2019)."""

import astonish.people.fit  # noqa: F401  which exports what is here, too, and so has to come first
from astonish.people.recovery.recover import (
    Confusion,
    Recovery,
    TrialsNeeded,
    recover_models,
    recover_parameters,
    trials_needed,
)
from astonish.people.recovery.simulation import plan_trials, simulate_responses

__all__ = [
    "Confusion", "Recovery", "TrialsNeeded", "plan_trials", "recover_models", "recover_parameters",
    "simulate_responses", "trials_needed",
]  # fmt: skip

"""How does a file of trials become series for learners, and responses to explain?"""

from astonish.core.refusal import naming_extra

with naming_extra("tables need"):
    from astonish.people.tables.read import read_trials
    from astonish.people.tables.trials import Columns, Rejected, Trials

__all__ = ["Columns", "Rejected", "Trials", "read_trials"]

"""How does a file of trials become series for learners, and responses to explain?"""

from importlib.util import find_spec

if find_spec("pandas") is None:
    raise ModuleNotFoundError(
        "tables need pandas, which is not installed; pip install 'astonish[frames]'", name="pandas"
    )

from astonish.trials.read import read_trials
from astonish.trials.trials import Columns, Rejected, Trials

__all__ = ["Columns", "Rejected", "Trials", "read_trials"]

"""`astonish surprise`: how surprising was each trial of a table?"""

from pathlib import Path

from astonish.cli.console import Terminal, guarded
from astonish.cli.options import takes_options
from astonish.people.analysis.options import SurpriseOptions, TableOptions


@takes_options
def surprise(table: TableOptions, options: SurpriseOptions) -> None:
    """How surprising was each trial? Adds columns of surprise, learning rate, estimates and more to a table.

    astonish surprise trials.csv --outcome x --subject id --block run --learner varsmile --measure all
    """
    what, target = (
        "folder" if options.bids else "file",
        options.out or Path("bids" if options.bids else "regressors.csv"),
    )
    with guarded(target, "tables need", thing=what, stopped="every file that was written is complete"):
        from astonish.people.analysis.surprise import run_surprise

        run_surprise(table, options, Terminal())

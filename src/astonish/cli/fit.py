"""`astonish fit`: which parameters explain each participant's responses best?"""

from astonish.cli.console import Terminal, guarded
from astonish.cli.options import takes_options
from astonish.people.analysis.options import FitOptions, TrialOptions


@takes_options
def fit(trials: TrialOptions, options: FitOptions) -> None:
    """Which parameters explain each participant's responses best?

    astonish fit trials.csv --outcome x --response b --responded before --subject id --learner smile

    astonish fit choices.csv --choice c --reward r --subject id --learner rw
    """
    with guarded(options.out, "fits need"):
        from astonish.people.analysis.fit import run_fit

        run_fit(trials, options, Terminal())

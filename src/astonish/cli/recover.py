"""`astonish recover`: would the parameters, and the right learner, be found if they were known?"""

from astonish.cli.console import Terminal, guarded
from astonish.cli.options import takes_options
from astonish.people.analysis.options import RecoverOptions, TrialOptions


@takes_options
def recover(trials: TrialOptions, options: RecoverOptions) -> None:
    """Would the parameters, and the right learner, be found if they were known? Ask before fitting.

    astonish recover trials.csv --outcome x --response b --responded before --subject id --learner smile
    """
    with guarded(options.out, "fits need", stopped="every file that was written is complete"):
        from astonish.people.analysis.recover import run_recover

        run_recover(trials, options, Terminal())

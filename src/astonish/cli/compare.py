"""`astonish compare`: which learner explains people's responses best?"""

from astonish.cli.console import Terminal, guarded
from astonish.cli.options import takes_options
from astonish.people.analysis.options import CompareOptions, TrialOptions


@takes_options
def compare(trials: TrialOptions, options: CompareOptions) -> None:
    """Which learner explains people's responses best?

    astonish compare trials.csv --outcome x --response b --responded before --subject id --learner delta
    --learner smile --learner reduced-bayes:hazard,surprise_sensitivity
    """
    with guarded(options.out, "fits need"):
        from astonish.people.analysis.compare import run_compare

        run_compare(trials, options, Terminal())

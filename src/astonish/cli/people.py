"""`astonish surprise`, `fit`, `compare` and `recover`: what learners make of a table of people's trials."""

from astonish.cli.app import Terminal, guarded, takes_request
from astonish.people.analysis.requests import CompareRequest, FitRequest, RecoverRequest, SurpriseRequest

_COMPLETE = "every file that was written is complete"


@takes_request
def surprise(request: SurpriseRequest) -> None:
    """How surprising was each trial? Adds columns of surprise, learning rate, estimates and more to a table.

    astonish surprise trials.csv --outcome x --subject id --block run --learner varsmile --measure all
    """
    with guarded(request.target, "tables need", thing="folder" if request.bids else "file", stopped=_COMPLETE):
        from astonish.people.analysis.commands import run_surprise

        run_surprise(request, Terminal())


@takes_request
def fit(request: FitRequest) -> None:
    """Which parameters explain each participant's responses best?

    astonish fit trials.csv --outcome x --response b --responded before --subject id --learner smile

    astonish fit choices.csv --choice c --reward r --subject id --learner rw

    astonish fit fit/request.toml
    """
    with guarded(request.out, "fits need"):
        from astonish.people.analysis.commands import run_fit

        run_fit(request, Terminal())


@takes_request
def compare(request: CompareRequest) -> None:
    """Which learner explains people's responses best?

    astonish compare trials.csv --outcome x --response b --responded before --subject id --learner delta
    --learner smile --learner reduced-bayes:hazard,surprise_sensitivity
    """
    with guarded(request.out, "fits need"):
        from astonish.people.analysis.commands import run_compare

        run_compare(request, Terminal())


@takes_request
def recover(request: RecoverRequest) -> None:
    """Would the parameters, and the right learner, be found if they were known? Ask before fitting.

    astonish recover trials.csv --outcome x --response b --responded before --subject id --learner smile
    """
    with guarded(request.out, "fits need", stopped=_COMPLETE):
        from astonish.people.analysis.commands import run_recover

        run_recover(request, Terminal())

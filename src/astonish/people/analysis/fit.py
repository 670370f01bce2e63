"""Fit a learner to people's responses: parameters, how sure they are, behaviour, groups, and a report."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from astonish.io.files import locked
from astonish.io.request import FILE
from astonish.people.analysis.models import Candidate, candidates
from astonish.people.analysis.report import (
    Console,
    Methods,
    behaviour_section,
    described,
    described_in_short,
    differences_section,
    drawn,
    estimated,
    fit_script,
    left_out,
    methods,
    shown,
    understood,
    write_report,
    write_table,
)
from astonish.people.analysis.requests import FitRequest
from astonish.people.analysis.table import read_responses
from astonish.people.fit import Fit
from astonish.people.fit.description import describe
from astonish.people.fit.plot import plot_fit
from astonish.people.fit.priors import Priors
from astonish.people.fit.result import TRIAL_COLUMNS
from astonish.people.tables.trials import ASSUMED
from astonish.report.page import details, paragraph, section

CAPTION = (
    "Above: the parameters of all participants, in the order of their values, with 95 % intervals. Below, for numbers: "
    "how far responses move for errors of each size (means in bins with equally many trials, and the middle half), "
    "by people and by the fitted model, and responses against those expected. For choices: how probable the model "
    "takes those that were made."
)
PARTICIPANTS = (
    "A row for each participant: the best parameters, how many of the searches for them agreed, and what to know about "
    "them. Nothing better was seen along any parameter, from bound to bound, unless a note says that the search did "
    "not end."
)
GROUP = (
    "Means of groups, standard deviations within groups on the unconstrained scale (logarithms of what has one bound, "
    "log-odds of what has two), and what is shared; with 95 % intervals. Participants' own are in posterior.csv, all "
    "draws with the log-likelihood of each response in posterior.nc, for ArviZ."
)
CONTRASTS = (
    "Differences between groups and conditions, and what a unit of a covariate adds, on the unconstrained scale; "
    "probability of direction: that the difference has the sign of its median."
)
CHECKS = (
    "What was observed, and what participants with drawn parameters would do instead (mean and 95 % interval). "
    "Simulated over observed; a dot for each participant, and a diamond for the mean of all."
)


def run_fit(request: FitRequest, console: Console) -> None:
    """Fit one learner, and leave tables, figures and a report in a folder."""
    trials = read_responses(request)
    console.say(trials.preview())
    (model,) = candidates([request.learner], request, trials, console)
    console.say(f"can such a design tell {', '.join(model.free)} at all? astonish recover, with the same options, says")
    out = request.out
    with locked(out):
        request.write(out / FILE)
        priors: Priors = "usual" if request.weak_priors else None
        found = model.fit(request.starts, request.seed, out, request.shared, priors, waited_for=True)
        for sentence in found.method:
            console.say(sentence)
        sections = [
            _parameters(found, request),
            *differences_section(found, out),
            *behaviour_section({model.name: found}, out),
        ]
        if request.posterior:
            sections += _posterior(model, request, console)
        _write(found, request, console)
        for heading, shown_table in described_in_short(found):
            console.table(heading, shown_table)
        for sentence in _noted(found):
            console.say(sentence)
        sections.append(_participants(found))
        medians = ", ".join(f"median {row.parameter} {row.median:.3g}" for row in describe(found).itertuples())
        lead = f"{model.name} fitted to {len(found.values)} participants; {medians}"
        console.show(lead)
        write_report(
            console,
            request,
            "A fit to people's responses",
            lead,
            [understood([model]), *sections],
            _methods(model, request),
            fit_script(request),
            str(found.model),
            found.excluded,
        )


def _noted(found: Fit) -> list[str]:
    """How many participants come with a note, and the most frequent one."""
    notes = Counter(filter(None, found.notes))
    who = f"{notes.total()} of {len(found.notes)} participants come with a note in participants.csv"
    return [f"{who}, such as: {note}" for note, _ in notes.most_common(1)]


def _parameters(found: Fit, request: FitRequest) -> str:
    figure = drawn(plot_fit(found), request.out / "fit", "Parameters and behaviour", CAPTION)
    return section("Parameters", *described(found, "Parameters"), *map(paragraph, found.method), figure)


def _write(found: Fit, request: FitRequest, console: Console) -> None:
    write_table(found.table(), request.out / "parameters.csv")
    write_table(found.people(), request.out / "participants.csv")
    write_table(found.trial_table(), request.out / "trials.csv")
    taken = [name for name in TRIAL_COLUMNS if name in found.trials.frame]
    if taken:
        names = f"the table has {', '.join(taken)} already"
        console.say(f"{names}: in trials.csv, what the fit adds has a number behind that name")


def _participants(found: Fit) -> str:
    noted = sum(map(bool, found.notes))
    note = f"{noted} of {len(found.notes)} come with a note. " if noted else ""
    rows = details("A row for each participant", shown(found.people(), "Participants"))
    return section("Participants", paragraph(note + PARTICIPANTS), *left_out(found.excluded), rows)


def _posterior(model: Candidate, request: FitRequest, console: Console) -> list[str]:
    """Draw from the posterior, write the draws, and describe them."""
    from astonish.people.posterior import hierarchical
    from astonish.people.posterior.nuts import LEAST
    from astonish.people.posterior.plot import interpretation, plot_predictive

    how: dict[str, Any] = {"shared": request.shared, "draws": request.posterior, "seed": request.seed}
    try:
        found = model.run("drawing from the posterior of", hierarchical, **how)
    except KeyboardInterrupt:
        console.say(
            f"stopped: there are no {LEAST} draws of two chains yet, so none are kept, and the report has no posterior"
        )
        return []
    table, checks, contrasts = found.table(), found.predictive(request.seed), found.contrasts()
    write_table(table, request.out / "posterior.csv")
    write_table(checks, request.out / "predictive.csv")
    found.save(request.out / "posterior.nc")
    console.show(f"{found}\n")
    warned = [paragraph(f"Beware: {warning}.") for warning in found.warnings]
    compared = [] if contrasts.empty else [paragraph(CONTRASTS), shown(contrasts, "Contrasts")]
    if compared:
        write_table(contrasts, request.out / "contrasts.csv")
    sentences = [interpretation(row) for _, row in checks[checks["participant"] == ""].iterrows()]
    for sentence in sentences:
        console.show(sentence)
    assumed = [paragraph(f"Assumed: {ASSUMED}.")] if model.trials.options and model.trials.payoffs is None else []
    figure = drawn(plot_predictive(checks), request.out / "predictive", "Simulated and observed", CHECKS)
    group = shown(table[table["kind"] != "participant"], "Group")
    return [
        section("The group", paragraph(GROUP), *warned, group, *compared),
        section("Would such people behave so?", *map(paragraph, sentences), *assumed, figure),
    ]


def _methods(model: Candidate, request: FitRequest) -> Methods:
    sentences = estimated(request.starts, request.weak_priors, request.shared, _names(model.model.differs))
    cite, more = [], []
    if request.posterior:
        cite, more = ["hierarchical"], ["numpyro"]
        sentences.append(
            "A hierarchical model, in which participants' parameters are normally distributed on the unconstrained "
            f"scale, was drawn from with the No-U-Turn sampler ({request.posterior} draws of each of 4 chains)."
        )
    return methods([model], sentences, cite, more)


def _names(paths: Sequence[str]) -> list[str]:
    return [path.rpartition(".")[2] for path in paths]
